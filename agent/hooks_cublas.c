// SPDX-License-Identifier: Apache-2.0
/*
 * cuBLAS's wrappers, one per row of hooks_cublas.def. Job threads, levels api and trace only: below, a product is seen
 * through its launches. An outer layer like NCCL's: launches made inside are recorded and know their parent, products
 * made inside are this one's own, and the row is written when the call returns.
 *
 * A process can hold two cuBLAS (one linked, one opened by another framework); a handle of one given to the other would
 * end the job. As soon as a second one is seen (real.c), each call goes to the library its caller is linked with, and
 * none is recorded.
 */
#define _GNU_SOURCE
#include "collectors/gemm.h"
#include "config.h"
#include "gate.h"
#include "lifecycle.h"
#include "real.h"
#include "stub.h"
#include "wrap.h"

/* Cold: first call of an entry point, or two libraries. *ret_lone is 0 where this call is not to be recorded. */
static WT_COLD void *find(uint32_t id, const void *caller, int *ret_lone)
{
	int saved = errno;
	void *real;

	*ret_lone = !wt_real_blas_twins();
	real = *ret_lone ? wt_real(id) : wt_real_of_caller(id, caller);
	errno = saved;
	return real;
}

#define WT_WANTED (!wt_tls.library && wt_tls.busy < WT_BUSY_SILENT && wt_config.gemm)

/* Behind the stub of stub.h; the level was api or more, or something is special. */
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	WT_RET_##l_ hook_##n_ p_;                                                                  \
	__attribute__((visibility("hidden"))) wt_blas_status record_##n_ p_;                       \
	wt_blas_status record_##n_ p_                                                              \
	{                                                                                          \
		enum { pt = 0 };                                                                   \
		struct wt_rec row;                                                                 \
		struct wt_rec *rec = &row;                                                         \
		wt_blas_status(*real) p_ = (__typeof__(real))WT_SLOT(n_);                          \
		wt_blas_status r;                                                                  \
		int lone = 1;                                                                      \
		if (WT_UNLIKELY(!real || wt_blas_twins))                                           \
			real = (__typeof__(real))find(WT_ID_##n_, __builtin_return_address(0),     \
						      &lone);                                      \
		if (WT_UNLIKELY(!real))                                                            \
			return WT_BLAS_NOT_SUPPORTED;                                              \
		int on = lone && wt_level() >= WT_LEVEL_API && WT_WANTED;                          \
		if (WT_LIKELY(on)) {                                                               \
			wt_start_row(&wt_tls, rec, WT_ID_##n_);                                    \
			f_ wt_library_enter(&wt_tls, rec, WT_REC_IN_BLAS);                         \
		}                                                                                  \
		/* One call for both: with two, arguments are kept in registers for neither. */    \
		r = real a_;                                                                       \
		if (WT_LIKELY(on))                                                                 \
			wt_library_leave(&wt_tls, rec, WT_KIND_##k_, r, wt_tsc());                 \
		(void)pt;                                                                          \
		return r;                                                                          \
	}                                                                                          \
	WT_STUB(n_)

#include WT_HOOKS_CUBLAS
#undef WT_ROW

void *const wt_wrappers_cublas[WT_ID_END] = {
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) [WT_ID_##n_] = (void *)hook_##n_,
#include WT_HOOKS_CUBLAS
#undef WT_ROW
};
