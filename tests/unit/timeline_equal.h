/* SPDX-License-Identifier: Apache-2.0 */
/* Two timelines say the same: every member of every row (fields.def), names as text. Indices must be the same. */
#ifndef WT_TIMELINE_EQUAL_H
#define WT_TIMELINE_EQUAL_H

#include <string.h>

#include "timeline/fields.h"

static inline const char *rows_of(const struct wt_timeline *tl, size_t table, size_t *ret_n)
{
	memcpy(ret_n, (const char *)tl + wt_tables[table].n_in_timeline, sizeof(*ret_n));
	return *(char *const *)((const char *)tl + wt_tables[table].in_timeline);
}

/* but_inputs: the files may differ, and which row belongs to which. */
static inline void assert_timelines_equal(const struct wt_timeline *a, const struct wt_timeline *b,
					  int but_inputs)
{
	for (size_t t = 0; t < WT_TABLES; t++) {
		size_t na, nb;
		const char *ra = rows_of(a, t, &na), *rb = rows_of(b, t, &nb);

		if (t == WT_TABLE_inputs && but_inputs)
			continue;
		if (na != nb)
			fail_msg("%s: %zu and %zu rows", wt_tables[t].name, na, nb);
		for (size_t k = 0; k < wt_nfields; k++) {
			const struct wt_field *f = &wt_fields[k];

			if (f->table != t || (f->refers == WT_REFERS_INPUT && but_inputs))
				continue;
			for (size_t i = 0; i < na; i++) {
				const char *pa = ra + i * wt_tables[t].size,
					   *pb = rb + i * wt_tables[t].size;
				int same;

				if (f->refers == WT_REFERS_BYTES)
					same = !memcmp(pa + f->offset, pb + f->offset, f->size);
				else if (f->refers == WT_REFERS_STRING)
					same = !strcmp(wt_timeline_string(
							       a, (uint32_t)wt_field_get(f, pa)),
						       wt_timeline_string(
							       b, (uint32_t)wt_field_get(f, pb)));
				else
					same = wt_field_get(f, pa) == wt_field_get(f, pb);
				if (!same)
					fail_msg("%s[%zu].%s: %lld and %lld", wt_tables[t].name, i,
						 f->name, (long long)wt_field_get(f, pa),
						 (long long)wt_field_get(f, pb));
			}
		}
	}
}

#endif
