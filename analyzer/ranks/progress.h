/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a hung job up, from dumps, or traces of a job that was ended while it hung, that say where each rank stood
 * (wt_timeline.standings): no times are needed.
 *
 * On a communicator the next collective of a rank needs every member to have called it and to have finished all before
 * it. So a rank with unfinished calls waits for each member that has called less than that, or finished less than it
 * did; and a rank waits for the other side of a send or receive that was not posted there. A rank that others wait for
 * and that waits for nobody is a suspect. If all that are waited for wait themselves, they wait for each other.
 *
 * This is no second match.c: that one pairs what ran on all ranks, to part its time, and stops at the first number on
 * which ranks disagree. A hung job's answer lies behind that number, in what was not called or not finished, and of
 * that there are no rows to pair: only how far each rank had come.
 */
#ifndef WT_PROGRESS_H
#define WT_PROGRESS_H

#include "timeline/timeline.h"

enum wt_suspicion { /* the telling ones first */
		    WT_SUSPECT_NOT_FINISHED =
			    1, /* called, but its device has not finished what others have */
		    WT_SUSPECT_NOT_CALLED, /* its host did not come to a call that others made */
		    WT_SUSPECT_UNPAIRED,   /* has not posted the other side of a send or receive */
		    WT_SUSPECT_NO_DUMP,	   /* a member that others may wait for left no dump */
		    WT_SUSPECT_CIRCLE,	   /* waits and is waited for */
};
struct wt_suspect {
	int32_t rank;
	uint8_t why;	  /* enum wt_suspicion */
	uint32_t comm;	  /* into comms: where most wait for it */
	int64_t seq;	  /* the number that waits for it there; -1 = a send or receive */
	uint32_t waiting; /* ranks that wait there */
};
/* A communicator on which ranks are not equally far. */
struct wt_progress_comm {
	uint64_t comm;
	uint32_t group, members, dumps;	   /* dumps: members that left one */
	int64_t least_called, most_called; /* last collective */
	int64_t least_finished, most_finished;
	uint64_t everywhere,
		somewhere; /* unfinished collectives called by all members, and by some only */
	uint8_t p2p;
	uint8_t agrees;
};
/* Two ranks called different things under one number. */
struct wt_mismatch {
	uint32_t comm;
	uint64_t seq;
	uint32_t a, b; /* into wt_timeline.collectives */
};

struct wt_progress {
	const struct wt_timeline *tl;
	uint32_t ranks;			/* with a dump, or with a trace that says the same */
	uint8_t traces;			/* no dump among them */
	struct wt_progress_comm *comms; /* of which somebody stood somewhere */
	size_t ncomms;
	struct wt_suspect *suspects; /* by rank */
	size_t nsuspects;
	int32_t *missing; /* members without a dump, by rank */
	size_t nmissing;
	struct wt_mismatch *mismatches; /* the first of each communicator */
	size_t nmismatches;
};

/* *ret is NULL if no input has standings. 0 or -WT_E_NOMEM. */
int wt_progress_build(struct wt_progress **ret, const struct wt_timeline *tl);
void wt_progress_free(struct wt_progress *p);

#endif
