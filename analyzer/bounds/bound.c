/* SPDX-License-Identifier: Apache-2.0 */
/* See bound.h. Thresholds are those of the roofline rules; public kernels reach 0.6 of their peak in the median. */
#include "bounds/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "bounds/named.h"

#define NAME_ROOM	1024
#define LATENCY_EFF	0.3
#define CACHE_EFF	1.05
#define TOO_FAST	1.05 /* of the peak rate */
#define TOO_FAST_MEMORY 0.95 /* of the bandwidth, by more bytes than L2 holds */
#define BALANCED_LOG2	0.4
#define BUSY_PERCENT	60 /* of a peak, below it nothing is the bound */
#define BALANCED_POINTS 10
#define PASS_DIFFERS	0.2

struct wt_bounds {
	const struct wt_timeline *tl;
	struct wt_families *families;
	struct wt_device_peaks *peaks; /* by device */
	uint8_t *dtype_of;	       /* by name: 0 = not asked yet, else dtype + 1 */
	uint8_t *named; /* by name: 0 = not asked yet, 1 no, 2 sizes may follow from the grid */
	const struct wt_model *model;
	size_t nnames;
};

static const uint8_t cell_of_dtype[WT_DTYPES] = {
	[WT_DTYPE_FP32] = WT_PART_FP32_TF, [WT_DTYPE_TF32] = WT_PART_TF32_TF,
	[WT_DTYPE_BF16] = WT_PART_BF16_TF, [WT_DTYPE_FP16] = WT_PART_FP16_TF,
	[WT_DTYPE_FP8] = WT_PART_FP8_TF,   [WT_DTYPE_FP6] = WT_PART_FP6_TF,
	[WT_DTYPE_FP4] = WT_PART_FP4_TF,   [WT_DTYPE_INT8] = WT_PART_INT8_TOPS,
};

static struct wt_peak scaled(struct wt_peak p, double by)
{
	p.lo *= by;
	p.hi *= by;
	return p;
}

/* A slice of a device (MIG) has fewer multiprocessors, and not all of the bandwidth: then that is not known. */
static double slice_of(const struct wt_device *d, struct wt_peak units)
{
	return d->sm_count && units.hi > 0 && d->sm_count < units.lo ? d->sm_count / units.hi : 1;
}

static void find_peaks(const struct wt_timeline *tl, const struct wt_device *d,
		       struct wt_device_peaks *ret)
{
	double slice;

	wt_parts_find(wt_timeline_string(tl, d->name), d->memory_bytes, &ret->match);
	slice = slice_of(d, wt_parts_cell(&ret->match, WT_PART_UNITS));
	for (int t = 0; t < WT_DTYPES; t++)
		if (cell_of_dtype[t])
			ret->flops[t] =
				scaled(wt_parts_cell(&ret->match, cell_of_dtype[t]), 1e12 * slice);
	if (slice >= 1)
		ret->bandwidth = scaled(wt_parts_cell(&ret->match, WT_PART_MEM_GBS), 1e9);
	ret->l2_bytes = wt_parts_cell(&ret->match, WT_PART_L2_MIB).hi * 1048576;
	/* What the file says of its own device counts more than a name, and is all there is of an unknown one. */
	if (d->peak_flops) {
		ret->from_file = 1;
		ret->flops[WT_DTYPE_BF16] =
			(struct wt_peak){(double)d->peak_flops, (double)d->peak_flops, 0};
	}
	if (d->peak_bytes_per_s)
		ret->bandwidth = (struct wt_peak){(double)d->peak_bytes_per_s,
						  (double)d->peak_bytes_per_s, 0};
}

struct wt_bounds *wt_bounds_new(const struct wt_timeline *tl, struct wt_families *f)
{
	struct wt_bounds *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->tl = tl;
	b->families = f;
	b->nnames = wt_timeline_nstrings(tl);
	b->peaks = calloc(tl->ndevices + 1, sizeof(*b->peaks));
	b->dtype_of = calloc(b->nnames + 1, 1);
	b->named = calloc(b->nnames + 1, 1);
	if (!b->peaks || !b->dtype_of || !b->named) {
		wt_bounds_free(b);
		return NULL;
	}
	for (size_t i = 0; i < tl->ndevices; i++)
		find_peaks(tl, &tl->devices[i], &b->peaks[i]);
	return b;
}

void wt_bounds_model(struct wt_bounds *b, const struct wt_model *m)
{
	b->model = m;
}

void wt_bounds_free(struct wt_bounds *b)
{
	if (!b)
		return;
	free(b->peaks);
	free(b->dtype_of);
	free(b->named);
	free(b);
}

const struct wt_device_peaks *wt_bounds_peaks(const struct wt_bounds *b, uint16_t device)
{
	return &b->peaks[device];
}

const char *wt_evidence_name(enum wt_evidence e)
{
	return e == WT_EVIDENCE_MEASURED   ? "measured"
	       : e == WT_EVIDENCE_MODELLED ? "modelled"
					   : "estimated";
}

