/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kineto importer on small texts, one fact each; each text is read in the usual window and in tiny ones, and must
 * give the same timeline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "import/import_kineto.h"
#include "import/kineto_names.h"

static struct wt_diag diag;

static struct wt_timeline *import(const char *text, size_t n, size_t window, int want_rc)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_source *src;
	int rc;

	assert_non_null(b);
	assert_int_equal(wt_source_open_memory(&src, text, n), 0);
	memset(&diag, 0, sizeof(diag));
	rc = wt_kineto_read(src, b, wt_builder_input(b, "t.json", "kineto"), window, &diag);
	wt_source_close(src);
	if (rc != want_rc)
		fail_msg("rc %d instead of %d: %s\n%s", rc, want_rc, diag.text, text);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	return tl;
}

/* All that a timeline says, as text. */
static void describe(const struct wt_timeline *tl, struct wt_strbuf *to)
{
	for (size_t i = 0; i < tl->nops; i++) {
		const struct wt_op *o = &tl->ops[i];
		const struct wt_shape *s = &tl->shapes[o->shape];

		wt_strbuf_addf(to,
			       "op %lld %lld %llu %llu '%s' stream %lld device %lld pid %lld kind "
			       "%d/%d flags %x "
			       "call %d coll %d shape %u %u %u %u %u %u %u %u\n",
			       (long long)o->start_ns, (long long)o->end_ns,
			       (unsigned long long)o->correlation, (unsigned long long)o->bytes,
			       wt_timeline_string(tl, o->name),
			       (long long)tl->streams[o->stream].id,
			       (long long)tl->devices[o->device].ordinal,
			       (long long)tl->processes[o->process].pid, o->kind, o->copy_kind,
			       o->flags, o->call, o->collective, s->grid[0], s->grid[1], s->grid[2],
			       s->block[0], s->block[1], s->block[2], s->dyn_smem, s->regs);
	}
	for (size_t i = 0; i < tl->ncalls; i++) {
		const struct wt_call *c = &tl->calls[i];

		wt_strbuf_addf(to,
			       "call %lld %lld %llu '%s' tid %lld '%s' pid %lld kind %d flags %x\n",
			       (long long)c->start_ns, (long long)c->end_ns,
			       (unsigned long long)c->correlation, wt_timeline_string(tl, c->name),
			       (long long)tl->threads[c->thread].tid,
			       wt_timeline_string(tl, tl->threads[c->thread].name),
			       (long long)tl->processes[c->process].pid, c->kind, c->flags);
	}
	for (size_t i = 0; i < tl->nranges; i++) {
		const struct wt_range *r = &tl->ranges[i];

		wt_strbuf_addf(to, "range %lld %lld '%s' kind %d step %lld\n",
			       (long long)r->start_ns, (long long)r->end_ns,
			       wt_timeline_string(tl, r->name), r->kind, (long long)r->step);
	}
	for (size_t i = 0; i < tl->nframes; i++) {
		const struct wt_frame *f = &tl->frames[i];

		wt_strbuf_addf(to, "frame %lld %lld '%s' tid %lld\n", (long long)f->start_ns,
			       (long long)f->end_ns, wt_timeline_string(tl, f->name),
			       (long long)tl->threads[f->thread].tid);
	}
	for (size_t i = 0; i < tl->ncollectives; i++) {
		const struct wt_collective *c = &tl->collectives[i];

		wt_strbuf_addf(to,
			       "coll %llx seq %llu count %llu bytes %llu dtype %d '%s' rank %d of "
			       "%u op %d\n",
			       (unsigned long long)c->comm, (unsigned long long)c->seq,
			       (unsigned long long)c->count, (unsigned long long)c->bytes,
			       (int)c->dtype, wt_timeline_string(tl, c->name), (int)c->rank,
			       c->nranks, c->op);
	}
	for (size_t i = 0; i < tl->ndevices; i++) {
		const struct wt_device *d = &tl->devices[i];

		wt_strbuf_addf(to, "device %lld '%s' rank %d sm %u cc %u memory %llu\n",
			       (long long)d->ordinal, wt_timeline_string(tl, d->name), d->rank,
			       d->sm_count, d->cc, (unsigned long long)d->memory_bytes);
	}
	for (size_t i = 0; i < tl->nprocesses; i++)
		wt_strbuf_addf(to, "process %lld '%s' rank %d of %d host '%s'\n",
			       (long long)tl->processes[i].pid,
			       wt_timeline_string(tl, tl->processes[i].name), tl->processes[i].rank,
			       tl->processes[i].world,
			       wt_timeline_string(tl, tl->processes[i].host));
	for (size_t i = 0; i < tl->nenvironment; i++)
		wt_strbuf_addf(to, "env %s=%s\n", wt_timeline_string(tl, tl->environment[i].key),
			       wt_timeline_string(tl, tl->environment[i].value));
	for (size_t i = 0; i < tl->nnotes; i++)
		wt_strbuf_addf(to, "note %s\n", wt_timeline_string(tl, tl->notes[i]));
}

