/* SPDX-License-Identifier: Apache-2.0 */
/* See xplane.h. Field numbers are those of the public xplane.proto. */
#include "import/xplane.h"

#include <stdlib.h>
#include <string.h>

#include "import/decimal.h"

enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_META = 4, PLANE_STAT_META = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP = 3, LINE_EVENT = 4, LINE_DISPLAY_NAME = 11 };
enum {
	EVENT_META = 1,
	EVENT_OFFSET = 2,
	EVENT_DURATION = 3,
	EVENT_STAT = 4,
	EVENT_OCCURRENCES = 5
};
enum {
	STAT_META = 1,
	STAT_DOUBLE = 2,
	STAT_UINT = 3,
	STAT_INT = 4,
	STAT_STR = 5,
	STAT_BYTES = 6,
	STAT_REF = 7
};
enum { META_ID = 1, META_NAME = 2, META_DISPLAY_NAME = 4, META_STAT = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static const char *const stat_names[WT_XSTATS] = {
#define WT_XSTAT(key_, name_) [WT_XSTAT_##key_] = name_,
#include "import/xstats.def"
#undef WT_XSTAT
};

/* Counts a message that cannot be read. That a cut file ends in one is the file's fault, and told of it. */
static void fault(struct wt_xplane *x, const struct wt_wire *w, int rc)
{
	if (x->cut && rc == -WT_E_TRUNCATED && w->end == x->body + x->n)
		return;
	if (!x->faults++)
		x->first_fault = w->p - x->body;
}

static struct wt_xtext text_of(const struct wt_wire_field *f)
{
	return (struct wt_xtext){.s = (const char *)f->bytes, .n = f->n};
}

static int is_bytes(const struct wt_wire_field *f)
{
	return f->type == WT_WIRE_BYTES;
}

/* A field to go on with: whole, or the beginning of a message that a cut file ends in. */
static int usable(const struct wt_xplane *x, int rc, const struct wt_wire_field *f)
{
	return rc > 0 || (rc == -WT_E_TRUNCATED && x->cut && f->bytes);
}

static void *room_for(void *rows, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room + *room / 2 : 32;

	if (n < *room)
		return rows;
	rows = realloc(rows, more * size);
	if (rows)
		*room = more;
	return rows;
}

/* ---- the tables ---- */

static enum wt_xstat key_of(const uint8_t *s, size_t n)
{
	for (int i = 1; i < WT_XSTATS; i++)
		if (strlen(stat_names[i]) == n && !memcmp(stat_names[i], s, n))
			return (enum wt_xstat)i;
	return WT_XSTAT_OTHER;
}

/* A map entry: key and message. The key is left out when it is 0; then the message's own id stands for it. */
static int entry(struct wt_xplane *x, const struct wt_wire_field *from, uint64_t *ret_id,
		 struct wt_wire_field *ret_value)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_wire_field f;
	int rc, has_value = 0;

	*ret_id = 0;
	while (usable(x, rc = wt_wire_next(&w, &f), &f)) {
		if (f.number == ENTRY_KEY && f.type == WT_WIRE_VARINT)
			*ret_id = f.value;
		if (f.number == ENTRY_VALUE && is_bytes(&f)) {
			*ret_value = f;
			has_value = 1;
		}
		if (rc < 0)
			break;
	}
	if (rc < 0)
		fault(x, &w, rc);
	return rc >= 0 && has_value;
}

static int add_meta(struct wt_xplane *x, const struct wt_wire_field *from)
{
	struct wt_wire_field value = {.n = 0};
	struct wt_xmeta *rows;
	uint64_t id;

	if (!entry(x, from, &id, &value) || !value.n)
		return 0;
	rows = room_for(x->metas, x->nmetas, &x->metas_room, sizeof(*rows));
	if (!rows || wt_map_put(&x->meta_of, id, (uint32_t)x->nmetas))
		return -WT_E_NOMEM;
	x->metas = rows;
	rows[x->nmetas++] = (struct wt_xmeta){.body = value.bytes, .n = (uint32_t)value.n};
	return 0;
}

static int add_name(struct wt_xplane *x, const struct wt_wire_field *from)
{
	struct wt_wire_field value = {.n = 0}, f;
	struct wt_xname *rows;
	struct wt_wire w;
	uint64_t id;
	int rc;

	if (!entry(x, from, &id, &value))
		return 0;
	rows = room_for(x->names, x->nnames, &x->names_room, sizeof(*rows));
	if (!rows)
		return -WT_E_NOMEM;
	x->names = rows;
	w = wt_wire_of(value.bytes, value.n);
	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (f.number != META_NAME || !is_bytes(&f))
			continue;
		if (wt_map_put(&x->name_of, id, (uint32_t)x->nnames))
			return -WT_E_NOMEM;
		rows[x->nnames++] = (struct wt_xname){
			.s = f.bytes, .n = (uint32_t)f.n, .key = (uint8_t)key_of(f.bytes, f.n)};
		return 0;
	}
	if (rc < 0)
		fault(x, &w, rc);
	return 0;
}

