/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framing: what the writer gives to its sink, the reader gives back; and whatever happens to the bytes between
 * (cut anywhere, flipped anywhere, junk between frames), the reader delivers only packets that were written, in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zstd.h>

#include "proto/frame.h"

#define MAX_PACKETS 4096

struct bytes {
	uint8_t *p;
	size_t n, cap, fail_at;
};

static int sink(void *arg, const void *bytes, size_t n)
{
	struct bytes *b = arg;

	if (b->fail_at && b->n + n > b->fail_at)
		return -WT_E_IO;
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->p = realloc(b->p, b->cap);
		assert_non_null(b->p);
	}
	memcpy(b->p + b->n, bytes, n);
	b->n += n;
	return 0;
}

struct input {
	const uint8_t *p;
	size_t n, pos, step;
	int fail_at_end;
};

static long read_input(void *arg, void *buf, size_t n)
{
	struct input *in = arg;
	size_t left = in->n - in->pos;

	if (!left && in->fail_at_end)
		return -WT_E_IO;
	if (n > left)
		n = left;
	if (in->step && n > in->step)
		n = in->step;
	memcpy(buf, in->p + in->pos, n);
	in->pos += n;
	return (long)n;
}

/* Packet i: its number, then a mix of repeated and random bytes. */
static size_t make_packet(uint32_t i, uint8_t *buf)
{
	size_t n = 4 + i * 37 % 200;
	uint32_t x = i * 2654435761u + 1;

	memcpy(buf, &i, 4);
	for (size_t k = 4; k < n; k++) {
		x = x * 1664525u + 1013904223u;
		buf[k] = k % 3 ? (uint8_t)k : (uint8_t)(x >> 24);
	}
	return n;
}

static const uint8_t file_id[16] = "0123456789abcdef";

static struct wt_frame_writer *new_writer(void **ret_mem, struct bytes *out)
{
	size_t size = wt_frame_writer_size(1);
	struct wt_frame_writer *w;

	*ret_mem = aligned_alloc(16, (size + 15) & ~(size_t)15);
	assert_non_null(*ret_mem);
	w = wt_frame_writer_init(*ret_mem, size, 1, file_id, sink, out);
	assert_non_null(w);
	return w;
}

/* npackets packets, a flush after each `flush`, a frame end after each `frame`; `cut` = the last frame stays open. */
static void write_file(struct bytes *out, uint32_t npackets, uint32_t flush, uint32_t frame,
		       int cut)
{
	void *mem;
	struct wt_frame_writer *w = new_writer(&mem, out);
	uint8_t buf[256];

	for (uint32_t i = 0; i < npackets; i++) {
		size_t n = make_packet(i, buf);

		assert_int_equal(wt_frame_writer_packet(w, buf, n), 0);
		if (flush && i % flush == flush - 1)
			assert_int_equal(wt_frame_writer_flush(w), 0);
		if (frame && i % frame == frame - 1)
			assert_int_equal(wt_frame_writer_end(w, 0), 0);
	}
	assert_int_equal(cut ? wt_frame_writer_flush(w) : wt_frame_writer_end(w, 0), 0);
	assert_int_equal(wt_frame_writer_out_bytes(w), out->n);
	free(mem);
}

struct result {
	uint32_t count, first, last;
	int err;
	struct wt_frame_damage damage;
};

/* Reads all; every packet must be one that was written, and in order. */
static struct result read_file(const uint8_t *p, size_t n, size_t step)
{
	struct input in = {p, n, 0, step, 0};
	struct wt_frame_reader *r;
	struct result res = {0};
	const uint8_t *packet;
	uint64_t offset;
	size_t len;
	int64_t last = -1;

	res.damage.first_offset = -1;
	res.err = wt_frame_reader_open(&r, read_input, &in, NULL);
	if (res.err)
		return res;
	while ((res.err = wt_frame_reader_next(r, &packet, &len, &offset)) == 1) {
		uint8_t want[256];
		uint32_t i;

		assert_true(len >= 4);
		memcpy(&i, packet, 4);
		assert_true(i < MAX_PACKETS);
		assert_int_equal(len, make_packet(i, want));
		assert_memory_equal(packet, want, len);
		assert_true((int64_t)i > last);
		assert_true(offset < n);
		if (!res.count++)
			res.first = i;
		res.last = i;
		last = i;
	}
	res.damage = *wt_frame_reader_damage(r);
	assert_int_equal(res.damage.first_offset >= 0, res.damage.first_text[0] != '\0');
	wt_frame_reader_free(r);
	return res;
}