/* The timeline of a text; every window gives the same one. */
static struct wt_timeline *read_text(const char *text, int want_rc)
{
	size_t n = strlen(text);
	struct wt_timeline *tl = import(text, n, 0, want_rc);
	struct wt_strbuf whole = {0};

	describe(tl, &whole);
	for (size_t window = 16; window < n + 16 && window < 400; window += 1 + window / 50) {
		struct wt_timeline *other = import(text, n, window, want_rc);
		struct wt_strbuf split = {0};

		describe(other, &split);
		assert_string_equal(wt_strbuf_text(&split), wt_strbuf_text(&whole));
		wt_strbuf_release(&split);
		wt_timeline_free(other);
	}
	wt_strbuf_release(&whole);
	return tl;
}

static void expect(const char *text, int want_rc, const char *described)
{
	struct wt_timeline *tl = read_text(text, want_rc);
	struct wt_strbuf got = {0};

	describe(tl, &got);
	assert_string_equal(wt_strbuf_text(&got), described);
	wt_strbuf_release(&got);
	wt_timeline_free(tl);
}

#define LAUNCH                                                                                     \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 77, " \
	"\"tid\": 78, \"ts\": 10.000, \"dur\": 2.500, \"args\": {\"cbid\": 211, \"correlation\": " \
	"5}}"
#define KERNEL                                                                                     \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm<float>\", \"pid\": 0, \"tid\": 7, " \
	"\"ts\": 20.0005, \"dur\": 1.0004, \"args\": {\"External id\": 3, \"device\": 0, "         \
	"\"context\": 1, "                                                                         \
	"\"stream\": 7, \"correlation\": 5, \"registers per thread\": 40, \"shared memory\": "     \
	"400, "                                                                                    \
	"\"blocks per SM\": 4.7, \"grid\": [512, 2, 1], \"block\": [128, 1, 1]}}"
#define KERNEL_ROW                                                                                 \
	"op 20001 21001 5 0 'gemm<float>' stream 7 device 0 pid 77 kind 1/0 flags 0 call 0 coll "  \
	"-1 "                                                                                      \
	"shape 512 2 1 128 1 1 400 40\n"
#define LAUNCH_ROW "call 10000 12500 5 'cudaLaunchKernel' tid 78 '' pid 77 kind 1 flags 0\n"

static void test_object_and_array(void **state)
{
	static const char rows[] = KERNEL_ROW LAUNCH_ROW
		"device 0 '' rank -1 sm 0 cc 0 memory 0\nprocess 77 '' rank -1 of 0 host ''\n";

	expect("{\"schemaVersion\": 1, \"traceEvents\": [" LAUNCH ", " KERNEL "]}", 0, rows);
	expect("[" LAUNCH ", " KERNEL "]", 0, rows);
	expect(" \n[" KERNEL ",\r\n\t" LAUNCH "]\n", 0, rows);
	expect("{\"traceEvents\": [" LAUNCH "], \"more\": {}, \"traceEvents\": [" KERNEL "]}", 0,
	       rows);
}

static void test_key_order(void **state)
{
	expect("[{\"args\": {\"block\": [1, 1, 1], \"correlation\": 9, \"grid\": [2, 1, 1], "
	       "\"stream\": 7, "
	       "\"device\": 3}, \"dur\": 1, \"ts\": 5, \"tid\": 1, \"pid\": 2, \"name\": "
	       "\"k\\u00e9\\\"\", "
	       "\"cat\": \"kernel\", \"ph\": \"X\"}]",
	       0,
	       "op 5000 6000 9 0 'k\xc3\xa9\"' stream 7 device 3 pid -1 kind 1/0 flags 0 call -1 "
	       "coll -1 "
	       "shape 2 1 1 1 1 1 0 0\n"
	       "device 3 '' rank -1 sm 0 cc 0 memory 0\nprocess -1 '' rank -1 of 0 host ''\n");
}

