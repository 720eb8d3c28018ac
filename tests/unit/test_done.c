/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer/trace/done.c, stream_waits.c: of calls without a record, those whose work was over by what somebody waited
 * for are missing, and the others may have been in flight. Each case lays a few calls of a cut trace out by hand;
 * launches marked LOST have no record.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gen/wt_scene.h"
#include "import/importer.h"

extern const struct wt_importer wt_importer_warptap;

#define A     1 /* streams */
#define B     2
#define C     3
#define E     1 /* events */
#define F     2
#define LOST  1
#define SEEN  0
#define BUSY  600 /* CUDA_ERROR_NOT_READY */
#define ERROR 400 /* CUDA_ERROR_INVALID_HANDLE */

static struct wt_scene scene;
static struct wt_scene_call *last; /* the one laid out last */

static void launch(uint32_t stream, int lost)
{
	sc_launch(&scene, 1, stream,
		  lost ? 0 : 1); /* not alike: which record is whose is not the question */
	last = &scene.call[scene.n - 1];
	last->lose_record = last->lose_api = (uint8_t)lost;
}

/* A call that makes no record. */
static void call(uint32_t op, uint32_t stream, uint32_t event, uint64_t dur_ns)
{
	last = sc_call(&scene, op, 1, dur_ns);
	last->stream = stream;
	last->function = event; /* the row's object */
	last->correlation = 0;
}

static void create(uint32_t event)
{
	call(SC_EVENT_CREATE, 0, event, 400);
}

static void record(uint32_t event, uint32_t stream)
{
	call(SC_EVENT_RECORD, stream, event, 600);
}

static void wait_for(uint32_t stream, uint32_t event)
{
	call(SC_STREAM_WAIT, stream, event, 600);
}

static void host_wait(uint32_t event)
{
	call(SC_EVENT_SYNC, 0, event, 50000);
}

static void query(uint32_t event, uint32_t status)
{
	call(SC_EVENT_QUERY, 0, event, 300);
	last->status = status;
}

static void host_wait_stream(uint32_t stream)
{
	call(SC_STREAM_SYNC, stream, 0, 50000);
}

/* ---- cases ---- */

static void by_the_host(void)
{
	launch(A, LOST);
	record(E, A);
	launch(A, LOST); /* behind what was waited for */
	host_wait(E);
}

static void by_a_query(void)
{
	launch(A, LOST);
	record(E, A);
	query(E, BUSY);
	query(E, 0);
	launch(A, LOST);
}

static void by_queries_without_success(void)
{
	launch(A, LOST);
	record(E, A);
	query(E, BUSY);
	query(E, ERROR);
}

static void by_a_query_of_the_stream(void)
{
	launch(A, LOST);
	launch(B, LOST);
	call(SC_STREAM_QUERY, A, 0, 300);
}

static void by_nobody(void)
{
	launch(A, LOST);
	record(E, A);
	wait_for(B, E);
}

static void by_a_stream_that_is_waited_for(void)
{
	launch(A, LOST);
	record(E, A);
	launch(A, LOST); /* not before the event */
	wait_for(B, E);
	launch(B, LOST);
	host_wait_stream(B);
}

/* The record of B's kernel says that what it waited for is over. */
static void by_a_stream_that_went_on(void)
{
	launch(A, LOST);
	record(E, A);
	wait_for(B, E);
	launch(B, SEEN);
	launch(A, LOST);
}

/* B waited too late: its kernel was there before. */
static void by_a_stream_that_had_gone_on(void)
{
	launch(A, LOST);
	record(E, A);
	launch(B, SEEN);
	wait_for(B, E);
}

static void over_three_streams(void)
{
	launch(A, LOST);
	record(E, A);
	wait_for(B, E);
	launch(B, LOST);
	record(F, B);
	wait_for(C, F);
	record(E, C); /* the handle once more */
	host_wait(E);
	launch(C, LOST);
}

/* Each wait is for the recording before it. */
static void of_the_recording_before(void)
{
	launch(A, LOST);
	record(E, A);
	wait_for(B, E);
	launch(A, LOST);
	record(E, A);
	host_wait_stream(B);
}

/* A handle given out again is ready without ever having been recorded. */
static void of_an_event_made_anew(void)
{
	create(E);
	launch(A, LOST);
	record(E, A);
	create(E);
	query(E, 0);
	host_wait(E);
}

