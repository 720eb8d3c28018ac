/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks what a job is doing, for warptap: steps, phases, waiting for input, checkpoints, requests. Header only, C and
 * C++, nothing to link but libc. Where the agent is not loaded each call is a test of a pointer; where it is loaded and
 * asleep, a call and a load; recording a mark is a few dozen instructions and takes no lock.
 *
 *   wt_step_begin(n); ... wt_step_end();           one training or engine step, numbered by the caller
 *   wt_range_push(WT_FORWARD, "forward"); ... wt_range_pop();
 *   wt_request_begin(id); ... wt_request_end(id);   may begin and end on different threads
 *
 * Ranges that are pushed nest per thread and end in reverse order; wt_range_start/wt_range_end pair by (kind, id)
 * across threads. A range covers the device work launched inside it, whenever that runs: by the thread that pushed it,
 * and by threads of the process that have no range of their own at the time (autograd's, for one).
 *
 * Names are UTF-8, at most WT_NAME_MAX bytes, the rest is cut; NULL is "". They are copied: no need to keep them. Use
 * few different ones (numbers belong in `value`): after some ten thousand the agent keeps no more of them.
 *
 * All functions may be called on any thread and after fork (a child without a device of its own records nothing). They
 * return nothing and cannot fail. Marks made before the process first initialises CUDA are not recorded.
 *
 * Python: ctypes.CDLL(None).warptap_mark, with the numbers below; examples/llm/annotate.py does it.
 */
#ifndef WARPTAP_ANNOTATE_H
#define WARPTAP_ANNOTATE_H

#include <dlfcn.h>
#include <stddef.h>

#define WT_NAME_MAX 112

#ifdef __cplusplus
extern "C" {
#endif

/* What a range is. The numbers are part of the trace format and never change. */
enum wt_mark_kind {
	WT_RANGE = 1, /* no more than its name */
	WT_STEP = 2,  /* value: its number */
	WT_FORWARD = 3,
	WT_BACKWARD = 4,
	WT_RECOMPUTE = 5, /* forward once more, for activations that were not kept */
	WT_OPTIMIZER = 6,
	WT_GRADIENT_COMM = 7,
	WT_EVALUATION = 8,
	WT_CHECKPOINT = 9, /* saving or loading state */
	WT_INPUT = 10,	   /* waiting for, or making, the next batch */
	WT_REQUEST = 11,   /* value: its id */
	WT_PREFILL = 12,
	WT_DECODE = 13,
	WT_NO_WORK = 14,    /* an engine without a runnable request */
	WT_COMM_SETUP = 15, /* making communicators, barriers and collectives of the host */
	WT_OFFLOAD = 16	    /* moving weights, optimizer state or cache to or from the host */
};
enum wt_mark_what {
	WT_MARK_PUSH = 1,
	WT_MARK_POP = 2,
	WT_MARK_START = 3, /* paired with END by (kind, value) */
	WT_MARK_END = 4
};

/* The agent's only entry: void warptap_mark(what, kind, value, name). */
typedef void wt_mark_fn(unsigned int what, unsigned int kind, long long value, const char *name);

#if defined(__GNUC__) || defined(__clang__)
#define WT_ANNOTATE static __inline__ __attribute__((unused))
#else
#define WT_ANNOTATE static
#endif

WT_ANNOTATE void wt_mark_none(unsigned int what, unsigned int kind, long long value,
			      const char *name)
{
	(void)what;
	(void)kind;
	(void)value;
	(void)name;
}

/* Looked up once per translation unit; two threads that do so at once find the same. */
WT_ANNOTATE void wt_mark(unsigned int what, unsigned int kind, long long value, const char *name)
{
	static wt_mark_fn *volatile known;
	wt_mark_fn *fn = known;

	if (!fn) {
		/* C89 casts no data pointer to a function's; through memory it works. NULL: all of the process. */
		void *found = dlsym(NULL, "warptap_mark");

		if (found)
			*(void **)(void *)&fn = found;
		else
			fn = wt_mark_none;
		known = fn;
	}
	fn(what, kind, value, name);
}

WT_ANNOTATE void wt_range_push(enum wt_mark_kind kind, const char *name)
{
	wt_mark(WT_MARK_PUSH, (unsigned int)kind, 0, name);
}

WT_ANNOTATE void wt_range_pop(void)
{
	wt_mark(WT_MARK_POP, 0, 0, NULL);
}

WT_ANNOTATE void wt_step_begin(long long number)
{
	wt_mark(WT_MARK_PUSH, WT_STEP, number, "step");
}

WT_ANNOTATE void wt_step_end(void)
{
	wt_mark(WT_MARK_POP, WT_STEP, 0, NULL);
}

WT_ANNOTATE void wt_range_start(enum wt_mark_kind kind, long long id, const char *name)
{
	wt_mark(WT_MARK_START, (unsigned int)kind, id, name);
}

WT_ANNOTATE void wt_range_end(enum wt_mark_kind kind, long long id)
{
	wt_mark(WT_MARK_END, (unsigned int)kind, id, NULL);
}

WT_ANNOTATE void wt_request_begin(long long id)
{
	wt_mark(WT_MARK_START, WT_REQUEST, id, "request");
}

WT_ANNOTATE void wt_request_end(long long id)
{
	wt_mark(WT_MARK_END, WT_REQUEST, id, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
