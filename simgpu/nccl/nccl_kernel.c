/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a collective: a simulated kernel that waits for the other ranks on the device, so that the host call
 * returns at once and a late rank shows as a long kernel on the others.
 *
 * On each rank, on its device thread:  arrive: post (start, own end) -> poll: once what precedes the kernel is over,
 * put the contribution into the shared file and say ready; when all partners are ready, end = max of all own ends
 * -> finish: take the result. Ranks match by sequence number: collectives count per communicator, sends and receives
 * per pair. All launches of a communicator are ordered on the device (nccl_group.c), so runs finish in order.
 *
 * Why two halves of a region are enough: a rank puts data for run k + 2 only after it finished k + 1, for which every
 * partner had to be ready, for which each of them had finished k, that is, had read everything of k.
 */
#include "simgpu/nccl/nccl_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu/cudart/rt.h"

#define MAX_KERNELS  256
#define MAX_CHANNELS 24
#define CHUNK_BYTES  (64u << 10) /* what one channel is worth opening for */
#define BLOCK	     544
#define ARG_BYTES    4096 /* ncclDevKernelArgsStorage<4096> */

struct param {
	struct nccl_launch *launch;
	unsigned char rest[ARG_BYTES - sizeof(void *)];
};

/* One launch on its way, from arrive to finish. */
struct nccl_run {
	const struct sim_launch *key;
	struct nccl_launch *launch;
	struct nccl_run *next;
	uint64_t number; /* among the runs of this rank */
	int64_t start_ns, end_ns, final_ns;
	int put, skip;
	struct nccl_prof_run prof;
	uint64_t seqs[]; /* one for a collective, one per task of a send/receive kernel */
};

static const struct sim_export *sim(void)
{
	return sim_rt_export();
}

static struct nccl_launch *launch_of(const struct sim_launch *l)
{
	const struct param *p = l->param;
	struct nccl_launch *launch;

	memcpy(&launch, &p->launch, sizeof(launch));
	return launch;
}

static struct nccl_run **find_run(struct ncclComm *c, const struct sim_launch *l)
{
	struct nccl_run **link = &c->runs;

	while (*link && (*link)->key != l)
		link = &(*link)->next;
	return link;
}

static uint32_t signature(const struct nccl_task *t)
{
	return (uint32_t)t->func << 24 | ((uint32_t)t->type & 0xff) << 16 |
	       ((uint32_t)t->op & 0xff) << 8;
}

static int moves_data(const struct nccl_launch *l)
{
	return l->bytes <= nccl_settings()->data_limit;
}

static void post(struct nccl_arrival *a, uint64_t seq, const struct nccl_run *run, uint64_t bytes,
		 uint32_t sig)
{
	a->start_ns = run->start_ns;
	a->end_ns = run->end_ns;
	a->bytes = bytes;
	a->signature = sig;
	__atomic_store_n(&a->arrived, seq + 1, __ATOMIC_RELEASE);
}

/* The rows of a send or receive: ours and the partner's. */
static struct nccl_arrival *pair_row(const struct nccl_task *t, uint64_t seq, int mine)
{
	struct ncclComm *c = t->comm;

	if (t->func == NCCL_SEND)
		return nccl_pair(c, c->rank, t->root, seq, !mine);
	return nccl_pair(c, t->root, c->rank, seq, mine);
}

static int64_t kernel_duration(void *arg, const struct sim_launch *l)
{
	return launch_of(l)->duration_ns;
}

static void kernel_arrive(void *arg, const struct sim_launch *l, int64_t start_ns,
			  int64_t duration_ns)
{
	struct nccl_launch *launch = launch_of(l);
	struct ncclComm *c = launch->comm;
	unsigned n = launch->p2p ? launch->n : 1;
	struct nccl_run *run = calloc(1, sizeof(*run) + n * sizeof(run->seqs[0]));

	if (!run)
		return; /* poll finds nothing and fails the context */
	run->key = l;
	run->launch = launch;
	run->start_ns = start_ns;
	run->end_ns = start_ns + duration_ns;
	run->skip = !c->shared;
	run->next = c->runs;
	c->runs = run;
	if (run->skip)
		return;
	run->number = c->next_run++;
	nccl_prof_arrive(launch, &run->prof, start_ns);
	if (launch->hangs)
		return; /* nobody hears of it, and it hears of nobody */
	if (!launch->p2p) {
		run->seqs[0] = c->next_seq++;
		post(nccl_arrival(c, c->rank, run->seqs[0]), run->seqs[0], run, launch->bytes,
		     signature(&launch->tasks[0]));
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct nccl_task *t = &launch->tasks[i];

		run->seqs[i] = t->func == NCCL_SEND ? c->sent[t->root]++ : c->received[t->root]++;
		post(pair_row(t, run->seqs[i], 1), run->seqs[i], run,
		     t->count * nccl_type_bytes(t->type), 0);
	}
}

