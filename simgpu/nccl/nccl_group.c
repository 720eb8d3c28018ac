/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: between ncclGroupStart and the outermost ncclGroupEnd calls are only noted, then done together. A call
 * outside a group is a group of one. Calls of one kind on one communicator share a kernel, all its sends and receives
 * share one; so the number of kernels is not the number of calls, as in life.
 *
 * Everything launched for one communicator is ordered on the device, in the order of the host's calls, whatever streams
 * they name. A group is the state of a thread; communicators are locked while they launch.
 */
#include "simgpu/nccl/nccl_sim.h"

#include <stdlib.h>
#include <string.h>

#include "simgpu/cudart/rt.h"
#include "simgpu/cudart/sim_stub.h"

/* A communicator to be made: by an id, or by splitting another one. */
struct job {
	ncclComm_t *out;
	struct ncclComm *comm, *parent;
	ncclUniqueId id;
	int nranks, rank, device, color, key;
	uint64_t split;
	int none; /* no part in the split */
};

static __thread struct {
	int depth;
	ncclResult_t error; /* the first one of the group */
	struct nccl_task *tasks;
	size_t n, room;
	struct job *jobs;
	size_t job_n, job_room;
} group;

static void *grow(void *p, size_t *room, size_t n, size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	void *q;

	if (n < *room)
		return p;
	q = realloc(p, more * size);
	if (q)
		*room = more;
	return q;
}

ncclResult_t nccl_group_start(void)
{
	group.depth++;
	return ncclSuccess;
}

static ncclResult_t note_error(ncclResult_t rc)
{
	if (rc != ncclSuccess && group.error == ncclSuccess)
		group.error = rc;
	return rc;
}

/* A call made outside a group ends the group it is. */
static ncclResult_t end_if_alone(ncclResult_t rc)
{
	note_error(rc);
	if (group.depth)
		return rc;
	group.depth = 1;
	return nccl_group_end();
}

ncclResult_t nccl_enqueue(const struct nccl_task *t)
{
	struct nccl_task *p = grow(group.tasks, &group.room, group.n, sizeof(*p));

	if (!p)
		return note_error(nccl_fail(ncclSystemError, "out of memory"));
	group.tasks = p;
	group.tasks[group.n++] = *t;
	return end_if_alone(ncclSuccess);
}

static ncclResult_t add_job(const struct job *j)
{
	struct job *p = grow(group.jobs, &group.job_room, group.job_n, sizeof(*p));

	if (!p)
		return note_error(nccl_fail(ncclSystemError, "out of memory"));
	group.jobs = p;
	group.jobs[group.job_n++] = *j;
	return end_if_alone(ncclSuccess);
}

ncclResult_t nccl_init_later(ncclComm_t *comm, const ncclUniqueId *id, int nranks, int rank)
{
	struct job j = {.out = comm, .id = *id, .nranks = nranks, .rank = rank};
	ncclResult_t rc = nccl_cuda(cudaGetDevice(&j.device), "cudaGetDevice");

	return rc == ncclSuccess ? add_job(&j) : note_error(rc);
}

ncclResult_t nccl_split_later(ncclComm_t parent, int color, int key, ncclComm_t *ret)
{
	struct job j = {.out = ret, .parent = parent, .color = color, .key = key};

	j.device = parent->device;
	return add_job(&j);
}

/* Splitting: all ranks of the parent post (color, key), then each computes who is with it. */
static void post_split(struct job *j)
{
	struct ncclComm *p = j->parent;
	struct nccl_split_row *row;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	j->split = p->split_count++;
	pthread_mutex_unlock(&p->lock);
	row = &p->splits[(size_t)p->rank * 2 + (j->split & 1)];
	row->color = j->color;
	row->key = j->key;
	__atomic_store_n(&row->seq, j->split + 1, __ATOMIC_RELEASE);
}

static void read_split(struct job *j)
{
	struct ncclComm *p = j->parent;
	struct {
		uint64_t parent, split, color;
	} name;

	if (!p)
		return;
	for (int r = 0; r < p->nranks; r++) {
		struct nccl_split_row *row = &p->splits[(size_t)r * 2 + (j->split & 1)];

		while (__atomic_load_n(&row->seq, __ATOMIC_ACQUIRE) != j->split + 1 &&
		       !__atomic_load_n(&p->shared->aborted, __ATOMIC_ACQUIRE)) {
			struct timespec t = {0, 100000};

			nanosleep(&t, NULL);
		}
		if (row->color != j->color)
			continue;
		j->nranks++;
		/* Ordered by key, ties by the old rank. */
		j->rank += row->key < j->key || (row->key == j->key && r < p->rank);
	}
	j->none = j->color == NCCL_SPLIT_NOCOLOR;
	memset(&j->id, 0, sizeof(j->id));
	name.parent = p->hash;
	name.split = j->split;
	name.color = (uint64_t)(int64_t)j->color;
	memcpy(j->id.internal, &name, sizeof(name));
}

