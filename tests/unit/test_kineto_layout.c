/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading with the memory of layouts and without gives the same timeline, the same faults and the same words about
 * them: made documents whose events vary in order, spacing, keys, kinds of values and faults, in windows of any size,
 * and the public files; by wide vectors, where the processor has them, and without.
 */
#include <glob.h>
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
#include "import/kineto_layout.h"
#include "timeline_equal.h"

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 20) % n;
}

static const char *one_of(const char *const *words, unsigned n)
{
	return words[below(n)];
}
#define ONE_OF(...)                                                                                \
	one_of((const char *const[]){__VA_ARGS__},                                                 \
	       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Of one digit to eighteen; mostly small. */
static void number(struct wt_strbuf *out, unsigned most)
{
	unsigned digits = below(6) ? 0 : below(18);

	wt_strbuf_addf(out, "%u", digits ? 1 + below(9) : below(most));
	while (digits--)
		wt_strbuf_addf(out, "%u", below(10));
}

/* Mostly what writers print; a few that they print rarely, and some (if asked for) that are no JSON. */
static void value(struct wt_strbuf *out, const char *key, int faults)
{
	unsigned kind = below(100);

	if (kind < 2) {
		wt_strbuf_adds(out, ONE_OF("null", "true", "[]", "{}", "[1, {\"a\": 2}]", "-1",
					   "1e3", "7.0", "\"7\"", "18446744073709551615", "-0",
					   "0.5", "123456789012345678901", "\"a\\u0041\\\"b\""));
	} else if (faults && kind < 4) {
		wt_strbuf_adds(out, ONE_OF("007", "NaN", "-inf", "1.", "\"C:\\dir\"", "tru",
					   "\"a\nb\"", "+5", "", "1.5e", "\"say \"x\" \""));
	} else if (!strcmp(key, "name")) {
		wt_strbuf_adds(out, ONE_OF("\"aten::mm\"", "\"ampere_sgemm_128x64_tn\"",
					   "\"ProfilerStep#7\"", "\"cudaLaunchKernel\"",
					   "\"[memory]\"", "\"Memcpy HtoD (Pageable -> Device)\""));
	} else if (!strcmp(key, "ts")) {
		wt_strbuf_addf(out, "%u.%0*u", 1000000 + below(1000000), 1 + (int)below(5),
			       below(10));
	} else if (!strcmp(key, "dur")) {
		number(out, 1000);
	} else if (!strcmp(key, "Input Dims")) {
		wt_strbuf_addf(out, "[[%u, %u], [%u, 8], []]", below(64), below(64), below(64));
	} else if (!strcmp(key, "Input type")) {
		wt_strbuf_adds(out, ONE_OF("[\"float\", \"c10::Half\"]", "[]", "[\"int\", 7]"));
	} else if (!strcmp(key, "Call stack")) {
		wt_strbuf_adds(
			out,
			ONE_OF("\"torch/a.py(1): f;train.py(7): <module>\"",
			       "\"/x/site-packages/torch/a.py(1): f;job.py(2): g;train.py(7): h\"",
			       "\"<built-in>;/usr/lib/python3.9/json/x.py(3): load\"",
			       "\"a\\\\b.py(3): load\"", "\"\"", "null"));
	} else if (!strcmp(key, "tid") && !below(3)) {
		wt_strbuf_adds(out,
			       ONE_OF("\"25738\"", "\"stream 7\"", "\"main\"", "\"\"", "\"-1\""));
	} else if (!strcmp(key, "grid")) {
		wt_strbuf_addf(out, "[%u, 1, 1]", below(64));
	} else {
		number(out, 64);
	}
}

static void pair(struct wt_strbuf *out, const char *colon, const char *key, int faults)
{
	wt_strbuf_addf(out, "\"%s\"%s", key, colon);
	value(out, key, faults);
}

static void event(struct wt_strbuf *out, int faults)
{
	static const char *const keys[] = {"name", "pid", "tid", "ts", "dur", "id", "bp"};
	static const char *const args[] = {
		"device",     "stream",		 "correlation",	  "External id", "grid",
		"Input Dims", "bytes",		 "shared memory", "cbid",	 "Device Type",
		"Device Id",  "Total Allocated", "Call stack",	  "Input type"};
	const char *comma = ONE_OF(", ", ",", ",\n    ", ", ", ", "),
		   *colon = ONE_OF(": ", ": ", ": ", ":", " :\t");
	unsigned from = below(4) ? 0 : below(7), last = below(10) ? 7 : below(7);

	wt_strbuf_adds(out, ONE_OF("{", "{", "{\n    ", "{ "));
	for (unsigned i = 0; i < last; i++) {
		if (i == (from & 1))
			wt_strbuf_addf(out, "\"ph\"%s\"%s\"%s\"cat\"%s\"%s\"%s", colon,
				       ONE_OF("X", "X", "X", "i", "s", "M", "XX"), comma, colon,
				       ONE_OF("kernel", "kernel", "cuda_runtime", "cpu_op",
					      "user_annotation", "gpu_memcpy", "ac2g",
					      "python_function"),
				       comma);
		pair(out, colon, keys[(i + from) % 7], faults);
		wt_strbuf_adds(out, comma);
	}
	wt_strbuf_addf(out, "\"args\"%s", colon);
	if (!below(20)) {
		wt_strbuf_adds(out,
			       ONE_OF("{}", "null", "{ }", "7", "{\"device\": 0}, \"args\": {}"));
	} else {
		unsigned n = 1 + below(14);

		wt_strbuf_adds(out, "{");
		for (unsigned i = 0; i < n; i++) {
			wt_strbuf_adds(out, i ? comma : "");
			pair(out, colon, args[i], faults);
		}
		wt_strbuf_adds(out, ONE_OF("}", "}", "\n  }"));
	}
	wt_strbuf_adds(out, faults && !below(60) ? ONE_OF("", "]", ",}", "\"}") : "}");
}

struct result {
	struct wt_timeline *tl;
	struct wt_diag diag;
	int rc;
};

static struct result import(struct wt_source *src, size_t window, int plainly, int asides)
{
	struct wt_builder *b = wt_builder_new();
	struct result r = {.diag = {.offset = -1}};
	uint32_t input = wt_builder_input(b, "t.json", "kineto");

	if (asides)
		wt_builder_keep_asides(b);
	wt_kineto_layout_narrow = (int)below(2);
	r.rc = plainly ? wt_kineto_read_plainly(src, b, input, window, &r.diag)
		       : wt_kineto_read(src, b, input, window, &r.diag);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, &r.tl, NULL), 0);
	return r;
}

