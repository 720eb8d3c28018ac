/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of kernels that are read at a launch: of the few kernels in arguments.def one number each, nothing of any
 * other. A kernel is known by its handle from when the job asked for it by name; a launch asks a filter, one byte of
 * it, and only where that says "may be" looks for the handle. On job threads, inside hooks: no lock, no allocation.
 * Nothing is read where the table is full, or the parameter is not of the size it should be.
 */
#ifndef WT_ARGUMENTS_H
#define WT_ARGUMENTS_H

#include <stdint.h>

struct wt_rec;

extern __attribute__((visibility("hidden"))) uint8_t wt_argument_filter[256];

static inline __attribute__((always_inline)) int wt_argument_maybe(uint64_t function)
{
	return __atomic_load_n(&wt_argument_filter[(uint32_t)function * 0x9E3779B1u >> 24],
			       __ATOMIC_RELAXED);
}

/* A CUfunction, or a CUkernel, and its name as the driver spells it. */
void wt_argument_learn(const void *function, const char *name, int is_kernel);
/* The function of a kernel is what the kernel is. */
void wt_argument_learn_function(const void *function, const void *kernel);
/* Functions have ended: the registry says which are left. */
void wt_argument_forget(void);
/* Of a launch whose row is filled: the number into the row, where there is one. */
void wt_argument_read(struct wt_rec *rec, void **params, void **extra);

#endif