static void run_jobs(void)
{
	/* Step by step over all of them: ranks of one process must not wait for each other in order. */
	for (size_t i = 0; i < group.job_n; i++)
		post_split(&group.jobs[i]);
	for (size_t i = 0; i < group.job_n; i++)
		read_split(&group.jobs[i]);
	for (size_t i = 0; i < group.job_n; i++) {
		struct job *j = &group.jobs[i];

		if (!j->none)
			note_error(nccl_comm_join(&j->comm, &j->id, sizeof(j->id), j->nranks,
						  j->rank, j->device));
	}
	for (size_t i = 0; i < group.job_n; i++) {
		struct job *j = &group.jobs[i];

		*j->out = NULL;
		if (!j->comm)
			continue;
		if (group.error == ncclSuccess)
			note_error(nccl_comm_wait_joined(j->comm));
		if (group.error == ncclSuccess)
			nccl_prof_init(*j->out = j->comm);
		else
			nccl_comm_abandon(j->comm);
	}
}

static int is_p2p(const struct nccl_task *t)
{
	return t->func == NCCL_SEND || t->func == NCCL_RECV;
}

static int shares_kernel(const struct nccl_task *a, const struct nccl_task *b)
{
	if (a->comm != b->comm || a->stream != b->stream)
		return 0;
	if (is_p2p(a) || is_p2p(b))
		return is_p2p(a) && is_p2p(b);
	return a->func == b->func && a->type == b->type && a->op == b->op && a->root == b->root;
}

/* Puts the launch after everything this communicator launched before, on whatever stream that was. */
static ncclResult_t order_streams(struct ncclComm *c, cudaStream_t stream)
{
	ncclResult_t rc = ncclSuccess;

	if (!c->launched || c->last_stream == stream)
		return rc;
	if (!c->order)
		rc = nccl_cuda(cudaEventCreateWithFlags(&c->order, cudaEventDisableTiming),
			       "event");
	/* From the second stream on each launch records (below); the first switch catches up here. */
	if (rc == ncclSuccess && !c->many_streams)
		rc = nccl_cuda(cudaEventRecord(c->order, c->last_stream), "event");
	c->many_streams = 1;
	if (rc == ncclSuccess)
		rc = nccl_cuda(cudaStreamWaitEvent(stream, c->order, 0), "wait");
	return rc;
}

static const enum sim_collective collectives[NCCL_FUNCS] = {
	[NCCL_ALL_REDUCE] = SIM_ALL_REDUCE,
	[NCCL_ALL_GATHER] = SIM_ALL_GATHER,
	[NCCL_REDUCE_SCATTER] = SIM_REDUCE_SCATTER,
	[NCCL_BROADCAST] = SIM_BROADCAST,
	[NCCL_REDUCE] = SIM_REDUCE,
	[NCCL_ALL_TO_ALL] = SIM_ALL_TO_ALL,
	[NCCL_GATHER] = SIM_GATHER,
	[NCCL_SCATTER] = SIM_SCATTER,
	[NCCL_SEND] = SIM_SEND_RECV,
	[NCCL_RECV] = SIM_SEND_RECV,
};

static void measure(struct nccl_launch *l)
{
	const struct nccl_settings *s = nccl_settings();
	uint64_t message = 0, sent = 0, received = 0;
	int nranks = l->comm->nranks;

	for (unsigned i = 0; i < l->n; i++) {
		const struct nccl_task *t = &l->tasks[i];

		l->bytes += nccl_contribution(t, nranks);
		if (t->func == NCCL_SEND)
			sent += nccl_message(t, nranks);
		else if (t->func == NCCL_RECV)
			received += nccl_message(t, nranks);
		else
			message += nccl_message(t, nranks);
	}
	if (l->p2p)
		l->bytes = message = sent > received ? sent : received;
	if (!s->from_scenario) {
		l->duration_ns = sim_rt_export()->collective_ns(collectives[l->tasks[0].func],
								nranks, message, l->comm->device);
		return;
	}
	/* GB/s are bytes per ns. */
	l->duration_ns =
		s->alpha_ns + (int64_t)((double)message *
					nccl_bus_factor(l->tasks[0].func, nranks) / s->busbw_gbs);
}

