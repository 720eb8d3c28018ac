/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's flight recorder, versions 2.x (see torch_dump.h). Entries are what a rank had called, oldest first, with
 * their state; pg_status has the last numbers per process group; pg_config its members.
 *
 * pg_status knows groups by an id of this process, pg_config by a name of the job. Entries carry both. For groups
 * without entries: ids and names are given in the order of creation, so the k-th of one is the k-th of the other,
 * where both are numbers and equally many, and the entries do not say otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/strtab.h"
#include "import/kineto_names.h"
#include "import/torch_dump.h"

#define MAX_GROUPS  65536u
#define MAX_MEMBERS (1u << 20)

struct group {
	int64_t number; /* of its name; -1 = no number */
	uint64_t comm;	/* as Kineto's importer makes it from the same three texts */
	uint32_t name;	/* value */
	uint32_t desc;	/* builder's string */
	uint32_t nranks;
	int64_t id;	    /* in this process; -1 = not known */
	int64_t last, done; /* by entries: highest called, highest finished; -1 */
	uint32_t status;    /* value; 0 */
	int p2p, entries;
};

struct flight {
	const struct wt_values *v;
	struct wt_builder *b;
	struct group *groups;
	size_t ngroups, room;
	int64_t *common; /* ranks that all groups so far share */
	size_t ncommon;
	int has_common;
	uint16_t process;
	int64_t world;
};

static int text_is(const struct wt_values *v, uint32_t id, const char *s)
{
	size_t n;
	const char *text = wt_value_text(v, id, &n);

	return text && n == strlen(s) && !memcmp(text, s, n);
}

static uint32_t intern(struct flight *f, uint32_t id)
{
	size_t n;
	const char *text = wt_value_text(f->v, id, &n);

	return text ? wt_builder_string(f->b, text, n) : 0;
}

/* ---- groups ---- */

/* Ranks from "[0, 4]" or a list: their number in *ret_n. NULL: no memory, or absurdly many. */
static int64_t *parse_ranks(const struct wt_values *v, uint32_t id, struct wt_strbuf *text,
			    size_t *ret_n)
{
	struct wt_value_iterator it = {.block = 0};
	size_t n, count = 0;
	const char *s = wt_value_text(v, id, &n);
	int64_t *ranks, r;
	uint32_t item;

	if (s)
		wt_strbuf_add(text, s, n);
	else
		wt_strbuf_addc(text, '[');
	while (!s && (item = wt_value_next(v, id, &it)) && text->n < (MAX_MEMBERS << 3))
		if (wt_value_int(v, item, &r))
			wt_strbuf_addf(text, "%s%lld", text->n > 1 ? ", " : "", (long long)r);
	if (!s)
		wt_strbuf_addc(text, ']');
	ranks = text->failed ? NULL : malloc((text->n / 2 + 1) * sizeof(*ranks));
	for (const char *p = wt_strbuf_text(text); ranks && *p;) {
		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		for (r = 0; *p >= '0' && *p <= '9'; p++)
			r = r < INT32_MAX ? r * 10 + (*p - '0') : r;
		ranks[count++] = r < INT32_MAX ? r : INT32_MAX;
	}
	*ret_n = count;
	return ranks;
}

static uint64_t hash_of(const char *key, const char *s, size_t n)
{
	return wt_hash_bytes(s, n, wt_hash_bytes(key, strlen(key), 0));
}

static void keep_common(struct flight *f, const int64_t *ranks, size_t n)
{
	size_t kept = 0;

	if (!f->has_common) {
		f->common = malloc((n + 1) * sizeof(*f->common));
		if (!f->common)
			return;
		memcpy(f->common, ranks, n * sizeof(*ranks));
		f->ncommon = n;
		f->has_common = 1;
		return;
	}
	for (size_t i = 0; i < f->ncommon; i++)
		for (size_t k = 0; k < n; k++)
			if (ranks[k] == f->common[i]) {
				f->common[kept++] = f->common[i];
				break;
			}
	f->ncommon = kept;
}

