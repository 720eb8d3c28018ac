// SPDX-License-Identifier: Apache-2.0
/* The hooks as data; see hook_table.h. No code of any hook is here. */
#include "hook_table.h"

#include "agent.h"

/* "cuMemcpyHtoD_v2_ptds" is asked for as "cuMemcpyHtoD": cut the twin's suffix, then the ABI version. */
#define TWIN_LEN(n_, pt_) ((pt_) ? sizeof(#n_) - 1 - 5 : sizeof(#n_) - 1)
#define IS_V(n_, len_)	  (#n_[(len_)-3] == '_' && #n_[(len_)-2] == 'v')
#define BASE_LEN(n_, pt_) (TWIN_LEN(n_, pt_) - (IS_V(n_, TWIN_LEN(n_, pt_)) ? 3 : 0))

const struct wt_hook wt_hooks[WT_ID_END] = {
	{"", 0, 0, 0, 0, 0},
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	{#n_, v_, WT_KIND_##k_, WT_LIB_##l_, pt_, BASE_LEN(n_, pt_)},
#include WT_HOOKS_CUDA
#include WT_HOOKS_NCCL
#include WT_HOOKS_CUBLAS
#include WT_HOOKS_CUDNN
#include WT_HOOKS_CUPTI
#undef WT_ROW
	{"warptap_mark", 0, WT_KIND_MARK, WT_LIB_OURS, 0, sizeof("warptap_mark") - 1},
	{"nccl event", 0, WT_KIND_NCCL_EVENT, WT_LIB_OURS, 0, sizeof("nccl event") - 1},
};

_Atomic(void *) wt_slot[WT_ID_END];

/*
 * The slots by name, for stub.h. Only inside a function may assembly have operands, so here is one, which is never
 * called.
 */
static __attribute__((used, noinline)) void names_of_slots(void)
{
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	__asm__(".globl wt_slot_" #n_ "\n.hidden wt_slot_" #n_ "\n.set wt_slot_" #n_               \
		", wt_slot + %c0" ::"i"(WT_ID_##n_ * sizeof(wt_slot[0])));
#include WT_HOOKS_CUBLAS
#undef WT_ROW
}

uint32_t wt_hook_find(const char *name)
{
	/* Gates ask once per entry point and client: a few thousand times at most. */
	for (uint32_t i = 1; i < WT_ID_END; i++)
		if (wt_same(wt_hooks[i].name, name))
			return i;
	return 0;
}

uint32_t wt_hook_count(void)
{
	return WT_ID_END - 1;
}

const char *wt_hook_name(uint32_t id)
{
	return id < WT_ID_END ? wt_hooks[id].name : "";
}

uint32_t wt_hook_kind(uint32_t id)
{
	return id < WT_ID_END ? wt_hooks[id].kind : 0;
}

uint64_t wt_hooks_hash(void)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (uint32_t i = 1; i < WT_ID_END; i++) {
		for (const char *s = wt_hooks[i].name; *s; s++)
			h = (h ^ (uint8_t)*s) * 0x100000001b3u;
		h = (h ^ (0x100u | wt_hooks[i].kind)) * 0x100000001b3u;
	}
	return h;
}

static _Atomic uint64_t escaped;
static _Atomic uint8_t escaped_once[WT_ID_END];

void wt_hook_escaped(uint32_t id)
{
	if (!atomic_exchange(&escaped_once[id], 1))
		atomic_fetch_add(&escaped, 1);
}

uint64_t wt_escaped_names(void)
{
	return atomic_load(&escaped);
}
