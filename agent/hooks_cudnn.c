// SPDX-License-Identifier: Apache-2.0
/*
 * cuDNN's wrappers, one per row of hooks_cudnn.def. Job threads. Calls that launch are an outer layer like those of
 * cuBLAS, at levels api and trace; what is said of descriptors is booked at every level, off included, because a plan
 * made before a window is executed within it. WARPTAP_GEMM=0 leaves all of it out.
 *
 * libcudnn.so.9 hands each call on to a library behind it, which it asks for the same name by dlsym: the gates leave
 * that answer alone (gate.c). Of two cuDNN in one process each call goes to the one its caller is linked with, and
 * nothing is recorded.
 */
#define _GNU_SOURCE
#include "collectors/dnn.h"
#include "config.h"
#include "gate.h"
#include "lifecycle.h"
#include "real.h"
#include "wrap.h"

/* Cold: first call of an entry point, or two libraries. *ret_lone is 0 where this call is not to be recorded. */
static WT_COLD void *find(uint32_t id, const void *caller, int *ret_lone)
{
	int saved = errno;
	void *real;

	*ret_lone = !wt_real_dnn_twins();
	real = *ret_lone ? wt_real(id) : wt_real_of_caller(id, caller);
	errno = saved;
	return real;
}

#define WT_BEGIN(n_, p_)                                                                           \
	wt_dnn_status(*real) p_ = (__typeof__(real))WT_SLOT(n_);                                   \
	wt_dnn_status r;                                                                           \
	int lone = 1;                                                                              \
	if (WT_UNLIKELY(!real || wt_dnn_twins))                                                    \
		real = (__typeof__(real))find(WT_ID_##n_, __builtin_return_address(0), &lone);     \
	if (WT_UNLIKELY(!real))                                                                    \
		return WT_DNN_NOT_SUPPORTED;

#define WT_DEF_BOOK(n_, p_, a_, f_, t_)                                                            \
	wt_dnn_status hook_##n_ p_;                                                                \
	wt_dnn_status hook_##n_ p_                                                                 \
	{                                                                                          \
		WT_BEGIN(n_, p_)                                                                   \
		int on = lone && wt_level() >= WT_LEVEL_OFF && wt_config.gemm;                     \
		if (on) {                                                                          \
			f_;                                                                        \
		}                                                                                  \
		r = real a_;                                                                       \
		if (on && !r) {                                                                    \
			int saved = errno;                                                         \
			t_;                                                                        \
			errno = saved;                                                             \
		}                                                                                  \
		return r;                                                                          \
	}                                                                                          \
	WT_EXPORT(CUDNN, n_, p_)

#define WT_DEF_GEMM(n_, p_, a_, f_, t_)                                                            \
	wt_dnn_status hook_##n_ p_;                                                                \
	wt_dnn_status hook_##n_ p_                                                                 \
	{                                                                                          \
		struct wt_rec row;                                                                 \
		struct wt_rec *rec = &row;                                                         \
		WT_BEGIN(n_, p_)                                                                   \
		if (!lone || wt_level() < WT_LEVEL_API || wt_tls.library ||                        \
		    wt_tls.busy >= WT_BUSY_SILENT || !wt_config.gemm)                              \
			return real a_;                                                            \
		wt_start_row(&wt_tls, rec, WT_ID_##n_);                                            \
		f_ wt_library_enter(&wt_tls, rec, WT_REC_IN_BLAS);                                 \
		r = real a_;                                                                       \
		wt_library_leave(&wt_tls, rec, WT_KIND_GEMM, r, wt_tsc());                         \
		return r;                                                                          \
	}                                                                                          \
	WT_EXPORT(CUDNN, n_, p_)

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) WT_DEF_##form_(n_, p_, a_, f_, t_)
#include WT_HOOKS_CUDNN
#undef WT_ROW

void *const wt_wrappers_cudnn[WT_ID_END] = {
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) [WT_ID_##n_] = (void *)hook_##n_,
#include WT_HOOKS_CUDNN
#undef WT_ROW
};
