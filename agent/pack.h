/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows to Packets to the file: what pack.c (packets, segments), pack_tables.c (what ids mean), pack_header.c,
 * pack_calls.c (host rows) and pack_device.c (rows of CUPTI) share. Writer thread but for
 * wt_pack_birth(), one struct for its life.
 *
 *   wt_pack_begin()   rolls frame and segment where due; ids marked as used from here on belong to this segment
 *   fill columns      pack_calls, pack_device
 *   wt_pack_say()     strings, functions, shapes, ... that the rows use and the segment has not said yet
 *   wt_pack_emit()    the batch itself
 *   wt_pack_flush()   everything so far is in the file when it returns 0: chunks and buffers may be reused
 *
 * Rule: a batch is packed at a time, never a record. Nothing here allocates after wt_pack_open().
 */
#ifndef WT_PACK_H
#define WT_PACK_H

#include <stdint.h>

#include "agent/clock.h"
#include "agent/piece.h"
#include "agent/record.h"
#include "agent/sink.h"
#include "agent/table.h"
#include "proto/frame.h"
#include "trace.pb-c.h"

#define WT_BATCH_ROWS 1024u /* a full chunk is one batch */
#define WT_PACK_KEYS                                                                               \
	16 /* (device, context) pairs or threads gathered at a time, per kind of record */
#define WT_COLUMNS	16
#define WT_OPS_MAX	1024
#define WT_CONTEXTS_MAX 4097 /* registry's room for contexts + 1 */

enum wt_pack_stopped {
	WT_PACK_WRITES,
	WT_PACK_FULL,
	WT_PACK_BROKEN
}; /* full: closing packets still fit */

struct wt_chunk;
struct wt_ring;

/* A row of CUPTI, as collectors/cupti_record.c reads it. */
enum wt_dev_kind {
	WT_DEV_NONE,
	WT_DEV_API,
	WT_DEV_KERNEL,
	WT_DEV_COPY,
	WT_DEV_GRAPH,
	WT_DEV_OVERHEAD
};
struct wt_dev_rec {
	enum wt_dev_kind kind;
	uint32_t flags; /* enum RecordFlag */
	uint32_t device, context, stream, correlation;
	uint64_t start, end;
	uint64_t graph_node;
	uint32_t graph;
	union {
		struct {
			uint32_t cbid, thread_word;
			int runtime;
		} api;
		struct {
			uint32_t kind, thread_word; /* kind: CUpti_ActivityOverheadKind */
		} overhead;
		struct {
			const char *name;
			uint32_t grid[3], block[3], cluster;
			uint32_t regs, static_smem, dyn_smem, local_bytes;
			uint64_t queued, submitted;
		} kernel;
		struct {
			uint64_t bytes;
			uint32_t kind, src_mem, dst_mem, peer_device; /* peer: device + 1 */
		} copy;
	} u;
};

/* Rows gathered until the batch is full or the block ends. */
struct wt_dev_row {
	uint64_t start, end, graph_node;
	uint32_t correlation, stream, graph, flags;
	uint32_t a, b; /* kernel: function, shape; copy: kind, peer; api: cbid, runtime */
	uint64_t bytes;
	uint32_t src_mem, dst_mem;
};
struct wt_gather {
	uint64_t key;  /* device << 32 | context, or thread word */
	uint64_t used; /* when last added to, for choosing which to close */
	uint32_t n;
	struct wt_dev_row *row; /* [WT_BATCH_ROWS] */
};

struct wt_coll_row {
	uint32_t comm, stream, thread;
	uint8_t op, dtype, redop, flags;
	int32_t root;
	uint64_t seq, count, ring, call_seq, group;
};

struct wt_nccl_row { /* collectors/nccl_plugin.h; of the batch at hand */
	uint64_t call_seq;
	struct wt_rec rec;
};

struct wt_mark_row { /* of the batch at hand: one thread's */
	uint64_t call_seq, tsc;
	int64_t value;
	uint32_t name;
	uint8_t what, kind;
};

/*
 * A job makes the same calls again and again: what the newest ones of a kind came to, so that a row touches one line of
 * memory instead of a dozen. Good as long as the registry and the segment are those of then.
 */
