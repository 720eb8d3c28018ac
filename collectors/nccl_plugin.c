// SPDX-License-Identifier: Apache-2.0
/*
 * NCCL's profiler plugin: what hooks cannot see of a collective, that is NCCL's plan for it (algorithm, protocol,
 * channels) and how its proxy threads and channels spent the time. Off by default (WARPTAP_NCCL_PROFILER; it costs NCCL
 * itself time). Called by the job's threads inside NCCL calls (plans) and by NCCL's own threads (proxies, kernels);
 * takes no lock, allocates nothing, never fails NCCL.
 *
 * A plan's row is written at once, inside the NCCL call it belongs to, so the reader knows the collective by the
 * enclosing call, and no state is kept for it: the handle that NCCL holds is the plan's number. NCCL may pass it on to
 * another process (PXN), where it is a number too and cannot be mistaken for an address. Events with a duration live
 * in a fixed pool; a handle names place and generation.
 */
#define _GNU_SOURCE
#include "collectors/nccl_plugin.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/hot.h"
#include "trace.pb-c.h"

#define SLOTS	  2048u
#define TRIES	  64u /* slots looked at before an event is given up */
#define TAG_PLAN  1u
#define TAG_SLOT  2u
#define TAG_BITS  3u
#define WAIT_UNIT 6 /* waits are kept in units of 2^6 ticks */

enum wait { WAIT_GPU, WAIT_PEER, WAIT_NET, WAIT_FLUSH, WAITS };
enum what { OP, STEP, KERNEL };

struct slot {
	_Atomic uint32_t generation; /* odd: in use */
	uint8_t what, channel, is_send, state;
	int peer;
	uint32_t steps;
	void *op; /* of a step: its operation's handle */
	uint64_t plan, start_tsc, since_tsc;
	uint64_t timer[2];
	_Atomic uint64_t bytes, wait[WAITS];
};

/* A descriptor of any version, as far as we read it. */
struct event {
	uint64_t type, seq, count, timer;
	void *parent;
	const char *func, *algo, *proto;
	int peer, pid, steps;
	uint8_t channels, warps, channel, is_send;
};

static struct slot slots[SLOTS];
static _Atomic uint32_t next_slot;
static _Atomic uint64_t plans, lost;
static char the_context;

static void put(uint32_t what, uint64_t start_tsc, uint64_t end_tsc, uint64_t stream,
		uint64_t object, const uint64_t raw[3])
{
	struct wt_tls *t = &wt_tls;
	uint64_t dur = end_tsc - start_tsc;
	struct wt_rec *rec;

	if (wt_level() < WT_LEVEL_API || wt_inside(t))
		return;
	rec = wt_enter_slow(t, WT_ID_NCCL_EVENT);
	rec->flags &= WT_REC_IN_NCCL | WT_REC_PARENT_AHEAD;
	rec->context = 0;
	rec->status = (int16_t)what;
	rec->start_tsc = start_tsc;
	if (dur >> 32) {
		rec->flags |= WT_REC_LONG;
		dur >>= 10;
	}
	rec->dur = dur >> 32 ? UINT32_MAX : (uint32_t)dur;
	rec->stream = stream;
	rec->object = object;
	memcpy(rec->u.raw, raw, sizeof(rec->u.raw));
	wt_put_row(t, rec);
}

/* The place of a name in a list that ends with NULL: NCCL's number of it, in v1. `other` if it is not there. */
static uint64_t number(const char *const *names, const char *name, uint64_t other)
{
	for (uint64_t i = 0; names[i] && name; i++)
		if (!strcmp(names[i], name))
			return i;
	return other;
}

static const char *const algorithms[] = {
	"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", NULL};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE", NULL};
/* As v1 numbers them. */
static const char *const functions[] = {"Broadcast",	 "Reduce",    "AllGather",
					"ReduceScatter", "AllReduce", "SendRecv",
					"Send",		 "Recv",      NULL};
static const uint8_t operations[] = {
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_BROADCAST,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_REDUCE,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_ALL_GATHER,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_REDUCE_SCATTER,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_ALL_REDUCE,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_NONE,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_SEND,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_RECV,
	WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_NONE,
};
#define NAMES(list_) (sizeof(list_) / sizeof((list_)[0]) - 1)

/* In the file 0 is "not said", the last value "another name than those we know". */
static uint64_t said(const char *const *names, size_t n, const char *name)
{
	return name && *name ? number(names, name, n) + 1 : 0;
}

