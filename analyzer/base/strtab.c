/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See strtab.h. Importers intern one or two names per event, so a hit must cost one hash, one slot and one memcmp:
 * slots hold 32 bits of the hash beside the id, and only equal hashes are compared. The hash reads 16 bytes a step
 * (two multiplications); kernel names of 600 bytes are common.
 */
#include "base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/region.h"
#include "base/map.h"

struct slot {
	uint32_t hash;
	uint32_t id1; /* id + 1; 0 = free */
};
struct text {
	const char *s;
	uint32_t n;
};
struct wt_strings {
	struct slot *slots;
	size_t mask;
	struct text *texts;
	size_t count, room;
	struct wt_region region;
	int failed;
};

static uint64_t load64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return x;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t wt_hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
	static const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd1b54a32d192ed03u;
	const uint8_t *p = bytes;
	uint64_t h = seed ^ (n * k0), tail[2] = {0, 0};
	size_t left = n;

	for (; left > 16; left -= 16, p += 16)
		h = fold(load64(p) ^ k0 ^ h, load64(p + 8) ^ k1);
	if (n >= 16) { /* the last 16 bytes, some of them twice: no byte loop */
		h = fold(load64(p + left - 16) ^ k1 ^ h, load64(p + left - 8) ^ k0);
	} else {
		if (left)
			memcpy(tail, p, left);
		h = fold(tail[0] ^ k1 ^ h, tail[1] ^ k0);
	}
	return wt_mix64(h);
}

/* The slot of these bytes, or the free one where they belong. */
static struct slot *probe(const struct wt_strings *t, const char *s, size_t n, uint32_t hash)
{
	size_t i = hash & t->mask;

	for (;; i = (i + 1) & t->mask) {
		struct slot *at = &t->slots[i];
		const struct text *x;

		if (!at->id1)
			return at;
		x = &t->texts[at->id1 - 1];
		if (at->hash == hash && x->n == n && (!n || !memcmp(x->s, s, n)))
			return at;
	}
}

static int grow_slots(struct wt_strings *t)
{
	size_t n = (t->mask + 1) * 2;
	struct slot *bigger = calloc(n, sizeof(*bigger));

	if (!bigger)
		return -1;
	for (size_t i = 0; i <= t->mask; i++) {
		size_t j = t->slots[i].hash & (n - 1);

		if (!t->slots[i].id1)
			continue;
		while (bigger[j].id1)
			j = (j + 1) & (n - 1);
		bigger[j] = t->slots[i];
	}
	free(t->slots);
	t->slots = bigger;
	t->mask = n - 1;
	return 0;
}

static int make_room(struct wt_strings *t)
{
	if (t->count == t->room) {
		size_t room = t->room * 2;
		struct text *texts = realloc(t->texts, room * sizeof(*texts));

		if (!texts)
			return -1;
		t->texts = texts;
		t->room = room;
	}
	/* Ids are 32 bits, and ids + 1 are stored. */
	if (t->count >= UINT32_MAX - 1)
		return -1;
	return (t->count + 1) * 2 > t->mask + 1 ? grow_slots(t) : 0;
}

struct wt_strings *wt_strings_new(void)
{
	struct wt_strings *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->mask = 255;
	t->room = 128;
	t->slots = calloc(t->mask + 1, sizeof(*t->slots));
	t->texts = malloc(t->room * sizeof(*t->texts));
	if (!t->slots || !t->texts) {
		wt_strings_free(t);
		return NULL;
	}
	wt_strings_add(t, "", 0);
	return t;
}

void wt_strings_free(struct wt_strings *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t->texts);
	wt_region_release(&t->region);
	free(t);
}

uint32_t wt_strings_add(struct wt_strings *t, const char *s, size_t n)
{
	uint32_t hash = (uint32_t)wt_hash_bytes(s, n, 0);
	struct slot *at = probe(t, s, n, hash);
	const char *nul;
	char *copy;

	if (at->id1)
		return at->id1 - 1;
	nul = n ? memchr(s, 0, n) : NULL;
	if (nul) /* none is kept with one */
		return wt_strings_add(t, s, (size_t)(nul - s));
	copy = n <= UINT32_MAX ? wt_region_copy(&t->region, s, n) : NULL;
	if (!copy || make_room(t)) {
		t->failed = 1;
		return 0;
	}
	at = probe(t, s, n, hash); /* growth may have moved it */
	t->texts[t->count] = (struct text){.s = copy, .n = (uint32_t)n};
	*at = (struct slot){.hash = hash, .id1 = (uint32_t)++t->count};
	return at->id1 - 1;
}

int64_t wt_strings_find(const struct wt_strings *t, const char *s, size_t n)
{
	const struct slot *at = probe(t, s, n, (uint32_t)wt_hash_bytes(s, n, 0));

	return at->id1 ? (int64_t)at->id1 - 1 : -1;
}

const char *wt_strings_get(const struct wt_strings *t, uint32_t id)
{
	return id < t->count ? t->texts[id].s : "";
}

size_t wt_strings_length(const struct wt_strings *t, uint32_t id)
{
	return id < t->count ? t->texts[id].n : 0;
}

size_t wt_strings_count(const struct wt_strings *t)
{
	return t->count;
}

int wt_strings_failed(const struct wt_strings *t)
{
	return t->failed;
}
