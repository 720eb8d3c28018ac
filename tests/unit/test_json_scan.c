/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON scanner and the decimal conversions below it. yajl is the oracle: for random documents, sound and mutated,
 * both must agree on what is JSON, and on the tokens of what is.
 */
#define _GNU_SOURCE /* memmem */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yajl/yajl_parse.h>

#include "base/strbuf.h"
#include "import/decimal.h"
#include "import/json_scan.h"

/* ---- decimals ---- */

static void test_us_to_ns(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t ns;
	} cases[] = {
		{"0", 0, 0},
		{"1", 0, 1000},
		{"1.5", 0, 1500},
		{"41.407", 0, 41407},
		{"0.001", 0, 1},
		{"0.0005", 0, 1},
		{"0.0004", 0, 0},
		{"0.00049999", 0, 0},
		{"0.0000", 0, 0},
		{"0.00009", 0, 0},
		{"1.0014", 0, 1001},
		{"1.0015", 0, 1002},
		{"1.00149", 0, 1001},
		{"1.9995", 0, 2000},
		{"999.9999", 0, 1000000},
		{"370.1234567890123456789012345", 0, 370123},
		{"-1", 0, -1000},
		{"-0.0005", 0, -1},
		{"-0.0004", 0, 0},
		{"-4458676983543.183", 0, -4458676983543183},
		{"+2.5", 0, 2500},
		/* More than a double holds. */
		{"1712106658012345.678", 0, 1712106658012345678},
		{"1712106658012345.6785", 0, 1712106658012345679},
		{"9007199254740993", 0, 9007199254740993000},
		{"9223372036854775.807", 0, INT64_MAX},
		{"9223372036854775.8074", 0, INT64_MAX},
		{"9223372036854775.8075", -WT_E_LIMIT, 0},
		{"9223372036854775.808", -WT_E_LIMIT, 0},
		{"-9223372036854775.808", 0, INT64_MIN},
		{"-9223372036854775.809", -WT_E_LIMIT, 0},
		{"9223372036854776", -WT_E_LIMIT, 0},
		{"99999999999999999999", -WT_E_LIMIT, 0},
		{"18446744073709551615", -WT_E_LIMIT, 0},
		/* Exponents. */
		{"1e3", 0, 1000000},
		{"1E+3", 0, 1000000},
		{"1.5e2", 0, 150000},
		{"1.7121066580123456e15", 0, 1712106658012345600},
		{"15e-4", 0, 2},
		{"14e-4", 0, 1},
		{"5e-4", 0, 1},
		{"4e-4", 0, 0},
		{"5e-5", 0, 0},
		{"1e-999999999999999999999999", 0, 0},
		{"1e999999999999999999999999", -WT_E_LIMIT, 0},
		{"0e999999999999999999999999", 0, 0},
		{"1e15", 0, 1000000000000000000},
		{"1e16", -WT_E_LIMIT, 0},
		{"0.0000000000000000000001e22", 0, 1000},
		{"123456.789e-3", 0, 123457},
		/* Long forms of short numbers. */
		{"0000000000000000000000000000001.5", 0, 1500},
		{"1.50000000000000000000000000000000", 0, 1500},
		{".5", 0, 500},
		{"5.", 0, 5000},
		/* No numbers. */
		{"", -WT_E_FORMAT, 0},
		{"-", -WT_E_FORMAT, 0},
		{".", -WT_E_FORMAT, 0},
		{"e5", -WT_E_FORMAT, 0},
		{"1e", -WT_E_FORMAT, 0},
		{"1e+", -WT_E_FORMAT, 0},
		{"1x", -WT_E_FORMAT, 0},
		{"1.2.3", -WT_E_FORMAT, 0},
		{"1 ", -WT_E_FORMAT, 0},
		{"NaN", -WT_E_FORMAT, 0},
		{"inf", -WT_E_FORMAT, 0},
		{"0x10", -WT_E_FORMAT, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t ns = 77;
		int rc = wt_decimal_us_to_ns(cases[i].text, strlen(cases[i].text), &ns);

		if (rc != cases[i].rc || (!rc && ns != cases[i].ns))
			fail_msg("\"%s\": rc %d, %lld ns; expected rc %d, %lld", cases[i].text, rc,
				 (long long)ns, cases[i].rc, (long long)cases[i].ns);
		if (rc)
			assert_int_equal(ns, 77);
	}
}