static enum wt_dtype name_dtype(struct wt_bounds *b, uint32_t name)
{
	char plain[NAME_ROOM]; /* as the compiler writes them, float and double are an f and a d */

	if (name >= b->nnames)
		return WT_DTYPE_UNKNOWN;
	if (!b->dtype_of[name])
		b->dtype_of[name] =
			(uint8_t)(1 + wt_dtype_of_name(wt_demangle(wt_timeline_string(b->tl, name),
								   plain, sizeof(plain))));
	return b->dtype_of[name] - 1;
}

/* The work that name, grid and model give; 0 = none. */
static int named_work(struct wt_bounds *b, const struct wt_op *op, struct wt_work *ret)
{
	char plain[NAME_ROOM];
	const char *name;

	if (!b->model || op->kind != WT_OP_KERNEL || !op->shape || op->name >= b->nnames ||
	    b->named[op->name] == 1)
		return 0;
	name = wt_demangle(wt_timeline_string(b->tl, op->name), plain, sizeof(plain));
	if (!b->named[op->name])
		b->named[op->name] = wt_named_is(name) ? 2 : 1;
	return b->named[op->name] == 2 &&
	       wt_named_work(name, &b->tl->shapes[op->shape], b->model, ret);
}

/* What is known of the work, from whichever source knows most. */
static void find_work(struct wt_bounds *b, const struct wt_op *op, struct wt_verdict *v)
{
	const struct wt_work *w = &b->tl->works[b->tl->shapes[op->shape].work];
	const struct wt_instruction *in = &b->tl->instructions[op->instruction];
	struct wt_work named;

	if (w->kind == WT_WORK_NONE && !in->flops && !in->bytes && named_work(b, op, &named)) {
		w = &named;
		v->by_name = 1;
	}
	if (w->kind != WT_WORK_NONE) {
		v->flops = wt_work_flops(w);
		v->bytes = wt_work_bytes(w);
		v->dtype = w->math < WT_DTYPES ? (enum wt_dtype)w->math : WT_DTYPE_UNKNOWN;
		v->product = w->kind == WT_WORK_SUMS ? w->m > 0 : w->kind != WT_WORK_STREAM;
	} else if (in->flops || in->bytes) {
		v->flops = (double)in->flops;
		v->bytes = (double)in->bytes;
	}
	/* Arguments tell the format or that it is none of these; shapes leave fp32's open. */
	if (v->dtype == WT_DTYPE_UNKNOWN &&
	    (w->kind == WT_WORK_NONE || w->source != WT_WORK_BY_ARGUMENTS)) {
		v->dtype = name_dtype(b, op->name);
		v->dtype_by_name = v->dtype != WT_DTYPE_UNKNOWN;
	}
}

static int has_matrix_pipe(const struct wt_device *d)
{
	return !d->cc || d->cc >= 70;
}

