/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See slices.h. Up to RAW slices are kept as they are: reading packed ones is a tenth of all that a report of a small
 * trace takes. Where there are more, all are packed in blocks; the last block is open and not packed. A packed slice is
 *
 *   kind      1 byte    number of (leaf, grade, mask, why, crowded) among those seen so far; the last number: 3 bytes
 *                       follow and say it
 *   how       1 byte    bits: it does not begin where the one before ends; its operation; its call
 *   numbers   varints   the hole before it, its length, operation and call less those before, as far as `how` wants
 *
 * A block depends on no other. Two unpacked blocks are kept, one for even and one for odd numbers, so that a reader may
 * look ahead and behind. Not safe on two threads, reading included.
 */
#include "ledger/slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/rows.h"
#include "proto/wt_err.h"

#define RAW	   65536 /* 2 MiB a device, for as long as there are no more */
#define BLOCK	   256
#define KINDS	   255 /* the number that says: it follows */
#define KIND_SLOTS 1024
#define MOST_BYTES 40 /* of a packed slice */
#define NO_BLOCK   SIZE_MAX

enum {
	HOLE = 1,
	OP_NEXT = 2,
	OP_OTHER = 4,
	CALL_SAME = 8,
	CALL_OTHER = 16
}; /* OP: else the same; CALL: else none */

struct wt_slices_pack {
	struct wt_slice *raw; /* NULL from the time they are packed */
	size_t nraw, raw_room;
	int packed;
	struct wt_slice open[BLOCK];
	size_t nopen;
	struct {
		int64_t end_ns; /* of its last slice */
		size_t at;
	} * blocks;
	size_t nblocks, blocks_room;
	uint8_t *bytes;
	size_t nbytes, bytes_room;
	uint32_t kinds[KINDS], nkinds;
	uint16_t slots[KIND_SLOTS]; /* of kinds by hash, number + 1 */
	struct wt_slice unpacked[2][BLOCK];
	size_t unpacked_block[2];
};

static uint32_t kind_of(const struct wt_slice *s)
{
	return s->leaf | (uint32_t)s->grade << 8 | (uint32_t)s->mask << 10 |
	       (uint32_t)s->why << 16 | (uint32_t)s->crowded << 20;
}

static void set_kind(struct wt_slice *s, uint32_t kind)
{
	s->leaf = kind & 255;
	s->grade = kind >> 8 & 3;
	s->mask = kind >> 10 & 63;
	s->why = kind >> 16 & 15;
	s->crowded = kind >> 20 & 1;
}

static uint32_t kind_number(struct wt_slices_pack *p, uint32_t kind)
{
	uint32_t at = kind * 2654435761u >> 22;

	while (p->slots[at] && p->kinds[p->slots[at] - 1] != kind)
		at = (at + 1) % KIND_SLOTS;
	if (p->slots[at])
		return p->slots[at] - 1u;
	if (p->nkinds == KINDS)
		return KINDS;
	p->kinds[p->nkinds++] = kind;
	p->slots[at] = (uint16_t)p->nkinds;
	return p->nkinds - 1;
}

static uint8_t *put(uint8_t *to, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*to++ = (uint8_t)(v | 128);
	*to++ = (uint8_t)v;
	return to;
}

