/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions: open operations whose end is the moment the function returned. They run on one thread of their own,
 * as the driver's do, so that a function that blocks holds up its stream and other functions, never the device.
 * Stream memory operations (wait and write a value) stand here too: both join the host's time to the device's.
 */
#include "simgpu/cuda/drv.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct drv_host_call *first, **last;
	bool started;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *host_thread(void *arg)
{
	prctl(PR_SET_NAME, "simgpu-host");
	for (;;) {
		struct drv_host_call *c;
		struct sim_work *w;
		pthread_mutex_lock(&queue.lock);
		while (!queue.first)
			pthread_cond_wait(&queue.wake, &queue.lock);
		c = queue.first;
		queue.first = c->next;
		pthread_mutex_unlock(&queue.lock);
		if (c->fn)
			c->fn(c->arg);
		else
			c->callback(c->stream, CUDA_SUCCESS, c->arg);
		w = c->work; /* closing frees c */
		sim_enter();
		sim_work_close(w, sim_now_ns());
		sim_leave();
	}
	return arg;
}

static void start_thread(void)
{
	sigset_t all, old;
	pthread_t t;

	/* Signals of the program stay with the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&t, NULL, host_thread, NULL))
		sim_complain("cannot start the thread for host functions");
	else
		pthread_detach(t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Device thread, once the stream has got there. */
static void host_start(struct sim_work *w)
{
	struct drv_host_call *c = w->arg;

	c->work = w;
	c->next = NULL;
	pthread_mutex_lock(&queue.lock);
	if (!queue.first)
		queue.last = &queue.first;
	*queue.last = c;
	queue.last = &c->next;
	if (!queue.started) {
		queue.started = true;
		start_thread();
	}
	pthread_cond_signal(&queue.wake);
	pthread_mutex_unlock(&queue.lock);
}

static void host_release(struct sim_work *w)
{
	free(w->arg);
}

const struct sim_behaviour drv_host_behaviour = {
	.open = true, .start = host_start, .release = host_release};

CUresult sim_cuLaunchHostFunc(CUstream h, CUhostFn fn, void *arg)
{
	struct CUstream_st *s;
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {fn, arg}};
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	return fn ? drv_issue(s, &t) : CUDA_ERROR_INVALID_VALUE;
}

/* (locked) Puts w on s, unless a capture forbids it. w is given away. */
static CUresult submit(struct CUstream_st *s, struct sim_work *w)
{
	CUresult r = drv_capturing(s) ? drv_capture_forbid(s) : drv_capture_legacy(s);

	if (r == CUDA_SUCCESS)
		sim_lane_submit(s->lane, w, sim_now_ns());
	else
		sim_work_unref(w);
	return r;
}

CUresult sim_cuStreamAddCallback(CUstream h, CUstreamCallback callback, void *arg,
				 unsigned int flags)
{
	struct CUstream_st *s;
	struct drv_host_call *c;
	struct sim_work *w;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	c = sim_alloc(sizeof(*c));
	c->callback = callback;
	c->stream = h;
	c->arg = arg;
	sim_enter();
	w = sim_work_new();
	w->behaviour = &drv_host_behaviour;
	w->arg = c;
	r = submit(s, w);
	sim_leave();
	return r;
}

/* ---- stream memory operations ---- */
struct memop {
	volatile void *address;
	uint64_t value;
	uint32_t bytes, flags;
};

static uint64_t load(const struct memop *m)
{
	return m->bytes == 8 ? *(volatile uint64_t *)m->address : *(volatile uint32_t *)m->address;
}

static int wait_poll(struct sim_work *w, int64_t *ret_end_ns)
{
	const struct memop *m = w->arg;
	uint64_t now = load(m), mask = m->bytes == 8 ? UINT64_MAX : UINT32_MAX;
	bool done;

	switch (m->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic */
		done = m->bytes == 8 ? (int64_t)(now - m->value) >= 0
				     : (int32_t)(uint32_t)(now - m->value) >= 0;
		break;
	case CU_STREAM_WAIT_VALUE_EQ:
		done = now == (m->value & mask);
		break;
	case CU_STREAM_WAIT_VALUE_AND:
		done = (now & m->value) != 0;
		break;
	default:
		done = (~(now | m->value) & mask) != 0;
		break;
	}
	if (done)
		*ret_end_ns = sim_now_ns();
	return done;
}

static void write_finish(struct sim_work *w)
{
	const struct memop *m = w->arg;

	drv_touch((const void *)(uintptr_t)m->address, m->bytes);
	if (m->bytes == 8)
		*(volatile uint64_t *)m->address = m->value;
	else
		*(volatile uint32_t *)m->address = (uint32_t)m->value;
}

static const struct sim_behaviour wait_behaviour = {
	.open = true, .poll = wait_poll, .release = host_release};
static const struct sim_behaviour write_behaviour = {.finish = write_finish,
						     .release = host_release};

static CUresult memop(CUstream h, CUdeviceptr address, uint64_t value, unsigned int flags,
		      uint32_t bytes, bool write)
{
	struct CUstream_st *s;
	struct drv_range range;
	struct memop *m;
	struct sim_work *w;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (address % bytes || !drv_range_of(address, &range) ||
	    range.bytes - (address - range.start) < bytes)
		return CUDA_ERROR_INVALID_VALUE;
	m = sim_alloc(sizeof(*m));
	*m = (struct memop){(void *)(uintptr_t)address, value, bytes, flags};
	sim_enter();
	w = sim_work_new();
	w->behaviour = write ? &write_behaviour : &wait_behaviour;
	w->arg = m;
	r = submit(s, w);
	sim_leave();
	return r;
}

CUresult sim_cuStreamWaitValue32_v2(CUstream s, CUdeviceptr a, cuuint32_t v, unsigned int flags)
{
	return memop(s, a, v, flags, 4, false);
}

CUresult sim_cuStreamWaitValue64_v2(CUstream s, CUdeviceptr a, cuuint64_t v, unsigned int flags)
{
	return memop(s, a, v, flags, 8, false);
}

CUresult sim_cuStreamWriteValue32_v2(CUstream s, CUdeviceptr a, cuuint32_t v, unsigned int flags)
{
	return memop(s, a, v, flags, 4, true);
}

CUresult sim_cuStreamWriteValue64_v2(CUstream s, CUdeviceptr a, cuuint64_t v, unsigned int flags)
{
	return memop(s, a, v, flags, 8, true);
}