/* Our contribution goes into the shared file, once everything before the kernel is over. */
static void put_data(struct ncclComm *c, struct nccl_run *run)
{
	struct nccl_launch *l = run->launch;
	size_t at = 0;

	for (unsigned i = 0; i < l->n; i++) {
		const struct nccl_task *t = &l->tasks[i];

		if (!l->p2p) {
			if (moves_data(l))
				nccl_put(t, nccl_region(c, c->rank, run->seqs[0]) + at);
			at += nccl_contribution(t, c->nranks);
			continue;
		}
		if (t->func == NCCL_SEND && moves_data(l))
			nccl_put(t, nccl_pair_region(c, c->rank, t->root, run->seqs[i]));
		__atomic_store_n(&pair_row(t, run->seqs[i], 1)->ready, run->seqs[i] + 1,
				 __ATOMIC_RELEASE);
	}
	if (!l->p2p)
		__atomic_store_n(&nccl_arrival(c, c->rank, run->seqs[0])->ready, run->seqs[0] + 1,
				 __ATOMIC_RELEASE);
	run->put = 1;
}

/* 1: that partner is ready, *end_ns is raised. 0: not yet. -1: it does something else than we do. */
static int partner_ready(struct nccl_arrival *a, uint64_t seq, uint64_t bytes, uint32_t sig,
			 int64_t *end_ns)
{
	if (__atomic_load_n(&a->ready, __ATOMIC_ACQUIRE) != seq + 1)
		return 0;
	if (a->bytes != bytes || a->signature != sig)
		return -1;
	if (a->end_ns > *end_ns)
		*end_ns = a->end_ns;
	return 1;
}

static int partners_ready(struct ncclComm *c, struct nccl_run *run, int64_t *ret_end_ns)
{
	struct nccl_launch *l = run->launch;
	int64_t end_ns = run->end_ns;
	int rc = 1;

	if (!l->p2p) {
		for (int r = 0; r < c->nranks && rc == 1; r++)
			rc = partner_ready(nccl_arrival(c, r, run->seqs[0]), run->seqs[0], l->bytes,
					   signature(&l->tasks[0]), &end_ns);
	} else {
		for (unsigned i = 0; i < l->n && rc == 1; i++) {
			const struct nccl_task *t = &l->tasks[i];

			rc = partner_ready(pair_row(t, run->seqs[i], 0), run->seqs[i],
					   t->count * nccl_type_bytes(t->type), 0, &end_ns);
		}
	}
	*ret_end_ns = end_ns;
	return rc;
}

static int kernel_poll(void *arg, const struct sim_launch *l, int64_t *ret_end_ns)
{
	struct ncclComm *c = launch_of(l)->comm;
	struct nccl_run *run = *find_run(c, l);
	int64_t now = sim()->now_ns();
	int rc;

	if (!run)
		return -1;
	if (!run->skip && __atomic_load_n(&c->shared->aborted, __ATOMIC_ACQUIRE))
		run->skip = 1;
	if (run->skip) {
		*ret_end_ns = now > run->start_ns ? now : run->start_ns;
		return 1;
	}
	if (run->launch->hangs)
		return 0;
	if (!run->put) {
		/* All before the start is complete when we arrive, but for an earlier run that may be open. */
		if (c->finished != run->number)
			return 0;
		put_data(c, run);
		nccl_prof_put(run->launch, &run->prof);
	}
	rc = partners_ready(c, run, ret_end_ns);
	run->final_ns = *ret_end_ns;
	if (rc < 0) {
		nccl_fail(ncclInvalidUsage, "rank %d: the ranks call different operations",
			  c->rank);
		c->async_error = ncclInvalidUsage;
	}
	return rc;
}

/* The driver keeps what was never written untouched: it has to know what will be. */
static void touch_result(const struct nccl_task *t)
{
	size_t part = t->count * nccl_type_bytes(t->type);
	int root = t->comm->rank == t->root, parts = 1;

	if (t->func == NCCL_SEND || ((t->func == NCCL_REDUCE || t->func == NCCL_GATHER) && !root))
		return;
	if (t->func == NCCL_ALL_GATHER || t->func == NCCL_ALL_TO_ALL || t->func == NCCL_GATHER)
		parts = t->comm->nranks;
	nccl_touch(t->recv, part * (size_t)parts);
}

static void take_data(struct ncclComm *c, struct nccl_run *run)
{
	struct nccl_launch *l = run->launch;
	size_t at = 0;

	for (unsigned i = 0; i < l->n; i++) {
		const struct nccl_task *t = &l->tasks[i];

		touch_result(t);
		if (!l->p2p) {
			nccl_take(t, run->seqs[0], at);
			at += nccl_contribution(t, c->nranks);
		} else if (t->func == NCCL_RECV) {
			memcpy(t->recv, nccl_pair_region(c, t->root, c->rank, run->seqs[i]),
			       t->count * nccl_type_bytes(t->type));
		}
	}
}

static void kernel_finish(void *arg, const struct sim_launch *l)
{
	struct nccl_launch *launch = launch_of(l);
	struct ncclComm *c = launch->comm;
	struct nccl_run **link = find_run(c, l), *run = *link;

	if (!run)
		return;
	*link = run->next;
	if (c->shared && !run->skip && moves_data(launch))
		take_data(c, run);
	nccl_prof_finish(launch, &run->prof, run->final_ns);
	c->finished = run->number + 1;
	free(run);
	if (!launch->captured) {
		free(launch);
		__atomic_sub_fetch(&c->in_flight, 1, __ATOMIC_RELEASE);
	}
}

