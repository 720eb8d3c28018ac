/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See region.h. A request larger than a block gets a block of its own behind the newest, so that one long string does
 * not throw away what is left of the current block. Never shrinks, never moves.
 */
#include "base/region.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 4096u
#define MAX_BYTES   (1u << 20)

struct wt_region_block {
	struct wt_region_block *next;
	size_t pad; /* keeps bytes[] at a multiple of 16 */
	char bytes[];
};

void wt_region_release(struct wt_region *a)
{
	while (a->blocks) {
		struct wt_region_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->used = a->size = 0;
}

static void *alloc_alone(struct wt_region *a, size_t n)
{
	struct wt_region_block *b;

	if (n > SIZE_MAX - sizeof(*b))
		return NULL;
	b = malloc(sizeof(*b) + n);
	if (!b)
		return NULL;
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = NULL;
		a->blocks = b;
		a->used = a->size = n;
	}
	return b->bytes;
}

void *wt_region_alloc(struct wt_region *a, size_t n, size_t align)
{
	size_t at = (a->used + align - 1) & ~(align - 1);
	struct wt_region_block *b;
	size_t size;

	if (a->blocks && at <= a->size && n <= a->size - at) {
		a->used = at + n;
		return a->blocks->bytes + at;
	}
	size = a->size < FIRST_BYTES ? FIRST_BYTES : a->size * 2;
	if (size > MAX_BYTES)
		size = MAX_BYTES;
	if (n > size / 4)
		return alloc_alone(a, n);
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	a->size = size;
	a->used = n;
	return b->bytes;
}

char *wt_region_copy(struct wt_region *a, const char *s, size_t n)
{
	char *to = n < SIZE_MAX ? wt_region_alloc(a, n + 1, 1) : NULL;

	if (!to)
		return NULL;
	if (n)
		memcpy(to, s, n);
	to[n] = '\0';
	return to;
}
