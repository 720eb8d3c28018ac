/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process did before its first step: one account for all kinds of jobs, since what a first step is, steps.c
 * says. And who launched to find the fastest kernel, not to compute:
 *
 * XLA's autotuner puts kernels of its own (tuners.def) around each candidate, on the thread that compiles; what that
 * thread launches between two of them, NEAR operations at most, is a candidate, unless it belongs to the run of one of
 * the job's own programs (candidates are small programs themselves).
 *
 * Triton's and Inductor's benchmarks empty the cache before each candidate, by a large memset or fill: the same one,
 * and the same kernels behind it, TIMES over on one thread, is a benchmark. No other pattern is taken for one.
 *
 * Libraries that measure inside of themselves (cuDNN's benchmark mode) leave nothing to tell them by.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"

#define NEAR	     8
#define WORK	     4 /* operations of a candidate that is benchmarked, at most */
#define TIMES	     5
#define FLUSH_BYTES  (32 << 20) /* smaller than the caches that are to be emptied */
#define FLUSH_BLOCKS 8192	/* of a fill: 512 integers a block at the least */

static const char *const tuners[] = {
#define WT_TUNER(text_) text_,
#include "axes/tuners.def"
#undef WT_TUNER
};
#define TUNERS (sizeof(tuners) / sizeof(tuners[0]))

/* A few rows of a thread, in order. */
struct few {
	size_t row[NEAR];
	size_t n; /* beyond NEAR: too many to be kept */
};
struct thread {
	struct few since;   /* the tuner's last kernel */
	uint8_t tuned;	    /* there was one, and at most NEAR rows ago */
	struct few behind;  /* the last flush */
	size_t run;	    /* row of the first flush of equal ones */
	uint64_t flush;	    /* its key; 0 = none */
	uint64_t key, want; /* of what is behind the last flush, and behind the one before */
	size_t times;	    /* flushes with the same behind them, in a row */
};

static uint8_t told_of(const struct wt_axes *a, const struct wt_op *op)
{
	uint8_t *told = &a->told[op->name];
	const char *name;

	if (*told & WT_TOLD_TUNER)
		return *told;
	name = wt_timeline_string(a->ledger->tl, op->name);
	*told |= WT_TOLD_TUNER;
	for (size_t i = 0; i < TUNERS; i++)
		if (strstr(name, tuners[i]))
			*told |= WT_TOLD_TUNES;
	if (strstr(name, "FillFunctor<int>") || strstr(name, "FillFunctorIi"))
		*told |= WT_TOLD_FILLS;
	return *told;
}

static void keep(struct few *f, size_t row)
{
	if (f->n < NEAR)
		f->row[f->n] = row;
	f->n += f->n <= NEAR;
}

static void mark(struct wt_launches *l, const struct few *f, uint8_t by)
{
	for (size_t i = 0; i < f->n && i < NEAR; i++)
		if (!l->rows[f->row[i]].tuning)
			l->rows[f->row[i]].tuning = by;
}

/* A run of a program that the job asked for: JAX names those so. */
static int is_own_run(const struct wt_axes *a, const struct wt_op *op)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const char *said;
	uint32_t program;

	if (wt_xla_run(a, &tl->calls[op->call], &program) < 0)
		return 0;
	said = wt_timeline_string(tl, program);
	return strstr(said, "hlo_module=jit_") || strstr(said, "hlo_module=pmap_");
}

/* XLA's: i is the row at hand. */
static void between_own(const struct wt_axes *a, struct wt_launches *l, size_t i, struct thread *t)
{
	const struct wt_op *op = &a->ledger->tl->ops[l->rows[i].op];

	if (op->kind == WT_OP_KERNEL && told_of(a, op) & WT_TOLD_TUNES) {
		if (t->tuned)
			mark(l, &t->since, WT_TUNING_XLA);
		l->rows[i].tuning = WT_TUNING_XLA;
		t->tuned = 1;
		t->since.n = 0;
	} else if (t->tuned && !is_own_run(a, op)) {
		keep(&t->since, i);
		t->tuned = t->since.n <= NEAR;
	}
}

