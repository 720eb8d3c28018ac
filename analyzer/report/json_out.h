/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON by hand: commas, escapes and indentation here, structure by the caller. Keys and
 * strings can hold anything; what is not UTF-8 becomes U+FFFD.
 */
#ifndef WT_JSON_OUT_H
#define WT_JSON_OUT_H

#include <stdint.h>

#include "base/strbuf.h"

struct wt_jout {
	struct wt_strbuf *out;
	int depth;
	int fresh; /* nothing written at this level yet */
};

/* key NULL: an element of an array. */
void wt_jout_open(struct wt_jout *j, const char *key, char bracket);	/* '{' or '[' */
void wt_jout_close(struct wt_jout *j, char bracket);			/* '}' or ']' */
void wt_jout_string(struct wt_jout *j, const char *key, const char *s); /* NULL: null */
void wt_jout_int(struct wt_jout *j, const char *key, int64_t v);
void wt_jout_uint(struct wt_jout *j, const char *key, uint64_t v);
void wt_jout_bool(struct wt_jout *j, const char *key, int v);
void wt_jout_null(struct wt_jout *j, const char *key);
void wt_jout_share(struct wt_jout *j, const char *key, double v);  /* 1 is written as 1.0 */
void wt_jout_double(struct wt_jout *j, const char *key, double v); /* null if it is no number */
/* v, or null if v < 0. */
void wt_jout_count(struct wt_jout *j, const char *key, int64_t v);
/* A string as it is to be seen on a terminal: no control characters, no invalid UTF-8, at most `most` columns. */
void wt_text_name(struct wt_strbuf *out, const char *s, unsigned most);

#endif
