/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the Nsight Systems importer share. import_nsys.c reads the tables in order, nsys_info.c knows
 * processes, devices, threads and texts, nsys_ops.c device rows, nsys_host.c calls and ranges, nsys_nccl.c what NCCL's
 * ranges say. One thread.
 *
 * globalPid and globalTid: 8 bits of hardware id, 8 of virtual machine, 24 of process, 24 of thread (0 in a
 * globalPid). Correlation ids are unique in one process.
 */
#ifndef WT_NSYS_H
#define WT_NSYS_H

#include <sqlite3.h>

#include "base/map.h"
#include "import/nsys_db.h"
#include "timeline/builder.h"

struct wt_nsys_gpu {
	int64_t id, cuda; /* TARGET_INFO_GPU.id, .cuDevice (-1 = not said) */
	uint8_t uuid[16];
	uint32_t name, sm_count, cc;
	uint64_t memory_bytes;
};
struct wt_nsys_cuda_device { /* what a process calls a GPU */
	int64_t pid, cuda, gpu;
};
/* A host call of NCCL: a range of its NVTX domain. */
struct wt_nsys_nccl_call {
	int64_t start_ns, end_ns;
	uint64_t comm, bytes;
	uint32_t thread, name, nranks, rank; /* UINT32_MAX = not said */
	int32_t collective, lead, peer;	     /* -1 */
	uint16_t process;
	uint8_t op;   /* enum wt_coll_op */
	uint8_t what; /* enum wt_nsys_nccl */
};
/* A kernel of NCCL, which waits for the range it was launched in. */
struct wt_nsys_nccl_op {
	struct wt_op op;
	int64_t launch_ns;
	uint32_t thread; /* UINT32_MAX = no launch record */
};
struct wt_nsys_field { /* of a payload */
	int64_t domain, schema, offset;
	uint8_t what, bytes;
};

struct wt_nsys {
	struct wt_builder *b;
	struct wt_nsys_db *db;
	uint32_t input;
	int error; /* -WT_E_NOMEM, -WT_E_LIMIT: stops reading */

	struct sqlite3_stmt *lookup; /* of a text; NULL: all are in `strings` already */
	struct wt_map strings;	     /* id -> builder's */
	struct wt_map processes;     /* globalPid >> 24 -> builder's */
	struct wt_map devices;	     /* (process, ordinal) -> builder's */
	struct wt_map kinds;	     /* builder's name -> kind of call, 0x100 = blocks */
	struct wt_map names;	     /* string id of a call -> builder's, version cut off */
	struct wt_map syncs;	     /* (process, correlation) -> stream */
	struct wt_map nccl_launches; /* (process, correlation) -> index in nccl_ops */
	uint64_t last_global;
	int64_t main_global; /* globalPid >> 24 of the first host call; -1 */
	uint16_t last_process;
	int has_last;
	size_t ndevices;

	struct wt_nsys_gpu *gpus;
	size_t ngpus, gpus_room;
	struct wt_nsys_cuda_device *cuda;
	size_t ncuda, cuda_room;
	struct wt_nsys_nccl_call *nccl;
	size_t nnccl, nccl_room;
	struct wt_nsys_nccl_op *nccl_ops;
	size_t nnccl_ops, nccl_ops_room;
	struct wt_nsys_field *fields;
	size_t nfields, fields_room;

	uint64_t untimed, rows, operators;
};

/* ---- nsys_info.c ---- */

/* GPUs, what processes call them, and the way to texts. */
void wt_nsys_read_info(struct wt_nsys *k);
/* Names of processes and threads, after all rows. */
void wt_nsys_read_names(struct wt_nsys *k);
/* The text of StringIds as a builder's string; 0 for NULL and for ids that are not there. */
uint32_t wt_nsys_string(struct wt_nsys *k, sqlite3_stmt *s, int column);
/* Of a globalPid or globalTid in this column; NULL = that of the host calls. */
uint16_t wt_nsys_process(struct wt_nsys *k, sqlite3_stmt *s, int column);
uint16_t wt_nsys_device(struct wt_nsys *k, uint16_t process, int64_t ordinal);
uint32_t wt_nsys_thread(struct wt_nsys *k, uint16_t process, sqlite3_stmt *s, int column);
/* Reads all of a table, if it is there; see wt_nsys_db_find(). */
int wt_nsys_read_table(struct wt_nsys *k, const char *names, const char *const *columns,
		       int (*row)(void *, sqlite3_stmt *));
/* Room for one more row of an array; 0 after noting that memory ran out. */
int wt_nsys_room(struct wt_nsys *k, void **rows, size_t *room, size_t n, size_t size);
#define WT_NSYS_ROOM(k_, table_)                                                                   \
	wt_nsys_room(k_, (void **)&(k_)->table_, &(k_)->table_##_room, (k_)->n##table_,            \
		     sizeof(*(k_)->table_))

static inline uint64_t wt_nsys_key(uint16_t process, uint64_t id)
{
	return wt_mix64(id ^ wt_mix64(process + 1u));
}

/* ---- the tables; each returns 1 if it was there ---- */

int wt_nsys_read_kernels(struct wt_nsys *k);
int wt_nsys_read_copies(struct wt_nsys *k);
int wt_nsys_read_memsets(struct wt_nsys *k);
int wt_nsys_read_graphs(struct wt_nsys *k);
int wt_nsys_read_syncs(struct wt_nsys *k);
/* Finds the process of rows that do not say theirs; before all others. */
void wt_nsys_find_main(struct wt_nsys *k);
int wt_nsys_read_calls(struct wt_nsys *k);
int wt_nsys_read_ranges(struct wt_nsys *k);
int wt_nsys_read_os_calls(struct wt_nsys *k);

/* ---- nsys_nccl.c ---- */

enum wt_nsys_nccl {
	WT_NSYS_NCCL_OTHER,
	WT_NSYS_NCCL_COLLECTIVE,
	WT_NSYS_NCCL_INIT,
	WT_NSYS_NCCL_GROUP_START,
	WT_NSYS_NCCL_GROUP_END,
};
void wt_nsys_read_payload_fields(struct wt_nsys *k);
/* A range of NVTX whose name NCCL could have given: 1 if it is one (then it is kept aside). */
int wt_nsys_nccl_range(struct wt_nsys *k, const struct wt_range *range, const void *payload,
		       size_t n);
/* Gives each kernel of NCCL the collective whose call launched it, and the held-back kernels to the builder. */
void wt_nsys_nccl_finish(struct wt_nsys *k);

/* ---- import_nsys.c ---- */

struct wt_source;
/* The whole importer over an open database. `missing` = bytes the file lacks. */
int wt_nsys_read_db(struct wt_nsys_db *db, int64_t missing, int64_t size, struct wt_builder *b,
		    uint32_t input, struct wt_diag *diag);

#endif
