/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader half of the framing: bytes of a .wt file in, Packets out (format: frame.h and warptap-trace.5).
 *
 *   read() -> in[] -> marker | zstd frame up to the next marker -> raw[] -> packets, each verified by its check
 *
 * Bench code, one caller per reader. Trusts nothing: memory is fixed (in[], raw[], a bounded zstd window) whatever the
 * file says. A frame is fed to zstd only up to the next marker, so a damaged length inside it can never swallow the
 * frames behind it; and a packet is delivered only if its own check holds, because zstd notices most flipped bits
 * only at the end of the frame, after having decoded something else than was written.
 */
#define _GNU_SOURCE /* memmem */
#include "frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "check.h"

#define IN_BYTES       (256u << 10)
#define PATTERN_BYTES  12 /* magic, size, "WTAP": what resync looks for */
#define WINDOW_LOG_MAX 21 /* no frame needs more than the 1 MiB it holds */
#define FRAME_BYTES_MIN                                                                            \
	48 /* marker and the shortest zstd frame: bounds what a jump of frame numbers can mean */

static const uint8_t pattern[PATTERN_BYTES] = {0x5A, 0x2A, 0x4D, 0x18, 32,  0,
					       0,    0,	   'W',	 'T',  'A', 'P'};

struct wt_frame_reader {
	wt_frame_read *read;
	void *arg;
	ZSTD_DStream *zstd;
	uint64_t in_offset; /* of in[0] in the file */
	size_t in_pos, in_len;
	size_t raw_pos, raw_len;
	uint64_t frame_offset; /* of the marker of the frame in raw[] */
	uint64_t delivered, skipped_here;
	uint64_t clear_until;	    /* file offset up to which no marker begins */
	int marker_follows;	    /* and one begins there */
	uint32_t frame, next_frame; /* number of the frame in raw[]; number expected next */
	int eof, read_error, markers, whole;
	uint8_t id[16];
	struct wt_frame_damage damage;
	struct wt_check check;
	uint8_t in[IN_BYTES];
	uint8_t raw[WT_FRAME_RAW_MAX + 1]; /* one more, to notice a frame that is too large */
};

__attribute__((format(printf, 3, 4))) static void fault(struct wt_frame_reader *r, uint64_t offset,
							const char *fmt, ...)
{
	va_list ap;

	if (r->damage.first_offset >= 0)
		return;
	r->damage.first_offset = (int64_t)offset;
	va_start(ap, fmt);
	vsnprintf(r->damage.first_text, sizeof(r->damage.first_text), fmt, ap);
	va_end(ap);
}

/* Makes n bytes available at in_pos if the file has them; returns how many there are. */
static size_t ensure(struct wt_frame_reader *r, size_t n)
{
	if (r->in_len - r->in_pos >= n)
		return r->in_len - r->in_pos;
	memmove(r->in, r->in + r->in_pos, r->in_len - r->in_pos);
	r->in_offset += r->in_pos;
	r->in_len -= r->in_pos;
	r->in_pos = 0;
	while (r->in_len < n && !r->eof) {
		long got = r->read(r->arg, r->in + r->in_len, IN_BYTES - r->in_len);

		if (got < 0)
			r->read_error = (int)got;
		if (got <= 0 || (size_t)got > IN_BYTES - r->in_len)
			r->eof = 1;
		else
			r->in_len += (size_t)got;
	}
	return r->in_len - r->in_pos;
}

static uint64_t here(const struct wt_frame_reader *r)
{
	return r->in_offset + r->in_pos;
}

/*
 * Bytes from in_pos that surely lie before the next marker; *ret_marker = 1 if that marker follows them. What was
 * searched once is remembered: blocks are small, and the buffer is not searched again for each.
 */
static size_t before_marker(struct wt_frame_reader *r, int *ret_marker)
{
	if (r->clear_until <= here(r)) {
		size_t avail = ensure(r, PATTERN_BYTES);
		const uint8_t *at = memmem(r->in + r->in_pos, avail, pattern, PATTERN_BYTES);

		r->marker_follows = at != NULL;
		if (at)
			avail = (size_t)(at - (r->in + r->in_pos));
		else if (!r->eof)
			avail -= PATTERN_BYTES - 1; /* a marker may begin in the last bytes */
		r->clear_until = here(r) + avail;
	}
	*ret_marker = r->marker_follows;
	return (size_t)(r->clear_until - here(r));
}

