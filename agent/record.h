/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook leaves behind: one 64-byte record per call, in the thread's chunk. Written by the job's threads, read by
 * the writer thread and, after a kill, by recovery: so the layout is part of the black-box format (WT_CHUNK_VERSION).
 *
 * Handles are stored raw; the writer turns them into ids through the registry, by (handle, start_tsc), so that a
 * handle the driver reuses is never confused with its predecessor and the hot path needs no look-up.
 */
#ifndef WT_RECORD_H
#define WT_RECORD_H

#include <stdint.h>

#define WT_REC_CAPTURED 1u /* went into a graph under capture */
#define WT_REC_PARENT_AHEAD                                                                        \
	2u /* parent_back counts forward: the enclosing call is written when it returns */
#define WT_REC_BLOCKING 4u /* the call can wait for the device */
#define WT_REC_SOFT	8u /* counted, no device record required */
#define WT_REC_IN_NCCL	16u
#define WT_REC_IN_BLAS	32u
#define WT_REC_LONG	64u /* dur is in units of 1024 ticks */
/* Of the scratch row only, never published: the level when the call began, as far as counting goes. */
#define WT_REC_NO_ROW	 128u /* level count: counted as WT_UNROWED */
#define WT_REC_UNCOUNTED 256u /* level off */

#define WT_LAUNCH_BYTES 128u /* smem is 0; in its place: bytes written, by the kernel's argument */

#define WT_GEMM_SHARED_A 16u /* one operand for the whole batch */
#define WT_GEMM_SHARED_B 32u
#define WT_GEMM_TF32	 64u  /* fp32 by way of tf32, by the handle's setting */
#define WT_GEMM_GROUPED	 128u /* sums over groups of different sizes */
/* In `epilogue`, where `work` is set. */
#define WT_GEMM_CAUSAL	1u /* sums are without what a causal mask leaves out */
#define WT_GEMM_AT_MOST 2u /* sizes that only the device knows are taken at their largest */

struct wt_rec {
	uint16_t op;	  /* hook id, 1.. (hooks_*.def order) */
	uint16_t flags;	  /* WT_REC_* */
	uint16_t context; /* registry's context id, 0 = none known */
	int16_t status;	  /* CUresult or ncclResult_t */
	uint64_t start_tsc;
	uint32_t dur; /* ticks, saturating: see WT_REC_LONG */
	/*
	 * Rows back (or ahead) to the enclosing library call + 1; 0 = none. Filled when that call returns: 0 with
	 * WT_REC_PARENT_AHEAD means "the next library row of this ring" (the row left the chunk before that).
	 */
	uint32_t parent;
	uint64_t
		stream; /* as passed: 0 legacy, 1 legacy, 2 per thread; 0 of a _ptsz or _ptds call is stored as 2 */
	uint64_t object; /* CUfunction or CUkernel, CUgraphExec, CUevent, ncclComm_t */
	union {
		struct {
			uint32_t gx;
			uint16_t gy, gz, bx, by, bz;
			uint8_t cluster[3];
			uint8_t attrs; /* 1 = cooperative, 2 = programmatic dependent launch, WT_LAUNCH_BYTES */
			uint32_t smem;
		} launch;
		struct {
			uint64_t bytes;
			uint64_t dst;
			uint32_t
				kind; /* CUpti_ActivityMemcpyKind where the name tells it, else 0; 100 = memset */
			uint32_t rows; /* entries of a batch */
		} copy;
		struct {
			uint64_t count;
			uint64_t seq; /* per communicator */
			int32_t root;
			uint8_t dtype, redop, op;
			uint8_t group; /* depth of groups it was enqueued in */
		} coll;
		struct {
			uint32_t m, n, k,
				batch; /* low halves; bits 32 to 47 of each in `object`, m lowest */
			uint8_t type_a, type_b, type_c; /* cudaDataType_t; c: of the result */
			uint8_t compute;		/* cublasComputeType_t */
			uint8_t ops;  /* transa, transb (2 bits each), WT_GEMM_* */
			uint8_t work; /* LibraryWork of trace.proto, 0 = a product: else sums */
			uint16_t epilogue; /* cublasLtEpilogue_t, 0 = none said */
		} gemm; /* WT_GEMM_GROUPED: collectors/gemm.c; work: collectors/dnn.c */
		uint64_t raw[3];
	} u;
};
_Static_assert(sizeof(struct wt_rec) == 64, "one record is one cache line");

#endif
