/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects rows for a timeline (see builder.h); finish.c turns them into one. An importer calls this once or twice per
 * event, so an add is a bounds check and a copy.
 *
 * When memory runs out, or a table is full, the first such error is kept and row 0 is returned: each table is given
 * room for it at creation, so that whatever an importer does with the index stays inside the table.
 */
#include "timeline/builder_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rows.h"

#define MOST_U16 ((size_t)UINT16_MAX)
#define MOST_I32 ((size_t)INT32_MAX)
#define MOST_U32 ((size_t)UINT32_MAX - 1)

static void keep_error(struct wt_builder *b, enum wt_err err)
{
	if (!b->error)
		b->error = err;
}

/* Makes room for one more row of `size` bytes; 0 after noting why not. */
static int make_room(struct wt_builder *b, void **rows, size_t *room, size_t n, size_t size,
		     size_t most)
{
	size_t bytes;
	void *grown;

	if (n >= most) {
		keep_error(b, WT_E_LIMIT);
		return 0;
	}
	if (n < *room)
		return 1;
	grown = n < SIZE_MAX / size - 16
			? wt_rows_grow(*rows, *room * size, (n + (*room ? 1 : 16)) * size, &bytes)
			: NULL;
	if (!grown) {
		keep_error(b, WT_E_NOMEM);
		return 0;
	}
	/* The first alone: what is read of a table after an error is row 0. Others are touched when they are filled. */
	if (!*room)
		memset(grown, 0, bytes);
	*rows = grown;
	*room = bytes / size;
	return 1;
}

#define ROOM(b_, table_, most_)                                                                    \
	make_room(b_, (void **)&(b_)->table_.rows, &(b_)->table_.room, (b_)->table_.n,             \
		  sizeof(*(b_)->table_.rows), most_)
/* Appends a row; its index, or 0 after an error. */
#define PUSH(b_, table_, most_, row_)                                                              \
	(ROOM(b_, table_, most_) ? ((b_)->table_.rows[(b_)->table_.n] = (row_), (b_)->table_.n++)  \
				 : 0)

/* The index of a key; *ret_new = 1 if its row must be pushed now. */
static size_t intern(struct wt_builder *b, struct wt_keyset *k, const uint64_t *key, size_t nrows,
		     int *ret_new)
{
	int64_t i = wt_keyset_add(k, key, ret_new);

	if (i < 0)
		keep_error(b, WT_E_NOMEM);
	/* A key whose row could not be added has an index past the table. */
	if (i < 0 || (!*ret_new && (size_t)i >= nrows)) {
		*ret_new = 0;
		return 0;
	}
	return (size_t)i;
}

struct wt_builder *wt_builder_new(void)
{
	struct wt_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->process_keys.words = 2;
	b->device_keys.words = 3;
	b->stream_keys.words = 3;
	b->thread_keys.words = 2;
	b->shape_keys.words = 6;
	b->work_keys.words = 8;
	b->note_keys.words = 1;
	b->member_keys.words = 2;
	b->strings = wt_strings_new();
	if (!b->strings || !ROOM(b, inputs, 1) || !ROOM(b, processes, 1) || !ROOM(b, devices, 1) ||
	    !ROOM(b, device_owners, 1) || !ROOM(b, threads, 1) || !ROOM(b, calls, 1) ||
	    !ROOM(b, shapes, 1) || !ROOM(b, works, 1) || !ROOM(b, instructions, 1)) {
		wt_builder_free(b);
		return NULL;
	}
	wt_builder_shape(b, &(struct wt_shape){.regs = 0});
	wt_builder_work(b, &(struct wt_work){.kind = WT_WORK_NONE});
	wt_builder_instruction(b, &(struct wt_instruction){.path = 0});
	return b;
}

void wt_builder_free(struct wt_builder *b)
{
	if (!b)
		return;
	free(b->ops.rows);
	free(b->calls.rows);
	free(b->ranges.rows);
	free(b->asides.rows);
	free(b->collectives.rows);
	free(b->members.rows);
	free(b->standings.rows);
	free(b->waits.rows);
	free(b->memories.rows);
	free(b->counters.rows);
	free(b->frames.rows);
	free(b->holes.rows);
	free(b->counts.rows);
	free(b->processes.rows);
	free(b->devices.rows);
	free(b->device_owners.rows);
	free(b->streams.rows);
	free(b->threads.rows);
	free(b->shapes.rows);
	free(b->works.rows);
	free(b->instructions.rows);
	free(b->inputs.rows);
	free(b->notes.rows);
	free(b->environment.rows);
	wt_keyset_release(&b->process_keys);
	wt_keyset_release(&b->device_keys);
	wt_keyset_release(&b->stream_keys);
	wt_keyset_release(&b->thread_keys);
	wt_keyset_release(&b->shape_keys);
	wt_keyset_release(&b->work_keys);
	wt_keyset_release(&b->note_keys);
	wt_keyset_release(&b->member_keys);
	wt_strings_free(b->strings);
	free(b);
}

uint32_t wt_builder_string(struct wt_builder *b, const char *s, size_t n)
{
	return wt_strings_add(b->strings, s, n);
}

