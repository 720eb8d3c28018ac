/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto text that is no sound JSON, each kind of fault that was seen in public: what can be repaired is, with its
 * number and the place of the first; what cannot costs one event; and the size of the window decides nothing.
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

#define EVENT(ts_, name_, more_)                                                                   \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name_ "\", \"pid\": 0, \"tid\": 7, "   \
	"\"ts\": " ts_ ", \"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7" more_ "}}"

/* The second of three kernels is `bad`: what becomes of it in any window. */
struct want {
	const char *what, *bad;
	const char *name; /* of the second kernel as read; NULL = lost */
	uint64_t repairs;
	long first; /* where in `bad` the first fault is noticed */
};

static void check_one(const struct want *w, const char *head, const char *tail)
{
	struct wt_strbuf text = {0};
	size_t start;

	wt_strbuf_adds(&text, head);
	wt_strbuf_adds(&text, EVENT("10", "first", "") ",\n  ");
	start = text.n;
	wt_strbuf_adds(&text, w->bad);
	wt_strbuf_adds(&text, ",\n  " EVENT("30", "third", ""));
	wt_strbuf_adds(&text, tail);
	for (size_t window = 0; window < text.n + 16; window += window ? 1 + window / 7 : 16) {
		struct wt_timeline *tl =
			import(text.s, text.n, window, w->name ? 0 : -WT_E_CORRUPT);
		const struct wt_input *in = &tl->inputs[0];
		size_t n = w->name ? 3 : 2;

		if (tl->nops != n)
			fail_msg("%s: %zu kernels instead of %zu", w->what, tl->nops, n);
		assert_string_equal(wt_timeline_string(tl, tl->ops[n - 1].name), "third");
		assert_int_equal(tl->ops[n - 1].start_ns, 30000);
		assert_int_equal(tl->ops[n - 1].end_ns, 35000);
		if (w->name) {
			assert_string_equal(wt_timeline_string(tl, tl->ops[1].name), w->name);
			assert_int_equal(tl->ops[1].start_ns, 20000);
			assert_int_equal(tl->ops[1].end_ns, 25000);
			assert_int_equal(tl->streams[tl->ops[1].stream].id, 7);
			assert_int_equal(in->damaged, 0);
		} else {
			assert_int_equal(in->damaged, 1);
			assert_int_equal(diag.offset, start + (size_t)w->first);
		}
		if (w->name && in->repairs != w->repairs)
			fail_msg("%s: %llu repairs instead of %llu", w->what,
				 (unsigned long long)in->repairs, (unsigned long long)w->repairs);
		assert_int_equal(in->lost_events, !w->name);
		if (w->repairs && w->first >= 0) {
			char place[64];

			snprintf(place, sizeof(place), "at byte %zu of the text",
				 start + (size_t)w->first);
			if (!tl->nnotes || !strstr(wt_timeline_string(tl, tl->notes[0]), place))
				fail_msg("%s: no word of '%s' in: %s", w->what, place,
					 tl->nnotes ? wt_timeline_string(tl, tl->notes[0]) : "");
		}
		wt_timeline_free(tl);
	}
	wt_strbuf_release(&text);
}

#define HEAD "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \""

