/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sequences of one thread (or stream), both in order: host calls as our hooks saw them, and the same calls as CUPTI
 * tells of them. Either side may have lost some. Finds which is which, by order and signature; time is no key.
 * Pure: knows no packets. One thread.
 */
#ifndef WT_ALIGN_H
#define WT_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#define WT_ALIGN_NONE UINT32_MAX

struct wt_align_host {
	uint64_t signature; /* kernel: name and shape, copy: bytes; 0 = not known */
	uint32_t lost;	    /* host rows known to be lost just before this one */
	uint8_t class_;	    /* enum CountKind */
	uint8_t silent;	    /* captured or failed: owns no device record */
};
struct wt_align_record {
	uint64_t signature;
	uint64_t correlation; /* ascending; every API call of the process takes at least one */
	uint32_t match;	      /* out: index of the host call, WT_ALIGN_NONE */
	uint8_t class_;
	uint8_t device;	   /* has device records */
	uint8_t ambiguous; /* out: an equal neighbour across a hole could be the right one */
};

enum wt_align_how {
	WT_ALIGN_WHOLE, /* nobody dropped records: host calls without one are the last, not delivered yet */
	WT_ALIGN_LOSSY,	    /* records were dropped somewhere; the end is complete */
	WT_ALIGN_LOSSY_CUT, /* and the end is not */
	WT_ALIGN_LOSSY_BOTH, /* records and host rows were lost: the length of a hole proves nothing */
};

/* What lies around the sequence, when it is the stretch between two pairs already known. All zero: nothing is known. */
struct wt_align_around {
	uint64_t before, after; /* correlation of the pair before and after, 0 = none */
	double ids_per_call;	/* 0 = learn it here */
};

/* Sets match and ambiguous of every record. 0 or -WT_E_NOMEM. */
int wt_align(const struct wt_align_host *h, size_t nh, struct wt_align_record *r, size_t nr,
	     enum wt_align_how how, const struct wt_align_around *around);
/* The ids an average call takes, pauses included; 1 if that cannot be said. */
double wt_align_ids_per_call(const struct wt_align_record *r, size_t nr);

#endif