/* By FLOPs, bytes and peaks; 0 if they are not enough. */
static int by_model(struct wt_bounds *b, const struct wt_op *op, struct wt_verdict *v)
{
	const struct wt_device_peaks *p = &b->peaks[op->device];
	enum wt_dtype t = v->dtype == WT_DTYPE_UNKNOWN && p->from_file ? WT_DTYPE_BF16 : v->dtype;
	double ns = (double)(op->end_ns - op->start_ns);
	double tc = v->flops > 0 && p->flops[t].hi > 0 ? v->flops / p->flops[t].hi * 1e9 : 0;
	double tm = v->bytes > 0 && p->bandwidth.hi > 0 ? v->bytes / p->bandwidth.hi * 1e9 : 0;

	/* A stream's FLOPs are a formality: its bytes decide. A product needs both sides. */
	if (!(ns > 0) || !(tm > 0) || (v->product && !(tc > 0)))
		return 0;
	v->efficiency = (tc > tm ? tc : tm) / ns;
	v->evidence = v->by_name ? WT_EVIDENCE_ESTIMATED : WT_EVIDENCE_MODELLED;
	v->grade = v->by_name ? 1 : 2;
	v->unverified = p->bandwidth.unverified | (tc > 0 && p->flops[t].unverified);
	v->balanced = tc > 0 && fabs(log2(tc / tm)) < BALANCED_LOG2;
	if (tc > tm ? v->efficiency > TOO_FAST
		    : v->efficiency > TOO_FAST_MEMORY && p->l2_bytes > 0 &&
			      v->bytes > p->l2_bytes) {
		v->wrong = 1;
		v->limit = WT_LIMIT_UNKNOWN;
		v->grade = 3;
	} else if (v->efficiency < LATENCY_EFF) {
		v->limit = WT_LIMIT_LATENCY;
	} else if (tc > tm) {
		v->limit = wt_dtype_is_matrix(t) && has_matrix_pipe(&b->tl->devices[op->device])
				   ? WT_LIMIT_TENSOR
				   : WT_LIMIT_ALU;
	} else {
		v->limit = v->efficiency > CACHE_EFF ? WT_LIMIT_CACHE : WT_LIMIT_DRAM;
	}
	return 1;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* By hardware counters; 0 if not both sides were measured. */
static int by_counters(const struct wt_work *w, const struct wt_op *op, struct wt_verdict *v)
{
	double sm = (w->sm - 1) / 100.0, tensor = (w->tensor - 1) / 100.0;
	double dram = (w->dram - 1) / 100.0, cache = (larger(w->l2, w->l1) - 1) / 100.0;
	double c = larger(sm, tensor), m = larger(dram, cache);
	double ns = (double)(op->end_ns - op->start_ns);

	if (!(w->sm | w->tensor) || !(w->dram | w->l2 | w->l1) || !(ns > 0))
		return 0;
	v->efficiency = larger(c, m) / 100;
	v->evidence = WT_EVIDENCE_MEASURED;
	v->grade = w->pass_ns && fabs(w->pass_ns - ns) > PASS_DIFFERS * ns ? 2 : 3;
	v->balanced = fabs(c - m) < BALANCED_POINTS;
	if (c < BUSY_PERCENT && m < BUSY_PERCENT)
		v->limit = WT_LIMIT_LATENCY;
	else if (c >= m)
		v->limit = tensor >= c / 2 ? WT_LIMIT_TENSOR : WT_LIMIT_ALU;
	else
		v->limit = dram >= cache ? WT_LIMIT_DRAM : WT_LIMIT_CACHE;
	return 1;
}

/*
 * Whether a kernel's products run on the matrix pipe, by its name. Single precision does not unless the name says so:
 * TF32 is a format of its own, and kernels that take floats to the tensor cores carry "tensorop". Attention's names
 * give the format of its inputs alone.
 */
static int on_matrix_pipe(struct wt_bounds *b, const struct wt_family_row *row, uint32_t id,
			  const char *name, enum wt_dtype t)
{
	return row && wt_family_is_matrix_of(b->families, id, name) &&
	       (t != WT_DTYPE_FP32 || !strcmp(row->role, "attention") || strstr(name, "tensorop") ||
		strstr(name, "TensorOp"));
}

static void by_family(const struct wt_family_row *row, const char *name, const struct wt_op *op,
		      int matrix, struct wt_verdict *v)
{
	enum wt_bound bound = wt_family_bound(row, name, op->end_ns - op->start_ns);

	v->evidence = WT_EVIDENCE_ESTIMATED;
	v->grade = bound == WT_BOUND_UNKNOWN ? 3 : 1;
	v->limit = bound == WT_BOUND_MEMORY    ? WT_LIMIT_DRAM
		   : bound == WT_BOUND_LATENCY ? WT_LIMIT_LATENCY
		   : bound != WT_BOUND_COMPUTE ? WT_LIMIT_UNKNOWN
		   : matrix		       ? WT_LIMIT_TENSOR
					       : WT_LIMIT_ALU;
}

static void forget_work(struct wt_verdict *v)
{
	v->flops = v->bytes = v->efficiency = 0;
	v->by_name = v->wrong = v->balanced = v->unverified = 0;
}

static int is_product_role(const struct wt_family_row *row)
{
	static const char *const roles[] = {"gemm", "attention", "conv", "moe"};

	if (!row || row->bound != WT_BOUND_COMPUTE)
		return 0;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(row->role, roles[i]))
			return 1;
	return 0;
}

void wt_bounds_of(struct wt_bounds *b, const struct wt_op *op, struct wt_verdict *ret)
{
	uint32_t id = wt_timeline_work_name(b->tl, op);
	const char *name = wt_timeline_string(b->tl, id);
	const struct wt_family_row *row =
		op->kind == WT_OP_KERNEL ? wt_family_of(b->families, id, name) : NULL;
	const struct wt_work *counted = &b->tl->works[b->tl->shapes[op->shape].work];
	int known, matrix;

	*ret = (struct wt_verdict){.limit = WT_LIMIT_UNKNOWN, .grade = 3};
	find_work(b, op, ret);
	known = ret->product;
	matrix = has_matrix_pipe(&b->tl->devices[op->device]) &&
		 on_matrix_pipe(b, row, id, name, ret->dtype);
	if (!by_counters(counted, op, ret) && !by_model(b, op, ret))
		by_family(row, name, op, matrix, ret);
	if (ret->wrong &&
	    ret->by_name) { /* another size than the model's: nothing is wrong with the kernel */
		forget_work(ret);
		by_family(row, name, op, matrix, ret);
	}
	/* Known formats decide; else only names of the ordinary pipes' own kernels do. */
	if (known) {
		ret->off_matrix =
			ret->dtype != WT_DTYPE_UNKNOWN && !wt_dtype_is_matrix(ret->dtype) &&
			/* doubles have a matrix pipe on some parts: their kernels say so */
			!(ret->dtype == WT_DTYPE_FP64 && wt_family_is_matrix(row, name));
	} else if (is_product_role(row)) {
		ret->product = 1;
		ret->off_matrix = !matrix;
	}
}
