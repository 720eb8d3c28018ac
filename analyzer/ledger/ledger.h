/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: for every device, every nanosecond of a window in exactly one leaf (leaves.def). Causes are found on the
 * whole recording, as a list of slices that touch each other; an account of a window clips that list, so accounts of
 * adjoining windows add up to that of their union.
 *
 * The state of an instant is the set of what was resident; compute > comm > copy > spin > unobserved > idle decides
 * whose nanosecond it is, and the histogram over those sets (masks) is kept, so that any other precedence is a view.
 */
#ifndef WT_LEDGER_H
#define WT_LEDGER_H

#include "bounds/bound.h"
#include "ledger/families.h"
#include "proto/wt_err.h"
#include "ledger/slices.h"
#include "timeline/timeline.h"

enum wt_leaf {
#define WT_LEAF(key_, name_, title_, rollup_, meaning_, remedy_) WT_##key_,
#include "ledger/leaves.def"
#undef WT_LEAF
	WT_LEAVES
};
enum wt_rollup {
	WT_ROLLUP_COMPUTE,
	WT_ROLLUP_MEMORY,
	WT_ROLLUP_LATENCY,
	WT_ROLLUP_COMM,
	WT_ROLLUP_STRAGGLER,
	WT_ROLLUP_PIPELINE,
	WT_ROLLUP_COPY,
	WT_ROLLUP_INPUT,
	WT_ROLLUP_LAUNCH,
	WT_ROLLUP_SYNC,
	WT_ROLLUP_HOST,
	WT_ROLLUP_NO_WORK,
	WT_ROLLUP_UNKNOWN,
	WT_ROLLUPS
};
struct wt_leaf_info {
	const char *key, *name, *title, *meaning, *remedy;
	enum wt_rollup rollup;
};
extern const struct wt_leaf_info wt_leaves[WT_LEAVES];
extern const char *const wt_rollup_names[WT_ROLLUPS];

/* Grades of evidence: 3 a direct record, 2 inferred from several, 1 estimated from names. */
#define WT_GRADES 4

/* More than the leaf says, where the sub-reason is known. */
enum wt_why {
	WT_WHY_NONE,
	WT_WHY_NO_LAUNCH_RECORD, /* nothing says when the next operation was launched */
	WT_WHY_GRAPH_NODE,	 /* between nodes of one graph */
	WT_WHY_BEFORE_HOLE,	 /* the next operation's record is lost */
	WT_WHY_FIRST_LAUNCH,	 /* the first launch of a kernel took far longer than launches do */
	WT_WHY_LAUNCHING,	 /* the launch call was late to return */
	WT_WHY_QUEUED,		 /* queued, and what it waited for is not known */
	WT_WHY_NO_PROCESS,    /* the process that launched the next operation did not record yet */
	WT_WHY_IN_FLIGHT,     /* launched, and not finished when recording ended */
	WT_WHY_PAUSED,	      /* collection was paused for another tool */
	WT_WHY_EVENT,	      /* its stream waited for an event of work on another device */
	WT_WHY_HOST_FUNCTION, /* its stream waited for a function of the host */
	WT_WHY_CHOSEN,	      /* outside the windows that were asked for */
};

struct wt_account {
	int64_t window_ns;
	int64_t mask_ns[1 << WT_STATES]; /* [0] = nothing recorded */
	int64_t leaves_ns[WT_LEAVES];
	int64_t grades_ns[WT_GRADES];
	int64_t leaf_grades_ns[WT_LEAVES][WT_GRADES];
	int64_t chosen_ns; /* of E1: outside the windows that were asked for */
	int64_t crowded_ns;
};

struct wt_kernel_stats { /* kernel records only, collectives' kernels included */
	uint64_t count, without_launch, same_stream_overlaps;
	int64_t union_ns, sum_ns;
	int64_t same_stream_overlap_ns; /* of sum_ns, what lies under an earlier kernel of the same stream */
};
struct wt_ledger_device {
	uint16_t device;
	int64_t w0_ns, w1_ns;	      /* the window; w0 = w1 without records */
	int64_t own_w0_ns, own_w1_ns; /* what was collected of this device, whatever the others' */
	struct wt_slices slices;
	struct wt_account account;
	struct wt_kernel_stats kernels;
	int64_t launch_cap_ns; /* of launch latency, from this recording */
};
struct wt_ledger {
	const struct wt_timeline *tl;
	struct wt_families *families;
	struct wt_bounds *bounds;
	struct wt_ledger_device *devices; /* those with records, in order of (rank, ordinal) */
	size_t ndevices;
	int narrowed; /* wt_ledger_window() was called */
};

/* 0, -WT_E_NOMEM, or -WT_E_CORRUPT if an account does not add up: a bug of ours, never to be normalised away. */
int wt_ledger_build(struct wt_ledger **ret, const struct wt_timeline *tl, struct wt_diag *diag);
/* The same with a table of families of the caller's, which the ledger then owns (also on failure; NULL: no memory). */
struct wt_model; /* what the kernels work for (bounds/model.h), NULL = not known; must outlive the ledger */
int wt_ledger_build_with(struct wt_ledger **ret, const struct wt_timeline *tl,
			 struct wt_families *families, const struct wt_model *model,
			 struct wt_diag *diag);
/* Narrows a device (index into devices) to [w0, w1): account and kernels of that window. 0 or -WT_E_x. */
int wt_ledger_window(struct wt_ledger *l, size_t device, int64_t w0_ns, int64_t w1_ns);
/* Whether an operation counts: all do, but where a window was set, those that start in it. */
int wt_ledger_covers(const struct wt_ledger *l, const struct wt_op *op);
void wt_ledger_free(struct wt_ledger *l);
/* Accounts for [w0, w1). 0, or -WT_E_CORRUPT if the leaves do not sum to the window. */
int wt_account_window(const struct wt_slices *slices, int64_t w0_ns, int64_t w1_ns,
		      struct wt_account *ret);

/* The five states of the sweep. */
int64_t wt_account_compute_ns(const struct wt_account *a);
int64_t wt_account_comm_exposed_ns(const struct wt_account *a);
int64_t wt_account_copy_exposed_ns(const struct wt_account *a);
int64_t wt_account_spin_ns(const struct wt_account *a);
int64_t wt_account_none_ns(const struct wt_account *a);
/* Of it, idleness by whatever cause (D); the rest has no records. */
int64_t wt_account_idle_ns(const struct wt_account *a);
int64_t wt_account_comm_total_ns(const struct wt_account *a);

#endif
