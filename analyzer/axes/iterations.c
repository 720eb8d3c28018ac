/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations of a serving engine that does not annotate them. Each layer of a forward pass writes keys and values to
 * the cache with one kernel (serving.def); the sampler runs behind the last layer, and the copy that tells the host the
 * tokens behind that. So an iteration ends with the last of these before the next such write. Where nothing samples (a
 * pipeline's first stages) the copy to the host alone ends it.
 *
 * Grids say how many tokens and requests it had; how many of its requests were prompts follows from both and from what
 * ran before: with as many tokens as requests all generate; else those that ran in the iteration before go on and
 * generate, unless the grid of a kernel says how many are new. Grades: 2 by geometry, 1 where only order and names
 * speak, and where grids are those of graphs: these are made for a rounded number of tokens. How many there were is
 * then known by kernels that say which are padding, if arguments were read, or by what the host copied for them.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "ledger/sweep.h"

enum {
	LAYER = 1u << 0,
	TOKENS = 1u << 1,
	REQUESTS = 1u << 2,
	CONTEXT = 1u << 3,
	NEW = 1u << 4,
	END = 1u << 5,
	ROWS = 1u << 6,
	DECODING = 1u << 7,
	PROMPTS = 1u << 8,
	SAMPLES = 1u << 9,
	PADDING = 1u << 10,
	KNOWN = 1u << 15,
};
static const struct {
	uint16_t tells;
	const char *text;
} rules[] = {
#define WT_TELLS(tells_, text_) {tells_, text_},
#include "axes/serving.def"
#undef WT_TELLS
};
#define RULES  (sizeof(rules) / sizeof(rules[0]))
#define GRIDS  16 /* different kernels whose grids are compared in an iteration */
#define WRITES 3  /* see NEW in serving.def */
#define REACH  4 /* operations between the sampler and the copy of its tokens to the host, at most */
#define TOLD   65536 /* bytes: the largest such copy */
#define COPIES 32    /* to the device, before the first layer of an iteration */
#define FILLS  8     /* likewise: kernels that tell PADDING */

struct found {
	struct wt_iteration *rows;
	size_t n, room;
};
struct engine {
	struct wt_axes *a;
	const struct wt_launches *l;
	uint16_t *tells; /* by name */
	struct found it;
};

static uint16_t tells_of(struct engine *e, size_t row)
{
	const struct wt_timeline *tl = e->a->ledger->tl;
	const struct wt_op *op = &tl->ops[e->l->rows[row].op];
	const char *name = wt_timeline_string(tl, op->name);
	const struct wt_family_row *family;
	uint16_t tells = KNOWN;

	if (op->kind != WT_OP_KERNEL)
		return 0;
	if (e->tells[op->name])
		return e->tells[op->name];
	for (size_t i = 0; i < RULES; i++)
		if (strstr(name, rules[i].text))
			tells |= rules[i].tells;
	wt_op_state(tl, e->a->ledger->families, op, &family);
	if (family && !strcmp(family->family, "sampling / top-k"))
		tells |= SAMPLES;
	e->tells[op->name] = tells;
	return tells;
}

static int copies(const struct engine *e, size_t row, enum wt_copy_kind kind)
{
	const struct wt_op *op = &e->a->ledger->tl->ops[e->l->rows[row].op];

	return op->kind == WT_OP_COPY && op->copy_kind == kind;
}

static int to_host(const struct engine *e, size_t row)
{
	return copies(e, row, WT_COPY_D2H);
}

static int add(struct engine *e, size_t from, size_t to)
{
	if (e->it.n == e->it.room) {
		size_t room = e->it.room ? e->it.room * 2 : 64;
		struct wt_iteration *rows = realloc(e->it.rows, room * sizeof(*rows));

		if (!rows)
			return -WT_E_NOMEM;
		e->it.rows = rows;
		e->it.room = room;
	}
	e->it.rows[e->it.n++] =
		(struct wt_iteration){.from = from, .to = to, .batch = wt_batch_unknown};
	return 0;
}

/* What may end an iteration, the strongest that the job has. */
static unsigned what_ends(struct engine *e)
{
	size_t layers = 0, samples = 0;
	unsigned seen = 0, behind_layer = 0;

	for (size_t i = 0; i < e->l->n; i++) {
		unsigned tells = tells_of(e, i);

		seen |= tells;
		layers += (tells & LAYER) != 0;
		samples += (tells & SAMPLES) && behind_layer;
		if (tells & (LAYER | SAMPLES))
			behind_layer = (tells & LAYER) != 0;
	}
	if (!(seen & LAYER))
		return 0;
	if (seen & END)
		return END;
	/* As often as a layer: it chooses experts, not tokens. */
	return samples && (samples < layers || layers < 4) ? SAMPLES : LAYER;
}

/* Cuts the launches; copies to the host soon behind an end belong to it. */
static int cut(struct engine *e, unsigned ends)
{
	size_t from = 0, close = 0, layers = 0;
	int err = 0;

	for (size_t i = 0; !err && i < e->l->n; i++) {
		unsigned tells = tells_of(e, i);

		if (tells & LAYER) {
			if (close) {
				err = add(e, from, close);
				from = close;
				close = layers = 0;
			}
			layers++;
		} else if (!layers) {
			continue;
		} else if (tells & ends) {
			if (ends != END || !close)
				close = i + 1;
		} else if (to_host(e, i) && (ends == LAYER || (close && i < close + REACH))) {
			close = i + 1;
		}
	}
	if (!err && layers)
		err = add(e, from, close ? close : e->l->n);
	return err;
}

/* ---- where serving begins ---- */

/* Where the last `most` of its layers begin; *ret_layers: how many that are. */
static size_t first_layer(struct engine *e, const struct wt_iteration *it, size_t most,
			  size_t *ret_layers)
{
	size_t first = it->to;

	*ret_layers = 0;
	for (size_t i = it->to; i > it->from && *ret_layers < most; i--) {
		if (tells_of(e, i - 1) & LAYER) {
			first = i - 1;
			++*ret_layers;
		}
	}
	return first;
}

/* The last graph made: engines make all of theirs before they serve. INT64_MIN = none. */
static int64_t last_graph_ns(const struct engine *e)
{
	const struct wt_timeline *tl = e->a->ledger->tl;
	int64_t last_ns = INT64_MIN;

	for (size_t i = 0; i < tl->ncalls; i++) {
		const struct wt_call *c = &tl->calls[i];

		if (c->process == e->l->process && c->kind == WT_CALL_GRAPH &&
		    c->start_ns > last_ns && strstr(wt_timeline_string(tl, c->name), "Instantiate"))
			last_ns = c->start_ns;
	}
	return last_ns;
}

/*
 * Iterations before the last graph was made are start-up, and so are those before the first whose tokens go to the
 * host, where those of most do. The first one behind has as many layers and begins with as
 * many operations before them as any other has at most, not with all that was launched since (passes to warm up and to
 * capture, behind which nothing samples).
 */
static int is_told(struct engine *e, const struct wt_iteration *it)
{
	for (size_t i = it->to; i > it->from && !(tells_of(e, i - 1) & LAYER); i--)
		if (to_host(e, i - 1))
			return 1;
	return 0;
}

static void cut_startup(struct engine *e)
{
	int64_t graph_ns = last_graph_ns(e);
	size_t served = 0, lead = 0, most = 0, told = 0, first, layers;

	while (served < e->it.n && e->l->rows[e->it.rows[served].to - 1].at_ns < graph_ns)
		e->it.rows[served++].startup = 1;
	for (size_t i = served; i < e->it.n; i++)
		told += (size_t)is_told(e, &e->it.rows[i]);
	while (2 * told >= e->it.n - served && told && !is_told(e, &e->it.rows[served]))
		e->it.rows[served++].startup = 1;
	if (served + 1 >= e->it.n)
		return;
	for (size_t i = served + 1; i < e->it.n; i++) {
		size_t n = first_layer(e, &e->it.rows[i], SIZE_MAX, &layers) - e->it.rows[i].from;

		lead = n > lead ? n : lead;
		most = layers > most ? layers : most;
	}
	first = first_layer(e, &e->it.rows[served], most, &layers);
	if (first - e->it.rows[served].from > lead)
		e->it.rows[served].from = first - lead;
}

/* ---- what grids say ---- */

struct grids {
	struct {
		uint32_t name, x;
	} kernel[GRIDS];
	size_t n;
	int64_t padded; /* of kernels inside graphs: a graph is made for a rounded number */
};

static void note_grid(struct grids *g, uint32_t name, uint32_t x)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->kernel[i].name == name) {
			/* The same kernel on something larger, as norms of heads: the least counts. */
			if (x < g->kernel[i].x)
				g->kernel[i].x = x;
			return;
		}
	}
	if (g->n < GRIDS) {
		g->kernel[g->n].name = name;
		g->kernel[g->n++].x = x;
	}
}