static void test_old_spellings(void **state)
{
	expect("{\"computeProperties\": [{\"id\": 0, \"name\": \"Tesla V100\", \"totalGlobalMem\": "
	       "34084028416, "
	       "\"major\": 7, \"minor\": 0, \"multiProcessorCount\": 80}], \"traceEvents\": ["
	       "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": "
	       "\"stream 7\", "
	       "\"ts\": 1623142623531625, \"dur\": 2, \"args\": {\"device\": 0, \"correlation\": "
	       "1}},"
	       "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"Memcpy HtoD (Pageable -> "
	       "Device)\", \"pid\": 0, "
	       "\"tid\": \"stream 7\", \"ts\": 1623142623531630, \"dur\": 0, \"args\": "
	       "{\"device\": 0, "
	       "\"stream\": 7, \"correlation\": 2, \"bytes\": 4096}},"
	       "{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"Memset (Device)\", \"pid\": 0, "
	       "\"tid\": \"stream 7\","
	       "\"ts\": 1623142623531640, \"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7, "
	       "\"bytes\": 8}},"
	       "{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaMemcpyAsync\", \"pid\": "
	       "25738, "
	       "\"tid\": \"25738\", \"ts\": 1623142623531598, \"dur\": 26, \"args\": "
	       "{\"correlation\": 2}},"
	       "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"ProfilerStep#12\", \"pid\": "
	       "25738, "
	       "\"tid\": \"25738\", \"ts\": 1623142623531000, \"dur\": 1000, \"args\": {}},"
	       "{\"ph\": \"X\", \"cat\": \"Operator\", \"name\": \"aten::add\", \"pid\": 25738, "
	       "\"tid\": \"25738\", \"ts\": 1623142623531001, \"dur\": 1, \"args\": {\"device\": "
	       "0}}]}",
	       0,
	       "op 1623142623531625000 1623142623531627000 1 0 'k' stream 7 device 0 pid 25738 "
	       "kind 1/0 flags 0 "
	       "call -1 coll -1 shape 0 0 0 0 0 0 0 0\n"
	       "op 1623142623531630000 1623142623531630000 2 4096 'Memcpy HtoD (Pageable -> "
	       "Device)' stream 7 "
	       "device 0 pid 25738 kind 2/1 flags 2 call 0 coll -1 shape 0 0 0 0 0 0 0 0\n"
	       "op 1623142623531640000 1623142623531641000 0 8 'Memset (Device)' stream 7 device 0 "
	       "pid 25738 "
	       "kind 3/0 flags 0 call -1 coll -1 shape 0 0 0 0 0 0 0 0\n"
	       "call 1623142623531598000 1623142623531624000 2 'cudaMemcpyAsync' tid 25738 '' pid "
	       "25738 kind 3 "
	       "flags 0\n"
	       "range 1623142623531000000 1623142623532000000 'ProfilerStep#12' kind 2 step 12\n"
	       "device 0 'Tesla V100' rank -1 sm 80 cc 70 memory 34084028416\n"
	       "process 25738 '' rank -1 of 0 host ''\n");
}

/* Category first: rows on GPU tracks that are no device work, and everything that has another phase. */
static void test_what_is_no_device_work(void **state)
{
	static const char *const cats[] = {"cuda_sync",	      "gpu_user_annotation",
					   "python_function", "cuda_profiler_range",
					   "Trace",	      "ac2g",
					   "KERNEL",	      ""};
	static const char *const phases[] = {"B", "E", "i", "s", "f", "C", "XX", ""};
	char text[512];
	struct wt_timeline *tl;

	for (size_t i = 0; i < sizeof(cats) / sizeof(*cats); i++) {
		snprintf(text, sizeof(text),
			 "[{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"Stream Sync\", \"pid\": 0, "
			 "\"tid\": 7, "
			 "\"ts\": 1, \"dur\": 9, \"args\": {\"stream\": 7, \"device\": 0, "
			 "\"correlation\": 4}}]",
			 cats[i]);
		tl = read_text(text, 0);
		assert_int_equal(tl->nops + tl->ncalls + tl->nranges, 0);
		wt_timeline_free(tl);
	}
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
		snprintf(text, sizeof(text),
			 "[{\"cat\": \"kernel\", \"ph\": \"%s\", \"name\": \"k\", \"pid\": 0, "
			 "\"tid\": 7, \"ts\": 1}, " KERNEL "]",
			 phases[i]);
		tl = read_text(text, 0);
		assert_int_equal(tl->nops, 1);
		wt_timeline_free(tl);
	}
}