static void *start_plan(const struct event *e)
{
	uint64_t plan = atomic_fetch_add_explicit(&plans, 1, memory_order_relaxed) + 1;
	uint64_t op = operations[number(functions, e->func, NAMES(functions))];
	uint64_t now = wt_tsc();
	uint64_t raw[3] = {e->seq,
			   op | said(algorithms, NAMES(algorithms), e->algo) << 8 |
				   said(protocols, NAMES(protocols), e->proto) << 16 |
				   (uint64_t)e->channels << 24 | (uint64_t)e->warps << 32,
			   e->type == WT_PROF_P2P ? (uint64_t)e->peer + 1 : 0};

	put(WT_NCCL_PLAN, now, now, plan, e->count, raw);
	return (void *)(uintptr_t)(plan << TAG_BITS | TAG_PLAN);
}

static struct slot *slot_of(void *handle)
{
	uint64_t h = (uintptr_t)handle;
	struct slot *s = &slots[h >> TAG_BITS & (SLOTS - 1)];

	if ((h & ((1u << TAG_BITS) - 1)) != TAG_SLOT)
		return NULL;
	return atomic_load_explicit(&s->generation, memory_order_acquire) == (uint32_t)(h >> 32)
		       ? s
		       : NULL;
}

static void *start_slot(enum what what, const struct event *e)
{
	struct slot *s = NULL;
	uint32_t i = 0, generation = 0;

	for (uint32_t n = 0; n < TRIES && !s; n++) {
		i = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed) % SLOTS;
		generation = atomic_load_explicit(&slots[i].generation, memory_order_relaxed);
		if (!(generation & 1) && atomic_compare_exchange_strong(
						 &slots[i].generation, &generation, generation + 1))
			s = &slots[i];
	}
	if (!s) {
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
		return NULL;
	}
	s->what = (uint8_t)what;
	s->channel = e->channel;
	s->is_send = e->is_send;
	s->state = 0;
	s->peer = e->peer;
	s->steps = (uint32_t)e->steps;
	s->op = what == STEP ? e->parent : NULL;
	/* The plan of another process means nothing here. */
	s->plan = what != STEP && ((uintptr_t)e->parent & ((1u << TAG_BITS) - 1)) == TAG_PLAN &&
				  (what != OP || e->pid == getpid())
			  ? (uintptr_t)e->parent >> TAG_BITS
			  : 0;
	s->start_tsc = s->since_tsc = wt_tsc();
	s->timer[0] = e->timer;
	s->timer[1] = 0;
	atomic_store_explicit(&s->bytes, 0, memory_order_relaxed);
	for (int k = 0; k < WAITS; k++)
		atomic_store_explicit(&s->wait[k], 0, memory_order_relaxed);
	return (void *)(uintptr_t)((uint64_t)(generation + 1) << 32 | (uint64_t)i << TAG_BITS |
				   TAG_SLOT);
}

static unsigned start_event(void **handle, const struct event *e)
{
	int saved = errno;

	if (!handle)
		return 0;
	*handle = NULL;
	if (wt_level() < WT_LEVEL_API)
		return 0;
	if (e->type == WT_PROF_COLL || e->type == WT_PROF_P2P)
		*handle = start_plan(e);
	else if (e->type == WT_PROF_PROXY_OP)
		*handle = start_slot(OP, e);
	else if (e->type == WT_PROF_PROXY_STEP)
		*handle = start_slot(STEP, e);
	else if (e->type == WT_PROF_KERNEL)
		*handle = start_slot(KERNEL, e);
	errno = saved;
	return 0;
}

/* A step leaves a state: the time in it goes to the operation's account. */
static void leave_state(struct slot *s, uint64_t now)
{
	static const uint8_t waits[] = {
		[WT_PROF_SEND_GPU_WAIT] = 1 + WAIT_GPU,
		[WT_PROF_RECV_GPU_WAIT] = 1 + WAIT_GPU,
		[WT_PROF_SEND_WAIT] = 1 + WAIT_NET,
		[WT_PROF_RECV_WAIT] = 1 + WAIT_NET,
		[WT_PROF_SEND_PEER_WAIT] = 1 + WAIT_PEER,
		[WT_PROF_RECV_FLUSH_WAIT] = 1 + WAIT_FLUSH,
	};
	uint32_t k = s->state < sizeof(waits) ? waits[s->state] : 0;
	struct slot *op = slot_of(s->op);

	if (k && op)
		atomic_fetch_add_explicit(&op->wait[k - 1], now - s->since_tsc,
					  memory_order_relaxed);
	s->since_tsc = now;
}

