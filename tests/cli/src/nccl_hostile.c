/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NCCL that misuses its profiler plugin (collectors/nccl_plugin.h): nothing where something should be, handles that
 * were never given out, ended twice or too late, more events than there is room for, many threads that end each other's
 * events, children of fork with the parent's handles. Prints how many proxy operations it began and ended rightly, and
 * how many the plugin refused.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/nccl_plugin.h"

#define CHECK(ok_)                                                                                 \
	do {                                                                                       \
		if (!(ok_)) {                                                                      \
			fprintf(stderr, "nccl_hostile:%d: %s\n", __LINE__, #ok_);                  \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)
#define THREADS 16
#define ROUNDS	4000
#define CROWD	5000

struct any { /* what all versions share */
	const char *name;
	void *init;
	unsigned (*start)(void *context, void **handle, void *descr);
	unsigned (*stop)(void *handle);
	unsigned (*state)(void *handle, int state, void *args);
	unsigned (*finalize)(void *context);
};
static const struct any *plugin[7];
static void *context;
static _Atomic long begun, refused;
static _Atomic(void *) shelf[THREADS];

static void init(int v)
{
	const void *p = plugin[v];
	int mask = 0;

	if (v < 4)
		CHECK(!((const struct wt_prof_v1 *)p)->init(&context, &mask));
	else if (v == 4)
		CHECK(!((const struct wt_prof_v4 *)p)
			       ->init(&context, &mask, NULL, 1, 1, 2, 0, NULL));
	else
		CHECK(!((const struct wt_prof_v5 *)p)
			       ->init(&context, 1, &mask, NULL, 1, 2, 0, NULL));
	CHECK(mask & WT_PROF_COLL && mask & WT_PROF_PROXY_OP);
}

static void *begin(int v, uint64_t type, void *parent)
{
	union {
		struct wt_prof_descr_v1 v1;
		struct wt_prof_descr_v5 v5;
		unsigned char all[256];
	} d;
	void *handle = &d;

	memset(&d, 0, sizeof(d));
	if (v < 5)
		d.v1.type = (uint8_t)type;
	else
		d.v5.type = type;
	d.v1.parent = parent;
	if (type == WT_PROF_PROXY_OP)
		d.v1.u.proxy_op.pid = getpid();
	errno = 77;
	CHECK(plugin[v]->start(context, &handle, &d) == 0 && errno == 77 && handle != &d);
	return handle;
}

static void *begin_op(int v, void *parent)
{
	void *op = begin(v, WT_PROF_PROXY_OP, parent);

	atomic_fetch_add(op ? &begun : &refused, 1);
	return op;
}

static void end(int v, void *handle)
{
	errno = 77;
	CHECK(plugin[v]->stop(handle) == 0 && errno == 77);
}

static void nothing(int v)
{
	uint64_t word = 5;
	void *op;

	init(v);
	CHECK(plugin[v]->start(context, NULL, &(struct wt_prof_descr_v5){.type = WT_PROF_COLL}) ==
	      0);
	end(v, begin(v, WT_PROF_COLL, NULL)); /* no name, no algorithm */
	end(v, begin(v, WT_PROF_P2P, (void *)-1));
	for (unsigned bit = 0; bit < (v < 5 ? 8 : 64); bit++)
		if (!((WT_PROF_PROXY_OP | WT_PROF_PROXY_STEP | WT_PROF_KERNEL) >> bit & 1))
			end(v, begin(v, 1ull << bit, NULL));
	end(v, NULL);
	CHECK(plugin[v]->state(NULL, WT_PROF_SEND_WAIT, &word) == 0);
	for (unsigned i = 0; i < 100000; i++) {
		void *wild =
			(void *)(uintptr_t)((uint64_t)(unsigned)rand() << 33 ^ (unsigned)rand());

		CHECK(plugin[v]->state(wild, (int)(i % 64) - 8, i & 1 ? &word : NULL) == 0);
		if ((uintptr_t)wild >> 32 > 1u << 16) /* no generation that is in use */
			end(v, wild);
	}
	op = begin_op(v, (void *)0x123456789);
	end(v, begin(v, WT_PROF_PROXY_STEP, op));
	CHECK(plugin[v]->state(op, 1 << 30, NULL) == 0);
	end(v, op);
	end(v, op);
	CHECK(plugin[v]->state(op, WT_PROF_RECV_WAIT, &word) == 0);
	end(v, begin(v, WT_PROF_PROXY_STEP, op)); /* of an operation that has ended */
	op = begin_op(v, NULL);
	CHECK(plugin[v]->finalize(context) == 0);
	end(v, op); /* late */
	CHECK(plugin[v]->finalize(NULL) == 0);
}

static void *crowd_thread(void *arg)
{
	long me = (long)arg;
	int v = 1 + (int)me % 6;
	uint64_t word = 10;

	for (long i = 0; i < ROUNDS; i++) {
		void *op = begin_op(v, NULL), *step = begin(v, WT_PROF_PROXY_STEP, op);

		plugin[v]->state(step, WT_PROF_SEND_GPU_WAIT, NULL);
		plugin[v]->state(step, WT_PROF_SEND_WAIT, &word);
		end(v, step);
		/* somebody else ends it */
		op = atomic_exchange(&shelf[(me * 7 + i) % THREADS], op);
		if (op)
			end(v, op);
	}
	return NULL;
}

static void many_threads(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, crowd_thread, (void *)i) == 0);
	for (long i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (long i = 0; i < THREADS; i++)
		end(6, shelf[i]);
}

static void too_many(void)
{
	static void *op[CROWD];

	for (int i = 0; i < CROWD; i++)
		op[i] = begin_op(6, NULL);
	CHECK(!op[CROWD - 1]);
	for (int i = 0; i < CROWD; i++)
		end(6, op[i]);
}

static void children(void)
{
	void *op = begin_op(5, NULL);

	for (int raw = 0; raw < 2; raw++) {
		int status = -1;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			end(5, op);
			end(5, begin(5, WT_PROF_COLL, NULL));
			plugin[5]->finalize(context);
			raw ? _exit(0) : exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	end(5, op);
}

int main(void)
{
	CUcontext ctx;

	CHECK(cuInit(0) == CUDA_SUCCESS && cuCtxCreate(&ctx, NULL, 0, 0) == CUDA_SUCCESS);
	for (int v = 1; v <= 6; v++) {
		char name[] = "ncclProfiler_vN";

		name[14] = (char)('0' + v);
		plugin[v] = dlsym(RTLD_DEFAULT, name);
		CHECK(plugin[v]);
	}
	for (int v = 1; v <= 6; v++)
		nothing(v);
	init(6);
	many_threads();
	too_many();
	children();
	plugin[6]->finalize(context);
	printf("%ld %ld\n", begun, refused);
	return 0;
}
