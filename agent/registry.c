/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who (registry.h). One growing array of entries per kind, in pieces; id = index + 1. The pieces, and those of
 * the names, lie in the black box as long as that has room: what a killed job's rows name is found there.
 * Handles of one bucket form a chain;
 * each link is the newest entry of its handle, and behind it hang the entries that had this handle before. Drivers give
 * the same handle out again and again, so these can be a million: looking back in time jumps (Myers' list: each entry
 * knows one further back, and any is reached in logarithmic steps).
 *
 * Threads: hooks of any thread add and end; the writer finds. Finding and ending take no lock: entries are only ever
 * added, a link is published after its entry, `death` is one word set by compare-and-swap, and u is guarded by
 * a version that is odd while it changes. The spin lock serialises adding, replacing u, and new names.
 * The wait for it is bounded: a job's signal handler may interrupt the holder on its own thread and come here again;
 * it then gives up, and the object stays "not known" (counted).
 * Never: calls into the driver, memory of the job's heap, a wait without end.
 */
#include "agent/registry.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/arena.h"
#include "agent/piece.h"
#include "agent/redact.h"
#include "proto/wt_err.h"

#define ENTRY_WORDS (sizeof(struct wt_reg_entry) / sizeof(uint64_t))
#define BUCKETS	    (1u << 15)
#define NAME_SLOTS  (1u << 19)
#define NAME_PIECES 2048u /* 128 MiB */
#define NAME_MAX_   4095u
#define SPILL_BYTES (512u << 20) /* of address space, for pieces the box has no room for */
#define SPINS	    2000
#define NAPS	    400 /* of 50 us: 20 ms, longer than a scheduler takes the holder off a busy core */

_Static_assert(sizeof(struct wt_reg_entry) % sizeof(uint64_t) == 0, "copied word by word");

/* Room per kind. Reserved address space only: memory is used as entries come. */
static const uint32_t cap[WT_REG_KINDS] = {
	[WT_REG_CONTEXT] = 4096,    [WT_REG_STREAM] = 1u << 18, [WT_REG_FUNCTION] = 1u << 20,
	[WT_REG_MODULE] = 1u << 18, [WT_REG_GRAPH] = 1u << 20,	[WT_REG_EXEC] = 1u << 20,
	[WT_REG_COMM] = 1u << 16,
};

static struct {
	_Atomic int ready;
	atomic_flag lock;
	_Atomic uint64_t lost;
	_Atomic uint32_t version;
	uint8_t **piece[WT_REG_KINDS], **name_piece; /* NULL = none yet */
	struct wt_arena spill;
	_Atomic uint32_t count[WT_REG_KINDS];
	_Atomic uint32_t *heads; /* [kind][bucket] */
	struct wt_arena tables;
	_Atomic uint32_t *slots;	  /* offset of a name's text, 0 = empty */
	uint32_t names_taken, names_used; /* used: offset of the next */
} reg = {.lock = ATOMIC_FLAG_INIT};

/* By the raw call: nanosleep() of libc is a cancellation point, and the thread is the job's. */
static void nap(void)
{
	struct timespec t = {.tv_nsec = 50000};
	int saved = errno;

	syscall(SYS_nanosleep, &t, NULL);
	errno = saved;
}

static int lock(void)
{
	for (int i = 0; i < SPINS; i++) {
		if (!atomic_flag_test_and_set_explicit(&reg.lock, memory_order_acquire))
			return 1;
		__builtin_ia32_pause();
	}
	for (int i = 0; i < NAPS; i++) {
		if (!atomic_flag_test_and_set_explicit(&reg.lock, memory_order_acquire))
			return 1;
		nap();
	}
	return 0;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&reg.lock, memory_order_release);
}

static uint32_t lost(void)
{
	atomic_fetch_add_explicit(&reg.lost, 1, memory_order_relaxed);
	return 0;
}

static uint32_t bucket_of(uint64_t handle)
{
	return (uint32_t)((handle * 0x9E3779B97F4A7C15ull) >> 32) & (BUCKETS - 1);
}

