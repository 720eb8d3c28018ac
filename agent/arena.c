/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reserved address space, committed in steps. PROT_NONE costs the job nothing, not even under strict overcommit; pages
 * become memory when they are first written. Left out of core dumps: they can hold names, and the job's dump is not
 * the place for them.
 */
#include "agent/arena.h"

#include <errno.h>
#include <sys/mman.h>

#include "agent/trouble.h"
#include "proto/wt_err.h"

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

int wt_arena_open(struct wt_arena *a, size_t cap_bytes)
{
	size_t cap = round_up(cap_bytes, WT_ARENA_STEP);
	void *p = mmap(NULL, cap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		WT_TROUBLE(MEMORY, errno);
		return -WT_E_NOMEM;
	}
	madvise(p, cap, MADV_DONTDUMP);
	*a = (struct wt_arena){.base = p, .cap = cap};
	return 0;
}

int wt_arena_commit(struct wt_arena *a, size_t bytes)
{
	size_t want = round_up(bytes, WT_ARENA_STEP);

	if (bytes <= a->committed)
		return 0;
	if (!a->base || bytes > a->cap)
		return -WT_E_NOMEM;
	if (mprotect(a->base + a->committed, want - a->committed, PROT_READ | PROT_WRITE) != 0) {
		WT_TROUBLE(MEMORY, errno);
		return -WT_E_NOMEM;
	}
	a->committed = want;
	return 0;
}

void *wt_arena_get(struct wt_arena *a, size_t bytes)
{
	size_t n = round_up(bytes, 64);
	uint8_t *p;

	if (n < bytes || n > a->cap - a->used || wt_arena_commit(a, a->used + n) != 0)
		return NULL;
	p = a->base + a->used;
	a->used += n;
	return p;
}

void wt_arena_close(struct wt_arena *a)
{
	if (a->base)
		munmap(a->base, a->cap);
	*a = (struct wt_arena){0};
}
