/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two builders become one (fields.h), so that files can be read on several threads, a builder each. Tables whose rows
 * are known by a key go through the builder's own functions; the others are appended; every index is renamed.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/builder_impl.h"
#include "timeline/fields.h"

struct renaming {
	uint32_t *to[WT_REFERS_KINDS]; /* NULL: the offset below */
	size_t n[WT_REFERS_KINDS];     /* indices from here on stay as they are: they mean "none" */
	uint32_t offset[WT_REFERS_KINDS];
};

static uint32_t renamed(const struct renaming *r, int refers, uint32_t index)
{
	if (index >= r->n[refers])
		return index;
	return r->to[refers] ? r->to[refers][index] : index + r->offset[refers];
}

/* A member of n rows. What is no index of `from` (-1, UINT32_MAX) stays. */
static void rename_column(const struct renaming *r, const struct wt_field *f, void *rows, size_t n)
{
	size_t size = wt_tables[f->table].size;

	for (size_t i = 0; i < n; i++) {
		char *row = (char *)rows + i * size;

		wt_field_set(f, row,
			     (int32_t)renamed(r, f->refers, (uint32_t)wt_field_get(f, row)));
	}
}

static void rename_row(const struct renaming *r, enum wt_table_index table, void *row)
{
	for (size_t i = 0; i < wt_nfields; i++)
		if (wt_fields[i].table == table && wt_fields[i].refers >= WT_REFERS_STRING)
			rename_column(r, &wt_fields[i], row, 1);
}

/* A map for the rows of a table: 0 when memory runs out. */
static int map_for(struct wt_builder *b, struct renaming *r, int refers, size_t n)
{
	r->n[refers] = n;
	r->to[refers] = calloc(n + 1, sizeof(**r->to));
	if (!r->to[refers] && !b->error)
		b->error = WT_E_NOMEM;
	return r->to[refers] != NULL;
}

/* Appends all rows of a table, renamed. */
static void append(struct wt_builder *b, struct wt_builder *from, const struct renaming *r,
		   enum wt_table_index i)
{
	struct wt_generic_table *to = wt_builder_table(b, i), *rows = wt_builder_table(from, i);
	size_t size = wt_tables[i].size, need = to->n + rows->n;

	if (!rows->n)
		return;
	if (need > (size_t)INT32_MAX) {
		b->error = b->error ? b->error : WT_E_LIMIT;
		return;
	}
	if (need > to->room) {
		size_t room = to->room + to->room / 2 > need ? to->room + to->room / 2 : need;
		char *grown = realloc(to->rows, room * size);

		if (!grown) {
			b->error = b->error ? b->error : WT_E_NOMEM;
			return;
		}
		to->rows = grown;
		to->room = room;
	}
	memcpy(to->rows + to->n * size, rows->rows, rows->n * size);
	free(rows->rows);
	rows->rows = NULL;
	for (size_t k = 0; k < wt_nfields; k++)
		if (wt_fields[k].table == i && wt_fields[k].refers >= WT_REFERS_STRING)
			rename_column(r, &wt_fields[k], to->rows + to->n * size, rows->n);
	to->n = need;
}

static int merge_strings(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	size_t n = wt_strings_count(from->strings);

	if (!map_for(b, r, WT_REFERS_STRING, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		r->to[WT_REFERS_STRING][i] =
			wt_strings_add(b->strings, wt_strings_get(from->strings, (uint32_t)i),
				       wt_strings_length(from->strings, (uint32_t)i));
	return 1;
}

static int merge_processes(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_PROCESS, from->processes.n))
		return 0;
	for (size_t i = 0; i < from->processes.n; i++) {
		struct wt_process row = from->processes.rows[i];
		uint16_t at;

		rename_row(r, WT_TABLE_processes, &row);
		/* By the key it was made with: the row's pid may have been found out later. */
		at = wt_builder_process(b, row.input, (int64_t)from->process_keys.keys[2 * i + 1]);
		*wt_builder_process_at(b, at) = row;
		r->to[WT_REFERS_PROCESS][i] = at;
	}
	return 1;
}

static int merge_devices(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_DEVICE, from->devices.n))
		return 0;
	for (size_t i = 0; i < from->devices.n; i++) {
		struct wt_device row = from->devices.rows[i];
		size_t before = b->devices.n;
		uint16_t owner =
			(uint16_t)renamed(r, WT_REFERS_PROCESS, from->device_owners.rows[i]);
		const uint64_t *key = from->device_keys.keys + 3 * i;
		uint16_t at = key[2] ? wt_builder_device(b, owner, row.ordinal, row.uuid)
				     : wt_builder_device(b, owner, (int64_t)key[1], NULL);

		rename_row(r, WT_TABLE_devices, &row);
		if (b->devices.n > before || !wt_builder_device_at(b, at)->name)
			*wt_builder_device_at(b, at) = row;
		r->to[WT_REFERS_DEVICE][i] = at;
	}
	return 1;
}

