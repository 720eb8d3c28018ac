/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small document of plain values (none, truth, integers, reals, texts, lists, maps), read as a whole from a Python
 * pickle or from JSON. For dumps whose size is that of a report, not of a trace. What the file says decides nothing
 * but how far it is read: memory is bounded by its size before anything is allocated, there is no recursion in a
 * pickle, and in one no class, function or external reference is ever admitted.
 *
 * A pickle may name one value in many places (its memo), so the document is a graph: walk it by what you expect, never
 * by following everything. Values are ids; 0 is "nothing", which answers every question with nothing.
 */
#ifndef WT_VALUES_H
#define WT_VALUES_H

#include "base/source.h"

struct wt_values;

enum wt_value_kind {
	WT_VALUE_NOTHING,
	WT_VALUE_NONE,
	WT_VALUE_BOOL,
	WT_VALUE_INT,  /* fits 64 bits, signed or not */
	WT_VALUE_REAL, /* JSON and old pickles: as text too */
	WT_VALUE_TEXT, /* bytes too */
	WT_VALUE_LIST, /* tuples and sets too */
	WT_VALUE_MAP,
	WT_VALUE_MARK, /* inside the readers only */
};

/* More bytes than a dump can sensibly have: -WT_E_LIMIT. */
#define WT_VALUES_MAX_BYTES (INT64_C(1) << 30)

/*
 * 0, or -WT_E_FORMAT (no pickle; one that holds objects of classes), -WT_E_TRUNCATED, -WT_E_CORRUPT, -WT_E_LIMIT,
 * -WT_E_NOMEM, with the offset. Nothing is returned then, but for JSON that is cut or damaged (-WT_E_TRUNCATED,
 * -WT_E_CORRUPT): what stands before, with the lists and maps that were open there (wt_value_is_cut).
 */
int wt_values_read_pickle(struct wt_values **ret, struct wt_source *src, struct wt_diag *diag);
int wt_values_read_json(struct wt_values **ret, struct wt_source *src, struct wt_diag *diag);
void wt_values_free(struct wt_values *v);

uint32_t wt_values_root(const struct wt_values *v);
enum wt_value_kind wt_value_kind(const struct wt_values *v, uint32_t id);
/* 1 and *ret if it is an integer (a real without a fraction, or a text of digits, counts) in range; else 0. */
int wt_value_int(const struct wt_values *v, uint32_t id, int64_t *ret);
/* 1 for a list or map that the text ends in: what it lacks is not known. */
int wt_value_is_cut(const struct wt_values *v, uint32_t id);
int wt_value_true(const struct wt_values *v, uint32_t id);
/* Bytes, not terminated; NULL and 0 if it is no text. Numbers that came as text have theirs. */
const char *wt_value_text(const struct wt_values *v, uint32_t id, size_t *ret_n);
/* The value of a map's key; the last one counts. */
uint32_t wt_value_get(const struct wt_values *v, uint32_t map, const char *key);

/* Walks a list, or a map (key, value, key, value ...): the next item, 0 at the end. `it` starts as zeros. */
struct wt_value_iterator {
	uint32_t block, at;
	int started;
};
uint32_t wt_value_next(const struct wt_values *v, uint32_t id, struct wt_value_iterator *it);

#endif
