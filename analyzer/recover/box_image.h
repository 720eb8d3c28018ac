/* SPDX-License-Identifier: Apache-2.0 */
/* A black box in memory, checked: what is reached through these calls lies inside it and is of its kind. */
#ifndef WT_BOX_IMAGE_H
#define WT_BOX_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/box.h"
#include "proto/wt_err.h"

#define WT_IMAGE_PIECES (WT_SEGS_MAX * (WT_SEG_BYTES / WT_PIECE_BYTES))

struct wt_box_image {
	uint8_t *base; /* of whole segments; pages of it are the file's copy */
	uint32_t segs, rings;
	const struct wt_box_head *head;
	/* Pieces by what they hold and their number; NULL = not in the box. */
	uint8_t **piece[WT_PIECE_KINDS];
	uint32_t pieces[WT_PIECE_KINDS];
};

/* 0; -WT_E_IO, -WT_E_FORMAT (no black box), -WT_E_UNSUPPORTED (of another version), -WT_E_NOMEM. */
int wt_box_image_open(struct wt_box_image *b, const char *path, struct wt_diag *diag);
/* The same of bytes in memory, which are copied (tests). */
int wt_box_image_copy(struct wt_box_image *b, const uint8_t *bytes, size_t n, struct wt_diag *diag);
void wt_box_image_close(struct wt_box_image *b);

const struct wt_ring *wt_box_image_ring(const struct wt_box_image *b,
					uint32_t i); /* NULL = unused */
/* Chunk i of the box; NULL: not one, or without rows. */
const struct wt_chunk *wt_box_image_chunk(const struct wt_box_image *b, uint32_t i);
#define WT_IMAGE_CHUNKS(b_) ((b_)->segs * (WT_SEG_BYTES / WT_CHUNK_BYTES))
/* Buffer i of the box in this state (enum wt_buffer_state); NULL: not one, or another state. */
uint8_t *wt_box_image_buffer(const struct wt_box_image *b, uint32_t i, uint32_t state,
			     uint32_t *ret_valid);
#define WT_IMAGE_BUFFERS(b_) ((b_)->segs * (WT_SEG_BYTES / WT_CUPTI_BUFFER_BYTES))
/* A text of the name store; "" = not there. */
const char *wt_box_image_text(const struct wt_box_image *b, uint32_t offset);
/* What stood at this address of the job's memory, as far as the writer had met it; NULL = not known. */
const char *wt_box_image_at(const struct wt_box_image *b, uint64_t address);

#endif
