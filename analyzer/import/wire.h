/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf's wire format, read in memory, field by field: for messages whose schema we know a part of and whose size
 * forbids a copy. Trusts nothing: no byte behind the end is read, and every length is checked against what is there.
 */
#ifndef WT_WIRE_H
#define WT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wt_err.h"

/* What is left of a message. */
struct wt_wire {
	const uint8_t *p, *end;
};

enum wt_wire_type { WT_WIRE_VARINT = 0, WT_WIRE_64 = 1, WT_WIRE_BYTES = 2, WT_WIRE_32 = 5 };

struct wt_wire_field {
	const uint8_t *bytes; /* WT_WIRE_BYTES: a string or message */
	size_t n;
	uint64_t value; /* of the other types, as it lies there */
	uint32_t number;
	uint8_t type; /* enum wt_wire_type */
};

static inline struct wt_wire wt_wire_of(const uint8_t *bytes, size_t n)
{
	return (struct wt_wire){.p = bytes, .end = n ? bytes + n : bytes};
}

/* Base-128, up to ten bytes. 0, -WT_E_TRUNCATED (the message ends in it), -WT_E_CORRUPT (longer). */
static inline int wt_wire_varint(struct wt_wire *w, uint64_t *ret)
{
	const uint8_t *p = w->p;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (p == w->end)
			return -WT_E_TRUNCATED;
		value |= shift < 64 ? (uint64_t)(*p & 0x7f) << shift : 0;
		if (!(*p++ & 0x80)) {
			w->p = p;
			*ret = value;
			return 0;
		}
	}
	return -WT_E_CORRUPT;
}

/*
 * The next field: 1; 0 at the end; -WT_E_TRUNCATED or -WT_E_CORRUPT, and w stays there. If a string or message is
 * longer than what is left, *ret has what is there of it and the answer is -WT_E_TRUNCATED.
 */
int wt_wire_next(struct wt_wire *w, struct wt_wire_field *ret);

#endif
