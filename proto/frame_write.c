/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer half of the framing: Packets in, bytes of a .wt file out (format: frame.h and warptap-trace.5).
 *
 *   packed Packet -> { length, packet, check } -> zstd stream -> out[] -> sink
 *
 * Runs in the guest on the writer thread, one caller. The compressor lives in the memory it is given (a static zstd
 * context): it must never touch the job's heap, use stdio, print or exit. After the sink has failed once nothing is
 * written any more, because what follows a hole inside a frame could not be decoded.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_initStaticCCtx: the only way to a context without malloc */
#include "frame.h"

#include <string.h>
#include <zstd.h>

#include "check.h"

/* Small enough that a killed job loses little, large enough that a flush is few write() calls. */
#define OUT_BYTES 65536u

struct wt_frame_writer {
	ZSTD_CCtx *zstd;
	wt_frame_sink *sink;
	void *arg;
	uint64_t raw_bytes, out_bytes;
	uint32_t frame;	 /* number of the next frame */
	int open;	 /* a frame is open */
	int segment;	 /* the next frame opens a segment */
	int failed;	 /* -WT_E_x of the sink or the compressor: final */
	size_t out_used; /* bytes waiting in out[] */
	uint8_t id[16];
	struct wt_check check;
	uint8_t out[OUT_BYTES];
};

static size_t header_size(void)
{
	return (sizeof(struct wt_frame_writer) + 15) & ~(size_t)15;
}

size_t wt_frame_writer_size(int level)
{
	return header_size() + ZSTD_estimateCStreamSize(level);
}

struct wt_frame_writer *wt_frame_writer_init(void *mem, size_t size, int level,
					     const uint8_t file_id[16], wt_frame_sink *sink,
					     void *arg)
{
	struct wt_frame_writer *w = mem;

	if (!mem || (uintptr_t)mem % 16 || size < wt_frame_writer_size(level))
		return NULL;
	memset(w, 0, sizeof(*w) - sizeof(w->out));
	w->zstd = ZSTD_initStaticCCtx((uint8_t *)mem + header_size(), size - header_size());
	if (!w->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)))
		return NULL;
	w->sink = sink;
	w->arg = arg;
	w->segment = 1;
	memcpy(w->id, file_id, 16);
	wt_check_init(&w->check);
	return w;
}

void wt_frame_writer_resume(struct wt_frame_writer *w, uint32_t frame, int segment)
{
	w->frame = frame;
	w->segment = segment;
}

static int drain(struct wt_frame_writer *w)
{
	size_t n = w->out_used;

	w->out_used = 0;
	if (!n || w->failed)
		return w->failed;
	if (w->sink(w->arg, w->out, n)) {
		w->failed = -WT_E_IO;
		return w->failed;
	}
	w->out_bytes += n;
	return 0;
}

static void put_le(uint8_t *p, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static int open_frame(struct wt_frame_writer *w)
{
	uint8_t *m;

	if (w->out_used + WT_FRAME_MARKER_BYTES > OUT_BYTES && drain(w))
		return w->failed;
	m = w->out + w->out_used;
	put_le(m, WT_FRAME_MARKER_MAGIC, 4);
	put_le(m + 4, WT_FRAME_MARKER_BYTES - 8, 4);
	memcpy(m + 8, "WTAP", 4);
	memcpy(m + 12, w->id, 16);
	put_le(m + 28, w->frame++, 4);
	put_le(m + 32, w->segment ? 1 : 0, 4);
	put_le(m + 36, 1, 2);
	put_le(m + 38, 0, 2);
	w->out_used += WT_FRAME_MARKER_BYTES;
	w->segment = 0;
	w->open = 1;
	w->raw_bytes = 0;
	return 0;
}

/* Feeds the compressor; with a directive other than continue, until it has nothing left inside. */
static int feed(struct wt_frame_writer *w, const void *bytes, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {bytes, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {w->out, OUT_BYTES, w->out_used};

		left = ZSTD_compressStream2(w->zstd, &out, &in, how);
		if (ZSTD_isError(left)) {
			w->failed = -WT_E_IO;
			return w->failed;
		}
		w->out_used = out.pos;
		if (w->out_used == OUT_BYTES && drain(w))
			return w->failed;
	} while (how == ZSTD_e_continue ? in.pos < n : left != 0);
	return 0;
}

int wt_frame_writer_packet(struct wt_frame_writer *w, const void *packet, size_t n)
{
	uint8_t head[10], tail[WT_PACKET_CHECK_BYTES];
	size_t total = n + sizeof(tail), hn = 0;

	if (w->failed)
		return w->failed;
	if (n > WT_PACKET_MAX)
		return -WT_E_LIMIT;
	for (size_t v = total; hn == 0 || v; v >>= 7)
		head[hn++] = (uint8_t)((v & 127) | (v > 127 ? 128 : 0));
	tail[0] = WT_PACKET_CHECK_TAG;
	put_le(tail + 1, wt_check_crc(&w->check, packet, n), 4);
	if (w->open && w->raw_bytes + hn + total > WT_FRAME_RAW_MAX &&
	    wt_frame_writer_end(w, /* segment= */ 0))
		return w->failed;
	if (!w->open && open_frame(w))
		return w->failed;
	w->raw_bytes += hn + total;
	if (feed(w, head, hn, ZSTD_e_continue) || feed(w, packet, n, ZSTD_e_continue))
		return w->failed;
	return feed(w, tail, sizeof(tail), ZSTD_e_continue);
}

int wt_frame_writer_flush(struct wt_frame_writer *w)
{
	if (w->failed || !w->open)
		return w->failed;
	if (feed(w, NULL, 0, ZSTD_e_flush))
		return w->failed;
	return drain(w);
}

int wt_frame_writer_end(struct wt_frame_writer *w, int segment)
{
	if (segment)
		w->segment = 1;
	if (w->failed || !w->open)
		return w->failed;
	w->open = 0;
	w->raw_bytes = 0;
	if (feed(w, NULL, 0, ZSTD_e_end))
		return w->failed;
	return drain(w);
}

uint64_t wt_frame_writer_raw_bytes(const struct wt_frame_writer *w)
{
	return w->raw_bytes;
}

uint64_t wt_frame_writer_out_bytes(const struct wt_frame_writer *w)
{
	return w->out_bytes;
}
