/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON document as plain values (see values.h), through the scanner of json_scan.h. */
#include <stdlib.h>
#include <string.h>

#include "import/json_scan.h"
#include "import/values_impl.h"

#define MAX_DEPTH 64 /* dumps are a handful deep; recursion is bounded by it */
#define BATCH	  64

struct reader {
	struct wt_values *v;
	struct wt_json *js;
	struct wt_diag *diag;
	size_t room;
};

static int read_value(struct reader *r, int depth, uint32_t *ret);

static int refuse(struct reader *r, enum wt_err err, const char *what)
{
	return wt_fail(r->diag, err, wt_json_offset(r->js), "%s", what);
}

static int keep_text(struct reader *r, struct wt_json_text t, uint8_t kind, uint32_t *ret)
{
	/* Decoded texts are no longer than they were; only a lone surrogate's stand-in is shorter than its escape. */
	if (t.n > r->room - r->v->nbytes)
		return refuse(r, WT_E_LIMIT, "more text than the file has bytes");
	*ret = wt_values_add_text(r->v, r->v->nbytes, t.n);
	if (!*ret)
		return refuse(r, WT_E_LIMIT, "more values than the size of the file allows");
	memcpy(r->v->bytes + r->v->nbytes, t.s, t.n);
	r->v->nbytes += t.n;
	r->v->rows[*ret].kind = kind;
	r->v->rows[*ret].has_text = kind == WT_VALUE_REAL;
	return 0;
}

static int flush(struct reader *r, uint32_t to, const uint32_t *items, size_t *n)
{
	int err = wt_values_append(r->v, to, items, *n);

	*n = 0;
	return err ? refuse(r, WT_E_LIMIT, "more values than the size of the file allows") : 0;
}

/* The text ends, or ends to make sense, inside this list or map. */
static int leave_cut(struct reader *r, uint32_t to, const uint32_t *items, size_t n, int rc)
{
	if (rc != -WT_E_TRUNCATED && rc != -WT_E_CORRUPT)
		return rc;
	r->v->rows[to].is_cut = 1;
	return wt_values_append(r->v, to, items, n) ? -WT_E_LIMIT : rc;
}

static int read_list(struct reader *r, int depth, uint32_t list)
{
	uint32_t batch[BATCH];
	size_t n = 0;
	int rc = wt_json_enter_array(r->js);

	while (!rc && (rc = wt_json_item(r->js)) > 0) {
		rc = read_value(r, depth + 1, &batch[n]);
		n += batch[n] != 0;
		if (!rc && n == BATCH)
			rc = flush(r, list, batch, &n);
	}
	return rc ? leave_cut(r, list, batch, n, rc) : flush(r, list, batch, &n);
}

static int read_map(struct reader *r, int depth, uint32_t map)
{
	uint32_t batch[BATCH];
	struct wt_json_text key;
	size_t n = 0;
	int rc = wt_json_enter_object(r->js);

	while (!rc && (rc = wt_json_key(r->js, &key)) > 0) {
		rc = keep_text(r, key, WT_VALUE_TEXT, &batch[n]);
		if (rc)
			break;
		rc = read_value(r, depth + 1, &batch[n + 1]);
		n += batch[n + 1] ? 2 : 0;
		if (!rc && n == BATCH)
			rc = flush(r, map, batch, &n);
	}
	return rc ? leave_cut(r, map, batch, n, rc) : flush(r, map, batch, &n);
}

static int read_value(struct reader *r, int depth, uint32_t *ret)
{
	int kind = wt_json_peek(r->js);
	struct wt_json_text t;

	*ret = 0;
	if (kind < 0)
		return kind;
	if (depth > MAX_DEPTH)
		return refuse(r, WT_E_LIMIT, "nested deeper than 64 levels");
	if (kind == WT_JSON_OBJECT || kind == WT_JSON_ARRAY) {
		*ret = wt_values_add(r->v, kind == WT_JSON_OBJECT ? WT_VALUE_MAP : WT_VALUE_LIST);
		if (!*ret)
			return refuse(r, WT_E_LIMIT,
				      "more values than the size of the file allows");
		return kind == WT_JSON_OBJECT ? read_map(r, depth, *ret)
					      : read_list(r, depth, *ret);
	}
	kind = wt_json_scalar(r->js, &t);
	if (kind < 0)
		return kind;
	if (kind == WT_JSON_STRING || kind == WT_JSON_NUMBER)
		return keep_text(r, t, kind == WT_JSON_STRING ? WT_VALUE_TEXT : WT_VALUE_REAL, ret);
	*ret = wt_values_add(r->v, kind == WT_JSON_NULL ? WT_VALUE_NONE : WT_VALUE_BOOL);
	if (!*ret)
		return refuse(r, WT_E_LIMIT, "more values than the size of the file allows");
	r->v->rows[*ret].u.i = kind == WT_JSON_TRUE;
	return 0;
}

static int read_text(struct reader *r, const uint8_t *bytes, size_t n)
{
	struct wt_source *src;
	int rc;

	r->v = wt_values_new(n);
	r->room = n + 64;
	if (!r->v || !(r->v->bytes = malloc(r->room)) || wt_source_open_memory(&src, bytes, n))
		return wt_fail(r->diag, WT_E_NOMEM, -1, "out of memory");
	r->js = wt_json_new(src, 0);
	rc = r->js ? read_value(r, 0, &r->v->root)
		   : wt_fail(r->diag, WT_E_NOMEM, -1, "out of memory");
	if (!rc)
		rc = wt_json_finish(r->js);
	if (r->js && wt_json_error(r->js) && r->diag)
		*r->diag = *wt_json_diag(r->js);
	wt_json_free(r->js);
	wt_source_close(src);
	return rc;
}

int wt_values_read_json(struct wt_values **ret, struct wt_source *src, struct wt_diag *diag)
{
	struct reader r = {.diag = diag};
	uint8_t *bytes = NULL;
	size_t n = 0;
	struct wt_diag fault = {.offset = -1};
	int err = wt_values_slurp(src, &bytes, &n, &fault), rc;

	if (err && !bytes) {
		if (diag)
			*diag = fault;
		return err;
	}
	rc = read_text(&r, bytes, n);
	free(bytes);
	/* Damage of the file is the cause, what the text lacks the effect. */
	if (err && diag)
		*diag = fault;
	else if (rc && diag && wt_source_is_gzip(src))
		diag->offset = wt_source_disk_offset(src);
	err = rc && rc != -WT_E_TRUNCATED && rc != -WT_E_CORRUPT ? rc : err ? err : rc;
	if (err && ((err != -WT_E_TRUNCATED && err != -WT_E_CORRUPT) || !r.v->root)) {
		wt_values_free(r.v);
		return err;
	}
	*ret = r.v;
	return err;
}