static const uint8_t *get(const uint8_t *from, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do
		v |= (uint64_t)(*from & 127) << shift;
	while (shift += 7, *from++ & 128);
	*ret = v;
	return from;
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

/* What a slice is told by: the one before it. */
struct before {
	int64_t end_ns;
	uint32_t op;
	int32_t call;
};

static uint8_t *pack_one(struct wt_slices_pack *p, struct before *b, const struct wt_slice *s,
			 uint8_t *to)
{
	uint32_t kind = kind_of(s), number = kind_number(p, kind);
	uint8_t how = 0;

	how |= s->start_ns != b->end_ns ? HOLE : 0;
	how |= s->op == b->op + 1 ? OP_NEXT : s->op != b->op ? OP_OTHER : 0;
	how |= s->call < 0 ? 0 : s->call == b->call ? CALL_SAME : CALL_OTHER;
	*to++ = (uint8_t)number;
	*to++ = how;
	if (number == KINDS)
		for (int i = 0; i < 3; i++)
			*to++ = (uint8_t)(kind >> 8 * i);
	if (how & HOLE)
		to = put(to, zigzag(s->start_ns - b->end_ns));
	to = put(to, (uint64_t)(s->end_ns - s->start_ns));
	if (how & OP_OTHER)
		to = put(to, zigzag((int32_t)(s->op - b->op)));
	if (how & CALL_OTHER)
		to = put(to, zigzag((int64_t)s->call - b->call));
	b->end_ns = s->end_ns;
	b->op = s->op;
	b->call = s->call < 0 ? b->call : s->call;
	return to;
}

static const uint8_t *unpack_one(const struct wt_slices_pack *p, struct before *b,
				 const uint8_t *from, struct wt_slice *ret)
{
	uint32_t number = from[0];
	uint8_t how = from[1];
	uint64_t v;

	from += 2;
	if (number == KINDS) {
		set_kind(ret, from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16);
		from += 3;
	} else {
		set_kind(ret, p->kinds[number]);
	}
	ret->start_ns = b->end_ns;
	if (how & HOLE) {
		from = get(from, &v);
		ret->start_ns += unzigzag(v);
	}
	from = get(from, &v);
	ret->end_ns = ret->start_ns + (int64_t)v;
	ret->op = b->op + (how & OP_NEXT ? 1 : 0);
	if (how & OP_OTHER) {
		from = get(from, &v);
		ret->op = b->op + (uint32_t)unzigzag(v);
	}
	if (how & CALL_OTHER) {
		from = get(from, &v);
		b->call = (int32_t)(b->call + unzigzag(v));
	}
	ret->call = how & (CALL_SAME | CALL_OTHER) ? b->call : -1;
	b->end_ns = ret->end_ns;
	b->op = ret->op;
	return from;
}

static int grow(void **rows, size_t *room, size_t need, size_t size)
{
	size_t more = *room + *room / 2 > need ? *room + *room / 2 : need + 64;
	void *p;

	if (need <= *room)
		return 0;
	p = realloc(*rows, more * size);
	if (!p)
		return -WT_E_NOMEM;
	*rows = p;
	*room = more;
	return 0;
}

/* Packs the open block, which is full. */
static int close_block(struct wt_slices_pack *p)
{
	struct before b = {0, 0, 0};
	uint8_t *to;

	if (grow((void **)&p->bytes, &p->bytes_room, p->nbytes + BLOCK * MOST_BYTES, 1) ||
	    grow((void **)&p->blocks, &p->blocks_room, p->nblocks + 1, sizeof(*p->blocks)))
		return -WT_E_NOMEM;
	p->blocks[p->nblocks].end_ns = p->open[BLOCK - 1].end_ns;
	p->blocks[p->nblocks++].at = p->nbytes;
	to = p->bytes + p->nbytes;
	for (int i = 0; i < BLOCK; i++)
		to = pack_one(p, &b, &p->open[i], to);
	p->nbytes = (size_t)(to - p->bytes);
	p->nopen = 0;
	return 0;
}

static int equal(const struct wt_slice *a, const struct wt_slice *b)
{
	return a->op == b->op && a->call == b->call && kind_of(a) == kind_of(b);
}

static int add_packed(struct wt_slices_pack *p, const struct wt_slice *slice)
{
	if (p->nopen == BLOCK && close_block(p))
		return -WT_E_NOMEM;
	p->open[p->nopen++] = *slice;
	return 0;
}

/* There are too many to keep them as they are. */
static int pack_all(struct wt_slices_pack *p)
{
	for (size_t i = 0; i < p->nraw; i++)
		if (add_packed(p, &p->raw[i]))
			return -WT_E_NOMEM;
	free(p->raw);
	p->raw = NULL;
	p->packed = 1;
	return 0;
}

static int add_raw(struct wt_slices_pack *p, const struct wt_slice *slice)
{
	if (p->nraw == p->raw_room) {
		size_t bytes;
		struct wt_slice *raw = wt_rows_grow(p->raw, p->raw_room * sizeof(*raw),
						    (p->raw_room + 64) * sizeof(*raw), &bytes);

		if (!raw)
			return -WT_E_NOMEM;
		p->raw = raw;
		p->raw_room = bytes / sizeof(*raw);
	}
	p->raw[p->nraw++] = *slice;
	return p->nraw == RAW ? pack_all(p) : 0;
}

static struct wt_slices_pack *new_pack(void)
{
	struct wt_slices_pack *p = calloc(1, sizeof(*p));

	if (p)
		p->unpacked_block[0] = p->unpacked_block[1] = NO_BLOCK;
	return p;
}

static struct wt_slice *last_of(struct wt_slices_pack *p)
{
	if (p->packed)
		return &p->open[p->nopen - 1];
	return p->nraw ? &p->raw[p->nraw - 1] : NULL;
}

int wt_slices_add(struct wt_slices *s, const struct wt_slice *slice)
{
	struct wt_slices_pack *p = s->pack ? s->pack : (s->pack = new_pack());
	struct wt_slice *last = p ? last_of(p) : NULL;

	if (slice->start_ns >= slice->end_ns)
		return 0;
	if (last && last->end_ns == slice->start_ns && equal(last, slice)) {
		last->end_ns = slice->end_ns;
		return 0;
	}
	if (!p || (p->packed ? add_packed(p, slice) : add_raw(p, slice))) {
		s->failed = 1;
		return -WT_E_NOMEM;
	}
	s->n++;
	return 0;
}

/* Not inlined: what is not packed, and asked for more often, needs none of it. */
static __attribute__((noinline)) const struct wt_slice *block_at(struct wt_slices_pack *p,
								 size_t block)
{
	struct wt_slice *rows = p->unpacked[block % 2];
	const uint8_t *from;
	struct before b = {0, 0, 0};

	if (block == p->nblocks)
		return p->open;
	if (p->unpacked_block[block % 2] != block) {
		from = p->bytes + p->blocks[block].at;
		for (int i = 0; i < BLOCK; i++)
			from = unpack_one(p, &b, from, &rows[i]);
		p->unpacked_block[block % 2] = block;
	}
	return rows;
}

const struct wt_slice *wt_slices_at(const struct wt_slices *s, size_t i)
{
	struct wt_slices_pack *p = s->pack;

	return p->packed ? &block_at(p, i / BLOCK)[i % BLOCK] : &p->raw[i];
}

const struct wt_slice *wt_slices_until(const struct wt_slices *s, size_t i, int64_t end_ns)
{
	const struct wt_slice *at = i < s->n ? wt_slices_at(s, i) : NULL;

	return at && at->start_ns < end_ns ? at : NULL;
}

/* The first of the slices in [lo, hi) that ends after t; hi if there is none. */
static size_t find_among(const struct wt_slices *s, size_t lo, size_t hi, int64_t t_ns)
{
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (wt_slices_at(s, mid)->end_ns <= t_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t wt_slices_find(const struct wt_slices *s, int64_t t_ns)
{
	struct wt_slices_pack *p = s->pack;
	size_t lo = 0, hi = p ? p->nblocks : 0;

	if (!p || !p->packed)
		return find_among(s, 0, s->n, t_ns);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->blocks[mid].end_ns <= t_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	lo *= BLOCK;
	return find_among(s, lo, lo + BLOCK < s->n ? lo + BLOCK : s->n, t_ns);
}

void wt_slices_release(struct wt_slices *s)
{
	if (s->pack) {
		free(s->pack->raw);
		free(s->pack->blocks);
		free(s->pack->bytes);
		free(s->pack);
	}
	*s = (struct wt_slices){.n = 0};
}
