/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From collected rows to a timeline: check, sort, join, freeze. Runs once, on the builder's thread.
 *
 * Device operations meet host calls by (process, correlation), never by time. Rows are sorted by what they say, the
 * order of arrival deciding nothing: two files with the same events in another order give the same timeline, but for
 * rows that are equal in everything that is compared.
 *
 * A row whose indices or times are impossible must not reach the ledger, whatever an importer made of a damaged file:
 * indices are cut to "none", times beyond +-146 years become "untimed".
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sort_rows.h"
#include "timeline/builder_impl.h"

#define FAR_NS (INT64_MAX / 2) /* differences of two times in range cannot overflow */

static int in_range(int64_t start_ns, int64_t end_ns)
{
	return start_ns >= -FAR_NS && end_ns <= FAR_NS && start_ns <= end_ns;
}

static int known(int32_t index, size_t n)
{
	return index >= 0 && (size_t)index < n;
}

static void check_ops(struct wt_builder *b)
{
	for (size_t i = 0; i < b->ops.n; i++) {
		struct wt_op *op = &b->ops.rows[i];

		if (!in_range(op->start_ns, op->end_ns))
			op->flags |= WT_OP_UNTIMED;
		if (op->flags & WT_OP_UNTIMED && !in_range(op->start_ns, op->end_ns))
			op->start_ns = op->end_ns = 0;
		if (op->shape >= b->shapes.n)
			op->shape = 0;
		if (op->instruction >= b->instructions.n)
			op->instruction = 0;
		if (op->name >= wt_strings_count(b->strings))
			op->name = 0;
		if (!known(op->call, b->calls.n) || b->calls.rows[op->call].process != op->process)
			op->call = -1;
		if (!known(op->collective, b->collectives.n))
			op->collective = -1;
	}
}

/* What a file says of works may be anything; arrays are indexed by these. */
static void check_works(struct wt_builder *b)
{
	for (size_t i = 0; i < b->shapes.n; i++)
		if (b->shapes.rows[i].work >= b->works.n)
			b->shapes.rows[i].work = 0;
	for (size_t i = 0; i < b->works.n; i++) {
		struct wt_work *w = &b->works.rows[i];

		w->a = w->a < WT_DTYPES ? w->a : WT_DTYPE_UNKNOWN;
		w->b = w->b < WT_DTYPES ? w->b : WT_DTYPE_UNKNOWN;
		w->out = w->out < WT_DTYPES ? w->out : WT_DTYPE_UNKNOWN;
		w->math = w->math < WT_DTYPES ? w->math : WT_DTYPE_UNKNOWN;
	}
}

static void check_calls(struct wt_builder *b)
{
	for (size_t i = 0; i < b->calls.n; i++) {
		struct wt_call *c = &b->calls.rows[i];

		if (!in_range(c->start_ns, c->end_ns))
			c->end_ns = c->start_ns = c->start_ns < -FAR_NS	 ? -FAR_NS
						  : c->start_ns > FAR_NS ? FAR_NS
									 : c->start_ns;
		if (!known(c->parent, b->calls.n) || (size_t)c->parent == i)
			c->parent = -1;
		if (c->stream >= b->streams.n)
			c->stream = UINT32_MAX;
		if (c->kind > WT_CALL_GEMM)
			c->kind = WT_CALL_OTHER;
	}
}

static void check_collectives(struct wt_builder *b)
{
	for (size_t i = 0; i < b->collectives.n; i++) {
		struct wt_collective *c = &b->collectives.rows[i];

		if (!known(c->lead, b->collectives.n) ||
		    b->collectives.rows[c->lead].process != c->process)
			c->lead = (int32_t)i;
		if (c->name >= wt_strings_count(b->strings))
			c->name = 0;
		if (c->group >= wt_strings_count(b->strings))
			c->group = 0;
	}
}

