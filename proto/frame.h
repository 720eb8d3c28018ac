/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of a .wt file: Packets <-> bytes. Specification: warptap-trace.5.
 *
 *   file   = { marker frame }           zstd -dc ignores markers, so the rest of the world sees one stream
 *   marker = skippable frame, 40 bytes: magic 0x184D2A5A LE, size 32 LE, "WTAP", file id[16], frame number u32 LE,
 *            flags u32 LE (1 = opens a segment), version u16 LE (1), 2 bytes 0
 *   frame  = zstd frame with content checksum, at most 1 MiB raw or 30 s; flushed in blocks (ZSTD_e_flush)
 *   raw    = { varint length, Packet }   each Packet closes with field `check` (CRC-32 of its bytes before that field),
 *            put there by the writer half: it says which packets of a damaged frame are still exactly what was written
 *
 * The writer half runs in the guest: no heap (memory is given to it), no stdio, one caller. The reader half runs on
 * the bench and trusts nothing: every length is bounded before it is used.
 */
#ifndef WT_FRAME_H
#define WT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "wt_err.h"

#define WT_FRAME_MARKER_MAGIC 0x184D2A5Au
#define WT_FRAME_MARKER_BYTES 40
#define WT_FRAME_RAW_MAX      (1u << 20)    /* a frame holds at most this many raw bytes ... */
#define WT_FRAME_MAX_NS	      30000000000ll /* ... and at most this much time */
#define WT_SEGMENT_RAW_MAX    (16u << 20)   /* likewise a segment */
#define WT_SEGMENT_MAX_NS     60000000000ll
#define WT_PACKET_MAX	      (WT_FRAME_RAW_MAX - 16) /* a Packet never crosses a frame */
#define WT_PACKET_CHECK_TAG   0x7Du		      /* Packet.check = 15, fixed32 */
#define WT_PACKET_CHECK_BYTES 5 /* tag and value: appended by the writer, taken off by the reader */

/* ---- writer ---- */

/* Takes n bytes; returns 0, or -WT_E_IO, after which the writer writes no more (it still counts). */
typedef int wt_frame_sink(void *arg, const void *bytes, size_t n);

struct wt_frame_writer; /* lives in the caller's memory */

/* Bytes of memory a writer needs at zstd `level` (about 1.4 MiB at level 1). */
size_t wt_frame_writer_size(int level);
/* Builds a writer in mem (16-byte aligned, `size` bytes as above); NULL if too small. Writes nothing yet. */
struct wt_frame_writer *wt_frame_writer_init(void *mem, size_t size, int level,
					     const uint8_t file_id[16], wt_frame_sink *sink,
					     void *arg);
/*
 * Appends one packed Packet. Opens a frame (marker first) when none is open; ends the open one first if the packet
 * would not fit. The bytes may stay in the compressor until flush.
 */
int wt_frame_writer_packet(struct wt_frame_writer *w, const void *packet, size_t n);
/* Everything appended so far reaches the sink, decodable, before this returns. The frame stays open. */
int wt_frame_writer_flush(struct wt_frame_writer *w);
/* Ends the open frame (checksum). The next packet opens another; with `segment`, that one opens a segment. */
int wt_frame_writer_end(struct wt_frame_writer *w, int segment);
/* Goes on with a file that has `frame` frames; with `segment`, the next one opens a segment. Before any packet. */
void wt_frame_writer_resume(struct wt_frame_writer *w, uint32_t frame, int segment);
uint64_t wt_frame_writer_raw_bytes(
	const struct wt_frame_writer *w); /* raw bytes in the open frame; 0 = none open */
uint64_t
wt_frame_writer_out_bytes(const struct wt_frame_writer *w); /* bytes given to the sink so far */

/* ---- reader ---- */

/* Reads up to n bytes; returns how many, 0 at the end, -WT_E_x on failure. */
typedef long wt_frame_read(void *arg, void *bytes, size_t n);

/* What the reader had to step over. */
struct wt_frame_damage {
	uint64_t frames_lost;	/* frames whose rest could not be decoded */
	uint64_t bytes_skipped; /* of the file, between the fault and the next marker */
	int64_t first_offset;	/* of the first fault in the file, -1 = none */
	char first_text[160];	/* what was expected there */
	int truncated;		/* the file ends inside a frame */
};

struct wt_frame_reader;

int wt_frame_reader_open(struct wt_frame_reader **ret, wt_frame_read *read, void *arg,
			 struct wt_diag *diag);
/*
 * Next packet: 1 and its bytes (valid until the next call), 0 at the end, -WT_E_x if nothing of ours could be read.
 * A damaged frame delivers what its whole blocks hold, then reading goes on at the next marker.
 * ret_offset: the file offset of the marker of the packet's frame.
 */
int wt_frame_reader_next(struct wt_frame_reader *r, const uint8_t **ret_bytes, size_t *ret_n,
			 uint64_t *ret_offset);
const struct wt_frame_damage *wt_frame_reader_damage(const struct wt_frame_reader *r);
void wt_frame_reader_free(struct wt_frame_reader *r);

/* 1 if the first n bytes of a file look like ours. */
int wt_frame_probe(const uint8_t *head, size_t n);

#endif
