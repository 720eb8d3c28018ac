/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analysis after reading: ledger, ranks and report (text and JSON) of a training job of a million events (device
 * operations and host calls together), and of eight ranks of it in one report; CPU seconds on one core and peak memory.
 *
 * usage: bench_analysis [EVENTS]      exit 1 beyond a limit: 1 s per million events, 1.2 x the singles for eight ranks,
 *        bench_analysis memory        64 bytes an event + 64 MiB at the peak, the timeline itself included (that alone)
 *
 * Each case is a process of its own, so that its peak is its own. CPU time, because the machines this runs on are
 * shared; the best of three.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger/ledger.h"
#include "ranks/ranks.h"
#include "report/report.h"
#include "timeline/builder.h"

#define RUNS	     3
#define STEP_KERNELS 1000 /* and a copy, a collective each 50, a wait */
#define NAMES	     48

struct timing {
	double finish, ledger, ranks, report; /* CPU seconds */
	double peak[5]; /* bytes: with the rows alone, then of finish, ledger, ranks, report */
	double peak_bytes;
	double events;
};

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_analysis: %s\n", what);
	exit(2);
}

/* The largest resident size since the last time asked (Linux: 5 to clear_refs forgets the peak). */
static double peak_bytes(void)
{
	char line[256];
	double kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	must(f != NULL, "no /proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtod(line + 6, NULL);
	fclose(f);
	f = fopen("/proc/self/clear_refs", "w");
	if (f) {
		fputs("5", f);
		fclose(f);
	}
	return kib * 1024;
}

/* One rank's steps, until it has so many events. */
struct rank {
	struct wt_builder *b;
	uint16_t process, device;
	uint32_t name[NAMES], stream[3], thread, call_name[4], shape, coll_name;
	int64_t host_ns, device_ns, comm_ns;
	uint64_t correlation, seq, events;
	uint32_t seed;
	int nranks, rank;
};

static uint32_t dice(struct rank *r, uint32_t n)
{
	r->seed = r->seed * 1664525u + 1013904223u;
	return (r->seed >> 8) % n;
}

static void start_rank(struct rank *r, struct wt_builder *b, int rank, int nranks)
{
	static const char *const words[] = {
		"ampere_bf16_s16816gemm_bf16_%ux64_nn", "void at::native::reduce_kernel<%u>",
		"void at::native::vectorized_elementwise_kernel<%u>", "my_kernel_%u"};
	char text[128];
	struct wt_process *p;

	*r = (struct rank){.b = b,
			   .seed = (uint32_t)rank + 1,
			   .rank = rank,
			   .nranks = nranks,
			   .host_ns = 1000000};
	snprintf(text, sizeof(text), "rank%d", rank);
	r->process = wt_builder_process(b, wt_builder_input(b, text, "bench"), 100 + rank);
	p = wt_builder_process_at(b, r->process);
	p->rank = rank;
	p->world = nranks;
	r->device = wt_builder_device(b, r->process, 0, NULL);
	wt_builder_device_at(b, r->device)->sm_count = 132;
	r->thread = wt_builder_thread(b, r->process, 7);
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), words[i % 4], i);
		r->name[i] = wt_builder_cstring(b, text);
	}
	for (int i = 0; i < 3; i++)
		r->stream[i] = wt_builder_stream(b, r->process, r->device, 7 + i);
	r->call_name[0] = wt_builder_cstring(b, "cudaLaunchKernel");
	r->call_name[1] = wt_builder_cstring(b, "cudaMemcpyAsync");
	r->call_name[2] = wt_builder_cstring(b, "cudaDeviceSynchronize");
	r->coll_name = wt_builder_cstring(b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)");
	r->shape =
		wt_builder_shape(b, &(struct wt_shape){.grid = {4096, 1, 1}, .block = {256, 1, 1}});
}

static void add_call(struct rank *r, int what, int kind, int64_t took_ns)
{
	wt_builder_call(r->b, &(struct wt_call){.start_ns = r->host_ns,
						.end_ns = r->host_ns + took_ns,
						.correlation = ++r->correlation,
						.name = r->call_name[what],
						.thread = r->thread,
						.stream = UINT32_MAX,
						.parent = -1,
						.process = r->process,
						.kind = (uint8_t)kind});
	r->host_ns += took_ns + 500 + dice(r, 2000);
	r->events++;
}

static void add_op(struct rank *r, int kind, uint32_t name, int stream, int64_t start_ns,
		   int64_t dur_ns, int32_t coll)
{
	wt_builder_op(r->b, &(struct wt_op){.start_ns = start_ns,
					    .end_ns = start_ns + dur_ns,
					    .correlation = r->correlation,
					    .name = name,
					    .stream = r->stream[stream],
					    .shape = kind == WT_OP_KERNEL ? r->shape : 0,
					    .call = -1,
					    .collective = coll,
					    .device = r->device,
					    .process = r->process,
					    .kind = (uint8_t)kind,
					    .copy_kind = kind == WT_OP_COPY ? WT_COPY_H2D : 0});
	r->events++;
}

static void add_collective(struct rank *r)
{
	struct wt_collective c = {.comm = 42,
				  .seq = ++r->seq,
				  .count = 1 << 20,
				  .bytes = 2 << 20,
				  .name = wt_builder_cstring(r->b, "allreduce"),
				  .nranks = (uint32_t)r->nranks,
				  .rank = (uint32_t)r->rank,
				  .call = -1,
				  .process = r->process,
				  .op = WT_COLL_ALL_REDUCE};
	int64_t start_ns = r->host_ns > r->comm_ns ? r->host_ns : r->comm_ns;

	add_call(r, 0, WT_CALL_LAUNCH, 1500);
	add_op(r, WT_OP_KERNEL, r->coll_name, 1, start_ns + 3000, 40000,
	       wt_builder_collective(r->b, &c));
	r->comm_ns = start_ns + 43000;
}