static void test_ids_above_2_63(void **state)
{
	expect("[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, "
	       "\"ts\": 1, \"dur\": 1, "
	       "\"args\": {\"device\": 0, \"stream\": 18446744073709551615, \"correlation\": "
	       "10159970886766084423, "
	       "\"bytes\": 99999999999999999999999999}},"
	       "{\"ph\": \"X\", \"cat\": \"cuda_driver\", \"name\": \"cuLaunchKernel\", \"pid\": "
	       "1, \"tid\": 1, "
	       "\"ts\": 1, \"dur\": 1, \"args\": {\"correlation\": \"10159970886766084423\"}}]",
	       0,
	       "op 1000 2000 10159970886766084423 0 'k' stream -1 device 0 pid 1 kind 1/0 flags 0 "
	       "call 0 coll -1 "
	       "shape 0 0 0 0 0 0 0 0\n"
	       "call 1000 2000 10159970886766084423 'cuLaunchKernel' tid 1 '' pid 1 kind 1 flags "
	       "0\n"
	       "device 0 '' rank -1 sm 0 cc 0 memory 0\nprocess 1 '' rank -1 of 0 host ''\n");
}

static void test_odd_events(void **state)
{
	/* Empty events, no events, events without args, values of other kinds, quoted times. */
	expect("{\"traceEvents\": [{}, " LAUNCH
	       ", {}, null, 7, \"x\", [], {\"ph\": \"X\"}, {\"name\": \"n\"}, {}]}",
	       0, LAUNCH_ROW "process 77 '' rank -1 of 0 host ''\n");
	expect("[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 4, \"tid\": 7, "
	       "\"ts\": \"20.5\", "
	       "\"dur\": \"1\"},"
	       "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": null, \"pid\": \"GPU 5\", \"tid\": "
	       "null, \"ts\": 3e1, "
	       "\"dur\": null, \"args\": null}]",
	       0,
	       "op 20500 21500 0 0 'k' stream 7 device 4 pid -1 kind 1/0 flags 0 call -1 coll -1 "
	       "shape 0 0 0 0 0 0 0 0\n"
	       "op 0 0 0 0 '' stream 0 device 5 pid -1 kind 1/0 flags 1 call -1 coll -1 "
	       "shape 0 0 0 0 0 0 0 0\n"
	       "device 4 '' rank -1 sm 0 cc 0 memory 0\ndevice 5 '' rank -1 sm 0 cc 0 memory 0\n"
	       "process -1 '' rank -1 of 0 host ''\n"
	       "note t.json: 1 device records have no usable times: counted, they own no time\n");
	/* Keys with escapes, and space behind them: in every window. */
	expect("[{\"\\u0070h\"  \n : \"X\", \"c\\u0061t\" : \"kernel\", \"t\\u0073\" : 20, "
	       "\"d\\u0075r\"   :   1}]",
	       0,
	       "op 20000 21000 0 0 '' stream 0 device 0 pid -1 kind 1/0 flags 0 call -1 coll -1 "
	       "shape 0 0 0 0 0 0 0 0\n"
	       "device 0 '' rank -1 sm 0 cc 0 memory 0\nprocess -1 '' rank -1 of 0 host ''\n");
	expect("[]", 0, "process -1 '' rank -1 of 0 host ''\n");
	expect("{\"traceEvents\": []}", 0, "process -1 '' rank -1 of 0 host ''\n");
}

static void test_deep_nesting(void **state)
{
	const size_t depth = 100000;
	struct wt_strbuf text = {0};
	struct wt_timeline *tl;

	wt_strbuf_adds(&text, "{\"junk\": ");
	for (size_t i = 0; i < depth; i++)
		wt_strbuf_adds(&text, i % 2 ? "{\"a\":" : "[");
	wt_strbuf_adds(&text, "1");
	for (size_t i = depth; i-- > 0;)
		wt_strbuf_adds(&text, i % 2 ? "}" : "]");
	wt_strbuf_adds(&text, ", \"traceEvents\": [" KERNEL ", {\"args\": {\"x\": ");
	for (size_t i = 0; i < depth; i++)
		wt_strbuf_adds(&text, "[");
	for (size_t i = 0; i < depth; i++)
		wt_strbuf_adds(&text, "]");
	wt_strbuf_adds(&text, "}}, " LAUNCH "]}");
	tl = import(text.s, text.n, 0, 0);
	assert_int_equal(tl->nops, 1);
	assert_int_equal(tl->ncalls, 1);
	wt_timeline_free(tl);
	wt_strbuf_release(&text);
}