static int add_line(struct wt_xplane *x, const struct wt_wire_field *from)
{
	struct wt_xline line = {.body = from->bytes, .n = from->n};
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_xtext display = {"", 0};
	struct wt_wire_field f;
	struct wt_xline *rows;
	int rc;

	while ((rc = wt_wire_next(&w, &f)) > 0) {
		switch (f.number << 3 | f.type) {
		case LINE_ID << 3 | WT_WIRE_VARINT:
			line.id = (int64_t)f.value;
			break;
		case LINE_TIMESTAMP << 3 | WT_WIRE_VARINT:
			line.timestamp_ns = (int64_t)f.value;
			break;
		case LINE_NAME << 3 | WT_WIRE_BYTES:
			line.name = text_of(&f);
			break;
		case LINE_DISPLAY_NAME << 3 | WT_WIRE_BYTES:
			display = text_of(&f);
			break;
		default:
			break;
		}
	}
	if (!line.name.n)
		line.name = display;
	rows = room_for(x->lines, x->nlines, &x->lines_room, sizeof(*rows));
	if (!rows)
		return -WT_E_NOMEM;
	x->lines = rows;
	rows[x->nlines++] = line;
	return 0;
}

/* ---- stats ---- */

static int as_text(const struct wt_xplane *x, uint64_t ref, struct wt_xvalue *ret)
{
	uint32_t i;

	if (!wt_map_get(&x->name_of, ref, &i))
		return 0;
	ret->kind = WT_XVALUE_TEXT;
	ret->text = (struct wt_xtext){.s = (const char *)x->names[i].s, .n = x->names[i].n};
	return 1;
}

static int value_of(const struct wt_xplane *x, const struct wt_wire_field *f, struct wt_xvalue *ret)
{
	ret->kind = WT_XVALUE_INTEGER;
	ret->u = f->value;
	switch (f->number << 3 | f->type) {
	case STAT_UINT << 3 | WT_WIRE_VARINT:
	case STAT_INT << 3 | WT_WIRE_VARINT:
		return 1;
	case STAT_DOUBLE << 3 | WT_WIRE_64:
		ret->kind = WT_XVALUE_DOUBLE;
		memcpy(&ret->d, &f->value, sizeof(ret->d));
		return 1;
	case STAT_STR << 3 | WT_WIRE_BYTES:
	case STAT_BYTES << 3 | WT_WIRE_BYTES:
		ret->kind = WT_XVALUE_TEXT;
		ret->text = text_of(f);
		return 1;
	case STAT_REF << 3 | WT_WIRE_VARINT:
		return as_text(x, f->value, ret);
	default:
		return 0;
	}
}

static void add_stat(struct wt_xplane *x, const struct wt_wire_field *from, struct wt_xstats *ret)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_wire_field f;
	struct wt_xvalue value;
	uint64_t id = 0;
	uint32_t i;
	int rc, has = 0;

	/* The id comes first, as protobuf writes it, but need not. */
	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (f.number == STAT_META && f.type == WT_WIRE_VARINT)
			id = f.value;
		else
			has |= value_of(x, &f, &value);
	}
	if (rc < 0)
		fault(x, &w, rc);
	else if (has && wt_map_get(&x->name_of, id, &i) && x->names[i].key) {
		ret->value[x->names[i].key] = value;
		ret->seen |= UINT64_C(1) << x->names[i].key;
	}
}

static const struct wt_xvalue *value_at(const struct wt_xstats *s, enum wt_xstat key)
{
	return s->seen >> key & 1 ? &s->value[key] : NULL;
}

struct wt_xtext wt_xstats_text(const struct wt_xstats *s, enum wt_xstat key)
{
	const struct wt_xvalue *v = value_at(s, key);

	return v && v->kind == WT_XVALUE_TEXT ? v->text : (struct wt_xtext){"", 0};
}

uint64_t wt_xstats_integer(const struct wt_xstats *s, enum wt_xstat key)
{
	const struct wt_xvalue *v = value_at(s, key);
	uint64_t u = 0;

	if (!v)
		return 0;
	if (v->kind == WT_XVALUE_TEXT)
		return wt_decimal_u64(v->text.s, v->text.n, &u) ? 0 : u;
	return v->kind == WT_XVALUE_INTEGER ? v->u : v->d >= 0 && v->d < 1e19 ? (uint64_t)v->d : 0;
}

double wt_xstats_double(const struct wt_xstats *s, enum wt_xstat key)
{
	const struct wt_xvalue *v = value_at(s, key);

	return !v ? 0 : v->kind == WT_XVALUE_DOUBLE ? v->d : (double)wt_xstats_integer(s, key);
}

/* ---- a plane ---- */