/* A call that is none of its process's is none; without one a wait says nothing. */
static void check_waits(struct wt_builder *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->waits.n; i++) {
		struct wt_wait w = b->waits.rows[i];

		if (!known(w.call, b->calls.n) || b->calls.rows[w.call].process != w.process)
			continue;
		if (!known(w.record, b->calls.n) || b->calls.rows[w.record].process != w.process)
			w.record = -1;
		b->waits.rows[kept++] = w;
	}
	b->waits.n = kept;
}

static void check_asides(struct wt_builder *b)
{
	for (size_t i = 0; i < b->asides.n; i++) {
		struct wt_aside *a = &b->asides.rows[i];

		if (in_range(a->start_ns, a->end_ns))
			continue;
		a->start_ns = a->end_ns = 0;
		a->stream = -1;
		a->first = 0;
	}
}

static void check_holes(struct wt_builder *b)
{
	for (size_t i = 0; i < b->holes.n; i++) {
		struct wt_hole *h = &b->holes.rows[i];

		h->start_ns = h->start_ns < -FAR_NS ? -FAR_NS : h->start_ns;
		h->end_ns = h->end_ns > FAR_NS ? FAR_NS : h->end_ns;
	}
}

/* Rows that name what does not exist: an importer's mistake, said so rather than walked into. */
static int dangling(const struct wt_builder *b)
{
	for (size_t i = 0; i < b->ops.n; i++) {
		const struct wt_op *op = &b->ops.rows[i];

		if (op->device >= b->devices.n || op->process >= b->processes.n ||
		    op->stream >= b->streams.n)
			return 1;
	}
	for (size_t i = 0; i < b->calls.n; i++) {
		if (b->calls.rows[i].process >= b->processes.n ||
		    b->calls.rows[i].thread >= b->threads.n)
			return 1;
	}
	for (size_t i = 0; i < b->holes.n; i++) {
		if (b->holes.rows[i].device >= b->devices.n)
			return 1;
	}
	for (size_t i = 0; i < b->counts.n; i++) {
		if (b->counts.rows[i].process >= b->processes.n ||
		    b->counts.rows[i].kind >= WT_COUNT_KINDS)
			return 1;
	}
	for (size_t i = 0; i < b->ranges.n; i++) {
		if (b->ranges.rows[i].process >= b->processes.n)
			return 1;
	}
	for (size_t i = 0; i < b->asides.n; i++) {
		if (b->asides.rows[i].process >= b->processes.n ||
		    b->asides.rows[i].name >= wt_strings_count(b->strings))
			return 1;
	}
	for (size_t i = 0; i < b->collectives.n; i++) {
		if (b->collectives.rows[i].process >= b->processes.n)
			return 1;
	}
	for (size_t i = 0; i < b->memories.n; i++) {
		if (b->memories.rows[i].process >= b->processes.n)
			return 1;
	}
	for (size_t i = 0; i < b->waits.n; i++) {
		if (b->waits.rows[i].process >= b->processes.n)
			return 1;
	}
	for (size_t i = 0; i < b->counters.n; i++) {
		if (b->counters.rows[i].process >= b->processes.n)
			return 1;
	}
	for (size_t i = 0; i < b->frames.n; i++) {
		if (b->frames.rows[i].process >= b->processes.n ||
		    b->frames.rows[i].thread >= b->threads.n)
			return 1;
	}
	for (size_t i = 0; i < b->standings.n; i++) {
		if (b->standings.rows[i].process >= b->processes.n)
			return 1;
	}
	return 0;
}

/* Files whose times are relative to a base of their own. */
static int64_t base_of(const struct wt_builder *b, uint16_t process)
{
	uint32_t input = b->processes.rows[process].input;

	return input < b->inputs.n ? b->inputs.rows[input].base_ns : 0;
}

static void shift(int64_t *start_ns, int64_t *end_ns, int64_t by_ns)
{
	if (__builtin_add_overflow(*start_ns, by_ns, start_ns) ||
	    __builtin_add_overflow(*end_ns, by_ns, end_ns)) {
		*start_ns = INT64_MAX; /* out of range for whoever checks it */
		*end_ns = INT64_MAX;
	}
}

