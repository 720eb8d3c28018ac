/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file, as bytes: opened safely, written whole, never beyond the cap, and never surprised by a full disk:
 * room is reserved ahead, so the closing packets fit even when nothing else does. Writer thread only.
 */
#ifndef WT_SINK_H
#define WT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "agent/own_file.h"

#define WT_SINK_TAIL (64u << 10) /* kept free for the packets that say why writing stopped */

struct wt_sink {
	struct wt_own_file file;
	int ahead;	      /* the file system can reserve room ahead */
	int sys_errno;	      /* of what stopped us, 0 = nothing did */
	uint64_t pos;	      /* bytes written */
	uint64_t reserved_to; /* the disk has room up to here */
	uint64_t cap_bytes;   /* 0 = none */
};

/* Creates the file (it must not exist; links are not followed), mode 0600, high descriptor. 0, -WT_E_IO. */
int wt_sink_open(struct wt_sink *s, const char *path, uint64_t cap_bytes);
/* 1 if `bytes` more can be written; with `tail`, the reserve counts too. 0: sys_errno says why (EFBIG = the cap). */
int wt_sink_room(struct wt_sink *s, uint64_t bytes, int tail);
int wt_sink_write(void *sink, const void *bytes, size_t n); /* a wt_frame_sink */
void wt_sink_close(struct wt_sink *s);

#endif
