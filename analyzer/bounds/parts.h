/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: what a part can do at most, by the name its driver gives it. parts.tsv has the numbers and
 * part_cells.tsv where each comes from. Immutable: any thread; finding compiles expressions, so keep the answer.
 *
 * A number that nobody has read where it was published (status RECALLED) is usable, but whoever prints what follows
 * from it prints the word "unverified" with it: struct wt_peak carries that.
 *
 * Some names are those of several parts. The memory size decides where it is known, else all of them are given and a
 * peak is a range. A name of no part is unknown: there are no peaks then, and nothing is guessed.
 */
#ifndef WT_PARTS_H
#define WT_PARTS_H

#include <stddef.h>
#include <stdint.h>

enum wt_part_cell {
#define WT_CELL(column_, id_, unit_, meaning_) WT_PART_##id_,
#include "bounds/cells.def"
#undef WT_CELL
	WT_PART_CELLS
};

enum wt_cell_status {
	WT_CELL_NONE, /* the table does not say */
	WT_CELL_READ,
	WT_CELL_DERIVED,  /* by arithmetic from others */
	WT_CELL_CONFLICT, /* sources disagree; the remark has the other value */
	WT_CELL_NOMINAL,  /* part of the name */
	WT_CELL_RECALLED, /* read nowhere: unverified */
};
struct wt_device_part {
	const char *name, *pattern, *also,
		*between; /* POSIX extended expressions; names of two parts */
	const char *vendor, *chip, *cc, *mem_type, *pcie, *note;
	struct {
		double value;
		enum wt_cell_status status;
		const char *source, *remark;
	} cells[WT_PART_CELLS];
};
extern const struct wt_device_part wt_parts[];
extern const int wt_nparts;
struct wt_part_source {
	const char *code, *where;
};
extern const struct wt_part_source wt_part_sources[];
extern const int wt_npart_sources;
extern const char *const wt_cell_names[WT_PART_CELLS],
	*const wt_cell_units[WT_PART_CELLS], *const wt_cell_meanings[WT_PART_CELLS];
extern const char *const wt_cell_status_names[];

/* The parts a device may be. */
#define WT_PARTS_MAX 8
struct wt_part_match {
	const struct wt_device_part *part[WT_PARTS_MAX];
	int n;
};
/* memory_bytes as the driver says it, 0 = not known. Returns how many parts it may be: 0 = unknown, 1 = settled. */
int wt_parts_find(const char *name, uint64_t memory_bytes, struct wt_part_match *ret);

/* A number of a device: lo = hi where it is settled, both 0 where it is not known. In units of cells.def. */
struct wt_peak {
	double lo, hi;
	int unverified;
};
struct wt_peak wt_parts_cell(const struct wt_part_match *m, enum wt_part_cell cell);

#endif
