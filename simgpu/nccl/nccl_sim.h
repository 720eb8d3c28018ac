/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the simulated NCCL.
 *
 * nccl_entry.c (the API) -> nccl_group.c (what a group collects, and its launches) -> nccl_kernel.c (a simulated
 * kernel that waits for the other ranks on the device) -> nccl_data.c (what the data becomes). Ranks meet in one
 * shared file per communicator (nccl_comm.c), whether they are threads, devices of one process, or processes.
 */
#ifndef SIM_NCCL_H
#define SIM_NCCL_H

#include <pthread.h>
#include <stdint.h>

#include "simgpu/core/sim_export.h"
#include "simgpu/nccl/nccl_api.h"

#define NCCL_MAX_RANKS 256
#define NCCL_SLOTS     4 /* arrivals posted ahead; two would do, see nccl_kernel.c */

enum nccl_func {
	NCCL_ALL_REDUCE,
	NCCL_ALL_GATHER,
	NCCL_REDUCE_SCATTER,
	NCCL_BROADCAST,
	NCCL_REDUCE,
	NCCL_ALL_TO_ALL,
	NCCL_GATHER,
	NCCL_SCATTER,
	NCCL_SEND,
	NCCL_RECV,
	NCCL_FUNCS
};

/* One call of the API. */
struct nccl_task {
	enum nccl_func func;
	const void *send;
	void *recv;
	size_t count; /* elements, as the call gave them */
	ncclDataType_t type;
	ncclRedOp_t op;
	int root; /* or the peer of send and receive */
	struct ncclComm *comm;
	cudaStream_t stream;
	void *event; /* a profiler plugin's handle */
};

/* One rank's arrival at one rendezvous. */
struct nccl_arrival {
	uint64_t arrived; /* sequence number + 1, release */
	uint64_t ready;	  /* the same, once the data is in the shared file */
	int64_t start_ns, end_ns;
	uint64_t bytes;	    /* each rank must bring as much */
	uint32_t signature; /* function, type, operation */
	uint32_t pad;
};

struct nccl_split_row {
	uint64_t seq; /* number of the split + 1 */
	int32_t color, key;
};

/* Head of the shared file. Behind it: arrivals[rank][slot], pairs[from * nranks + to][slot], split rows, then data. */
struct nccl_shared {
	uint32_t nranks; /* set by compare and swap: a rank with another count is refused */
	uint32_t joined, aborted, left;
	int32_t world
		[NCCL_MAX_RANKS]; /* rank in the job, by rank here; known once all have joined */
};

struct ncclComm {
	struct ncclComm *self; /* this, while alive: tells a handle from rubbish */
	int rank, nranks, device;
	uint64_t hash; /* of the unique id: the same on all ranks */
	char name[64]; /* of the shared file */
	char label[48];
	int fd;
	size_t map_bytes, region_bytes, pair_region_bytes;
	struct nccl_shared *shared; /* NULL once destroyed */
	struct nccl_arrival *arrivals, *pairs;
	struct nccl_split_row *splits;
	char *regions, *pair_regions;
	size_t *reserved; /* bytes of each own region that the file system has promised, by region */
	ncclResult_t async_error;

	/* Host side, under lock. */
	pthread_mutex_t lock;
	cudaStream_t last_stream;
	int launched, many_streams;
	cudaEvent_t order;
	uint64_t split_count;
	void *prof; /* the profiler plugin's context; NULL = none */
	uint64_t prof_seq[NCCL_FUNCS];
	uint32_t in_flight; /* atomic: launched and not finished */

	/* Device thread only. */
	uint64_t next_run, next_seq, finished;
	uint64_t *sent, *received; /* per peer: next sequence number */
	struct nccl_run *runs;
};

/* What one kernel does; lives until it has run, or for ever when captured in a graph. */
struct nccl_launch {
	struct ncclComm *comm;
	int captured, p2p, hangs;
	uint64_t bytes; /* of the contribution of a rank, see nccl_contribution */
	int64_t duration_ns;
	unsigned channels;
	unsigned n;
	struct nccl_task tasks[];
};

struct nccl_settings {
	int from_scenario; /* 0: the device's measured collectives instead of alpha and bus bandwidth */
	int64_t alpha_ns;
	double busbw_gbs;
	size_t data_limit; /* operations larger than this move no data */
};
const struct nccl_settings *nccl_settings(void);