static unsigned record_state(void *handle, int state, union wt_prof_state *args)
{
	struct slot *s = slot_of(handle);

	if (!s)
		return 0;
	if (s->what == KERNEL && state == WT_PROF_KERNEL_STOP && args)
		s->timer[1] = args->timer;
	if (s->what != STEP || state < 0 || state > UINT8_MAX)
		return 0;
	leave_state(s, wt_tsc());
	s->state = (uint8_t)state;
	return 0;
}

/* Of v4 and later: there the word that comes with these two states is the bytes of the step, said again while in it. */
static unsigned record_state_v4(void *handle, int state, union wt_prof_state *args)
{
	struct slot *s = slot_of(handle), *op = s && s->what == STEP ? slot_of(s->op) : NULL;

	if (op && args && state != s->state &&
	    (state == WT_PROF_SEND_WAIT || state == WT_PROF_RECV_FLUSH_WAIT))
		atomic_fetch_add_explicit(&op->bytes, args->bytes, memory_order_relaxed);
	return record_state(handle, state, args);
}

static uint64_t wait_of(const struct slot *s, enum wait k)
{
	uint64_t v = atomic_load_explicit(&s->wait[k], memory_order_relaxed) >> WAIT_UNIT;

	return v > UINT32_MAX ? UINT32_MAX : v;
}

static void put_slot(const struct slot *s, uint64_t now)
{
	uint32_t steps = s->steps > UINT16_MAX ? UINT16_MAX : s->steps;
	uint64_t op[3] = {(uint64_t)s->channel | (uint64_t)s->is_send << 8 | (uint64_t)steps << 16 |
				  ((uint64_t)(uint32_t)(s->peer + 1)) << 32,
			  wait_of(s, WAIT_GPU) | wait_of(s, WAIT_PEER) << 32,
			  wait_of(s, WAIT_NET) | wait_of(s, WAIT_FLUSH) << 32};
	uint64_t kernel[3] = {s->timer[1], s->channel, 0};

	if (s->what == OP)
		put(WT_NCCL_PROXY, s->start_tsc, now, s->plan,
		    atomic_load_explicit(&s->bytes, memory_order_relaxed), op);
	else if (s->what == KERNEL)
		put(WT_NCCL_KERNEL, s->start_tsc, now, s->plan, s->timer[0], kernel);
}

/* At the end of an operation, and of a communicator: a job that is killed destroys none. */
static void tell_lost(uint64_t now)
{
	uint64_t n =
		atomic_load_explicit(&lost, memory_order_relaxed) ? atomic_exchange(&lost, 0) : 0;

	if (n)
		put(WT_NCCL_LOST, now, now, 0, n, (const uint64_t[3]){0});
}

static unsigned stop_event(void *handle)
{
	struct slot *s = slot_of(handle);
	int saved = errno;
	uint64_t now;

	if (!s)
		return 0; /* a plan: its row is written */
	now = wt_tsc();
	if (s->what == STEP)
		leave_state(s, now);
	put_slot(s, now);
	atomic_fetch_add_explicit(&s->generation, 1, memory_order_release);
	tell_lost(now);
	errno = saved;
	return 0;
}

static unsigned finalize(void *context)
{
	int saved = errno;

	tell_lost(wt_tsc());
	errno = saved;
	return 0;
}

/* Kernels of NCCL say when they began and ended only while a thread of NCCL polls for it: level 2. */
static unsigned init(void **context, int *mask)
{
	static const int masks[] = {0, WT_PROF_COLL | WT_PROF_P2P,
				    WT_PROF_COLL | WT_PROF_P2P | WT_PROF_PROXY_OP |
					    WT_PROF_PROXY_STEP | WT_PROF_KERNEL};

	*context = &the_context;
	*mask = masks[wt_config.nccl_profiler];
	return 0;
}

static unsigned init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes,
			int nranks, int rank, wt_prof_log *log)
{
	return init(context, mask);
}

static unsigned init_v5(void **context, uint64_t comm, int *mask, const char *name, int nodes,
			int nranks, int rank, wt_prof_log *log)
{
	return init(context, mask);
}

static const char *name_of(const char *const *names, size_t n, uint8_t number)
{
	return number < n ? names[number] : "?";
}

