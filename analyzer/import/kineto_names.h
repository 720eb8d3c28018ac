/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of Kineto files: categories, copy kinds, collective operations, element types. Tables only; pure
 * functions.
 */
#ifndef WT_KINETO_NAMES_H
#define WT_KINETO_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* What a category means to us; the spelling of 2021 (Kernel, Memcpy, Runtime, Operator) included. */
enum wt_kineto_cat {
	WT_KINETO_UNSEEN = 0, /* no category read yet */
	WT_KINETO_IGNORED,    /* sync rows, GPU annotations, flows, Python: never device work */
	WT_KINETO_KERNEL,
	WT_KINETO_COPY,
	WT_KINETO_MEMSET,
	WT_KINETO_CALL,	    /* runtime or driver call of the host */
	WT_KINETO_RANGE,    /* annotation */
	WT_KINETO_OPERATOR, /* wanted only if wt_kineto_is_told() */
	WT_KINETO_FRAME,    /* of Python: likewise, or wt_kineto_site() */
};
enum wt_kineto_cat wt_kineto_category(const char *s, size_t n);

/* "Memcpy HtoD (Pageable -> Device)" -> enum wt_copy_kind; *ret_flags gets WT_OP_PAGEABLE. Also "DtoD" alone. */
uint8_t wt_kineto_copy_kind(const char *s, size_t n, uint8_t *ret_flags);
/* "allreduce", "_allgather_base", "reduce_scatter_tensor_coalesced" ... -> enum wt_coll_op */
uint8_t wt_kineto_collective(const char *s, size_t n);
/* "BFloat16" -> ncclDataType_t and the bytes of one element; UINT32_MAX and 0 if not known. */
uint32_t wt_kineto_dtype(const char *s, size_t n, uint32_t *ret_bytes);

/*
 * 1 if a frame, "train.py(88): forward", is of the job's own code: not of PyTorch or Triton, not one of the wrappers
 * that the interpreter's library puts around calls, nor the interpreter itself; *s and *n: without the folder its
 * packages are in.
 */
int wt_kineto_site(const char **s, size_t *n);
/* The same for the innermost such frame of a "Call stack", frames split by semicolons or lines, innermost first. */
int wt_kineto_stack_site(const char *s, size_t n, const char **ret, size_t *ret_n);

#endif
