/* SPDX-License-Identifier: Apache-2.0 */
/* See fields.h: the tables made of fields.def. */
#include "timeline/fields.h"

#include <string.h>

#include "timeline/builder_impl.h"

#define WT_ROWS(table_, id_, type_, size_)                                                         \
	_Static_assert(sizeof(type_) == (size_),                                                   \
		       "a member was added or removed: correct its lines in fields.def");
#define WT_FIELD(table_, id_, type_, member_, refers_)
#define WT_BYTES(table_, id_, type_, member_)
#include "timeline/fields.def"
#undef WT_ROWS
#undef WT_FIELD
#undef WT_BYTES

_Static_assert(sizeof(struct wt_timeline) ==
		       WT_TABLES * (sizeof(void *) + sizeof(size_t)) + 5 * sizeof(void *),
	       "a table was added to the timeline: describe it in fields.def (device_first, notes, "
	       "strings and correlates_once are none)");

const struct wt_table wt_tables[WT_TABLES] = {
#define WT_ROWS(table_, id_, type_, size_)                                                         \
	{#table_,                                                                                  \
	 id_,                                                                                      \
	 sizeof(type_),                                                                            \
	 offsetof(struct wt_builder, table_),                                                      \
	 offsetof(struct wt_timeline, table_),                                                     \
	 offsetof(struct wt_timeline, n##table_)},
#define WT_FIELD(table_, id_, type_, member_, refers_)
#define WT_BYTES(table_, id_, type_, member_)
#include "timeline/fields.def"
#undef WT_ROWS
#undef WT_FIELD
#undef WT_BYTES
};

const struct wt_field wt_fields[] = {
#define WT_ROWS(table_, id_, type_, size_)
#define WT_FIELD(table_, id_, type_, member_, refers_)                                             \
	{#member_,                                                                                 \
	 WT_TABLE_##table_,                                                                        \
	 id_,                                                                                      \
	 WT_REFERS_##refers_,                                                                      \
	 sizeof(((type_ *)0)->member_),                                                            \
	 (__typeof__(((type_ *)0)->member_))-1 < 1,                                                \
	 offsetof(type_, member_)},
#define WT_BYTES(table_, id_, type_, member_)                                                      \
	{#member_, WT_TABLE_##table_,	    id_, WT_REFERS_BYTES, sizeof(((type_ *)0)->member_),   \
	 0,	   offsetof(type_, member_)},
#include "timeline/fields.def"
#undef WT_ROWS
#undef WT_FIELD
#undef WT_BYTES
};
const size_t wt_nfields = sizeof(wt_fields) / sizeof(wt_fields[0]);

int64_t wt_field_get(const struct wt_field *f, const void *row)
{
	const char *at = (const char *)row + f->offset;

	switch (f->size) {
	case 1:
		return f->is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
	case 2:
		return f->is_signed ? *(const int16_t *)at : *(const uint16_t *)at;
	case 4:
		return f->is_signed ? *(const int32_t *)at : (int64_t) * (const uint32_t *)at;
	default:
		return *(const int64_t *)at;
	}
}

void wt_field_set(const struct wt_field *f, void *row, int64_t v)
{
	char *at = (char *)row + f->offset;

	switch (f->size) {
	case 1:
		*(uint8_t *)at = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)at = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)at = (uint32_t)v;
		break;
	default:
		*(int64_t *)at = v;
	}
}
