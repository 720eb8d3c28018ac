// SPDX-License-Identifier: Apache-2.0
/*
 * What others' tracing of a function costs a call, beside bench_hook.c's: a function of a launch's arguments around one
 * that does nothing. bench_tracers.sh builds it three times: as it is, with LTTng's tracepoints at both ends
 * (-DWITH_LTTNG), and instrumented for uftrace (-pg).
 *   bench_tracers time     ns a call, the median of turns
 *   bench_tracers count N  N calls, for an instruction counter
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/launch_tp.h"
#endif

#define TURNS	 401
#define BATCH	 2000
#define PAUSE_US 2000 /* whoever takes the events away keeps up */
#define BARE	 __attribute__((noinline, no_instrument_function))

static volatile int sink;

BARE static int driver(void *f, const uint32_t *at, void *stream, void **params, void **extra)
{
	__asm__ volatile("" ::: "memory");
	return sink;
}

__attribute__((noinline)) static int launch(void *f, uint32_t gx, uint32_t gy, uint32_t gz,
					    uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
					    void *stream, void **params, void **extra)
{
	uint32_t at[] = {gx, gy, gz, bx, by, bz, shared};
	int status;

#ifdef WITH_LTTNG
	lttng_ust_tracepoint(launch, enter, (uintptr_t)f, at, (uintptr_t)stream);
#endif
	status = driver(f, at, stream, params, extra);
#ifdef WITH_LTTNG
	lttng_ust_tracepoint(launch, leave, status);
#endif
	return status;
}

BARE static void calls(long n)
{
	for (long i = 0; i < n; i++)
		launch((void *)0x55, 128, 2, 1, 256, 1, 1, 4096, (void *)0x66, NULL, NULL);
}

BARE static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

BARE static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

BARE static void turns(void)
{
	static int64_t ns[TURNS];

	for (int t = 0; t < TURNS; t++) {
		int64_t start = now_ns();

		calls(BATCH);
		ns[t] = now_ns() - start;
		usleep(PAUSE_US);
	}
	qsort(ns, TURNS, sizeof(ns[0]), by_value);
	printf("%.2f\n", (double)ns[TURNS / 2] / BATCH);
}

BARE int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "count"))
		calls(atol(argv[2]));
	else if (argc == 2 && !strcmp(argv[1], "time"))
		turns();
	else
		return fprintf(stderr, "bench_tracers: run it by bench_tracers.sh\n"), 2;
	return 0;
}