/* The least that two kernels agree on, else what the cache's own kernel says, else nothing. */
static int64_t tokens_of(const struct engine *e, const struct grids *g)
{
	int64_t best = -1, cache = -1;

	for (size_t i = 0; i < g->n; i++) {
		if (e->tells[g->kernel[i].name] & LAYER && (cache < 0 || g->kernel[i].x < cache))
			cache = g->kernel[i].x;
		for (size_t j = 0; j < i; j++)
			if (g->kernel[i].x == g->kernel[j].x && (best < 0 || g->kernel[i].x < best))
				best = g->kernel[i].x;
	}
	return cache >= 0 ? cache : best;
}

struct signs {
	struct grids tokens;
	int64_t requests, fresh;
	uint64_t told; /* bytes of the least copy to the host behind the last layer, TOLD = none */
	size_t requests_rule, writes, graph_layers, layers, graphs;
	int32_t graph_call;
	int behind_layer, pieces; /* graphs lie behind a write to the cache; between such writes */
	uint64_t copied[COPIES];  /* bytes of each copy to the device before the first layer */
	uint64_t filled[FILLS];	  /* bytes of each kernel that tells PADDING, likewise */
	size_t ncopied, nfilled;
	unsigned seen;
	uint8_t grade, fewer; /* what the number of tokens is worth; it is less than grids say */
};

