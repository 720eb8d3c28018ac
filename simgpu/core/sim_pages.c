/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_pages.h. Tried and rejected: asking the kernel which pages are there (mincore says no for swapped ones). */
#include "simgpu/core/sim_pages.h"

#include "simgpu/core/sim_base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RELEASE_MIN (64u << 10) /* shorter zero fills are written: a system call costs more */

void sim_pages_init(struct sim_pages *p, size_t bytes, bool file)
{
	size_t words = (bytes / SIM_BLOCK + 64) / 64;

	p->bytes = bytes;
	p->file = file;
	p->touched = sim_alloc(words * sizeof(*p->touched));
}

void sim_pages_release(struct sim_pages *p)
{
	free(p->touched);
	p->touched = NULL;
}

static uint64_t bit(size_t offset)
{
	return 1ull << (offset / SIM_BLOCK % 64);
}

static _Atomic uint64_t *word(const struct sim_pages *p, size_t offset)
{
	return &p->touched[offset / SIM_BLOCK / 64];
}

bool sim_pages_touched(const struct sim_pages *p, size_t offset)
{
	return atomic_load_explicit(word(p, offset), memory_order_relaxed) & bit(offset);
}

static void mark(struct sim_pages *p, size_t offset)
{
	if (!sim_pages_touched(p, offset))
		atomic_fetch_or(word(p, offset), bit(offset));
}

void sim_pages_forget(struct sim_pages *p, size_t offset, size_t bytes)
{
	size_t first = (offset + SIM_BLOCK - 1) / SIM_BLOCK, end = (offset + bytes) / SIM_BLOCK;

	for (size_t i = first; i < end; i++)
		if (sim_pages_touched(p, i * SIM_BLOCK))
			atomic_fetch_and(word(p, i * SIM_BLOCK), ~bit(i * SIM_BLOCK));
}

uint64_t sim_pages_count(const struct sim_pages *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i * SIM_BLOCK < p->bytes; i++)
		n += sim_pages_touched(p, i * SIM_BLOCK);
	return n;
}

/* Cut to what lies in one block, so that one bit answers for all of it. */
static size_t look(sim_span_fn span, const void *p, size_t n, struct sim_span *ret)
{
	size_t in_block;

	span(p, ret);
	if (ret->left < n && ret->left)
		n = ret->left;
	if (!ret->pages)
		return n;
	in_block = SIM_BLOCK - ret->offset % SIM_BLOCK;
	return in_block < n ? in_block : n;
}

static bool written(const struct sim_span *s)
{
	return !s->pages || sim_pages_touched(s->pages, s->offset);
}

static void will_write(const struct sim_span *s)
{
	if (s->pages)
		mark(s->pages, s->offset);
}

void sim_pages_touch(sim_span_fn span, const void *p, size_t n)
{
	struct sim_span s;

	for (size_t step; n; n -= step, p = (const char *)p + step) {
		step = look(span, p, n, &s);
		will_write(&s);
	}
}

/* n bytes within one block. */
static void zero_step(char *p, size_t n, const struct sim_span *s)
{
	char *page = (char *)(((uintptr_t)p + SIM_PAGE - 1) & ~(uintptr_t)(SIM_PAGE - 1));
	size_t inside;

	if (!written(s))
		return;
	if (!s->device || n < RELEASE_MIN) {
		memset(p, 0, n);
		return;
	}
	inside = (n - (size_t)(page - p)) & ~(size_t)(SIM_PAGE - 1);
	if (madvise(page, inside, s->file ? MADV_REMOVE : MADV_DONTNEED)) {
		memset(p, 0, n);
		return;
	}
	memset(p, 0, (size_t)(page - p));
	memset(page + inside, 0, n - inside - (size_t)(page - p));
	if (s->pages)
		sim_pages_forget(s->pages, s->offset, n);
}

void sim_pages_zero(sim_span_fn span, void *dst, size_t n)
{
	struct sim_span s;

	for (size_t step; n; n -= step, dst = (char *)dst + step) {
		step = look(span, dst, n, &s);
		zero_step(dst, step, &s);
	}
}

static bool is_zero(const char *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

/* To memory that was never written: only pages that are not all zero. */
static void copy_sparse(char *dst, const char *src, size_t n, const struct sim_span *to)
{
	for (size_t step; n; n -= step, dst += step, src += step) {
		step = SIM_PAGE - ((uintptr_t)dst & (SIM_PAGE - 1));
		if (step > n)
			step = n;
		if (is_zero(src, step))
			continue;
		will_write(to);
		memcpy(dst, src, step);
	}
}

void sim_pages_copy(sim_span_fn span, void *dst, const void *src, size_t n)
{
	char *d = dst;
	const char *s = src;
	struct sim_span to, from;

	if (d < s + n && s < d + n) {
		/* The real device promises nothing here; memmove is as good as any. */
		sim_pages_touch(span, dst, n);
		memmove(dst, src, n);
		return;
	}
	for (size_t step; n; n -= step, d += step, s += step) {
		step = look(span, d, n, &to);
		step = look(span, s, step, &from);
		if (!written(&from))
			zero_step(d, step, &to);
		else if (written(&to))
			memcpy(d, s, step);
		else
			copy_sparse(d, s, step, &to);
	}
}
