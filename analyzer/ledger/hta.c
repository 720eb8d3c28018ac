/* SPDX-License-Identifier: Apache-2.0 */
/* See hta.h for the rules. One input at a time: collect its rows, then unions and gaps over them sorted by start. */
#include "ledger/hta.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "proto/wt_err.h"

#define KERNEL_WAIT_US 30
#define NO_LAUNCH      INT64_MIN

const char *const wt_hta_idle_names[WT_HTA_IDLES] = {"host_wait", "kernel_wait", "other"};

enum type { COMM, MEMORY, COMPUTE, OTHER };

struct row {
	int64_t start_ns, end_ns, stream;
	int64_t launch_ns; /* NO_LAUNCH: none */
	uint8_t type, is_work;
};
struct launch {		  /* all host calls of one correlation */
	int64_t start_ns; /* the last of them */
	uint32_t kept;	  /* how many are not cut off with the last step */
};
struct view {
	const struct wt_timeline *tl;
	uint32_t input;
	int filters;	  /* two or more profiler steps in the whole job */
	int64_t until_ns; /* the end of the last step of this input */
	int64_t first_ns; /* start of the file's first event; NO_LAUNCH: not known */
	struct wt_map by_correlation;
	struct launch *launches;
	struct row *rows;
	size_t nlaunches, nrows, room;
	int64_t left_out;
};

static int starts(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static enum type type_of(const char *name)
{
	if (starts(name, "nccl") && strstr(name, "Kernel"))
		return COMM;
	if (starts(name, "Memcpy") || starts(name, "Memset") || starts(name, "dma"))
		return MEMORY;
	return strstr(name, "Memcpy") || strstr(name, "Sync") ? OTHER : COMPUTE;
}

static uint32_t input_of(const struct wt_timeline *tl, uint16_t process)
{
	return tl->processes[process].input;
}

static int is_step(const char *name)
{
	return strstr(name, "ProfilerStep") != NULL;
}

/* Host calls by correlation. Calls lie sorted by start within a thread. */
static int collect_launches(struct view *v)
{
	const struct wt_timeline *tl = v->tl;

	v->launches = malloc((tl->ncalls + 1) * sizeof(*v->launches));
	if (!v->launches)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->ncalls; i++) {
		const struct wt_call *c = &tl->calls[i];
		struct launch *l;
		uint32_t *at;
		int isnew;

		if (!c->correlation || input_of(tl, c->process) != v->input)
			continue;
		at = wt_map_slot(&v->by_correlation, c->correlation, (uint32_t)v->nlaunches,
				 &isnew);
		if (!at)
			return -WT_E_NOMEM;
		l = &v->launches[*at];
		if (isnew) {
			v->nlaunches++;
			*l = (struct launch){.start_ns = NO_LAUNCH};
		}
		if (c->start_ns > l->start_ns)
			l->start_ns = c->start_ns;
		l->kept += c->start_ns <= v->until_ns;
	}
	return 0;
}

/* Adds a row, as often as HTA's join of rows and launches yields it. */
static int add_row(struct view *v, const struct row *row, uint64_t correlation)
{
	uint32_t at, times = 1;
	struct row r = *row;

	r.launch_ns = NO_LAUNCH;
	if (correlation && wt_map_get(&v->by_correlation, correlation, &at)) {
		r.launch_ns = v->launches[at].start_ns;
		times = v->filters ? v->launches[at].kept : 1;
		if (v->filters && r.launch_ns > v->until_ns)
			r.launch_ns = NO_LAUNCH;
	} else if (v->filters) {
		times = correlation ? 0 : r.start_ns <= v->until_ns;
	} else if (correlation) {
		r.launch_ns = v->first_ns;
	}
	v->left_out += !times;
	for (; times; times--) {
		if (v->nrows == v->room) {
			size_t room = v->room ? v->room * 2 : 256;
			struct row *rows = realloc(v->rows, room * sizeof(*rows));

			if (!rows)
				return -WT_E_NOMEM;
			v->rows = rows;
			v->room = room;
		}
		v->rows[v->nrows++] = r;
	}
	return 0;
}