static void read_requests(struct signs *s, const char *name, uint32_t x)
{
	for (size_t r = 0; r < RULES && r <= s->requests_rule; r++) {
		if (!(rules[r].tells & REQUESTS) || !strstr(name, rules[r].text))
			continue;
		s->requests_rule = r;
		s->requests = x;
		return;
	}
}

static void read_row(struct engine *e, size_t row, struct signs *s)
{
	const struct wt_timeline *tl = e->a->ledger->tl;
	const struct wt_op *op = &tl->ops[e->l->rows[row].op];
	uint32_t x = tl->shapes[op->shape].grid[0];
	unsigned tells = tells_of(e, row);
	int in_graph = tl->calls[op->call].kind == WT_CALL_GRAPH_LAUNCH;

	s->seen |= tells;
	s->behind_layer |= in_graph && s->layers;
	if (to_host(e, row) && s->layers && op->bytes && op->bytes < s->told)
		s->told = op->bytes;
	if (!s->layers && s->ncopied < COPIES && copies(e, row, WT_COPY_H2D))
		s->copied[s->ncopied++] = op->bytes;
	if (tells & PADDING && op->bytes && !s->layers && s->nfilled < FILLS)
		s->filled[s->nfilled++] = op->bytes;
	if (tells & LAYER) {
		s->told = TOLD;
		s->layers++;
		s->pieces |= s->behind_layer && !in_graph;
		s->graph_layers += in_graph;
		s->graphs += in_graph && op->call != s->graph_call;
		s->graph_call = in_graph ? op->call : -1;
		if (s->requests_rule == RULES)
			s->requests = -1;
	}
	if (!x)
		return;
	if (tells & TOKENS && !in_graph)
		note_grid(&s->tokens, op->name, x);
	if (tells & LAYER && tells & TOKENS && in_graph)
		s->tokens.padded = x;
	if (tells & REQUESTS && !in_graph)
		read_requests(s, wt_timeline_string(tl, op->name), x);
	if (tells & NEW && s->writes < WRITES) {
		s->writes = s->fresh == x ? s->writes + 1 : 1;
		s->fresh = x;
	}
	if (tells & ROWS && s->layers && s->requests_rule == RULES)
		s->requests = x;
}

/* Of an iteration that grids say too little about: by kinds of attention, and by a graph for the whole pass. */
static void by_order(const struct signs *s, struct wt_iteration *it)
{
	struct wt_batch *b = &it->batch;
	unsigned kinds = s->seen & (DECODING | PROMPTS);

	b->source = WT_BATCH_ORDER;
	b->grade = 1;
	if (s->graphs == 1 && s->graph_layers == s->layers)
		it->phase = WT_PHASE_DECODE;
	else if (kinds == DECODING)
		it->phase = WT_PHASE_DECODE;
	else if (kinds == PROMPTS)
		it->phase = WT_PHASE_PREFILL;
	if (it->phase != WT_PHASE_DECODE)
		return;
	b->context_requests = b->context_tokens = 0;
	b->tokens = b->generation_requests = b->generation_tokens = b->requests;
}