uint32_t wt_builder_cstring(struct wt_builder *b, const char *s)
{
	return s ? wt_strings_add(b->strings, s, strlen(s)) : 0;
}

const char *wt_builder_get(const struct wt_builder *b, uint32_t id)
{
	return wt_strings_get(b->strings, id);
}

uint32_t wt_builder_input(struct wt_builder *b, const char *path, const char *format)
{
	struct wt_input row = {.path = wt_builder_cstring(b, path),
			       .format = wt_builder_cstring(b, format),
			       .rank = -1,
			       .damage_offset = -1};

	return (uint32_t)PUSH(b, inputs, MOST_U32, row);
}

struct wt_input *wt_builder_input_at(struct wt_builder *b, uint32_t input)
{
	return &b->inputs.rows[input < b->inputs.n ? input : 0];
}

uint16_t wt_builder_process(struct wt_builder *b, uint32_t input, int64_t pid)
{
	struct wt_process row = {.input = input,
				 .pid = pid,
				 .rank = -1,
				 .collect_start_ns = INT64_MIN,
				 .collect_end_ns = INT64_MAX,
				 .level = -1,
				 .hook_ns = -1,
				 .writer_cpu_ns = -1,
				 .cupti_ns = -1,
				 .bytes_out = -1,
				 .recorded_calls = -1,
				 .audit_pairs = -1};
	int isnew;
	int64_t i = wt_keyset_add(&b->process_keys, (uint64_t[]){input, (uint64_t)pid}, &isnew);

	if (i < 0) {
		keep_error(b, WT_E_NOMEM);
		return 0;
	}
	if ((size_t)i >= MOST_U16 - 1) { /* one row stands for all that find no room */
		row.pid = WT_PID_OTHERS;
		isnew = b->processes.n == MOST_U16 - 1;
		i = MOST_U16 - 1;
		if (isnew)
			wt_builder_note(
				b,
				"more than %zu processes: what the others did is told as one's, "
				"which launched nothing",
				MOST_U16 - 1);
	}
	return (uint16_t)(isnew ? PUSH(b, processes, MOST_U16, row) : (size_t)i);
}

struct wt_process *wt_builder_process_at(struct wt_builder *b, uint16_t process)
{
	return &b->processes.rows[process < b->processes.n ? process : 0];
}

uint16_t wt_builder_device(struct wt_builder *b, uint16_t process, int64_t ordinal,
			   const uint8_t uuid[16])
{
	static const uint8_t unknown[16];
	struct wt_device row = {.ordinal = ordinal, .rank = -1};
	uint64_t key[3] = {process, (uint64_t)ordinal, 0};
	int isnew;
	size_t i;

	if (uuid && memcmp(uuid, unknown, 16)) {
		memcpy(row.uuid, uuid, 16);
		memcpy(key, uuid, 16);
		key[2] =
			1; /* a UUID that happens to spell a process and an ordinal is another key */
	}
	i = intern(b, &b->device_keys, key, b->devices.n, &isnew);
	if (!isnew)
		return (uint16_t)i;
	if (!ROOM(b, devices, MOST_U16) || !ROOM(b, device_owners, MOST_U16))
		return 0;
	PUSH(b, device_owners, MOST_U16, process);
	return (uint16_t)PUSH(b, devices, MOST_U16, row);
}

struct wt_device *wt_builder_device_at(struct wt_builder *b, uint16_t device)
{
	return &b->devices.rows[device < b->devices.n ? device : 0];
}

uint32_t wt_builder_stream(struct wt_builder *b, uint16_t process, uint16_t device, int64_t id)
{
	struct wt_stream row = {.id = id, .device = device, .process = process};
	int isnew;
	size_t i = intern(b, &b->stream_keys, (uint64_t[]){process, device, (uint64_t)id},
			  b->streams.n, &isnew);

	return (uint32_t)(isnew ? PUSH(b, streams, MOST_U32, row) : i);
}

uint32_t wt_builder_thread(struct wt_builder *b, uint16_t process, int64_t tid)
{
	struct wt_thread row = {.tid = tid, .process = process};
	int isnew;
	size_t i = intern(b, &b->thread_keys, (uint64_t[]){process, (uint64_t)tid}, b->threads.n,
			  &isnew);

	return (uint32_t)(isnew ? PUSH(b, threads, MOST_U32, row) : i);
}

struct wt_thread *wt_builder_thread_at(struct wt_builder *b, uint32_t thread)
{
	return &b->threads.rows[thread < b->threads.n ? thread : 0];
}

uint32_t wt_builder_shape(struct wt_builder *b, const struct wt_shape *shape)
{
	uint64_t key[6] = {0};
	int isnew;
	size_t i;

	_Static_assert(sizeof(*shape) == sizeof(key), "the key is the row itself");
	memcpy(key, shape, sizeof(*shape));
	i = intern(b, &b->shape_keys, key, b->shapes.n, &isnew);
	return (uint32_t)(isnew ? PUSH(b, shapes, MOST_U32, *shape) : i);
}