static void round_trip(void **state)
{
	static const size_t steps[] = {0, 1, 7, 4096};

	for (size_t s = 0; s < 4; s++) {
		struct bytes out = {0};
		struct result res;

		write_file(&out, 1000, 10, 100, 0);
		res = read_file(out.p, out.n, steps[s]);
		assert_int_equal(res.err, 0);
		assert_int_equal(res.count, 1000);
		assert_int_equal(res.damage.first_offset, -1);
		assert_int_equal(res.damage.truncated, 0);
		assert_true(wt_frame_probe(out.p, out.n));
		free(out.p);
	}
}

static void every_frame_stays_below_its_limit(void **state)
{
	struct bytes out = {0};
	void *mem;
	struct wt_frame_writer *w = new_writer(&mem, &out);
	uint8_t *big = calloc(1, WT_PACKET_MAX + 1);
	struct wt_frame_reader *r;
	struct input in;
	const uint8_t *p;
	uint64_t offset, last = 1;
	size_t n;
	int frames = 0, packets = 0;

	assert_int_equal(wt_frame_writer_packet(w, big, WT_PACKET_MAX + 1), -WT_E_LIMIT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wt_frame_writer_packet(w, big, WT_PACKET_MAX), 0);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(wt_frame_writer_packet(w, big, 1000), 0);
		assert_true(wt_frame_writer_raw_bytes(w) <= WT_FRAME_RAW_MAX);
	}
	assert_int_equal(wt_frame_writer_end(w, 0), 0);
	assert_int_equal(wt_frame_writer_raw_bytes(w), 0);
	in = (struct input){out.p, out.n, 0, 0, 0};
	assert_int_equal(wt_frame_reader_open(&r, read_input, &in, NULL), 0);
	while (wt_frame_reader_next(r, &p, &n, &offset) == 1) {
		frames += offset != last;
		last = offset;
		packets++;
	}
	assert_int_equal(packets, 5003);
	assert_int_equal(frames, 3 + 5);
	assert_int_equal(wt_frame_reader_damage(r)->first_offset, -1);
	wt_frame_reader_free(r);
	free(big);
	free(mem);
	free(out.p);
}

static void a_flush_makes_everything_decodable(void **state)
{
	struct bytes out = {0};
	void *mem;
	struct wt_frame_writer *w = new_writer(&mem, &out);
	uint8_t buf[256];

	for (uint32_t i = 0; i < 300; i++) {
		struct result res;
		size_t n = make_packet(i, buf);

		assert_int_equal(wt_frame_writer_packet(w, buf, n), 0);
		assert_int_equal(wt_frame_writer_flush(w), 0);
		res = read_file(out.p, out.n, 0);
		assert_int_equal(res.count, i + 1);
		assert_int_equal(res.err, 0);
		assert_int_equal(res.damage.truncated, 1);
		assert_int_equal(res.damage.frames_lost, 0);
	}
	free(mem);
	free(out.p);
}

static void torn_at_every_byte(void **state)
{
	struct bytes out = {0};
	uint32_t last = 0;

	write_file(&out, 60, 5, 20, 0);
	for (size_t n = 0; n < out.n; n++) {
		struct result res = read_file(out.p, n, 0);

		assert_true(res.count >= last); /* more bytes never give fewer packets */
		last = res.count;
		if (n == 0)
			assert_int_equal(res.err, -WT_E_FORMAT);
		else if (res.count == 0)
			assert_true(res.err == -WT_E_TRUNCATED || res.err == -WT_E_FORMAT);
		else
			assert_int_equal(res.err, 0);
		assert_int_equal(res.damage.frames_lost, 0);
		/* cut exactly between two frames nothing is torn; everywhere else it must be said */
		if (n && !res.damage.truncated)
			assert_true(res.count % 20 == 0);
	}
	/* the checksum alone is missing: all packets are there */
	assert_int_equal(read_file(out.p, out.n - 4, 0).count, 60);
	free(out.p);
}

