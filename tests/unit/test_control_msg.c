// SPDX-License-Identifier: Apache-2.0
/* proto/control_msg.c and agent/rank_list.c: what is a request and what is none; spans; lists and shares of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/rank_list.h"
#include "proto/control_msg.h"
#include "proto/wt_err.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"warptap/1 status", 0},
		{"warptap/1 window for_ms=5000", 0},
		{"warptap/1 window collectives=10 at=4294967295", 0},
		{"warptap/1 level level=4", 0},
		{"warptap/1 level level=5", -WT_E_LIMIT},
		{"warptap/1 window for_ms=86400001", -WT_E_LIMIT},
		{"warptap/1 window at=4294967296", -WT_E_LIMIT},
		{"warptap/1 window for_ms=00000000001", -WT_E_LIMIT},
		{"warptap/1 window for_ms=", -WT_E_LIMIT},
		{"warptap/1 window for_ms=1x", -WT_E_FORMAT},
		{"warptap/1 window for_ms=-1", -WT_E_FORMAT},
		{"warptap/1 window for_ms", -WT_E_FORMAT},
		{"warptap/1 window for_ms=1 for_ms=1", -WT_E_FORMAT},
		{"warptap/1 status for_ms=1", -WT_E_FORMAT},
		{"warptap/1 status colour=1", -WT_E_UNSUPPORTED},
		{"warptap/1 reboot", -WT_E_UNSUPPORTED},
		{"warptap/2 status", -WT_E_UNSUPPORTED},
		{"warptap/ status", -WT_E_FORMAT},
		{"warptap/1", -WT_E_FORMAT},
		{"warptap/1 ", -WT_E_FORMAT},
		{"warptap/1 status ", -WT_E_FORMAT},
		{" warptap/1 status", -WT_E_FORMAT},
		{"warptap/1  status", -WT_E_UNSUPPORTED}, /* the empty verb */
		{"warptap/1 status\n", -WT_E_FORMAT},
		{"warptap/1\tstatus", -WT_E_FORMAT},
		{"", -WT_E_FORMAT},
	};
	struct wt_ctl_request r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (wt_ctl_parse(rows[i].text, strlen(rows[i].text), &r) != rows[i].want)
			fail_msg("%s: %d", rows[i].text,
				 wt_ctl_parse(rows[i].text, strlen(rows[i].text), &r));
}

static void test_bounds(void **state)
{
	char text[WT_CTL_REQUEST_MAX + 2];
	struct wt_ctl_request r = {.verb = 77};

	memset(text, 'a', sizeof(text));
	assert_int_equal(wt_ctl_parse(text, sizeof(text), &r), -WT_E_FORMAT);
	assert_int_equal(wt_ctl_parse("warptap/1 status\0x", 18, &r), -WT_E_FORMAT);
	assert_int_equal(r.verb, 77); /* written on success only */
}

static void test_print(void **state)
{
	struct wt_ctl_request r = {.verb = WT_CTL_WINDOW}, back;
	char text[WT_CTL_REQUEST_MAX + 1];
	int len;

	r.has = 1u << WT_CTL_KEY_COLLECTIVES | 1u << WT_CTL_KEY_AT;
	r.value[WT_CTL_KEY_COLLECTIVES] = 8;
	r.value[WT_CTL_KEY_AT] = 1000;
	len = wt_ctl_print(&r, text, sizeof(text));
	assert_string_equal(text, "warptap/1 window collectives=8 at=1000");
	assert_int_equal(len, (int)strlen(text));
	assert_int_equal(wt_ctl_parse(text, strlen(text), &back), 0);
	assert_memory_equal(&r, &back, sizeof(r));
	assert_int_equal(wt_ctl_print(&r, text, 20), -WT_E_LIMIT);
}

static void test_spans(void **state)
{
	static const struct {
		const char *text;
		int want;
		uint32_t n, unit;
	} rows[] = {
		{"500ms", 0, 500, WT_SPAN_MS},
		{"5s", 0, 5000, WT_SPAN_MS},
		{"2m", 0, 120000, WT_SPAN_MS},
		{"1h", 0, 3600000, WT_SPAN_MS},
		{"10steps", 0, 10, WT_SPAN_STEPS},
		{"7collectives", 0, 7, WT_SPAN_COLLECTIVES},
		{"0", 0, 0, WT_SPAN_MS},
		{"5", -WT_E_LIMIT, 0, 0},
		{"5 s", -WT_E_LIMIT, 0, 0},
		{"", -WT_E_LIMIT, 0, 0},
		{"-5s", -WT_E_LIMIT, 0, 0},
		{"300h", -WT_E_LIMIT, 0, 0},
		{"1000000001ms", -WT_E_LIMIT, 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wt_span s = {0, 0};

		assert_int_equal(wt_span_parse(rows[i].text, &s), rows[i].want);
		assert_int_equal(s.n, rows[i].n);
		assert_int_equal(s.unit, rows[i].unit);
	}
}

static void test_ranks(void **state)
{
	int in = 0;

	assert_int_equal(wt_rank_is_in("", 5), 1);
	assert_int_equal(wt_rank_is_in("5", 5), 1);
	assert_int_equal(wt_rank_is_in("5", 6), 0);
	assert_int_equal(wt_rank_is_in("0,8-15,20", 8), 1);
	assert_int_equal(wt_rank_is_in("0,8-15,20", 15), 1);
	assert_int_equal(wt_rank_is_in("0,8-15,20", 16), 0);
	assert_int_equal(wt_rank_is_in("0,8-15,20", 20), 1);
	assert_int_equal(wt_rank_is_in("15-8", 9), -1);
	assert_int_equal(wt_rank_is_in("1,", 1), -1);
	assert_int_equal(wt_rank_is_in("a", 1), -1);
	assert_int_equal(wt_rank_is_in("101%", 1), -1);
	assert_int_equal(wt_rank_is_in("10 %", 1), -1);
	assert_int_equal(wt_rank_is_in("0%", 1), 0);
	assert_int_equal(wt_rank_is_in("100%", 1), 1);
	for (int64_t rank = 0; rank < 10000; rank++)
		in += wt_rank_is_in("25%", rank);
	assert_in_range(in, 2300, 2700); /* 25 %, ± 5 standard deviations of a fair draw */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_print), cmocka_unit_test(test_spans),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
