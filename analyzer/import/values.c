/* SPDX-License-Identifier: Apache-2.0 */
/* See values.h. */
#include "import/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/decimal.h"
#include "import/values_impl.h"

#define FIRST_ROWS 4096 /* beside what the text allows: small integers, truth, none */

struct wt_values *wt_values_new(size_t n)
{
	struct wt_values *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	/* A value has two bytes at least, on the average; an item of a list one, and one that appends it. */
	v->max_rows = n / 2 + FIRST_ROWS;
	v->max_items = n / 2 * 3 + FIRST_ROWS;
	v->rows = malloc(v->max_rows * sizeof(*v->rows));
	v->items = malloc(v->max_items * sizeof(*v->items));
	if (!v->rows || !v->items) {
		wt_values_free(v);
		return NULL;
	}
	v->rows[0] = (struct wt_value){.kind = WT_VALUE_NOTHING};
	v->nrows = 1;
	v->nitems = 1; /* block 0 = none */
	return v;
}

void wt_values_free(struct wt_values *v)
{
	if (!v)
		return;
	free(v->bytes);
	free(v->rows);
	free(v->items);
	free(v);
}

uint32_t wt_values_add(struct wt_values *v, uint8_t kind)
{
	if (v->nrows >= v->max_rows)
		return 0;
	v->rows[v->nrows] = (struct wt_value){.kind = kind};
	return (uint32_t)v->nrows++;
}

uint32_t wt_values_add_int(struct wt_values *v, int64_t i)
{
	uint32_t id = wt_values_add(v, WT_VALUE_INT);

	if (id)
		v->rows[id].u.i = i;
	return id;
}

uint32_t wt_values_add_text(struct wt_values *v, size_t at, size_t n)
{
	uint32_t id = wt_values_add(v, WT_VALUE_TEXT);

	if (id) {
		v->rows[id].u.at = at;
		v->rows[id].n = (uint32_t)n;
	}
	return id;
}

int wt_values_append(struct wt_values *v, uint32_t to, const uint32_t *items, size_t n)
{
	struct wt_value *list = &v->rows[to];
	uint32_t block = (uint32_t)v->nitems;

	if (!n)
		return 0;
	if (n + 2 > v->max_items - v->nitems)
		return -WT_E_LIMIT;
	v->items[block] = 0;
	v->items[block + 1] = (uint32_t)n;
	memcpy(&v->items[block + 2], items, n * sizeof(*items));
	v->nitems += n + 2;
	if (list->u.first)
		v->items[list->n] = block;
	else
		list->u.first = block;
	list->n = block;
	return 0;
}

int wt_values_slurp(struct wt_source *src, uint8_t **ret, size_t *ret_n, struct wt_diag *diag)
{
	size_t room = 1 << 16, n = 0;
	uint8_t *bytes = malloc(room), *grown;
	long got = 0;

	while (bytes && (got = wt_source_read(src, bytes + n, room - n)) > 0) {
		n += (size_t)got;
		if (n < room)
			continue;
		if (room >= WT_VALUES_MAX_BYTES) {
			free(bytes);
			return wt_fail(diag, WT_E_LIMIT, WT_VALUES_MAX_BYTES,
				       "a dump of more than 1 GiB");
		}
		grown = realloc(bytes, room *= 2);
		if (!grown)
			free(bytes);
		bytes = grown;
	}
	if (!bytes)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (got < 0 && diag)
		*diag = *wt_source_fault(src);
	if (got < 0 && (int)got != -WT_E_TRUNCATED && (int)got != -WT_E_CORRUPT) {
		free(bytes);
		return (int)got;
	}
	*ret = bytes;
	*ret_n = n;
	return (int)got;
}

/* ---- asking ---- */

static const struct wt_value *row(const struct wt_values *v, uint32_t id)
{
	return &v->rows[id < v->nrows ? id : 0];
}

uint32_t wt_values_root(const struct wt_values *v)
{
	return v->root;
}

enum wt_value_kind wt_value_kind(const struct wt_values *v, uint32_t id)
{
	return row(v, id)->kind;
}

const char *wt_value_text(const struct wt_values *v, uint32_t id, size_t *ret_n)
{
	const struct wt_value *x = row(v, id);

	if (x->kind != WT_VALUE_TEXT && !x->has_text) {
		*ret_n = 0;
		return NULL;
	}
	*ret_n = x->n;
	return (const char *)v->bytes + x->u.at;
}

int wt_value_int(const struct wt_values *v, uint32_t id, int64_t *ret)
{
	const struct wt_value *x = row(v, id);
	uint64_t u;

	switch (x->kind) {
	case WT_VALUE_INT:
	case WT_VALUE_BOOL:
		*ret = x->u.i;
		return 1;
	case WT_VALUE_REAL:
		if (x->has_text)
			break;
		if (!(fabs(x->u.real) < 9e18) || x->u.real != floor(x->u.real))
			return 0;
		*ret = (int64_t)x->u.real;
		return 1;
	case WT_VALUE_TEXT:
		break;
	default:
		return 0;
	}
	if (!wt_decimal_i64((const char *)v->bytes + x->u.at, x->n, ret))
		return 1;
	if (wt_decimal_u64((const char *)v->bytes + x->u.at, x->n, &u))
		return 0;
	*ret = (int64_t)u;
	return 1;
}

int wt_value_is_cut(const struct wt_values *v, uint32_t id)
{
	return row(v, id)->is_cut;
}

int wt_value_true(const struct wt_values *v, uint32_t id)
{
	const struct wt_value *x = row(v, id);

	return (x->kind == WT_VALUE_BOOL || x->kind == WT_VALUE_INT) && x->u.i;
}

uint32_t wt_value_next(const struct wt_values *v, uint32_t id, struct wt_value_iterator *it)
{
	const struct wt_value *x = row(v, id);

	if (!it->started) {
		it->started = 1;
		it->block = x->kind == WT_VALUE_LIST || x->kind == WT_VALUE_MAP ? x->u.first : 0;
		it->at = 0;
	}
	while (it->block && it->at >= v->items[it->block + 1]) {
		it->block = v->items[it->block];
		it->at = 0;
	}
	return it->block ? v->items[it->block + 2 + it->at++] : 0;
}

uint32_t wt_value_get(const struct wt_values *v, uint32_t map, const char *key)
{
	struct wt_value_iterator it = {.block = 0};
	uint32_t k, value, found = 0;
	size_t n = strlen(key), m;

	if (wt_value_kind(v, map) != WT_VALUE_MAP)
		return 0;
	while ((k = wt_value_next(v, map, &it))) {
		const char *text = wt_value_text(v, k, &m);

		value = wt_value_next(v, map, &it);
		if (text && m == n && !memcmp(text, key, n))
			found = value;
	}
	return found;
}
