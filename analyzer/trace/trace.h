/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the native reader: one .wt file as tables, before it becomes part of a timeline.
 *
 *   load.c      packets -> these tables (raw ids, raw clocks), nothing interpreted
 *   join.c      host calls <-> device records, by order (align.c)
 *   stream_waits.c  who waited for which recording of an event
 *   complete.c  fate of every call that expects a record; holes; the identity
 *   emit.c      tables -> timeline builder
 *   reader.c    the importer: calls them in this order, says what is damaged
 *
 * Ids come from the file and are trusted by nobody: they are looked up in maps, never used as indices.
 */
#ifndef WT_TRACE_H
#define WT_TRACE_H

#include "base/map.h"
#include "base/source.h"
#include "proto/frame.h"
#include "timeline/builder.h"
#include "trace.pb-c.h"
#include "trace/clockline.h"
#include "trace/vec.h"

#define WT_NO_INDEX UINT32_MAX

enum wt_fate {		     /* of a call that expects a device record */
	       WT_FATE_NONE, /* expects none */
	       WT_FATE_TIMED,
	       WT_FATE_UNTIMED,
	       WT_FATE_MISSING,
	       WT_FATE_IN_FLIGHT,
	       WT_FATE_DEVICE_ERROR,
};

struct wt_row { /* of HostCalls */
	uint64_t ring, seq, start_tsc, dur_tsc;
	uint64_t op, stream, object, shape, bytes;
	uint64_t parent_back;
	uint64_t thread;
	uint32_t context, group; /* group: index of its device records, WT_NO_INDEX */
	uint32_t parent;	 /* row, WT_NO_INDEX */
	uint32_t lost_before;	 /* rows of the ring missing just before this one */
	int32_t status;
	uint16_t flags; /* enum CallFlag */
	uint8_t kind;	/* enum CountKind */
	uint8_t fate;	/* enum wt_fate */
};

struct wt_record { /* of Kernels, Copies, GraphRuns */
	uint64_t correlation, node;
	uint64_t start_ns, dur_ns;
	uint64_t function, shape, bytes;
	uint32_t device, context, stream, graph;
	uint32_t group;
	uint8_t kind; /* enum wt_op_kind */
	uint8_t copy_kind, src, dst, flags;
	uint8_t ambiguous;
	uint16_t window; /* in which it was delivered: 1 + index, saturating; 0 = before any */
};

struct wt_group { /* device records of one correlation id: what one call made */
	uint64_t correlation;
	uint32_t first, n; /* in records, sorted by correlation */
	uint32_t row;	   /* the host call, WT_NO_INDEX */
	uint8_t class_;	   /* enum CountKind */
	uint8_t api;	   /* has an API record */
	uint8_t ambiguous;
};

struct wt_api {
	uint64_t correlation;
	uint32_t thread_word, group; /* group: WT_NO_INDEX = made no record */
	uint32_t row;
	uint16_t window; /* as in wt_record */
	uint8_t class_;
};
/* A moment of an API record: the order of a window begins at a call, and only time can say which. */
struct wt_anchor {
	uint64_t correlation;
	uint64_t mid; /* on the clock of device records */
	uint32_t thread_word;
	uint16_t window;
};