static const char *const func_names[NCCL_FUNCS] = {
	"allreduce", "allgather", "reducescatter", "broadcast", "reduce",
	"alltoall",  "gather",	  "scatter",	   "sendrecv",	"sendrecv",
};

static void kernel_tag(void *arg, const struct sim_launch *l, char *buf, uint64_t n)
{
	struct nccl_launch *launch = launch_of(l);
	struct ncclComm *c = launch->comm;
	struct nccl_run *run = *find_run(c, l);

	snprintf(buf, n,
		 "%s comm=%016" PRIx64 " rank=%d nranks=%d seq=%" PRIu64 " bytes=%" PRIu64
		 " ops=%u",
		 func_names[launch->tasks[0].func], c->hash, c->rank, c->nranks,
		 run && !launch->p2p ? run->seqs[0] : c->next_seq, launch->bytes, launch->n);
}

/* Kernels are made at first use and kept: a name each, found again by it. The address of a row is the host function. */
static struct kernel {
	char name[160];
} kernels[MAX_KERNELS];
static unsigned kernel_count;
static pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *op_name(ncclRedOp_t op, ncclDataType_t type)
{
	int whole = type <= ncclUint64;

	return op == ncclProd			? "Prod"
	       : op == ncclMax || op == ncclMin ? "MinMax"
	       : op == ncclAvg			? (whole ? "SumPostDiv" : "PreMulSum")
						: "Sum";
}

/* As nvcc would mangle ncclDevKernel_...(ncclDevKernelArgsStorage<4096ul>). */
static void kernel_name(const struct nccl_launch *l, char *buf, size_t n)
{
	static const char *const stems[NCCL_FUNCS] = {
		"AllReduce", "AllGather_RING_LL", "ReduceScatter", "Broadcast_RING_LL", "Reduce",
		"SendRecv",  "SendRecv",	  "SendRecv",	   "SendRecv",		"SendRecv",
	};
	const struct nccl_task *t = &l->tasks[0];
	ncclDataType_t type = t->type;
	char plain[96];

	/* Sums and products of signed integers are those of unsigned ones. */
	if (t->op == ncclSum || t->op == ncclProd)
		type = type == ncclInt8	   ? ncclUint8
		       : type == ncclInt32 ? ncclUint32
		       : type == ncclInt64 ? ncclUint64
					   : type;
	if (t->func == NCCL_ALL_REDUCE || t->func == NCCL_REDUCE_SCATTER || t->func == NCCL_REDUCE)
		snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_LL", stems[t->func],
			 op_name(t->op, t->type), nccl_type_name(type));
	else
		snprintf(plain, sizeof(plain), "ncclDevKernel_%s", stems[t->func]);
	snprintf(buf, n, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(plain), plain);
}

static struct kernel *get_kernel(const char *name)
{
	struct sim_kernel k = {
		.name = name,
		.param_bytes = sizeof(void *),
		.regs = 96,
		.duration_ns = kernel_duration,
		.arrive = kernel_arrive,
		.poll = kernel_poll,
		.finish = kernel_finish,
		.tag = kernel_tag,
	};
	struct kernel *ret = NULL;
	CUfunction f;

	pthread_mutex_lock(&kernel_lock);
	for (unsigned i = 0; i < kernel_count && !ret; i++)
		if (!strcmp(kernels[i].name, name))
			ret = &kernels[i];
	if (!ret && kernel_count < MAX_KERNELS && sim()) {
		struct kernel *row = &kernels[kernel_count];

		snprintf(row->name, sizeof(row->name), "%s", name);
		k.name = row->name;
		if (sim()->kernel_create(&f, &k) == CUDA_SUCCESS) {
			sim_rt_bind(row, f);
			kernel_count++;
			ret = row;
		}
	}
	pthread_mutex_unlock(&kernel_lock);
	return ret;
}

ncclResult_t nccl_kernel_launch(struct nccl_launch *l, cudaStream_t stream)
{
	uint64_t channels = l->bytes / CHUNK_BYTES + 1;
	cudaLaunchConfig_t config = {0};
	struct param param = {l, {0}};
	void *args[] = {&param};
	struct kernel *k;
	char name[160];

	kernel_name(l, name, sizeof(name));
	k = get_kernel(name);
	if (!k)
		return nccl_fail(ncclInternalError, "cannot make the kernel %s", name);
	config.gridDim.x = channels < MAX_CHANNELS ? (unsigned)channels : MAX_CHANNELS;
	if (!l->captured)
		nccl_prof_tasks(l, config.gridDim.x);
	config.gridDim.y = config.gridDim.z = 1;
	config.blockDim.x = BLOCK;
	config.blockDim.y = config.blockDim.z = 1;
	config.stream = stream;
	return nccl_cuda(cudaLaunchKernelExC(&config, k, args), "launch");
}