static int add_group(struct flight *f, uint32_t name, uint32_t config)
{
	struct wt_strbuf text = {.n = 0};
	uint32_t desc = wt_value_get(f->v, config, "desc");
	struct group g = {.name = name, .number = -1, .id = -1, .last = -1, .done = -1};
	size_t n, nname, ndesc;
	int64_t *ranks;
	const char *s, *d;

	if (f->ngroups == f->room) {
		size_t room = f->room ? f->room * 2 : 32;
		struct group *groups =
			room <= MAX_GROUPS ? realloc(f->groups, room * sizeof(*groups)) : NULL;

		if (!groups)
			return -WT_E_NOMEM;
		f->groups = groups;
		f->room = room;
	}
	ranks = parse_ranks(f->v, wt_value_get(f->v, config, "ranks"), &text, &n);
	if (!ranks) {
		wt_strbuf_release(&text);
		return -WT_E_NOMEM;
	}
	s = wt_value_text(f->v, name, &nname);
	d = wt_value_text(f->v, desc, &ndesc);
	if (!wt_value_int(f->v, name, &g.number) || g.number < 0)
		g.number = -1;
	g.comm = hash_of("Process Group Name", s ? s : "", nname) +
		 hash_of("Process Group Description", d ? d : "", ndesc) +
		 hash_of("Process Group Ranks", wt_strbuf_text(&text), text.n);
	g.desc = intern(f, desc);
	g.nranks = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		wt_builder_member(f->b, &(struct wt_member){.comm = g.comm,
							    .place = (int32_t)i,
							    .rank = (int32_t)ranks[i]});
		if (ranks[i] + 1 > f->world)
			f->world = ranks[i] + 1;
	}
	if (n)
		keep_common(f, ranks, n);
	f->groups[f->ngroups++] = g;
	free(ranks);
	wt_strbuf_release(&text);
	return 0;
}

static int read_groups(struct flight *f)
{
	uint32_t config = wt_value_get(f->v, wt_values_root(f->v), "pg_config"), name, value;
	struct wt_value_iterator it = {.block = 0};
	int err = 0;

	if (wt_value_kind(f->v, config) != WT_VALUE_MAP)
		return 0;
	while (!err && (name = wt_value_next(f->v, config, &it)) &&
	       (value = wt_value_next(f->v, config, &it)))
		err = add_group(f, name, value);
	return err;
}

/* The group of an entry, by its name; a group of its own if pg_config does not have it. */
static struct group *group_of(struct flight *f, uint32_t entry)
{
	uint32_t pair = wt_value_get(f->v, entry, "process_group"), name;
	struct wt_value_iterator it = {.block = 0};
	size_t n, m;
	const char *want, *have;

	name = pair ? wt_value_next(f->v, pair, &it) : wt_value_get(f->v, entry, "pg_id");
	want = wt_value_text(f->v, name, &n);
	for (size_t i = 0; i < f->ngroups; i++) {
		struct group *g = &f->groups[i];
		int64_t number;

		have = wt_value_text(f->v, g->name, &m);
		if (want && have ? m == n && !memcmp(want, have, n)
				 : wt_value_int(f->v, name, &number) && g->number == number)
			return g;
	}
	return add_group(f, name, 0) ? NULL : &f->groups[f->ngroups - 1];
}

/* ---- entries ---- */

/* Elements of [[2, 3], [4]]: 10. */
static uint64_t elements(const struct wt_values *v, uint32_t sizes)
{
	struct wt_value_iterator outer = {.block = 0};
	uint64_t sum = 0;
	uint32_t shape, dim;

	for (int tensors = 0; tensors < 65536 && (shape = wt_value_next(v, sizes, &outer));
	     tensors++) {
		struct wt_value_iterator inner = {.block = 0};
		uint64_t product = 1;
		int64_t d;

		for (int i = 0; i < 64 && (dim = wt_value_next(v, shape, &inner)); i++)
			if (!wt_value_int(v, dim, &d) || d < 0 ||
			    __builtin_mul_overflow(product, (uint64_t)d, &product))
				return 0;
		if (__builtin_add_overflow(sum, product, &sum))
			return 0;
	}
	return sum;
}

/* "nccl:send 0->3", "nccl:recv 0<-3": the other side, by its rank in the group; -1. */
static int32_t peer_of(const char *name, size_t n)
{
	int32_t peer = 0;
	size_t at = n;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == n || n - at > 9 || at < 2 ||
	    (memcmp(name + at - 2, "->", 2) && memcmp(name + at - 2, "<-", 2)))
		return -1;
	for (; at < n; at++)
		peer = peer * 10 + (name[at] - '0');
	return peer;
}

