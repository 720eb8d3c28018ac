/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON scanner (RFC 8259, strict, but strings are bytes: UTF-8 is not checked). It pulls text from a
 * source in windows and never holds more than a window plus the token at hand, so memory does not grow with the text.
 *
 * The caller says what it expects (a key, a string, anything) and skips what it does not want; skipping checks the
 * grammar as strictly as reading. One thread. After the first error every call returns it.
 *
 *	if (wt_json_enter_object(js) == 0)
 *		while ((rc = wt_json_key(js, &key)) > 0)
 *			rc = is_wanted(key) ? wt_json_number(js, &text) : wt_json_skip(js);
 */
#ifndef WT_JSON_SCAN_H
#define WT_JSON_SCAN_H

#include "base/source.h"

struct wt_json;

/* A piece of text in the window, not terminated. Good until the next call, unless registered by wt_json_keep(). */
struct wt_json_text {
	const char *s;
	size_t n;
};

/* What comes next. Errors are negative. */
enum wt_json_kind {
	WT_JSON_END = 0, /* of the text */
	WT_JSON_OBJECT,
	WT_JSON_ARRAY,
	WT_JSON_STRING,
	WT_JSON_NUMBER,
	WT_JSON_TRUE,
	WT_JSON_FALSE,
	WT_JSON_NULL, /* a lenient reading: also a bare NaN or infinity */
};

/* `window_bytes` 0 = the usual size; tests use small ones. NULL: no memory. The source stays the caller's. */
struct wt_json *wt_json_new(struct wt_source *src, size_t window_bytes);
void wt_json_free(struct wt_json *js);

/* Looks at the next value: enum wt_json_kind (END only at the end of the text), or an error. */
int wt_json_peek(struct wt_json *js);
/* Steps into an object or array: 0 or an error. */
int wt_json_enter_object(struct wt_json *js);
int wt_json_enter_array(struct wt_json *js);
/* In an object: 1 and the next key (its value comes next), 0 when it closed, or an error. Escapes are decoded. */
int wt_json_key(struct wt_json *js, struct wt_json_text *ret_key);
/* In an array: 1 if a value comes next, 0 when it closed, or an error. */
int wt_json_item(struct wt_json *js);
/* Reads the value: 0 or an error. Strings are decoded; a lone surrogate becomes U+FFFD. Numbers are their text. */
int wt_json_string(struct wt_json *js, struct wt_json_text *ret);
int wt_json_number(struct wt_json *js, struct wt_json_text *ret);
/* Takes the next value, whatever it is: its kind, and its text if it is a string or number; others are skipped. */
int wt_json_scalar(struct wt_json *js, struct wt_json_text *ret);
/* Skips the next value, nested to any depth. */
int wt_json_skip(struct wt_json *js);
/*
 * After a value inside an object: skips all that is left of that object, its closing brace included; and, if more than
 * one is asked for (at most 32), of the objects around it.
 */
int wt_json_skip_rest(struct wt_json *js, unsigned objects);
/* After the outermost value: 0 if nothing but white space and a sound end of the source follow. */
int wt_json_finish(struct wt_json *js);

/*
 * From now on n texts survive the calls that follow: those pointing into the window are copied aside when it moves.
 * wt_json_drop() clears them and gives that memory back (once per event).
 */
void wt_json_keep(struct wt_json *js, struct wt_json_text *texts, size_t n);
void wt_json_drop(struct wt_json *js);

/*
 * Bad text. Mark a value before reading it (behind wt_json_item() or wt_json_key()); when reading it fails, each
 * wt_json_retry() that returns 1 stands at its beginning again, with an error less and more let pass (json_lenient.c
 * says what). While there is a mark, decoded strings come from memory that wt_json_drop() gives back.
 *
 *	wt_json_mark(js);
 *	do
 *		rc = read_value(js);
 *	while (rc < 0 && wt_json_retry(js));
 *
 * A value whose retries fail too can be given up: wt_json_resync() goes on to the next one.
 */
void wt_json_mark(struct wt_json *js);
void wt_json_unmark(struct wt_json *js); /* no longer: text behind the last mark is not kept */
int wt_json_retry(struct wt_json *js);
/* 1 if the marked value was accepted by a retry only; its repairs count from then. */
int wt_json_was_repaired(struct wt_json *js);
/*
 * In a list of objects, after an error: steps to the next object whose first key is one of an item's, or to the end of
 * the list. 1 if that comes next, 2 if text was stepped over (wt_json_item() comes next), else 0 and the error is as it
 * was. in_array: the list is the
 * outermost value. is_key: whether a key is one of an item's, or one that can follow the list.
 */
int wt_json_resync(struct wt_json *js, int in_array,
		   int (*is_key)(struct wt_json_text key, int of_item));
/* Faults let pass so far; and the first of all that were let pass or stepped over (text "" = none). */
uint64_t wt_json_repairs(const struct wt_json *js);
const struct wt_diag *wt_json_fault(const struct wt_json *js);

/* The error: -WT_E_TRUNCATED (text or file ends too early), -WT_E_CORRUPT, -WT_E_LIMIT, -WT_E_IO, -WT_E_NOMEM. */
int wt_json_error(const struct wt_json *js);
/* Its place and what was expected. The offset is of the file as it lies on disk; the line names the text's. */
const struct wt_diag *wt_json_diag(const struct wt_json *js);
/* Bytes of text before the next one. */
int64_t wt_json_offset(const struct wt_json *js);

#endif