static void check_same(struct result a, struct result b)
{
	if (a.rc != b.rc)
		fail_msg("%d (%s) and %d (%s)", a.rc, a.diag.text, b.rc, b.diag.text);
	assert_string_equal(a.diag.text, b.diag.text);
	assert_int_equal(a.diag.offset, b.diag.offset);
	assert_timelines_equal(a.tl, b.tl, 0);
	wt_timeline_free(a.tl);
	wt_timeline_free(b.tl);
}

static void check_text(const struct wt_strbuf *text, size_t window, int asides)
{
	struct result r[2];

	for (int plainly = 0; plainly < 2; plainly++) {
		struct wt_source *src;

		assert_int_equal(wt_source_open_memory(&src, text->s, text->n), 0);
		r[plainly] = import(src, window, plainly, asides);
	}
	check_same(r[0], r[1]);
}

static void test_made(void **state_)
{
	for (int round = 0; round < 400; round++) {
		struct wt_strbuf text = {0};
		int faults = round % 3 == 2;
		unsigned n = 1 + below(80);

		wt_strbuf_adds(&text, "{\"traceEvents\": [\n");
		for (unsigned i = 0; i < n; i++) {
			wt_strbuf_adds(&text, i ? ",\n" : "");
			event(&text, faults);
		}
		wt_strbuf_adds(&text, "]}\n");
		if (round % 7 == 6)
			text.n -= below((unsigned)text.n);
		check_text(&text, 0, round & 1);
		check_text(&text, 16 + below(600), round & 1);
		wt_strbuf_release(&text);
	}
	(void)state_;
}

/* More layouts than are remembered. */
static void test_many_layouts(void **state_)
{
	struct wt_strbuf text = {0};

	wt_strbuf_adds(&text, "[");
	for (unsigned i = 0; i < 6000; i++)
		wt_strbuf_addf(
			&text,
			"%s{\"ph\": \"X\", \"cat\": \"kernel\", \"key %u\": 1, \"name\": \"k\", "
			"\"ts\": %u, \"dur\": 1, \"args\": {\"device\": 0, \"other %u\": 2}}",
			i ? ", " : "", i % 3000, 10 + i, i);
	wt_strbuf_adds(&text, "]");
	check_text(&text, 0, 0);
	wt_strbuf_release(&text);
	(void)state_;
}

static void test_public(void **state_)
{
	glob_t files;

	if (glob("../shared/traces/kineto/*.json.gz", 0, NULL, &files))
		skip();
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct result r[2];

		for (int plainly = 0; plainly < 2; plainly++) {
			struct wt_source *src;
			struct wt_diag diag;

			assert_int_equal(wt_source_open(&src, files.gl_pathv[i], &diag), 0);
			r[plainly] = import(src, 0, plainly, (int)(i & 1));
		}
		check_same(r[0], r[1]);
	}
	globfree(&files);
	(void)state_;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_many_layouts),
		cmocka_unit_test(test_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
