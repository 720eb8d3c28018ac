/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI without linking it: the library the job has loaded already, else the newest that can be found by soname.
 * Only after a real cuInit has succeeded: without a working driver the first call of some releases kills the process.
 */
#ifndef WT_CUPTI_API_H
#define WT_CUPTI_API_H

#include <cupti.h>
#include <stdint.h>

enum wt_cupti_entry {
#define WT_CUPTI(name_, need_) WT_CUPTI_##name_,
#include "collectors/cupti.def"
#undef WT_CUPTI
	WT_CUPTI_ENTRIES
};

struct wt_cupti_api {
	const char *soname; /* what was loaded, NULL = nothing */
	uint64_t have;	    /* bit per enum wt_cupti_entry */
#define WT_CUPTI(name_, need_) __typeof__(&name_) name_;
#include "collectors/cupti.def"
#undef WT_CUPTI
};

extern struct wt_cupti_api wt_cupti; /* set once by the load, on the job's thread */

int wt_cupti_load(void); /* 0; -WT_E_NOENT no library; -WT_E_UNSUPPORTED lacks a NEEDED entry */

static inline int wt_cupti_has(enum wt_cupti_entry e)
{
	return (wt_cupti.have >> e & 1) != 0;
}

#endif
