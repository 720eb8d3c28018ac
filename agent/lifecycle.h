/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's life as the hooks and gates see it. */
#ifndef WT_LIFECYCLE_H
#define WT_LIFECYCLE_H

#include <stdatomic.h>
#include <stdint.h>

/* The first cuInit has succeeded: everything starts, once per process, before it returns to the job. */
void wt_agent_start(void);
/* Last chance to write, bounded by WARPTAP_EXIT_MS. From the exit handlers and _exit; once; nothing in children. */
void wt_agent_exit(void);

/* A call of the driver while the level word is 0: in a child of fork the first one gives up what is the parent's. */
void wt_agent_inert(void);

/* Inside cuInit, or control thread: how many collectors run. They begin, or take up again what close ended. */
int wt_collectors_start(void);
void wt_collectors_close(uint32_t reason);

/* Reads the settings, once; returns wt_agent_enabled. */
int wt_agent_load(void);
/* 1: settings ask for a trace (WARPTAP_DIR). 0: gates stay shut and nothing ever starts. Asked by wt_agent_is_on(). */
extern int wt_agent_enabled;
extern _Atomic int wt_agent_loaded;
extern _Atomic int wt_agent_started; /* 1 also where starting failed: it is tried once */

static inline int wt_agent_is_on(void)
{
	return atomic_load_explicit(&wt_agent_loaded, memory_order_acquire) ? wt_agent_enabled
									    : wt_agent_load();
}

static inline int wt_agent_may_wake(void)
{
	return wt_agent_is_on() && !atomic_load_explicit(&wt_agent_started, memory_order_relaxed);
}

#endif
