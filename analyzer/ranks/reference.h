/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a collective takes within one node at its best: busbw.def, measured with nccl-tests' method. Pure function.
 */
#ifndef WT_REFERENCE_H
#define WT_REFERENCE_H

#include <stdint.h>

/*
 * The reference of an operation (enum wt_coll_op) over nranks GPUs of this name: bytes as nccl-tests counts them (per
 * rank for an all-reduce, of all ranks together for all-gather, reduce-scatter and all-to-all). -1 = none for this
 * device, operation or number of ranks. *ret_peak_ns: the least time the links allow; -1 = not known.
 */
int64_t wt_reference_ns(const char *device, uint8_t op, uint32_t nranks, uint64_t bytes,
			int64_t *ret_peak_ns);

#endif
