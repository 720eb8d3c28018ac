/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a converted trace (convert.c wrote them) -> a builder of their rows, merged into the reader's in the end.
 * Nothing is joined or reconciled: that was done, as far as it could be, when the original was read. After a lost or
 * malformed packet the rows behind it would refer to others than they did, so of each table what comes before counts.
 */
#include <string.h>

#include "timeline/fields.h"
#include "trace/trace.h"

static int table_by_id(uint32_t id)
{
	for (int i = 0; i < WT_TABLES; i++)
		if (wt_tables[i].id == id)
			return i;
	return -1;
}

static const struct wt_field *field_by_id(int table, uint32_t id)
{
	for (size_t i = 0; i < wt_nfields; i++)
		if (wt_fields[i].table == table && wt_fields[i].id == id)
			return &wt_fields[i];
	return NULL;
}

static size_t members_of(int table)
{
	size_t n = 0;

	for (size_t i = 0; i < wt_nfields; i++)
		n += wt_fields[i].table == table;
	return n;
}

static int fits(const Warptap__V1__Column *c, const struct wt_field *f, size_t rows)
{
	if (f && f->refers == WT_REFERS_BYTES)
		return c->bytes.len == rows * f->size;
	return c->n_d == rows;
}

static void fill_column(const struct wt_trace *t, const Warptap__V1__Column *c,
			const struct wt_field *f, char *row, size_t rows, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < rows; i++, row += size) {
		if (f->refers == WT_REFERS_BYTES) {
			memcpy(row + f->offset, c->bytes.data + i * f->size, f->size);
			continue;
		}
		v += (uint64_t)c->d[i];
		wt_field_set(f, row,
			     f->refers == WT_REFERS_STRING ? (int64_t)wt_trace_string(t, v)
							   : (int64_t)v);
	}
}

/* Ends are stored as the distance from the start, which stands first in its row. */
static void add_starts(int table, char *row, size_t rows)
{
	const struct wt_field *end = NULL, *start = field_by_id(table, 1);

	for (size_t i = 0; i < wt_nfields; i++)
		if (wt_fields[i].table == table && wt_fields[i].refers == WT_REFERS_END)
			end = &wt_fields[i];
	for (size_t i = 0; end && i < rows; i++, row += wt_tables[table].size)
		wt_field_set(end, row,
			     (int64_t)((uint64_t)wt_field_get(end, row) +
				       (uint64_t)wt_field_get(start, row)));
}

static void load_notes(struct wt_trace *t, const Warptap__V1__Table *m)
{
	uint64_t v = 0;

	for (size_t i = 0; m->n_columns == 1 && i < m->columns[0]->n_d; i++) {
		v += (uint64_t)m->columns[0]->d[i];
		wt_builder_note(t->b, "%s", wt_builder_get(t->b, wt_trace_string(t, v)));
	}
}

void wt_trace_load_table(struct wt_trace *t, const Warptap__V1__Table *m)
{
	int table = table_by_id(m->table);
	size_t have;
	char *rows;

	t->converted = t->converted ? t->converted : wt_builder_new_rows();
	if (!t->converted) {
		t->error = -WT_E_NOMEM;
		return;
	}
	if (m->table == WT_NOTES_ID)
		load_notes(t, m);
	if (table < 0)
		return; /* of a newer version */
	wt_builder_rows(t->converted, (enum wt_table_index)table, &have);
	for (size_t i = 0; i < m->n_columns; i++)
		if (!fits(m->columns[i], field_by_id(table, m->columns[i]->member), m->rows))
			t->rows_broken = 1;
	if (m->first != have || t->rows_broken || 2 * m->n_columns < members_of(table)) {
		t->rows_broken = 1;
		t->malformed++;
		return;
	}
	if (!wt_trace_room(t, m->rows))
		return;
	rows = wt_builder_add_rows(t->converted, (enum wt_table_index)table, m->rows);
	if (!rows) {
		t->error = -WT_E_LIMIT;
		return;
	}
	for (size_t i = 0; i < m->n_columns; i++) {
		const struct wt_field *f = field_by_id(table, m->columns[i]->member);

		if (f)
			fill_column(t, m->columns[i], f, rows, m->rows, wt_tables[table].size);
	}
	add_starts(table, rows, m->rows);
}

/* What was wrong with the originals is still wrong. */
int wt_trace_inherit(const struct wt_trace *t, int err, struct wt_diag *diag)
{
	struct wt_input *to = wt_builder_input_at(t->b, t->input);
	const struct wt_input *from = &t->original;

	to->rank = from->rank;
	to->lost_packets += from->lost_packets;
	to->lost_bytes += from->lost_bytes;
	to->lost_events += from->lost_events;
	to->repairs += from->repairs;
	if (err || !from->damaged)
		return err;
	to->damaged = 1;
	to->damage_offset = from->damage_offset;
	to->damage_text = from->damage_text;
	return wt_fail(diag, WT_E_CORRUPT, from->damage_offset,
		       "converted from a damaged file: %.400s",
		       wt_builder_get(t->b, from->damage_text));
}

static void sum_inputs(struct wt_trace *t)
{
	struct wt_input *to = &t->original;
	size_t n;
	const struct wt_input *in = wt_builder_rows(t->converted, WT_TABLE_inputs, &n);

	*to = (struct wt_input){.rank = n == 1 ? in->rank : -1, .damage_offset = -1};
	for (size_t i = 0; i < n; i++) {
		to->lost_packets += in[i].lost_packets;
		to->lost_bytes += in[i].lost_bytes;
		to->lost_events += in[i].lost_events;
		to->repairs += in[i].repairs;
		if (in[i].damaged && !to->damaged) {
			to->damaged = 1;
			to->damage_offset = in[i].damage_offset;
			to->damage_text = in[i].damage_text;
		}
	}
}

int wt_trace_emit_tables(struct wt_trace *t)
{
	struct wt_builder *from = t->converted;
	int err;

	sum_inputs(t);
	err = wt_builder_seal(from, t->input);
	if (err)
		return err;
	t->converted = NULL;
	wt_builder_merge(t->b, from);
	return 0;
}