static int merge_streams(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_STREAM, from->streams.n))
		return 0;
	for (size_t i = 0; i < from->streams.n; i++) {
		struct wt_stream row = from->streams.rows[i];

		rename_row(r, WT_TABLE_streams, &row);
		r->to[WT_REFERS_STREAM][i] = wt_builder_stream(b, row.process, row.device, row.id);
	}
	return 1;
}

static int merge_threads(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_THREAD, from->threads.n))
		return 0;
	for (size_t i = 0; i < from->threads.n; i++) {
		struct wt_thread row = from->threads.rows[i];
		uint32_t at;

		rename_row(r, WT_TABLE_threads, &row);
		at = wt_builder_thread(b, row.process, row.tid);
		*wt_builder_thread_at(b, at) = row;
		r->to[WT_REFERS_THREAD][i] = at;
	}
	return 1;
}

static int merge_works(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_WORK, from->works.n))
		return 0;
	for (size_t i = 0; i < from->works.n; i++)
		r->to[WT_REFERS_WORK][i] = wt_builder_work(b, &from->works.rows[i]);
	return 1;
}

static int merge_shapes(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_SHAPE, from->shapes.n))
		return 0;
	for (size_t i = 0; i < from->shapes.n; i++) {
		struct wt_shape row = from->shapes.rows[i];

		rename_row(r, WT_TABLE_shapes, &row);
		r->to[WT_REFERS_SHAPE][i] = wt_builder_shape(b, &row);
	}
	return 1;
}

/* Appended, but for the first row of each, which is "not known". */
static int merge_instructions(struct wt_builder *b, struct wt_builder *from, struct renaming *r)
{
	if (!map_for(b, r, WT_REFERS_INSTRUCTION, from->instructions.n))
		return 0;
	for (size_t i = 1; i < from->instructions.n; i++) {
		struct wt_instruction row = from->instructions.rows[i];

		rename_row(r, WT_TABLE_instructions, &row);
		r->to[WT_REFERS_INSTRUCTION][i] = wt_builder_instruction(b, &row);
	}
	return 1;
}

void wt_builder_merge(struct wt_builder *b, struct wt_builder *from)
{
	static const uint8_t appended[] = {WT_TABLE_calls,  WT_TABLE_collectives, WT_TABLE_ops,
					   WT_TABLE_ranges, WT_TABLE_asides,	  WT_TABLE_holes,
					   WT_TABLE_counts, WT_TABLE_standings,	  WT_TABLE_memories,
					   WT_TABLE_waits,  WT_TABLE_environment, WT_TABLE_counters,
					   WT_TABLE_frames};
	struct renaming r = {.n = {0}};

	if (!b->inputs.n && !b->notes.n && !b->error) {
		struct wt_builder empty = *b;

		*b = *from;
		*from = empty;
		wt_builder_free(from);
		return;
	}
	if (from->error || wt_strings_failed(from->strings))
		b->error = b->error ? b->error : from->error ? from->error : WT_E_NOMEM;
	r.offset[WT_REFERS_INPUT] = (uint32_t)b->inputs.n;
	r.n[WT_REFERS_INPUT] = from->inputs.n;
	r.offset[WT_REFERS_CALL] = (uint32_t)b->calls.n;
	r.n[WT_REFERS_CALL] = from->calls.n;
	r.offset[WT_REFERS_COLLECTIVE] = (uint32_t)b->collectives.n;
	r.n[WT_REFERS_COLLECTIVE] = from->collectives.n;
	if (!b->error && merge_strings(b, from, &r)) {
		append(b, from, &r, WT_TABLE_inputs);
		if (merge_processes(b, from, &r) && merge_devices(b, from, &r) &&
		    merge_streams(b, from, &r) && merge_threads(b, from, &r) &&
		    merge_works(b, from, &r) && merge_shapes(b, from, &r) &&
		    merge_instructions(b, from, &r))
			for (size_t i = 0; i < sizeof(appended); i++)
				append(b, from, &r, (enum wt_table_index)appended[i]);
		for (size_t i = 0; i < from->members.n; i++)
			wt_builder_member(b, &from->members.rows[i]);
		for (size_t i = 0; i < from->notes.n; i++)
			wt_builder_note(b, "%s",
					wt_strings_get(from->strings, from->notes.rows[i]));
	}
	for (size_t i = 0; i < WT_REFERS_KINDS; i++)
		free(r.to[i]);
	wt_builder_free(from);
}
