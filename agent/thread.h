/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own threads: writer and control. */
#ifndef WT_THREAD_H
#define WT_THREAD_H

/* Detached, all signals blocked, 128 KiB of stack beside what static TLS takes. 0 or -WT_E_NOMEM. */
int wt_thread_start(void *(*run)(void *arg), void *arg);
/* First thing in such a thread: hooks silent for its life, and it never preempts. */
void wt_thread_begin(void);

#endif
