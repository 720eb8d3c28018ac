/* SPDX-License-Identifier: Apache-2.0 */
/* See depends.h. Built once per timeline: two searches per operation on a stream that waits or is waited for. */
#define _GNU_SOURCE /* qsort_r */
#include "ledger/depends.h"

#include <stdlib.h>

#include "ledger/gaps.h"

#define NO_OP	  UINT32_MAX
#define DEPTH	  8    /* of chains of events */
#define LOOKED_AT 256  /* waits, of one gap */
#define SKEW_NS	  5000 /* by which the clocks of two devices can disagree on who was first */

struct wt_dependency {
	int64_t at_ns, record_ns;
	uint32_t stream, from_stream; /* from_stream: UINT32_MAX without a recording */
	uint32_t first_op;	      /* the first put on the stream after the wait */
	uint32_t last_op;	      /* the last put on from_stream before the recording */
	uint8_t kind;
};

static int64_t put_ns(const struct wt_timeline *tl, uint32_t op)
{
	return tl->calls[tl->ops[op].call].start_ns;
}

static int cmp_place(uint32_t stream, int64_t at_ns, uint32_t other, int64_t other_ns)
{
	if (stream != other)
		return stream < other ? -1 : 1;
	return (at_ns > other_ns) - (at_ns < other_ns);
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct wt_dependency *x = pa, *y = pb;

	return cmp_place(x->stream, x->at_ns, y->stream, y->at_ns);
}

static int cmp_record(const void *pa, const void *pb, void *arg)
{
	const struct wt_dependency *rows = arg, *x = &rows[*(const uint32_t *)pa],
				   *y = &rows[*(const uint32_t *)pb];

	return cmp_place(x->from_stream, x->record_ns, y->from_stream, y->record_ns);
}

/* How many rows are on earlier streams, or on this one at t or before. */
static size_t rows_until(const struct wt_depends *d, uint32_t stream, int64_t t_ns)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cmp_place(d->rows[mid].stream, d->rows[mid].at_ns, stream, t_ns) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The first recording on a stream at t or after it, if there is one on it. */
static struct wt_dependency *record_after(const struct wt_depends *d, uint32_t stream, int64_t t_ns)
{
	size_t lo = 0, hi = d->nrecords;

	while (lo < hi) {
		const struct wt_dependency *row = &d->rows[d->by_record[lo + (hi - lo) / 2]];

		if (cmp_place(row->from_stream, row->record_ns, stream, t_ns) < 0)
			lo = lo + (hi - lo) / 2 + 1;
		else
			hi = lo + (hi - lo) / 2;
	}
	if (lo == d->nrecords || d->rows[d->by_record[lo]].from_stream != stream)
		return NULL;
	return &d->rows[d->by_record[lo]];
}

static void place_op(struct wt_depends *d, uint32_t op)
{
	const struct wt_timeline *tl = d->tl;
	uint32_t stream = tl->ops[op].stream;
	int64_t t_ns = put_ns(tl, op);
	size_t at = rows_until(d, stream, t_ns);
	struct wt_dependency *row;

	if (at && d->rows[at - 1].stream == stream) {
		row = &d->rows[at - 1];
		if (row->first_op == NO_OP || t_ns < put_ns(tl, row->first_op))
			row->first_op = op;
	}
	row = record_after(d, stream, t_ns);
	if (row && (row->last_op == NO_OP || t_ns > put_ns(tl, row->last_op) ||
		    (t_ns == put_ns(tl, row->last_op) &&
		     tl->ops[op].end_ns > tl->ops[row->last_op].end_ns)))
		row->last_op = op;
}

/* What no operation parts has the same one before or after it. */
static void spread(struct wt_depends *d)
{
	for (size_t i = d->n; i-- > 1;)
		if (d->rows[i - 1].first_op == NO_OP && d->rows[i - 1].stream == d->rows[i].stream)
			d->rows[i - 1].first_op = d->rows[i].first_op;
	for (size_t i = 1; i < d->nrecords; i++) {
		struct wt_dependency *row = &d->rows[d->by_record[i]],
				     *before = &d->rows[d->by_record[i - 1]];

		if (row->last_op == NO_OP && row->from_stream == before->from_stream)
			row->last_op = before->last_op;
	}
}

