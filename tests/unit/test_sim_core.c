/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's timeline with a clock made by the test: every start and end is demanded to the nanosecond.
 * No device thread runs here; sim_step is called with the time it shall be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_lane.h"
#include "simgpu/core/sim_model.h"
#include "simgpu/core/sim_scenario.h"
#include "simgpu/core/sim_sink.h"

#define LATENCY 3000
#define T0	1000000 /* the first moment of a test */

static struct sim_space space;
static struct sim_lane a, b, n; /* two blocking streams, one that is not */
static int64_t seen_end[256];
static int n_seen;

static void on_op(void *arg, const struct sim_op *op)
{
	assert_true(n_seen < 256);
	seen_end[n_seen++] = op->end_ns;
}

static int setup(void **state)
{
	static const struct sim_sink sink = {.op = on_op};

	sim_settings.launch_latency_ns = LATENCY;
	sim_settings.queue = 1024;
	sim_space_init(&space, 1, 0);
	sim_lane_init(&a, &space, true);
	sim_lane_init(&b, &space, true);
	sim_lane_init(&n, &space, false);
	n_seen = 0;
	sim_sink_replace(&sink);
	return 0;
}

/* Everything that a test left behind is completed, so that the next one finds an empty heap. */
static int teardown(void **state)
{
	sim_enter();
	while (sim_step(SIM_NEVER - 1))
		;
	sim_leave();
	return 0;
}

static struct sim_work *put(struct sim_lane *l, int64_t submit_ns, int64_t duration_ns)
{
	struct sim_work *w = sim_work_new();

	w->op.kind = SIM_OP_KERNEL;
	w->duration_ns = duration_ns;
	w->latency_ns = LATENCY;
	w->refs++; /* the test looks at it later */
	sim_lane_submit(l, w, submit_ns);
	return w;
}

#define TIMES(w_, start_, end_)                                                                    \
	do {                                                                                       \
		assert_int_equal((w_)->op.start_ns, start_);                                       \
		assert_int_equal((w_)->op.end_ns, end_);                                           \
	} while (0)

static void test_one_stream(void **state)
{
	struct sim_work *w1, *w2, *w3;

	sim_enter();
	w1 = put(&a, T0, 10000);
	w2 = put(&a, T0 + 100, 5000);	/* queued: starts when the first ends */
	w3 = put(&a, T0 + 50000, 1000); /* idle again: its own latency */
	TIMES(w1, T0 + LATENCY, T0 + LATENCY + 10000);
	TIMES(w2, T0 + LATENCY + 10000, T0 + LATENCY + 15000);
	TIMES(w3, T0 + 50000 + LATENCY, T0 + 51000 + LATENCY);
	assert_int_equal(w1->op.stream, 8);
	assert_int_equal(a.queued, 3);
	assert_false(sim_step(T0 + LATENCY + 9999));
	assert_int_equal(n_seen, 0);
	assert_true(sim_step(T0 + LATENCY + 15000));
	assert_int_equal(n_seen, 2);
	assert_int_equal(a.queued, 1);
	sim_leave();
}

static void test_legacy_stream(void **state)
{
	struct sim_work *wa, *wb, *wn, *wl, *wa2, *wn2;

	sim_enter();
	wa = put(&a, T0, 10000);
	wb = put(&b, T0, 20000);
	wn = put(&n, T0, 90000);
	wl = put(&space.legacy, T0 + 10, 1000);
	wa2 = put(&a, T0 + 20, 1000);
	wn2 = put(&n, T0 + 20, 1000);
	TIMES(wa, T0 + LATENCY, T0 + LATENCY + 10000);
	TIMES(wb, T0 + LATENCY, T0 + LATENCY + 20000);
	TIMES(wl, wb->op.end_ns,
	      wb->op.end_ns + 1000); /* after both blocking streams, not after n */
	TIMES(wa2, wl->op.end_ns, wl->op.end_ns + 1000); /* and they after it */
	TIMES(wn2, wn->op.end_ns, wn->op.end_ns + 1000);
	assert_int_equal(wl->op.stream, 7);
	sim_leave();
}