/* What the iteration before left. */
struct state {
	int64_t running; /* its requests, -1 = not known */
	int64_t tokens;
	int64_t budget; /* the most that any iteration had, if that looks like a limit; else -1 */
	int knows_new;	/* the engine has kernels that tell NEW */
	int guesses;	/* requests generate more than a token in an iteration: it speculates */
};

/*
 * Requests of an iteration whose prompt is being worked on; -1 = not known. A prompt that did not fit into the
 * iteration before, which then used all its budget, goes on in this one. Of an engine without kernels that tell, what
 * is more than ran before is new, and something must be.
 */
static int64_t context_of(const struct signs *s, const struct state *st, const struct wt_batch *b)
{
	int64_t carried = st->tokens == st->budget && b->tokens > b->requests, n;

	if (st->knows_new) {
		n = s->writes >= WRITES ? s->fresh : 0;
		if (s->seen & CONTEXT && !n)
			n = 1;
		else if (n && carried && n < b->requests)
			n++;
		return n;
	}
	if (st->running >= 0) {
		n = b->requests > st->running ? b->requests - st->running : 0;
		n += carried && n < b->requests;
		return n || b->tokens == b->requests ? n : 1;
	}
	return b->requests == 1 ? 1 : -1;
}

static void split(const struct signs *s, const struct state *st, struct wt_iteration *it)
{
	struct wt_batch *b = &it->batch;
	int64_t context;

	b->source = WT_BATCH_GEOMETRY;
	b->grade = 2;
	context = b->tokens == b->requests && !(s->seen & CONTEXT) ? 0 : context_of(s, st, b);
	if (context < 0) {
		it->phase = WT_PHASE_MIXED;
		b->grade = 1;
		return;
	}
	b->context_requests = context;
	b->generation_requests = b->requests - context;
	b->generation_tokens = context ? b->generation_requests : b->tokens;
	b->context_tokens = b->tokens - b->generation_tokens;
	/* How many tokens those guess that generate beside prompts, nothing says. */
	if (st->guesses && context && b->generation_requests)
		b->grade = 1;
	it->phase = !context		     ? WT_PHASE_DECODE
		    : b->generation_requests ? WT_PHASE_MIXED
					     : WT_PHASE_PREFILL;
}

static void measure(struct engine *e, struct wt_iteration *it, struct signs *s)
{
	struct wt_batch *b = &it->batch;

	*s = (struct signs){.requests = -1,
			    .told = TOLD,
			    .fresh = -1,
			    .requests_rule = RULES,
			    .graph_call = -1,
			    .tokens.padded = -1};
	for (size_t i = it->from; i < it->to; i++)
		read_row(e, i, s);
	b->layers = (uint32_t)s->layers;
	b->requests = s->requests;
	b->tokens = tokens_of(e, &s->tokens);
}

/*
 * The copy of the tokens to the host has an element for each request; of what size it is, iterations whose requests are
 * known otherwise say. 0 = they do not.
 */
static uint64_t told_each(const struct engine *e, const struct signs *s)
{
	size_t n[2] = {0, 0};

	for (size_t i = 0; i < e->it.n; i++)
		for (int k = 0; k < 2; k++)
			n[k] += s[i].requests > 0 &&
				s[i].told == (uint64_t)s[i].requests * (k ? 8 : 4);
	return n[0] > n[1] ? 4 : n[1] ? 8 : 0;
}

/* Replaces a rounded number of tokens, if something says how many there are; what it is worth then. */
static uint8_t unround(struct wt_batch *b, const struct signs *s, int knows_new)
{
	int64_t rounded = s->tokens.padded > 0 ? s->tokens.padded : b->tokens;
	int64_t exact = wt_tokens_filled(s->filled, s->nfilled, b->requests, rounded);

	if (exact < 0 && !s->pieces)
		return 2;
	if (exact < 0 && !knows_new)
		exact = wt_tokens_copied(s->copied, s->ncopied, b->requests, b->tokens);
	if (exact >= 0) {
		b->tokens = exact;
		return 2;
	}
	/* Nothing is new and nothing is a prompt: each request generates, one token unless it speculates. */
	if (knows_new && !(s->seen & CONTEXT) && s->writes < WRITES && b->requests > 0 &&
	    b->tokens > b->requests)
		b->tokens = b->requests;
	return 1;
}

