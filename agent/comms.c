// SPDX-License-Identifier: Apache-2.0
/*
 * Communicators; see comms.h. Job threads, inside an NCCL hook, after the real call returned. Questions go to NCCL's
 * own functions with this thread silent. The waiting list is per process under a spin lock held for a few stores;
 * only the thread that made an entry resolves it, when its outermost group ends.
 */
#define _GNU_SOURCE
#include "comms.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "book.h"
#include "hook_table.h"
#include "pace.h"
#include "real.h"
#include "real_calls.h"

#define WAITING_MAX 256
#define PARENTS_MAX 512

struct key {
	uint8_t bytes[16];
};

struct waiting {
	wt_nccl_comm *where; /* NULL = free */
	struct wt_tls *thread;
	struct key key;
	uint32_t rank, nranks, parent; /* nranks 0: ask NCCL */
};

static struct waiting waiting[WAITING_MAX];
static _Atomic uint32_t waiting_count;
static struct {
	uint32_t id, splits;
} parents[PARENTS_MAX];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		;
}

static void give(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* FNV-1a, 128 bits: equal on all ranks, and no two of one job alike. */
static struct key hash(struct key seed, const void *data, size_t n)
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) | 0x13b;
	const uint8_t *p = data;
	unsigned __int128 h;
	struct key out;

	memcpy(&h, &seed, sizeof(h));
	h ^= ((unsigned __int128)0x6c62272e07bb0142ull << 64) | 0x62b821756295c58dull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * prime;
	memcpy(&out, &h, sizeof(out));
	return out;
}

/* NCCL's own answer to (comm, int *): rank, size, device. -1 if it has none. */
static int ask(wt_nccl_comm comm, const char *name)
{
	void *known = wt_real(WT_ID_ncclAllReduce);
	wt_nccl_result (*fn)(wt_nccl_comm, int *);
	Dl_info info;
	void *h, *p = NULL;
	int v = -1;

	if (!known || !dladdr(known, &info) || !info.dli_fname)
		return -1;
	h = dlopen(info.dli_fname,
		   RTLD_LAZY | RTLD_NOLOAD); /* the copy this communicator belongs to */
	if (h) {
		p = wt_quiet_dlsym(h, name);
		dlclose(h);
	}
	if (!p)
		return -1;
	fn = (__typeof__(fn))p;
	return fn(comm, &v) == WT_NCCL_SUCCESS ? v : -1;
}

static int device_now(void)
{
	CUdevice dev = -1;

	return WT_REAL_CALL(cuCtxGetDevice, &dev) == CUDA_SUCCESS ? dev : -1;
}

static void add(wt_nccl_comm comm, const struct waiting *w, int device)
{
	struct wt_reg_entry e;
	int v;

	memset(&e, 0, sizeof(e));
	memcpy(e.u.comm.key, w->key.bytes, sizeof(e.u.comm.key));
	e.u.comm.rank = w->rank;
	e.u.comm.nranks = w->nranks;
	e.u.comm.parent = w->parent;
	if (!w->nranks) {
		v = ask(comm, "ncclCommUserRank");
		e.u.comm.rank = v < 0 ? 0 : (uint32_t)v;
		v = ask(comm, "ncclCommCount");
		e.u.comm.nranks = v < 0 ? 0 : (uint32_t)v;
	}
	e.u.comm.device = device;
	wt_pace_comm(wt_reg_add(WT_REG_COMM, (uint64_t)comm, wt_tsc(), &e), e.u.comm.nranks);
}

/* Now, if the handle is there; else when the group ends. */
static void add_or_wait(struct waiting *w)
{
	w->thread = &wt_tls;
	if (!wt_tls.group) {
		if (*w->where)
			add(*w->where, w, device_now());
		return;
	}
	take();
	for (int i = 0; i < WAITING_MAX; i++) {
		if (waiting[i].where)
			continue;
		waiting[i] = *w;
		atomic_fetch_add(&waiting_count, 1);
		break;
	}
	give();
}