static const struct want wants[] = {
	{"bare inf", EVENT("20", "k", ", \"bandwidth\": inf"), "k", 1, -1},
	{"bare -Infinity and NaN",
	 EVENT("20", "k", ", \"a\": -Infinity, \"b\": NaN, \"c\": [nan, -inf]"), "k", 4, -1},
	{"nan of another library", EVENT("20", "k", ", \"a\": -nan(ind), \"b\": 1.#INF"), "k", 2,
	 -1},
	{"a backslash that begins no escape", EVENT("20", "C:\\Users\\me", ""), "C:\\Users\\me", 2,
	 sizeof(HEAD) - 1 + 3},
	{"a short \\u", EVENT("20", "a\\u12", ""), "a\\u12", 1, -1},
	{"a folder at the end of a string", EVENT("20", "k", ", \"dir\": \"D:\\work\\\""), "k", 2,
	 -1},
	{"sound escapes beside bad ones", EVENT("20", "\\\"a\\\"\\q\\n", ""), "\"a\"\\q\n", 1, -1},
	{"a line break in a name", EVENT("20", "lambda\n\tx", ""), "lambda\n\tx", 2,
	 sizeof(HEAD) - 1 + 6},
	{"quotes in a name", EVENT("20", "say \"x\" twice", ""), "say \"x\" twice", 2,
	 sizeof(HEAD) - 1 + 5},
	{"quotes and commas in a name", EVENT("20", "print(\"a\", \"b\")", ""),
	 "print(\"a\", \"b\")", 4, -1},
	{"quotes and braces in a name", EVENT("20", "f({\"a\": 1, \"b\": [\"c\"]})", ""),
	 "f({\"a\": 1, \"b\": [\"c\"]})", 6, -1},
	{"a comma too many in an object", EVENT("20", "k", ", \"a\": 1,"), "k", 1, -1},
	{"a comma too many in an array", EVENT("20", "k", ", \"grid\": [1, 1, 1, ]"), "k", 1, -1},
	{"a comma too many in what is skipped",
	 EVENT("20", "k", ", \"x\": {\"y\": [1, {\"z\": 2,},],}"), "k", 3, -1},
	/* The name is cut off where it looks closed: not to be repaired, so the event is lost. */
	{"no closing quote", HEAD "k, \"pid\": 0, \"tid\": 7, \"ts\": 20, \"dur\": 5}", NULL, 0,
	 sizeof(HEAD) - 1 + 4},
	{"no comma", "{\"ph\": \"X\" \"cat\": \"kernel\", \"ts\": 20, \"dur\": 5}", NULL, 0, 11},
	{"no colon", "{\"ph\" \"X\", \"cat\": \"kernel\", \"ts\": 20, \"dur\": 5}", NULL, 0, 6},
	{"a word", "{\"ph\": X, \"cat\": \"kernel\", \"ts\": 20, \"dur\": 5}", NULL, 0, 7},
	{"nested objects behind the fault",
	 "{\"ph\": \"X\", \"cat\" \"kernel\", \"args\": {\"name\": \"n\", \"list\": [{\"ts\": "
	 "1}]}}",
	 NULL, 0, 18},
};

static void test_faults(void **state)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		check_one(&wants[i], "{\"schemaVersion\": 1, \"traceEvents\": [", "]}");
		check_one(&wants[i], "[", "]\n");
		check_one(&wants[i], "{\"traceEvents\": [\n",
			  "\n], \"traceName\": \"x\", \"deviceProperties\": []}");
	}
}

/* The last event of a list, and the commas between events. */
static void test_ends(void **state)
{
	static const char *const tails[] = {"]}", "], \"traceName\": \"t\"}", " ] \n}\n"};

	for (size_t i = 0; i < 3; i++) {
		struct wt_strbuf text = {0};
		struct wt_timeline *tl;

		wt_strbuf_addf(&text, "{\"traceEvents\": [%s, {\"ph\": \"X\" \"cat\": 1}%s",
			       EVENT("10", "k", ""), tails[i]);
		tl = import(text.s, text.n, 0, -WT_E_CORRUPT);
		assert_int_equal(tl->nops, 1);
		assert_int_equal(tl->inputs[0].lost_events, 1);
		wt_timeline_free(tl);
		text.n = 0;
		/* A comma behind the last event, none between two. */
		wt_strbuf_addf(&text, "{\"traceEvents\": [%s %s, %s", EVENT("10", "k", ""),
			       EVENT("20", "k", ""), tails[i]);
		tl = import(text.s, text.n, 0, 0);
		assert_int_equal(tl->nops, 2);
		assert_int_equal(tl->inputs[0].lost_events, 0);
		assert_int_equal(tl->inputs[0].repairs, 2);
		wt_timeline_free(tl);
		wt_strbuf_release(&text);
	}
}