static void test_destroyed_stream_still_counts(void **state)
{
	struct sim_work *wb, *wl;
	struct sim_point p = {0};

	sim_enter();
	wb = put(&b, T0, 20000);
	sim_lane_release(&b);
	wl = put(&space.legacy, T0 + 10, 1000);
	TIMES(wl, wb->op.end_ns, wb->op.end_ns + 1000);
	sim_space_now(&space, &p);
	assert_int_equal(p.ns, wl->op.end_ns);
	sim_leave();
}

static void test_events(void **state)
{
	struct sim_work *wa, *wn;
	struct sim_point e = {0};

	sim_enter();
	wa = put(&a, T0, 10000);
	sim_lane_now(&a, &e);
	sim_lane_wait(&n, &e);
	wn = put(&n, T0 + 50, 1000);
	TIMES(wn, wa->op.end_ns, wa->op.end_ns + 1000);
	assert_false(sim_point_done(&e, wa->op.end_ns - 1));
	assert_false(sim_point_done(&e, wa->op.end_ns)); /* over, but not yet completed */
	sim_step(wa->op.end_ns);
	assert_true(sim_point_done(&e, wa->op.end_ns));
	sim_leave();
}

/* ---- open operations ---- */
static int64_t closes_at; /* 0 = not yet, < 0 = fails */
static int arrived, finished, failed;

static void arrive(struct sim_work *w)
{
	arrived++;
}

static int poll_end(struct sim_work *w, int64_t *ret)
{
	*ret = closes_at;
	return closes_at < 0 ? -1 : closes_at > 0;
}

static void finish(struct sim_work *w)
{
	finished++;
}

static void on_failure(struct sim_work *w)
{
	failed++;
}

static const struct sim_behaviour by_hand = {.open = true, .start = arrive};
static const struct sim_behaviour meeting = {
	.open = true, .start = arrive, .poll = poll_end, .finish = finish};

static struct sim_work *put_open(struct sim_lane *l, int64_t submit_ns,
				 const struct sim_behaviour *how)
{
	struct sim_work *w = sim_work_new();

	w->op.kind = SIM_OP_KERNEL;
	w->behaviour = how;
	w->latency_ns = LATENCY;
	w->refs++;
	sim_lane_submit(l, w, submit_ns);
	return w;
}

static void test_rendezvous(void **state)
{
	struct sim_work *w0, *open, *after, *far, *other;
	struct sim_point e = {0};

	closes_at = arrived = finished = failed = 0;
	sim_enter();
	w0 = put(&a, T0, 10000);
	open = put_open(&a, T0 + 10, &meeting);
	after = put(&a, T0 + 20, 1000);
	sim_lane_now(&a, &e);
	sim_lane_wait(&n, &e);
	far = put(&n, T0 + 30, 7);
	other = put(&b, T0 + 40, 500);
	assert_int_equal(open->op.start_ns, w0->op.end_ns); /* known at once */
	assert_int_equal(other->state, SIM_SETTLED);	    /* others go on */
	sim_step(w0->op.end_ns - 1);
	assert_int_equal(arrived, 0);
	sim_step(
		w0->op.end_ns); /* arrives when its time has come and the data before it is there */
	assert_int_equal(arrived, 1);
	assert_int_equal(after->state, SIM_WAITING);
	sim_step(T0 + 900000);
	assert_int_equal(n_seen, 2); /* w0 and other */
	assert_false(sim_point_done(&e, T0 + 900000));
	closes_at = T0 + 500000; /* learnt late, dated right */
	while (sim_step(T0 + 900000))
		;
	TIMES(open, w0->op.end_ns, T0 + 500000);
	TIMES(after, T0 + 500000, T0 + 501000);
	TIMES(far, T0 + 501000, T0 + 501007);
	assert_int_equal(finished, 1);
	assert_int_equal(n_seen, 5);
	assert_true(sim_point_done(&e, T0 + 900000));
	sim_leave();
}

static void test_two_open_joined(void **state)
{
	struct sim_work *wl, *x, *y;

	closes_at = arrived = finished = 0;
	sim_enter();
	x = put_open(&a, T0, &by_hand);
	y = put_open(&b, T0, &meeting);
	wl = put(&space.legacy, T0, 10);
	sim_step(T0 + LATENCY);
	assert_int_equal(wl->state, SIM_WAITING);
	sim_work_close(x, T0 + 7000);
	assert_int_equal(wl->state, SIM_WAITING);
	closes_at = T0 + 9000;
	sim_step(T0 + LATENCY);
	TIMES(y, T0 + LATENCY, T0 + 9000);
	TIMES(wl, T0 + 9000, T0 + 9010);
	sim_leave();
}

