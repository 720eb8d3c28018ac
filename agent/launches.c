// SPDX-License-Identifier: Apache-2.0
/*
 * Lengths of launches with and without collection; see launches.h. The writer looks at each row once; the tables are
 * small and fixed: kernels beyond them are not compared, their launches get the average of those that are.
 *
 * Medians and not means: a launch that waits for a full queue, or whose thread lost its core, says nothing about CUPTI.
 */
#include "agent/launches.h"

#include <stdatomic.h>

#include "agent/agent.h"
#include "trace.pb-c.h"

#define LAUNCH WARPTAP__V1__COUNT_KIND__COUNT_KIND_LAUNCH

#define KEYS	256 /* a power of two */
#define PROBES	4
#define SAMPLES 31 /* the newest; of a median */
#define LEAST	9
#define EDGES	16

struct side {
	uint32_t n; /* ever */
	uint32_t len[SAMPLES];
};
struct key {
	uint64_t hash;
	struct side side[2]; /* off, on */
	uint64_t fresh;	     /* launches with collection on since the last sum */
};

static struct {
	struct key key[KEYS];
	uint64_t fresh; /* all of them */
	/* When collection was switched, and what it was from then on. Written behind a lock, read by the writer. */
	_Atomic uint64_t edge_tsc[EDGES];
	_Atomic uint32_t edge_is[EDGES];
	_Atomic uint32_t edges;
	uint64_t stall_of; /* arming the stall belongs to */
	_Atomic uint64_t hz, ns, stall_ticks;
	_Atomic int known;
} l;

void wt_launches_edge(enum wt_edge edge, uint64_t tsc)
{
	uint32_t n = atomic_load_explicit(&l.edges, memory_order_relaxed);

	if (edge == WT_EDGE_ARMING)
		atomic_store(&l.stall_ticks, 0);
	atomic_store_explicit(&l.edge_tsc[n % EDGES], tsc, memory_order_relaxed);
	atomic_store_explicit(&l.edge_is[n % EDGES], (uint32_t)edge, memory_order_relaxed);
	atomic_store_explicit(&l.edges, n + 1, memory_order_release);
}

/* What collection was for the whole of [start, end); -1 = it changed, or too long ago. */
static int state_of(uint64_t start, uint64_t end, int *ret_arming)
{
	uint32_t n = atomic_load_explicit(&l.edges, memory_order_acquire);
	uint64_t until = UINT64_MAX;

	*ret_arming = 0;
	for (uint32_t i = n; i > 0 && n - i < EDGES - 1; i--) {
		uint64_t tsc =
			atomic_load_explicit(&l.edge_tsc[(i - 1) % EDGES], memory_order_relaxed);
		uint32_t is =
			atomic_load_explicit(&l.edge_is[(i - 1) % EDGES], memory_order_relaxed);

		if (is == WT_EDGE_ARMING && start < until && end > tsc)
			*ret_arming = 1;
		if (start >= tsc)
			return end <= until && is != WT_EDGE_ARMING ? (int)(is == WT_EDGE_ON) : -1;
		until = tsc;
	}
	return n ? -1 : 0;
}

static struct key *find(uint64_t hash)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct key *k = &l.key[(hash + i) % KEYS];

		if (!k->hash)
			k->hash = hash;
		if (k->hash == hash)
			return k;
	}
	return NULL;
}

static uint32_t median(const struct side *s)
{
	uint32_t n = s->n < SAMPLES ? s->n : SAMPLES, copy[SAMPLES];

	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++) { /* by insertion: a few words, and qsort() may allocate */
		uint32_t at = i;

		for (; at && copy[at - 1] > s->len[i]; at--)
			copy[at] = copy[at - 1];
		copy[at] = s->len[i];
	}
	return copy[n / 2];
}

static uint64_t hash_of(const struct wt_rec *r)
{
	uint64_t h = r->object * 0x9e3779b97f4a7c15ull;

	h ^= (h >> 29) ^ ((uint64_t)r->op << 48) ^
	     ((uint64_t)r->u.launch.gx << 16 | r->u.launch.bx);
	h *= 0xbf58476d1ce4e5b9ull;
	h ^= h >> 32;
	return h ? h : 1;
}

static void see(const struct wt_rec *r)
{
	uint64_t len = r->flags & WT_REC_LONG ? (uint64_t)r->dur << 10 : r->dur;
	int arming, on = state_of(r->start_tsc, r->start_tsc + len, &arming);
	struct key *k = find(hash_of(r));

	if (arming) {
		uint64_t usual = k ? median(&k->side[k->side[0].n < LEAST]) : 0;

		/* Of a kernel never seen before nothing is usual. */
		if (usual && len > usual && len - usual > atomic_load(&l.stall_ticks))
			atomic_store(&l.stall_ticks, len - usual);
	}
	if (on < 0)
		return;
	l.fresh += (uint64_t)on;
	if (!k)
		return;
	k->fresh += (uint64_t)on;
	k->side[on].len[k->side[on].n++ % SAMPLES] = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

void wt_launches_rows(const struct wt_chunk *c, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct wt_rec *r = &c->rec[i];

		if (wt_hook_kind(r->op) == LAUNCH && !r->status && !(r->flags & WT_REC_CAPTURED))
			see(r);
	}
}

void wt_launches_sum(uint64_t tsc_hz)
{
	int64_t longer = 0;
	uint64_t n = 0;

	atomic_store_explicit(&l.hz, tsc_hz, memory_order_relaxed);
	for (uint32_t i = 0; i < KEYS; i++) {
		struct key *k = &l.key[i];

		if (k->fresh && k->side[0].n >= LEAST && k->side[1].n >= LEAST) {
			longer += ((int64_t)median(&k->side[1]) - (int64_t)median(&k->side[0])) *
				  (int64_t)k->fresh;
			n += k->fresh;
		}
		k->fresh = 0;
	}
	if (n) {
		atomic_store(&l.known, 1);
		if (longer > 0 && tsc_hz)
			atomic_fetch_add(&l.ns, (uint64_t)((unsigned __int128)longer * l.fresh / n *
							   1000000000u / tsc_hz));
	}
	l.fresh = 0;
}

uint64_t wt_launches_ns(void)
{
	return atomic_load(&l.ns);
}

int wt_launches_known(void)
{
	return atomic_load(&l.known);
}

uint64_t wt_launches_stall_ns(void)
{
	uint64_t hz = atomic_load_explicit(&l.hz, memory_order_relaxed);

	return hz ? (uint64_t)((unsigned __int128)atomic_load(&l.stall_ticks) * 1000000000u / hz)
		  : 0;
}
