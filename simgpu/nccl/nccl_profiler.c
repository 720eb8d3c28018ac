/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's side of the profiler plugin interface, as the real one plays it: NCCL_PROFILER_PLUGIN names a library or
 * STATIC_PLUGIN (the process itself); its ncclProfiler_v6, _v5, ... are asked for, newest first, down to v1; init per
 * communicator sets which events are told; tasks are told on the thread that launches them, proxy and kernel events on
 * another one. Descriptors are filled in by offset, from the table below: where the vendor's headers have each member.
 *
 * SIMGPU_NCCL_PROFILER=4 plays a NCCL that knows no later version than 4. SIMGPU_NCCL_NET=1 plays ranks on different
 * hosts: proxies send to the next rank and receive from the one before.
 */
#include "simgpu/nccl/nccl_sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LAST	   6
#define COLL	   2
#define P2P	   4
#define PROXY_OP   8
#define PROXY_STEP 16
#define KERNEL_CH  64
enum {
	SEND_GPU_WAIT = 8,
	SEND_WAIT = 9,
	RECV_WAIT = 10,
	RECV_FLUSH_WAIT = 11,
	RECV_GPU_WAIT = 12,
	KERNEL_STOP = 22
};

/* Offsets of a version's members; 0 = it has none. */
static const struct layout {
	uint8_t seq, func, send, recv, count, root, datatype, channels, warps, algo, proto;
	uint8_t p2p_func, p2p_buff, p2p_datatype, p2p_count, p2p_peer, p2p_channels;
	uint8_t kernel, kernel_timer;
} layouts[LAST + 1] = {
	[1] = {40, 48, 56, 64, 72, 80, 84, 104, 105, 106, 107, 40, 48, 56, 64, 72, 0, 0, 0},
	[2] = {40, 48, 56, 64, 72, 80, 88, 104, 105, 112, 120, 40, 48, 56, 64, 72, 0, 0, 0},
	[3] = {40, 48, 56, 64, 72, 80, 88, 96, 97, 104, 112, 40, 48, 56, 64, 72, 0, 24, 0},
	[4] = {24, 32, 40, 48, 56, 64, 72, 80, 81, 88, 96, 24, 32, 40, 48, 56, 60, 24, 32},
	[5] = {24, 32, 40, 48, 56, 64, 72, 80, 81, 88, 96, 24, 32, 40, 48, 56, 60, 24, 32},
	[6] = {24, 32, 40, 48, 56, 64, 72, 80, 81, 88, 96, 24, 32, 40, 48, 56, 60, 24, 32},
};
#define PROXY_PID                                                                                  \
	24 /* the same in all: pid, channel, peer, steps, bytes of a chunk, whether it sends */

typedef ncclResult_t init_v1(void **context, int *mask);
typedef ncclResult_t init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes,
			     int nranks, int rank, void *log);
typedef ncclResult_t init_v5(void **context, uint64_t comm, int *mask, const char *name, int nodes,
			     int nranks, int rank, void *log);
struct plugin {
	const char *name;
	void *init;
	ncclResult_t (*start)(void *context, void **handle, void *descr);
	ncclResult_t (*stop)(void *handle);
	ncclResult_t (*state)(void *handle, int state, void *args);
	ncclResult_t (*finalize)(void *context);
};

static const struct plugin *plugin;
static int version, mask, over_network;

static void load_once(void)
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN"), *most = getenv("SIMGPU_NCCL_PROFILER");
	const char *net = getenv("SIMGPU_NCCL_NET");
	void *lib;

	over_network = net && *net == '1';
	if (!name || !*name || !strcasecmp(name, "none"))
		return;
	lib = dlopen(strncasecmp(name, "STATIC_PLUGIN", 13) ? name : NULL, RTLD_NOW | RTLD_LOCAL);
	for (version = most ? (int)strtol(most, NULL, 10) : LAST;
	     lib && version > 0 && version <= LAST && !plugin; version--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
		plugin = dlsym(lib, symbol);
		if (plugin)
			break;
	}
}

