/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks as data: ids, names, kinds, and one slot each for the real function. Linked with or without the exported
 * wrappers (unit tests take it without).
 */
#ifndef WT_HOOK_TABLE_H
#define WT_HOOK_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "hook_forms.h"

enum wt_hook_id {
	WT_ID_NONE,
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) WT_ID_##n_,
#include WT_HOOKS_CUDA
#include WT_HOOKS_NCCL
#include WT_HOOKS_CUBLAS
#include WT_HOOKS_CUDNN
#include WT_HOOKS_CUPTI
#undef WT_ROW
	WT_ID_MARK,	  /* no hook: rows of marks.c, for the file's Ops packet */
	WT_ID_NCCL_EVENT, /* likewise, of collectors/nccl_plugin.c */
	WT_ID_END
};

/* CountKind of trace.proto; a unit test holds the two together. */
enum wt_kind {
	WT_KIND_NONE,
	WT_KIND_LAUNCH,
	WT_KIND_GRAPH_LAUNCH,
	WT_KIND_COPY,
	WT_KIND_MEMSET,
	WT_KIND_COLLECTIVE,
	WT_KIND_HOST_FUNC,
	WT_KIND_EVENT,
	WT_KIND_WAIT,
	WT_KIND_OTHER,
	WT_KIND_SYNC,
	WT_KIND_ALLOC,
	WT_KIND_FREE,
	WT_KIND_MODULE,
	WT_KIND_GRAPH,
	WT_KIND_COMM,
	WT_KIND_CONTEXT,
	WT_KIND_GEMM,
	WT_KIND_MARK,
	WT_KIND_NCCL_EVENT
};
/* In memory. WT_UNROWED: done at level count, where no row is kept; UNROWED of trace.proto in the file. */
enum wt_count_state { WT_DONE, WT_CAPTURED, WT_FAILED, WT_SOFT, WT_UNROWED };

enum wt_library {
	WT_LIB_CUDA,
	WT_LIB_NCCL,
	WT_LIB_CUBLAS,
	WT_LIB_CUBLASLT,
	WT_LIB_CUDNN,
	WT_LIB_CUPTI,
	WT_LIB_OURS
};

struct wt_hook {
	const char *name; /* ABI name, as exported */
	uint32_t since;	  /* cudaVersion from which cuGetProcAddress means it by its base name */
	uint8_t kind;	  /* enum wt_kind */
	uint8_t library;  /* enum wt_library */
	uint8_t pt;	  /* 1 = per-thread-stream twin */
	uint8_t base_len; /* of the name without _v2, _ptsz: what cuGetProcAddress is asked for */
};

extern const struct wt_hook wt_hooks[WT_ID_END]; /* [0] is empty */
/* The real functions; NULL = not looked up yet. */
extern _Atomic(void *) wt_slot[WT_ID_END] __attribute__((visibility("hidden")));

/*
 * strcmp() == 0 and strncmp() == 0, our own: the gates run before libraries that replace libc's (a sanitizer looks up
 * the real ones through us).
 */
static inline int wt_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static inline int wt_begins(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix) {
		s++;
		prefix++;
	}
	return !*prefix;
}

/* Id of an exported name, 0 = not ours. */
uint32_t wt_hook_find(const char *name);
/* The gates handed out an entry of this name (or of its family) unwrapped. Each id counts once. */
void wt_hook_escaped(uint32_t id);
/* The slot, filled if it was empty; NULL = the library is not loaded or lacks it. May call the dynamic linker. */
void *wt_real(uint32_t id);

#endif
