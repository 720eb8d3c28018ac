/* SPDX-License-Identifier: Apache-2.0 */
/* See keyset.h. Linear probing, at most half full; slots hold the index + 1. */
#include "timeline/keyset.h"

#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"

static int grow(struct wt_keyset *k)
{
	size_t room = k->room ? k->room * 2 : 16, mask = room * 2 - 1;
	uint64_t *keys = realloc(k->keys, room * k->words * sizeof(*keys));
	uint32_t *slots;

	if (!keys)
		return -1;
	k->keys = keys;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -1;
	for (size_t i = 0; i < k->count; i++) {
		size_t at = wt_hash_bytes(keys + i * k->words, k->words * 8, 0) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = (uint32_t)i + 1;
	}
	free(k->slots);
	k->slots = slots;
	k->room = room;
	k->mask = mask;
	return 0;
}

int64_t wt_keyset_add(struct wt_keyset *k, const uint64_t *key, int *ret_new)
{
	size_t at;

	if (k->count == k->room && (k->count >= UINT32_MAX / 4 || grow(k)))
		return -1;
	at = wt_hash_bytes(key, k->words * 8, 0) & k->mask;
	for (; k->slots[at]; at = (at + 1) & k->mask) {
		if (!memcmp(k->keys + (k->slots[at] - 1) * k->words, key, k->words * 8)) {
			*ret_new = 0;
			return k->slots[at] - 1;
		}
	}
	memcpy(k->keys + k->count * k->words, key, k->words * 8);
	k->slots[at] = (uint32_t)++k->count;
	*ret_new = 1;
	return (int64_t)k->count - 1;
}

void wt_keyset_release(struct wt_keyset *k)
{
	free(k->keys);
	free(k->slots);
	*k = (struct wt_keyset){.words = k->words};
}