static void test_failure(void **state)
{
	struct sim_work *open, *after;

	closes_at = -1;
	arrived = finished = failed = 0;
	sim_work_failed = on_failure;
	sim_enter();
	open = put_open(&a, T0, &meeting);
	after = put(&a, T0, 10);
	sim_step(T0 + 40000);
	sim_step(T0 + 40000);
	assert_int_equal(failed, 1);
	TIMES(open, T0 + LATENCY, T0 + 40000);
	TIMES(after, T0 + 40000, T0 + 40010);
	sim_leave();
	sim_work_failed = NULL;
}

static void test_long_chain_behind_open(void **state)
{
	enum { N = 200000 };
	struct sim_work *open, *last = NULL;

	closes_at = 0;
	sim_enter();
	open = put_open(&n, T0, &meeting);
	for (int i = 0; i < N; i++) {
		last = put(&n, T0, 1);
		if (i < N - 1)
			sim_work_unref(last);
	}
	sim_sink_replace(NULL);
	closes_at = T0 + 100000;
	sim_step(T0 + LATENCY);
	sim_step(T0 + LATENCY);
	TIMES(open, T0 + LATENCY, T0 + 100000);
	TIMES(last, T0 + 100000 + N - 1, T0 + 100000 + N); /* settled without recursion */
	while (sim_step(T0 + 10000000))
		;
	assert_int_equal(n.queued, 0);
	sim_leave();
}

static struct sim_work *started;
static int seen_at_start;
static void start_host(struct sim_work *w)
{
	started = w;
	seen_at_start = n_seen;
}
static const struct sim_behaviour host = {.open = true, .start = start_host};

static void test_host_function(void **state)
{
	struct sim_work *w0, *h, *after;

	started = NULL;
	sim_enter();
	w0 = put(&a, T0, 10000);
	h = put_open(&a, T0, &host);
	h->op.kind = 0;
	after = put(&a, T0, 5);
	sim_step(w0->op.end_ns - 1);
	assert_null(started);
	sim_step(w0->op.end_ns);
	assert_ptr_equal(started, h);
	assert_int_equal(seen_at_start, 1); /* what it follows had been completed */
	assert_int_equal(after->state, SIM_WAITING);
	sim_work_close(h, w0->op.end_ns + 777);
	TIMES(after, w0->op.end_ns + 777, w0->op.end_ns + 782);
	sim_leave();
}

static void test_completion_order(void **state)
{
	sim_enter();
	for (int i = 0; i < 40; i++) {
		put(&a, T0 + i, 1000 + i % 7 * 100);
		put(&n, T0 + i, 3000 - i * 13);
	}
	while (sim_step(T0 + 10000000))
		;
	assert_int_equal(n_seen, 80);
	for (int i = 1; i < n_seen; i++)
		assert_true(seen_end[i - 1] <= seen_end[i]);
	sim_leave();
}

/* ---- model and scenario ---- */
static char path[] = "/tmp/test_sim_core.XXXXXX";

static int load(const char *text, char *err, size_t bytes)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	unsetenv("SIMGPU_DEVICE");
	unsetenv("SIMGPU_DEVICES");
	return sim_scenario_load(path, err, bytes) || sim_model_load(err, bytes);
}

