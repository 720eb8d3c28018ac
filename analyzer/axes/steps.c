/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a process. What begins and ends one is said by the job (marked ranges), by a name (ProfilerStep#3), by the
 * optimizer's last kernel, by an engine's kernels (iterations.c), by the launch of the graph that does the work, or by
 * the sequence of kernels repeating; the first of these that is there decides.
 *
 * Each gives spans of host time. A span's operations are those launched in it; its window on a device goes from the end
 * of what was launched before it to the end of what was launched in it. Where marks leave time between steps, what is
 * launched there belongs to no step, and its end is where the next step's window begins.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"

struct span {
	int64_t start_ns, end_ns, number;
	uint32_t name;
	uint8_t partial, phase, startup;
	struct wt_batch batch, geometry;
};
struct spans {
	struct span *rows; /* by start, free of overlaps */
	size_t n;
	enum wt_step_source source;
	uint8_t grade;
	uint8_t on_device; /* the spans are the device's own steps: no launches are asked */
};

static int by_start(const void *pa, const void *pb)
{
	const struct span *x = pa, *y = pb;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Steps inside steps, and those that begin before the one before has ended, are left out. */
static void drop_overlaps(struct spans *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->rows, s->n, sizeof(*s->rows), by_start);
	for (size_t i = 0; i < s->n; i++) {
		if (n && s->rows[i].start_ns < s->rows[n - 1].end_ns)
			continue;
		s->rows[n++] = s->rows[i];
	}
	s->n = n;
}

/* A range that was open when recording began or ended is cut. */
static int is_cut(const struct wt_timeline *tl, const struct wt_range *r)
{
	const struct wt_process *p = &tl->processes[r->process];

	return (p->collect_start_ns != INT64_MIN && r->start_ns < p->collect_start_ns) ||
	       (p->collect_end_ns != INT64_MAX && r->end_ns >= p->collect_end_ns);
}

static int from_ranges(const struct wt_axes *a, uint16_t process, int marked, struct spans *ret)
{
	const struct wt_timeline *tl = a->ledger->tl;

	ret->n = 0;
	ret->on_device = 0;
	if (!(a->ranges.kinds & (WT_KIND_BIT(STEP) | WT_KIND_BIT(NO_WORK))))
		return 0;
	ret->rows = malloc((tl->nranges + 1) * sizeof(*ret->rows));
	if (!ret->rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->nranges; i++) {
		const struct wt_range *r = &tl->ranges[i];

		if (r->process != process || a->ranges.kind[i] != WT_RANGE_STEP ||
		    r->marked != marked || r->end_ns <= r->start_ns)
			continue;
		ret->rows[ret->n] = (struct span){
			.start_ns = r->start_ns,
			.end_ns = r->end_ns,
			.number = a->ranges.number[i],
			.name = r->name,
			.partial = (uint8_t)is_cut(tl, r),
			.phase = (uint8_t)wt_engine_phase(wt_timeline_string(tl, r->name)),
			.geometry = wt_batch_unknown,
		};
		wt_batch_of_name(wt_timeline_string(tl, r->name), &ret->rows[ret->n].batch);
		ret->on_device |= r->on_device;
		ret->n++;
	}
	drop_overlaps(ret);
	for (size_t i = 0; i < ret->n; i++)
		if (ret->rows[i].number < 0)
			ret->rows[i].number = (int64_t)i;
	if (!ret->n) {
		free(ret->rows);
		ret->rows = NULL;
	}
	return 0;
}

/*
 * Spans between rows: [first, b[0]), [b[0], b[1]) ...; what is before the first and behind the last is partial. The
 * window of the first whole one holds what came before it on the device: where that is `startup`, it is partial too.
 * What is before the first is no span where the job is known to have begun there (`begun`): it is start-up.
 */
static int from_rows(const struct wt_launches *l, const size_t *borders, size_t n, int startup,
		     int begun, struct spans *ret)
{
	ret->rows = malloc((n + 2) * sizeof(*ret->rows));
	if (!ret->rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i <= n; i++) {
		size_t from = i ? borders[i - 1] : 0, to = i < n ? borders[i] : l->n;

		if (from >= to || (begun && !i))
			continue;
		ret->rows[ret->n] = (struct span){
			.start_ns = l->rows[from].at_ns,
			.end_ns = to < l->n ? l->rows[to].at_ns : INT64_MAX,
			.number = (int64_t)ret->n,
			.partial = i <= (size_t)startup || i == n,
			.batch = wt_batch_unknown,
			.geometry = wt_batch_unknown,
		};
		ret->n++;
	}
	return 0;
}

static int from_optimizer(const struct wt_axes *a, const struct wt_launches *l, struct spans *ret)
{
	size_t *borders, n = 0, at = 0;
	int err;

	ret->n = 0;
	borders = malloc((l->n + 1) * sizeof(*borders));
	if (!borders)
		return -WT_E_NOMEM;
	while ((at = wt_launches_cluster(a, l, at)))
		borders[n++] = at;
	err = n > 1 ? from_rows(l, borders, n, 0, 0, ret) : 0;
	free(borders);
	return err;
}

static int from_repeats(const struct wt_axes *a, const struct wt_launches *l,
			enum wt_step_source source, struct spans *ret)
{
	size_t *borders = NULL, n = 0;
	int programs = source == WT_STEPS_PROGRAM, compiled = programs || source == WT_STEPS_GRAPH,
	    err = compiled ? wt_replays_find(a, l, programs, &borders, &n)
			   : wt_period_find(l, &borders, &n);

	ret->n = 0;
	/* Two whole ones. A graph or program runs when it has been compiled, which its first launch waits for. */
	if (!err && n > 2)
		err = from_rows(l, borders, n, compiled,
				a->ledger->tl->processes[l->process].begun == 1, ret);
	free(borders);
	return err;
}

/* An iteration lasts until the next one begins: what the host does in between is the engine's scheduling. */
static int from_engine(const struct wt_launches *l, const struct wt_iteration *it, size_t n,
		       struct spans *ret)
{
	ret->n = 0;
	ret->rows = malloc((n + 1) * sizeof(*ret->rows));
	if (!ret->rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t to = it[i].to;

		ret->rows[ret->n++] = (struct span){
			.start_ns = l->rows[it[i].from].at_ns,
			.end_ns = to < l->n ? l->rows[to].at_ns : INT64_MAX,
			.number = (int64_t)i,
			/* The first one's window has the waiting since start-up in it. */
			.partial = it[i].startup || !i || it[i - 1].startup,
			.startup = it[i].startup,
			.phase = it[i].phase,
			.batch = it[i].batch,
			.geometry = it[i].batch,
		};
	}
	return 0;
}

/* vLLM's range ends with the last layer: what it samples behind is the iteration's too. */
static void add_sampler(struct spans *s, size_t i, int64_t last_ns)
{
	struct span *sp = &s->rows[i];

	if (s->on_device || last_ns < sp->end_ns)
		return;
	if (i + 1 < s->n && last_ns >= s->rows[i + 1].start_ns)
		last_ns = s->rows[i + 1].start_ns - 1;
	sp->end_ns = last_ns + 1;
}

/* What grids say of an iteration that the engine has annotated: the one most of which was launched in it. */
static void add_geometry(const struct wt_launches *l, const struct wt_iteration *it, size_t n,
			 struct spans *s)
{
	size_t k = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct span *sp = &s->rows[i];

		while (k < n && l->rows[it[k].to - 1].at_ns < sp->start_ns)
			k++;
		for (size_t j = k; sp->batch.source && j < n; j++) {
			int64_t mid_ns = l->rows[it[j].from + (it[j].to - it[j].from) / 2].at_ns;

			if (l->rows[it[j].from].at_ns >= sp->end_ns)
				break;
			if (mid_ns < sp->start_ns || mid_ns >= sp->end_ns)
				continue;
			sp->geometry = it[j].batch;
			sp->batch.layers = it[j].batch.layers;
			add_sampler(s, i, l->rows[it[j].to - 1].at_ns);
			break;
		}
	}
}