static uint8_t state_of(const struct wt_values *v, uint32_t entry)
{
	uint32_t state = wt_value_get(v, entry, "state");

	return text_is(v, state, "scheduled")	? WT_COLL_SCHEDULED
	       : text_is(v, state, "started")	? WT_COLL_STARTED
	       : text_is(v, state, "completed") ? WT_COLL_COMPLETED
						: 0;
}

static void add_entry(struct flight *f, struct group *g, uint32_t entry)
{
	uint32_t dtypes = wt_value_get(f->v, entry, "input_dtypes"), bytes = 0,
		 name = wt_value_get(f->v, entry, "profiling_name");
	struct wt_value_iterator it = {.block = 0};
	struct wt_collective c = {.comm = g->comm,
				  .dtype = UINT32_MAX,
				  .nranks = g->nranks,
				  .rank = UINT32_MAX,
				  .call = -1,
				  .peer = -1,
				  .lead = -1,
				  .group = g->desc,
				  .process = f->process};
	uint64_t in = elements(f->v, wt_value_get(f->v, entry, "input_sizes"));
	uint64_t out = elements(f->v, wt_value_get(f->v, entry, "output_sizes"));
	int p2p = wt_value_true(f->v, wt_value_get(f->v, entry, "is_p2p"));
	const char *text, *dtype;
	int64_t seq = 0, id;
	size_t n, m;

	text = wt_value_text(f->v, name, &n);
	if (text && n > 5 && !memcmp(text, "nccl:", 5)) {
		text += 5;
		n -= 5;
	}
	c.name = text ? wt_builder_string(f->b, text, n) : 0;
	c.op = text ? wt_kineto_collective(text, n) : WT_COLL_NONE;
	dtype = wt_value_text(f->v, wt_value_next(f->v, dtypes, &it), &m);
	if (dtype)
		c.dtype = wt_kineto_dtype(dtype, m, &bytes);
	c.count = in;
	if (__builtin_mul_overflow(in > out ? in : out, (uint64_t)bytes, &c.bytes))
		c.bytes = 0;
	p2p |= c.op == WT_COLL_SEND || c.op == WT_COLL_RECV;
	if (p2p && text)
		c.peer = peer_of(text, n);
	if (!wt_value_int(f->v, wt_value_get(f->v, entry, "collective_seq_id"), &seq))
		wt_value_int(f->v, wt_value_get(f->v, entry, "seq_id"), &seq);
	c.seq = p2p ? 0 : (uint64_t)seq;
	c.flags = state_of(f->v, entry);
	wt_builder_collective(f->b, &c);
	g->p2p |= p2p;
	g->entries++;
	if (wt_value_int(f->v, wt_value_get(f->v, entry, "pg_id"), &id) && g->id < 0)
		g->id = id;
	if (p2p)
		return;
	g->last = seq > g->last ? seq : g->last;
	if (c.flags == WT_COLL_COMPLETED)
		g->done = seq > g->done ? seq : g->done;
}

static int read_entries(struct flight *f)
{
	uint32_t entries = wt_value_get(f->v, wt_values_root(f->v), "entries"), entry;
	struct wt_value_iterator it = {.block = 0};

	while ((entry = wt_value_next(f->v, entries, &it))) {
		struct group *g;

		if (wt_value_kind(f->v, entry) != WT_VALUE_MAP)
			continue;
		g = group_of(f, entry);
		if (!g)
			return -WT_E_NOMEM;
		add_entry(f, g, entry);
	}
	return 0;
}

/* ---- where it stood ---- */

struct status {
	int64_t id;
	uint32_t value;
};

