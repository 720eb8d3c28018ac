/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: what a ledger says, as text for people and as JSON for programs (schema warptap.report/1). Sections are
 * lines of sections.def; each writes its text, its JSON keys, or both, from the same numbers.
 */
#ifndef WT_REPORT_H
#define WT_REPORT_H

#include "base/strbuf.h"
#include "ledger/hta.h"
#include "ledger/ledger.h"
#include "ranks/progress.h"
#include "ranks/ranks.h"

struct wt_axes;

/* Sums over all devices and processes, made once. */
struct wt_kernel_row {
	uint32_t name;
	const struct wt_family_row *family; /* NULL = none */
	uint64_t count;
	int64_t sum_ns;
	int64_t limit_ns[WT_LIMITS]; /* by what held it: sums to sum_ns, less communication */
	int64_t modelled_ns;	     /* of it, by FLOPs and bytes rather than by the name */
	int64_t measured_ns;	     /* likewise, by hardware counters */
	int64_t worked_ns;	     /* of it, with known FLOPs or bytes */
	int64_t off_ns;		     /* products that did not run on the matrix pipe */
	double flops, bytes, off_flops;
	double roof_ns; /* what the modelled and measured ones would have taken at the peak */
	int64_t shaped_ns, small_ns; /* of it, with known occupancy; with less than a wave */
	double occupancy_ns,
		idle_ns;      /* occupancy times time; room that no block filled, times time */
	uint32_t local_bytes; /* of a thread: most of any */
	enum wt_dtype dtype, off_dtype;
	uint8_t unverified;
	uint32_t
		site; /* a string: where in the job's own code most of it was launched; 0 = not known */
	uint64_t site_count;
	int64_t site_ns; /* of sum_ns, from there */
};
/* Kernel time and FLOPs by the number format that is multiplied in. */
struct wt_math_row {
	uint64_t kernels;
	int64_t sum_ns, named_ns; /* named: the format is an estimate from the name */
	double flops;
};
struct wt_tally {
	int64_t kernels_ns;					   /* all kernels' time, added up */
	int64_t worked_ns, modelled_ns, measured_ns, no_family_ns; /* parts of it */
	int64_t comm_ns, unverified_ns, wrong_ns, off_ns;	   /* likewise */
	int64_t products_ns,
		products_known_ns; /* kernels that are products; of these, with known FLOPs */
	int64_t shaped_ns, small_ns, local_ns; /* local: of kernels with local memory */
	double occupancy_ns, idle_ns;
	uint64_t wrong;
	double flops; /* of products */
	struct wt_math_row math[WT_DTYPES];
};
#define WT_PLANS 6   /* kinds of plans kept per row; calls with further ones count as other */
struct wt_plan_row { /* calls that NCCL planned alike */
	uint64_t calls;
	uint8_t algorithm, protocol, channels_min, channels_max;
};
struct wt_coll_row {
	uint32_t name; /* the operation as the source spells it, else the kernel's name */
	uint64_t comm; /* 0 = not known */
	uint32_t nranks;
	uint64_t count, kernels, bytes;
	uint64_t unfinished; /* of count: stood when recording ended */
	int64_t sum_ns, exposed_ns;
	uint64_t matched;	      /* over ranks, of count (without records: of kernels) */
	int64_t transfer_ns, wait_ns; /* of matched ones */
	/* From NCCL's profiler plugin; planned 0: it was not on. */
	uint64_t planned, other_plans, proxies, proxy_bytes;
	int64_t proxy_ns, proxy_gpu_ns, proxy_peer_ns, proxy_net_ns, channel_ns;
	struct wt_plan_row plans[WT_PLANS];
	uint8_t recorded; /* from records of the collective, not from kernel names alone */
	uint8_t sized;	  /* recorded with sizes */
	uint8_t grouped;  /* kernels of others of its group carried some */
};
struct wt_model;
struct wt_report {
	const struct wt_timeline *tl;
	const struct wt_ledger *ledger;
	const struct wt_hta *
		hta; /* NULL: not asked for. The caller sets and keeps it; the text is then of it alone */
	struct wt_ranks *ranks;
	struct wt_axes *axes;
	int colour;
	struct wt_account total; /* windows of all devices together */
	int64_t rollup_ns[WT_ROLLUPS];
	struct wt_kernel_row *kernels; /* largest sum first */
	size_t nkernels;
	struct wt_tally tally;
	const struct wt_model *model;	 /* the caller's; NULL: not given */
	struct wt_coll_row *collectives; /* largest sum first */
	size_t ncollectives;
	struct wt_count counts[WT_COUNT_KINDS]; /* summed */
	uint8_t counted[WT_COUNT_KINDS];	/* whether anything counted this kind */
	uint64_t records[WT_COUNT_KINDS];	/* received, by the timeline itself */
	int64_t hook_ns, writer_cpu_ns, cupti_ns, bytes_out, recorded_calls; /* -1 = not known */
	int64_t recorded_ns; /* processes' collection intervals together; 0 = not known */
	double share;	     /* of what was counted, with a timed record; < 0 = not counted */
	uint64_t missing, in_flight, device_error, untimed, ambiguous;
	struct wt_progress *progress; /* of dumps; NULL = there are none */
	struct wt_strbuf *notes;      /* one sentence each */
	size_t nnotes;
};

/* Gives ranks the steps that the axes find. 0 or -WT_E_NOMEM. */
int wt_report_new(struct wt_report **ret, const struct wt_timeline *tl,
		  const struct wt_ledger *ledger, struct wt_ranks *ranks);
void wt_report_free(struct wt_report *r);
/* 1 if an input was damaged or a process was cut off: what is reported is not all there was. */
int wt_report_damaged(const struct wt_timeline *tl);
void wt_report_text(const struct wt_report *r, struct wt_strbuf *out);
void wt_report_json(const struct wt_report *r, struct wt_strbuf *out);

#endif
