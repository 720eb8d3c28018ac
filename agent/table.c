/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning tables (table.h): items in a growing array, chained from a fixed number of buckets. Items never move and
 * never die: their ids are in the file.
 */
#include "agent/table.h"

#include <string.h>

#include "proto/wt_err.h"

int wt_table_open(struct wt_table *t, size_t item_bytes, uint32_t cap_items)
{
	size_t heads = WT_TABLE_BUCKETS * sizeof(uint32_t);

	memset(t, 0, sizeof(*t));
	if (wt_arena_open(&t->items, heads + item_bytes * cap_items) != 0)
		return -WT_E_NOMEM;
	t->heads = wt_arena_get(&t->items, heads);
	if (!t->heads)
		return -WT_E_NOMEM;
	t->item_bytes = item_bytes;
	t->cap = cap_items;
	return 0;
}

void *wt_table_at(struct wt_table *t, uint32_t id)
{
	return (uint8_t *)t->heads + WT_TABLE_BUCKETS * sizeof(uint32_t) +
	       (size_t)(id - 1) * t->item_bytes;
}

uint64_t wt_table_hash(const void *bytes, size_t n, uint64_t seed)
{
	const uint8_t *p = bytes;
	uint64_t h = seed ^ 0x9E3779B97F4A7C15ull;

	for (; n >= 4; n -= 4, p += 4) {
		uint32_t w;

		memcpy(&w, p, 4);
		h = (h ^ w) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (; n; n--, p++)
		h = (h ^ *p) * 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

static uint32_t *bucket_of(struct wt_table *t, uint64_t key)
{
	return &t->heads[(key * 0x9E3779B97F4A7C15ull >> 40) & (WT_TABLE_BUCKETS - 1)];
}

uint32_t wt_table_id(struct wt_table *t, uint64_t key, const void *like, size_t same)
{
	uint32_t *head = bucket_of(t, key);
	struct wt_item *it;

	for (uint32_t id = *head; id; id = it->chain) {
		it = wt_table_at(t, id);
		if (it->key == key && memcmp(it + 1, (const struct wt_item *)like + 1, same) == 0)
			return id;
	}
	if (t->count == t->cap ||
	    wt_arena_commit(&t->items, WT_TABLE_BUCKETS * sizeof(uint32_t) +
					       (size_t)(t->count + 1) * t->item_bytes) != 0) {
		t->refused++;
		return 0;
	}
	it = wt_table_at(t, ++t->count);
	memcpy(it, like, t->item_bytes);
	it->key = key;
	it->segment = 0;
	it->chain = *head;
	*head = t->count;
	return t->count;
}

int wt_table_skip(struct wt_table *t, uint64_t id)
{
	if (id <= t->count)
		return 0;
	if (id > t->cap || wt_arena_commit(&t->items, WT_TABLE_BUCKETS * sizeof(uint32_t) +
							      id * t->item_bytes) != 0)
		return -WT_E_NOMEM;
	t->count = (uint32_t)id;
	return 0;
}

int wt_table_put(struct wt_table *t, uint32_t id, uint64_t key, const void *like)
{
	uint32_t *head = bucket_of(t, key);
	struct wt_item *it;

	if (!id || wt_table_skip(t, id) != 0)
		return -WT_E_NOMEM;
	it = wt_table_at(t, id);
	memcpy(it, like, t->item_bytes);
	it->key = key;
	it->segment = 0;
	it->chain = *head;
	*head = id;
	return 0;
}

int wt_table_use(struct wt_table *t, uint32_t id, uint64_t segment)
{
	struct wt_item *it;

	if (!id)
		return 0;
	it = wt_table_at(t, id);
	if (it->segment != (uint32_t)segment + 1 && t->n_pending < WT_TABLE_PENDING) {
		it->segment = (uint32_t)segment + 1;
		t->pending[t->n_pending++] = id;
	}
	return t->n_pending >= WT_TABLE_PENDING - 64;
}

/* Shell's: libc's qsort may take memory from the job's heap. */
void wt_table_sort(struct wt_table *t)
{
	static const uint32_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};

	for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		uint32_t gap = gaps[g];

		for (uint32_t i = gap; i < t->n_pending; i++) {
			uint32_t v = t->pending[i], j = i;

			for (; j >= gap && t->pending[j - gap] > v; j -= gap)
				t->pending[j] = t->pending[j - gap];
			t->pending[j] = v;
		}
	}
}
