// SPDX-License-Identifier: Apache-2.0
/* agent/config.c: defaults, ranges, bad values, the list for the trace's header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/config.h"
#include "proto/wt_err.h"

static void test_defaults(void **state)
{
	assert_string_equal(wt_config.dir, "");
	assert_int_equal(wt_config.level, WT_LEVEL_TRACE);
	assert_int_equal(wt_config.pool_mb, 64);
	assert_int_equal(wt_config.budget_ppm, 10000);
	assert_int_equal(wt_config.window_every.n, 0);
	assert_int_equal(wt_config.flush_ms, 1000);
	assert_int_equal(wt_config.exit_ms, 200);
}

static void test_set(void **state)
{
	static const struct {
		const char *name, *value;
		int want;
	} rows[] = {
		{"WARPTAP_POOL_MB", "8", 0},
		{"WARPTAP_POOL_MB", "1024", 0},
		{"WARPTAP_POOL_MB", "7", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", "1025", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", "-1", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", "", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", "64MB", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", " 64", -WT_E_LIMIT},
		{"WARPTAP_POOL_MB", "99999999999999999999999", -WT_E_LIMIT},
		{"WARPTAP_LEVEL", "off", 0},
		{"WARPTAP_LEVEL", "count", 0},
		{"WARPTAP_LEVEL", "api", 0},
		{"WARPTAP_LEVEL", "trace", 0},
		{"WARPTAP_LEVEL", "inert", -WT_E_LIMIT},
		{"WARPTAP_LEVEL", "Trace", -WT_E_LIMIT},
		{"WARPTAP_LEVEL", "3", -WT_E_LIMIT},
		{"WARPTAP_CUPTI", "0", 0},
		{"WARPTAP_CUPTI", "2", -WT_E_LIMIT},
		{"WARPTAP_NO_SUCH", "1", -WT_E_NOENT},
		{"WARPTAP_BUDGET", "100", 0},
		{"WARPTAP_BUDGET", "100.0001", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", "0.00001", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", "1.5.0", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", ".5", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", "%", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", "99999999999999999999", -WT_E_LIMIT},
		{"WARPTAP_BUDGET", "0.25%", 0},
		{"WARPTAP_WINDOW_FOR", "2s", 0},
		{"WARPTAP_WINDOW_FOR", "2", -WT_E_LIMIT},
		{"WARPTAP_WINDOW_FOR", "s", -WT_E_LIMIT},
		{"WARPTAP_WINDOW_FOR", "2 s", -WT_E_LIMIT},
		{"WARPTAP_WINDOW_FOR", "99999999999s", -WT_E_LIMIT},
		{"WARPTAP_WINDOW_FOR", "2000000h", -WT_E_LIMIT},
		{"WARPTAP_WINDOW_EVERY", "1000collectives", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(wt_config_set(rows[i].name, rows[i].value), rows[i].want);
	assert_int_equal(wt_config.pool_mb, 1024); /* what was refused left the last good value */
	assert_int_equal(wt_config.level, WT_LEVEL_TRACE);
	assert_int_equal(wt_config.cupti, 0);
	assert_int_equal(wt_config.budget_ppm, 2500);
	assert_int_equal(wt_config.window_for.n, 2000);
	assert_int_equal(wt_config.window_for.unit, WT_SPAN_MS);
	assert_int_equal(wt_config.window_every.n, 1000);
	assert_int_equal(wt_config.window_every.unit, WT_SPAN_COLLECTIVES);
}

static void test_text(void **state)
{
	char longest[WT_CONFIG_TEXT_MAX + 1];

	memset(longest, 'x', sizeof(longest));
	longest[WT_CONFIG_TEXT_MAX] = 0;
	assert_int_equal(wt_config_set("WARPTAP_DIR", "/some/where"), 0);
	assert_int_equal(wt_config_set("WARPTAP_DIR", longest), -WT_E_LIMIT);
	assert_string_equal(wt_config.dir, "/some/where");
	longest[WT_CONFIG_TEXT_MAX - 1] = 0;
	assert_int_equal(wt_config_set("WARPTAP_DIR", longest), 0);
	assert_string_equal(wt_config.dir, longest);
}

/* Folders are meant from where the process began. */
static void test_relative(void **state)
{
	char here[WT_CONFIG_TEXT_MAX], want[2 * WT_CONFIG_TEXT_MAX], longest[WT_CONFIG_TEXT_MAX];

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(want, sizeof(want), "%s/out/x", here);
	setenv("WARPTAP_DIR", "out/x", 1);
	setenv("WARPTAP_RING_DIR", "/ring", 1);
	setenv("WARPTAP_RANKS", "0-3", 1);
	assert_int_equal(wt_config_read(), 0);
	assert_string_equal(wt_config.dir, want);
	assert_string_equal(wt_config.ring_dir, "/ring");
	assert_string_equal(wt_config.ranks, "0-3");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0; /* fits, but not behind where we are */
	setenv("WARPTAP_DIR", longest, 1);
	assert_int_equal(wt_config_read(), 1);
	assert_string_equal(wt_config.dir, "");
	unsetenv("WARPTAP_DIR");
	unsetenv("WARPTAP_RING_DIR");
	unsetenv("WARPTAP_RANKS");
}

struct list {
	int n, level, dir;
};

static void see(void *arg, const char *name, const char *value)
{
	struct list *l = arg;

	l->n++;
	l->level += !strcmp(name, "WARPTAP_LEVEL") && !strcmp(value, "count");
	l->dir += !strcmp(name, "WARPTAP_DIR") && !strcmp(value, "/d");
	assert_memory_equal(name, "WARPTAP_", 8);
}

static void test_environment(void **state)
{
	struct list l = {0, 0, 0};

	setenv("WARPTAP_DIR", "/d", 1);
	setenv("WARPTAP_LEVEL", "count", 1);
	setenv("WARPTAP_POOL_MB", "much", 1);
	setenv("WARPTAP_POOLMB", "64", 1); /* not a name we know */
	setenv("WARPTAP_FLUSH_MS", "", 1); /* empty = not set */
	assert_int_equal(wt_config_read(), 2);
	assert_string_equal(wt_config.dir, "/d");
	assert_int_equal(wt_config.level, WT_LEVEL_COUNT);
	assert_int_equal(wt_config.flush_ms, 1000);
	wt_config_each(see, &l);
	assert_int_equal(l.level, 1);
	assert_int_equal(l.dir, 1);
#define WT_OPT(name_, env_, type_, def_, min_, max_, help_) l.n--;
#include "agent/config.def"
#undef WT_OPT
	assert_int_equal(l.n, 0);
}

static void test_level_names(void **state)
{
	assert_string_equal(wt_level_name(WT_LEVEL_INERT), "inert");
	assert_string_equal(wt_level_name(WT_LEVEL_TRACE), "trace");
	assert_string_equal(wt_level_name(99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_set),
		cmocka_unit_test(test_text),	    cmocka_unit_test(test_relative),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_level_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
