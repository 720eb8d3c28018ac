/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host was doing: indices over a timeline's calls by thread and by process, so that "which blocking call was
 * this thread in at t" costs a search and a bounded walk. Of some processes at a time, those that use one device: of
 * a job of many ranks only one's calls are indexed at once. Built and read by gaps.c and its kin alone.
 */
#ifndef WT_HOST_H
#define WT_HOST_H

#include "ledger/ledger.h"

/* How many calls before an instant are asked whether they reach beyond it: calls nest, but not deeply. */
#define WT_HOST_NESTING 64

/* Indices of some calls of each process or thread, by start, with the latest end so far. */
struct wt_call_index {
	uint32_t *calls;
	int64_t *reach_ns;
	size_t *first; /* of each group; ngroups + 1 */
	size_t ngroups;
};

struct wt_host {
	const struct wt_timeline *tl;
	const uint8_t *takes;		      /* per process: it is in here */
	uint32_t from, to;		      /* the calls of those processes lie in [from, to) */
	struct wt_call_index by_thread;	      /* all calls; marks are none */
	struct wt_call_index blocking_thread; /* that can wait for the device, by thread */
	struct wt_call_index blocking;	      /* the same, by process */
	struct wt_call_index syncs;	      /* by process: calls that wait and do nothing else */
	struct wt_call_index
		unmatched; /* by process: work issued for which no operation is recorded */
	uint8_t *loose; /* per process: some of its records hang on no call, see is_unmatched() */
	/* per call from `from` on: of its operations; INT64_MAX/MIN = none */
	int64_t *first_op_ns, *last_op_ns;
	/* likewise: the first of its process that launched a kernel of this name */
	uint8_t *is_first_launch;
	int64_t launch_ns; /* median length of a launch call */
};

/* h is all zero but for tl, takes, from and to. 0 or -WT_E_NOMEM; wt_host_release() in both cases. */
int wt_host_init(struct wt_host *h);
void wt_host_release(struct wt_host *h);
/* The first position in a group whose call starts at or after t. */
size_t wt_host_at(const struct wt_host *h, const struct wt_call_index *x, size_t group,
		  int64_t t_ns);
/* Of the calls that start before t and reach t, but not beyond `limit`, the one that ends last; -1 if there is none. */
int32_t wt_host_reaching(const struct wt_host *h, const struct wt_call_index *x, size_t group,
			 int64_t t_ns, int64_t limit_ns);

#endif
