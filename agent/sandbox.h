/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of system calls that kill. Job thread, inside the first cuInit that succeeds, once. */
#ifndef WT_SANDBOX_H
#define WT_SANDBOX_H

#define WT_SANDBOX_LOG	   1 /* a call is deadly without which not even a log can be written */
#define WT_SANDBOX_LIFE	   2 /* one without which nothing can be recorded */
#define WT_SANDBOX_CONTROL 4 /* one that only the control thread makes */

/*
 * The first part of the agent that must not run here, WT_SANDBOX_x; 0 where no filter is in force, or none that kills
 * for a call of ours. *ret_call is the first deadly call's name, or NULL. Where there is a filter this costs a child of
 * this process, which makes the calls of sandbox.def and ends; the job gets no SIGCHLD for it and cannot reap it.
 */
int wt_sandbox_look(const char **ret_call);

#endif
