/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer and the terminal's view of a name: whatever is in a name, the output stays well formed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/json_out.h"

static void check_string(const char *in, const char *want)
{
	struct wt_strbuf out = {.n = 0};
	struct wt_jout j = {.out = &out, .fresh = 1};

	wt_jout_string(&j, NULL, in);
	assert_string_equal(wt_strbuf_text(&out), want);
	wt_strbuf_release(&out);
}

static void test_strings(void **state)
{
	check_string(NULL, "null");
	check_string("", "\"\"");
	check_string("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
	check_string("\n\t\r\b\f\x01\x1f\x7f", "\"\\n\\t\\r\\b\\f\\u0001\\u001f\x7f\"");
	check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

static void test_what_is_not_utf8(void **state)
{
	static const char *const bad[] = {
		"\x80",		    /* continuation alone */
		"\xc3",		    /* cut */
		"\xc0\xaf",	    /* overlong, two bytes: two replacements */
		"\xed\xa0\x80",	    /* surrogate */
		"\xf4\x90\x80\x80", /* beyond U+10FFFF */
		"\xff",
		"\xe2\x82", /* cut after two of three */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char want[64] = "\"";

		for (size_t k = 0; k < strlen(bad[i]); k++)
			strcat(want, "\xef\xbf\xbd");
		strcat(want, "\"");
		check_string(bad[i], want);
	}
}

static void test_structure(void **state)
{
	struct wt_strbuf out = {.n = 0};
	struct wt_jout j = {.out = &out, .fresh = 1};

	wt_jout_open(&j, NULL, '{');
	wt_jout_int(&j, "a", INT64_MIN);
	wt_jout_uint(&j, "b", UINT64_MAX);
	wt_jout_open(&j, "c", '[');
	wt_jout_close(&j, ']');
	wt_jout_open(&j, "d", '[');
	wt_jout_bool(&j, NULL, 1);
	wt_jout_null(&j, NULL);
	wt_jout_share(&j, NULL, 1);
	wt_jout_share(&j, NULL, 0.25);
	wt_jout_count(&j, NULL, -1);
	wt_jout_close(&j, ']');
	wt_jout_close(&j, '}');
	assert_string_equal(
		wt_strbuf_text(&out),
		"{\n \"a\":-9223372036854775808,\n \"b\":18446744073709551615,\n \"c\":[],\n"
		" \"d\":[\n  true,\n  null,\n  1.0,\n  0.250000000,\n  null\n ]\n}");
	wt_strbuf_release(&out);
}

static void check_name(const char *in, unsigned most, const char *want)
{
	struct wt_strbuf out = {.n = 0};

	wt_text_name(&out, in, most);
	assert_string_equal(wt_strbuf_text(&out), want);
	wt_strbuf_release(&out);
}

static void test_names_on_a_terminal(void **state)
{
	check_name("kernel", 10, "kernel");
	check_name("0123456789", 10, "0123456789");
	check_name("0123456789a", 10, "0123456...");
	check_name("a\033[31mb\nc\x7f", 40, "a [31mb c ");
	check_name("\xc2\x9b"
		   "31m",
		   40, " 31m"); /* the one-character form of ESC [ */
	check_name("\xff", 10, "\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_what_is_not_utf8),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_names_on_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
