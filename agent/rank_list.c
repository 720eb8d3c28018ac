// SPDX-License-Identifier: Apache-2.0
/*
 * Ranks by list or by share (rank_list.h). A share is decided by each rank for itself: the same ranks in every window,
 * so that neighbouring windows can be compared.
 */
#include "agent/rank_list.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x) /* splitmix64: its finalizer spreads neighbouring ranks */
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static int in_list(const char *p, int64_t rank)
{
	int found = 0;

	while (*p) {
		char *end;
		long from = strtol(p, &end, 10), to = from;

		if (end == p || from < 0)
			return -1;
		if (*end == '-') {
			p = end + 1;
			to = strtol(p, &end, 10);
			if (end == p || to < from)
				return -1;
		}
		found |= rank >= from && rank <= to;
		if (*end && (*end != ',' || !end[1]))
			return -1;
		p = *end ? end + 1 : end;
	}
	return found;
}

int wt_rank_is_in(const char *list, int64_t rank)
{
	char *end;
	long share;

	if (!*list)
		return 1;
	if (!strchr(list, '%'))
		return in_list(list, rank);
	share = strtol(list, &end, 10);
	if (end == list || strcmp(end, "%") != 0 || share < 0 || share > 100)
		return -1;
	return mix((uint64_t)rank) % 100 < (uint64_t)share;
}
