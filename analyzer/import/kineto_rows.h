/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of an event: rows of the builder, in the process, device, stream and thread it belongs to. The rules
 * stand at the top of import_kineto.c.
 */
#ifndef WT_KINETO_ROWS_H
#define WT_KINETO_ROWS_H

#include "base/map.h"
#include "import/kineto_event.h"
#include "import/kineto_work.h"
#include "import/kineto_header.h"

#define WT_KINETO_MAX_DEVICES 4096u

/* A row that waits for the end of the file. */
struct wt_kineto_late {
	struct wt_op op;
	struct wt_collective coll; /* .name 0: no collective */
	uint32_t group_ranks;	   /* string: "[0, 1]" */
	int64_t rank;		   /* as the row says; -1 = not said */
	int64_t peer;		   /* of a send or receive, by rank in the job; -1 = not said */
	int has_seq;
};
struct wt_kineto_name {
	int64_t pid, tid;
	uint32_t name;
	int is_process;
};
/* What [memory] rows say of a device; last_ns = when the newest was. */
struct wt_kineto_memory {
	struct wt_memory row;
	int64_t last_ns;
};
#define WT_KINETO_MEMORIES 64
struct wt_kineto_counter {
	struct wt_counter row;
	__int128 sum;
	int64_t last_ns; /* of row.last: rows are in no order */
};
#define WT_KINETO_COUNTERS 4096u

struct wt_kineto {
	struct wt_builder *b;
	struct wt_source *src;
	struct wt_json *js;
	struct wt_kineto_parser *ps;
	struct wt_kineto_header header;
	uint32_t input;
	uint16_t process;
	int64_t main_pid;
	int has_main;
	int64_t first_ns; /* earliest start above zero of all rows */
	uint64_t untimed;
	struct wt_map devices, threads, seqs;
	uint16_t *call_kinds; /* by name: enum wt_call_kind, CALL_*; 0 = not asked */
	size_t call_kinds_room;
	int64_t last_tid; /* of the thread asked for last */
	uint32_t last_thread;
	uint16_t last_process;
	uint8_t has_last;
	uint16_t device_list[WT_KINETO_MAX_DEVICES]; /* builder's indices, in order of appearance */
	size_t ndevices;
	int has_events;	   /* there was an array of events */
	int is_array;	   /* without a header around it */
	uint64_t nitems;   /* of it */
	uint64_t lost;	   /* events given up */
	uint64_t between;  /* faults between them */
	uint64_t bad_text; /* names that are not UTF-8 */
	int64_t bad_text_at;
	uint32_t checked; /* names with an id below were looked at */
	struct wt_kineto_late *late;
	size_t nlate, late_room;
	struct wt_kineto_name *names;
	size_t nnames, names_room;
	struct wt_kineto_works works;
	struct wt_kineto_memory memories[WT_KINETO_MEMORIES];
	size_t nmemories;
	struct wt_map counter_index; /* hash of process, name and series -> index */
	struct wt_kineto_counter *counters;
	size_t ncounters, counters_room;
	uint64_t samples_lost; /* of counters beyond WT_KINETO_COUNTERS, or without a time */
	int error;	       /* our own, beside the scanner's: -WT_E_NOMEM, -WT_E_LIMIT */
};

/* Takes one event: 0, -WT_E_NOMEM or -WT_E_LIMIT (more than WT_KINETO_MAX_DEVICES). */
int wt_kineto_deliver(struct wt_kineto *k, const struct wt_kineto_event *ev);
/* After all events: those set aside; which of them have lost their times, and the collectives' numbers. */
int wt_kineto_deliver_late(struct wt_kineto *k);
/* After all events: names of processes and threads, now that it is known who is who. */
void wt_kineto_apply_names(struct wt_kineto *k);
/* Takes the values of a counter: 0 or -WT_E_NOMEM. */
int wt_kineto_count(struct wt_kineto *k, const struct wt_kineto_event *ev);
/* After all events: what the counters were. */
void wt_kineto_deliver_counters(struct wt_kineto *k);
/* The process of a call. */
uint16_t wt_kineto_process_of(struct wt_kineto *k, const struct wt_kineto_event *ev);
/* After all events: what the allocator said. */
void wt_kineto_deliver_memory(struct wt_kineto *k);

#endif