struct wt_function {
	uint64_t name, module;
	uint32_t regs, static_smem, local_bytes, max_threads;
};
struct wt_gemm_row { /* of Gemms */
	uint64_t m, n, k, batch;
	uint32_t type_a, type_b, type_c, compute, trans, flags, epilogue, work;
};
struct wt_counter_row { /* of Counters */
	uint64_t correlation, node, pass_ns;
	uint32_t sm, tensor, dram, l2, l1;
};
struct wt_stream_row {
	uint64_t id, handle;
	uint32_t cupti_id, context, device;
};
struct wt_context_row {
	uint32_t id, cupti_id, device;
};
struct wt_thread_row {
	uint64_t id, tid, pthread, name;
	uint32_t thread; /* builder's */
};
struct wt_comm_row {
	uint64_t id, key, name; /* name: string, 0 = none */
	uint32_t rank, nranks;
};
struct wt_place { /* of a stream, as device records name it */
	uint32_t context, stream, device;
};
struct wt_exec_row { /* of Graphs: what one launch of an executable graph must bring */
	uint64_t exec;
	uint32_t nodes; /* enabled kernels, copies and memsets */
	uint8_t known;
};
struct wt_event_wait {
	uint32_t row, record; /* the call that recorded the event; WT_NO_INDEX: a host function */
};
struct wt_due { /* a call that must end in a record */
	uint64_t stream, tsc;
	int64_t done_ns; /* what it launched was surely over by then; INT64_MAX = not known */
	uint32_t row;
};
struct wt_op_row {
	uint64_t name;
	uint32_t kind;
};
struct wt_coll_row {
	uint64_t comm, seq, count, stream, thread, ring, call_seq, group;
	uint32_t op, dtype, flags, row;
	int32_t root_or_peer;
	int32_t index;	   /* builder's */
	uint8_t in_flight; /* its work had not finished when the trace ended */
	/* Of NCCL's plan for it and what its proxies and channels did (load_nccl.c). */
	uint8_t planned, algorithm, protocol, channels, warps;
	uint32_t proxies;
	uint64_t proxy_bytes, channel_start_ns, channel_end_ns;
	int64_t proxy_ns, proxy_gpu_ns, proxy_peer_ns, proxy_net_ns;
};
struct wt_nccl_event { /* of NcclEvents; waits in ticks */
	uint64_t ring, seq, plan, n, start_ns, end_ns, gpu, peer, net, flush;
	uint32_t what, op;
	uint8_t algorithm, protocol, channel, warps;
};
/* Which collectives one call launched: that of their own call, or of the group's end. */
struct wt_trace_groups {
	uint32_t *first; /* per row: the first collective of that enclosing call */
	uint32_t *next;	 /* per collective: the next of the same group end */
	uint32_t *lead;	 /* per collective: the one that its group's kernels are booked on */
};
struct wt_mark {
	uint64_t ring, seq, tsc, thread, name;
	int64_t value;
	uint32_t what, kind; /* enum MarkWhat, MarkKind */
};
struct wt_overhead { /* of Overheads */
	uint64_t start_ns, dur_ns;
	uint32_t thread_word, kind; /* kind: CUpti_ActivityOverheadKind */
	uint16_t window;	    /* as in wt_record */
};
struct wt_count_row {
	uint64_t n;
	uint32_t context, kind, state;
	int minus;
};
struct wt_window {		  /* collection of device records */
	uint64_t ready_tsc;	  /* kinds began to come on, 0 = not said */
	uint64_t on_tsc, off_tsc; /* off UINT64_MAX = the file ends in it */
	int64_t on_ns, off_ns;
	uint8_t foreign; /* device times of it are on another tool's clock */
	uint8_t chosen;	 /* closed by a schedule, a command or the budget, not for another tool */
	uint8_t late;	 /* opened later than with the process's use of CUDA */
	int exit;	 /* closed by the end of the process: the last totals are its own */
};
struct wt_step_block {	/* steps between two changes of level */
	uint32_t level; /* 3 = recorded */
	uint64_t steps, ticks;
};
#define WT_TROUBLES 32 /* kinds; the last stands for all that are newer */

struct wt_device_row {
	uint32_t id, name, sm_count, cc;
	uint8_t uuid[16], shared;
	uint64_t memory_bytes;
};

struct wt_trace {
	struct wt_builder *b;
	struct wt_source *src;
	uint32_t input;
	int error; /* -WT_E_x that stops reading: no memory, a limit, unsupported */

	/* Tables by id of the file. */
	struct wt_map stream_places; /* agent's stream -> index into places */
	WT_VEC(struct wt_place) places;
	struct wt_map string_ids, function_ids, shape_ids, stream_ids, thread_ids, context_ids,
		cupti_contexts, comm_ids, op_ids, exec_ids, gemm_ids;
	WT_VEC(struct wt_function) functions;
	WT_VEC(struct wt_shape) shapes;
	WT_VEC(struct wt_gemm_row) gemms;
	WT_VEC(struct wt_counter_row) counters;
	WT_VEC(struct wt_stream_row) streams;
	WT_VEC(struct wt_thread_row) threads;
	WT_VEC(struct wt_context_row) contexts;
	WT_VEC(struct wt_comm_row) comms;
	WT_VEC(struct wt_exec_row) execs;
	WT_VEC(struct wt_op_row) ops;
	WT_VEC(struct wt_device_row) devices;