static void complete(struct wt_batch *b, const struct signs *s, uint64_t each)
{
	if (b->requests < 0 && each && s->told < TOLD && s->told % each == 0)
		b->requests = (int64_t)(s->told / each);
	/* A graph for a rounded number of tokens serves as many requests that generate, or fewer. */
	if (b->tokens < 0 && s->tokens.padded >= b->requests && !(s->seen & CONTEXT))
		b->tokens = b->requests;
}

static void set_phases(struct wt_axes *a, const struct wt_launches *l,
		       const struct wt_iteration *it)
{
	for (size_t i = it->from; i < it->to; i++) {
		uint32_t op = l->rows[i].op;

		if (a->phase_grade[op] >= 2 || it->startup || !it->phase)
			continue;
		a->phase[op] = it->phase;
		a->phase_grade[op] = it->batch.grade;
	}
}

/* Reached more than once while serving, or a round number. */
static int64_t budget_of(const struct engine *e)
{
	int64_t most = -1;
	size_t times = 0;

	for (size_t i = 0; i < e->it.n; i++) {
		int64_t tokens = e->it.rows[i].batch.tokens;

		if (e->it.rows[i].startup || tokens < most)
			continue;
		times = tokens == most ? times + 1 : 1;
		most = tokens;
	}
	return times > 1 || most % 64 == 0 ? most : -1;
}

/* Tokens and requests of an iteration, as far as its own operations tell them. */
static void count_tokens(struct engine *e, size_t i, struct signs *s, uint64_t each,
			 struct state *st)
{
	struct wt_batch *b = &e->it.rows[i].batch;
	int64_t rounded;

	complete(b, s, each);
	rounded = b->tokens;
	s->grade = unround(b, s, st->knows_new);
	s->fewer = b->tokens < rounded;
	st->guesses |= st->knows_new && !e->it.rows[i].startup && s->grade == 2 &&
		       !(s->seen & CONTEXT) && s->writes < WRITES && b->requests > 0 &&
		       b->tokens > b->requests;
}

static int classify(struct engine *e)
{
	struct signs *s = malloc((e->it.n + 1) * sizeof(*s));
	struct state st = {-1, -1, -1, 0, 0};
	uint64_t each;

	if (!s)
		return -WT_E_NOMEM;
	cut_startup(e);
	for (size_t i = 0; i < e->it.n; i++) {
		measure(e, &e->it.rows[i], &s[i]);
		st.knows_new |= s[i].writes >= WRITES;
	}
	each = told_each(e, s);
	for (size_t i = 0; i < e->it.n; i++)
		count_tokens(e, i, &s[i], each, &st);
	st.budget = budget_of(e);
	for (size_t i = 0; i < e->it.n; i++) {
		struct wt_iteration *it = &e->it.rows[i];

		if (i && !it->startup && e->it.rows[i - 1].startup)
			st.running = 0;
		if (it->batch.requests > 0 && it->batch.tokens >= it->batch.requests)
			split(&s[i], &st, it);
		else
			by_order(&s[i], it);
		st.running = it->batch.requests;
		st.tokens = it->batch.tokens;
		set_phases(e->a, e->l, it);
		if (it->batch.context_tokens > 0 || s[i].fewer)
			it->batch.grade =
				s[i].grade < it->batch.grade ? s[i].grade : it->batch.grade;
	}
	free(s);
	return 0;
}

int wt_iterations_of(struct wt_axes *a, const struct wt_launches *l, struct wt_iteration **ret,
		     size_t *ret_n)
{
	struct engine e = {.a = a, .l = l};
	unsigned ends;
	int err = 0;

	if (l->anchors)
		return 0;
	e.tells = calloc(wt_timeline_nstrings(a->ledger->tl) + 1, sizeof(*e.tells));
	if (!e.tells)
		return -WT_E_NOMEM;
	ends = what_ends(&e);
	if (ends)
		err = cut(&e, ends);
	if (!err)
		err = classify(&e);
	free(e.tells);
	if (err) {
		free(e.it.rows);
		return err;
	}
	*ret = e.it.rows;
	*ret_n = e.it.n;
	return 0;
}
