/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel is by its name: families.tsv, POSIX extended expressions, the first match wins. One object per
 * timeline; answers are kept per name, since a name costs up to 63 expressions and comes a thousand times.
 */
#ifndef WT_FAMILIES_H
#define WT_FAMILIES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wt_err.h"

enum wt_bound {
	WT_BOUND_UNKNOWN,
	WT_BOUND_COMPUTE,
	WT_BOUND_MEMORY,
	WT_BOUND_LATENCY,
	WT_BOUND_COMM
};

/* The states of a device, as bits; a record has one. Precedence: compute, comm, copy, spin. */
enum wt_state {
	WT_STATE_COMPUTE = 1u << 0,
	WT_STATE_COMM = 1u << 1,
	WT_STATE_COPY = 1u << 2,
	WT_STATE_SPIN = 1u << 3,
};
#define WT_STATES 4

/* A line of families.tsv. */
struct wt_family_row {
	const char *pattern, *family, *library;
	enum wt_bound bound;
	const char *role;
	int icase;
};
extern const struct wt_family_row wt_family_rows[];
extern const int wt_nfamily_rows;

struct wt_families;
struct wt_families *wt_families_new(void); /* the compiled-in table; NULL: no memory */
/*
 * A table of the caller's in the format of families.tsv (the columns pattern, family, library, bound_guess, role, flags
 * must be there, a header line says their order), instead of the compiled-in one. 0; -WT_E_CORRUPT with the line in the
 * text of diag, -WT_E_LIMIT, -WT_E_NOMEM.
 */
int wt_families_parse(struct wt_families **ret, const char *text, size_t n, struct wt_diag *diag);
void wt_families_free(struct wt_families *f);
/* The row of a kernel's name, NULL if none matches. id identifies the name (a string id of one timeline). */
const struct wt_family_row *wt_family_of(struct wt_families *f, uint32_t id, const char *name);
/* The state of a kernel of this family (NULL: compute). The role `copy` of casts and fills is a label, not a state. */
enum wt_state wt_family_state(const struct wt_family_row *row);
/* Whether a kernel of this family and name computes on the matrix pipe when it is bound by compute. */
int wt_family_is_matrix(const struct wt_family_row *row, const char *name);
/* The same two by name id, remembered. */
enum wt_state wt_family_state_of(struct wt_families *f, uint32_t id, const char *name);
int wt_family_is_matrix_of(struct wt_families *f, uint32_t id, const char *name);
/* The bound a kernel of this name and length is guessed to have; WT_BOUND_UNKNOWN without a family. */
enum wt_bound wt_family_bound(const struct wt_family_row *row, const char *name,
			      int64_t duration_ns);

#endif
