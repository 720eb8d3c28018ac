/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders that are merged give the timeline of one builder that has seen all; and no member of a row is forgotten in
 * fields.def.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "timeline_equal.h"

/* One file: two processes, two devices (the second has a UUID that all files share), everything that has an index. */
static void fill(struct wt_builder *b, int file)
{
	static const uint8_t uuid[16] = {1, 2, 3};
	char path[32];
	uint32_t in;
	uint16_t p[2], d[2];
	uint32_t thread, shape, instruction;

	snprintf(path, sizeof(path), "file%d", file);
	in = wt_builder_input(b, path, "test");
	wt_builder_input_at(b, in)->damage_text = wt_builder_cstring(b, path);
	p[0] = wt_builder_process(b, in, -1);
	wt_builder_process_at(b, p[0])->pid = 100;
	wt_builder_process_at(b, p[0])->rank = file;
	wt_builder_process_at(b, p[0])->name = wt_builder_cstring(b, "python");
	p[1] = wt_builder_process(b, in, 200);
	d[0] = wt_builder_device(b, p[0], 0, NULL);
	wt_builder_device_at(b, d[0])->name = wt_builder_cstring(b, "H100");
	d[1] = wt_builder_device(b, p[1], 1, uuid);
	if (!wt_builder_device_at(b, d[1])->name)
		wt_builder_device_at(b, d[1])->name = wt_builder_cstring(b, "H200");
	thread = wt_builder_thread(b, p[1], 7);
	wt_builder_thread_at(b, thread)->name = wt_builder_cstring(b, "worker");
	shape = wt_builder_shape(b, &(struct wt_shape){.grid = {1, 2, 3}});
	shape = wt_builder_shape_work(
		b, shape, wt_builder_work(b, &(struct wt_work){.m = 1, .n = (uint64_t)file}));
	instruction = wt_builder_instruction(
		b, &(struct wt_instruction){.path = wt_builder_cstring(b, path), .flops = 5});
	for (int i = 0; i < 4; i++) {
		int32_t call = wt_builder_call(
			b, &(struct wt_call){.start_ns = 1000 * file + 10 * i,
					     .end_ns = 1000 * file + 10 * i + 5,
					     .correlation = (uint64_t)i + 1,
					     .name = wt_builder_cstring(b, "launch"),
					     .thread = thread,
					     .stream = UINT32_MAX,
					     .parent = -1,
					     .process = p[1],
					     .kind = WT_CALL_LAUNCH});
		int32_t coll = wt_builder_collective(
			b, &(struct wt_collective){.comm = UINT64_MAX,
						   .seq = (uint64_t)i,
						   .name = wt_builder_cstring(b, "allreduce"),
						   .call = call,
						   .peer = -1,
						   .lead = -1,
						   .process = p[1]});

		wt_builder_op(b, &(struct wt_op){.start_ns = 2000 * file + 20 * i,
						 .end_ns = 2000 * file + 20 * i + 9,
						 .correlation = (uint64_t)i + 1,
						 .name = wt_builder_cstring(b, i % 2 ? "k" : path),
						 .stream = wt_builder_stream(b, p[1], d[1], i),
						 .shape = shape,
						 .call = i == 3 ? call : -1,
						 .collective = i == 2 ? coll : -1,
						 .device = d[1],
						 .process = p[1],
						 .kind = WT_OP_KERNEL,
						 .instruction = instruction});
	}
	wt_builder_range(b, &(struct wt_range){.start_ns = file,
					       .end_ns = file + 1,
					       .name = wt_builder_cstring(b, "step"),
					       .thread = thread,
					       .process = p[1],
					       .kind = WT_RANGE_USER});
	wt_builder_aside(b, &(struct wt_aside){.start_ns = file,
					       .end_ns = file + 1,
					       .stream = -1,
					       .name = wt_builder_cstring(b, "sync"),
					       .process = p[1]});
	wt_builder_member(b, &(struct wt_member){.comm = 9, .place = file, .rank = file % 2});
	wt_builder_standing(b, &(struct wt_standing){.comm = 9,
						     .enqueued = file,
						     .group = wt_builder_cstring(b, path),
						     .process = p[1]});
	wt_builder_hole(b, &(struct wt_hole){.start_ns = file,
					     .end_ns = file + 1,
					     .stream = wt_builder_stream(b, p[1], d[1], 0),
					     .device = d[1],
					     .process = p[1]});
	wt_builder_count(b, &(struct wt_count){.process = p[1], .counted = 4, .timed = 4});
	wt_builder_environment(b, p[0], "torch", path);
	wt_builder_note(b, "a note of %s", path);
	wt_builder_note(b, "a note of all");
}