	WT_VEC(struct wt_row) rows;	  /* after load: by (ring, seq) */
	WT_VEC(struct wt_record) records; /* after load: by correlation */
	WT_VEC(struct wt_group) groups;
	WT_VEC(struct wt_api) api; /* after load: by (thread word, correlation) */
	WT_VEC(struct wt_anchor) anchors;
	WT_VEC(struct wt_coll_row) collectives;
	WT_VEC(struct wt_mark) marks;
	WT_VEC(struct wt_event_wait) waits; /* from wt_trace_waits() on, in order of time */
	WT_VEC(struct wt_overhead) overheads;
	WT_VEC(struct wt_nccl_event) nccl;
	/* last totals; totals at each window's close, less those at its opening */
	WT_VEC(struct wt_count_row) counts;
	WT_VEC(struct wt_count_row) window_counts;
	WT_VEC(struct wt_window) windows;
	WT_VEC(struct wt_step_block) blocks;
	struct wt_clockline clock;
	struct wt_clockline
		foreign; /* another tool's clock of device records; `tsc` is its count */

	/* Of the whole file. */
	uint64_t pid, seq_last, seq_lost, packets, end_packets, malformed, unknown, duplicates;
	uint64_t dropped_cupti, dropped_agent, rows_total;
	uint64_t open_buffers; /* lost with the process: CUPTI was still filling them */
	uint64_t ready_tsc;    /* of the window to come */
	uint64_t last_tsc;     /* newest stamp of Clocks and Counts */
	uint32_t rank_name, host, program;
	int32_t rank, world, how;
	struct {
		uint64_t n;
		int error;
	} trouble[WT_TROUBLES];
	int headers, ended, recovered, level, level_now, device_clock, cost_seen, disk_stopped;
	int lossy;	 /* records were dropped */
	int blind;	 /* calls outside the windows may have left no row */
	uint32_t holder; /* builder's string: who made collection pause; 0 = nobody */
	int holders;	 /* more than one did */
	int rows_lost;	 /* host rows were */
	uint32_t minor;	 /* Header.minor */
	int64_t cost[5];
	uint32_t block_level; /* of the State before */
	int block_after_on;   /* and the one before that was of recording */
	/* A converted trace (load_table.c): its rows until they are emitted; what its originals had lost. */
	struct wt_builder *converted;
	struct wt_input original;
	int is_converted, rows_broken;
	uint16_t process;
	uint8_t file_id[16];
	WT_VEC(struct wt_kv) environment;
};

/* Enum values of trace.proto carry package, enum and value in their C names: WT_PB(COUNT_KIND, LAUNCH). */
#define WT_PB(enum_, value_) WARPTAP__V1__##enum_##__##enum_##_##value_

