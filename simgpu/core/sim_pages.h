/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laziness of device memory: which 2 MiB blocks of a piece of memory were ever written. What never was reads zero and
 * need not be read, and zeroes need not be written to it; so a copy of nothing costs no memory and no time.
 *
 * Whoever writes device memory goes through here, or says so first (sim_pages_touch). Bits are atomic; data belongs to
 * whoever moves it, which is the device thread.
 */
#ifndef SIM_PAGES_H
#define SIM_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_BLOCK (2u << 20)
#define SIM_PAGE  4096u

/* The book of one piece of memory. */
struct sim_pages {
	size_t bytes;
	bool file; /* pages of a file, shared by its mappings; else private anonymous ones */
	_Atomic uint64_t *touched;
};
void sim_pages_init(struct sim_pages *p, size_t bytes, bool file);
void sim_pages_release(struct sim_pages *p);
/* Blocks that lie wholly in [offset, offset + bytes) were given back to the system: they read zero again. */
void sim_pages_forget(struct sim_pages *p, size_t offset, size_t bytes);
bool sim_pages_touched(const struct sim_pages *p, size_t offset);
uint64_t sim_pages_count(const struct sim_pages *p); /* touched blocks */

/* Memory at one address, up to where the answer changes. */
struct sim_span {
	struct sim_pages *pages; /* NULL: nobody keeps a book, it counts as written */
	size_t offset;		 /* of the address in it */
	size_t left;		 /* bytes for which this holds */
	bool device; /* memory of the device, whose pages may be given back for zeroes */
	bool file;
};
typedef void (*sim_span_fn)(const void *address, struct sim_span *ret);

/* Says that [p, p + n) is about to be written. */
void sim_pages_touch(sim_span_fn span, const void *p, size_t n);
/* memmove, but pages stay untouched where nothing but zeroes would come to never-written memory. */
void sim_pages_copy(sim_span_fn span, void *dst, const void *src, size_t n);
/* memset(0): large stretches of device memory give their pages back. */
void sim_pages_zero(sim_span_fn span, void *dst, size_t n);

#endif