static void test_merge(void **state)
{
	struct wt_builder *one = wt_builder_new(), *merged = wt_builder_new();
	struct wt_timeline *a = NULL, *b = NULL;

	for (int file = 0; file < 3; file++) {
		struct wt_builder *own = wt_builder_new();

		fill(one, file);
		fill(own, file);
		wt_builder_merge(merged, own);
	}
	assert_int_equal(wt_builder_finish(one, &a, NULL), 0);
	assert_int_equal(wt_builder_finish(merged, &b, NULL), 0);
	assert_int_equal(a->ndevices, 4);
	assert_int_equal(a->nops, 12);
	for (size_t i = 0; i < a->nops; i++)
		assert_true(a->ops[i].call >= 0);
	assert_timelines_equal(a, b, 0);
	assert_int_equal(a->nnotes, 4);
	assert_int_equal(b->nnotes, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(wt_timeline_string(a, a->notes[i]),
				    wt_timeline_string(b, b->notes[i]));
	wt_timeline_free(a);
	wt_timeline_free(b);
}

/* Bytes of a row that no field covers are padding: never more than 7 in one place, and few. */
static void test_nothing_is_forgotten(void **state)
{
	for (size_t t = 0; t < WT_TABLES; t++) {
		size_t covered = 0, ids = 0;

		for (size_t k = 0; k < wt_nfields; k++) {
			if (wt_fields[k].table != t)
				continue;
			covered += wt_fields[k].size;
			assert_int_equal(wt_fields[k].id, ++ids);
		}
		if (wt_tables[t].size - covered > 8)
			fail_msg("%s: %zu of %zu bytes are in fields.def", wt_tables[t].name,
				 covered, wt_tables[t].size);
	}
}

static void test_ranks(void **state)
{
	static const struct {
		int ranks[4], n, world;
		const char *note; /* NULL: none */
	} cases[] = {
		{{0, 1, 2, 3}, 4, 4, NULL},
		{{0, 3}, 2, 4, "2 of 4 ranks are not among the files: 1-2"},
		{{1, 3}, 2, 8, "6 of 8 ranks are not among the files: 0, 2, 4-7"},
		{{2, 2}, 2, 3, "rank 2 is claimed by two files, f0 and f1"},
		{{2}, 1, 8, "rank 2 of a job of 8 ranks: who waited for whom"},
		{{0}, 1, 1, NULL},
		{{-1, -1}, 2, 0, NULL},
		{{0, 9}, 2, 2, "1 of 2 ranks are not among the files: 1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wt_builder *b = wt_builder_new();
		struct wt_timeline *tl = NULL;

		for (int k = 0; k < cases[i].n; k++) {
			char path[16];
			uint16_t p;

			snprintf(path, sizeof(path), "f%d", k);
			p = wt_builder_process(b, wt_builder_input(b, path, "t"), 1);
			wt_builder_process_at(b, p)->rank = cases[i].ranks[k];
			wt_builder_process_at(b, p)->world = cases[i].world;
		}
		wt_builder_note_ranks(b);
		assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
		if (!cases[i].note)
			assert_int_equal(tl->nnotes, 0);
		else if (!tl->nnotes ||
			 !strstr(wt_timeline_string(tl, tl->notes[0]), cases[i].note))
			fail_msg("no word of '%s' in '%s'", cases[i].note,
				 tl->nnotes ? wt_timeline_string(tl, tl->notes[0]) : "");
		wt_timeline_free(tl);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_nothing_is_forgotten),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
