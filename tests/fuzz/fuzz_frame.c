/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame reader on any bytes, in two chunk sizes: no crash, the same packets, and the same verdict on the damage.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct input {
	const uint8_t *p;
	size_t n, pos, step;
};

static long read_input(void *arg, void *buf, size_t n)
{
	struct input *in = arg;

	if (n > in->n - in->pos)
		n = in->n - in->pos;
	if (n > in->step)
		n = in->step;
	memcpy(buf, in->p + in->pos, n);
	in->pos += n;
	return (long)n;
}

struct result {
	uint64_t packets, hash;
	int rc;
	struct wt_frame_damage damage;
};

static struct result read_all(const uint8_t *data, size_t n, size_t step)
{
	struct input in = {data, n, 0, step};
	struct result r = {0};
	struct wt_frame_reader *reader;
	const uint8_t *packet;
	struct wt_check check;
	uint64_t offset;
	size_t len;

	wt_check_init(&check);
	r.rc = wt_frame_reader_open(&reader, read_input, &in, NULL);
	if (r.rc)
		return r;
	while ((r.rc = wt_frame_reader_next(reader, &packet, &len, &offset)) == 1) {
		if (offset >= n || len > WT_PACKET_MAX)
			abort();
		r.packets++;
		r.hash = r.hash * 31 + wt_check_crc(&check, packet, len);
	}
	r.damage = *wt_frame_reader_damage(reader);
	wt_frame_reader_free(reader);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct result a = read_all(data, n, n + 1), b = read_all(data, n, 1 + n % 97);

	if (a.packets != b.packets || a.hash != b.hash || a.rc != b.rc)
		abort();
	if (a.damage.truncated != b.damage.truncated ||
	    a.damage.first_offset * b.damage.first_offset < 0)
		abort();
	return 0;
}
