/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User objects: counted references with a destructor, held by a caller, by graphs, and by executables made of them. A
 * table says who holds what, so that graphs need not know. Its lock comes after sim_lock; destructors run on the
 * thread that gave up the last reference, once it holds no lock (drv_hold_run), and may not call the driver, as in
 * life.
 */
#include "simgpu/cuda/drv.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

struct CUuserObject_st {
	struct drv_head head;
	void *arg;
	CUhostFn destroy;
	unsigned int refs;
	CUuserObject next_dead;
};
struct hold {
	const void *holder;
	CUuserObject object;
	unsigned int count;
	struct hold *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hold *holds;
static CUuserObject dead;

/* Holds the lock. */
static void release(CUuserObject o, unsigned int count)
{
	o->refs -= count < o->refs ? count : o->refs;
	if (!o->refs) {
		o->next_dead = dead;
		dead = o;
	}
}

void drv_hold_copy(const void *from, const void *to)
{
	pthread_mutex_lock(&lock);
	for (struct hold *h = holds; h; h = h->next)
		if (h->holder == from) {
			struct hold *copy = sim_alloc(sizeof(*copy));

			*copy = (struct hold){to, h->object, h->count, holds};
			h->object->refs += h->count;
			holds = copy; /* in front: this walk does not see it */
		}
	pthread_mutex_unlock(&lock);
}

void drv_hold_drop(const void *holder)
{
	pthread_mutex_lock(&lock);
	for (struct hold **at = &holds; *at;) {
		struct hold *h = *at;

		if (h->holder != holder) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		release(h->object, h->count);
		free(h);
	}
	pthread_mutex_unlock(&lock);
}

void drv_hold_run(void)
{
	CUuserObject o;

	pthread_mutex_lock(&lock);
	while ((o = dead)) {
		dead = o->next_dead;
		pthread_mutex_unlock(&lock);
		o->destroy(o->arg);
		drv_free(o);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
}

CUresult sim_cuUserObjectCreate(CUuserObject *ret, void *ptr, CUhostFn destroy, unsigned int refs,
				unsigned int flags)
{
	CUuserObject o;

	if (!ret || !destroy || !refs || refs > INT_MAX ||
	    flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	o = drv_new(DRV_USER_OBJECT, sizeof(*o));
	o->arg = ptr;
	o->destroy = destroy;
	o->refs = refs;
	*ret = o;
	return CUDA_SUCCESS;
}

static bool valid(CUuserObject o, unsigned int count)
{
	return drv_is(o, DRV_USER_OBJECT) && count && count <= INT_MAX;
}

CUresult sim_cuUserObjectRetain(CUuserObject o, unsigned int count)
{
	if (!valid(o, count))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	o->refs += count;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject o, unsigned int count)
{
	if (!valid(o, count))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	release(o, count);
	pthread_mutex_unlock(&lock);
	drv_hold_run();
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned int count,
				     unsigned int flags)
{
	struct hold *h;

	if (!drv_is(g, DRV_GRAPH) || !valid(o, count) || (flags & ~CU_GRAPH_USER_OBJECT_MOVE))
		return CUDA_ERROR_INVALID_VALUE;
	h = sim_alloc(sizeof(*h));
	pthread_mutex_lock(&lock);
	*h = (struct hold){g, o, count, holds};
	holds = h;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		o->refs += count; /* else the caller's references become the graph's */
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned int count)
{
	if (!drv_is(g, DRV_GRAPH) || !valid(o, count))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (struct hold **at = &holds; *at && count;) {
		struct hold *h = *at;
		unsigned int n;

		if (h->holder != g || h->object != o) {
			at = &h->next;
			continue;
		}
		n = count < h->count ? count : h->count;
		count -= n;
		h->count -= n;
		release(o, n);
		if (h->count) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		free(h);
	}
	pthread_mutex_unlock(&lock);
	drv_hold_run();
	return CUDA_SUCCESS;
}
