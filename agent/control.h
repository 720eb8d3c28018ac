/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread: changes the level of a running job, on command (control socket), by schedule (windows.h) or
 * because recording costs too much (governor.h). The second and last thread of the agent; apart from the writer, so
 * that neither a slow disk nor a slow client holds up the other.
 */
#ifndef WT_CONTROL_H
#define WT_CONTROL_H

#include <stdint.h>

/* Job thread, in cuInit, after the writer. 0, or -WT_E_x: the level stays what it is. */
int wt_control_start(const char *trace_dir, const char *stem, int rank);
/* Exit, any thread: no change of level from here on, the socket's path is gone. Waits for nothing. */
void wt_control_stop(void);
/* A child of fork: closes what it inherited. */
void wt_control_forked(void);
/* Times the thread has woken of itself, each second or so, whatever else woke it. */
uint64_t wt_control_ticks(void);
/* Any thread, from a hook: there is something to do. */
void wt_control_wake(void);

#endif
