/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own files into a timeline: every device operation hangs on the call that launched it, the identity of
 * completeness holds, holes lie where records are missing, and damage is told. The scenes (tests/gen/wt_scene.h) know
 * the truth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bounds/bound.h"
#include "gen/wt_scene.h"
#include "import/importer.h"

extern const struct wt_importer wt_importer_warptap;

struct seen {
	struct wt_timeline *tl;
	struct wt_diag diag;
	int rc;
	size_t joined, wrong, ambiguous, single;
	uint64_t counted[WT_COUNT_KINDS], timed[WT_COUNT_KINDS];
	struct wt_count total;
	uint64_t outside; /* launches */
};

static const struct wt_scene_call *call_of(const struct wt_scene *s, uint64_t correlation)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->call[i].correlation == correlation)
			return &s->call[i];
	return NULL;
}

static void judge(const struct wt_scene *s, struct seen *e)
{
	const struct wt_timeline *tl = e->tl;

	for (size_t i = 0; i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		const struct wt_scene_call *truth = call_of(s, op->correlation);
		const struct wt_call *c = op->call >= 0 ? &tl->calls[op->call] : NULL;

		assert_non_null(truth);
		assert_int_equal(op->end_ns - op->start_ns, truth->op_dur_ns);
		if (!c) {
			e->single++;
			continue;
		}
		e->joined++;
		e->ambiguous += (op->flags & WT_OP_AMBIGUOUS) != 0;
		/* every call of the scene has a start of its own */
		if (c->start_ns != (int64_t)sc_real(s, truth->start_ns) &&
		    !(op->flags & WT_OP_AMBIGUOUS))
			e->wrong++;
	}
	for (size_t i = 0; i < tl->ncounts; i++) {
		const struct wt_count *c = &tl->counts[i];

		e->counted[c->kind] += c->counted;
		e->timed[c->kind] += c->timed;
		e->total.counted += c->counted;
		e->total.timed += c->timed;
		e->total.untimed += c->untimed;
		e->total.missing += c->missing;
		e->total.in_flight += c->in_flight;
		e->total.dropped_agent += c->dropped_agent;
		e->total.dropped_cupti += c->dropped_cupti;
		e->total.captured += c->captured;
		e->total.failed += c->failed;
		e->total.extra += c->extra;
		e->outside += c->kind == WT_COUNT_LAUNCH ? c->outside : 0;
		if (tl->processes[0].level == 3)
			assert_int_equal(c->counted, c->timed + c->untimed + c->dropped_agent +
							     c->dropped_cupti + c->missing +
							     c->in_flight + c->device_error);
	}
	for (size_t i = 0; i < tl->nnotes; i++)
		assert_null(strstr(wt_timeline_string(tl, tl->notes[i]), "does not add up"));
}

static struct seen read_bytes(const struct wt_scene *s, const uint8_t *p, size_t n)
{
	struct seen e = {.diag.offset = -1};
	struct wt_builder *b = wt_builder_new();
	struct wt_source *src;

	assert_int_equal(wt_source_open_memory(&src, p, n), 0);
	e.rc = wt_importer_warptap.read(src, b, wt_builder_input(b, "scene", "warptap"), &e.diag);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, &e.tl, NULL), 0);
	if (s)
		judge(s, &e);
	return e;
}

static struct seen read_scene(struct wt_scene *s)
{
	wt_scene_write(s);
	return read_bytes(s, s->out, s->n_out);
}

static uint64_t records_of(const struct wt_scene *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->call[i].lose_record ? 0 : s->call[i].records;
	return n;
}