/* Kernels with nothing but these times. */
static struct wt_timeline *read_times(const char *const *times, size_t n)
{
	struct wt_strbuf text = {0};
	struct wt_timeline *tl;

	for (size_t i = 0; i < n; i++)
		wt_strbuf_addf(
			&text,
			"%c{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
			"\"tid\": 7, %s \"args\": {}}",
			i ? ',' : '[', times[i]);
	wt_strbuf_addc(&text, ']');
	tl = read_text(text.s, 0);
	wt_strbuf_release(&text);
	return tl;
}

/* Lost time stamps are counted and own no time; a file that starts at zero is a file that starts at zero. */
static void test_untimed(void **state)
{
	static const char *const lost[] = {
		"\"ts\": 1712106658012345.678, \"dur\": 1,",
		"\"ts\": 0, \"dur\": 0,",
		"\"dur\": 1,",
		"\"ts\": -1751410836000000, \"dur\": 1,",
		"\"ts\": 18446742322298715.616, \"dur\": 1,",
		"\"ts\": 1712106658012346, \"dur\": -3,",
		"\"ts\": 9223372036854775.807, \"dur\": 9223372036854775,",
	};
	static const char *const sound[] = {
		"\"ts\": 0, \"dur\": 5,",
		"\"ts\": -2.5, \"dur\": 1,",
		"\"ts\": 100, \"dur\": 5,",
	};
	struct wt_timeline *tl = read_times(lost, 7);
	size_t untimed = 0;

	assert_int_equal(tl->nops, 7);
	for (size_t i = 0; i < tl->nops; i++) {
		if (!(tl->ops[i].flags & WT_OP_UNTIMED)) {
			assert_int_equal(tl->ops[i].start_ns, 1712106658012345678);
			continue;
		}
		untimed++;
		assert_int_equal(tl->ops[i].start_ns, 0);
		assert_int_equal(tl->ops[i].end_ns, 0);
	}
	assert_int_equal(untimed, 6);
	assert_int_equal(tl->nnotes, 1);
	assert_string_equal(
		wt_timeline_string(tl, tl->notes[0]),
		"t.json: 6 device records have no usable times: counted, they own no time");
	wt_timeline_free(tl);

	tl = read_times(sound, 3);
	assert_int_equal(tl->nops, 3);
	assert_int_equal(tl->ops[0].start_ns, -2500);
	for (size_t i = 0; i < tl->nops; i++)
		assert_int_equal(tl->ops[i].flags, 0);
	wt_timeline_free(tl);
}

static void test_copies(void **state)
{
	static const struct {
		const char *name, *args;
		int kind, flags;
	} cases[] = {
		{"Memcpy HtoD (Pageable -> Device)", "", WT_COPY_H2D, WT_OP_PAGEABLE},
		{"Memcpy HtoD (Pinned -> Device)", "", WT_COPY_H2D, 0},
		{"Memcpy DtoH (Device -> Pageable)", "", WT_COPY_D2H, WT_OP_PAGEABLE},
		{"Memcpy DtoD (Device -> Device)", "", WT_COPY_D2D, 0},
		{"Memcpy PtoP (Device -> Device)", "", WT_COPY_P2P, 0},
		{"Memcpy HtoH (Host -> Host)", "", WT_COPY_H2H, 0},
		{"CopyHostToDevice", "", WT_COPY_H2D, 0},
		{"copy", "\"kind\": \"DtoH\"", WT_COPY_D2H, 0},
		{"Memcpy AtoA", "", WT_COPY_OTHER, 0},
	};
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wt_timeline *tl;

		snprintf(text, sizeof(text),
			 "[{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"%s\", \"ts\": 1, "
			 "\"dur\": 1, \"args\": "
			 "{%s}}]",
			 cases[i].name, cases[i].args);
		tl = read_text(text, 0);
		assert_int_equal(tl->nops, 1);
		assert_int_equal(tl->ops[0].copy_kind, cases[i].kind);
		assert_int_equal(tl->ops[0].flags, cases[i].flags);
		wt_timeline_free(tl);
	}
}