static _Atomic uint32_t *head_of(enum wt_reg_kind kind, uint64_t handle)
{
	return &reg.heads[(size_t)kind * BUCKETS + bucket_of(handle)];
}

/* Valid for ids read from a chain, or not above count. */
static struct wt_reg_node *node_of(enum wt_reg_kind kind, uint32_t id)
{
	return wt_piece_node(reg.piece[kind][(id - 1) / WT_PIECE_NODES], id);
}

/* Under the lock: the piece of that number, in the black box or, without it, in memory of our own. */
static uint8_t *piece_for(uint8_t **slot, uint32_t what, uint32_t index)
{
	if (!slot[index])
		slot[index] = wt_box_piece(what, index);
	if (!slot[index])
		slot[index] = wt_arena_get(&reg.spill, WT_PIECE_BYTES);
	return slot[index];
}

#define WORD(field) (offsetof(struct wt_reg_entry, field) / sizeof(uint64_t))

static uint64_t word_of(struct wt_reg_node *n, size_t w)
{
	return atomic_load_explicit(&n->word[w], memory_order_acquire);
}

static int known(enum wt_reg_kind kind)
{
	return (unsigned)kind < WT_REG_KINDS &&
	       atomic_load_explicit(&reg.ready, memory_order_acquire);
}

static int open_tables(void)
{
	size_t heads = (size_t)WT_REG_KINDS * BUCKETS * sizeof(*reg.heads);
	size_t slots = NAME_SLOTS * sizeof(*reg.slots), pointers = NAME_PIECES;
	uint8_t **p;

	for (int k = 0; k < WT_REG_KINDS; k++)
		pointers += cap[k] / WT_PIECE_NODES + 1;
	if (wt_arena_open(&reg.tables, heads + slots + pointers * sizeof(*p) + 4096) != 0)
		return -WT_E_NOMEM;
	reg.heads = wt_arena_get(&reg.tables, heads);
	reg.slots = wt_arena_get(&reg.tables, slots);
	reg.name_piece = p = wt_arena_get(&reg.tables, pointers * sizeof(*p));
	if (!reg.heads || !reg.slots || !p)
		return -WT_E_NOMEM;
	p += NAME_PIECES;
	for (int k = 0; k < WT_REG_KINDS; k++) {
		reg.piece[k] = p;
		p += cap[k] / WT_PIECE_NODES + 1;
	}
	reg.names_used = sizeof(struct wt_piece);
	return wt_arena_open(&reg.spill, SPILL_BYTES);
}

int wt_reg_init(void)
{
	int r;

	if (atomic_load(&reg.ready))
		return 0;
	r = open_tables();
	if (r == 0) {
		atomic_store_explicit(&reg.ready, 1, memory_order_release);
		return 0;
	}
	wt_arena_close(&reg.tables);
	wt_arena_close(&reg.spill);
	return r;
}

/* Copies an entry that may be changing; 0 when it would not hold still. */
static int snapshot(struct wt_reg_node *n, struct wt_reg_entry *ret)
{
	uint64_t w[ENTRY_WORDS];

	for (int i = 0; i < SPINS + NAPS; i++) {
		uint32_t v = atomic_load_explicit(&n->version, memory_order_acquire);

		for (size_t k = 0; k < ENTRY_WORDS; k++)
			w[k] = word_of(n, k);
		if (!(v & 1) && atomic_load_explicit(&n->version, memory_order_acquire) == v) {
			memcpy(ret, w, sizeof(w));
			return 1;
		}
		if (i >= SPINS)
			nap();
	}
	return 0;
}

/* The link of the chain where this handle stands, or would: it holds its newest entry, or 0. */
static _Atomic uint32_t *link_of(enum wt_reg_kind kind, uint64_t handle)
{
	_Atomic uint32_t *link = head_of(kind, handle);
	uint32_t id;

	while ((id = atomic_load_explicit(link, memory_order_acquire))) {
		struct wt_reg_node *n = node_of(kind, id);

		if (word_of(n, WORD(handle)) == handle)
			break;
		link = &n->chain;
	}
	return link;
}

