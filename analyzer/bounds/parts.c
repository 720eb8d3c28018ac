/* SPDX-License-Identifier: Apache-2.0 */
/* See parts.h. */
#include "bounds/parts.h"

#include <math.h>
#include <regex.h>
#include <string.h>

const char *const wt_cell_names[WT_PART_CELLS] = {
#define WT_CELL(column_, id_, unit_, meaning_) #column_,
#include "bounds/cells.def"
#undef WT_CELL
};
const char *const wt_cell_units[WT_PART_CELLS] = {
#define WT_CELL(column_, id_, unit_, meaning_) unit_,
#include "bounds/cells.def"
#undef WT_CELL
};
const char *const wt_cell_meanings[WT_PART_CELLS] = {
#define WT_CELL(column_, id_, unit_, meaning_) meaning_,
#include "bounds/cells.def"
#undef WT_CELL
};
const char *const wt_cell_status_names[] = {
	[WT_CELL_NONE] = "none",       [WT_CELL_READ] = "read",
	[WT_CELL_DERIVED] = "derived", [WT_CELL_CONFLICT] = "conflict",
	[WT_CELL_NOMINAL] = "nominal", [WT_CELL_RECALLED] = "recalled",
};

static int matches(const char *pattern, const char *name)
{
	regex_t re;
	int hit;

	/* The table is ours and a test compiles every row: failure here is lack of memory. */
	if (!*pattern || regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return 0;
	hit = !regexec(&re, name, 0, NULL, 0);
	regfree(&re);
	return hit;
}

/* How far a driver's memory size is from a part's, as a share; the driver keeps some for itself and for ECC. */
static double memory_off(const struct wt_device_part *p, uint64_t bytes)
{
	double exact = p->cells[WT_PART_MEM_BYTES_DRIVER].value,
	       about = p->cells[WT_PART_MEM_GB].value * 1e9;
	double by_name = about ? fabs((double)bytes / about - 1) : INFINITY;
	double by_driver = exact ? fabs((double)bytes / exact - 1) : INFINITY;

	return by_driver < by_name ? by_driver : by_name;
}

/* Of several parts of one name, those whose memory is nearest to the device's; all if none is near. */
static void decide_by_memory(struct wt_part_match *m, uint64_t bytes)
{
	double best = INFINITY;
	int n = 0;

	for (int i = 0; i < m->n; i++) {
		double off = memory_off(m->part[i], bytes);

		best = off < best ? off : best;
	}
	if (best > 0.12) /* 80 and 96 GB are 20 % apart, and GB against GiB is 7 % */
		return;
	for (int i = 0; i < m->n; i++)
		if (memory_off(m->part[i], bytes) < best + 0.03)
			m->part[n++] = m->part[i];
	m->n = n;
}

int wt_parts_find(const char *name, uint64_t memory_bytes, struct wt_part_match *ret)
{
	ret->n = 0;
	for (int also = 0; also < 2 && !ret->n; also++)
		for (int i = 0; i < wt_nparts && ret->n < WT_PARTS_MAX; i++)
			if (matches(also ? wt_parts[i].also : wt_parts[i].pattern, name))
				ret->part[ret->n++] = &wt_parts[i];
	if (ret->n > 1 && memory_bytes)
		decide_by_memory(ret, memory_bytes);
	return ret->n;
}

static const struct wt_device_part *by_name(const char *name, size_t n)
{
	for (int i = 0; i < wt_nparts; i++)
		if (strlen(wt_parts[i].name) == n && !memcmp(wt_parts[i].name, name, n))
			return &wt_parts[i];
	return NULL;
}

static void widen(struct wt_peak *p, const struct wt_device_part *part, enum wt_part_cell cell)
{
	double v = part->cells[cell].value;

	p->lo = !p->hi || v < p->lo ? v : p->lo;
	p->hi = v > p->hi ? v : p->hi;
	p->unverified |= part->cells[cell].status == WT_CELL_RECALLED;
}

static int is_rate(enum wt_part_cell cell)
{
	return cell >= WT_PART_FP32_TF && cell <= WT_PART_INT8_TOPS;
}

struct wt_peak wt_parts_cell(const struct wt_part_match *m, enum wt_part_cell cell)
{
	struct wt_peak p = {0, 0, 0};

	for (int i = 0; i < m->n; i++) {
		const struct wt_device_part *part = m->part[i];

		if (part->cells[cell].status != WT_CELL_NONE) {
			widen(&p, part, cell);
		} else if (*part->between && is_rate(cell)) {
			/* Unpublished, but known to lie between those of two others. */
			for (const char *s = part->between; *s; s += strspn(s, " ")) {
				size_t n = strcspn(s, " ");
				const struct wt_device_part *other = by_name(s, n);

				if (other && other->cells[cell].status != WT_CELL_NONE)
					widen(&p, other, cell);
				s += n;
			}
		} else {
			return (struct wt_peak){0, 0, 0}; /* one of those it may be is not known */
		}
	}
	return p;
}