static int by_id(const void *pa, const void *pb)
{
	const struct status *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

static int by_number(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;

	return (a->number > b->number) - (a->number < b->number);
}

/* The k-th id is that of the k-th name, if nothing contradicts it. */
static int order_agrees(const struct flight *f, const struct status *s, size_t n)
{
	if (n != f->ngroups)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (f->groups[i].number < 0 || (f->groups[i].id >= 0 && f->groups[i].id != s[i].id))
			return 0;
	return 1;
}

static int read_status(struct flight *f)
{
	uint32_t map = wt_value_get(f->v, wt_values_root(f->v), "pg_status"), key, value;
	struct wt_value_iterator it = {.block = 0};
	struct status *s = calloc(f->ngroups + 1, sizeof(*s));
	size_t n = 0;
	int ordered;

	if (!s)
		return -WT_E_NOMEM;
	while (wt_value_kind(f->v, map) == WT_VALUE_MAP && (key = wt_value_next(f->v, map, &it)) &&
	       (value = wt_value_next(f->v, map, &it)) && n <= f->ngroups) {
		if (n < f->ngroups && wt_value_int(f->v, key, &s[n].id))
			s[n].value = value;
		n++;
	}
	if (f->ngroups)
		qsort(f->groups, f->ngroups, sizeof(*f->groups), by_number);
	if (n <= f->ngroups) {
		qsort(s, n, sizeof(*s), by_id);
		ordered = order_agrees(f, s, n);
		for (size_t i = 0; i < f->ngroups; i++)
			for (size_t k = 0; k < n; k++)
				if (ordered ? i == k
					    : f->groups[i].id >= 0 && f->groups[i].id == s[k].id)
					f->groups[i].status = s[k].value;
	}
	free(s);
	return 0;
}

static int64_t number(const struct flight *f, uint32_t map, const char *key)
{
	int64_t i;

	return wt_value_int(f->v, wt_value_get(f->v, map, key), &i) ? i : -1;
}

static void add_standings(struct flight *f)
{
	for (size_t i = 0; i < f->ngroups; i++) {
		const struct group *g = &f->groups[i];
		struct wt_standing s = {.comm = g->comm,
					.enqueued = g->last,
					.started = -1,
					.completed = g->done,
					.group = g->desc,
					.process = f->process,
					.p2p = (uint8_t)g->p2p};

		if (g->status) {
			s.enqueued = number(f, g->status, "last_enqueued_collective");
			s.started = number(f, g->status, "last_started_collective");
			s.completed = number(f, g->status, "last_completed_collective");
		} else if (!g->entries) {
			continue;
		}
		wt_builder_standing(f->b, &s);
	}
}

/* "nccl_trace_rank_12.json", "_dump_12": 12; -1. */
static int64_t rank_in_name(const char *path)
{
	const char *name = strrchr(path, '/'), *end;
	int64_t rank = 0;

	name = name ? name + 1 : path;
	end = strchr(name, '.') && strchr(name, '.') != name ? strchr(name, '.')
							     : name + strlen(name);
	for (name = end > name ? name : end; name < end; name++) {
		const char *p = end;

		while (p > name && p[-1] >= '0' && p[-1] <= '9')
			p--;
		if (p == end || end - p > 7)
			return -1;
		for (; p < end; p++)
			rank = rank * 10 + (*p - '0');
		return rank;
	}
	return -1;
}

static void set_rank(struct flight *f, const char *path, uint32_t input)
{
	struct wt_process *p = wt_builder_process_at(f->b, f->process);
	int64_t named = rank_in_name(path);
	int64_t rank = f->has_common && f->ncommon == 1 ? f->common[0] : named;

	if (rank < 0 || rank > INT32_MAX)
		return;
	p->rank = (int32_t)rank;
	p->world = f->world <= INT32_MAX ? (int32_t)f->world : 0;
	wt_builder_input_at(f->b, input)->rank = (int32_t)rank;
	if (named >= 0 && named != rank)
		wt_builder_note(f->b,
				"%s: by its process groups this is the dump of rank %lld, whatever "
				"its name says",
				path, (long long)rank);
}

int wt_flight_read(const struct wt_values *v, const char *path, struct wt_builder *b,
		   uint32_t input, struct wt_diag *diag)
{
	struct flight f = {.v = v, .b = b, .process = wt_builder_process(b, input, /* pid= */ -1)};
	int err = read_groups(&f);

	err = err ? err : read_entries(&f);
	err = err ? err : read_status(&f);
	if (!err) {
		set_rank(&f, path, input);
		add_standings(&f);
	}
	free(f.groups);
	free(f.common);
	return err ? wt_fail(diag, -err, -1, "out of memory, or more than 65,536 process groups")
		   : 0;
}