void nccl_prof_init(struct ncclComm *c)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	ncclResult_t rc;

	pthread_once(&once, load_once);
	if (!plugin)
		return;
	if (version < 4)
		rc = ((init_v1 *)plugin->init)(&c->prof, &mask);
	else if (version == 4)
		rc = ((init_v4 *)plugin->init)(&c->prof, &mask, c->label, c->hash, 1, c->nranks,
					       c->rank, NULL);
	else
		rc = ((init_v5 *)plugin->init)(&c->prof, c->hash, &mask, c->label, 1, c->nranks,
					       c->rank, NULL);
	if (rc != ncclSuccess)
		c->prof = NULL;
}

void nccl_prof_finalize(struct ncclComm *c)
{
	if (c->prof)
		plugin->finalize(c->prof);
	c->prof = NULL;
}

struct descr {
	_Alignas(8) unsigned char bytes[160];
};

static void put(struct descr *d, unsigned offset, const void *value, size_t n)
{
	if (offset)
		memcpy(d->bytes + offset, value, n);
}
#define PUT(d_, offset_, type_, value_)                                                            \
	do {                                                                                       \
		type_ v_ = (value_);                                                               \
		put(d_, offset_, &v_, sizeof(v_));                                                 \
	} while (0)

static struct descr head(const struct ncclComm *c, unsigned type, void *parent)
{
	struct descr d = {{0}};

	d.bytes[0] = (unsigned char)type; /* uint8_t up to v4, uint64_t since: little endian both */
	PUT(&d, 8, void *, parent);
	PUT(&d, 16, int, c->rank);
	return d;
}

/* v1 says numbers where the others say names. */
static void put_name(struct descr *d, unsigned offset, const char *name, int number)
{
	if (version == 1)
		PUT(d, offset, uint8_t, (uint8_t)number);
	else
		PUT(d, offset, const char *, name);
}

static const struct {
	const char *name;
	int number;
} funcs[NCCL_FUNCS] = {
	[NCCL_ALL_REDUCE] = {"AllReduce", 4},
	[NCCL_ALL_GATHER] = {"AllGather", 2},
	[NCCL_REDUCE_SCATTER] = {"ReduceScatter", 3},
	[NCCL_BROADCAST] = {"Broadcast", 0},
	[NCCL_REDUCE] = {"Reduce", 1},
	[NCCL_ALL_TO_ALL] = {"AlltoAll", 5},
	[NCCL_GATHER] = {"Gather", 5},
	[NCCL_SCATTER] = {"Scatter", 5},
	[NCCL_SEND] = {"Send", 6},
	[NCCL_RECV] = {"Recv", 7},
};

/* The plan: small ones by tree, large ones by ring; the protocol by size. */
static void put_plan(struct descr *d, const struct layout *o, uint64_t bytes, unsigned channels)
{
	int small = bytes < 64u << 10, large = bytes >= 1u << 20;

	PUT(d, o->channels, uint8_t, (uint8_t)channels);
	PUT(d, o->warps, uint8_t, 17);
	put_name(d, o->algo, small ? "TREE" : "RING", !small);
	put_name(d, o->proto, small ? "LL" : large ? "SIMPLE" : "LL128", small ? 0 : large ? 2 : 1);
}

static void start_task(struct nccl_launch *l, struct nccl_task *t, unsigned channels)
{
	int p2p = t->func == NCCL_SEND || t->func == NCCL_RECV;
	struct ncclComm *c = l->comm;
	const struct layout *o = &layouts[version];
	struct descr d = head(c, p2p ? P2P : COLL, NULL);

	if (p2p) {
		put_name(&d, o->p2p_func, funcs[t->func].name, funcs[t->func].number);
		PUT(&d, o->p2p_buff, const void *, t->func == NCCL_SEND ? t->send : t->recv);
		put_name(&d, o->p2p_datatype, nccl_type_name(t->type), (int)t->type);
		PUT(&d, o->p2p_count, size_t, t->count);
		PUT(&d, o->p2p_peer, int, t->root);
		PUT(&d, o->p2p_channels, uint8_t, (uint8_t)channels);
	} else {
		PUT(&d, o->seq, uint64_t, c->prof_seq[t->func]++);
		put_name(&d, o->func, funcs[t->func].name, funcs[t->func].number);
		PUT(&d, o->send, const void *, t->send);
		PUT(&d, o->recv, void *, t->recv);
		PUT(&d, o->count, size_t, t->count);
		PUT(&d, o->root, int, t->root);
		put_name(&d, o->datatype, nccl_type_name(t->type), (int)t->type);
		put_plan(&d, o, l->bytes, channels);
	}
	plugin->start(c->prof, &t->event, d.bytes);
}