/* load.c */
int wt_trace_load(struct wt_trace *t, const uint8_t *packet, size_t n);
/* load_rows.c */
void wt_trace_load_calls(struct wt_trace *t, const Warptap__V1__HostCalls *m);
void wt_trace_load_api(struct wt_trace *t, const Warptap__V1__ApiRecords *m);
void wt_trace_load_kernels(struct wt_trace *t, const Warptap__V1__Kernels *m);
void wt_trace_load_copies(struct wt_trace *t, const Warptap__V1__Copies *m);
void wt_trace_load_graph_runs(struct wt_trace *t, const Warptap__V1__GraphRuns *m);
void wt_trace_load_collectives(struct wt_trace *t, const Warptap__V1__Collectives *m);
void wt_trace_load_troubles(struct wt_trace *t, const Warptap__V1__Troubles *m);
void wt_trace_note_troubles(struct wt_trace *t);
void wt_trace_load_overheads(struct wt_trace *t, const Warptap__V1__Overheads *m);
/* audit.c: what a State says of steps; the members audit_* of a process */
void wt_trace_load_steps(struct wt_trace *t, const Warptap__V1__State *m, int on);
void wt_trace_audit(struct wt_trace *t, struct wt_process *p);
/* overheads.c */
void wt_trace_emit_overheads(struct wt_trace *t);
/* load_marks.c */
void wt_trace_load_marks(struct wt_trace *t, const Warptap__V1__Marks *m);
int wt_trace_emit_marks(struct wt_trace *t); /* 0 or -WT_E_NOMEM */
/* load_nccl.c */
void wt_trace_load_nccl(struct wt_trace *t, const Warptap__V1__NcclEvents *m);
int wt_trace_plans(struct wt_trace *t, const struct wt_trace_groups *g); /* 0 or -WT_E_NOMEM */
/* load_table.c: of a converted trace */
void wt_trace_load_table(struct wt_trace *t, const Warptap__V1__Table *m);
int wt_trace_emit_tables(struct wt_trace *t); /* 0, -WT_E_NOMEM, -WT_E_CORRUPT: no sense in it */
int wt_trace_inherit(const struct wt_trace *t, int err, struct wt_diag *diag);
/* One message's columns: equal lengths or absent. Returns the rows, or 0 after counting the packet as malformed. */
size_t wt_trace_columns(struct wt_trace *t, const size_t *lengths, size_t n);
/* 1 if another `rows` rows are plausible for the bytes read; else reading stops. */
int wt_trace_room(struct wt_trace *t, size_t rows);
void wt_trace_release(struct wt_trace *t);
uint32_t wt_trace_string(const struct wt_trace *t, uint64_t id); /* builder's id, 0 = none */
/* The row (ring, seq), WT_NO_INDEX. */
uint32_t wt_trace_row(const struct wt_trace *t, uint64_t ring, uint64_t seq);
/* sort.c: a moment of a window's records on the common clock */
int64_t wt_trace_device_ns(const struct wt_trace *t, size_t window, uint64_t stamp);
/* sort.c, join.c, stream_waits.c, complete.c, emit.c: in this order, once each; 0 or -WT_E_NOMEM */
int wt_trace_sort(struct wt_trace *t);
int wt_trace_join(struct wt_trace *t);
int wt_trace_waits(struct wt_trace *t);
int wt_trace_complete(struct wt_trace *t);
int wt_trace_emit(struct wt_trace *t);
void wt_trace_emit_waits(struct wt_trace *t, int32_t base); /* stream_waits.c, called by emit.c */
int wt_trace_stand(struct wt_trace *t);			    /* standing.c, called by emit.c */
/* join.c: of name and shape of a launch, and of its shape; 0 if one is not known */
uint64_t wt_trace_shape_signature(const struct wt_trace *t, uint64_t shape);
uint64_t wt_trace_launch_signature(const struct wt_trace *t, uint64_t function, uint64_t shape);
/* gemm_work.c: the product that row is a call for, as the builder's work; 0 = it is none, or its sizes are not known */
uint32_t wt_trace_product_work(struct wt_trace *t, uint32_t row);
/* graph_work.c: of kernels replayed from graphs, into `works` (one per record). 0 or -WT_E_NOMEM. */
int wt_trace_graph_works(struct wt_trace *t, uint32_t *works);
/* gemm_work.c: the builder's work of each record, 0 = none; freed by the caller. 0 or -WT_E_NOMEM. */
int wt_trace_works(struct wt_trace *t, uint32_t **ret);
/* emit.c; a device or stream the file does not describe is made on the spot */
void wt_trace_process(struct wt_trace *t); /* before anything else of emit.c */
uint16_t wt_trace_device(struct wt_trace *t, uint32_t ordinal);
uint32_t wt_trace_stream(struct wt_trace *t, const struct wt_place *p);
uint32_t wt_trace_thread(struct wt_trace *t, uint64_t id);
/* count.c: the identity, from the fates of rows */
int wt_trace_count(struct wt_trace *t);
/* The row of the ncclGroupEnd behind a row of the same thread, WT_NO_INDEX. */
uint32_t wt_trace_group_end(const struct wt_trace *t, uint32_t row);
/* complete.c */
/* 1 + index of the window a call went through in, begin to end; 0 = none. */
size_t wt_trace_window(const struct wt_trace *t, const struct wt_row *r);
int wt_trace_in_window(const struct wt_trace *t, const struct wt_row *r);
int64_t wt_trace_end_ns(const struct wt_trace *t); /* newest moment the file speaks of */
/* What a row's records cover; 0 if they have no times. */
int wt_trace_span(const struct wt_trace *t, const struct wt_row *row, int64_t *ret_start,
		  int64_t *ret_end);
/* done.c: sets done_ns of those that have no record with times. 0 or -WT_E_NOMEM */
int wt_trace_done(struct wt_trace *t, struct wt_due *dues, size_t n);

/* 1 if a call of this row ends in a device record when it succeeds. */
static inline int wt_row_expects(const struct wt_row *r)
{
	return r->kind >= WT_PB(COUNT_KIND, LAUNCH) && r->kind <= WT_PB(COUNT_KIND, MEMSET);
}

#endif
