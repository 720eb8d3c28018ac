/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs: plain, gzip in one and several members, through files, pipes and memory; cut and damaged everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <isa-l/igzip_lib.h>

#include "base/source.h"

#define TEXT_BYTES (1u << 20)

struct bytes {
	uint8_t *s;
	size_t n;
};

/* Text that compresses, but not to nothing. */
static struct bytes make_text(size_t n, uint32_t seed)
{
	struct bytes t = {malloc(n ? n : 1), n};

	assert_non_null(t.s);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		t.s[i] = "{\"name\": 0123456789}, kernel\n"[(seed >> 24) % 29];
	}
	return t;
}

static struct bytes gzip(const void *s, size_t n)
{
	struct bytes z = {malloc(n + 4096), 0};
	struct isal_zstream stream;

	assert_non_null(z.s);
	isal_deflate_stateless_init(&stream);
	stream.gzip_flag = IGZIP_GZIP;
	stream.end_of_stream = 1;
	stream.next_in = (uint8_t *)s;
	stream.avail_in = (uint32_t)n;
	stream.next_out = z.s;
	stream.avail_out = (uint32_t)n + 4096;
	assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
	z.n = stream.total_out;
	return z;
}

/* Everything the source gives, in reads of at most `step` bytes; *ret_rc is what ended it. */
static struct bytes read_all(struct wt_source *src, size_t step, long *ret_rc)
{
	struct bytes t = {malloc(4 * TEXT_BYTES), 0};
	long got;

	assert_non_null(t.s);
	while ((got = wt_source_read(src, t.s + t.n, step)) > 0) {
		assert_true((size_t)got <= step);
		t.n += (size_t)got;
		assert_true(t.n + step <= 4 * TEXT_BYTES);
		assert_int_equal(wt_source_text_offset(src), t.n);
	}
	assert_int_equal(wt_source_read(src, t.s, 1), got); /* an end stays an end */
	*ret_rc = got;
	return t;
}

static struct bytes read_memory(const void *s, size_t n, size_t step, long *ret_rc)
{
	struct wt_source *src;
	struct bytes t;

	assert_int_equal(wt_source_open_memory(&src, s, n), 0);
	t = read_all(src, step, ret_rc);
	if (*ret_rc < 0) {
		assert_true(wt_source_fault(src)->text[0]);
		assert_true(wt_source_fault(src)->offset >= 0 &&
			    wt_source_fault(src)->offset <= (int64_t)n);
	} else {
		assert_string_equal(wt_source_fault(src)->text, "");
		assert_int_equal(wt_source_disk_offset(src), n);
	}
	wt_source_close(src);
	return t;
}

static void expect_equal(struct bytes got, const void *want, size_t n)
{
	assert_int_equal(got.n, n);
	assert_memory_equal(got.s, want, n);
	free(got.s);
}

static void test_plain(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 65535, 65536, 65537, 300000, TEXT_BYTES};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct bytes t = make_text(sizes[i], 1);
		long rc;

		expect_equal(read_memory(t.s, t.n, 70000, &rc), t.s, t.n);
		assert_int_equal(rc, 0);
		free(t.s);
	}
}

static void test_gzip(void **state)
{
	static const size_t sizes[] = {0, 1, 65536, 300000, TEXT_BYTES};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct bytes t = make_text(sizes[i], 2), z = gzip(t.s, t.n);
		long rc;

		expect_equal(read_memory(z.s, z.n, 1 << 20, &rc), t.s, t.n);
		assert_int_equal(rc, 0);
		expect_equal(read_memory(z.s, z.n, 1000, &rc), t.s, t.n);
		assert_int_equal(rc, 0);
		free(t.s);
		free(z.s);
	}
}

static void test_members_and_trailing_bytes(void **state)
{
	struct bytes a = make_text(100000, 3), b = make_text(0, 4), c = make_text(200001, 5);
	struct bytes za = gzip(a.s, a.n), zb = gzip(b.s, b.n), zc = gzip(c.s, c.n);
	size_t n = za.n + zb.n + zc.n;
	uint8_t *file = malloc(n + 600000), *text = malloc(a.n + c.n);
	struct wt_source *src;
	struct bytes got;
	long rc;

	assert_non_null(file);
	assert_non_null(text);
	memcpy(file, za.s, za.n);
	memcpy(file + za.n, zb.s, zb.n);
	memcpy(file + za.n + zb.n, zc.s, zc.n);
	memset(file + n, 0, 600000);
	memcpy(text, a.s, a.n);
	memcpy(text + a.n, c.s, c.n);
	expect_equal(read_memory(file, n, 4096, &rc), text, a.n + c.n);
	assert_int_equal(rc, 0);
	for (size_t extra = 1; extra <= 600000; extra += 599999) {
		assert_int_equal(wt_source_open_memory(&src, file, n + extra), 0);
		got = read_all(src, 65536, &rc);
		assert_int_equal(rc, 0);
		assert_int_equal(wt_source_trailing_bytes(src), extra);
		assert_true(wt_source_is_gzip(src));
		wt_source_close(src);
		expect_equal(got, text, a.n + c.n);
	}
	free(a.s), free(b.s), free(c.s), free(za.s), free(zb.s), free(zc.s), free(file), free(text);
}

/* Cut anywhere: a prefix of the text, then -WT_E_TRUNCATED; never the whole text with a clean end. */
static void test_truncated(void **state)
{
	struct bytes t = make_text(200000, 6), z = gzip(t.s, t.n);
	size_t most = 0;

	for (size_t cut = 2; cut < z.n; cut += cut < 64 || cut + 1061 > z.n ? 1 : 997) {
		long rc;
		struct bytes got = read_memory(z.s, cut, 50000, &rc);

		assert_int_equal(rc, -WT_E_TRUNCATED);
		assert_true(got.n <= t.n);
		assert_memory_equal(got.s, t.s, got.n);
		assert_true(got.n + 1000 >= most); /* more file, not less text */
		most = got.n > most ? got.n : most;
		free(got.s);
	}
	assert_int_equal(most, t.n); /* all but the trailer: all text */
	free(t.s);
	free(z.s);
}