static void find_first(struct view *v)
{
	v->first_ns = NO_LAUNCH;
	for (size_t i = 0; i < v->tl->nasides; i++)
		if (v->tl->asides[i].first && input_of(v->tl, v->tl->asides[i].process) == v->input)
			v->first_ns = v->tl->asides[i].start_ns;
}

static int collect_rows(struct view *v)
{
	const struct wt_timeline *tl = v->tl;
	int err = 0;

	for (size_t i = 0; !err && i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		struct row r = {.start_ns = op->start_ns, .end_ns = op->end_ns, .is_work = 1};

		if (input_of(tl, op->process) != v->input || op->flags & WT_OP_UNTIMED)
			continue;
		r.stream = tl->streams[op->stream].id;
		r.type = (uint8_t)type_of(wt_timeline_string(tl, op->name));
		err = add_row(v, &r, op->correlation);
	}
	for (size_t i = 0; !err && i < tl->nasides; i++) {
		const struct wt_aside *a = &tl->asides[i];
		struct row r = {.start_ns = a->start_ns, .end_ns = a->end_ns, .stream = a->stream};

		if (input_of(tl, a->process) != v->input || a->stream == -1)
			continue;
		r.type = (uint8_t)type_of(wt_timeline_string(tl, a->name));
		err = add_row(v, &r, a->correlation);
	}
	return err;
}

static int by_start(const void *pa, const void *pb)
{
	const struct row *x = pa, *y = pb;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int by_stream(const void *pa, const void *pb)
{
	const struct row *x = pa, *y = pb;

	return x->stream != y->stream ? (x->stream < y->stream ? -1 : 1) : by_start(pa, pb);
}

/* Time in which a row of any of these types was there. Rows are sorted by start. */
static int64_t union_ns(const struct view *v, unsigned types)
{
	int64_t reach_ns = INT64_MIN, sum_ns = 0;

	for (size_t i = 0; i < v->nrows; i++) {
		const struct row *r = &v->rows[i];

		if (!(types & 1u << r->type) || r->end_ns <= reach_ns)
			continue;
		sum_ns += r->end_ns - (r->start_ns > reach_ns ? r->start_ns : reach_ns);
		reach_ns = r->end_ns;
	}
	return sum_ns;
}

static void breakdown(const struct view *v, struct wt_hta_rank *ret)
{
	int64_t last_ns = INT64_MIN, both_ns;

	for (size_t i = 0; i < v->nrows; i++)
		last_ns = v->rows[i].end_ns > last_ns ? v->rows[i].end_ns : last_ns;
	ret->kernel_ns = last_ns - v->rows[0].start_ns;
	ret->idle_ns = ret->kernel_ns - union_ns(v, ~0u);
	ret->compute_ns = union_ns(v, 1u << COMPUTE);
	ret->non_compute_ns = ret->kernel_ns - ret->idle_ns - ret->compute_ns;
	ret->comm_ns = union_ns(v, 1u << COMM);
	both_ns = union_ns(v, 1u << COMM | 1u << COMPUTE);
	ret->overlap_ns = ret->comm_ns + ret->compute_ns - both_ns;
}

/* A time as HTA holds it, in the file's own clock: a double of microseconds since 1970 knows a quarter of one. */
static double as_us(const struct view *v, int64_t ns)
{
	return (double)((long double)(ns - v->tl->inputs[v->input].base_ns) / 1000);
}

/* By how much t comes after the end of a row, as HTA computes it. */
static double after_us(const struct view *v, int64_t t_ns, const struct row *r)
{
	return as_us(v, t_ns) - as_us(v, r->start_ns) - (double)(r->end_ns - r->start_ns) / 1000;
}

/* Rows are sorted by stream, then start; work only. */
static int idle_by_stream(const struct view *v, struct wt_hta_rank *ret)
{
	struct wt_hta_stream *s = NULL;
	const struct row *before = NULL;
	double us[WT_HTA_IDLES] = {0};

	ret->streams = calloc(v->nrows + 1, sizeof(*ret->streams));
	if (!ret->streams)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < v->nrows; i++) {
		const struct row *r = &v->rows[i];
		int why = WT_HTA_OTHER;

		if (!r->is_work)
			continue;
		if (!s || s->stream != r->stream) {
			s = &ret->streams[ret->nstreams++];
			s->stream = r->stream;
			before = NULL;
			memset(us, 0, sizeof(us));
		}
		if (before && r->launch_ns != NO_LAUNCH && after_us(v, r->launch_ns, before) > 0)
			why = WT_HTA_HOST_WAIT;
		else if (before && after_us(v, r->start_ns, before) < KERNEL_WAIT_US)
			why = WT_HTA_KERNEL_WAIT;
		s->rows[why]++;
		us[why] += before ? after_us(v, r->start_ns, before) : 0;
		s->ns[why] = (int64_t)(us[why] * 1000 + (us[why] < 0 ? -0.5 : 0.5));
		before = r;
	}
	return 0;
}

