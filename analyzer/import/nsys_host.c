/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host rows of an Nsight Systems export: runtime and driver calls, NVTX ranges, calls into the system's libraries.
 * See nsys.h.
 */
#define _GNU_SOURCE /* memmem */
#include "import/nsys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOT_READY 600 /* cudaErrorNotReady, CUDA_ERROR_NOT_READY: an answer, no failure */
#define BLOCKS	  0x100

static int times(sqlite3_stmt *s, int64_t *ret_start, int64_t *ret_end)
{
	if (sqlite3_column_type(s, 0) != SQLITE_INTEGER ||
	    sqlite3_column_type(s, 1) != SQLITE_INTEGER)
		return 0;
	*ret_start = sqlite3_column_int64(s, 0);
	*ret_end = sqlite3_column_int64(s, 1);
	return *ret_end >= *ret_start;
}

/* ---- runtime and driver ---- */

enum { C_START, C_END, C_TID, C_CORRELATION, C_NAME, C_STATUS };

/* "cudaLaunchKernel_v7000" -> "cudaLaunchKernel": the runtime's number of the version a call came with; "_v2" stays. */
static uint32_t call_name(struct wt_nsys *k, sqlite3_stmt *s)
{
	uint32_t *at, id = wt_nsys_string(k, s, C_NAME);
	const char *text = wt_builder_get(k->b, id);
	size_t n = strlen(text), digits = n;
	int isnew;

	at = wt_map_slot(&k->names, id, id, &isnew);
	if (!at)
		return id;
	if (!isnew)
		return *at;
	while (digits && text[digits - 1] >= '0' && text[digits - 1] <= '9')
		digits--;
	if (n - digits >= 4 && digits > 2 && !memcmp(text + digits - 2, "_v", 2))
		*at = wt_builder_string(k->b, text, digits - 2);
	return *at;
}

static uint32_t call_kind(struct wt_nsys *k, uint32_t name)
{
	int isnew;
	uint32_t *at = wt_map_slot(&k->kinds, name, 0, &isnew);
	const char *text = wt_builder_get(k->b, name);
	uint32_t kind;

	if (at && !isnew)
		return *at;
	kind = (uint32_t)wt_call_kind_by_name(text) | (wt_call_blocks_by_name(text) ? BLOCKS : 0);
	if (at)
		*at = kind;
	return kind;
}

/* Where an NCCL kernel was launched; of a runtime call and the driver call inside it the first is as good. */
static void note_launch(struct wt_nsys *k, const struct wt_call *c)
{
	uint32_t i;

	if (k->nnccl_ops && c->correlation &&
	    wt_map_get(&k->nccl_launches, wt_nsys_key(c->process, c->correlation), &i)) {
		k->nccl_ops[i].launch_ns = c->start_ns;
		k->nccl_ops[i].thread = c->thread;
	}
}

static int add_call(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_call call = {.correlation = (uint64_t)sqlite3_column_int64(s, C_CORRELATION),
			       .stream = UINT32_MAX,
			       .parent = -1};
	int64_t status = sqlite3_column_int64(s, C_STATUS);
	uint32_t kind;

	k->rows++;
	if (!times(s, &call.start_ns, &call.end_ns))
		return 0;
	call.process = wt_nsys_process(k, s, C_TID);
	call.thread = wt_nsys_thread(k, call.process, s, C_TID);
	call.name = call_name(k, s);
	kind = call_kind(k, call.name);
	call.kind = (uint8_t)kind;
	call.flags = kind & BLOCKS ? WT_CALL_BLOCKING : 0;
	if (status && status != NOT_READY) {
		call.status = status > 0 && status <= UINT32_MAX ? (uint32_t)status : UINT32_MAX;
		call.flags |= WT_CALL_FAILED;
	}
	if (k->syncs.count && call.correlation)
		wt_map_get(&k->syncs, wt_nsys_key(call.process, call.correlation), &call.stream);
	note_launch(k, &call);
	wt_builder_call(k->b, &call);
	return k->error;
}

/* A file may leave the process out of device rows: then it is that of the host calls. */
static int first_call(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;

	if (sqlite3_column_type(s, C_TID) == SQLITE_INTEGER)
		k->main_global = (int64_t)((uint64_t)sqlite3_column_int64(s, C_TID) >> 24);
	return 1;
}