static void test_header_after_events(void **state)
{
	expect("{\"traceEvents\": [" KERNEL ", " LAUNCH ","
	       "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 77, \"tid\": 0, \"args\": "
	       "{\"name\": \"python\"}},"
	       "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0, \"tid\": 0, \"args\": "
	       "{\"name\": \"gpu\"}},"
	       "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 77, \"tid\": 78, \"args\": "
	       "{\"name\": \"main\"}}], "
	       "\"cuda_driver_version\": 13000, \"baseTimeNanoseconds\": 1727743122000000000, "
	       "\"host_name\": \"h1\", "
	       "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8, "
	       "\"pg_config\": [{}], "
	       "\"nccl_version\": \"2.27.7\"}, \"deviceProperties\": [{\"id\": 0, \"name\": "
	       "\"NVIDIA H100\", "
	       "\"totalGlobalMem\": 85018279936, \"computeMajor\": 9, \"computeMinor\": 0, "
	       "\"numSms\": 132}]}",
	       0,
	       "op 1727743122000020001 1727743122000021001 5 0 'gemm<float>' stream 7 device 0 pid "
	       "77 "
	       "kind 1/0 flags 0 call 0 coll -1 shape 512 2 1 128 1 1 400 40\n"
	       "call 1727743122000010000 1727743122000012500 5 'cudaLaunchKernel' tid 78 'main' "
	       "pid "
	       "77 kind 1 flags 0\n"
	       "device 0 'NVIDIA H100' rank 3 sm 132 cc 90 memory 85018279936\n"
	       "process 77 'python' rank 3 of 8 host 'h1'\n"
	       "env cuda_driver_version=13000\nenv baseTimeNanoseconds=1727743122000000000\n"
	       "env distributed_backend=nccl\nenv nccl_version=2.27.7\n");
}

/* Correlation ids are unique in one process: calls of another pid never get these kernels. */
static void test_two_processes(void **state)
{
	struct wt_timeline *tl = read_text(
		"[" LAUNCH ", {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
		"\"cudaLaunchKernel\", \"pid\": 99, "
		"\"tid\": 99, \"ts\": 1, \"dur\": 1, \"args\": {\"correlation\": 6}}, " KERNEL
		", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k2\", \"pid\": 0, \"tid\": 7, "
		"\"ts\": 50, \"dur\": 1, "
		"\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 6}}]",
		0);

	assert_int_equal(tl->nops, 2);
	assert_true(tl->ops[0].call >= 0);
	assert_int_equal(tl->ops[1].call, -1);
	assert_int_equal(tl->nprocesses, 2);
	wt_timeline_free(tl);
}

#define COLL(ts_, name_, dtype_, in_, out_, group_, more_)                                         \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel\", \"pid\": 0, \"tid\": "  \
	"9, \"ts\": " ts_                                                                          \
	", \"dur\": 1, \"args\": {\"device\": 0, \"stream\": 9, \"Collective name\": \"" name_     \
	"\", \"In msg nelems\": " in_ ", \"Out msg nelems\": " out_                                \
	", \"Group size\": 2, \"dtype\": \"" dtype_ "\", \"Process Group Name\": \"" group_        \
	"\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[2, "       \
	"5]\"" more_ "}}"