static int view_input(struct view *v, struct wt_hta_rank *ret)
{
	int err = collect_launches(v);

	find_first(v);

	err = err ? err : collect_rows(v);
	if (err || !v->nrows)
		return err;
	qsort(v->rows, v->nrows, sizeof(*v->rows), by_start);
	breakdown(v, ret);
	ret->rows = (int64_t)v->nrows;
	for (size_t i = 0; i < v->nrows; i++)
		ret->asides += !v->rows[i].is_work;
	ret->left_out = v->left_out;
	qsort(v->rows, v->nrows, sizeof(*v->rows), by_stream);
	return idle_by_stream(v, ret);
}

/* Whether two steps of different names are known, and where an input's last step ends. */
static void find_steps(const struct wt_timeline *tl, uint32_t input, int *ret_filters,
		       int64_t *ret_until_ns)
{
	uint32_t first = 0;

	*ret_filters = 0;
	*ret_until_ns = INT64_MIN;
#define STEP(row_)                                                                                 \
	do {                                                                                       \
		if (!is_step(wt_timeline_string(tl, (row_)->name)))                                \
			break;                                                                     \
		*ret_filters |= first && first != (row_)->name;                                    \
		first = (row_)->name;                                                              \
		if (input_of(tl, (row_)->process) == input && (row_)->end_ns > *ret_until_ns)      \
			*ret_until_ns = (row_)->end_ns;                                            \
	} while (0)
	for (size_t i = 0; i < tl->nranges; i++)
		STEP(&tl->ranges[i]);
	for (size_t i = 0; i < tl->nasides; i++)
		STEP(&tl->asides[i]);
#undef STEP
}

static int32_t rank_of(const struct wt_timeline *tl, uint32_t input)
{
	for (size_t i = 0; i < tl->nprocesses; i++)
		if (tl->processes[i].input == input && tl->processes[i].rank >= 0)
			return tl->processes[i].rank;
	return tl->inputs[input].rank;
}

int wt_hta_build(struct wt_hta **ret, const struct wt_timeline *tl)
{
	struct wt_hta *h = calloc(1, sizeof(*h));
	int err = 0;

	if (!h)
		return -WT_E_NOMEM;
	h->ranks = calloc(tl->ninputs + 1, sizeof(*h->ranks));
	if (!h->ranks)
		err = -WT_E_NOMEM;
	for (uint32_t i = 0; !err && i < tl->ninputs; i++) {
		struct view v = {.tl = tl, .input = i};
		struct wt_hta_rank *r = &h->ranks[h->nranks];

		find_steps(tl, i, &v.filters, &v.until_ns);
		if (!v.filters)
			v.until_ns = INT64_MAX;
		err = view_input(&v, r);
		if (!err && v.nrows) {
			r->input = i;
			r->rank = rank_of(tl, i);
			h->nranks++;
		}
		free(v.rows);
		free(v.launches);
		wt_map_release(&v.by_correlation);
	}
	if (err) {
		wt_hta_free(h);
		return err;
	}
	*ret = h;
	return 0;
}

void wt_hta_free(struct wt_hta *h)
{
	if (!h)
		return;
	for (size_t i = 0; h->ranks && i < h->nranks; i++)
		free(h->ranks[i].streams);
	free(h->ranks);
	free(h);
}