static int find_spans(const struct wt_axes *a, const struct wt_launches *l,
		      const struct wt_iteration *it, size_t n, struct spans *ret)
{
	int err = from_ranges(a, l->process, 1, ret);

	ret->source = WT_STEPS_MARKED;
	ret->grade = 3;
	if (!err && !ret->n) {
		ret->source = WT_STEPS_NAMED;
		err = from_ranges(a, l->process, 0, ret);
	}
	if (!err && ret->n)
		add_geometry(l, it, n, ret);
	if (!err && !ret->n && n) {
		ret->source = WT_STEPS_ENGINE;
		ret->grade = 2;
		err = from_engine(l, it, n, ret);
	}
	if (!err && !ret->n) {
		ret->source = WT_STEPS_OPTIMIZER;
		ret->grade = 2;
		err = from_optimizer(a, l, ret);
	}
	return err;
}

/* The span that t lies in; SIZE_MAX = none. */
static size_t span_at(const struct spans *s, int64_t t_ns)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->rows[mid].start_ns <= t_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && t_ns < s->rows[lo - 1].end_ns ? lo - 1 : SIZE_MAX;
}

/* What a device did of each span. */
struct extent {
	int64_t before_ns; /* end of what was launched before it and in no step */
	int64_t first_ns, last_ns;
	uint64_t ops;
};

