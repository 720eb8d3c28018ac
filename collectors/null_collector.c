/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector that collects nothing: the template to copy. It is compiled so that it cannot rot, and not listed, so it
 * never runs. To make one: copy this file, say above what it brings in, from where, and what it must never do; then add
 * WT_COLLECTOR(name) to collectors.def. The core starts it, calls it each second, times it, and leaves it be for good
 * after a failure.
 *
 * Rules for all of them: never exit, print, or take a lock the job can hold; no memory of the job's heap on a hooked
 * path; libraries by dlopen, absent = off; what could not be had is counted and told, not guessed.
 */
#include "collectors/collector.h"

#include <stddef.h>

/* Not in collectors.def, so not declared by collector.h. */
extern const struct wt_collector wt_collector_null;

/* 0 = can run here. Looks only: no library loaded, no call the job could notice. */
static int probe(void)
{
	return 0;
}

/* Once, on the job's thread inside cuInit: quick. The thread's hooks are silent only between wt_silence_enter/leave. */
static int start(void)
{
	return 0;
}

/* Writer thread, each second, and forced at the end: bring in what is complete. A NULL slot would do as well. */
static void flush(int forced)
{
	(void)forced;
}

/* Writer thread, once. After it nothing of this collector may run: no callback, no thread. */
static void stop(void)
{
}

const struct wt_collector wt_collector_null = {
	.name = "null",
	.probe = probe,
	.start = start,
	.flush = flush,
	.stop = stop,
};
