/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost message of an XPlane file (XSpace): its fields one after the other, each whole in memory, the file
 * itself never. Protobuf ends at 2 GiB a message, so a field is at most that; its memory grows with what arrives, not
 * with what it claims.
 *
 * Field numbers (of XSpace here, of what is inside in xplane.h) are those of the public xplane.proto.
 */
#ifndef WT_XSPACE_H
#define WT_XSPACE_H

#include "base/source.h"
#include "import/wire.h"

enum { WT_XSPACE_PLANE = 1, WT_XSPACE_ERROR = 2, WT_XSPACE_WARNING = 3, WT_XSPACE_HOST = 4 };

struct wt_xspace {
	struct wt_source *src;
	uint8_t *buf; /* the field at hand */
	size_t n, room;
	int64_t field_offset; /* of its first byte in the (inflated) text */
	uint8_t window[65536];
	size_t at, filled;
	int64_t text_offset; /* of window[0] */
	int error;	     /* the first; what follows it is not read */
	struct wt_diag diag; /* of the error */
};

/* 1 if these first bytes are an XSpace, one damaged by a conversion to text included. */
int wt_xspace_probe(const uint8_t *head, size_t n);
/* Offset of the first replaced byte if the head is a binary file that went through a conversion to UTF-8; else -1. */
int64_t wt_xspace_textual(const uint8_t *head, size_t n);

void wt_xspace_init(struct wt_xspace *xs, struct wt_source *src);
void wt_xspace_release(struct wt_xspace *xs);
/*
 * The next field of type bytes: 1; 0 at the end or after an error. A field that the file cuts off is given as far as it
 * goes; xs->error is set then.
 */
int wt_xspace_next(struct wt_xspace *xs, struct wt_wire_field *ret);

#endif
