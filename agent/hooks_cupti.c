// SPDX-License-Identifier: Apache-2.0
/*
 * CUPTI's wrappers, one per row of hooks_cupti.def: the ears of collectors/manners.c. The other tool's threads; rare
 * calls, a handful a session. They pass on whatever they get, and answer what the real function answers.
 *
 * Calls made inside one of these (CUPTI's own, or those of a callback it runs) and the agent's own are nobody's
 * business: straight through.
 */
#define _GNU_SOURCE
#include "collectors/manners.h"
#include "gate.h"
#include "lifecycle.h"
#include "real.h"
#include "wrap.h"

static WT_COLD void *first(uint32_t id)
{
	int saved = errno;
	void *real = wt_real(id);

	errno = saved;
	return real;
}

#define WT_BEFORE_TAKES 1
#define WT_BEFORE_SEEN	0

#define WT_DEF_TAKES(n_, p_, a_, t_) WT_DEF_PASS(TAKES, n_, p_, a_, t_)
#define WT_DEF_SEEN(n_, p_, a_, t_)  WT_DEF_PASS(SEEN, n_, p_, a_, t_)
#define WT_DEF_OWN(n_, p_, a_, t_)
#define WT_DEF_PASS(form_, n_, p_, a_, t_)                                                         \
	wt_cupti_result hook_##n_ p_;                                                              \
	wt_cupti_result hook_##n_ p_                                                               \
	{                                                                                          \
		wt_cupti_result(*real) p_ = (__typeof__(real))WT_SLOT(n_);                         \
		wt_cupti_result r;                                                                 \
		if (!real && !(real = (__typeof__(real))first(WT_ID_##n_)))                        \
			return WT_MISSING_CUPTI;                                                   \
		if (!wt_manners_enter(WT_BEFORE_##form_, __builtin_return_address(0)))             \
			return real a_;                                                            \
		r = real a_;                                                                       \
		t_;                                                                                \
		wt_manners_leave();                                                                \
		return r;                                                                          \
	}                                                                                          \
	WT_EXPORT(CUPTI, n_, p_)

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) WT_DEF_##form_(n_, p_, a_, t_)
#include WT_HOOKS_CUPTI
#undef WT_ROW

/* ---- by hand ---- */

/* CUPTI gets our pair, which passes on to theirs: no tool may be given a buffer back that it did not lend. */
wt_cupti_result hook_cuptiActivityRegisterCallbacks(wt_cupti_request *request,
						    wt_cupti_complete *complete);
wt_cupti_result hook_cuptiActivityRegisterCallbacks(wt_cupti_request *request,
						    wt_cupti_complete *complete)
{
	wt_cupti_result (*real)(wt_cupti_request *, wt_cupti_complete *) =
		(__typeof__(real))WT_SLOT(cuptiActivityRegisterCallbacks);
	wt_cupti_result r;

	if (!real && !(real = (__typeof__(real))first(WT_ID_cuptiActivityRegisterCallbacks)))
		return WT_MISSING_CUPTI;
	if (!wt_manners_enter(1, __builtin_return_address(0)))
		return real(request, complete);
	if (request && complete) {
		wt_manners_callbacks(request, complete);
		r = real(wt_manners_request, wt_manners_complete);
		if (r)
			wt_manners_callbacks_refused();
	} else {
		r = real(request, complete);
	}
	wt_manners_leave();
	return r;
}
WT_EXPORT(CUPTI, cuptiActivityRegisterCallbacks,
	  (wt_cupti_request * request, wt_cupti_complete *complete))

void *const wt_wrappers_cupti[WT_ID_END] = {
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) [WT_ID_##n_] = (void *)hook_##n_,
#include WT_HOOKS_CUPTI
#undef WT_ROW
};
