/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds a compute kernel: the sweep asks it for the leaf (A1 to A6), the report for the rest. The best evidence
 * there is decides:
 *
 *   grade 3, measured   hardware counters. C = the larger of issue and matrix pipe, M = of memory, L2 and L1, in % of
 *                       their peaks. Both below 60: latency. C >= M: the matrix pipe where it is at least half of C,
 *                       else the others. M > C: memory where that is the largest, else a cache. Grade 2 where the
 *                       kernel took 20 % more or less time when it was counted
 *   grade 2, modelled   FLOPs and least bytes are known (work.h, or the compiler's cost model), and the device's peaks.
 *                       t_c = FLOPs / dense peak of the format, t_m = bytes / bandwidth, eff = max of both / time.
 *                       eff < 0.3: latency. t_c > t_m: the pipe. Else memory; eff > 1.05: the cache gave more than
 *                       memory could.
 *   grade 1, estimated  the same by sizes that its name, its grid and the model give (named.h), where those are not
 *                       impossible; else the family of its name (families.h)
 *
 * Faster than the peak on the compute side by more than 5 %, or faster than 95 % of the bandwidth with more bytes than
 * L2 holds, is impossible: device, format or shape are wrong. Such a kernel is in no class, `wrong` says so, and the
 * report prints it.
 *
 * One object per timeline and thread, because names are looked up once.
 */
#ifndef WT_BOUND_H
#define WT_BOUND_H

#include "bounds/parts.h"
#include "bounds/work.h"
#include "ledger/families.h"
#include "timeline/timeline.h"

enum wt_limit {
	WT_LIMIT_TENSOR,
	WT_LIMIT_ALU,
	WT_LIMIT_DRAM,
	WT_LIMIT_CACHE,
	WT_LIMIT_LATENCY,
	WT_LIMIT_UNKNOWN,
	WT_LIMITS
};
enum wt_evidence { WT_EVIDENCE_ESTIMATED = 1, WT_EVIDENCE_MODELLED, WT_EVIDENCE_MEASURED };

struct wt_verdict {
	enum wt_limit limit;
	enum wt_evidence evidence;
	int grade;	   /* of the ledger: 3 where nothing is claimed */
	double flops;	   /* 0 = not known */
	double bytes;	   /* at least; 0 = not known */
	double efficiency; /* of the larger bound; 0 = not known */
	enum wt_dtype dtype;
	int dtype_by_name; /* dtype is an estimate */
	int by_name;	   /* flops and bytes are an estimate */
	int product;	   /* a matrix product, attention or convolution */
	int off_matrix;	   /* a product that did not run on the matrix pipe */
	int balanced;	   /* both sides within a third */
	int wrong;	   /* impossible: see above */
	int unverified;	   /* a peak used was read nowhere */
};

/* Peaks of one device: FLOP/s by format and B/s, hi the ones used. */
struct wt_device_peaks {
	struct wt_part_match match; /* n 0: unknown device */
	struct wt_peak flops[WT_DTYPES], bandwidth;
	double l2_bytes;
	int from_file; /* the file states its device's peaks */
};

struct wt_bounds;
struct wt_model;
struct wt_bounds *wt_bounds_new(const struct wt_timeline *tl,
				struct wt_families *f); /* NULL: no memory */
/* The shape of the model that the kernels work for, which must outlive b; NULL = not known. */
void wt_bounds_model(struct wt_bounds *b, const struct wt_model *m);
void wt_bounds_free(struct wt_bounds *b);
void wt_bounds_of(struct wt_bounds *b, const struct wt_op *op, struct wt_verdict *ret);
const struct wt_device_peaks *wt_bounds_peaks(const struct wt_bounds *b, uint16_t device);
const char *wt_evidence_name(enum wt_evidence e);

#endif