static uint32_t get_le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Reads the marker at in_pos, which has the right first bytes. */
static void take_marker(struct wt_frame_reader *r)
{
	const uint8_t *m = r->in + r->in_pos;
	uint64_t jump;

	r->frame_offset = here(r);
	r->frame = get_le32(m + 28);
	if (!r->markers++)
		memcpy(r->id, m + 12, 16);
	else if (memcmp(r->id, m + 12, 16))
		fault(r, here(r) + 12, "frame %u carries another file id", r->frame);
	if (get_le32(m + 36) != 1)
		fault(r, here(r) + 36, "frame %u: version %u, expected 1", r->frame,
		      get_le32(m + 36));
	if (get_le32(m + 32) & ~1u)
		fault(r, here(r) + 32, "frame %u: unknown flags %#x", r->frame, get_le32(m + 32));
	if (r->frame != r->next_frame) {
		fault(r, here(r) + 28, "frame %u found, frame %u expected", r->frame,
		      r->next_frame);
		/* One flipped bit can claim four billion lost frames; the bytes between cannot lie so much. */
		jump = r->frame > r->next_frame ? r->frame - r->next_frame : 0;
		if (jump <= r->skipped_here / FRAME_BYTES_MIN)
			r->damage.frames_lost += jump;
	}
	r->next_frame = r->frame + 1;
	r->skipped_here = 0;
	r->in_pos += WT_FRAME_MARKER_BYTES;
}

/* 1 = the marker of a frame was read, 0 = the file ends. */
static int find_marker(struct wt_frame_reader *r)
{
	int skipped = 0;

	for (;;) {
		size_t avail = ensure(r, WT_FRAME_MARKER_BYTES), skip;
		size_t n = avail < PATTERN_BYTES ? avail : PATTERN_BYTES;
		int found;

		if (!avail)
			return 0;
		/* a few bytes of a marker at the very end mean something only where a marker had to be */
		if ((n == PATTERN_BYTES || !skipped) && !memcmp(r->in + r->in_pos, pattern, n)) {
			if (avail >= WT_FRAME_MARKER_BYTES) {
				take_marker(r);
				return 1;
			}
			fault(r, here(r) + avail, "the file ends inside the marker of frame %u",
			      r->next_frame);
			r->damage.truncated = 1;
			r->in_pos += avail;
			return 0;
		}
		fault(r, here(r), "expected the marker of frame %u", r->next_frame);
		skipped = 1;
		skip = before_marker(r, &found);
		r->in_pos += skip;
		r->damage.bytes_skipped += skip;
		r->skipped_here += skip;
	}
}

/* Decodes one frame into raw[], as far as it goes. */
static void decode_frame(struct wt_frame_reader *r)
{
	ZSTD_outBuffer out = {r->raw, sizeof(r->raw), 0};
	size_t left;

	left = ZSTD_initDStream(r->zstd);
	r->whole = 0;
	for (;;) {
		int marker;
		size_t n = before_marker(r, &marker);
		/*
		 * As many bytes as zstd asks for, which is one block: a call that fails gives nothing of what it has
		 * decoded, so with more than a block in it whole blocks would be lost.
		 */
		ZSTD_inBuffer in = {r->in + r->in_pos, left < n ? left : n, 0};

		left = ZSTD_decompressStream(r->zstd, &out, &in);
		r->in_pos += in.pos;
		if (ZSTD_isError(left)) {
			fault(r, here(r), "frame %u: %s", r->frame, ZSTD_getErrorName(left));
			break;
		}
		if (out.pos > WT_FRAME_RAW_MAX) {
			fault(r, here(r), "frame %u holds more than %u bytes", r->frame,
			      WT_FRAME_RAW_MAX);
			break;
		}
		if (!left) {
			r->whole = 1;
			break;
		}
		if (in.pos < n)
			continue;
		if (marker) {
			fault(r, here(r), "frame %u ends before its checksum", r->frame);
			break;
		}
		if (r->eof && r->in_pos == r->in_len) {
			fault(r, here(r), "the file ends inside frame %u", r->frame);
			r->damage.truncated = 1;
			break;
		}
	}
	if (!r->whole && !r->damage.truncated)
		r->damage.frames_lost++;
	r->raw_len = out.pos > WT_FRAME_RAW_MAX ? WT_FRAME_RAW_MAX : out.pos;
	r->raw_pos = 0;
}

