/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path to a timeline: the format is found by content, wrong files are refused in one line that says what was
 * expected, damaged ones are read as far as they go and say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <isa-l/igzip_lib.h>

#include "import/importer.h"

static char path[] = "/tmp/wt_test_import_XXXXXX";
static struct wt_diag diag;

static void put_file(const void *s, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(s, 1, n, f), n);
	fclose(f);
}

static struct wt_timeline *import(int want_rc)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;

	assert_non_null(b);
	memset(&diag, 0, sizeof(diag));
	assert_int_equal(wt_import_file(path, b, &diag), want_rc);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	return tl;
}

static const char trace[] =
	"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3}, \"traceEvents\": [\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, "
	"\"dur\": 2, "
	"\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 5}},\n"
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 4, "
	"\"dur\": 2, "
	"\"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 6}}\n]}\n";

static size_t gzip(uint8_t *to, size_t room, const char *s, size_t n)
{
	struct isal_zstream z;

	isal_deflate_stateless_init(&z);
	z.gzip_flag = IGZIP_GZIP;
	z.end_of_stream = 1;
	z.next_in = (uint8_t *)s;
	z.avail_in = (uint32_t)n;
	z.next_out = to;
	z.avail_out = (uint32_t)room;
	assert_int_equal(isal_deflate_stateless(&z), COMP_OK);
	return z.total_out;
}

static void test_sound(void **state)
{
	uint8_t z[4096];
	size_t n = gzip(z, sizeof(z), trace, sizeof(trace) - 1);

	for (int zipped = 0; zipped < 2; zipped++) {
		struct wt_timeline *tl;

		put_file(zipped ? (const void *)z : trace, zipped ? n : sizeof(trace) - 1);
		tl = import(0);
		assert_int_equal(tl->nops, 2);
		assert_int_equal(tl->ninputs, 1);
		assert_string_equal(wt_timeline_string(tl, tl->inputs[0].path), path);
		assert_string_equal(wt_timeline_string(tl, tl->inputs[0].format), "kineto");
		assert_int_equal(tl->inputs[0].rank, 3);
		assert_int_equal(tl->inputs[0].damaged, 0);
		wt_timeline_free(tl);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *expect;
	} cases[] = {
		{"", 0, "an empty file: expected a "},
		{"hello, this is text\n", 20, "found text"},
		{"\x00\x01\x02\x80\xff", 5, "found binary data"},
		{"SQLite format 3\0xxxx", 20, "found an SQLite database shorter"},
		{"\x7f"
		 "ELF\x02",
		 5, "found a program or library"},
		{"version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull"},
		{"NVIDIA Tegra Profiler Report 2025", 33, "nsys export --type sqlite /tmp/wt_test"},
		{"{\"name\": \"config\"}", 18, "expected an object with traceEvents"},
		{"\x1f\x8b\x08\x00garbage", 11, "nothing readable"},
		{"\x1f\x8b", 2, "nothing readable"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wt_timeline *tl;

		put_file(cases[i].bytes, cases[i].n);
		tl = import(-WT_E_FORMAT);
		if (!strstr(diag.text, cases[i].expect) || !strstr(diag.text, "expected"))
			fail_msg("case %zu: %s", i, diag.text);
		assert_null(strchr(diag.text, '\n'));
		assert_string_equal(diag.path, path);
		assert_int_equal(tl->nops, 0);
		wt_timeline_free(tl);
	}
	assert_non_null(strstr(wt_importer_formats(), "warptap trace"));
	assert_non_null(strstr(wt_importer_formats(), "Kineto"));
}

static void test_damaged(void **state)
{
	uint8_t z[4096];
	size_t n = gzip(z, sizeof(z), trace, sizeof(trace) - 1);
	struct wt_timeline *tl;

	put_file(trace, sizeof(trace) - 20);
	tl = import(-WT_E_TRUNCATED);
	assert_int_equal(tl->nops, 1);
	assert_int_equal(tl->inputs[0].damaged, 1);
	assert_int_equal(tl->inputs[0].damage_offset, sizeof(trace) - 20);
	assert_int_equal(tl->inputs[0].rank, 3);
	assert_string_equal(wt_timeline_string(tl, tl->inputs[0].damage_text), diag.text);
	wt_timeline_free(tl);

	put_file(z, n - 9);
	tl = import(-WT_E_TRUNCATED);
	assert_int_equal(tl->inputs[0].damaged, 1);
	assert_non_null(strstr(diag.text, "gzip stream ends too early"));
	assert_int_equal(diag.offset, n - 9);
	wt_timeline_free(tl);

	z[n - 6] ^= 1; /* the checksum: everything was read, and is not to be trusted blindly */
	put_file(z, n);
	tl = import(-WT_E_CORRUPT);
	assert_int_equal(tl->nops, 2);
	assert_int_equal(tl->inputs[0].damaged, 1);
	assert_non_null(strstr(diag.text, "checksum"));
	wt_timeline_free(tl);
}

static void test_no_file(void **state)
{
	unlink(path);
	wt_timeline_free(import(-WT_E_NOENT));
	assert_string_equal(diag.text, "no such file");
	assert_string_equal(diag.path, path);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, make_path, NULL);
}
