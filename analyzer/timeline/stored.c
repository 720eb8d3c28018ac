/* SPDX-License-Identifier: Apache-2.0 */
/* See fields.h: rows that come from a file as they once were in a timeline. The file is trusted in nothing. */
#include <stdlib.h>
#include <string.h>

#include "timeline/builder_impl.h"
#include "timeline/fields.h"

struct wt_generic_table *wt_builder_table(struct wt_builder *b, int table)
{
	return (struct wt_generic_table *)((char *)b + wt_tables[table].in_builder);
}

struct wt_builder *wt_builder_new_rows(void)
{
	struct wt_builder *b = wt_builder_new();

	/* The first rows of these, "not known", are in the file too. */
	if (b)
		b->shapes.n = b->works.n = b->instructions.n = 0;
	return b;
}

void *wt_builder_add_rows(struct wt_builder *b, enum wt_table_index table, size_t n)
{
	struct wt_generic_table *t = wt_builder_table(b, table);
	size_t size = wt_tables[table].size, need = t->n + n;
	int is_narrow = table == WT_TABLE_processes || table == WT_TABLE_devices;

	if (need > (is_narrow ? (size_t)UINT16_MAX : (size_t)INT32_MAX))
		return NULL;
	if (need > t->room) {
		size_t room = t->room * 2 > need ? t->room * 2 : need;
		char *rows = realloc(t->rows, room * size);

		if (!rows)
			return NULL;
		t->rows = rows;
		t->room = room;
	}
	memset(t->rows + t->n * size, 0, n * size);
	t->n = need;
	return t->rows + (need - n) * size;
}

void *wt_builder_rows(struct wt_builder *b, enum wt_table_index table, size_t *ret_n)
{
	*ret_n = wt_builder_table(b, table)->n;
	return wt_builder_table(b, table)->rows;
}

/* What an index is set to that leads nowhere; rows that cannot do without it are damage. */
static int check_member(const struct wt_field *f, void *row, const size_t *counts)
{
	int64_t v = wt_field_get(f, row);

	if (v >= 0 && (uint64_t)v < counts[f->refers])
		return 0;
	switch (f->refers) {
	case WT_REFERS_CALL:
	case WT_REFERS_COLLECTIVE:
		wt_field_set(f, row, -1);
		return 0;
	case WT_REFERS_SHAPE:
	case WT_REFERS_WORK:
	case WT_REFERS_INSTRUCTION:
		wt_field_set(f, row, 0);
		return 0;
	case WT_REFERS_STREAM: /* of calls and holes it may be "not known" */
		wt_field_set(f, row, UINT32_MAX);
		return f->table == WT_TABLE_ops ? -WT_E_CORRUPT : 0;
	default:
		return -WT_E_CORRUPT;
	}
}

static int check_references(struct wt_builder *b)
{
	const size_t counts[WT_REFERS_KINDS] = {
		[WT_REFERS_STRING] = SIZE_MAX, /* looked up by the reader */
		[WT_REFERS_INPUT] = SIZE_MAX,	   [WT_REFERS_PROCESS] = b->processes.n,
		[WT_REFERS_DEVICE] = b->devices.n, [WT_REFERS_STREAM] = b->streams.n,
		[WT_REFERS_THREAD] = b->threads.n, [WT_REFERS_WORK] = b->works.n,
		[WT_REFERS_SHAPE] = b->shapes.n,   [WT_REFERS_INSTRUCTION] = b->instructions.n,
		[WT_REFERS_CALL] = b->calls.n,	   [WT_REFERS_COLLECTIVE] = b->collectives.n,
	};

	for (size_t k = 0; k < wt_nfields; k++) {
		const struct wt_field *f = &wt_fields[k];
		struct wt_generic_table *t = wt_builder_table(b, f->table);

		if (f->refers < WT_REFERS_STRING)
			continue;
		for (size_t i = 0; i < t->n; i++)
			if (check_member(f, t->rows + i * wt_tables[f->table].size, counts))
				return -WT_E_CORRUPT;
	}
	return 0;
}

/* Keys by which merging finds processes and devices again: each row is one of its own. */
static int make_keys(struct wt_builder *b)
{
	int isnew;

	for (size_t i = 0; i < b->processes.n; i++) {
		uint64_t key[2] = {0, (uint64_t)INT64_MIN + i};

		if (wt_keyset_add(&b->process_keys, key, &isnew) < 0)
			return -WT_E_NOMEM;
	}
	b->device_owners.rows =
		realloc(b->device_owners.rows, (b->devices.n + 1) * sizeof(*b->device_owners.rows));
	if (!b->device_owners.rows)
		return -WT_E_NOMEM;
	b->device_owners.n = b->device_owners.room = b->devices.n;
	for (size_t i = 0; i < b->devices.n; i++) {
		static const uint8_t unknown[16];
		uint64_t key[3] = {0, (uint64_t)INT64_MIN + i, 0};

		b->device_owners.rows[i] = 0;
		if (memcmp(b->devices.rows[i].uuid, unknown, 16)) {
			memcpy(key, b->devices.rows[i].uuid, 16);
			key[2] = 1;
		}
		if (wt_keyset_add(&b->device_keys, key, &isnew) < 0)
			return -WT_E_NOMEM;
		if (!isnew) /* one UUID twice: no timeline has that */
			return -WT_E_CORRUPT;
	}
	for (size_t i = b->streams.n; i-- > 0;)
		b->device_owners.rows[b->streams.rows[i].device] = b->streams.rows[i].process;
	return b->devices.n && !b->processes.n ? -WT_E_CORRUPT : 0;
}

int wt_builder_seal(struct wt_builder *b, uint32_t input)
{
	int err = check_references(b);

	err = err ? err : make_keys(b);
	b->inputs.n = 0;
	for (size_t i = 0; i < b->processes.n; i++)
		b->processes.rows[i].input = input;
	return err;
}
