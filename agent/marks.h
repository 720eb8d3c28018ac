/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: what a job says about itself (include/warptap/annotate.h), as rows among the calls of the thread. A row has
 * 32 bytes of the name; longer names go on in rows that follow it (WT_MARK_MORE, 40 bytes each). No state is kept on
 * the job's threads: a push and a pop are two rows, the reader pairs them.
 *
 * In a row of op WT_ID_MARK: status = what | kind << 8, stream = value, object and u = text, not terminated if full. In
 * a row of WT_MARK_MORE stream is text too.
 */
#ifndef WT_MARKS_H
#define WT_MARKS_H

#include <stdint.h>

#include "record.h"

#define WT_MARK_MORE	  5u
#define WT_MARK_TEXT	  32u
#define WT_MARK_MORE_TEXT 40u
#define WT_MARK_ROWS	  3u /* of one mark: 112 bytes of name, WT_NAME_MAX of annotate.h */

static inline uint32_t wt_mark_what(const struct wt_rec *r)
{
	return (uint16_t)r->status & 0xff;
}

static inline uint32_t wt_mark_kind(const struct wt_rec *r)
{
	return (uint16_t)r->status >> 8;
}

/* Job threads, any level: annotate.h's entry, exported. */
void warptap_mark(unsigned int what, unsigned int kind, long long value, const char *name);

#endif