struct wt_memo {
	uint64_t object, raw[3]; /* as in the record */
	uint64_t birth_tsc;	 /* of what the handle means */
	uint32_t version, segment;
	uint32_t id, shape;
};
struct wt_stream_memo {
	uint64_t handle, ring, birth_tsc;
	uint32_t context, version, segment, id;
};
#define WT_MEMOS	1024u
#define WT_STREAM_MEMOS 16u

struct wt_pack {
	struct wt_arena mem;
	struct wt_frame_writer *frame;
	struct wt_sink sink;
	struct wt_clock clock;
	uint32_t tick_shift; /* host times are written in units of 2^tick_shift ticks */
	uint8_t *packet;     /* [WT_PACKET_MAX] */

	uint8_t file_id[16];
	uint64_t seq;		       /* of the last packet */
	uint64_t segment, segment_raw; /* number and raw bytes of the open segment */
	int64_t segment_ns, frame_ns;  /* when they opened, monotonic; 0 = not open */
	uint64_t unflushed;	       /* raw bytes since the last flush */
	int stopped;		       /* enum wt_pack_stopped: from FULL on counts only */
	uint64_t lost_rows;	       /* rows not written because of that */
	int recovering;	       /* the process whose rows they are is gone: /proc tells of another */
	uint64_t lost_packets; /* packets beyond the framing's limit: a bug, counted */

	struct wt_table strings, functions, shapes, gemms, streams, threads, comms, execs, ops;
	struct wt_address *addresses; /* [WT_PIECE_SLOTS] */
	struct wt_arena
		function_ids; /* uint32_t by registry id: a launch row need not look at names again */
	struct wt_memo memo[WT_MEMOS];
	struct wt_stream_memo stream_memo[WT_STREAM_MEMOS];
	uint32_t context_segment[WT_CONTEXTS_MAX], context_cupti[WT_CONTEXTS_MAX];
	uint32_t contexts_pending; /* a context was used that this segment has not said */
	uint32_t execs_changed;

	/* Columns of the batch being packed, and of the tables said before it. */
	uint64_t *wide[WT_COLUMNS], *table_wide[8];
	uint32_t *narrow[WT_COLUMNS], *table_narrow[12];
	char **texts;

	struct wt_coll_row *coll; /* [WT_BATCH_ROWS] */
	uint32_t n_coll;
	struct wt_mark_row *mark; /* [WT_BATCH_ROWS] */
	uint32_t n_mark;
	struct wt_nccl_row *nccl; /* [WT_BATCH_ROWS] */
	uint32_t n_nccl;
	uint32_t mark_names; /* different names said so far, see pack_marks.c */
	struct wt_gather api[WT_PACK_KEYS], kernel[WT_PACK_KEYS], copy[WT_PACK_KEYS],
		graph[WT_PACK_KEYS], overhead[WT_PACK_KEYS];
	uint64_t gather_clock;

	uint32_t op_count, op_group_start, op_group_end;
	uint8_t op_kind[WT_OPS_MAX], op_rule[WT_OPS_MAX]; /* enum CountKind; WT_OP_* */
	int32_t sticky; /* CUresult after which a context is lost; 0 = none seen */

	/* Totals of what CUPTI delivered. */
	uint64_t kernels, kernels_untimed, copies, copies_untimed, memsets, memsets_untimed, graphs,
		apis, unknown;
	uint64_t newest_ns; /* newest device end seen */
};

/* ---- pack.c ---- */
int wt_pack_open(struct wt_pack *p, const char *path, uint64_t cap_bytes); /* 0, -WT_E_x */
void wt_pack_begin(struct wt_pack *p);
/* Job thread, before all else: a segment of nothing but its header. */
void wt_pack_birth(struct wt_pack *p);
/* Body case and message of one packet; `rows` are lost with it when nothing can be written. 0, -WT_E_x. */
int wt_pack_emit(struct wt_pack *p, int body, void *message, uint64_t rows);
int wt_pack_emit_last(struct wt_pack *p, int body,
		      void *message); /* closing packets: the reserve counts */
int wt_pack_flush(struct wt_pack *p); /* 0; -WT_E_IO: not in the file and never will be */
void wt_pack_clock(struct wt_pack *p);
/* Writes End, ends the frame, closes the file. */
/* Fills the State packet *ret by *s; what names its holder is said. */
struct wt_box_state;
void wt_pack_state(struct wt_pack *p, const struct wt_box_state *s, Warptap__V1__State *ret);
void wt_pack_close(struct wt_pack *p, int how);
/* 1 if any of n items of `bytes` is not 0. */
int wt_pack_any(const void *column, size_t n, size_t bytes);