static void all_is_there(void **state)
{
	struct wt_scene s = {
		.steps = 20, .kernels = 24, .graphs = 1, .threads = 1, .collectives = 1, .rank = 1};
	struct seen e;
	const struct wt_process *p;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.rc, 0);
	assert_int_equal(e.wrong, 0);
	assert_int_equal(e.single, 0);
	assert_int_equal(e.ambiguous, 0);
	assert_int_equal(e.joined, records_of(&s));
	assert_int_equal(e.total.counted, e.total.timed);
	assert_int_equal(e.counted[WT_COUNT_LAUNCH], 20 * (24 + 3));
	assert_int_equal(e.counted[WT_COUNT_GRAPH_LAUNCH], 10);
	assert_int_equal(e.counted[WT_COUNT_COLLECTIVE], 20 * 3);
	assert_int_equal(e.timed[WT_COUNT_COLLECTIVE], 20 * 3);
	assert_int_equal(e.total.captured, 1);
	assert_int_equal(e.total.failed, 1);
	assert_int_equal(e.total.extra, 0);
	assert_int_equal(e.tl->nholes, 0);
	p = &e.tl->processes[0];
	assert_int_equal(p->level, 3);
	assert_int_equal(p->ended, 1);
	assert_int_equal(p->rank, 1);
	assert_int_equal(p->collect_start_ns, sc_real(&s, 1000000));
	assert_int_equal(p->collect_end_ns, sc_real(&s, s.now_ns));
	assert_int_equal(e.tl->ndevices, 1);
	assert_int_equal(e.tl->devices[0].sm_count, 132);
	assert_int_equal(e.tl->nstreams, 2);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void collectives_own_their_kernels(int siblings)
{
	struct wt_scene s = {
		.steps = 6, .kernels = 16, .collectives = 1, .rank = 0, .siblings = siblings};
	struct seen e;
	size_t owned = 0;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.tl->ncollectives, 12);
	for (size_t i = 0; i < e.tl->nops; i++) {
		const struct wt_op *op = &e.tl->ops[i];
		const struct wt_collective *c;
		int nccl = strstr(wt_timeline_string(e.tl, op->name), "nccl") != NULL;

		assert_int_equal(op->collective >= 0, nccl);
		if (!nccl)
			continue;
		owned++;
		c = &e.tl->collectives[op->collective];
		assert_int_equal(c->op, WT_COLL_ALL_REDUCE);
		assert_int_equal(c->nranks, 2);
		assert_int_equal(c->bytes, c->count * 4);
		assert_int_not_equal(c->comm, 0);
		assert_true(c->call >= 0);
		assert_int_equal(e.tl->calls[op->call].parent, c->call);
	}
	assert_int_equal(owned, 12);
	for (size_t i = 0; i < e.tl->ncollectives; i++)
		assert_int_equal(e.tl->collectives[i].seq, i + 1);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void one_call_inside(void **state)
{
	collectives_own_their_kernels(0);
}

/* The launch is followed by another call of the same parent, which tells nothing about where the parent ends. */
static void several_calls_inside(void **state)
{
	collectives_own_their_kernels(1);
}

static void a_lost_buffer(void **state)
{
	/* functions differ within a step and repeat with it: only order can tell the steps apart */
	struct wt_scene s = {.steps = 60,
			     .kernels = 24,
			     .graphs = 1,
			     .threads = 1,
			     .collectives = 1,
			     .rank = -1};
	uint64_t lost = 0;

	for (int no_api = 0; no_api < 2; no_api++) {
		struct seen e;

		s = (struct wt_scene){.steps = 60,
				      .kernels = 24,
				      .threads = 1,
				      .collectives = 1,
				      .no_api = no_api,
				      .lose_from = 500,
				      .lose_to = 815,
				      .rank = -1};
		lost = 0;
		wt_scene_make(&s);
		for (uint32_t i = 500; i < 815; i++)
			lost += s.call[i].records;
		e = read_scene(&s);
		assert_int_equal(e.rc, 0);
		assert_int_equal(e.wrong, 0);
		assert_int_equal(e.joined + e.single, records_of(&s));
		assert_true(e.single <= 2);
		/* collectives are counted beside: their launches are among the lost */
		assert_true(e.total.missing + e.total.dropped_cupti >= lost);
		assert_true(e.tl->nholes >= 2);
		wt_timeline_free(e.tl);
		wt_scene_release(&s);
	}
}