static void test_collectives(void **state)
{
	struct wt_timeline *tl = read_text(
		"{\"traceEvents\": [" COLL("30", "_allgather_base", "BFloat16", "100", "200", "0", "") ", " COLL(
			"10", "allreduce", "Float", "7", "7", "0",
			"") ", " COLL("20", "reduce_scatter_tensor", "Half", "8", "4", "1",
				      "") ", " COLL("40", "all_to_allv", "Float8_e4m3fn", "5", "6",
						    "1",
						    ", \"Seq\": 41") ", " COLL("50", "barrier",
									       "Strange", "1", "1",
									       "1",
									       "") ", " KERNEL "], "
										   "\"distributedIn"
										   "fo\": "
										   "{\"rank\": 5, "
										   "\"world_size\":"
										   " 8}}",
		0);
	static const struct {
		uint64_t seq, count, bytes;
		uint32_t dtype;
		int op;
	} want[] = {
		{0, 7, 28, 7, WT_COLL_ALL_REDUCE},    {0, 8, 16, 6, WT_COLL_REDUCE_SCATTER},
		{1, 100, 400, 9, WT_COLL_ALL_GATHER}, {41, 5, 6, 10, WT_COLL_ALL_TO_ALL},
		{2, 1, 0, UINT32_MAX, WT_COLL_NONE},
	};

	assert_int_equal(tl->ncollectives, 5);
	assert_int_equal(tl->nops, 6);
	for (size_t i = 0, seen = 0; i < tl->nops; i++) {
		const struct wt_collective *c;

		if (tl->ops[i].collective < 0)
			continue;
		c = &tl->collectives[tl->ops[i].collective];
		assert_int_equal(c->seq, want[seen].seq);
		assert_int_equal(c->count, want[seen].count);
		assert_int_equal(c->bytes, want[seen].bytes);
		assert_int_equal(c->dtype, want[seen].dtype);
		assert_int_equal(c->op, want[seen].op);
		assert_int_equal(c->nranks, 2);
		assert_int_equal(c->rank, 1);
		assert_true(c->comm);
		seen++;
	}
	assert_true(tl->collectives[0].comm != tl->collectives[1].comm);
	assert_true(tl->collectives[0].comm == tl->collectives[2].comm);
	wt_timeline_free(tl);
}

static void test_damage(void **state)
{
	static const char whole[] = "{\"traceEvents\": [" LAUNCH ",\n" KERNEL ",\n" KERNEL "]}";
	size_t n = sizeof(whole) - 1, second = strlen("{\"traceEvents\": [" LAUNCH ",\n");
	struct wt_timeline *tl;
	char *text = malloc(n + 1);

	assert_non_null(text);
	for (size_t cut = 0; cut < n; cut++) {
		size_t complete =
			(cut >= second - 2) + (cut >= second + strlen(KERNEL)) + (cut >= n - 2);

		/* Before the events nothing says that this is a trace. */
		tl = import(whole, cut, 0, cut <= 16 ? -WT_E_FORMAT : -WT_E_TRUNCATED);
		assert_int_equal(tl->nops + tl->ncalls, complete);
		wt_timeline_free(tl);
	}
	memcpy(text, whole, n + 1);
	text[second + 3] = '\x01';
	tl = read_text(text, -WT_E_CORRUPT);
	assert_int_equal(tl->ncalls, 1);
	assert_int_equal(tl->nops, 1); /* its phase is gone, and the event with it */
	assert_int_equal(tl->inputs[0].lost_events, 1);
	assert_int_equal(diag.offset, second + 3);
	assert_non_null(strstr(diag.text, "found byte 0x01"));
	wt_timeline_free(tl);
	memcpy(text, whole, n + 1);
	text[n - 1] = ']';
	tl = read_text(text, -WT_E_CORRUPT);
	assert_int_equal(tl->nops, 2);
	wt_timeline_free(tl);
	free(text);
}

static void test_other_json(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"a\": 1}",
		"{\"traceEvents\": 7}",
		"{\"a\": 1}\n{\"a\": 2}\n",
		"[{\"a\": 1}, {\"b\": 2}]",
		"[1, 2",
		"{\"a\": ",
		"{x}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		wt_timeline_free(read_text(texts[i], -WT_E_FORMAT));
		assert_non_null(strstr(diag.text, "expected"));
	}
	for (size_t i = 0; i < 2; i++) {
		static const char *const heads[] = {"{\"traceEvents\"", "  [\n{"};

		assert_int_equal(
			wt_importer_kineto.probe((const uint8_t *)heads[i], strlen(heads[i])), 1);
	}
	for (size_t i = 0; i < 5; i++) {
		static const char *const heads[] = {"", "text", "[INFO] a log", "{x", "\x1f\x8b"};

		assert_int_equal(
			wt_importer_kineto.probe((const uint8_t *)heads[i], strlen(heads[i])), 0);
	}
}

static void test_too_many_devices(void **state)
{
	struct wt_strbuf text = {0};
	struct wt_timeline *tl;

	wt_strbuf_adds(&text, "[");
	for (int i = 0; i < 5000; i++)
		wt_strbuf_addf(&text,
			       "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":1,\"args\":{"
			       "\"device\":%d}}",
			       i ? "," : "", i);
	wt_strbuf_adds(&text, "]");
	tl = import(text.s, text.n, 0, -WT_E_CORRUPT);
	assert_int_equal(tl->ndevices, 4096);
	assert_non_null(strstr(diag.text, "4096"));
	wt_timeline_free(tl);
	wt_strbuf_release(&text);
}