/* Every task that has one of its children told must be told itself. */
void nccl_prof_tasks(struct nccl_launch *l, unsigned channels)
{
	l->channels = channels;
	if (!l->comm->prof || !(mask & (COLL | P2P | PROXY_OP | PROXY_STEP | KERNEL_CH)))
		return;
	for (unsigned i = 0; i < l->n; i++)
		start_task(l, &l->tasks[i], channels);
	for (unsigned i = 0; i < l->n; i++)
		if (l->tasks[i].event)
			plugin->stop(l->tasks[i].event);
}

static void *start_child(struct ncclComm *c, struct descr *d)
{
	void *handle = NULL;

	plugin->start(c->prof, &handle, d->bytes);
	return handle;
}

static void step_state(void *step, int state, uint64_t bytes)
{
	if (step)
		plugin->state(step, state, &bytes);
}

static void start_proxy(struct nccl_launch *l, struct nccl_prof_run *r, int send)
{
	struct ncclComm *c = l->comm;
	struct descr d = head(c, PROXY_OP, l->tasks[0].event);
	int ring[] = {(int)getpid(), 0,	  (c->rank + (send ? 1 : c->nranks - 1)) % c->nranks, 1,
		      1 << 20,	     send};

	put(&d, PROXY_PID, ring, sizeof(ring));
	d.bytes[PROXY_PID + 4] = 0; /* channel: a byte, with three of padding */
	r->proxy[send] = start_child(c, &d);
	d = head(c, PROXY_STEP, r->proxy[send]);
	if (mask & PROXY_STEP)
		r->step[send] = start_child(c, &d);
	step_state(r->step[send], send ? SEND_GPU_WAIT : RECV_WAIT, 0);
}

void nccl_prof_arrive(struct nccl_launch *l, struct nccl_prof_run *r, int64_t start_ns)
{
	struct ncclComm *c = l->comm;
	const struct layout *o = &layouts[version];

	if (!c->prof || l->captured)
		return;
	if (mask & PROXY_OP && over_network && !l->p2p)
		for (int send = 0; send < 2; send++)
			start_proxy(l, r, send);
	for (unsigned i = 0;
	     mask & KERNEL_CH && o->kernel && i < l->channels && i < NCCL_PROF_CHANNELS; i++) {
		struct descr d = head(c, KERNEL_CH, l->tasks[0].event);

		PUT(&d, o->kernel, uint8_t, (uint8_t)i);
		PUT(&d, o->kernel_timer, uint64_t, (uint64_t)start_ns);
		r->kernel[i] = start_child(c, &d);
	}
}

/* Our data is there: the proxy sends. */
void nccl_prof_put(struct nccl_launch *l, struct nccl_prof_run *r)
{
	step_state(r->step[1], SEND_WAIT, l->bytes);
}

void nccl_prof_finish(struct nccl_launch *l, struct nccl_prof_run *r, int64_t end_ns)
{
	uint64_t end = (uint64_t)end_ns;

	step_state(r->step[0], RECV_FLUSH_WAIT, l->bytes);
	step_state(r->step[0], RECV_GPU_WAIT, l->bytes);
	for (int i = 0; i < 2; i++) {
		if (r->step[i])
			plugin->stop(r->step[i]);
		if (r->proxy[i])
			plugin->stop(r->proxy[i]);
	}
	for (int i = 0; i < NCCL_PROF_CHANNELS; i++) {
		if (!r->kernel[i])
			continue;
		if (version >= 4)
			plugin->state(r->kernel[i], KERNEL_STOP, &end);
		plugin->stop(r->kernel[i]);
	}
}