/* A hole runs from the end of the record before to the next start, or to the return of a wait that covers it. */
static void holes_lie_where_records_are_missing(void **state)
{
	struct wt_scene s = {.steps = 4, .kernels = 6, .rank = -1};
	struct seen e;
	const struct wt_scene_call *first, *last, *sync = NULL;

	wt_scene_make(&s);
	/* kernels 2 and 3 of step 1: a record behind them on the stream */
	for (uint32_t i = 0; i < s.n; i++)
		if (s.call[i].step == 1 && s.call[i].op == SC_LAUNCH && !s.call[i].status &&
		    (s.call[i].function == 3 || s.call[i].function == 4))
			s.call[i].lose_record = s.call[i].lose_api = 1;
	e = read_scene(&s);
	assert_int_equal(e.wrong, 0);
	assert_int_equal(e.tl->nholes, 1);
	assert_int_equal(e.tl->holes[0].missing, 2);
	first = last = NULL;
	for (uint32_t i = 0; i < s.n; i++) {
		if (s.call[i].step == 1 && s.call[i].function == 2)
			first = first ? first : &s.call[i];
		if (s.call[i].step == 1 && s.call[i].function == 5)
			last = &s.call[i];
	}
	assert_int_equal(e.tl->holes[0].start_ns,
			 (int64_t)sc_real(&s, first->op_start_ns + first->op_dur_ns));
	assert_int_equal(e.tl->holes[0].end_ns, (int64_t)sc_real(&s, last->op_start_ns));
	assert_int_equal(e.total.missing, 2);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);

	/* the last two of a step: the wait at its end covers them */
	s = (struct wt_scene){.steps = 4, .kernels = 6, .rank = -1};
	wt_scene_make(&s);
	for (uint32_t i = 0; i < s.n; i++) {
		if (s.call[i].step == 2 && (s.call[i].op == SC_MEMSET || s.call[i].function == 6))
			s.call[i].lose_record = s.call[i].lose_api = 1;
		if (s.call[i].step == 2 && s.call[i].op == SC_CTX_SYNC)
			sync = &s.call[i];
	}
	e = read_scene(&s);
	assert_int_equal(e.tl->nholes, 1);
	assert_int_equal(e.tl->holes[0].end_ns,
			 (int64_t)sc_real(&s, sync->start_ns + sync->dur_ns));
	assert_int_equal(e.total.missing, 2);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void without_api_records(void **state)
{
	struct wt_scene s = {.steps = 30,
			     .kernels = 24,
			     .threads = 1,
			     .graphs = 1,
			     .collectives = 1,
			     .no_api = 1,
			     .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.wrong, 0);
	assert_int_equal(e.single, 0);
	assert_int_equal(e.total.counted, e.total.timed);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void host_rows_lost(void **state)
{
	struct wt_scene s = {
		.steps = 30, .kernels = 24, .rows_from = 300, .rows_to = 380, .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.wrong, 0);
	/* counted all the same, and the records are there */
	assert_int_equal(e.total.counted, e.total.timed);
	assert_int_equal(e.total.missing, 0);
	assert_int_equal(e.total.extra, 0);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

/* Host rows and records lost at once: the length of a hole proves nothing, so nothing behind it is joined. */
static void both_sides_lost(void **state)
{
	struct wt_scene s = {.steps = 60,
			     .kernels = 24,
			     .threads = 1,
			     .lose_from = 500,
			     .lose_to = 730,
			     .rows_from = 560,
			     .rows_to = 900,
			     .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.wrong, 0);
	assert_true(e.joined > 300);
	assert_int_equal(e.joined + e.single, records_of(&s));
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void killed(void **state)
{
	struct wt_scene s = {
		.steps = 30, .kernels = 24, .cut = 1, .no_sync = 1, .in_flight = 9, .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.rc, -WT_E_TRUNCATED);
	assert_int_equal(e.wrong, 0);
	assert_int_equal(e.single, 0);
	assert_int_equal(e.total.in_flight, 9);
	assert_int_equal(e.total.missing, 0);
	assert_int_equal(e.tl->processes[0].ended, 0);
	assert_int_equal(e.tl->inputs[0].damaged, 1);
	assert_non_null(strstr(wt_timeline_string(e.tl, e.tl->inputs[0].damage_text), "cut"));
	assert_true(e.tl->processes[0].collect_end_ns < INT64_MAX);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void no_device_records(void **state)
{
	struct wt_scene s = {
		.steps = 5, .kernels = 10, .no_device = 1, .collectives = 1, .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.rc, 0);
	assert_int_equal(e.tl->nops, 0);
	assert_int_equal(e.tl->nholes, 0);
	assert_int_equal(e.tl->processes[0].level, 2);
	assert_int_equal(e.counted[WT_COUNT_LAUNCH], 5 * 11);
	assert_int_equal(e.total.missing, 0);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void the_clock_is_set(void **state)
{
	struct wt_scene s = {.steps = 30, .kernels = 24, .step_clock = 1, .rank = -1};
	struct seen e;
	size_t wrong_side = 0;

	wt_scene_make(&s);
	e = read_scene(&s);
	/* order joins whatever the clock does; only calls between the two rows around the step can be off */
	for (size_t i = 0; i < e.tl->nops; i++) {
		const struct wt_scene_call *truth = call_of(&s, e.tl->ops[i].correlation);
		int64_t off = e.tl->calls[e.tl->ops[i].call].start_ns -
			      (int64_t)sc_real(&s, truth->start_ns);

		assert_true(off == 0 || off == -1000000000);
		wrong_side += off != 0;
	}
	assert_true(wrong_side <= 26);
	assert_int_equal(e.single, 0);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

static void untimed_records(void **state)
{
	struct wt_scene s = {.steps = 6, .kernels = 10, .rank = -1};
	struct seen e;

	wt_scene_make(&s);
	for (uint32_t i = 20; i < 23; i++)
		s.call[i].untimed = 1;
	e = read_scene(&s);
	assert_int_equal(e.total.untimed, 3);
	assert_int_equal(e.total.missing, 0);
	assert_true(e.tl->nholes >= 1);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

/* Whatever is cut or flipped: no crash, an answer, and damage is told. */
/* Steps, ranges whose name comes in two parts, requests across steps; what is open at the end of a cut file. */
static void marks_become_ranges(void **state)
{
	for (int cut = 0; cut < 2; cut++) {
		struct wt_scene s = {.steps = 3, .kernels = 4, .marks = 1, .cut = cut, .rank = -1};
		size_t steps = 0, parts = 0, requests = 0;
		struct seen e;
		int64_t end_ns = INT64_MIN;

		wt_scene_make(&s);
		e = read_scene(&s);
		for (size_t i = 0; i < e.tl->nranges; i++) {
			const struct wt_range *r = &e.tl->ranges[i];
			const char *name = wt_timeline_string(e.tl, r->name);

			assert_true(r->end_ns >= r->start_ns);
			switch (r->kind) {
			case WT_RANGE_STEP:
				assert_int_equal(r->step, steps++);
				assert_int_equal(r->marked, 1);
				assert_string_equal(name, "step");
				assert_true(r->start_ns >= end_ns);
				end_ns = r->end_ns;
				break;
			case WT_RANGE_USER:
				parts++;
				assert_int_equal(r->marked, 0);
				assert_string_equal(name,
						    "a range whose name goes on behind the batch");
				break;
			default:
				assert_int_equal(r->kind, WT_RANGE_REQUEST);
				assert_int_equal(r->step, requests++);
			}
		}
		/* The last request is never ended; the last step of a cut file lasts to its end. */
		assert_int_equal(steps, 3);
		assert_int_equal(parts, 3);
		assert_int_equal(requests, 2);
		wt_timeline_free(e.tl);
		wt_scene_release(&s);
	}
}

static void damaged(void **state)
{
	struct wt_scene s = {
		.steps = 3, .kernels = 8, .graphs = 1, .threads = 1, .collectives = 1, .rank = 0};
	size_t silent = 0;

	wt_scene_make(&s);
	wt_scene_write(&s);
	for (size_t n = 0; n < s.n_out; n += 1 + n / 40) {
		struct seen e = read_bytes(NULL, s.out, n);

		assert_int_not_equal(e.rc, 0);
		assert_true(e.diag.text[0] != '\0');
		wt_timeline_free(e.tl);
	}
	for (size_t at = 0; at < s.n_out; at += 3) {
		struct seen e;

		s.out[at] ^= 0x20;
		e = read_bytes(NULL, s.out, s.n_out);
		s.out[at] ^= 0x20;
		silent += e.rc == 0;
		wt_timeline_free(e.tl);
	}
	assert_true(silent <= 8);
	wt_scene_release(&s);
}

static void pause(struct wt_scene *s, struct seen *e)
{
	uint64_t launches = 0, inside = 0;

	wt_scene_make(s);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct wt_scene_call *c = &s->call[i];

		if (c->op != SC_LAUNCH || c->flags & 1 || c->status)
			continue;
		launches++;
		inside += !sc_paused(s, c);
	}
	*e = read_scene(s);
	assert_int_equal(e->rc, 0);
	assert_int_equal(e->wrong, 0);
	assert_int_equal(e->single, 0);
	assert_int_equal(e->total.missing + e->total.in_flight + e->total.untimed, 0);
	assert_int_equal(e->counted[WT_COUNT_LAUNCH], inside);
	assert_int_equal(e->timed[WT_COUNT_LAUNCH], inside);
	assert_int_equal(e->outside, launches - inside);
	assert_int_equal(e->tl->nholes, 1);
	assert_int_equal(e->tl->holes[0].paused, 1);
	assert_int_equal(e->tl->holes[0].missing, 0);
	wt_timeline_free(e->tl);
}

/*
 * Collection stood back and came back, in a job whose launches are all alike: nothing but the moment tells which call
 * the first record after the pause belongs to.
 */
static void collection_stood_back(void **state)
{
	for (uint32_t edge = 0; edge < 12; edge += 3) {
		for (int threads = 0; threads < 2; threads++) {
			struct wt_scene s = {.steps = 30,
					     .kernels = 24,
					     .functions = 1,
					     .threads = threads,
					     .collectives = threads,
					     .pause_from = 10,
					     .pause_to = 17,
					     .edge = edge,
					     .rank = -1};
			struct seen e;

			pause(&s, &e);
			wt_scene_release(&s);
		}
	}
}

static void on_the_clock_of_another(void **state)
{
	struct wt_scene s = {.steps = 30,
			     .kernels = 24,
			     .functions = 1,
			     .pause_from = 10,
			     .pause_to = 17,
			     .edge = 5,
			     .foreign = 1,
			     .rank = -1};
	struct seen e;

	pause(&s, &e);
	wt_scene_release(&s);
}

/* A kernel's hardware counters are its own, in graphs too, and decide what held it. */
static void counters_of_kernels(void **state)
{
	struct wt_scene s = {
		.steps = 6, .kernels = 24, .functions = 24, .graphs = 1, .counters = 1, .rank = -1};
	struct wt_families *f = wt_families_new();
	struct wt_bounds *bounds;
	size_t counted = 0, kernels = 0, unsure = 0;
	struct seen e;

	wt_scene_make(&s);
	e = read_scene(&s);
	assert_int_equal(e.rc, 0);
	bounds = wt_bounds_new(e.tl, f);
	assert_non_null(bounds);
	for (size_t i = 0; i < e.tl->nops; i++) {
		const struct wt_op *op = &e.tl->ops[i];
		const struct wt_scene_call *c = call_of(&s, op->correlation);
		const struct wt_work *w = &e.tl->works[e.tl->shapes[op->shape].work];
		struct wt_verdict v;

		if (op->kind != WT_OP_KERNEL) {
			assert_int_equal(w->dram, 0);
			continue;
		}
		kernels++;
		counted += w->tensor && w->dram && w->l2 == 1;
		wt_bounds_of(bounds, op, &v);
		assert_int_equal(v.evidence, WT_EVIDENCE_MEASURED);
		unsure += v.grade == 2;
		if (c->op != SC_LAUNCH)
			continue;
		assert_int_equal(w->tensor, 100 * (c->function % 90) + 1);
		assert_int_equal(w->dram, 100 * (90 - c->function % 90) + 1);
		assert_int_equal(v.limit,
				 c->function % 90 <= 30 ? WT_LIMIT_DRAM : WT_LIMIT_LATENCY);
	}
	assert_true(kernels > 100 && counted == kernels);
	assert_true(unsure > kernels / 8 && unsure < kernels / 2); /* a quarter of each packet's */
	wt_bounds_free(bounds);
	wt_families_free(f);
	wt_timeline_free(e.tl);
	wt_scene_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_there),
		cmocka_unit_test(one_call_inside),
		cmocka_unit_test(several_calls_inside),
		cmocka_unit_test(a_lost_buffer),
		cmocka_unit_test(holes_lie_where_records_are_missing),
		cmocka_unit_test(without_api_records),
		cmocka_unit_test(host_rows_lost),
		cmocka_unit_test(both_sides_lost),
		cmocka_unit_test(killed),
		cmocka_unit_test(no_device_records),
		cmocka_unit_test(the_clock_is_set),
		cmocka_unit_test(untimed_records),
		cmocka_unit_test(marks_become_ranges),
		cmocka_unit_test(damaged),
		cmocka_unit_test(collection_stood_back),
		cmocka_unit_test(on_the_clock_of_another),
		cmocka_unit_test(counters_of_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
