/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a builder's tables, described (fields.def): for whoever handles all of them alike, and so cannot forget
 * one. A row is read and written through wt_field_get() and wt_field_set().
 */
#ifndef WT_FIELDS_H
#define WT_FIELDS_H

#include "timeline/builder.h"

#define WT_NOTES_ID 15 /* in files, as a table of one member: the strings of the notes */

enum wt_refers {
	WT_REFERS_NUMBER,
	WT_REFERS_END,
	WT_REFERS_BYTES,
	WT_REFERS_STRING,
	WT_REFERS_INPUT,
	WT_REFERS_PROCESS,
	WT_REFERS_DEVICE,
	WT_REFERS_STREAM,
	WT_REFERS_THREAD,
	WT_REFERS_WORK,
	WT_REFERS_SHAPE,
	WT_REFERS_INSTRUCTION,
	WT_REFERS_CALL,
	WT_REFERS_COLLECTIVE,
	WT_REFERS_KINDS
};
enum wt_table_index {
#define WT_ROWS(table_, id_, type_, size_) WT_TABLE_##table_,
#define WT_FIELD(table_, id_, type_, member_, refers_)
#define WT_BYTES(table_, id_, type_, member_)
#include "timeline/fields.def"
#undef WT_ROWS
#undef WT_FIELD
#undef WT_BYTES
	WT_TABLES
};

struct wt_table {
	const char *name;
	uint8_t id; /* in files */
	size_t size;
	size_t in_builder;		   /* offset of the table in struct wt_builder */
	size_t in_timeline, n_in_timeline; /* offsets in struct wt_timeline */
};
struct wt_field {
	const char *name;
	uint8_t table, id, refers, size, is_signed;
	uint16_t offset;
};
extern const struct wt_table wt_tables[WT_TABLES];
extern const struct wt_field wt_fields[]; /* by table, in the order of fields.def */
extern const size_t wt_nfields;

/* The member of a row, sign extended; not for BYTES. */
int64_t wt_field_get(const struct wt_field *f, const void *row);
/* Cuts the value to the member's width. */
void wt_field_set(const struct wt_field *f, void *row, int64_t v);

/*
 * Adds all of `from` to b and frees it, also on failure. Indices of `from` mean nothing afterwards. Devices of one UUID
 * become one, as if one builder had seen both.
 */
void wt_builder_merge(struct wt_builder *b, struct wt_builder *from);
/*
 * For a reader of stored rows. A builder for them; n more rows of a table, zeroed, to be filled before the next call
 * (NULL: no memory, or more than a table holds); how many there are. Then wt_builder_seal() checks what refers to what:
 * 0, after which the builder is only good for wt_builder_merge(), or -WT_E_CORRUPT. Strings are those of the builder
 * that it is to be merged with. All rows belong to `input` of that builder; table `inputs` is for the reader's own use.
 */
struct wt_builder *wt_builder_new_rows(void);
void *wt_builder_add_rows(struct wt_builder *b, enum wt_table_index table, size_t n);
void *wt_builder_rows(struct wt_builder *b, enum wt_table_index table, size_t *ret_n);
int wt_builder_seal(struct wt_builder *b, uint32_t input);
/* Notes on ranks that two files claim, and on ranks of the job that none of several files has. */
void wt_builder_note_ranks(struct wt_builder *b);

#endif
