/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector is one source of facts in the job: one file, one line in collectors.def. A NULL slot means "not needed".
 * The core starts it after the first successful cuInit, times it, and switches it off for good when it fails: a
 * collector never takes the job with it.
 */
#ifndef WT_COLLECTOR_H
#define WT_COLLECTOR_H

#include <stdint.h>

struct wt_collector {
	const char *name;
	int (*probe)(void); /* 0 = can run here; no side effects the job could see */
	int (*start)(void); /* job thread inside cuInit, or control thread: again for each window */
	void (*flush)(int forced);     /* writer thread: bring in what is complete */
	int (*close)(uint32_t reason); /* control thread: the window is over; 0, -WT_E_x */
	void (*stop)(void);	       /* writer thread, once */
};

#define WT_COLLECTOR(name_) extern const struct wt_collector wt_collector_##name_;
#include "collectors.def"
#undef WT_COLLECTOR

#endif