/* The entry of this handle that lived at tsc. Adding ends the predecessor, so only the newest can be alive. */
static struct wt_reg_node *find(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc)
{
	uint32_t id = atomic_load_explicit(link_of(kind, handle), memory_order_acquire);

	if (id && tsc == UINT64_MAX)
		return word_of(node_of(kind, id), WORD(death_tsc)) == UINT64_MAX ? node_of(kind, id)
										 : NULL;
	while (id) {
		struct wt_reg_node *n = node_of(kind, id);

		if (word_of(n, WORD(birth_tsc)) <= tsc)
			return tsc <= word_of(n, WORD(death_tsc)) ? n : NULL;
		id = word_of(node_of(kind, n->jump), WORD(birth_tsc)) > tsc && n->jump != id
			     ? n->jump
			     : n->older;
	}
	return NULL;
}

/* After what it tells of: whoever sees a row that was made later sees this too. */
static void changed(void)
{
	atomic_fetch_add_explicit(&reg.version, 1, memory_order_release);
}

uint32_t wt_reg_version(void)
{
	return atomic_load_explicit(&reg.version, memory_order_acquire);
}

static void end_node(struct wt_reg_node *n, uint64_t tsc)
{
	uint64_t alive = UINT64_MAX;

	if (word_of(n, WORD(birth_tsc)) > tsc)
		return; /* born after the end we were told of: the driver's next object at this address */
	atomic_compare_exchange_strong_explicit(&n->word[WORD(death_tsc)], &alive, tsc,
						memory_order_acq_rel, memory_order_acquire);
	changed();
}

/* n, about to become the newest entry of a handle, learns who had it before. */
static void set_older(enum wt_reg_kind kind, struct wt_reg_node *n, uint32_t id, uint32_t old_id)
{
	struct wt_reg_node *old = old_id ? node_of(kind, old_id) : NULL;
	struct wt_reg_node *far = old ? node_of(kind, old->jump) : NULL;

	n->older = old_id;
	n->lives = old ? old->lives + 1 : 0;
	if (!old)
		n->jump = id;
	else if (old->lives - far->lives == far->lives - node_of(kind, far->jump)->lives)
		n->jump = far->jump;
	else
		n->jump = old_id;
}

/* Under the lock. */
static uint32_t add_locked(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc,
			   const struct wt_reg_entry *init)
{
	uint32_t id = atomic_load_explicit(&reg.count[kind], memory_order_relaxed) + 1;
	struct wt_reg_entry e = {
		.id = id, .handle = handle, .birth_tsc = tsc, .death_tsc = UINT64_MAX};
	_Atomic uint32_t *link = link_of(kind, handle);
	uint32_t old = atomic_load_explicit(link, memory_order_relaxed);
	struct wt_reg_node *n;
	uint64_t w[ENTRY_WORDS];

	if (old)
		end_node(node_of(kind, old), tsc);
	if (id > cap[kind] || !piece_for(reg.piece[kind], kind, (id - 1) / WT_PIECE_NODES))
		return 0;
	if (init) {
		e.context = init->context;
		e.u = init->u;
	}
	memcpy(w, &e, sizeof(w));
	n = node_of(kind, id);
	for (size_t k = 0; k < ENTRY_WORDS; k++)
		atomic_store_explicit(&n->word[k], w[k], memory_order_relaxed);
	if (kind == WT_REG_FUNCTION && e.u.function.module &&
	    e.u.function.module <=
		    atomic_load_explicit(&reg.count[WT_REG_MODULE], memory_order_relaxed)) {
		struct wt_reg_node *m = node_of(WT_REG_MODULE, e.u.function.module);

		n->sibling = atomic_load_explicit(&m->first, memory_order_relaxed);
		atomic_store_explicit(&m->first, id, memory_order_release);
	}
	set_older(kind, n, id, old);
	atomic_store_explicit(
		&n->chain,
		old ? atomic_load_explicit(&node_of(kind, old)->chain, memory_order_relaxed) : 0,
		memory_order_relaxed);
	atomic_store_explicit(&reg.count[kind], id, memory_order_release);
	atomic_store_explicit(link, id, memory_order_release);
	changed();
	return id;
}

