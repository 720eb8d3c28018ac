/* SPDX-License-Identifier: Apache-2.0 */
/* See map.h. A slot is 16 bytes, so a probe run of four stays in one cache line. */
#include "base/map.h"

#include <stdlib.h>

#include "proto/wt_err.h"

struct wt_map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

void wt_map_release(struct wt_map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->mask = m->count = 0;
}

/* The slot of the key, or the free one where it belongs. */
static struct wt_map_slot *probe(const struct wt_map *m, uint64_t key)
{
	size_t i = (size_t)wt_mix64(key) & m->mask;

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

static int grow(struct wt_map *m)
{
	size_t n = m->slots ? (m->mask + 1) * 2 : 16;
	struct wt_map bigger = {.mask = n - 1, .count = m->count};

	if (n > SIZE_MAX / sizeof(*m->slots))
		return -WT_E_NOMEM;
	bigger.slots = calloc(n, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -WT_E_NOMEM;
	for (size_t i = 0; m->slots && i <= m->mask; i++)
		if (m->slots[i].used)
			*probe(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int wt_map_get(const struct wt_map *m, uint64_t key, uint32_t *ret_value)
{
	const struct wt_map_slot *s;

	if (!m->slots)
		return 0;
	s = probe(m, key);
	if (!s->used)
		return 0;
	*ret_value = s->value;
	return 1;
}

uint32_t *wt_map_slot(struct wt_map *m, uint64_t key, uint32_t initial, int *ret_new)
{
	struct wt_map_slot *s = m->slots ? probe(m, key) : NULL;
	int absent = !s || !s->used;

	if (absent) {
		if (!m->slots || (m->count + 1) * 4 > (m->mask + 1) * 3) {
			if (grow(m))
				return NULL;
			s = probe(m, key);
		}
		s->key = key;
		s->value = initial;
		s->used = 1;
		m->count++;
	}
	if (ret_new)
		*ret_new = absent;
	return &s->value;
}

int wt_map_put(struct wt_map *m, uint64_t key, uint32_t value)
{
	uint32_t *at = wt_map_slot(m, key, value, NULL);

	if (!at)
		return -WT_E_NOMEM;
	*at = value;
	return 0;
}
