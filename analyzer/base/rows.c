/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See rows.h. Small tables double within the heap. Large ones get a mapping of their own, which the kernel moves
 * without a copy, and grow by steps whose pages are asked for at once. All else, windows above all, stays in the heap:
 * what reading gives back there is what the analysis lives in.
 */
#define _GNU_SOURCE /* MADV_POPULATE_WRITE */
#include "base/rows.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE	  (64u << 10)
#define STEP	  (32u << 10)
#define VERY_MUCH (16u << 20) /* from here on pages come as they are touched */
#define IN_HEAP	  (1 << 20)

void wt_rows_begin(void)
{
#ifdef __GLIBC__
	/* Large blocks go back to the system when freed: glibc would keep those below the largest it ever freed. */
	mallopt(M_MMAP_THRESHOLD, IN_HEAP);
	/* Small ones are kept: asking for the same pages again and again costs more than what is done with them. */
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	/* No more than a little is asked for in advance: tables that fit in there would be copied when they grow. */
	mallopt(M_TOP_PAD, 32 << 10);
#endif
}

void wt_rows_populate(void *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)at + page - 1) & ~(page - 1),
		  to = ((uintptr_t)at + bytes) & ~(page - 1);

	/* An older kernel refuses: then they come one by one. */
	if (from < to)
		(void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
#else
	(void)at;
	(void)bytes;
#endif
}

static void *move(void *rows, size_t bytes)
{
	void *moved;

#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, LARGE);
#endif
	moved = realloc(rows, bytes);
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, IN_HEAP);
#endif
	return moved;
}

void *wt_rows_grow(void *rows, size_t bytes, size_t need, size_t *ret_bytes)
{
	size_t more = bytes < LARGE	  ? bytes
		      : bytes < VERY_MUCH ? (bytes / 8 > STEP ? bytes / 8 : STEP)
					  : bytes / 4;
	size_t room = bytes <= SIZE_MAX - more && bytes + more > need ? bytes + more : need;
	void *grown = room < LARGE ? realloc(rows, room) : move(rows, room);

	if (!grown)
		return NULL;
	if (room >= LARGE && room < VERY_MUCH)
		wt_rows_populate((char *)grown + bytes, room - bytes);
	*ret_bytes = room;
	return grown;
}