uint32_t wt_reg_add(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc,
		    const struct wt_reg_entry *init)
{
	uint32_t id;

	if (!known(kind))
		return 0;
	if (!lock())
		return lost();
	id = add_locked(kind, handle, tsc, init);
	unlock();
	return id ? id : lost();
}

void wt_reg_end(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc)
{
	struct wt_reg_node *n;

	if (!known(kind))
		return;
	n = find(kind, handle, UINT64_MAX);
	if (n)
		end_node(n, tsc);
}

void wt_reg_end_context(uint32_t context, uint64_t tsc)
{
	static const enum wt_reg_kind kinds[] = {WT_REG_STREAM, WT_REG_FUNCTION, WT_REG_MODULE,
						 WT_REG_GRAPH, WT_REG_EXEC};

	if (!known(WT_REG_CONTEXT) || !context || context > wt_reg_count(WT_REG_CONTEXT))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint32_t n = wt_reg_count(kinds[i]);

		for (uint32_t id = 1; id <= n; id++) {
			struct wt_reg_node *e = node_of(kinds[i], id);
			uint64_t first = word_of(e, WORD(id)); /* id and context share a word */

			if ((uint32_t)(first >> 32) == context)
				end_node(e, tsc);
		}
	}
	end_node(node_of(WT_REG_CONTEXT, context), tsc);
}
_Static_assert(offsetof(struct wt_reg_entry, id) == 0 &&
		       offsetof(struct wt_reg_entry, context) == 4 &&
		       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "wt_reg_end_context reads the context out of the first word");

void wt_reg_end_module(uint32_t module, uint64_t tsc)
{
	struct wt_reg_node *m;

	if (!known(WT_REG_MODULE) || !module || module > wt_reg_count(WT_REG_MODULE))
		return;
	m = node_of(WT_REG_MODULE, module);
	for (uint32_t id = atomic_load_explicit(&m->first, memory_order_acquire); id;) {
		struct wt_reg_node *f = node_of(WT_REG_FUNCTION, id);

		end_node(f, tsc);
		id = f->sibling;
	}
	end_node(m, tsc);
}

int wt_reg_find(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc, struct wt_reg_entry *ret)
{
	struct wt_reg_node *n = known(kind) ? find(kind, handle, tsc) : NULL;

	return n ? snapshot(n, ret) : 0;
}

int wt_reg_by_id(enum wt_reg_kind kind, uint32_t id, struct wt_reg_entry *ret)
{
	if (!known(kind) || !id || id > wt_reg_count(kind))
		return 0;
	return snapshot(node_of(kind, id), ret);
}

void wt_reg_update(enum wt_reg_kind kind, uint32_t id, const struct wt_reg_entry *set)
{
	uint64_t w[ENTRY_WORDS];
	struct wt_reg_node *n;

	if (!known(kind) || !id || id > wt_reg_count(kind))
		return;
	n = node_of(kind, id);
	memcpy(w, set, sizeof(w));
	if (!lock()) {
		lost();
		return;
	}
	atomic_fetch_add_explicit(&n->version, 1, memory_order_acq_rel);
	for (size_t k = WORD(u); k < ENTRY_WORDS; k++) {
		/* A communicator's own counter belongs to the threads that enqueue: never put back. */
		if (kind == WT_REG_COMM && k == WORD(u.comm.seq))
			continue;
		atomic_store_explicit(&n->word[k], w[k], memory_order_release);
	}
	atomic_fetch_add_explicit(&n->version, 1, memory_order_release);
	unlock();
}

uint32_t wt_reg_count(enum wt_reg_kind kind)
{
	return known(kind) ? atomic_load_explicit(&reg.count[kind], memory_order_acquire) : 0;
}

uint64_t wt_reg_comm_next(uint64_t handle, uint32_t *ret_id)
{
	struct wt_reg_node *n = known(WT_REG_COMM) ? find(WT_REG_COMM, handle, UINT64_MAX) : NULL;

	if (!n)
		return 0;
	if (ret_id)
		*ret_id = (uint32_t)word_of(n, WORD(id));
	return atomic_fetch_add_explicit(&n->word[WORD(u.comm.seq)], 1, memory_order_relaxed) + 1;
}