/* What empties the cache: the same for the same size; 0 = it does not. */
static uint64_t flush_key(const struct wt_axes *a, const struct wt_launch *r)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const struct wt_op *op = &tl->ops[r->op];

	if (op->kind == WT_OP_MEMSET)
		return op->bytes >= FLUSH_BYTES ? wt_mix64(op->bytes) | 1 : 0;
	return op->kind == WT_OP_KERNEL && told_of(a, op) & WT_TOLD_FILLS &&
			       tl->shapes[op->shape].grid[0] >= FLUSH_BLOCKS
		       ? r->key | 1
		       : 0;
}

static void begin_run(struct thread *t, size_t row, uint64_t flush)
{
	t->run = row;
	t->flush = flush;
	t->times = 0;
}

static void behind_flushes(const struct wt_axes *a, struct wt_launches *l, size_t i,
			   struct thread *t)
{
	uint64_t flush = flush_key(a, &l->rows[i]);

	if (!flush) {
		keep(&t->behind, i);
		t->key = wt_mix64(t->key ^ l->rows[i].key);
		/* Behind the last one there is no other to end it. */
		if (t->times >= TIMES && t->key == t->want)
			mark(l, &t->behind, WT_TUNING_BENCHMARK);
		return;
	}
	if (flush != t->flush || !t->behind.n || t->behind.n > WORK ||
	    (t->times && t->key != t->want)) {
		begin_run(t, i, flush);
	} else if (++t->times == TIMES) {
		for (size_t k = t->run; k <= i; k++)
			if (l->rows[k].thread == l->rows[i].thread && !l->rows[k].tuning)
				l->rows[k].tuning = WT_TUNING_BENCHMARK;
	} else if (t->times > TIMES && !l->rows[i].tuning) {
		l->rows[i].tuning = WT_TUNING_BENCHMARK;
	}
	t->want = t->key;
	t->key = 0;
	t->behind.n = 0;
}

int wt_tuning_find(const struct wt_axes *a, struct wt_launches *l)
{
	struct thread *threads = calloc(a->ledger->tl->nthreads + 1, sizeof(*threads));

	if (!threads)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < l->n; i++) {
		struct thread *t = &threads[l->rows[i].thread];

		between_own(a, l, i, t);
		behind_flushes(a, l, i, t);
	}
	free(threads);
	return 0;
}

/* ---- the account ---- */

static void count_row(const struct wt_timeline *tl, const struct wt_launch *r, struct wt_startup *s)
{
	const struct wt_op *op = &tl->ops[r->op];

	s->ops++;
	s->kernels += op->kind == WT_OP_KERNEL;
	if (op->flags & WT_OP_UNTIMED)
		return;
	s->kernel_ns += op->kind == WT_OP_KERNEL ? op->end_ns - op->start_ns : 0;
	s->first_ns = op->start_ns < s->first_ns ? op->start_ns : s->first_ns;
	s->last_ns = op->end_ns > s->last_ns ? op->end_ns : s->last_ns;
}

static void count_tuning(const struct wt_timeline *tl, const struct wt_launch *r, int in_step,
			 struct wt_tuning *t)
{
	const struct wt_op *op = &tl->ops[r->op];

	if (op->kind != WT_OP_KERNEL)
		return;
	t->by |= 1u << r->tuning;
	t->kernels++;
	t->in_steps += (uint64_t)in_step;
	if (op->flags & WT_OP_UNTIMED)
		return;
	t->kernel_ns += op->end_ns - op->start_ns;
	t->first_ns = op->start_ns < t->first_ns ? op->start_ns : t->first_ns;
	t->last_ns = op->end_ns > t->last_ns ? op->end_ns : t->last_ns;
}

/* The process's steps on a device: [*from, ret). Those of start-up are before the first real one, *ret_real. */
static size_t steps_on(const struct wt_axes *a, size_t device, size_t *from, size_t *ret_real)
{
	size_t to;

	while (*from < a->nsteps && a->steps[*from].device != device)
		++*from;
	for (to = *from; to < a->nsteps && a->steps[to].device == device; to++)
		;
	for (*ret_real = *from; *ret_real < to && a->steps[*ret_real].startup; ++*ret_real)
		;
	return to;
}