static void flipped_at_every_byte(void **state)
{
	struct bytes out = {0};
	size_t silent = 0;

	write_file(&out, 80, 4, 20, 0);
	for (size_t at = 0; at < out.n; at++) {
		struct result res;

		out.p[at] ^= (uint8_t)(1u << at % 8);
		res = read_file(out.p, out.n, 0);
		/* three of four frames are untouched; read_file has compared every packet with what was written */
		assert_true(res.count >= 60);
		silent += res.damage.first_offset < 0;
		out.p[at] ^= (uint8_t)(1u << at % 8);
	}
	/* Bits that change nothing: the file id of the first marker is only compared with later ones, so it is noticed
	 * there; zstd's window size may grow unnoticed. */
	assert_true(silent <= 16);
	free(out.p);
}

static void a_damaged_frame_gives_its_packets_before_the_fault(void **state)
{
	struct bytes out = {0};
	struct result res;

	write_file(&out, 400, 4, 0, 0);
	out.p[out.n / 2] ^= 0x10;
	res = read_file(out.p, out.n, 0);
	assert_true(res.count >= 150 && res.count < 400);
	assert_true(res.damage.first_offset > 0);
	assert_int_equal(res.damage.frames_lost, res.damage.truncated ? 0 : 1);
	free(out.p);
}

static void junk_between_frames(void **state)
{
	struct bytes one = {0}, out = {0};
	uint8_t junk[1000];
	size_t second;
	struct result res;

	write_file(&one, 80, 0, 40, 0);
	for (second = 40; memcmp(one.p + second, one.p, 12); second++)
		;
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (uint8_t)(i * 7);
	memcpy(junk + 300, one.p, 11); /* nearly a marker */
	sink(&out, one.p, second);
	sink(&out, junk, sizeof(junk));
	sink(&out, one.p + second, one.n - second);
	sink(&out, junk, sizeof(junk));
	res = read_file(out.p, out.n, 13);
	assert_int_equal(res.count, 80);
	assert_int_equal(res.damage.bytes_skipped, 2000);
	assert_int_equal(res.damage.first_offset, second);
	/* without its head a file is read from its second frame on */
	res = read_file(out.p + 5, out.n - 5, 0);
	assert_int_equal(res.first, 40);
	assert_int_equal(res.count, 40);
	assert_int_equal(res.damage.first_offset, 0);
	assert_int_equal(res.damage.frames_lost, 1);
	free(one.p);
	free(out.p);
}

static void hostile(void **state)
{
	struct bytes out = {0};
	uint8_t frame[8192], bomb[256], marker[40];
	struct result res;
	size_t n, raw = 64u << 20;
	uint8_t *zeros = calloc(1, raw), *packed = malloc(ZSTD_compressBound(raw));

	assert_int_equal(read_file((const uint8_t *)"", 0, 0).err, -WT_E_FORMAT);
	assert_int_equal(read_file((const uint8_t *)"text, not ours", 14, 0).err, -WT_E_FORMAT);
	write_file(&out, 1, 0, 0, 0);
	memcpy(marker, out.p, 40);
	marker[28] = 1; /* its number */
	/* a frame that inflates to 64 MiB */
	n = ZSTD_compress(packed, ZSTD_compressBound(raw), zeros, raw, 1);
	assert_false(ZSTD_isError(n));
	sink(&out, marker, 40);
	sink(&out, packed, n);
	res = read_file(out.p, out.n, 0);
	assert_int_equal(res.count, 1);
	assert_int_equal(res.damage.frames_lost, 1);
	/* lengths that are not: overlong varints, a packet longer than its frame */
	out.n = 0;
	memset(bomb, 0xFF, sizeof(bomb));
	n = ZSTD_compress(frame, sizeof(frame), bomb, sizeof(bomb), 1);
	write_file(&out, 1, 0, 0, 0);
	sink(&out, marker, 40);
	sink(&out, frame, n);
	res = read_file(out.p, out.n, 0);
	assert_int_equal(res.count, 1);
	assert_true(res.damage.first_offset > 0);
	/* a packet whose check is wrong or absent is never delivered */
	for (int i = 0; i < 12; i++)
		bomb[i] = i ? 8 : 11;
	n = ZSTD_compress(frame, sizeof(frame), bomb, 12, 1);
	out.n = 0;
	write_file(&out, 1, 0, 0, 0);
	sink(&out, marker, 40);
	sink(&out, frame, n);
	res = read_file(out.p, out.n, 0);
	assert_int_equal(res.count, 1);
	assert_non_null(strstr(res.damage.first_text, "check"));
	free(zeros);
	free(packed);
	free(out.p);
}

