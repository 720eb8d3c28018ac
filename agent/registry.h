/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who: contexts, streams, functions, graphs and communicators the job has made. Hooks of creation and
 * destruction tell it (cold calls, any thread); the writer asks it to turn the raw handles of records into ids.
 * A handle is known by its life: (birth, death) in TSC ticks, so reuse by the driver cannot confuse two objects.
 *
 * Memory: its own arena (mmap), never the job's heap; full = the object is "not known" and that is counted.
 * Lock: one private spin lock with a bounded wait; never held across a call of the driver.
 * Kept up at every level, off included: a later window must be able to name what it sees.
 */
#ifndef WT_REGISTRY_H
#define WT_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

enum wt_reg_kind {
	WT_REG_CONTEXT,
	WT_REG_STREAM,
	WT_REG_FUNCTION, /* CUfunction and CUkernel alike */
	WT_REG_MODULE,	 /* CUmodule and CUlibrary alike */
	WT_REG_GRAPH,	 /* CUgraph */
	WT_REG_EXEC,	 /* CUgraphExec */
	WT_REG_COMM,
	WT_REG_KINDS
};

struct wt_reg_entry {
	uint32_t id; /* 1.. per kind, never reused in a process */
	uint32_t
		context; /* streams, modules, functions: registry id of their context; 0 = not known */
	uint64_t handle;
	uint64_t birth_tsc, death_tsc; /* death UINT64_MAX = alive */
	union {
		struct {
			int32_t device;	   /* CUDA ordinal, -1 = not known */
			uint32_t cupti_id; /* 0 = not asked yet */
		} context;
		struct {
			uint32_t flags, cupti_id;
			int32_t priority;
		} stream;
		struct {
			uint32_t name;	      /* offset into the name store, see wt_reg_name */
			uint32_t module;      /* id */
			uint32_t max_threads; /* of a block; 0 = not asked: see book.h */
		} function;
		struct {
			uint32_t nodes
				[3]; /* enabled kernel, copy (bytes > 0), memset nodes, children included */
			uint32_t
				complete; /* 0: made before we woke, or has nodes we cannot count */
			uint32_t graph;	  /* of an exec: id of its graph */
		} graph;
		struct {
			uint8_t key[16]; /* hash of the unique id; splits derive theirs */
			uint32_t rank, nranks, parent;
			int32_t device;
			uint64_t
				seq; /* collectives enqueued so far (atomic, through wt_reg_comm_next) */
		} comm;
	} u;
};

int wt_reg_init(void); /* 0, or -WT_E_x: everything stays "not known" */
/*
 * Adds or revives a handle, born at tsc; returns its id (0 = no room). `init` may be NULL; its u and context are
 * copied. A live entry of the same handle is ended first.
 */
uint32_t wt_reg_add(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc,
		    const struct wt_reg_entry *init);
void wt_reg_end(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc);
/* Ends everything that lives in a context (destroyed or reset), or every function of a module. */
void wt_reg_end_context(uint32_t context, uint64_t tsc);
void wt_reg_end_module(uint32_t module, uint64_t tsc);
/* The entry that had this handle at tsc: copied to *ret; 1 found, 0 not. tsc UINT64_MAX = the live one. */
int wt_reg_find(enum wt_reg_kind kind, uint64_t handle, uint64_t tsc, struct wt_reg_entry *ret);
int wt_reg_by_id(enum wt_reg_kind kind, uint32_t id, struct wt_reg_entry *ret);
void wt_reg_update(enum wt_reg_kind kind, uint32_t id,
		   const struct wt_reg_entry *set); /* replaces u */
uint32_t wt_reg_count(enum wt_reg_kind kind);	    /* ids handed out so far */
/* Interned text: offset (0 = none) and back. Bounded: longer than 4 KiB is cut. */
uint32_t wt_reg_intern(const char *s); /* the job's: replaced where WARPTAP_REDACT says so */
uint32_t wt_reg_intern_as_is(const char *s);
const char *wt_reg_name(uint32_t offset);
/* Next sequence number of a live communicator: 1, 2, ... ; 0 = not known. ret_id may be NULL. */
uint64_t wt_reg_comm_next(uint64_t handle, uint32_t *ret_id);
/*
 * Another one than before whenever an entry was added or has ended: what was found by a handle and a time meanwhile
 * holds for later times too, if it was alive.
 */
uint32_t wt_reg_version(void);
uint64_t wt_reg_lost(void); /* objects not taken for want of room */
void wt_reg_release(void);  /* of a program that is not a job: forgets everything */
/* Writer: the id the trace has for it, kept beside it for recovery. */
void wt_reg_said(enum wt_reg_kind kind, uint32_t id, uint32_t file_id);

#endif
