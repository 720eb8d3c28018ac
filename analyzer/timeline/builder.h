/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an importer (or our own reader) fills a timeline. One thread per builder. Rows may come in any order; finish()
 * sorts, joins device operations to host calls by (process, correlation), and freezes.
 *
 * All functions that return an index copy what they are given. When memory runs out the builder remembers it, goes on
 * returning valid indices, and finish() fails with -WT_E_NOMEM: importers need not check each row.
 */
#ifndef WT_BUILDER_H
#define WT_BUILDER_H

#include "proto/wt_err.h"
#include "timeline/timeline.h"

struct wt_builder;

struct wt_builder *wt_builder_new(void); /* NULL: no memory */
void wt_builder_free(struct wt_builder *b);

/* Interns n bytes (no terminator needed; NUL bytes end it). Id 0 for "". */
uint32_t wt_builder_string(struct wt_builder *b, const char *s, size_t n);
uint32_t wt_builder_cstring(struct wt_builder *b, const char *s);
const char *wt_builder_get(const struct wt_builder *b, uint32_t id);

uint32_t wt_builder_input(struct wt_builder *b, const char *path, const char *format);
struct wt_input *wt_builder_input_at(struct wt_builder *b,
				     uint32_t input); /* valid until the next input */
/* A process of an input; the same (input, pid) gives the same index. Fields start as "not known". */
uint16_t wt_builder_process(struct wt_builder *b, uint32_t input, int64_t pid);
struct wt_process *wt_builder_process_at(struct wt_builder *b,
					 uint16_t process); /* valid until the next process */
/*
 * The device `ordinal` of a process. Processes of one rank and devices with one (non-zero) UUID are the same device;
 * without a UUID a device is its own per process. Call set_uuid before the first row uses the index.
 */
uint16_t wt_builder_device(struct wt_builder *b, uint16_t process, int64_t ordinal,
			   const uint8_t uuid[16]);
struct wt_device *wt_builder_device_at(struct wt_builder *b, uint16_t device);
uint32_t wt_builder_stream(struct wt_builder *b, uint16_t process, uint16_t device, int64_t id);
uint32_t wt_builder_thread(struct wt_builder *b, uint16_t process, int64_t tid);
struct wt_thread *wt_builder_thread_at(struct wt_builder *b, uint32_t thread);
uint32_t wt_builder_shape(struct wt_builder *b, const struct wt_shape *shape); /* interned */
uint32_t wt_builder_work(struct wt_builder *b, const struct wt_work *work);    /* interned */
const struct wt_work *wt_builder_work_at(const struct wt_builder *b, uint32_t work);
/* The same shape with that work. */
uint32_t wt_builder_shape_work(struct wt_builder *b, uint32_t shape, uint32_t work);
/* Appended as it is: the caller knows which he has added. The row of an index, valid until the next. */
uint32_t wt_builder_instruction(struct wt_builder *b, const struct wt_instruction *row);
struct wt_instruction *wt_builder_instruction_at(struct wt_builder *b, uint32_t instruction);

/* op->call is -1 to be joined by (process, correlation), or the index add_call returned. */
void wt_builder_op(struct wt_builder *b, const struct wt_op *op);
size_t wt_builder_ops(const struct wt_builder *b); /* added so far: the last one's index + 1 */
int64_t wt_builder_op_ns(const struct wt_builder *b, size_t op); /* how long it took */
/* Gives a work to an operation added before. */
void wt_builder_op_work(struct wt_builder *b, size_t op, uint32_t work);
int32_t wt_builder_call(struct wt_builder *b, const struct wt_call *call);
struct wt_call *wt_builder_call_at(struct wt_builder *b, int32_t call);
void wt_builder_range(struct wt_builder *b, const struct wt_range *range);
/* Asks importers for struct wt_aside rows; before the first file. They cost a look at every event of a file. */
void wt_builder_keep_asides(struct wt_builder *b);
int wt_builder_keeps_asides(const struct wt_builder *b);
void wt_builder_aside(struct wt_builder *b, const struct wt_aside *aside);
/* c->lead is -1 or its own index for "itself". */
int32_t wt_builder_collective(struct wt_builder *b, const struct wt_collective *c);
void wt_builder_member(struct wt_builder *b,
		       const struct wt_member *m); /* a second time is ignored */
void wt_builder_standing(struct wt_builder *b, const struct wt_standing *s);
void wt_builder_wait(struct wt_builder *b, const struct wt_wait *w);
void wt_builder_memory(struct wt_builder *b, const struct wt_memory *m);
void wt_builder_counter(struct wt_builder *b, const struct wt_counter *c);
void wt_builder_frame(struct wt_builder *b, const struct wt_frame *f);
void wt_builder_hole(struct wt_builder *b, const struct wt_hole *hole);
void wt_builder_count(struct wt_builder *b, const struct wt_count *count);
/* One value a key and process: a later one takes its place. */
void wt_builder_environment(struct wt_builder *b, uint16_t process, const char *key,
			    const char *value);
/* One sentence for the report's notes; equal ones are kept once. */
void wt_builder_note(struct wt_builder *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sorts, joins, checks; consumes the builder (also on failure). */
int wt_builder_finish(struct wt_builder *b, struct wt_timeline **ret, struct wt_diag *diag);

#endif