/* One flipped bit: never taken for sound. */
static void test_corrupt(void **state)
{
	struct bytes t = make_text(100000, 7), z = gzip(t.s, t.n);
	unsigned delivered = 0;

	for (size_t at = 10; at < z.n; at += 499) {
		long rc;
		struct bytes got;

		z.s[at] ^= 0x10;
		got = read_memory(z.s, z.n, 50000, &rc);
		assert_true(rc == -WT_E_CORRUPT || rc == -WT_E_TRUNCATED);
		delivered += got.n > 0;
		free(got.s);
		z.s[at] ^= 0x10;
	}
	assert_true(delivered > 10);
	/* The trailer: all the text, then the checksum's complaint. */
	for (size_t at = z.n - 8; at < z.n; at++) {
		long rc;

		z.s[at] ^= 1;
		expect_equal(read_memory(z.s, z.n, 50000, &rc), t.s, t.n);
		assert_int_equal(rc, -WT_E_CORRUPT);
		z.s[at] ^= 1;
	}
	free(t.s);
	free(z.s);
}

static void test_head(void **state)
{
	struct bytes t = make_text(200000, 8), z = gzip(t.s, t.n), got;
	struct wt_source *src;
	const uint8_t *head;
	size_t n;
	long rc;

	assert_int_equal(wt_source_open_memory(&src, z.s, z.n), 0);
	head = wt_source_head(src, &n);
	assert_int_equal(n, 65536);
	assert_memory_equal(head, t.s, n);
	assert_int_equal(wt_source_text_offset(src), 0);
	head = wt_source_head(src, &n);
	assert_int_equal(n, 65536);
	got = read_all(src, 30000, &rc);
	assert_int_equal(rc, 0);
	expect_equal(got, t.s, t.n);
	wt_source_close(src);

	assert_int_equal(wt_source_open_memory(&src, "{}", 2), 0);
	head = wt_source_head(src, &n);
	assert_int_equal(n, 2);
	assert_int_equal(wt_source_disk_offset(src), 0);
	assert_memory_equal(head, "{}", 2);
	wt_source_close(src);

	assert_int_equal(wt_source_open_memory(&src, NULL, 0), 0);
	wt_source_head(src, &n);
	assert_int_equal(n, 0);
	wt_source_close(src);
	free(t.s);
	free(z.s);
}

static void test_files(void **state)
{
	struct bytes t = make_text(300000, 9), z = gzip(t.s, t.n);
	char path[] = "/tmp/wt_test_source_XXXXXX";
	struct wt_source *src;
	struct wt_diag diag;
	int fd = mkstemp(path);
	long rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, z.s, z.n), (ssize_t)z.n);
	close(fd);
	assert_int_equal(wt_source_open(&src, path, &diag), 0);
	assert_string_equal(wt_source_path(src), path);
	expect_equal(read_all(src, 4096, &rc), t.s, t.n);
	assert_int_equal(rc, 0);
	assert_int_equal(wt_source_disk_offset(src), z.n);
	wt_source_close(src);
	unlink(path);

	assert_int_equal(wt_source_open(&src, path, &diag), -WT_E_NOENT);
	assert_string_equal(diag.path, path);
	assert_string_equal(diag.text, "no such file");
	assert_int_equal(wt_source_open(&src, "/tmp", &diag), -WT_E_IO);
	assert_string_equal(diag.text, "a directory, not a file");
	assert_int_equal(wt_source_open(&src, "/proc/self/mem", &diag), -WT_E_IO);
	assert_true(diag.sys_errno);
	free(t.s);
	free(z.s);
}

/*
 * A pipe that gives a few bytes at a time: the gzip magic, the trailers and the members' borders arrive in pieces.
 * `step` divides nothing evenly.
 */
static void read_through_pipe(const uint8_t *file, size_t n, size_t step, const void *text,
			      size_t text_n, int64_t trailing)
{
	struct wt_source *src;
	char path[64];
	int fds[2];
	pid_t pid;
	long rc;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		for (size_t i = 0; i < n; i += step) {
			size_t some = n - i < step ? n - i : step;

			if (write(fds[1], file + i, some) != (ssize_t)some)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_int_equal(wt_source_open(&src, path, NULL), 0);
	close(fds[0]);
	assert_true(wt_source_is_gzip(src));
	expect_equal(read_all(src, 4096, &rc), text, text_n);
	assert_int_equal(rc, 0);
	assert_int_equal(wt_source_trailing_bytes(src), trailing);
	assert_int_equal(wt_source_disk_offset(src), n);
	wt_source_close(src);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_pipe(void **state)
{
	struct bytes a = make_text(5000, 10), b = make_text(700, 11);
	struct bytes za = gzip(a.s, a.n), zb = gzip(b.s, b.n);
	uint8_t file[16384], text[5700];
	size_t n = za.n + zb.n;

	assert_true(n + 3 <= sizeof(file));
	memcpy(file, za.s, za.n);
	memcpy(file + za.n, zb.s, zb.n);
	memcpy(file + n, "xyz", 3);
	memcpy(text, a.s, a.n);
	memcpy(text + a.n, b.s, b.n);
	for (size_t step = 1; step < 40; step += 3)
		read_through_pipe(file, n + 3, step, text, sizeof(text), 3);
	free(a.s), free(b.s), free(za.s), free(zb.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_members_and_trailing_bytes),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