static void errors_of_the_sink_and_the_source(void **state)
{
	struct bytes out = {.fail_at = 200000};
	void *mem;
	struct wt_frame_writer *w = new_writer(&mem, &out);
	uint8_t buf[4096];
	struct input in;
	struct wt_frame_reader *r;
	const uint8_t *p;
	uint64_t offset;
	size_t n;
	int err = 0, rc;

	srand(1);
	for (int i = 0; i < 200 && !err; i++) {
		for (size_t k = 0; k < sizeof(buf); k++)
			buf[k] = (uint8_t)rand();
		err = wt_frame_writer_packet(w, buf, sizeof(buf));
	}
	assert_int_equal(err, -WT_E_IO);
	n = out.n;
	out.fail_at = 0;
	assert_int_equal(wt_frame_writer_packet(w, buf, 10), -WT_E_IO);
	assert_int_equal(wt_frame_writer_flush(w), -WT_E_IO);
	assert_int_equal(wt_frame_writer_end(w, 1), -WT_E_IO);
	assert_int_equal(out.n, n); /* nothing may follow a hole */
	free(mem);
	out.n = 0;
	write_file(&out, 100, 5, 0, 0);
	in = (struct input){out.p, out.n / 2, 0, 0, 1};
	assert_int_equal(wt_frame_reader_open(&r, read_input, &in, NULL), 0);
	while ((rc = wt_frame_reader_next(r, &p, &n, &offset)) == 1)
		;
	assert_int_equal(rc, 0);
	assert_int_equal(wt_frame_reader_damage(r)->truncated, 1);
	wt_frame_reader_free(r);
	free(out.p);
}

static void memory_too_small(void **state)
{
	size_t size = wt_frame_writer_size(1);
	void *mem = aligned_alloc(16, (size + 15) & ~(size_t)15);
	struct bytes out = {0};

	assert_null(wt_frame_writer_init(mem, size - 1, 1, file_id, sink, &out));
	assert_null(wt_frame_writer_init((char *)mem + 8, size, 1, file_id, sink, &out));
	free(mem);
}

static void errors_have_names(void **state)
{
	struct wt_diag diag = {.offset = 5};

	assert_string_equal(wt_strerror(WT_E_CORRUPT), wt_strerror(-WT_E_CORRUPT));
	assert_string_equal(wt_strerror(INT32_MIN), "unknown error");
	assert_int_equal(wt_fail(&diag, WT_E_LIMIT, 7, "%d of %s", 3, "x"), -WT_E_LIMIT);
	assert_int_equal(diag.offset, 7);
	assert_string_equal(diag.text, "3 of x");
	assert_int_equal(wt_fail(NULL, WT_E_FORMAT, -1, "x"), -WT_E_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(every_frame_stays_below_its_limit),
		cmocka_unit_test(a_flush_makes_everything_decodable),
		cmocka_unit_test(torn_at_every_byte),
		cmocka_unit_test(flipped_at_every_byte),
		cmocka_unit_test(a_damaged_frame_gives_its_packets_before_the_fault),
		cmocka_unit_test(junk_between_frames),
		cmocka_unit_test(hostile),
		cmocka_unit_test(errors_of_the_sink_and_the_source),
		cmocka_unit_test(memory_too_small),
		cmocka_unit_test(errors_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