/* Whether anything but work on the same device is waited for. */
static int worth_it(const struct wt_timeline *tl)
{
	for (size_t i = 0; i < tl->nwaits; i++) {
		const struct wt_wait *w = &tl->waits[i];
		uint32_t to = tl->calls[w->call].stream, from;

		if (w->kind == WT_WAIT_HOST_FUNCTION)
			return 1;
		from = w->record < 0 ? UINT32_MAX : tl->calls[w->record].stream;
		if (to != UINT32_MAX && from != UINT32_MAX &&
		    tl->streams[to].device != tl->streams[from].device)
			return 1;
	}
	return 0;
}

static void add_wait(struct wt_depends *d, const struct wt_wait *w)
{
	const struct wt_call *call = &d->tl->calls[w->call];
	struct wt_dependency row = {.at_ns = call->start_ns,
				    .stream = call->stream,
				    .from_stream = UINT32_MAX,
				    .first_op = NO_OP,
				    .last_op = NO_OP,
				    .kind = w->kind};

	if (w->record >= 0) {
		row.from_stream = d->tl->calls[w->record].stream;
		row.record_ns = d->tl->calls[w->record].start_ns;
	}
	if (row.stream != UINT32_MAX &&
	    (row.kind == WT_WAIT_HOST_FUNCTION || row.from_stream != UINT32_MAX))
		d->rows[d->n++] = row;
}

int wt_depends_init(struct wt_depends *d, const struct wt_timeline *tl)
{
	*d = (struct wt_depends){.tl = tl};
	if (!worth_it(tl))
		return 0;
	d->rows = malloc(tl->nwaits * sizeof(*d->rows));
	d->by_record = malloc(tl->nwaits * sizeof(*d->by_record));
	if (!d->rows || !d->by_record)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->nwaits; i++)
		add_wait(d, &tl->waits[i]);
	qsort(d->rows, d->n, sizeof(*d->rows), cmp_row);
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i].from_stream != UINT32_MAX)
			d->by_record[d->nrecords++] = (uint32_t)i;
	qsort_r(d->by_record, d->nrecords, sizeof(*d->by_record), cmp_record, d->rows);
	for (size_t i = 0; i < tl->nops; i++)
		if (tl->ops[i].call >= 0 && !(tl->ops[i].flags & WT_OP_UNTIMED))
			place_op(d, (uint32_t)i);
	spread(d);
	return 0;
}

void wt_depends_release(struct wt_depends *d)
{
	free(d->rows);
	free(d->by_record);
}

struct question {
	const struct wt_depends *d;
	const struct wt_gap *gap;
	int64_t until_ns;
	int left; /* waits that may still be looked at */
	uint8_t why;
};

/* Work whose end the stream waited for: an answer if it ended in the gap. What ended later was not waited for. */
static void ask_work(struct question *q, uint32_t op)
{
	int64_t end_ns = op == NO_OP ? INT64_MIN : q->d->tl->ops[op].end_ns;

	if (end_ns > q->gap->end_ns && end_ns - q->gap->end_ns <= SKEW_NS)
		end_ns = q->gap->end_ns;
	if (end_ns <= q->until_ns || end_ns > q->gap->end_ns)
		return;
	q->until_ns = end_ns;
	q->why = WT_WHY_EVENT;
}

/* All waits on a stream up to an instant, after which nothing was put on it until then. */
static void ask_stream(struct question *q, uint32_t stream, int64_t t_ns, int depth)
{
	const struct wt_depends *d = q->d;

	for (size_t i = rows_until(d, stream, t_ns); i > 0 && q->left > 0; i--) {
		const struct wt_dependency *row = &d->rows[i - 1];

		if (row->stream != stream ||
		    (row->first_op != NO_OP && put_ns(d->tl, row->first_op) < t_ns))
			return;
		q->left--;
		if (row->kind == WT_WAIT_HOST_FUNCTION) { /* nobody writes down when it ends */
			q->until_ns = q->gap->end_ns;
			q->why = WT_WHY_HOST_FUNCTION;
			return;
		}
		ask_work(q, row->last_op);
		/* What was put there before the recording and has run was not held up any more. */
		if (depth)
			ask_stream(q, row->from_stream, row->record_ns, depth - 1);
	}
}

int64_t wt_depends_until(const struct wt_depends *d, uint32_t op, const struct wt_gap *gap,
			 uint8_t *ret_why)
{
	struct question q = {.d = d, .gap = gap, .until_ns = gap->start_ns, .left = LOOKED_AT};

	if (d->n && d->tl->ops[op].call >= 0)
		ask_stream(&q, d->tl->ops[op].stream, put_ns(d->tl, op), DEPTH);
	*ret_why = q.why;
	return q.until_ns;
}
