/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's own questions to the driver: entry points that are not hooked, found once and typed by cuda.h. A
 * missing one answers CUDA_ERROR_NOT_SUPPORTED.
 */
#ifndef WT_REAL_CALLS_H
#define WT_REAL_CALLS_H

#include <stdatomic.h>

#include "agent.h"
#include "cuda_abi.h"
#include "trouble.h"

/*
 * An answer, told where it is worth that. These are not: that a handle is none, that no context is current, that the
 * driver is ending, that a kernel of the job's has failed before (700 and up).
 */
static inline CUresult wt_asked(CUresult r)
{
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE && r != CUDA_ERROR_INVALID_CONTEXT &&
	    r != CUDA_ERROR_INVALID_HANDLE && r != CUDA_ERROR_NOT_SUPPORTED &&
	    r != CUDA_ERROR_DEINITIALIZED && r != CUDA_ERROR_CONTEXT_IS_DESTROYED &&
	    (r < CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_UNKNOWN))
		WT_TROUBLE(DRIVER, (int)r);
	return r;
}
static inline int wt_answered(CUresult r)
{
	return wt_asked(r) == CUDA_SUCCESS;
}

/* The pointer is cached per place of use: questions are asked in a dozen places, always in cold code. */
#define WT_REAL_CALL(name_, ...)                                                                   \
	({                                                                                         \
		static _Atomic(void *) cached_;                                                    \
		void *p_ = atomic_load_explicit(&cached_, memory_order_relaxed);                   \
		if (!p_) {                                                                         \
			p_ = wt_real_cuda(#name_);                                                 \
			atomic_store_explicit(&cached_, p_, memory_order_relaxed);                 \
		}                                                                                  \
		p_ ? wt_asked(((__typeof__(&name_))p_)(__VA_ARGS__)) : CUDA_ERROR_NOT_SUPPORTED;   \
	})

#endif
