// SPDX-License-Identifier: Apache-2.0
/*
 * NCCL's wrappers, one per row of hooks_nccl.def. Job threads. An outer layer: driver calls made inside are recorded
 * and know their parent; NCCL calls made inside are NCCL's own. The row is written when the call returns, after those
 * of the calls inside it.
 *
 * NCCL may be the first to call cuInit: a call that began while the agent slept keeps the books once it is awake.
 */
#define _GNU_SOURCE
#include "book.h"
#include "comms.h"
#include "gate.h"
#include "lifecycle.h"
#include "wrap.h"

#define WT_IN_PROGRESS(r_) ((r_) == WT_NCCL_IN_PROGRESS)
#define WT_WANTED(least_)                                                                          \
	((wt_level() >= (least_) || wt_agent_may_wake()) && !wt_tls.library &&                     \
	 wt_tls.busy < WT_BUSY_SILENT)

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	wt_nccl_result hook_##n_ p_;                                                               \
	wt_nccl_result hook_##n_ p_                                                                \
	{                                                                                          \
		enum { pt = 0 };                                                                   \
		struct wt_rec row = {.op = WT_ID_##n_};                                            \
		struct wt_rec *rec = &row;                                                         \
		wt_nccl_result(*real) p_ = (__typeof__(real))WT_SLOT(n_);                          \
		wt_nccl_result r;                                                                  \
		if (WT_UNLIKELY(!real) && !(real = (__typeof__(real))first(WT_ID_##n_)))           \
			return WT_MISSING_NCCL;                                                    \
		if (!WT_WANTED(WT_LEAST_##form_))                                                  \
			return real a_;                                                            \
		f_ wt_library_enter(&wt_tls, rec, WT_REC_IN_NCCL);                                 \
		r = real a_;                                                                       \
		uint64_t end_tsc = wt_tsc();                                                       \
		if (wt_level() >= WT_LEVEL_OFF) {                                                  \
			WT_AFTER_##form_(t_)                                                       \
		}                                                                                  \
		wt_library_leave(&wt_tls, rec, WT_KIND_##k_, r, end_tsc);                          \
		return r;                                                                          \
	}                                                                                          \
	WT_EXPORT(l_, n_, p_)

static WT_COLD void *first(uint32_t id)
{
	int saved = errno;
	void *real = wt_real(id);

	errno = saved;
	return real;
}

#include WT_HOOKS_NCCL
#undef WT_ROW

void *const wt_wrappers_nccl[WT_ID_END] = {
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) [WT_ID_##n_] = (void *)hook_##n_,
#include WT_HOOKS_NCCL
#undef WT_ROW
};