/* Ticks are kept as fine as 16 ns: the Clocks rows place them within tens of ns, what is finer is noise to store. */
#define WT_TICK_HZ_MIN 62500000u
static inline uint32_t wt_tick_shift(uint64_t tsc_hz)
{
	uint32_t shift = 0;

	while (tsc_hz >> (shift + 1) >= WT_TICK_HZ_MIN)
		shift++;
	return shift;
}

/* Gives a column of a message its array of `rows_` items, or leaves it out when all of them are 0. */
#define WT_COLUMN(message_, column_, array_, rows_)                                                \
	do {                                                                                       \
		_Static_assert(sizeof(*(message_).column_) == sizeof(*(array_)), "same width");    \
		(message_).column_ = (void *)(array_);                                             \
		(message_).n_##column_ =                                                           \
			wt_pack_any((array_), (rows_), sizeof(*(array_))) ? (rows_) : 0;           \
	} while (0)

/* ---- pack_header.c ---- */
/* On the job's thread, inside cuInit: what only there can be read safely (the environment). */
void wt_header_capture(void);
int wt_header_rank(void); /* of the job, as the launcher says; -1 = not known. After capture */
void wt_header_emit(struct wt_pack *p, int bare); /* bare: asks no library of the job anything */

/* ---- pack_tables.c ---- */
int wt_tables_open(struct wt_pack *p);
void wt_pack_say(struct wt_pack *p);
uint32_t wt_string_id(struct wt_pack *p, const char *text); /* 0 = no text, or no room */
uint32_t wt_string_text(struct wt_pack *p, uint32_t id); /* offset in the registry's name store */
int wt_string_is(struct wt_pack *p, uint32_t id, const char *text);
uint32_t wt_comm_id(struct wt_pack *p,
		    uint32_t reg); /* the trace's id of a communicator of the registry */
void wt_use_context(struct wt_pack *p, uint32_t context);
struct wt_thread *wt_thread_of(struct wt_pack *p, uint64_t ring, uint64_t tid, uint64_t pthread);
void wt_say_ops(struct wt_pack *p);
void wt_contexts_again(
	struct wt_pack *p); /* those whose number CUPTI could not be asked for before */
void wt_execs_review(struct wt_pack *p); /* graphs updated since they were said */

/* ---- pack_calls.c ---- */
void wt_pack_calls(struct wt_pack *p, const struct wt_chunk *c, uint32_t from, uint32_t to);
void wt_pack_collectives(struct wt_pack *p);
/* For recovery: the row is in the trace, what says that it was a collective may not be. */
int wt_pack_is_collective(const struct wt_pack *p, const struct wt_rec *r);
void wt_pack_collective(struct wt_pack *p, const struct wt_chunk *c, uint32_t i);
/* Likewise marks and NCCL's events, in rows from..to - 1; is_said tells which of them the trace has. */
void wt_pack_events(struct wt_pack *p, const struct wt_chunk *c, uint32_t from, uint32_t to,
		    int (*is_said)(const void *arg, uint64_t ring, uint64_t seq), const void *arg);
uint64_t wt_stream_key(const struct wt_stream *s,
		       uint64_t ring); /* its key in the table of streams */
void wt_ops_open(struct wt_pack *p);

/* ---- pack_marks.c ---- */
/* Rows of kind MARK: add() while a batch is gathered, end() before its strings are said, emit() after its calls. */
void wt_pack_mark_add(struct wt_pack *p, const struct wt_rec *r, uint64_t seq);
void wt_pack_mark_end(struct wt_pack *p);
void wt_pack_mark_emit(struct wt_pack *p, uint32_t thread, uint64_t ring);

/* ---- pack_nccl.c ---- */
/* Rows of kind NCCL_EVENT, as marks: they say no strings. */
void wt_pack_nccl_add(struct wt_pack *p, const struct wt_rec *r, uint64_t seq);
void wt_pack_nccl_emit(struct wt_pack *p, uint32_t thread, uint64_t ring);

/* ---- pack_device.c ---- */
void wt_pack_device(struct wt_pack *p, const struct wt_dev_rec *r);
void wt_pack_device_end(struct wt_pack *p); /* emits what is gathered */

#endif