/* From v2 on functions, algorithms and protocols are names. */
static unsigned start_v1(void *context, void **handle, struct wt_prof_descr_v1 *d)
{
	struct event e = {.type = d->type, .parent = d->parent, .peer = -1};

	if (e.type == WT_PROF_COLL) {
		e.seq = d->u.coll.seq;
		e.count = d->u.coll.count;
		e.channels = d->u.coll.channels;
		e.warps = d->u.coll.warps;
		e.func = name_of(functions, NAMES(functions), d->u.coll.func);
		e.algo = name_of(algorithms, NAMES(algorithms), d->u.coll.algo);
		e.proto = name_of(protocols, NAMES(protocols), d->u.coll.proto);
	} else if (e.type == WT_PROF_P2P) {
		e.count = d->u.p2p.count;
		e.peer = d->u.p2p.peer;
		e.func = name_of(functions, NAMES(functions), d->u.p2p.func);
	} else if (e.type == WT_PROF_PROXY_OP) {
		e.pid = d->u.proxy_op.pid;
		e.channel = d->u.proxy_op.channel;
		e.peer = d->u.proxy_op.peer;
		e.steps = d->u.proxy_op.steps;
		e.is_send = d->u.proxy_op.is_send != 0;
	}
	return start_event(handle, &e);
}

#define NO_CHANNELS (void)0
#define CHANNELS    e.channels = d->u.p2p.channels
#define NO_KERNEL   (void)0
#define CHANNEL	    e.channel = d->u.kernel.channel
#define TIMER	    (CHANNEL, e.timer = d->u.kernel.timer)
#define START(v_, p2p_, kernel_)                                                                   \
	static unsigned start_v##v_(void *context, void **handle, struct wt_prof_descr_v##v_ *d)   \
	{                                                                                          \
		struct event e = {.type = d->type, .parent = d->parent, .peer = -1};               \
                                                                                                   \
		if (e.type == WT_PROF_COLL) {                                                      \
			e.seq = d->u.coll.seq;                                                     \
			e.count = d->u.coll.count;                                                 \
			e.channels = d->u.coll.channels;                                           \
			e.warps = d->u.coll.warps;                                                 \
			e.func = d->u.coll.func;                                                   \
			e.algo = d->u.coll.algo;                                                   \
			e.proto = d->u.coll.proto;                                                 \
		} else if (e.type == WT_PROF_P2P) {                                                \
			e.count = d->u.p2p.count;                                                  \
			e.peer = d->u.p2p.peer;                                                    \
			e.func = d->u.p2p.func;                                                    \
			p2p_;                                                                      \
		} else if (e.type == WT_PROF_PROXY_OP) {                                           \
			e.pid = d->u.proxy_op.pid;                                                 \
			e.channel = d->u.proxy_op.channel;                                         \
			e.peer = d->u.proxy_op.peer;                                               \
			e.steps = d->u.proxy_op.steps;                                             \
			e.is_send = d->u.proxy_op.is_send != 0;                                    \
		} else if (e.type == WT_PROF_KERNEL) {                                             \
			kernel_;                                                                   \
		}                                                                                  \
		return start_event(handle, &e);                                                    \
	}
START(2, NO_CHANNELS, NO_KERNEL)
START(3, NO_CHANNELS, CHANNEL)
START(4, CHANNELS, TIMER)
START(5, CHANNELS, TIMER)

#define EXPORT(v_, init_, start_, state_)                                                          \
	{                                                                                          \
		"warptap", init_, start_, stop_event, state_, finalize                             \
	}
#define SHOWN __attribute__((visibility("default")))
SHOWN const struct wt_prof_v1 ncclProfiler_v1 = EXPORT(1, init, start_v1, record_state);
SHOWN const struct wt_prof_v2 ncclProfiler_v2 = EXPORT(2, init, start_v2, record_state);
SHOWN const struct wt_prof_v3 ncclProfiler_v3 = EXPORT(3, init, start_v3, record_state);
SHOWN const struct wt_prof_v4 ncclProfiler_v4 = EXPORT(4, init_v4, start_v4, record_state_v4);
SHOWN const struct wt_prof_v5 ncclProfiler_v5 = EXPORT(5, init_v5, start_v5, record_state_v4);
SHOWN const struct wt_prof_v5 ncclProfiler_v6 = EXPORT(6, init_v5, start_v5, record_state_v4);