static const char *const call_columns[] = {"start",  "end",	    "globalTid", "correlationId",
					   "nameId", "returnValue", NULL};
#define CALL_TABLES "CUPTI_ACTIVITY_KIND_RUNTIME"

void wt_nsys_find_main(struct wt_nsys *k)
{
	wt_nsys_read_table(k, CALL_TABLES, call_columns, first_call);
}

int wt_nsys_read_calls(struct wt_nsys *k)
{
	/* The driver's calls are in the same table; releases before 2019 had one of their own. */
	int there = wt_nsys_read_table(k, CALL_TABLES, call_columns, add_call);

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_DRIVER", call_columns, add_call) | there;
}

/* ---- NVTX ---- */

enum { N_START, N_END, N_TYPE, N_TEXT, N_TEXT_ID, N_TID, N_PAYLOAD, N_DOMAIN };
enum { PUSH_POP = 59, START_END = 60, T_PUSH_POP = 70, T_START_END = 71 };

/* "ProfilerStep#12", "step 12", "Iteration: 12": 1 and the number. */
static int step_number(const char *name, int64_t *ret)
{
	static const char *const words[] = {"ProfilerStep", "iteration",     "iter",
					    "train_step",   "training_step", "step"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]), digits;

		if (strncasecmp(name, words[i], n))
			continue;
		n += strspn(name + n, " #:_=-");
		digits = strspn(name + n, "0123456789");
		if (!digits || digits > 18 || name[n + digits])
			continue;
		*ret = strtoll(name + n, NULL, 10);
		return 1;
	}
	return 0;
}

/* The operators of torch.autograd.profiler.emit_nvtx: "aten::mm, seq = 7", "aten::view, op_id = 9". */
static int is_operator(const char *text, size_t n)
{
	return memmem(text, n, ", seq = ", 8) || memmem(text, n, ", op_id = ", 10);
}

static int add_range(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	int64_t type = sqlite3_column_int64(s, N_TYPE);
	struct wt_range range = {.kind = WT_RANGE_USER};
	const char *text = (const char *)sqlite3_column_text(s, N_TEXT);
	size_t n = text ? (size_t)sqlite3_column_bytes(s, N_TEXT) : 0;

	k->rows++;
	if ((type != PUSH_POP && type != START_END && type != T_PUSH_POP && type != T_START_END) ||
	    !times(s, &range.start_ns, &range.end_ns))
		return 0;
	if (text && is_operator(text, n)) {
		k->operators++;
		return 0;
	}
	range.process = wt_nsys_process(k, s, N_TID);
	range.thread = wt_nsys_thread(k, range.process, s, N_TID);
	range.name = text ? wt_builder_string(k->b, text, n) : wt_nsys_string(k, s, N_TEXT_ID);
	if (wt_nsys_nccl_range(k, &range, sqlite3_column_blob(s, N_PAYLOAD),
			       (size_t)sqlite3_column_bytes(s, N_PAYLOAD)))
		return k->error;
	if (step_number(wt_builder_get(k->b, range.name), &range.step))
		range.kind = WT_RANGE_STEP;
	wt_builder_range(k->b, &range);
	return k->error;
}

int wt_nsys_read_ranges(struct wt_nsys *k)
{
	static const char *const columns[] = {"start",	    "end",	"eventType",
					      "text",	    "textId",	"globalTid",
					      "binaryData", "domainId", NULL};

	wt_nsys_read_payload_fields(k);
	return wt_nsys_read_table(k, "NVTX_EVENTS", columns, add_range);
}

/* ---- the system's libraries ---- */

enum { O_START, O_END, O_TID, O_NAME };

static int add_os_call(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_range range = {.kind = WT_RANGE_OS};

	k->rows++;
	if (!times(s, &range.start_ns, &range.end_ns))
		return 0;
	range.process = wt_nsys_process(k, s, O_TID);
	range.thread = wt_nsys_thread(k, range.process, s, O_TID);
	range.name = wt_nsys_string(k, s, O_NAME);
	wt_builder_range(k->b, &range);
	return k->error;
}

int wt_nsys_read_os_calls(struct wt_nsys *k)
{
	static const char *const columns[] = {"start", "end", "globalTid", "nameId", NULL};

	return wt_nsys_read_table(k, "OSRT_API", columns, add_os_call);
}