static void add_bases(struct wt_builder *b)
{
	int any = 0;

	for (size_t i = 0; i < b->inputs.n; i++)
		any |= b->inputs.rows[i].base_ns != 0;
	if (!any)
		return;
	for (size_t i = 0; i < b->ops.n; i++) {
		struct wt_op *op = &b->ops.rows[i];

		if (!(op->flags & WT_OP_UNTIMED))
			shift(&op->start_ns, &op->end_ns, base_of(b, op->process));
	}
	for (size_t i = 0; i < b->calls.n; i++) {
		struct wt_call *c = &b->calls.rows[i];

		shift(&c->start_ns, &c->end_ns, base_of(b, c->process));
	}
	for (size_t i = 0; i < b->ranges.n; i++) {
		struct wt_range *r = &b->ranges.rows[i];

		shift(&r->start_ns, &r->end_ns, base_of(b, r->process));
	}
	for (size_t i = 0; i < b->asides.n; i++) {
		struct wt_aside *a = &b->asides.rows[i];

		shift(&a->start_ns, &a->end_ns, base_of(b, a->process));
	}
	for (size_t i = 0; i < b->frames.n; i++) {
		struct wt_frame *f = &b->frames.rows[i];

		shift(&f->start_ns, &f->end_ns, base_of(b, f->process));
	}
	for (size_t i = 0; i < b->counters.n; i++) {
		struct wt_counter *c = &b->counters.rows[i];
		int64_t same_ns = c->max_ns;

		shift(&c->max_ns, &same_ns, base_of(b, c->process));
	}
	for (size_t i = 0; i < b->holes.n; i++) {
		struct wt_hole *h = &b->holes.rows[i];

		shift(&h->start_ns, &h->end_ns, base_of(b, h->process));
	}
}