void wt_comm_new(struct wt_rec *rec, wt_nccl_comm *comm, const struct wt_nccl_id *ids, int n_ids,
		 int rank, int nranks)
{
	struct waiting w = {.where = comm, .rank = (uint32_t)rank, .nranks = (uint32_t)nranks};

	if (!comm || !ids || n_ids <= 0)
		return;
	w.key = hash((struct key){{0}}, ids, (size_t)n_ids * sizeof(*ids));
	wt_silence_enter();
	add_or_wait(&w);
	wt_silence_leave();
	if (!wt_tls.group)
		rec->object = (uint64_t)*comm;
}

void wt_comm_new_all(wt_nccl_comm *comms, int n, const int *devices)
{
	static _Atomic uint32_t times;
	struct {
		char host[64];
		uint64_t pid, time;
	} who = {.pid = (uint64_t)getpid(), .time = atomic_fetch_add(&times, 1)};
	struct waiting w = {.nranks = (uint32_t)n};

	if (!comms)
		return;
	gethostname(who.host, sizeof(who.host));
	w.key = hash((struct key){{1}}, &who, sizeof(who));
	wt_silence_enter();
	for (int i = 0; i < n; i++) {
		w.rank = (uint32_t)i;
		if (comms[i])
			add(comms[i], &w, devices ? devices[i] : i);
	}
	wt_silence_leave();
}

/* Splits are collective on the parent: all ranks count alike, those without a color included. */
static uint32_t nth_split(uint32_t parent)
{
	uint32_t n = 0;

	take();
	for (int i = 0; i < PARENTS_MAX; i++) {
		if (parents[i].id && parents[i].id != parent)
			continue;
		parents[i].id = parent;
		n = ++parents[i].splits;
		break;
	}
	give();
	return n;
}

void wt_comm_split(wt_nccl_comm parent, int color, wt_nccl_comm *comm)
{
	struct wt_reg_entry p;
	struct waiting w = {.where = comm};
	struct {
		uint32_t nth;
		int32_t color;
	} how = {.color = color};

	if (!wt_reg_find(WT_REG_COMM, (uint64_t)parent, UINT64_MAX, &p))
		return;
	how.nth = nth_split(p.id);
	if (color == WT_NCCL_NO_COLOR || !comm)
		return;
	memcpy(w.key.bytes, p.u.comm.key, sizeof(w.key.bytes));
	w.key = hash(w.key, &how, sizeof(how));
	w.parent = p.id;
	wt_silence_enter();
	add_or_wait(&w);
	wt_silence_leave();
}

/* NCCL itself has just written through these pointers: they are good exactly now. */
static void resolve_waiting(int use)
{
	for (int i = 0; i < WAITING_MAX; i++) {
		struct waiting w;

		take();
		w = waiting[i];
		if (w.where && w.thread == &wt_tls) {
			waiting[i].where = NULL;
			atomic_fetch_sub(&waiting_count, 1);
		}
		give();
		if (!w.where || w.thread != &wt_tls || !use || !*w.where)
			continue;
		add(*w.where, &w, ask(*w.where, "ncclCommCuDevice"));
	}
}

void wt_comm_end(wt_nccl_comm comm)
{
	struct wt_reg_entry e;

	if (wt_reg_find(WT_REG_COMM, (uint64_t)comm, UINT64_MAX, &e))
		wt_pace_comm(e.id, 0);
	wt_book_end(WT_REG_COMM, comm);
}

void wt_comm_group_end(struct wt_rec *rec, int status)
{
	if (wt_tls.group && --wt_tls.group)
		return;
	if (!atomic_load_explicit(&waiting_count, memory_order_relaxed))
		return;
	wt_silence_enter();
	resolve_waiting(status == (int)WT_NCCL_SUCCESS || status == (int)WT_NCCL_IN_PROGRESS);
	wt_silence_leave();
}

uint64_t wt_comm_next(wt_nccl_comm comm)
{
	static const struct waiting unknown;
	uint32_t id;
	uint64_t seq = wt_reg_comm_next((uint64_t)comm, &id);

	if (seq) {
		wt_pace_collective(id, seq);
		return seq;
	}
	if (!comm)
		return 0;
	/* Made before we woke, or by a call we do not know: no key, so it matches nobody, but its order is kept. */
	wt_silence_enter();
	add(comm, &unknown, ask(comm, "ncclCommCuDevice"));
	wt_silence_leave();
	return wt_reg_comm_next((uint64_t)comm, NULL);
}