static void add_step(struct rank *r)
{
	add_call(r, 1, WT_CALL_COPY, 2500);
	add_op(r, WT_OP_COPY, 0, 2, r->host_ns + 2000, 30000, -1);
	for (int i = 0; i < STEP_KERNELS; i++) {
		int64_t start_ns = r->device_ns;

		add_call(r, 0, WT_CALL_LAUNCH, 1500 + dice(r, 1000));
		if (start_ns < r->host_ns + 1000) /* the queue had drained */
			start_ns = r->host_ns + 1000 + dice(r, 3000);
		else
			start_ns += dice(r, 1200);
		r->device_ns = start_ns + 2000 + dice(r, 9000);
		add_op(r, WT_OP_KERNEL, r->name[dice(r, NAMES)], 0, start_ns,
		       r->device_ns - start_ns, -1);
		if (i % 50 == 49)
			add_collective(r);
	}
	if (r->device_ns < r->comm_ns)
		r->device_ns = r->comm_ns;
	add_call(r, 2, WT_CALL_SYNC,
		 r->device_ns > r->host_ns ? r->device_ns - r->host_ns + 4000 : 4000);
}

static struct timing measure(uint64_t events, int nranks)
{
	struct wt_builder *b = wt_builder_new();
	struct timing t = {0};
	struct wt_timeline *tl;
	struct wt_ledger *l;
	struct wt_ranks *ranks;
	struct wt_report *r;
	struct wt_strbuf text = {.n = 0};
	struct wt_diag diag;
	double at;

	must(b != NULL, "out of memory");
	mallopt(M_MMAP_THRESHOLD, 1 << 20); /* as the command does */
	for (int i = 0; i < nranks; i++) {
		struct rank k;

		start_rank(&k, b, i, nranks);
		while (k.events < events)
			add_step(&k);
		t.events += (double)k.events;
	}
	t.peak[0] = peak_bytes();
	at = cpu_s();
	must(!wt_builder_finish(b, &tl, &diag), "finish failed");
	t.finish = cpu_s() - at;
	t.peak[1] = peak_bytes();
	at = cpu_s();
	must(!wt_ledger_build(&l, tl, &diag), "ledger failed");
	t.ledger = cpu_s() - at;
	t.peak[2] = peak_bytes();
	at = cpu_s();
	must(!wt_ranks_build(&ranks, l, &diag), "ranks failed");
	t.ranks = cpu_s() - at;
	t.peak[3] = peak_bytes();
	at = cpu_s();
	must(!wt_report_new(&r, tl, l, ranks), "report failed");
	wt_report_text(r, &text);
	wt_report_json(r, &text);
	must(!text.failed, "report failed");
	t.report = cpu_s() - at;
	t.peak[4] = peak_bytes();
	for (int i = 0; i < 5; i++)
		t.peak_bytes = t.peak[i] > t.peak_bytes ? t.peak[i] : t.peak_bytes;
	return t; /* the process ends: nothing is freed */
}

/* In a process of its own. */
static struct timing apart(uint64_t events, int nranks)
{
	struct timing *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		      got;
	int status;
	pid_t child;

	must(t != MAP_FAILED, "out of memory");
	child = fork();
	must(child >= 0, "cannot fork");
	if (!child) {
		*t = measure(events, nranks);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && !status, "a run failed");
	got = *t;
	munmap(t, sizeof(*t));
	return got;
}

static double total(const struct timing *t)
{
	return t->ledger + t->ranks + t->report;
}

static struct timing best(uint64_t events, int nranks)
{
	struct timing b = apart(events, nranks);

	for (int i = 1; i < RUNS; i++) {
		struct timing t = apart(events, nranks);

		if (total(&t) < total(&b))
			b = t;
	}
	printf("%d rank%s, %.2f M events: ledger %.3f, ranks %.3f, report %.3f: %.3f s CPU (and "
	       "%.3f to sort and join)\n",
	       nranks, nranks > 1 ? "s" : "", b.events / 1e6, b.ledger, b.ranks, b.report,
	       total(&b), b.finish);
	printf("  peak %.0f MiB (rows alone %.0f, finish %.0f, ledger %.0f, ranks %.0f, report "
	       "%.0f): 64 MiB and %.1f bytes an event\n",
	       b.peak_bytes / 1048576, b.peak[0] / 1048576, b.peak[1] / 1048576,
	       b.peak[2] / 1048576, b.peak[3] / 1048576, b.peak[4] / 1048576,
	       (b.peak_bytes - 67108864) / b.events);
	fflush(stdout);
	return b;
}

/* The peak of eight ranks against its limit: what the load of the machine does not change. */
static int memory_only(uint64_t events)
{
	struct timing t = apart(events, 8);

	printf("8 ranks, %.2f M events: peak %.0f MiB, 64 MiB and %.1f bytes an event\n",
	       t.events / 1e6, t.peak_bytes / 1048576, (t.peak_bytes - 67108864) / t.events);
	return (t.peak_bytes - 67108864) / t.events > 64;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "memory"))
		return memory_only(1000000);

	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct timing one = best(events, 1), eight = best(events, 8);
	double ratio = total(&eight) / (8 * total(&one));

	printf("eight ranks together: %.2f x the sum of the singles\n", ratio);
	return total(&one) > one.events / 1e6 || ratio > 1.2 ||
	       (one.peak_bytes - 67108864) / one.events > 64;
}