/* A fault more than a mebibyte into an event: there is no second reading, but there is a next event. */
static void test_far_fault(void **state)
{
	for (int repairable = 0; repairable < 2; repairable++) {
		struct wt_strbuf text = {0};

		wt_strbuf_adds(&text,
			       "[" EVENT("10", "k",
					 "") ", {\"ph\": \"X\", \"cat\": \"kernel\", "
					     "\"ts\": 20, \"dur\": 5, \"args\": {\"stack\": \"");
		for (int i = 0; i < (repairable ? 1000 : 140000); i++)
			wt_strbuf_adds(&text, "frame: a\\n ");
		wt_strbuf_adds(&text, "\", \"bandwidth\": inf}}, " EVENT("30", "k", "") "]");
		for (size_t window = 0; window < 3000; window += 2500) {
			struct wt_timeline *tl =
				import(text.s, text.n, window, repairable ? 0 : -WT_E_CORRUPT);

			assert_int_equal(tl->nops, repairable ? 3 : 2);
			assert_int_equal(tl->inputs[0].lost_events, !repairable);
			wt_timeline_free(tl);
		}
		wt_strbuf_release(&text);
	}
}

/* Names are bytes: kept, counted, and the report replaces them. */
static void test_not_utf8(void **state)
{
	struct wt_timeline *tl =
		import("[" EVENT("10", "caf\xe9", "") "," EVENT("20", "caf\xe9", "") "," EVENT(
			       "30", "caf\xc3\xa9", "") "]",
		       strlen("[" EVENT("10", "cafX", "") "," EVENT("20", "cafX", "") "," EVENT(
			       "30", "cafXX", "") "]"),
		       0, 0);

	assert_int_equal(tl->nops, 3);
	assert_string_equal(wt_timeline_string(tl, tl->ops[0].name), "caf\xe9");
	assert_int_equal(tl->inputs[0].repairs, 1); /* one name */
	assert_int_equal(tl->inputs[0].damaged, 0);
	wt_timeline_free(tl);
}

/* Faults in the header cost nothing but themselves. */
static void test_header(void **state)
{
	static const char text[] =
		"{\"deviceProperties\": [{\"id\": 0, \"name\": \"H\\100\", \"clock\": NaN, "
		"\"numSms\": 132}], "
		"\"distributedInfo\": {\"rank\": 3, \"note\": \"a\tb\"}, \"traceEvents\": [" EVENT(
			"10", "k", "") "]}";
	struct wt_timeline *tl = import(text, sizeof(text) - 1, 0, 0);

	assert_int_equal(tl->ndevices, 1);
	assert_string_equal(wt_timeline_string(tl, tl->devices[0].name), "H\\100");
	assert_int_equal(tl->devices[0].sm_count, 132);
	assert_int_equal(tl->devices[0].rank, 3);
	assert_int_equal(tl->inputs[0].repairs, 3);
	wt_timeline_free(tl);
}

/* Every second event bad, in a file of many windows: nothing else is lost. */
static void test_many(void **state)
{
	struct wt_strbuf text = {0};
	struct wt_timeline *tl;

	wt_strbuf_adds(&text, "{\"traceEvents\": [");
	for (int i = 0; i < 20000; i++)
		wt_strbuf_addf(
			&text,
			"%s\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"ts\": %d, "
			"\"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7}}",
			i ? "," : "",
			i % 2	? "C:\\Qt"
			: i % 4 ? "plain"
				: "no end, ",
			10 + i);
	wt_strbuf_adds(&text, "]}");
	tl = import(text.s, text.n, 0, 0);
	assert_int_equal(tl->nops, 20000);
	assert_int_equal(tl->inputs[0].repairs, 10000);
	wt_timeline_free(tl);
	wt_strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),	  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_far_fault), cmocka_unit_test(test_not_utf8),
		cmocka_unit_test(test_header),	  cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
