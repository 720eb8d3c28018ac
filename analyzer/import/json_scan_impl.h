/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner's inside, shared by its own files (json_*.c) and by kineto_layout.c, which reads ahead of it.
 *
 * The window always ends in WT_JSON_PAD_BYTES zero bytes. NUL is no part of any JSON token, so the inner loops test for
 * the bytes they want and never for the end: whoever meets a NUL asks for more text.
 */
#ifndef WT_JSON_SCAN_IMPL_H
#define WT_JSON_SCAN_IMPL_H

#include "base/region.h"
#include "import/json_scan.h"

/* A marked value that turns out to be bad can be read again if the fault lies at most this far behind the mark. */
#define WT_JSON_MARK_BYTES (1u << 20)

#define WT_JSON_PAD_BYTES 64u

/* What a string is: decides what may follow its closing quote. */
enum wt_json_where { WT_JSON_IN_ARRAY, WT_JSON_IN_OBJECT, WT_JSON_IN_KEY };

struct wt_json {
	const uint8_t *p;   /* next byte */
	const uint8_t *end; /* of the window: *end is 0 */
	uint8_t *buf;
	size_t room;
	int64_t base; /* offset in the text of buf[0] */
	int first;    /* just entered: the next key or item needs no comma */
	int error;
	int ended;	   /* the source has no more */
	int source_failed; /* the error is the source's: there is nothing to repair */
	struct wt_source *src;
	struct wt_json_text *kept;
	size_t nkept;
	struct wt_region aside;
	uint64_t *nesting; /* skip: one bit a level, 1 = object */
	size_t nesting_words;
	struct wt_diag diag;
	int64_t error_at; /* in the text */

	/* Second readings. */
	const uint8_t *mark;  /* the window keeps the text from here; NULL: nothing to go back to */
	int64_t mark_at;      /* the same in the text; -1 = no mark was set */
	uint8_t lenient;      /* 0 strict; 1, 2: how much is let pass */
	uint8_t in_object;    /* the next value is an object's */
	uint8_t where;	      /* enum wt_json_where of the string at hand */
	uint64_t repairs;     /* of values that were accepted in the end */
	uint64_t tried;	      /* of the value at hand */
	struct wt_diag fault; /* the first that was repaired or stepped over; text "" = none */
	struct wt_diag strict; /* of the value at hand, as the strict reading found it */
	int64_t strict_at;
	int strict_error;
};

/*
 * More text behind js->end, keeping [*from, js->end); *from becomes its new place, and *at, a place behind it, moves
 * with it. 1, or 0 when there is no more or it failed (js->error).
 */
int wt_json_more(struct wt_json *js, const uint8_t **from, const uint8_t **at);

/* What a value starts with: enum wt_json_kind; 0: no value. */
extern const uint8_t wt_json_value_kind[256];

/* The error at `at`: returns js->error, which is the first one's. */
int wt_json_fail(struct wt_json *js, enum wt_err err, const uint8_t *at, const char *what);
/* The same where something else than `what` stands at `at`: damage, or the end of a text that ends too early. */
int wt_json_unexpected(struct wt_json *js, const uint8_t *at, const char *what);
/* The first byte that is no white space, for the case that there is some. */
const uint8_t *wt_json_space_slow(struct wt_json *js, const uint8_t *p);
/*
 * The closing quote of a string whose text starts at p; NULL on error. *from is where to keep from (the text's start
 * if it is wanted), or NULL to keep nothing. *ret_escaped is set if there is an escape. `where` matters to a lenient
 * reading only.
 */
const uint8_t *wt_json_string_end(struct wt_json *js, const uint8_t **from, const uint8_t *p,
				  int *ret_escaped, enum wt_json_where where);
/* Behind the number at *from, which stays in the window; NULL on error. */
const uint8_t *wt_json_number_slow(struct wt_json *js, const uint8_t **from);

/* One thing that a strict reading refuses is let pass. */
static inline void wt_json_repaired(struct wt_json *js)
{
	js->tried++;
}

/*
 * Whether the quote at *p closes its string, judged by what follows it. If not, that is counted as a repair. -1: it
 * has run into the next object of a list.
 */
int wt_json_closes(struct wt_json *js, const uint8_t **from, const uint8_t **p,
		   enum wt_json_where where);
/* Behind the escape of n bytes (0: not a sound one) at p, or behind its backslash where that stands for itself. */
const uint8_t *wt_json_lenient_escape(struct wt_json *js, const uint8_t **from, const uint8_t *p,
				      size_t n);
/* The bytes of a bare NaN, inf, -Infinity, nan(ind), 1.#INF ... at *p, which stays in the window; 0: none there. */
size_t wt_json_lenient_word(struct wt_json *js, const uint8_t **p);

#endif
