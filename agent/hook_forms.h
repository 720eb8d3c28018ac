/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the forms of hooks_*.def into one: whoever reads the lists defines
 *   WT_ROW(form, pt, library, kind, since, name, params, args, fill, after)
 * includes WT_HOOKS_CUDA, _NCCL, _CUBLAS, _CUDNN and/or _CUPTI, and undefines it. form is HOOK, LAUNCH, OUT, BOOK, ANY,
 * POLL or OWN, for calls of cuBLAS and cuDNN that compute GEMM, for CUPTI's TAKES or SEEN; pt is 1 for the
 * per-thread-stream twin (its stream 0 means the thread's own).
 * Macro parameters must not share a name with a struct field or with a function parameter in the lists.
 */
#ifndef WT_HOOK_FORMS_H
#define WT_HOOK_FORMS_H

#define WT_PLAIN	    /* nothing */
#define WT_HOOKS_CUDA	    "hooks_cuda.def"
#define WT_HOOKS_NCCL	    "hooks_nccl.def"
#define WT_HOOKS_CUBLAS	    "hooks_cublas.def"
#define WT_HOOKS_CUDNN	    "hooks_cudnn.def"
#define WT_HOOKS_CUPTI	    "hooks_cupti.def"
#define WT_PT_SINCE(since_) ((since_) > 7000 ? (since_) : 7000) /* the twins came with CUDA 7 */

#define WT_HOOK(l_, k_, v_, n_, p_, a_, f_)	WT_ROW(HOOK, 0, l_, k_, v_, n_, p_, a_, f_, WT_PLAIN)
#define WT_OUT(l_, k_, v_, n_, p_, a_, f_, t_)	WT_ROW(OUT, 0, l_, k_, v_, n_, p_, a_, f_, t_)
#define WT_BOOK(l_, k_, v_, n_, p_, a_, f_, t_) WT_ROW(BOOK, 0, l_, k_, v_, n_, p_, a_, f_, t_)
#define WT_ANY(l_, k_, v_, n_, p_, a_, f_, t_)	WT_ROW(ANY, 0, l_, k_, v_, n_, p_, a_, f_, t_)
#define WT_POLL(l_, k_, v_, n_, p_, a_, f_)	WT_ROW(POLL, 0, l_, k_, v_, n_, p_, a_, f_, WT_PLAIN)
#define WT_OWN(l_, k_, v_, n_, p_)		WT_ROW(OWN, 0, l_, k_, v_, n_, p_, (), WT_PLAIN, WT_PLAIN)

#define WT_GEMM(l_, n_, p_, a_, f_)	WT_ROW(GEMM, 0, l_, GEMM, 0, n_, p_, a_, f_, WT_PLAIN)
#define WT_DNN(n_, p_, a_, f_)		WT_ROW(GEMM, 0, CUDNN, GEMM, 0, n_, p_, a_, f_, WT_PLAIN)
#define WT_DNN_BOOK(n_, p_, a_, f_, t_) WT_ROW(BOOK, 0, CUDNN, NONE, 0, n_, p_, a_, f_, t_)

#define WT_TAKES(n_, p_, a_, t_) WT_ROW(TAKES, 0, CUPTI, NONE, 0, n_, p_, a_, WT_PLAIN, t_)
#define WT_SEEN(n_, p_, a_, t_)	 WT_ROW(SEEN, 0, CUPTI, NONE, 0, n_, p_, a_, WT_PLAIN, t_)

#define WT_TWIN(form_, l_, k_, v_, n_, s_, p_, a_, f_, t_)                                         \
	WT_ROW(form_, 0, l_, k_, v_, n_, p_, a_, f_, t_)                                           \
	WT_ROW(form_, 1, l_, k_, WT_PT_SINCE(v_), n_##_##s_, p_, a_, f_, t_)
#define WT_HOOK_PT(l_, k_, v_, n_, s_, p_, a_, f_)                                                 \
	WT_TWIN(HOOK, l_, k_, v_, n_, s_, p_, a_, f_, WT_PLAIN)
#define WT_LAUNCH_PT(l_, k_, v_, n_, s_, p_, a_, f_, t_)                                           \
	WT_TWIN(LAUNCH, l_, k_, v_, n_, s_, p_, a_, f_, t_)
#define WT_OUT_PT(l_, k_, v_, n_, s_, p_, a_, f_, t_)                                              \
	WT_TWIN(OUT, l_, k_, v_, n_, s_, p_, a_, f_, t_)
#define WT_BOOK_PT(l_, k_, v_, n_, s_, p_, a_, f_, t_)                                             \
	WT_TWIN(BOOK, l_, k_, v_, n_, s_, p_, a_, f_, t_)
#define WT_POLL_PT(l_, k_, v_, n_, s_, p_, a_, f_)                                                 \
	WT_TWIN(POLL, l_, k_, v_, n_, s_, p_, a_, f_, WT_PLAIN)
#define WT_ANY_PT(l_, k_, v_, n_, s_, p_, a_, f_, t_)                                              \
	WT_TWIN(ANY, l_, k_, v_, n_, s_, p_, a_, f_, t_)

#endif