static int cmp(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_op(const void *pa, const void *pb, void *arg)
{
	const struct wt_builder *b = arg;
	const struct wt_op *x = pa, *y = pb;
	int c = cmp(x->device, y->device);

	c = c ? c : cmp(x->start_ns, y->start_ns);
	c = c ? c : cmp(y->end_ns, x->end_ns);
	c = c ? c : cmp(b->streams.rows[x->stream].id, b->streams.rows[y->stream].id);
	c = c ? c : cmp_u64(x->correlation, y->correlation);
	c = c ? c : cmp(x->kind, y->kind);
	return c || x->name == y->name
		       ? c
		       : strcmp(wt_builder_get(b, x->name), wt_builder_get(b, y->name));
}

/* Calls are sorted through an order of indices, since operations and other calls point at them. */
static int cmp_call(const void *pa, const void *pb, void *arg)
{
	const struct wt_builder *b = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct wt_call *x = &b->calls.rows[i], *y = &b->calls.rows[j];
	int c = cmp(x->process, y->process);

	c = c ? c : cmp(b->threads.rows[x->thread].tid, b->threads.rows[y->thread].tid);
	c = c ? c : cmp(x->start_ns, y->start_ns);
	c = c ? c : cmp(y->end_ns, x->end_ns); /* the enclosing call before what it encloses */
	c = c ? c : cmp_u64(x->correlation, y->correlation);
	return c ? c : cmp(i, j);
}

static int cmp_range(const void *pa, const void *pb, void *arg)
{
	const struct wt_range *x = pa, *y = pb;
	int c = cmp(x->start_ns, y->start_ns);

	c = c ? c : cmp(y->end_ns, x->end_ns);
	return c ? c : cmp(x->step, y->step);
}

static int cmp_aside(const void *pa, const void *pb, void *arg)
{
	const struct wt_aside *x = pa, *y = pb;
	int c = cmp(x->start_ns, y->start_ns);

	c = c ? c : cmp(y->end_ns, x->end_ns);
	return c ? c : cmp(x->stream, y->stream);
}

static int cmp_hole(const void *pa, const void *pb, void *arg)
{
	const struct wt_hole *x = pa, *y = pb;
	int c = cmp(x->device, y->device);

	c = c ? c : cmp(x->start_ns, y->start_ns);
	return c ? c : cmp(x->end_ns, y->end_ns);
}

static int cmp_thread(const void *pa, const void *pb, void *arg)
{
	const struct wt_builder *b = arg;
	const struct wt_thread *x = &b->threads.rows[*(const uint32_t *)pa],
			       *y = &b->threads.rows[*(const uint32_t *)pb];
	int c = cmp(x->process, y->process);

	return c ? c : cmp(x->tid, y->tid);
}

/* Calls in the order of their threads, else as they came: nearly sorted, since each thread's mostly came in order. */
static int order_by_thread(struct wt_builder *b, uint32_t *order)
{
	size_t n = b->threads.n;
	uint32_t *threads = malloc((n + 1) * sizeof(*threads));
	size_t *at = calloc(n + 1, sizeof(*at)), sum = 0;

	for (size_t i = 0; threads && at && i < n; i++)
		threads[i] = (uint32_t)i;
	if (threads && at) {
		wt_sort_rows(threads, n, sizeof(*threads), cmp_thread, b);
		for (size_t i = 0; i < b->calls.n; i++)
			at[b->calls.rows[i].thread]++;
		for (size_t i = 0; i < n; i++) {
			size_t calls = at[threads[i]];

			at[threads[i]] = sum;
			sum += calls;
		}
		for (size_t i = 0; i < b->calls.n; i++)
			order[at[b->calls.rows[i].thread]++] = (uint32_t)i;
	}
	sum = threads && at;
	free(threads);
	free(at);
	return sum ? 0 : -WT_E_NOMEM;
}

/* Everything that points at calls, to where they go. */
static void rename_calls(struct wt_builder *b, const uint32_t *place)
{
	size_t n = b->calls.n;

	for (size_t i = 0; i < n; i++)
		if (b->calls.rows[i].parent >= 0)
			b->calls.rows[i].parent = (int32_t)place[b->calls.rows[i].parent];
	for (size_t i = 0; i < b->ops.n; i++)
		if (b->ops.rows[i].call >= 0)
			b->ops.rows[i].call = (int32_t)place[b->ops.rows[i].call];
	for (size_t i = 0; i < b->collectives.n; i++) {
		struct wt_collective *c = &b->collectives.rows[i];

		c->call = known(c->call, n) ? (int32_t)place[c->call] : -1;
	}
	for (size_t i = 0; i < b->waits.n; i++) {
		struct wt_wait *w = &b->waits.rows[i];

		w->call = (int32_t)place[w->call];
		if (w->record >= 0)
			w->record = (int32_t)place[w->record];
	}
}

/* Sorts the calls, where they are, and renames every reference to them. A second copy of them would be the peak. */
static int sort_calls(struct wt_builder *b)
{
	size_t n = b->calls.n, at = 0;
	uint32_t *order = malloc((n + 1) * sizeof(*order)), *place;

	if (!order)
		return -WT_E_NOMEM;
	if (order_by_thread(b, order)) {
		free(order);
		return -WT_E_NOMEM;
	}
	wt_sort_rows(order, n, sizeof(*order), cmp_call, b);
	while (at < n && order[at] == at)
		at++;
	place = at < n ? malloc((n + 1) * sizeof(*place)) : NULL;
	for (size_t i = 0; place && i < n; i++)
		place[order[i]] = (uint32_t)i;
	free(order);
	if (at == n) { /* as they came */
		for (size_t i = 0; i < b->collectives.n; i++)
			if (!known(b->collectives.rows[i].call, n))
				b->collectives.rows[i].call = -1;
		return 0;
	}
	if (!place)
		return -WT_E_NOMEM;
	rename_calls(b, place);
	for (size_t i = 0; i < n; i++) {
		while (place[i] != i) {
			uint32_t to = place[i];
			struct wt_call call = b->calls.rows[to];

			b->calls.rows[to] = b->calls.rows[i];
			b->calls.rows[i] = call;
			place[i] = place[to];
			place[to] = to;
		}
	}
	free(place);
	return 0;
}

static int cmp_op_at(const void *pa, const void *pb, void *arg)
{
	const struct wt_builder *b = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	int c = cmp_op(&b->ops.rows[i], &b->ops.rows[j], arg);

	return c ? c : cmp(i, j);
}

/* Sorts the operations where they are, as calls: nothing that is kept points at them yet. */
static int sort_ops(struct wt_builder *b)
{
	struct wt_op *ops = b->ops.rows;
	size_t n = b->ops.n, at = 1;
	uint32_t *order;

	while (at < n && cmp_op(&ops[at - 1], &ops[at], b) <= 0)
		at++;
	if (at >= n)
		return 0;
	order = malloc(n * sizeof(*order));
	if (!order)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	wt_sort_rows(order, n, sizeof(*order), cmp_op_at, b);
	for (uint32_t i = 0; i < n; i++) {
		struct wt_op first = ops[i];
		uint32_t to = i, from;

		while ((from = order[to]) != i && from != to) {
			ops[to] = ops[from];
			order[to] = to;
			to = from;
		}
		if (from == i && to != i) {
			ops[to] = first;
			order[to] = to;
		}
	}
	free(order);
	return 0;
}

static int makes_device_work(const struct wt_call *c)
{
	return c->kind == WT_CALL_LAUNCH || c->kind == WT_CALL_GRAPH_LAUNCH ||
	       c->kind == WT_CALL_COPY || c->kind == WT_CALL_MEMSET;
}

/*
 * Joins by (process, correlation). One correlation can stand on a runtime call and the driver call inside it: calls
 * that make device work come before others, then the earliest, then the enclosing one (calls are sorted that way).
 */
static int join(struct wt_builder *b)
{
	size_t mask = 63, at;
	uint32_t *slots;

	while (mask < b->calls.n * 2)
		mask = mask * 2 + 1;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -WT_E_NOMEM;
#define HOME(process_, correlation_) (wt_mix64((correlation_) ^ wt_mix64((process_) + 1u)) & mask)
	for (size_t i = 0; i < b->calls.n; i++) {
		const struct wt_call *c = &b->calls.rows[i], *old;

		if (!c->correlation)
			continue;
		if (b->processes.rows[c->process].pid == WT_PID_OTHERS) {
			b->twins = 1;
			continue;
		}
		for (at = HOME(c->process, c->correlation); slots[at]; at = (at + 1) & mask) {
			old = &b->calls.rows[slots[at] - 1];
			if (old->process == c->process && old->correlation == c->correlation)
				break;
		}
		if (slots[at]) {
			b->twins = 1;
			old = &b->calls.rows[slots[at] - 1];
			if (makes_device_work(old) > makes_device_work(c) ||
			    (makes_device_work(old) == makes_device_work(c) &&
			     old->start_ns <= c->start_ns))
				continue;
		}
		slots[at] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < b->ops.n; i++) {
		struct wt_op *op = &b->ops.rows[i];

		if (op->call >= 0 || !op->correlation)
			continue;
		for (at = HOME(op->process, op->correlation); slots[at]; at = (at + 1) & mask) {
			const struct wt_call *c = &b->calls.rows[slots[at] - 1];

			if (c->process == op->process && c->correlation == op->correlation) {
				op->call = (int32_t)slots[at] - 1;
				break;
			}
		}
	}
#undef HOME
	free(slots);
	return 0;
}

/*
 * A device takes the rank of the process that worked on it (lowest of several), not of one that merely saw it: each
 * process of a node lists all the node's devices. Without any work, of the process that named it first or used it.
 */
static void rank_devices(struct wt_builder *b)
{
	for (size_t i = 0; i < b->ops.n; i++) {
		struct wt_device *d = &b->devices.rows[b->ops.rows[i].device];
		int32_t rank = b->processes.rows[b->ops.rows[i].process].rank;

		if (rank >= 0 && (d->rank < 0 || rank < d->rank))
			d->rank = rank;
	}
	for (size_t i = 0; i < b->devices.n; i++)
		if (b->devices.rows[i].rank < 0)
			b->devices.rows[i].rank = b->processes.rows[b->device_owners.rows[i]].rank;
	for (size_t i = 0; i < b->streams.n; i++) {
		const struct wt_stream *s = &b->streams.rows[i];

		if (s->device < b->devices.n && s->process < b->processes.n &&
		    b->devices.rows[s->device].rank < 0)
			b->devices.rows[s->device].rank = b->processes.rows[s->process].rank;
	}
}

static size_t *index_devices(const struct wt_builder *b)
{
	size_t *first = calloc(b->devices.n + 1, sizeof(*first));

	if (!first)
		return NULL;
	for (size_t i = 0; i < b->ops.n; i++)
		first[b->ops.rows[i].device + 1]++;
	for (size_t i = 0; i < b->devices.n; i++)
		first[i + 1] += first[i];
	return first;
}

static int arrange(struct wt_builder *b)
{
	int err;

	if (b->error || wt_strings_failed(b->strings))
		return b->error ? -b->error : -WT_E_NOMEM;
	if (dangling(b))
		return -WT_E_CORRUPT;
	add_bases(b);
	check_works(b);
	check_ops(b);
	check_calls(b);
	check_collectives(b);
	check_waits(b);
	check_asides(b);
	check_holes(b);
	err = sort_calls(b);
	err = err ? err : join(b);
	err = err ? err : sort_ops(b);
	if (err)
		return err;
	wt_sort_rows(b->ranges.rows, b->ranges.n, sizeof(*b->ranges.rows), cmp_range, b);
	wt_sort_rows(b->asides.rows, b->asides.n, sizeof(*b->asides.rows), cmp_aside, b);
	wt_sort_rows(b->holes.rows, b->holes.n, sizeof(*b->holes.rows), cmp_hole, b);
	rank_devices(b);
	return 0;
}

/* Moves a table from the builder to the timeline. */
#define MOVE(tl_, b_, table_)                                                                      \
	((tl_)->table_ = (b_)->table_.rows, (tl_)->n##table_ = (b_)->table_.n,                     \
	 (b_)->table_.rows = NULL)

int wt_builder_finish(struct wt_builder *b, struct wt_timeline **ret, struct wt_diag *diag)
{
	struct wt_timeline *tl = calloc(1, sizeof(*tl));
	int err = tl ? arrange(b) : -WT_E_NOMEM;

	if (!err) {
		tl->device_first = index_devices(b);
		err = tl->device_first ? 0 : -WT_E_NOMEM;
	}
	if (err) {
		wt_fail(diag, -err, -1,
			err == -WT_E_LIMIT     ? "more rows than a timeline can hold"
			: err == -WT_E_CORRUPT ? "a row names what the file never introduced"
					       : "out of memory");
		free(tl);
		wt_builder_free(b);
		return err;
	}
	MOVE(tl, b, ops);
	MOVE(tl, b, calls);
	tl->correlates_once = !b->twins;
	MOVE(tl, b, ranges);
	MOVE(tl, b, asides);
	MOVE(tl, b, collectives);
	MOVE(tl, b, members);
	MOVE(tl, b, standings);
	MOVE(tl, b, waits);
	MOVE(tl, b, memories);
	MOVE(tl, b, counters);
	MOVE(tl, b, frames);
	MOVE(tl, b, holes);
	MOVE(tl, b, counts);
	MOVE(tl, b, processes);
	MOVE(tl, b, devices);
	MOVE(tl, b, streams);
	MOVE(tl, b, threads);
	MOVE(tl, b, shapes);
	MOVE(tl, b, works);
	MOVE(tl, b, instructions);
	MOVE(tl, b, inputs);
	MOVE(tl, b, notes);
	MOVE(tl, b, environment);
	tl->strings = b->strings;
	b->strings = NULL;
	wt_builder_free(b);
	*ret = tl;
	return 0;
}