/* Until when, on the host, what is launched belongs to start-up; where that ends on the device. */
static int64_t end_of(const struct wt_axes *a, size_t from, size_t real, struct wt_startup *s)
{
	const struct wt_step *step = &a->steps[real];
	int64_t at_ns = step->host_start_ns;

	s->source = step->source;
	s->grade = step->grade;
	s->iterations = real - from;
	s->with_first = step->source == WT_STEPS_OPTIMIZER && s->begun == 1;
	if (s->with_first) {
		s->end_ns = step->end_ns;
		return step->host_end_ns;
	}
	/* The device may be behind with what was launched before. */
	s->end_ns = at_ns > step->end_ns ? step->end_ns : at_ns;
	s->end_ns = step->start_ns > s->end_ns ? step->start_ns : s->end_ns;
	return at_ns;
}

/*
 * A step with autotuning in it is no step like the others; where all have it, that is what the job does (a benchmark).
 * The rows are in order of the launch, and so are steps.
 */
static int cut_steps(struct wt_axes *a, const struct wt_launches *l, size_t from, size_t to)
{
	uint8_t *tuned = calloc(to - from + 1, 1);
	size_t k = from, left = 0;

	if (!tuned)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < l->n && k < to; i++) {
		if (!l->rows[i].tuning)
			continue;
		while (k < to && a->steps[k].host_end_ns <= l->rows[i].at_ns)
			k++;
		if (k < to && a->steps[k].host_start_ns <= l->rows[i].at_ns)
			tuned[k - from] = 1;
	}
	for (k = from; k < to; k++)
		left += !a->steps[k].partial && !tuned[k - from];
	for (k = from; left && k < to; k++)
		a->steps[k].partial |= tuned[k - from];
	free(tuned);
	return 0;
}

static int add_startup(struct wt_axes *a, const struct wt_startup *s)
{
	/* Room doubles at powers of two. */
	if (!(a->nstartups & (a->nstartups - 1))) {
		size_t room = a->nstartups ? a->nstartups * 2 : 1;
		struct wt_startup *rows = realloc(a->startups, room * sizeof(*rows));

		if (!rows)
			return -WT_E_NOMEM;
		a->startups = rows;
	}
	a->startups[a->nstartups++] = *s;
	return 0;
}

static int on_device(struct wt_axes *a, const struct wt_launches *l, size_t device, size_t first)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const struct wt_process *p = &tl->processes[l->process];
	struct wt_startup s = {.process = l->process,
			       .device = (uint16_t)device,
			       .begun = (uint8_t)p->begun,
			       .end_ns = INT64_MAX,
			       .first_ns = INT64_MAX,
			       .last_ns = INT64_MIN,
			       .tuning = {.first_ns = INT64_MAX, .last_ns = INT64_MIN}};
	size_t real, to = steps_on(a, device, &first, &real);
	int64_t until_ns = real < to ? end_of(a, first, real, &s) : INT64_MIN,
		last_ns = to > first ? a->steps[to - 1].host_end_ns : INT64_MIN;
	int32_t call = -1;
	int any = 0, err;

	for (size_t i = 0; i < l->n; i++) {
		const struct wt_launch *r = &l->rows[i];

		if (tl->ops[r->op].device != a->ledger->devices[device].device)
			continue;
		any = 1;
		if (r->at_ns < until_ns) {
			s.launches += tl->ops[r->op].call != call;
			call = tl->ops[r->op].call;
			count_row(tl, r, &s);
		}
		if (r->tuning)
			count_tuning(tl, r, r->at_ns >= until_ns && r->at_ns < last_ns, &s.tuning);
	}
	s.begin_ns = p->collect_start_ns != INT64_MIN ? p->collect_start_ns : s.first_ns;
	if (s.begin_ns > s.end_ns)
		s.begin_ns = s.end_ns;
	err = s.tuning.kernels ? cut_steps(a, l, real, to) : 0;
	if (!any || (!s.ops && !s.tuning.kernels && (s.begun != 1 || real == to)))
		return err;
	return err ? err : add_startup(a, &s);
}

int wt_startup_of(struct wt_axes *a, const struct wt_launches *l, size_t first)
{
	int err = 0;

	for (size_t d = 0; !err && d < a->ledger->ndevices; d++)
		err = on_device(a, l, d, first);
	return err;
}
