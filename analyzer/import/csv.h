/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comma-separated rows (RFC 4180: quotes, doubled quotes, line breaks inside quotes; CR LF or LF), read in windows. A
 * row is bounded; memory does not grow with the text. One thread.
 */
#ifndef WT_CSV_H
#define WT_CSV_H

#include "base/source.h"

#define WT_CSV_FIELDS 64

struct wt_csv;
struct wt_csv_field {
	const char *s; /* not terminated; good until the next row */
	size_t n;
};
struct wt_csv_row {
	struct wt_csv_field fields[WT_CSV_FIELDS];
	size_t n;	/* fields beyond WT_CSV_FIELDS are dropped */
	int64_t offset; /* of the row in the text */
	int ended;	/* 0: the text ended before its line did */
};

struct wt_csv *wt_csv_new(struct wt_source *src); /* NULL: no memory */
void wt_csv_free(struct wt_csv *c);
/* 1 and a row (an empty line has one empty field), 0 at the end, or an error: the source's, or -WT_E_LIMIT. */
int wt_csv_next(struct wt_csv *c, struct wt_csv_row *ret);

#endif