int wt_xplane_open(struct wt_xplane *x, const uint8_t *bytes, size_t n, int cut)
{
	struct wt_wire w = wt_wire_of(bytes, n);
	struct wt_wire_field f;
	int rc, err = 0;

	memset(x, 0, sizeof(*x));
	x->body = bytes;
	x->n = n;
	x->cut = cut;
	x->first_fault = -1;
	while (!err && usable(x, rc = wt_wire_next(&w, &f), &f)) {
		if (f.number == PLANE_NAME && is_bytes(&f))
			x->name = text_of(&f);
		else if (f.number == PLANE_LINE && is_bytes(&f))
			err = add_line(x, &f);
		else if (f.number == PLANE_EVENT_META && is_bytes(&f))
			err = add_meta(x, &f);
		else if (f.number == PLANE_STAT_META && is_bytes(&f))
			err = add_name(x, &f);
		if (rc < 0)
			break;
	}
	if (!err && rc < 0)
		fault(x, &w, rc);
	w = wt_wire_of(bytes, n);
	while (!err && wt_wire_next(&w, &f) > 0)
		if (f.number == PLANE_STAT && is_bytes(&f))
			add_stat(x, &f, &x->stats);
	return err;
}

void wt_xplane_release(struct wt_xplane *x)
{
	free(x->lines);
	free(x->metas);
	free(x->names);
	wt_map_release(&x->meta_of);
	wt_map_release(&x->name_of);
	memset(x, 0, sizeof(*x));
}

void wt_xmeta_read(struct wt_xplane *x, const struct wt_xmeta *m, struct wt_xtext *name,
		   struct wt_xtext *display, struct wt_xstats *stats)
{
	struct wt_wire w = wt_wire_of(m->body, m->n);
	struct wt_wire_field f;
	int rc;

	if (name)
		*name = (struct wt_xtext){"", 0};
	if (display)
		*display = (struct wt_xtext){"", 0};
	if (stats)
		stats->seen = 0;
	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (!is_bytes(&f))
			continue;
		if (f.number == META_NAME && name)
			*name = text_of(&f);
		else if (f.number == META_DISPLAY_NAME && display)
			*display = text_of(&f);
		else if (f.number == META_STAT && stats)
			add_stat(x, &f, stats);
	}
	if (rc < 0)
		fault(x, &w, rc);
}

/* ---- events ---- */

static void times(const struct wt_xline *line, int64_t offset_ps, int64_t duration_ps,
		  struct wt_xevent *ret)
{
	int64_t base_ps;

	ret->bad_time = duration_ps < 0 ||
			__builtin_mul_overflow(line->timestamp_ns, 1000, &base_ps) ||
			__builtin_add_overflow(base_ps, offset_ps, &ret->start_ps) ||
			__builtin_add_overflow(ret->start_ps, duration_ps, &ret->end_ps);
	if (ret->bad_time)
		ret->start_ps = ret->end_ps = 0;
}

static int event(struct wt_xplane *x, const struct wt_xline *line, const struct wt_wire_field *from,
		 struct wt_xevent *ret, struct wt_xstats *stats)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	int64_t offset_ps = 0, duration_ps = 0;
	struct wt_wire_field f;
	uint64_t id = 0;
	uint32_t meta;
	int rc;

	ret->aggregated = 0;
	stats->seen = 0;
	while ((rc = wt_wire_next(&w, &f)) > 0) {
		switch (f.number << 3 | f.type) {
		case EVENT_META << 3 | WT_WIRE_VARINT:
			id = f.value;
			break;
		case EVENT_OFFSET << 3 | WT_WIRE_VARINT:
			offset_ps = (int64_t)f.value;
			break;
		case EVENT_DURATION << 3 | WT_WIRE_VARINT:
			duration_ps = (int64_t)f.value;
			break;
		case EVENT_OCCURRENCES << 3 | WT_WIRE_VARINT:
			ret->aggregated = 1;
			break;
		case EVENT_STAT << 3 | WT_WIRE_BYTES:
			add_stat(x, &f, stats);
			break;
		default:
			break;
		}
	}
	if (rc < 0) {
		fault(x, &w, rc);
		return 0;
	}
	ret->meta = wt_map_get(&x->meta_of, id, &meta) ? (int32_t)meta : -1;
	times(line, offset_ps, duration_ps, ret);
	return 1;
}

int wt_xline_next(struct wt_xplane *x, const struct wt_xline *line, struct wt_wire *w,
		  struct wt_xevent *ret, struct wt_xstats *stats)
{
	struct wt_wire_field f;
	int rc;

	while ((rc = wt_wire_next(w, &f)) > 0)
		if (f.number == LINE_EVENT && is_bytes(&f) && event(x, line, &f, ret, stats))
			return 1;
	if (rc < 0) {
		fault(x, w, rc);
		w->p = w->end;
	}
	return 0;
}