static ncclResult_t reserve(struct nccl_launch *l)
{
	struct ncclComm *c = l->comm;
	ncclResult_t rc = ncclSuccess;

	if (l->bytes > nccl_settings()->data_limit)
		return rc;
	if (!l->p2p)
		return nccl_reserve(c, -1, l->bytes);
	for (unsigned i = 0; i < l->n && rc == ncclSuccess; i++)
		if (l->tasks[i].func == NCCL_SEND)
			rc = nccl_reserve(c, l->tasks[i].root,
					  l->tasks[i].count * nccl_type_bytes(l->tasks[i].type));
	return rc;
}

/* One rank alone has nobody to wait for: a copy, or nothing. */
static ncclResult_t launch_alone(struct nccl_launch *l, cudaStream_t stream)
{
	ncclResult_t rc = ncclSuccess;

	for (unsigned i = 0; i < l->n && rc == ncclSuccess; i++) {
		const struct nccl_task *t = &l->tasks[i];

		if (t->send != t->recv && t->count)
			rc = nccl_cuda(cudaMemcpyAsync(t->recv, t->send,
						       t->count * nccl_type_bytes(t->type),
						       cudaMemcpyDeviceToDevice, stream),
				       "copy");
	}
	free(l);
	return rc;
}

static ncclResult_t launch(struct nccl_launch *l, cudaStream_t stream)
{
	enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
	struct ncclComm *c = l->comm;
	ncclResult_t rc = nccl_cuda(cudaSetDevice(c->device), "cudaSetDevice");
	int captured;

	if (rc == ncclSuccess && c->nranks == 1 && !l->p2p)
		return launch_alone(l, stream);
	measure(l);
	nccl_slow_down(l);
	if (rc == ncclSuccess)
		rc = reserve(l);
	if (rc == ncclSuccess)
		rc = nccl_cuda(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing");
	if (rc != ncclSuccess) {
		free(l);
		return rc;
	}
	captured = capture == cudaStreamCaptureStatusActive;
	/* From the launch on l belongs to the device thread: it may be gone when that returns. */
	l->captured = captured;
	l->hangs = nccl_next_hangs(c);
	pthread_mutex_lock(&c->lock);
	if (!captured)
		rc = order_streams(c, stream);
	if (!captured)
		__atomic_add_fetch(&c->in_flight, 1, __ATOMIC_RELAXED);
	if (rc == ncclSuccess)
		rc = nccl_kernel_launch(l, stream);
	if (rc != ncclSuccess) {
		if (!captured)
			__atomic_sub_fetch(&c->in_flight, 1, __ATOMIC_RELAXED);
		free(l);
	} else if (!captured) {
		c->last_stream = stream;
		c->launched = 1;
		if (c->many_streams)
			rc = nccl_cuda(cudaEventRecord(c->order, stream), "event");
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* From the i-th task: gathers those that share its kernel, marks them done, launches. */
static ncclResult_t launch_from(size_t i)
{
	const struct nccl_task *first = &group.tasks[i];
	cudaStream_t stream = first->stream;
	struct nccl_launch *l = calloc(1, sizeof(*l) + (group.n - i) * sizeof(l->tasks[0]));

	if (!l)
		return nccl_fail(ncclSystemError, "out of memory");
	l->comm = first->comm;
	l->p2p = is_p2p(first);
	for (size_t k = i; k < group.n; k++) {
		struct nccl_task *t = &group.tasks[k];

		if (!t->comm || t->comm != l->comm)
			continue;
		if (shares_kernel(&l->tasks[0], t) || k == i) {
			l->tasks[l->n++] = *t;
			if (k != i)
				t->comm = NULL;
		} else if (!l->p2p || !is_p2p(t)) {
			/* A collective never overtakes another one: ranks must count alike. */
			if (!l->p2p)
				break;
		}
	}
	return launch(l, stream);
}

ncclResult_t nccl_group_end(void)
{
	ncclResult_t rc;
	int device = -1;

	if (!group.depth)
		return nccl_fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	if (--group.depth)
		return ncclSuccess;
	if (group.error == ncclSuccess && group.job_n)
		run_jobs();
	if (group.n)
		cudaGetDevice(&device);
	for (size_t i = 0; i < group.n && group.error == ncclSuccess; i++)
		if (group.tasks[i].comm)
			note_error(launch_from(i));
	if (device >= 0)
		cudaSetDevice(device);
	rc = group.error;
	group.error = ncclSuccess;
	group.n = group.job_n = 0;
	return rc;
}