uint64_t wt_reg_lost(void)
{
	return atomic_load_explicit(&reg.lost, memory_order_relaxed);
}

/* ---- names ---- */

static struct wt_reg_text *name_at(uint32_t offset)
{
	return wt_piece_text(reg.name_piece[offset / WT_PIECE_BYTES], offset);
}

/* Offset of a name that is there; *ret_slot: where it would go. A full table answers with slot NAME_SLOTS. */
static uint32_t name_find(const char *s, uint32_t len, uint32_t hash, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < NAME_SLOTS; i++) {
		uint32_t slot = (hash + i) & (NAME_SLOTS - 1);
		uint32_t at = atomic_load_explicit(&reg.slots[slot], memory_order_acquire);
		struct wt_reg_text *n;

		*ret_slot = slot;
		if (!at)
			return 0;
		n = name_at(at);
		if (n->hash == hash && n->len == len && memcmp(n->text, s, len) == 0)
			return at;
	}
	*ret_slot = NAME_SLOTS;
	return 0;
}

static uint32_t name_add(const char *s, uint32_t len, uint32_t hash)
{
	size_t bytes = (sizeof(struct wt_reg_text) + len + 1 + 7) & ~(size_t)7;
	uint32_t slot, at = name_find(s, len, hash, &slot), to = reg.names_used;
	struct wt_reg_text *n;
	uint8_t *piece;

	if (at)
		return at;
	if (to % WT_PIECE_BYTES + bytes > WT_PIECE_BYTES)
		to = (to / WT_PIECE_BYTES + 1) * WT_PIECE_BYTES + (uint32_t)sizeof(struct wt_piece);
	/* Three quarters full is full: probes stay short. */
	if (slot == NAME_SLOTS || reg.names_taken >= NAME_SLOTS / 4 * 3 ||
	    to / WT_PIECE_BYTES >= NAME_PIECES)
		return 0;
	piece = piece_for(reg.name_piece, WT_PIECE_NAMES, to / WT_PIECE_BYTES);
	if (!piece)
		return 0;
	n = (struct wt_reg_text *)(piece + to % WT_PIECE_BYTES);
	n->hash = hash;
	memcpy(n->text, s, len);
	n->text[len] = '\0';
	n->len = len; /* after the text: a killed job's half name is none */
	at = to + (uint32_t)offsetof(struct wt_reg_text, text);
	reg.names_used = to + (uint32_t)bytes;
	reg.names_taken++;
	atomic_store_explicit(&reg.slots[slot], at, memory_order_release);
	return at;
}

uint32_t wt_reg_intern(const char *s)
{
	char buf[WT_REDACTED_BYTES];

	return wt_reg_intern_as_is(wt_redacted(s, buf));
}

uint32_t wt_reg_intern_as_is(const char *s)
{
	uint32_t hash = 2166136261u, slot, at, len;

	if (!known(WT_REG_CONTEXT) || !s || !*s)
		return 0;
	for (len = 0; len < NAME_MAX_ && s[len]; len++)
		hash = (hash ^ (uint8_t)s[len]) * 16777619u;
	hash ^= hash >> 15;
	at = name_find(s, len, hash, &slot);
	if (at)
		return at;
	if (!lock())
		return lost();
	at = name_add(s, len, hash);
	unlock();
	return at ? at : lost();
}

const char *wt_reg_name(uint32_t offset)
{
	if (!offset || !known(WT_REG_CONTEXT))
		return "";
	return name_at(offset)->text;
}

void wt_reg_said(enum wt_reg_kind kind, uint32_t id, uint32_t file_id)
{
	if (known(kind) && id && id <= wt_reg_count(kind))
		node_of(kind, id)->said = file_id;
}

void wt_reg_release(void)
{
	if (!atomic_exchange(&reg.ready, 0))
		return;
	wt_arena_close(&reg.tables);
	wt_arena_close(&reg.spill);
	for (int k = 0; k < WT_REG_KINDS; k++)
		atomic_store(&reg.count[k], 0);
	reg.names_taken = 0;
}
