/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the analysis of a job of 8 ranks costs against its ranks one by one: half a million kernels with a launch
 * call each (a million events) a rank, one collective in 50 kernels on two communicators, one rank late. Ledger and
 * ranks are measured, in CPU time of the one thread, reading is not. Prints the ratio; 1.2 is the limit.
 * usage: bench_ranks [EVENTS A RANK [RANKS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranks/ranks.h"
#include "timeline/builder.h"

#define LIMIT 1.2

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void add_rank(struct wt_builder *b, int rank, int ranks, int kernels)
{
	static const char *const names[] = {"ampere_bf16_s16816gemm_bf16_128x64_nn",
					    "void at::native::reduce_kernel<512>",
					    "void at::native::vectorized_elementwise_kernel<4>"};
	char path[32];
	uint16_t p, d;
	uint32_t thread, streams[2], launch = wt_builder_cstring(b, "cuLaunchKernel"), ids[4];
	int64_t at_ns = 1000000 + rank * 40000;
	uint64_t seq[2] = {0, 0};

	snprintf(path, sizeof(path), "rank%d", rank);
	p = wt_builder_process(b, wt_builder_input(b, path, "bench"), 1000 + rank);
	wt_builder_process_at(b, p)->rank = rank;
	wt_builder_process_at(b, p)->world = ranks;
	d = wt_builder_device(b, p, 0, NULL);
	wt_builder_device_at(b, d)->name = wt_builder_cstring(b, "NVIDIA H100 80GB HBM3");
	thread = wt_builder_thread(b, p, 1);
	streams[0] = wt_builder_stream(b, p, d, 7);
	streams[1] = wt_builder_stream(b, p, d, 20);
	for (int i = 0; i < 3; i++)
		ids[i] = wt_builder_cstring(b, names[i]);
	ids[3] = wt_builder_cstring(b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
	for (int k = 0; k < kernels; k++) {
		int is_coll = k % 50 == 49, which = k % 500 == 499;
		/* all arrive within 40 us of each other and end together at a multiple of 1.2 ms */
		int64_t dur_ns =
			is_coll ? (k / 50 + 1) * 1200000ll + 2000000 - at_ns : 15000 + k % 7 * 1000;
		struct wt_op op = {.start_ns = at_ns,
				   .end_ns = at_ns + dur_ns,
				   .correlation = (uint64_t)k + 1,
				   .name = ids[is_coll ? 3 : k % 3],
				   .stream = streams[is_coll],
				   .call = -1,
				   .collective = -1,
				   .device = d,
				   .process = p,
				   .kind = WT_OP_KERNEL};
		struct wt_call call = {.start_ns = at_ns - 30000,
				       .end_ns = at_ns - 25000,
				       .correlation = op.correlation,
				       .name = launch,
				       .thread = thread,
				       .stream = op.stream,
				       .parent = -1,
				       .process = p,
				       .kind = WT_CALL_LAUNCH};

		if (is_coll)
			op.collective = wt_builder_collective(
				b, &(struct wt_collective){
					   .comm = which ? 200 + (uint64_t)rank % 2 : 100,
					   .seq = seq[which]++,
					   .bytes = 1 << 20,
					   .nranks = (uint32_t)(which ? ranks / 2 : ranks),
					   .call = -1,
					   .peer = -1,
					   .lead = -1,
					   .process = p,
					   .op = WT_COLL_ALL_REDUCE});
		wt_builder_op(b, &op);
		wt_builder_call(b, &call);
		at_ns += dur_ns + 1000;
	}
}

static int64_t analyse(int first, int last, int ranks, int kernels)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;
	struct wt_ranks *r = NULL;
	int64_t from_ns, ns;

	for (int k = first; k < last; k++)
		add_rank(b, k, ranks, kernels);
	if (wt_builder_finish(b, &tl, NULL))
		exit(1);
	from_ns = cpu_ns();
	if (wt_ledger_build(&l, tl, NULL) || wt_ranks_build(&r, l, NULL))
		exit(1);
	ns = cpu_ns() - from_ns;
	if (last - first > 1)
		printf("%zu operations, %zu calls, %zu collectives; matched on the first "
		       "communicator: %llu\n",
		       tl->nops, tl->ncalls, tl->ncollectives,
		       (unsigned long long)r->comms[0].matched);
	wt_ranks_free(r);
	wt_ledger_free(l);
	wt_timeline_free(tl);
	return ns;
}

/* In a process of its own, as a report is: memory that an earlier one left warm would flatter the later. */
static int64_t apart(int first, int last, int ranks, int kernels)
{
	int64_t ns = -1;
	int ends[2], status = 1;
	pid_t pid;

	fflush(stdout);
	if (pipe(ends) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		ns = analyse(first, last, ranks, kernels);
		fflush(stdout);
		_exit(write(ends[1], &ns, sizeof(ns)) != sizeof(ns));
	}
	close(ends[1]);
	if (read(ends[0], &ns, sizeof(ns)) != sizeof(ns) || waitpid(pid, &status, 0) != pid ||
	    status)
		exit(1);
	close(ends[0]);
	return ns;
}

int main(int argc, char **argv)
{
	int kernels = (argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000000) / 2;
	int ranks = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8;
	int64_t singles_ns = 0, all_ns;

	for (int k = 0; k < ranks; k++)
		singles_ns += apart(k, k + 1, ranks, kernels);
	all_ns = apart(0, ranks, ranks, kernels);
	printf("%d ranks of %d events: one by one %.3f s of CPU time together, as one job %.3f s: "
	       "%.3f times\n",
	       ranks, kernels * 2, (double)singles_ns / 1e9, (double)all_ns / 1e9,
	       (double)all_ns / (double)singles_ns);
	return (double)all_ns > LIMIT * (double)singles_ns;
}