/* Remembers the text for ncclGetLastError and returns rc. */
ncclResult_t nccl_fail(ncclResult_t rc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *nccl_last_error(void);
ncclResult_t nccl_cuda(cudaError_t err, const char *what);

/* Communicators. join returns at once; wait_joined blocks until all ranks are there. */
ncclResult_t nccl_comm_join(struct ncclComm **ret, const void *id, size_t id_bytes, int nranks,
			    int rank, int device);
ncclResult_t nccl_comm_wait_joined(struct ncclComm *c);
ncclResult_t nccl_comm_drain(struct ncclComm *c);
void nccl_comm_release(struct ncclComm *c);
/* For one that never came to be: tells the ranks that wait, and leaves no file. */
void nccl_comm_abandon(struct ncclComm *c);
int nccl_comm_ok(const struct ncclComm *c);
/* Makes sure that so much of an own region can be touched without SIGBUS. */
ncclResult_t nccl_reserve(struct ncclComm *c, int pair_peer, size_t bytes);
char *nccl_region(struct ncclComm *c, int rank, uint64_t seq);
char *nccl_pair_region(struct ncclComm *c, int from, int to, uint64_t seq);
static inline struct nccl_arrival *nccl_arrival(struct ncclComm *c, int rank, uint64_t seq)
{
	return &c->arrivals[(size_t)rank * NCCL_SLOTS + seq % NCCL_SLOTS];
}
/* Two rows for each pair: what the sender posts, then what the receiver posts. */
static inline struct nccl_arrival *nccl_pair(struct ncclComm *c, int from, int to, uint64_t seq,
					     int receiver)
{
	return &c->pairs[(((size_t)from * c->nranks + to) * NCCL_SLOTS + seq % NCCL_SLOTS) * 2 +
			 receiver];
}

/* Groups. */
ncclResult_t nccl_group_start(void);
ncclResult_t nccl_group_end(void);
ncclResult_t nccl_enqueue(const struct nccl_task *t);
ncclResult_t nccl_init_later(ncclComm_t *comm, const ncclUniqueId *id, int nranks, int rank);
ncclResult_t nccl_split_later(ncclComm_t parent, int color, int key, ncclComm_t *ret);

/* The profiler plugin, told of one run: nccl_profiler.c. */
#define NCCL_PROF_CHANNELS 24
struct nccl_prof_run {
	void *kernel[NCCL_PROF_CHANNELS], *proxy[2], *step[2]; /* proxies: 0 receives, 1 sends */
};
void nccl_prof_init(struct ncclComm *c);
void nccl_prof_finalize(struct ncclComm *c);
void nccl_prof_tasks(struct nccl_launch *l, unsigned channels);
void nccl_prof_arrive(struct nccl_launch *l, struct nccl_prof_run *r, int64_t start_ns);
void nccl_prof_put(struct nccl_launch *l, struct nccl_prof_run *r);
void nccl_prof_finish(struct nccl_launch *l, struct nccl_prof_run *r, int64_t end_ns);

/* Faults and laziness. */
void nccl_touch(const void *p, size_t bytes);
int32_t nccl_world_rank(int device);
void nccl_slow_down(struct nccl_launch *l);
int nccl_next_hangs(const struct ncclComm *c); /* call once for each launch */
/* Everything launched is over, or the limit is. */
int nccl_comm_drained(struct ncclComm *c, int limit_ms);

/* Kernels. */
ncclResult_t nccl_kernel_launch(struct nccl_launch *l, cudaStream_t stream);

/* Data. */
size_t nccl_type_bytes(ncclDataType_t t); /* 0 = no such type */
const char *nccl_type_name(ncclDataType_t t);
int nccl_can_reduce(ncclDataType_t t);
uint64_t nccl_contribution(const struct nccl_task *t, int nranks); /* bytes in the rank's region */
uint64_t nccl_message(const struct nccl_task *t, int nranks); /* bytes as bandwidth counts them */
double nccl_bus_factor(enum nccl_func f, int nranks);
void nccl_put(const struct nccl_task *t, char *region);
/* at: offset of this task's data in every region. */
void nccl_take(const struct nccl_task *t, uint64_t seq, size_t at);

#endif