/* Under capture the event belongs to the graph, whose launch may have recorded it elsewhere. */
static void of_an_event_under_capture(void)
{
	launch(A, LOST);
	record(E, A);
	record(E, B);
	last->flags = WARPTAP__V1__CALL_FLAG__CALL_FLAG_CAPTURED;
	host_wait(E);
}

static void by_a_copy_to_the_host(void)
{
	launch(A, LOST);
	launch(B, LOST);
	call(SC_SYNC_COPY, A, 0, 30000);
	last->bytes = 4096;
	last->flags = WARPTAP__V1__CALL_FLAG__CALL_FLAG_BLOCKING;
	sc_work(&scene, last, A, 3000);
	last->correlation = ++scene.correlation;
	last->lose_record = last->lose_api = 1;
	launch(A, LOST);
}

/* Another thread's launch returns when the wait has begun: it may have come behind it. */
static void beside_a_wait(void)
{
	struct wt_scene_call *other;

	sc_launch(&scene, 2, A, 0);
	other = &scene.call[scene.n - 1];
	other->lose_record = other->lose_api = 1;
	scene.now_ns = other->start_ns + 200;
	launch(B, SEEN);
	host_wait_stream(A);
	other->dur_ns = last->start_ns + 100 - other->start_ns;
}

static void by_the_context(void)
{
	launch(A, LOST);
	launch(B, LOST);
	call(SC_CTX_SYNC, 0, 0, 50000);
	launch(B, LOST);
}

static const struct {
	void (*lay_out)(void);
	uint64_t missing, in_flight;
} cases[] = {
	{by_the_host, 1, 1},
	{by_a_query, 1, 1},
	{by_queries_without_success, 0, 1},
	{by_a_query_of_the_stream, 1, 1},
	{by_nobody, 0, 1},
	{by_a_stream_that_is_waited_for, 2, 1},
	{by_a_stream_that_went_on, 1, 1},
	{by_a_stream_that_had_gone_on, 0, 1},
	{over_three_streams, 2, 1},
	{of_the_recording_before, 1, 1},
	{of_an_event_made_anew, 0, 1},
	{of_an_event_under_capture, 0, 1},
	{by_a_copy_to_the_host, 2, 2},
	{beside_a_wait, 0, 1},
	{by_the_context, 2, 1},
};

static struct wt_timeline *read_scene(void)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_diag diag = {.offset = -1};
	struct wt_timeline *tl;
	struct wt_source *src;

	wt_scene_write(&scene);
	assert_int_equal(wt_source_open_memory(&src, scene.out, scene.n_out), 0);
	wt_importer_warptap.read(src, b, wt_builder_input(b, "scene", "warptap"), &diag);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	return tl;
}

static void lay_out(void (*how)(void))
{
	scene = (struct wt_scene){.steps = 1, .cut = 1, .events = 1, .rank = -1};
	scene.call = calloc(SC_MOST, sizeof(*scene.call));
	assert_non_null(scene.call);
	scene.now_ns = 3000000;
	scene.correlation = 1200;
	for (int i = 0; i < 3; i++) { /* every stream has been at work */
		launch(A, SEEN);
		launch(B, SEEN);
	}
	how();
}

static void what_was_waited_for_is_missing(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t missing = 0, in_flight = 0;
		struct wt_timeline *tl;

		lay_out(cases[i].lay_out);
		tl = read_scene();
		for (size_t k = 0; k < tl->ncounts; k++) {
			missing += tl->counts[k].missing;
			in_flight += tl->counts[k].in_flight;
		}
		if (missing != cases[i].missing || in_flight != cases[i].in_flight)
			fail_msg("case %zu: %d missing, %d in flight; expected %d and %d", i,
				 (int)missing, (int)in_flight, (int)cases[i].missing,
				 (int)cases[i].in_flight);
		wt_timeline_free(tl);
		wt_scene_release(&scene);
	}
}

/* The time nobody observed ends where the wait for it did. */
static void a_hole_ends_with_the_wait(void **state)
{
	struct wt_timeline *tl;

	lay_out(by_nobody);
	host_wait(E);
	tl = read_scene();
	assert_int_equal(tl->nholes, 1);
	assert_int_equal(tl->holes[0].missing, 1);
	assert_int_equal(tl->holes[0].in_flight, 0);
	assert_int_equal(tl->holes[0].end_ns, sc_real(&scene, last->start_ns + last->dur_ns));
	wt_timeline_free(tl);
	wt_scene_release(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_waited_for_is_missing),
		cmocka_unit_test(a_hole_ends_with_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
