/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder's inside, shared by builder.c (collects), merge.c and stored.c (move rows in bulk)
 * and finish.c (sorts, joins, freezes) alone.
 */
#ifndef WT_BUILDER_IMPL_H
#define WT_BUILDER_IMPL_H

#include "base/strtab.h"
#include "timeline/builder.h"
#include "timeline/keyset.h"

#define WT_TABLE(type_)                                                                            \
	struct {                                                                                   \
		type_ *rows;                                                                       \
		size_t n, room;                                                                    \
	}

struct wt_generic_table { /* any of them */
	char *rows;
	size_t n, room;
};

struct wt_builder {
	WT_TABLE(struct wt_op) ops;
	WT_TABLE(struct wt_call) calls;
	WT_TABLE(struct wt_range) ranges;
	WT_TABLE(struct wt_aside) asides;
	WT_TABLE(struct wt_collective) collectives;
	WT_TABLE(struct wt_member) members;
	WT_TABLE(struct wt_standing) standings;
	WT_TABLE(struct wt_wait) waits;
	WT_TABLE(struct wt_memory) memories;
	WT_TABLE(struct wt_counter) counters;
	WT_TABLE(struct wt_frame) frames;
	WT_TABLE(struct wt_hole) holes;
	WT_TABLE(struct wt_count) counts;
	WT_TABLE(struct wt_process) processes;
	WT_TABLE(struct wt_device) devices;
	WT_TABLE(uint16_t) device_owners; /* the process that named the device first */
	WT_TABLE(struct wt_stream) streams;
	WT_TABLE(struct wt_thread) threads;
	WT_TABLE(struct wt_shape) shapes;
	WT_TABLE(struct wt_work) works;
	WT_TABLE(struct wt_instruction) instructions;
	WT_TABLE(struct wt_input) inputs;
	WT_TABLE(uint32_t) notes;
	WT_TABLE(struct wt_kv) environment;
	struct wt_keyset process_keys, device_keys, stream_keys, thread_keys, shape_keys, work_keys,
		note_keys, member_keys;
	struct wt_strings *strings;
	int keeps_asides;
	int twins; /* calls of one correlation, or some that were not looked at */
	int error; /* the first enum wt_err; 0 = none */
};

/* The table of fields.def at its place in the builder. */
struct wt_generic_table *wt_builder_table(struct wt_builder *b, int table);

#endif