static void test_durations(void **state)
{
	char err[512] = "";
	struct sim_kernel_model gemm, other, first;
	int64_t lo = INT64_MAX, hi = 0;

	setenv("RANK", "1", 1);
	assert_int_equal(
		load("[kernel]\n^gemm = 2.5ms\ngem = 1us # not reached\n.*attn.* = 100us, 10%\n"
		     "[straggler] rank = 1   factor = 1.25\n[model] h2d_gbs = 40\n",
		     err, sizeof(err)),
		0);
	gemm = sim_model_of("gemm_nn");
	other = sim_model_of("nothing of the kind");
	first = sim_model_of("flash_attn_fwd");
	assert_int_equal(gemm.duration_ns, 2500000);
	assert_int_equal(sim_model_kernel_ns(&gemm, -1, 0, 0, 1, 1),
			 3125000); /* this rank is slow */
	assert_int_equal(sim_model_kernel_ns(&gemm, 7000, 1, 0, 1, 1),
			 2500000); /* a rendezvous is not */
	assert_int_equal(other.duration_ns, -1);
	assert_int_equal(sim_model_kernel_ns(&other, 7000, 1, 0, 1, 1), 7000);
	for (int i = 0; i < 2000; i++) {
		int64_t ns = sim_model_kernel_ns(&first, -1, 1, 0, 9, (uint64_t)i);
		assert_int_equal(ns, sim_model_kernel_ns(&first, -1, 1, 0, 9, (uint64_t)i));
		lo = ns < lo ? ns : lo;
		hi = ns > hi ? ns : hi;
	}
	assert_true(lo >= 90000 && lo < 91000 && hi <= 110000 && hi > 109000);
	assert_int_equal(sim_model_copy_ns(SIM_PATH_H2D, 0, 4000000), 1500 + 100000);
	assert_int_equal(sim_model_copy_ns(SIM_PATH_H2D, 1, 4000000), 1500 + 400000);
	assert_int_equal(sim_model_copy_ns(SIM_PATH_D2D, 0, 1500), 1501);
	unsetenv("RANK");
}

static void test_scenario_text(void **state)
{
	static const char *const wrong[] = {"[kernel]\nx\n",
					    "[kernel]\nx =\n",
					    "[kernel]\nx = 1 parsec\n",
					    "[kernel]\nx = 1us, 200%\n",
					    "[model]\nseed = -1\n",
					    "[model]\nhold = 1us\n",
					    "[device] count = 65\n",
					    "[straggler]\nrank = x\n",
					    "[nope]\n",
					    "[model] h2d_gbs = 0\n"};
	char err[512];

	assert_int_equal(load("# nothing\n\n[device]      name = a100      count = 2        hold = "
			      "50ms      # why\n"
			      "[cupti]\nlose_buffer=3\n[nccl] alpha = 10us\n",
			      err, sizeof(err)),
			 0);
	assert_string_equal(sim_settings.device->key, "a100");
	assert_int_equal(sim_settings.device_count, 2);
	assert_int_equal(sim_settings.hold_ns, 50000000);
	assert_string_equal(sim_scenario_get("cupti.lose_buffer"), "3");
	assert_string_equal(sim_scenario_get("nccl.alpha"), "10us");
	assert_null(sim_scenario_get("nccl.beta"));
	assert_null(sim_scenario_get("nccl"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err[0] = 0;
		assert_int_not_equal(load(wrong[i], err, sizeof(err)), 0);
		assert_true(strlen(err) > 20);
	}
	assert_int_not_equal(sim_scenario_load("/nonexistent/file", err, sizeof(err)), 0);
	assert_int_equal(load("", err, sizeof(err)), 0);
}

static void test_numbers(void **state)
{
	int64_t v;

	assert_int_equal(sim_parse_ns("2.5ms", &v), 0);
	assert_int_equal(v, 2500000);
	assert_int_equal(sim_parse_ns("1.000000001s", &v), 0);
	assert_int_equal(v, 1000000001);
	assert_int_equal(sim_parse_ns("17", &v), 0);
	assert_int_equal(v, 17);
	assert_int_not_equal(sim_parse_ns("ms", &v), 0);
	assert_int_not_equal(sim_parse_ns("-1us", &v), 0);
	assert_int_not_equal(sim_parse_ns("1.2.3us", &v), 0);
	assert_int_not_equal(sim_parse_ns("99999999999999s", &v), 0);
	assert_int_equal(sim_parse_milli("1.3", &v), 0);
	assert_int_equal(v, 1300);
}

static void test_uuids(void **state)
{
	unsigned char u[3][16];

	sim_device_uuid(0, u[0]);
	sim_device_uuid(0, u[1]);
	sim_device_uuid(1, u[2]);
	assert_memory_equal(u[0], u[1], 16);
	assert_memory_not_equal(u[0], u[2], 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_legacy_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroyed_stream_still_counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rendezvous, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_open_joined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chain_behind_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_completion_order, setup, teardown),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_scenario_text),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_uuids),
	};
	int fd = mkstemp(path), rc;

	if (fd < 0)
		return 1;
	close(fd);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