static void measure(const struct wt_axes *a, const struct wt_launches *l, const struct spans *s,
		    uint16_t device, struct extent *e)
{
	const struct wt_op *ops = a->ledger->tl->ops;
	size_t next = 0; /* the first span that begins after the row at hand */

	for (size_t i = 0; i <= s->n; i++)
		e[i] = (struct extent){INT64_MIN, INT64_MAX, INT64_MIN, 0};
	for (size_t i = 0; i < l->n; i++) {
		const struct wt_op *op = &ops[l->rows[i].op];
		size_t k;

		if (op->device != device || op->flags & WT_OP_UNTIMED)
			continue;
		k = span_at(s, s->on_device ? op->start_ns : l->rows[i].at_ns);
		while (next < s->n && s->rows[next].start_ns <= l->rows[i].at_ns)
			next++;
		if (k == SIZE_MAX) {
			if (!s->on_device && op->end_ns > e[next].before_ns)
				e[next].before_ns = op->end_ns;
			continue;
		}
		e[k].ops++;
		e[k].first_ns = op->start_ns < e[k].first_ns ? op->start_ns : e[k].first_ns;
		e[k].last_ns = op->end_ns > e[k].last_ns ? op->end_ns : e[k].last_ns;
	}
}

static int add_step(struct wt_axes *a, const struct wt_step *step)
{
	/* Room doubles at powers of two. */
	if (!(a->nsteps & (a->nsteps - 1))) {
		size_t room = a->nsteps ? a->nsteps * 2 : 1;
		struct wt_step *steps = realloc(a->steps, room * sizeof(*steps));

		if (!steps)
			return -WT_E_NOMEM;
		a->steps = steps;
	}
	a->steps[a->nsteps++] = *step;
	return 0;
}

static int on_device(struct wt_axes *a, const struct wt_launches *l, const struct spans *s,
		     size_t device, struct extent *e)
{
	const struct wt_ledger_device *dev = &a->ledger->devices[device];
	int64_t done_ns = INT64_MIN;
	int err = 0;

	measure(a, l, s, dev->device, e);
	for (size_t i = 0; !err && i < s->n; i++) {
		const struct span *r = &s->rows[i];
		struct wt_step step = {
			.number = r->number,
			.host_start_ns = r->start_ns,
			.host_end_ns = r->end_ns == INT64_MAX ? l->rows[l->n - 1].at_ns : r->end_ns,
			.end_ns = e[i].last_ns,
			.ops = e[i].ops,
			.name = r->name,
			.process = l->process,
			.device = (uint16_t)device,
			.partial = r->partial,
			.source = (uint8_t)s->source,
			.grade = s->grade,
			.phase = r->phase,
			.startup = r->startup,
			.batch = r->batch,
			.geometry = r->geometry,
		};

		if (e[i].before_ns > done_ns)
			done_ns = e[i].before_ns;
		if (!e[i].ops)
			continue;
		/* Nothing was launched before: its first operation begins it. */
		step.start_ns = done_ns == INT64_MIN ? e[i].first_ns : done_ns;
		if (s->on_device) {
			step.start_ns = r->start_ns;
			step.end_ns = r->end_ns;
		}
		if (step.start_ns > step.end_ns)
			step.start_ns = step.end_ns;
		done_ns = step.end_ns;
		err = add_step(a, &step);
	}
	return err;
}

/* What repeats does so device by device: a process with several launches the same to each, one after the other. */
static int repeats_on(struct wt_axes *a, const struct wt_launches *l, size_t device)
{
	static const enum wt_step_source sources[] = {WT_STEPS_PROGRAM, WT_STEPS_GRAPH,
						      WT_STEPS_PERIOD};
	struct wt_launches own = {.process = l->process,
				  .rows = malloc((l->n + 1) * sizeof(*own.rows))};
	struct spans s = {.rows = NULL};
	struct extent *e = NULL;
	int err = own.rows ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < l->n; i++)
		if (a->ledger->tl->ops[l->rows[i].op].device == a->ledger->devices[device].device)
			own.rows[own.n++] = l->rows[i];
	for (size_t i = 0; !err && own.n && !s.n && i < sizeof(sources) / sizeof(sources[0]); i++) {
		s.source = sources[i];
		s.grade = sources[i] == WT_STEPS_PERIOD ? 1 : 2;
		err = from_repeats(a, &own, sources[i], &s);
	}
	if (!err && s.n) {
		e = malloc((s.n + 1) * sizeof(*e));
		err = e ? on_device(a, &own, &s, device, e) : -WT_E_NOMEM;
	}
	free(e);
	free(s.rows);
	free(own.rows);
	return err;
}

int wt_steps_of(struct wt_axes *a, const struct wt_launches *l, const struct wt_iteration *it,
		size_t n)
{
	struct spans s = {.rows = NULL};
	struct extent *e = NULL;
	int err = find_spans(a, l, it, n, &s);

	if (!err && s.n) {
		e = malloc((s.n + 1) * sizeof(*e));
		err = e ? 0 : -WT_E_NOMEM;
		for (size_t d = 0; !err && d < a->ledger->ndevices; d++)
			err = on_device(a, l, &s, d, e);
	} else {
		for (size_t d = 0; !err && d < a->ledger->ndevices; d++)
			err = repeats_on(a, l, d);
	}
	free(e);
	free(s.rows);
	return err;
}