#define PYTHON(name_, ts_)                                                                         \
	"{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" name_                         \
	"\", \"pid\": 1, \"tid\": 5, \"ts\": " #ts_ ", \"dur\": 2, \"args\": {\"Python id\": 1}}"
#define OPERATOR(args_)                                                                            \
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 5, "   \
	"\"ts\": 9, \"dur\": 1, \"args\": {" args_ "}}"

#define STACK(key_, text_) OPERATOR("\"" key_ "\": \"" text_ "\"")
#define PROCESS_ROW	   "process -1 '' rank -1 of 0 host ''\n"

static void test_frames(void **state)
{
	struct wt_strbuf text = {0};
	struct wt_timeline *tl;

	expect("[" PYTHON("train.py(88): forward",
			  1) "," PYTHON("torch/nn/x.py(7): f",
					2) "," PYTHON("<built-in method matmul>",
						      3) "," PYTHON("/u/lib/python3.12/"
								    "site-packages/vllm/m.py(3): g",
								    4) "]",
	       0,
	       "frame 1000 3000 'train.py(88): forward' tid 5\n"
	       "frame 4000 6000 'vllm/m.py(3): g' tid 5\n" PROCESS_ROW);
	/* Of a stack the innermost frame that counts; empty ones and those of PyTorch alone give none. */
	expect("[" STACK("Call stack", "torch/a.py(1): f;train.py(2): <module>;b.py(3): g"),
	       -WT_E_TRUNCATED, "frame 9000 10000 'train.py(2): <module>' tid 5\n" PROCESS_ROW);
	expect("[" STACK("Call Stack", "<built-in f>\\n c.py(4): \\u00e9") "]", 0,
	       "frame 9000 10000 'c.py(4): \xc3\xa9' tid 5\n" PROCESS_ROW);
	expect("[" STACK("stack", "") "," STACK("stack", "torch/a.py(1): f") "]", 0, PROCESS_ROW);
	/* Operators are read on for stacks only if one of the first had one. */
	for (int first = 0; first < 2; first++) {
		wt_strbuf_adds(&text, "[");
		for (int i = 0; i < 70; i++)
			wt_strbuf_addf(&text, "%s%s", i ? "," : "",
				       (first && i == 63) || i == 69
					       ? STACK("Call stack", "a.py(1): f")
					       : OPERATOR(""));
		wt_strbuf_adds(&text, "]");
		tl = import(text.s, text.n, 0, 0);
		assert_int_equal(tl->nframes, first * 2);
		wt_timeline_free(tl);
		text.n = 0;
	}
	wt_strbuf_release(&text);
}

static void test_sites(void **state)
{
	static const struct {
		const char *frame, *site; /* NULL: none */
	} rows[] = {
		{"train.py(88): forward", "train.py(88): forward"},
		{"/srv/torchlike/a b.py(1): f", "/srv/torchlike/a b.py(1): f"},
		{"/opt/lib/python3.7/site-packages/torch/_ops.py(1): f", NULL},
		{"/usr/lib/python3/dist-packages/x.py(1): f", "x.py(1): f"},
		{"/usr/lib/python3.12/threading.py(9): run", NULL},
		{"/tmp/torchinductor_u/ab/cab.py(9): call", NULL},
		{"contextlib.py(81): inner", NULL},
		{"nn.Module: Linear_0", NULL},
		{"<frozen runpy>(198): _run_module_as_main", NULL},
		{"/usr/lib/python3.", NULL},
		{"/", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *s = rows[i].frame;
		size_t n = strlen(s);

		assert_int_equal(wt_kineto_site(&s, &n), rows[i].site != NULL);
		if (rows[i].site) {
			assert_int_equal(n, strlen(rows[i].site));
			assert_memory_equal(s, rows[i].site, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_and_array),
		cmocka_unit_test(test_key_order),
		cmocka_unit_test(test_old_spellings),
		cmocka_unit_test(test_what_is_no_device_work),
		cmocka_unit_test(test_ids_above_2_63),
		cmocka_unit_test(test_odd_events),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_untimed),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_header_after_events),
		cmocka_unit_test(test_two_processes),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_other_json),
		cmocka_unit_test(test_too_many_devices),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
