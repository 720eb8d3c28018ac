/* SPDX-License-Identifier: Apache-2.0 */
/* What gaps.c, causes.c and copies.c share: the indices over one timeline, and spans of one gap. */
#ifndef WT_GAPS_IMPL_H
#define WT_GAPS_IMPL_H

#include "ledger/depends.h"
#include "ledger/gaps.h"
#include "ledger/host.h"
#include "ledger/ranges.h"

struct span {
	int64_t start_ns, end_ns;
	int32_t call;
	uint8_t leaf, grade;
};
struct spans {
	struct span *rows;
	size_t n, room;
	int failed;
};
struct wt_gaps {
	const struct wt_timeline *tl;
	struct wt_host calls;
	struct wt_ranges ranges;
	struct wt_depends depends;
	uint16_t *users; /* processes that use a device: [user_first[d], user_first[d + 1]) */
	size_t *user_first;
	uint32_t *call_first;		      /* of each process, into the calls */
	uint8_t *takes;			      /* per process: `calls` has it */
	struct spans host, found, left, rest; /* scratch of one gap */
};

/* The host's part of one gap, as causes see it. */
struct host_part {
	int64_t start_ns, end_ns; /* [s, min(a0, e)) */
	const struct wt_call *launch;
	size_t at;    /* the first call of the launching thread that starts in it or later */
	int32_t wait; /* wt_gaps_wait_at(); what several causes ask for is looked up once */
};
struct wt_cause {
	enum wt_leaf leaf;
	uint8_t grade;
	void (*find)(struct wt_gaps *g, const struct host_part *h); /* lists in g->found */
};
/* In order of precedence: causes.def. */
enum {
#define WT_CAUSE(leaf_, grade_, find_) +1
	WT_CAUSES = 0
#include "ledger/causes.def"
#undef WT_CAUSE
};
extern const struct wt_cause wt_causes[WT_CAUSES];

void wt_span_add(struct spans *s, const struct span *span); /* not if it is empty */
int wt_span_cmp(const void *pa, const void *pb);	    /* by start */
/* The blocking call that the launching thread was in when the device drained; -1: none. */
int32_t wt_gaps_wait_at(const struct wt_gaps *g, const struct host_part *h);
/* Lists in g->found when a process sat in blocking calls that can have been for work without records. */
void wt_gaps_blind(struct wt_gaps *g, uint16_t process, int64_t start_ns, int64_t end_ns);

#endif
