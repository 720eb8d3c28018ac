/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions behind the hooks: found in the library's own handle, never by a path. Everything here is cold: first
 * use of a name, or the gates.
 */
#ifndef WT_REAL_H
#define WT_REAL_H

#include <stdint.h>

/* The next dlsym and dlvsym after ours: another tool's interposer, or libc's. NULL before wt_real_init(). */
extern void *(*wt_next_dlsym)(void *handle, const char *name);
extern void *(*wt_next_dlvsym)(void *handle, const char *name, const char *version);

/* Finds the two above without using them; 0, or -WT_E_NOENT: then the gates stay shut. Idempotent, any thread. */
int wt_real_init(void);
/* Handle of libcuda.so.1 as loaded by the job (never loads it); NULL = not loaded. */
void *wt_cuda_handle(void);
/* The CUPTI that is ours too, from here on. */
void wt_real_cupti_is(void *handle);
/* The slots of all the driver's functions at once: from then on an address names its hook, and none is looked up. */
void wt_real_all_cuda(void);
/* A function beside the hooked ones, of the library `library` (enum wt_library); NULL = not there. */
void *wt_real_named(int library, const char *name);
/*
 * 1 once two cuBLAS (or two cuBLASLt) have been seen in this process: from then on a call must go to the one its caller
 * is linked with. Looks again when libraries were loaded since; any thread.
 */
int wt_real_blas_twins(void);
int wt_real_dnn_twins(void);					/* likewise, two cuDNN */
extern int wt_blas_twins __attribute__((visibility("hidden"))); /* the same, for the hot path */
extern int wt_dnn_twins __attribute__((visibility("hidden")));
/* 1: p lies in one of the libraries behind libcudnn.so, to which that one passes its calls on. */
int wt_real_is_inner(const void *p);
/* The function of that hook as the object around `caller` would have been bound to without us. */
void *wt_real_of_caller(uint32_t id, const void *caller);
/* dlsym with the caller's dlerror state kept: NULL leaves no message behind. */
void *wt_quiet_dlsym(void *handle, const char *name);
/* 1 if p is one of the functions this library exports for others. */
int wt_is_ours(const void *p);

#endif