/* Every fourth decimal, on every third: against integer arithmetic. */
static void test_rounding_is_exact(void **state)
{
	for (int64_t tenths = 0; tenths < 40000; tenths++) {
		int64_t base = 1712106658000000, ns;
		char text[64];
		int n = snprintf(text, sizeof(text), "%lld.%04lld",
				 (long long)(base + tenths / 10000), (long long)(tenths % 10000));

		assert_int_equal(wt_decimal_us_to_ns(text, (size_t)n, &ns), 0);
		assert_int_equal(ns, base * 1000 + (tenths + 5) / 10);
		n = snprintf(text, sizeof(text), "-%lld.%04lld", (long long)(tenths / 10000),
			     (long long)(tenths % 10000));
		assert_int_equal(wt_decimal_us_to_ns(text, (size_t)n, &ns), 0);
		assert_int_equal(ns, -((tenths + 5) / 10));
	}
}

static void test_integers(void **state)
{
	uint64_t u;
	int64_t i;

	assert_int_equal(wt_decimal_u64("18446744073709551615", 20, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(wt_decimal_u64("18446744073709551616", 20, &u), -WT_E_LIMIT);
	assert_int_equal(wt_decimal_u64("10159970886766084423", 20, &u), 0);
	assert_true(u == 10159970886766084423u);
	assert_int_equal(wt_decimal_u64("-1", 2, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(wt_decimal_u64("", 0, &u), -WT_E_FORMAT);
	assert_int_equal(wt_decimal_u64("-", 1, &u), -WT_E_FORMAT);
	assert_int_equal(wt_decimal_u64("1.5", 3, &u), -WT_E_FORMAT);
	assert_int_equal(wt_decimal_i64("7.0", 3, &i), 0);
	assert_int_equal(i, 7);
	assert_int_equal(wt_decimal_i64("-9223372036854775808", 20, &i), 0);
	assert_true(i == INT64_MIN);
	assert_int_equal(wt_decimal_i64("9223372036854775808", 19, &i), -WT_E_LIMIT);
}

/* ---- tokens: ours and yajl's as one text ---- */

static void put(struct wt_strbuf *to, char kind, const void *s, size_t n)
{
	wt_strbuf_addf(to, "%c%zu:", kind, n);
	wt_strbuf_add(to, s, n);
	wt_strbuf_addc(to, '\n');
}

static int walk(struct wt_json *js, struct wt_strbuf *to);

static int walk_object(struct wt_json *js, struct wt_strbuf *to)
{
	struct wt_json_text key;
	int rc = wt_json_enter_object(js);

	wt_strbuf_addc(to, '{');
	while (rc >= 0 && (rc = wt_json_key(js, &key)) > 0) {
		put(to, 'k', key.s, key.n);
		rc = walk(js, to);
	}
	wt_strbuf_addc(to, '}');
	return rc;
}

static int walk(struct wt_json *js, struct wt_strbuf *to)
{
	struct wt_json_text t;
	int kind = wt_json_peek(js), rc;

	switch (kind) {
	case WT_JSON_OBJECT:
		return walk_object(js, to);
	case WT_JSON_ARRAY:
		rc = wt_json_enter_array(js);
		wt_strbuf_addc(to, '[');
		while (rc >= 0 && (rc = wt_json_item(js)) > 0)
			rc = walk(js, to);
		wt_strbuf_addc(to, ']');
		return rc;
	case WT_JSON_STRING:
		rc = wt_json_string(js, &t);
		if (!rc)
			put(to, 's', t.s, t.n);
		return rc;
	case WT_JSON_NUMBER:
		rc = wt_json_number(js, &t);
		if (!rc)
			put(to, 'n', t.s, t.n);
		return rc;
	case WT_JSON_TRUE:
	case WT_JSON_FALSE:
	case WT_JSON_NULL:
		wt_strbuf_addc(to, kind == WT_JSON_TRUE ? 't' : kind == WT_JSON_FALSE ? 'f' : '0');
		return wt_json_skip(js);
	default:
		/* END is no value. */
		return kind < 0 ? kind : -WT_E_TRUNCATED;
	}
}

/* 0 if it is JSON; its tokens. */
static int scan_all(const char *text, size_t n, size_t window, struct wt_strbuf *to)
{
	struct wt_source *src;
	struct wt_json *js;
	int rc;

	assert_int_equal(wt_source_open_memory(&src, text, n), 0);
	js = wt_json_new(src, window);
	assert_non_null(js);
	rc = walk(js, to);
	if (!rc)
		rc = wt_json_finish(js);
	if (rc && rc != -WT_E_TRUNCATED)
		assert_true(wt_json_diag(js)->text[0]);
	wt_json_free(js);
	wt_source_close(src);
	return rc;
}

static int skip_all(const char *text, size_t n, size_t window)
{
	struct wt_source *src;
	struct wt_json *js;
	int rc;

	assert_int_equal(wt_source_open_memory(&src, text, n), 0);
	js = wt_json_new(src, window);
	assert_non_null(js);
	rc = wt_json_skip(js);
	if (!rc)
		rc = wt_json_finish(js);
	wt_json_free(js);
	wt_source_close(src);
	return rc;
}

static int on_null(void *to)
{
	wt_strbuf_addc(to, '0');
	return 1;
}
static int on_bool(void *to, int v)
{
	wt_strbuf_addc(to, v ? 't' : 'f');
	return 1;
}
static int on_number(void *to, const char *s, size_t n)
{
	put(to, 'n', s, n);
	return 1;
}
static int on_string(void *to, const unsigned char *s, size_t n)
{
	put(to, 's', s, n);
	return 1;
}
static int on_key(void *to, const unsigned char *s, size_t n)
{
	put(to, 'k', s, n);
	return 1;
}
static int on_map(void *to)
{
	wt_strbuf_addc(to, '{');
	return 1;
}
static int on_map_end(void *to)
{
	wt_strbuf_addc(to, '}');
	return 1;
}
static int on_array(void *to)
{
	wt_strbuf_addc(to, '[');
	return 1;
}
static int on_array_end(void *to)
{
	wt_strbuf_addc(to, ']');
	return 1;
}

static int yajl_accepts(const char *text, size_t n, const char *more, struct wt_strbuf *to)
{
	static const yajl_callbacks callbacks = {on_null,    on_bool,	NULL,	     NULL,
						 on_number,  on_string, on_map,	     on_key,
						 on_map_end, on_array,	on_array_end};
	yajl_handle h = yajl_alloc(&callbacks, NULL, to);
	int ok;

	assert_non_null(h);
	yajl_config(h, yajl_dont_validate_strings, 1);
	ok = yajl_parse(h, (const unsigned char *)text, n) == yajl_status_ok &&
	     yajl_parse(h, (const unsigned char *)more, strlen(more)) == yajl_status_ok &&
	     yajl_complete_parse(h) == yajl_status_ok;
	yajl_free(h);
	return ok;
}

/*
 * yajl does not notice an unfinished token behind a finished document ("1 tru", "1 \"x"). With a quote appended it
 * does; a sound document is accepted both ways.
 */
static int oracle(const char *text, size_t n, struct wt_strbuf *to)
{
	struct wt_strbuf unused = {0};
	int ok = yajl_accepts(text, n, "", to) && yajl_accepts(text, n, " \"", &unused);

	wt_strbuf_release(&unused);
	return ok;
}

/* ---- random documents ---- */

static uint64_t rng_state;

static unsigned rng(unsigned below)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (unsigned)(rng_state >> 33) % below;
}

static void gen_space(struct wt_strbuf *b)
{
	static const char *const runs[] = {
		"", "", "", " ", "\n", "\r\n\t", "\n                    ", "  "};

	wt_strbuf_adds(b, runs[rng(8)]);
}

static void gen_string(struct wt_strbuf *b)
{
	static const char *const parts[] = {
		"a",
		"kernel",
		"\\\"",
		"\\\\",
		"\\/",
		"\\b\\f\\n\\r\\t",
		"\\u00e9",
		"\\u0041",
		"\\uFFFF",
		"\\ud83d\\ude00",
		"\xc3\xa9",
		"{}[]:,",
		" ",
		"void at::native::vectorized_elementwise_kernel<4, float>(int, float)",
		"\x7f",
		"\xff\xfe",
		"0123456789abcdef",
	};
	unsigned n = rng(6);

	wt_strbuf_addc(b, '"');
	while (n--)
		wt_strbuf_adds(b, parts[rng(sizeof(parts) / sizeof(*parts))]);
	wt_strbuf_addc(b, '"');
}

static void gen_value(struct wt_strbuf *b, unsigned depth)
{
	static const char *const scalars[] = {
		"true",
		"false",
		"null",
		"0",
		"-0",
		"1",
		"-12",
		"3.25",
		"1e5",
		"1E-7",
		"0.5e+3",
		"1712106658012345.678",
		"10159970886766084423",
		"2.0",
	};
	unsigned kind = rng(depth ? 10 : 6), n;

	gen_space(b);
	if (kind < 3) {
		wt_strbuf_adds(b, scalars[rng(sizeof(scalars) / sizeof(*scalars))]);
	} else if (kind < 6) {
		gen_string(b);
	} else {
		int object = kind < 8;

		wt_strbuf_addc(b, object ? '{' : '[');
		gen_space(b);
		n = rng(5);
		for (unsigned i = 0; i < n; i++) {
			if (i)
				wt_strbuf_addc(b, ',');
			if (object) {
				gen_space(b);
				gen_string(b);
				gen_space(b);
				wt_strbuf_addc(b, ':');
			}
			gen_value(b, depth - 1);
		}
		wt_strbuf_addc(b, object ? '}' : ']');
	}
	gen_space(b);
}

static void mutate(struct wt_strbuf *b)
{
	static const char bytes[] = "{}[]\",:\\u0e-+.tfn \n\x01\x00"
				    "7";
	unsigned n = 1 + rng(3);

	while (n-- && b->n) {
		unsigned at = rng((unsigned)b->n);

		switch (rng(4)) {
		case 0:
			b->n = at; /* cut */
			break;
		case 1:
			memmove(b->s + at, b->s + at + 1, b->n - at - 1);
			b->n--;
			break;
		default:
			b->s[at] = bytes[rng(sizeof(bytes) - 1)];
		}
	}
}

static void compare(const struct wt_strbuf *doc, size_t window)
{
	struct wt_strbuf ours = {0}, theirs = {0};
	int ok = oracle(doc->s, doc->n, &theirs);
	int rc = scan_all(doc->s, doc->n, window, &ours);
	int skip_rc = skip_all(doc->s, doc->n, window);
	/* yajl writes '?' for half a surrogate pair; mutation can make one. */
	int surrogates = memmem(doc->s, doc->n, "\\ud", 3) != NULL;

	if ((rc == 0) != ok || (skip_rc == 0) != ok)
		fail_msg("scan %d, skip %d, yajl %s: %.*s", rc, skip_rc, ok ? "accepts" : "refuses",
			 (int)doc->n, doc->s);
	if (rc != skip_rc)
		fail_msg("scan says %d, skip %d: %.*s", rc, skip_rc, (int)doc->n, doc->s);
	if (ok && !surrogates && (ours.n != theirs.n || memcmp(ours.s, theirs.s, ours.n)))
		fail_msg("tokens differ for: %.*s\n%s\n%s", (int)doc->n, doc->s, ours.s, theirs.s);
	wt_strbuf_release(&ours);
	wt_strbuf_release(&theirs);
}

static void test_against_yajl(void **state)
{
	unsigned sound = 0;

	rng_state = 88172645463325252u;
	for (int i = 0; i < 20000; i++) {
		struct wt_strbuf doc = {0};

		gen_value(&doc, 5);
		if (i % 2)
			mutate(&doc);
		else
			sound++;
		/* Both would take white space we refuse: not RFC 8259. */
		compare(&doc, 16 + rng(100));
		wt_strbuf_release(&doc);
	}
	assert_int_equal(sound, 10000);
}

static void test_every_window(void **state)
{
	rng_state = 4711;
	for (int i = 0; i < 40; i++) {
		struct wt_strbuf doc = {0}, whole = {0};
		int rc;

		gen_value(&doc, 6);
		if (i % 3 == 2)
			mutate(&doc);
		rc = scan_all(doc.s, doc.n, 0, &whole);
		for (size_t window = 16; window < doc.n + 2 && window < 700; window++) {
			struct wt_strbuf split = {0};

			assert_int_equal(scan_all(doc.s, doc.n, window, &split), rc);
			if (!rc) {
				assert_int_equal(split.n, whole.n);
				assert_memory_equal(split.s, whole.s, whole.n);
			}
			assert_int_equal(skip_all(doc.s, doc.n, window), rc);
			wt_strbuf_release(&split);
		}
		wt_strbuf_release(&doc);
		wt_strbuf_release(&whole);
	}
}

static void test_every_cut_is_truncated(void **state)
{
	static const char doc[] =
		"{\"a\\u00e9\": [1, -2.5e3, true, false, null, \"x\\\"y\"], \"b\": {\"c\": []}}";
	size_t n = sizeof(doc) - 1;

	assert_int_equal(skip_all(doc, n, 16), 0);
	for (size_t cut = 0; cut < n; cut++) {
		struct wt_strbuf to = {0};

		assert_int_equal(skip_all(doc, cut, 16), -WT_E_TRUNCATED);
		assert_int_equal(scan_all(doc, cut, 16, &to), -WT_E_TRUNCATED);
		wt_strbuf_release(&to);
	}
}

static void test_depth(void **state)
{
	const size_t depth = 200000;
	char *text = malloc(2 * depth + 1);

	assert_non_null(text);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	assert_int_equal(skip_all(text, 2 * depth, 0), 0);
	assert_int_equal(skip_all(text, 2 * depth - 1, 0), -WT_E_TRUNCATED);
	text[2 * depth - 70] = '}';
	assert_int_equal(skip_all(text, 2 * depth, 0), -WT_E_CORRUPT);
	/* Objects and arrays by turns: each level must close as it was opened, beyond 64 too. */
	for (size_t i = 0; i < 1000; i++)
		memcpy(text + i * 6, "[{\"k\":", 6);
	text[6000] = '1';
	for (size_t i = 0; i < 1000; i++)
		memcpy(text + 6001 + i * 2, "}]", 2);
	assert_int_equal(skip_all(text, 8001, 0), 0);
	memcpy(text + 6001 + 2 * 500, "]}", 2);
	assert_int_equal(skip_all(text, 8001, 0), -WT_E_CORRUPT);
	free(text);
}

static void test_error_place(void **state)
{
	static const struct {
		const char *text, *expect;
		int64_t offset;
	} cases[] = {
		{"{\"a\" 1}", "expected ':' at byte 5 of the text, found '1'", 5},
		{"{\"a\": 1 \"b\": 2}", "expected ',' or '}' at byte 8 of the text, found '\"'", 8},
		{"[1, ]", "expected a value at byte 4 of the text, found ']'", 4},
		{"{\"a\": NaN}", "expected a value at byte 6 of the text, found 'N'", 6},
		{"[01]", "expected ',' or ']' at byte 2 of the text, found '1'", 2},
		{"[\"a\nb\"]",
		 "expected no bare control character in a string at byte 3 of the text, "
		 "found byte 0x0a",
		 3},
		{"[\"C:\\data\"]",
		 "expected an escape (\\n, \\\", \\u00e9 ...) at byte 5 of the text, "
		 "found 'd'",
		 5},
		{"[1] x",
		 "expected nothing after the outermost value at byte 4 of the text, found 'x'", 4},
		{"{\"a\": [1,", "expected a value at byte 9 of the text, found its end", 9},
		{"{\"a\": tru", "expected a value at byte 9 of the text, found its end", 9},
		{"{\"a\": \"tru",
		 "expected the string to end at byte 10 of the text, found its end", 10},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t window = 16; window < 64; window += 47) {
			struct wt_source *src;
			struct wt_json *js;

			assert_int_equal(
				wt_source_open_memory(&src, cases[i].text, strlen(cases[i].text)),
				0);
			js = wt_json_new(src, window);
			assert_true(wt_json_skip(js) < 0 || wt_json_finish(js) < 0);
			assert_string_equal(wt_json_diag(js)->text, cases[i].expect);
			assert_int_equal(wt_json_diag(js)->offset, cases[i].offset);
			wt_json_free(js);
			wt_source_close(src);
		}
}

/* A kept text outlives the window, a dropped one does not cost memory. */
static void test_kept_texts(void **state)
{
	static const char doc[] =
		"{\"name\": \"a kernel\", \"args\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
		"12, 13, 14, 15, 16, 17, 18, 19, 20], \"last\": \"end\"}";
	struct wt_json_text kept[2], key;
	struct wt_source *src;
	struct wt_json *js;

	assert_int_equal(wt_source_open_memory(&src, doc, sizeof(doc) - 1), 0);
	js = wt_json_new(src, 16);
	wt_json_keep(js, kept, 2);
	assert_int_equal(wt_json_enter_object(js), 0);
	assert_int_equal(wt_json_key(js, &key), 1);
	assert_int_equal(wt_json_string(js, &kept[0]), 0);
	assert_int_equal(wt_json_key(js, &key), 1);
	assert_int_equal(wt_json_skip(js), 0);
	assert_int_equal(wt_json_key(js, &key), 1);
	assert_int_equal(wt_json_string(js, &kept[1]), 0);
	assert_int_equal(wt_json_key(js, &key), 0);
	assert_int_equal(wt_json_finish(js), 0);
	assert_int_equal(kept[0].n, 8);
	assert_memory_equal(kept[0].s, "a kernel", 8);
	assert_int_equal(kept[1].n, 3);
	assert_memory_equal(kept[1].s, "end", 3);
	wt_json_drop(js);
	assert_null(kept[0].s);
	wt_json_free(js);
	wt_source_close(src);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_us_to_ns),     cmocka_unit_test(test_rounding_is_exact),
		cmocka_unit_test(test_integers),     cmocka_unit_test(test_against_yajl),
		cmocka_unit_test(test_every_window), cmocka_unit_test(test_every_cut_is_truncated),
		cmocka_unit_test(test_depth),	     cmocka_unit_test(test_error_place),
		cmocka_unit_test(test_kept_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
