/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a Kineto / Chrome JSON file, taken from the scanner with its keys in any order. Knows the words of an
 * event, not what becomes of it.
 */
#ifndef WT_KINETO_EVENT_H
#define WT_KINETO_EVENT_H

#include "import/json_scan.h"
#include "import/kineto_names.h"

#define WT_KINETO_HAS_TS	 1u
#define WT_KINETO_HAS_DUR	 2u
#define WT_KINETO_HAS_DEVICE	 4u
#define WT_KINETO_HAS_STREAM	 8u
#define WT_KINETO_HAS_COLLECTIVE 16u
#define WT_KINETO_HAS_SEQ	 32u
#define WT_KINETO_BAD_TIME	 64u /* ts or dur there, but no number that fits */
#define WT_KINETO_HAS_PID	 128u
#define WT_KINETO_HAS_RANK	 256u
#define WT_KINETO_HAS_SRC	 1024u /* of a send or receive: rank in the group */
#define WT_KINETO_HAS_DST	 2048u
#define WT_KINETO_IS_EVENT	 512u /* has a phase or a category */

#define WT_KINETO_HAS_CONCRETE 4096u
#define WT_KINETO_HAS_MEMORY   8192u /* a device of memory */

#define WT_KINETO_TENSORS 4
#define WT_KINETO_DIMS	  4
struct wt_kineto_tensor { /* of an operator's inputs */
	uint64_t dims[WT_KINETO_DIMS];
	uint8_t ndims; /* 0 = none, or more than WT_KINETO_DIMS */
	uint8_t dtype; /* enum wt_dtype */
};

#define WT_KINETO_SERIES 16
#define WT_KINETO_KEY	 64
struct wt_kineto_series {	 /* of a counter: its values by name */
	char key[WT_KINETO_KEY]; /* cut if longer */
	int64_t value;		 /* in millionths */
};

struct wt_kineto_event {
	struct wt_json_text name, arg_name; /* arg_name: of thread_name and process_name events */
	int64_t ts_ns, dur_ns;
	int64_t pid, tid; /* of "stream 7" and the like: the number at the end, else 0 */
	uint32_t flags;	  /* WT_KINETO_HAS_* */
	uint8_t cat;	  /* enum wt_kineto_cat */
	char ph;	  /* 0 = none */
	uint8_t coll_op, copy_kind, copy_flags;
	/* From args; first `device`, last what comes before coll_name. */
	int64_t device, stream, rank, src, dst;
	uint64_t correlation, bytes, graph_node, seq;
	uint64_t in_elements, out_elements;
	uint64_t external; /* of the operator, or of the operator that launched; 0 = not said */
	uint32_t yes;	   /* bit i: input i is true */
	/* Of [memory] rows: c10::DeviceType (0 = host), device, and the allocator's state behind the call. */
	uint64_t memory_type, memory_device, total_allocated, total_reserved;
	struct wt_kineto_tensor in[WT_KINETO_TENSORS];
	uint64_t comm; /* hash of all that names the process group */
	uint32_t grid[3], block[3], regs, smem;
	uint32_t group_size, dtype, dtype_bytes;
	char coll_name[64];	/* cut if longer */
	char group_desc[64];	/* "" if longer */
	char group_ranks[1024]; /* "" if longer */
	struct wt_json_text
		site;	  /* of an operator's stack: its innermost frame of the job's own, cut;
				     of a frame of Python that is one: it; else none */
	unsigned nseries; /* of a counter; those beyond the array are not read */
	struct wt_kineto_series series[WT_KINETO_SERIES];
};

struct wt_kineto_parser;

/* Registers its texts with the scanner (wt_json_keep). NULL: no memory. */
struct wt_kineto_parser *wt_kineto_parser_new(struct wt_json *js);
/* From now on also delivers, with their category, the first event and those that wt_kineto_is_aside(). */
void wt_kineto_parser_keep_asides(struct wt_kineto_parser *ps);
/* 1 for an event that is neither work nor a call, but that some tool takes for device time (struct wt_aside). */
int wt_kineto_is_aside(const struct wt_kineto_event *ev);
/* From now on reads each event as if it were the first of its kind: what comes out is the same, slowly. For tests. */
void wt_kineto_parser_plain(struct wt_kineto_parser *ps);
void wt_kineto_parser_free(struct wt_kineto_parser *ps);
/*
 * Reads the event that comes next: 1 and an event to deliver (valid until the next call), 0 if it is of no interest,
 * or the scanner's error. An event of no interest is skipped at once where its category or phase says so.
 */
int wt_kineto_parse(struct wt_kineto_parser *ps, const struct wt_kineto_event **ret);
/*
 * How many events wt_kineto_parse() has read since this was asked the last time, beside those it told of: it goes on
 * from one of no interest to the next where it can. The scanner's mark is at the last one.
 */
uint64_t wt_kineto_passed(struct wt_kineto_parser *ps);
/* 1 for a row of the allocator: ph i, name [memory]. */
int wt_kineto_is_memory(const struct wt_kineto_event *ev);
/* 1 if an operator or Python frame of that name is kept as a range: steps, modules, the optimizer, backward, input. */
int wt_kineto_is_told(const struct wt_json_text *name);
/* Objects seen so far that have a phase or a category, i.e. that are trace events at all. */
uint64_t wt_kineto_seen(const struct wt_kineto_parser *ps);

/* 1 if the event read last said what it is (ph). */
int wt_kineto_has_phase(const struct wt_kineto_parser *ps);

/* A number, or a string that holds one: 1 and its value; 0 if it is something else (skipped); or an error. */
int wt_kineto_integer(struct wt_json *js, uint64_t *ret);

#endif
