/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scenario does to communication: slow links, an operation that never completes; and laziness: the driver is
 * told what is about to be written. Ranks are those of the job (RANK), or device indices where a process is no rank.
 */
#include "simgpu/nccl/nccl_sim.h"

#include <stddef.h>
#include <time.h>

#include "simgpu/cudart/rt.h"

#define MAX_DEVICES 64

/* The table, if it goes as far as the last of what this file wants. */
static const struct sim_export *table(void)
{
	const struct sim_export *s = sim_rt_export();

	return s && s->bytes >= offsetof(struct sim_export, fault) + sizeof(s->fault) ? s : NULL;
}

void nccl_touch(const void *p, size_t bytes)
{
	const struct sim_export *s = table();

	if (s)
		s->touch(p, bytes);
}

int32_t nccl_world_rank(int device)
{
	const struct sim_export *s = table();
	int64_t rank = s ? s->rank() : -1;

	return (int32_t)(rank >= 0 ? rank : device);
}

static int64_t between(const struct ncclComm *c, int rank, int peer)
{
	return table()->fault(SIM_FAULT_LINK_MILLI, c->shared->world[rank], c->shared->world[peer]);
}

/* Every rank comes to the same answer: the slowest link of the ring, or of the peers of its sends and receives. */
void nccl_slow_down(struct nccl_launch *l)
{
	struct ncclComm *c = l->comm;
	int64_t milli = 1000;

	if (!table())
		return;
	for (int r = 0; r < c->nranks && !l->p2p; r++) {
		int64_t m = between(c, r, (r + 1) % c->nranks);
		milli = m > milli ? m : milli;
	}
	for (unsigned i = 0; i < l->n && l->p2p; i++) {
		int64_t m = between(c, c->rank, l->tasks[i].root);
		milli = m > milli ? m : milli;
	}
	l->duration_ns = (int64_t)((__int128)l->duration_ns * milli / 1000);
}

int nccl_next_hangs(const struct ncclComm *c)
{
	static uint64_t counts[MAX_DEVICES];
	const struct sim_export *s = table();
	int64_t hang = s ? s->fault(SIM_FAULT_HANG, c->shared->world[c->rank], 0) : 0;

	if (!hang || c->device < 0 || c->device >= MAX_DEVICES)
		return 0;
	if (__atomic_add_fetch(&counts[c->device], 1, __ATOMIC_RELAXED) != (uint64_t)hang)
		return 0;
	s->truth_note("hung_collective", "rank=%d comm=%016llx number=%lld",
		      (int)c->shared->world[c->rank], (unsigned long long)c->hash, (long long)hang);
	return 1;
}

int nccl_comm_drained(struct ncclComm *c, int limit_ms)
{
	struct timespec t = {0, 1000000};

	for (int i = 0; i < limit_ms; i++) {
		if (!__atomic_load_n(&c->in_flight, __ATOMIC_ACQUIRE))
			return 1;
		nanosleep(&t, NULL);
	}
	return 0;
}
