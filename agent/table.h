/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things that rows name by id: strings, functions, shapes, streams, threads, communicators, executable graphs, hooks.
 * An id is file-wide and never reused; each segment of the file says again what an id means before a row uses it.
 *
 * One table = one kind. An item begins with struct wt_item and what identifies it; id = index + 1.
 * Writer thread only; memory from arenas; a full table answers id 0 ("not known") and counts it.
 */
#ifndef WT_TABLE_H
#define WT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/arena.h"

#define WT_TABLE_BUCKETS 16384u
#define WT_TABLE_PENDING 4096u

struct wt_item {
	uint64_t key;
	uint32_t chain;	  /* next of the bucket, id */
	uint32_t segment; /* segment + 1 that last said what it is */
};

struct wt_str {
	struct wt_item item;
	uint32_t name; /* offset in the registry's name store */
	uint32_t pad;
};
struct wt_fun {
	struct wt_item item;
	uint64_t module;
	uint32_t name; /* string id */
	uint32_t regs, static_smem, local_bytes, max_threads, pad;
};
struct wt_shape {
	struct wt_item item;
	uint32_t gx, gy, gz, bx, by, bz, dyn_smem, cluster, attrs, pad;
};
struct wt_gemm { /* as Gemms says it */
	struct wt_item item;
	uint64_t m, n, k, batch;
	uint32_t type_a, type_b, type_c, compute, trans, flags, epilogue, work;
};
struct wt_stream {
	struct wt_item item;
	uint64_t handle;
	uint32_t reg;	  /* registry id, 0 = one of the special ones, or not known */
	uint32_t context; /* registry id */
};
struct wt_thread {
	struct wt_item item;
	uint64_t ring, tid, pthread;
	uint32_t name; /* string id */
	/* Not said in the file: what the packing of its rows has to remember. */
	uint32_t depth; /* of ncclGroupStart */
	uint64_t group; /* number of the open or the next group */
	uint64_t next_seq;
};
struct wt_plain { /* known to the registry: contexts, communicators; hooks */
	struct wt_item item;
	uint32_t reg;  /* registry id, or hook id */
	uint32_t name; /* string id */
};
struct wt_exec {
	struct wt_item item;
	uint32_t reg;
	uint32_t complete, revision;
	uint32_t nodes[3];
};

struct wt_table {
	struct wt_arena items;
	uint32_t *heads; /* [WT_TABLE_BUCKETS] */
	size_t item_bytes;
	uint32_t count, cap;
	uint32_t pending[WT_TABLE_PENDING]; /* used in this segment, not yet said in it */
	uint32_t n_pending;
	uint64_t refused;
};

int wt_table_open(struct wt_table *t, size_t item_bytes, uint32_t cap_items); /* 0, -WT_E_NOMEM */
void *wt_table_at(struct wt_table *t, uint32_t id);
/* The item equal to *like in `same` bytes after its header, added if there is none; 0 = no room. */
uint32_t wt_table_id(struct wt_table *t, uint64_t key, const void *like, size_t same);
/* An item under the id it had; ids up to it are taken. For recovery, before any other use. 0, -WT_E_NOMEM. */
int wt_table_put(struct wt_table *t, uint32_t id, uint64_t key, const void *like);
int wt_table_skip(struct wt_table *t, uint64_t id); /* ids up to this one are taken */
/* Marks an id as used in the segment; 1 = the list of pending ids is nearly full: say them now. */
int wt_table_use(struct wt_table *t, uint32_t id, uint64_t segment);
/* Orders the pending ids. */
void wt_table_sort(struct wt_table *t);
uint64_t wt_table_hash(const void *bytes, size_t n, uint64_t seed);

#endif