/* Reads a varint of at most five bytes; the byte after it, or NULL if there is none. */
static const uint8_t *take_length(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 35 && p < end; shift += 7, p++) {
		v |= (uint64_t)(*p & 0x7F) << shift;
		if (!(*p & 0x80)) {
			*ret = v;
			return p + 1;
		}
	}
	return NULL;
}

/* 1 and a packet of raw[] whose check holds; 0 = raw[] is used up. */
static int take_packet(struct wt_frame_reader *r, const uint8_t **ret_bytes, size_t *ret_n)
{
	while (r->raw_pos < r->raw_len) {
		const uint8_t *p = r->raw + r->raw_pos, *end = r->raw + r->raw_len;
		uint64_t n;

		p = take_length(p, end, &n);
		if (!p || n > (uint64_t)(end - p)) {
			if (r->whole)
				fault(r, r->frame_offset, "frame %u ends inside a packet",
				      r->frame);
			r->raw_pos = r->raw_len;
			return 0;
		}
		r->raw_pos = (size_t)(p - r->raw) + n;
		if (n < WT_PACKET_CHECK_BYTES ||
		    p[n - WT_PACKET_CHECK_BYTES] != WT_PACKET_CHECK_TAG ||
		    get_le32(p + n - 4) != wt_check_crc(&r->check, p, n - WT_PACKET_CHECK_BYTES)) {
			fault(r, r->frame_offset,
			      "frame %u: a packet does not agree with its check", r->frame);
			continue;
		}
		*ret_bytes = p;
		*ret_n = n - WT_PACKET_CHECK_BYTES;
		r->delivered++;
		return 1;
	}
	return 0;
}

int wt_frame_reader_open(struct wt_frame_reader **ret, wt_frame_read *read, void *arg,
			 struct wt_diag *diag)
{
	struct wt_frame_reader *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return wt_fail(diag, WT_E_NOMEM, -1, "no memory for the reader");
	memset(r, 0, offsetof(struct wt_frame_reader, in));
	r->read = read;
	r->arg = arg;
	r->damage.first_offset = -1;
	wt_check_init(&r->check);
	r->zstd = ZSTD_createDStream();
	if (!r->zstd) {
		err = wt_fail(diag, WT_E_NOMEM, -1, "no memory for the decompressor");
		goto out;
	}
	ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	if (!ensure(r, WT_FRAME_MARKER_BYTES)) {
		err = r->read_error ? wt_fail(diag, (enum wt_err) - r->read_error, 0, "cannot read")
				    : wt_fail(diag, WT_E_FORMAT, 0,
					      "the file is empty, expected a warptap trace");
		goto out;
	}
	*ret = r;
	return 0;
out:
	wt_frame_reader_free(r);
	return err;
}

int wt_frame_reader_next(struct wt_frame_reader *r, const uint8_t **ret_bytes, size_t *ret_n,
			 uint64_t *ret_offset)
{
	for (;;) {
		if (take_packet(r, ret_bytes, ret_n)) {
			*ret_offset = r->frame_offset;
			return 1;
		}
		if (!find_marker(r))
			break;
		decode_frame(r);
	}
	if (r->read_error) {
		fault(r, here(r), "cannot read on: %s", wt_strerror(r->read_error));
		r->damage.truncated = 1;
	}
	if (r->delivered)
		return 0;
	if (r->read_error)
		return r->read_error;
	if (!r->markers)
		return -WT_E_FORMAT;
	if (r->damage.truncated)
		return -WT_E_TRUNCATED;
	return r->damage.first_offset >= 0 ? -WT_E_CORRUPT : 0;
}

const struct wt_frame_damage *wt_frame_reader_damage(const struct wt_frame_reader *r)
{
	return &r->damage;
}

void wt_frame_reader_free(struct wt_frame_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDStream(r->zstd);
	free(r);
}

int wt_frame_probe(const uint8_t *head, size_t n)
{
	return n >= PATTERN_BYTES && !memcmp(head, pattern, PATTERN_BYTES);
}
