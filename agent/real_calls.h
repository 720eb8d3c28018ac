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

/* The pointer is cached per place of use: questions are asked in a dozen places, always in cold code. */
#define WT_REAL_CALL(name_, ...)                                                                   \
	({                                                                                         \
		static _Atomic(void *) cached_;                                                    \
		void *p_ = atomic_load_explicit(&cached_, memory_order_relaxed);                   \
		if (!p_) {                                                                         \
			p_ = wt_real_cuda(#name_);                                                 \
			atomic_store_explicit(&cached_, p_, memory_order_relaxed);                 \
		}                                                                                  \
		p_ ? ((__typeof__(&name_))p_)(__VA_ARGS__) : CUDA_ERROR_NOT_SUPPORTED;             \
	})

#endif