uint32_t wt_builder_work(struct wt_builder *b, const struct wt_work *work)
{
	uint64_t key[8] = {0};
	int isnew;
	size_t i;

	_Static_assert(sizeof(*work) == sizeof(key), "the key is the row itself");
	memcpy(key, work, sizeof(*work));
	i = intern(b, &b->work_keys, key, b->works.n, &isnew);
	return (uint32_t)(isnew ? PUSH(b, works, MOST_U32, *work) : i);
}

const struct wt_work *wt_builder_work_at(const struct wt_builder *b, uint32_t work)
{
	return &b->works.rows[work < b->works.n ? work : 0];
}

uint32_t wt_builder_shape_work(struct wt_builder *b, uint32_t shape, uint32_t work)
{
	struct wt_shape with = b->shapes.rows[shape < b->shapes.n ? shape : 0];

	with.work = work < b->works.n ? work : 0;
	return wt_builder_shape(b, &with);
}

uint32_t wt_builder_instruction(struct wt_builder *b, const struct wt_instruction *row)
{
	return (uint32_t)PUSH(b, instructions, MOST_U32, *row);
}

struct wt_instruction *wt_builder_instruction_at(struct wt_builder *b, uint32_t instruction)
{
	return &b->instructions.rows[instruction < b->instructions.n ? instruction : 0];
}

size_t wt_builder_ops(const struct wt_builder *b)
{
	return b->ops.n;
}

int64_t wt_builder_op_ns(const struct wt_builder *b, size_t op)
{
	return op < b->ops.n ? b->ops.rows[op].end_ns - b->ops.rows[op].start_ns : 0;
}

void wt_builder_op_work(struct wt_builder *b, size_t op, uint32_t work)
{
	if (op < b->ops.n)
		b->ops.rows[op].shape = wt_builder_shape_work(b, b->ops.rows[op].shape, work);
}

void wt_builder_op(struct wt_builder *b, const struct wt_op *op)
{
	PUSH(b, ops, MOST_U32, *op);
}

int32_t wt_builder_call(struct wt_builder *b, const struct wt_call *call)
{
	return (int32_t)PUSH(b, calls, MOST_I32, *call);
}

struct wt_call *wt_builder_call_at(struct wt_builder *b, int32_t call)
{
	return &b->calls.rows[call >= 0 && (size_t)call < b->calls.n ? call : 0];
}

void wt_builder_range(struct wt_builder *b, const struct wt_range *range)
{
	PUSH(b, ranges, MOST_U32, *range);
}

void wt_builder_keep_asides(struct wt_builder *b)
{
	b->keeps_asides = 1;
}

int wt_builder_keeps_asides(const struct wt_builder *b)
{
	return b->keeps_asides;
}

void wt_builder_aside(struct wt_builder *b, const struct wt_aside *aside)
{
	PUSH(b, asides, MOST_U32, *aside);
}

int32_t wt_builder_collective(struct wt_builder *b, const struct wt_collective *c)
{
	return (int32_t)PUSH(b, collectives, MOST_I32, *c);
}

void wt_builder_member(struct wt_builder *b, const struct wt_member *m)
{
	int isnew;

	intern(b, &b->member_keys, (uint64_t[]){m->comm, (uint64_t)m->rank}, b->members.n, &isnew);
	if (isnew)
		PUSH(b, members, MOST_U32, *m);
}

void wt_builder_standing(struct wt_builder *b, const struct wt_standing *s)
{
	PUSH(b, standings, MOST_U32, *s);
}

void wt_builder_wait(struct wt_builder *b, const struct wt_wait *w)
{
	PUSH(b, waits, MOST_U32, *w);
}

void wt_builder_memory(struct wt_builder *b, const struct wt_memory *m)
{
	PUSH(b, memories, MOST_U32, *m);
}

void wt_builder_counter(struct wt_builder *b, const struct wt_counter *c)
{
	PUSH(b, counters, MOST_U32, *c);
}

void wt_builder_frame(struct wt_builder *b, const struct wt_frame *f)
{
	PUSH(b, frames, MOST_U32, *f);
}

void wt_builder_hole(struct wt_builder *b, const struct wt_hole *hole)
{
	PUSH(b, holes, MOST_U32, *hole);
}

void wt_builder_count(struct wt_builder *b, const struct wt_count *count)
{
	PUSH(b, counts, MOST_U32, *count);
}

void wt_builder_environment(struct wt_builder *b, uint16_t process, const char *key,
			    const char *value)
{
	struct wt_kv row = {.key = wt_builder_cstring(b, key),
			    .value = wt_builder_cstring(b, value),
			    .process = process};

	for (size_t i = b->environment.n; i && b->environment.rows[i - 1].process == process; i--) {
		if (b->environment.rows[i - 1].key == row.key) {
			b->environment.rows[i - 1].value = row.value;
			return;
		}
	}
	PUSH(b, environment, MOST_U32, row);
}

void wt_builder_note(struct wt_builder *b, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	uint32_t id;
	int isnew;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	id = wt_builder_cstring(b, text);
	if (!id)
		return;
	intern(b, &b->note_keys, (uint64_t[]){id}, b->notes.n, &isnew);
	if (isnew)
		PUSH(b, notes, MOST_U32, id);
}
