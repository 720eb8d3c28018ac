/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who and where in an Nsight Systems export: processes, GPUs, threads, texts. See nsys.h.
 *
 * A GPU is known by its UUID where the file says which GPU a process means by an ordinal (TARGET_INFO_CUDA_DEVICE).
 * Older files do not; there an ordinal is looked up among the GPUs themselves, which is right unless a process was
 * shown some of them only, and cannot be told from the file.
 */
#include "import/nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES   4096u
#define MAX_PROCESSES 32768u
#define NO_PROCESS    0

int wt_nsys_room(struct wt_nsys *k, void **rows, size_t *room, size_t n, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return 1;
	grown = realloc(*rows, more * size);
	if (!grown) {
		k->error = -WT_E_NOMEM;
		return 0;
	}
	*rows = grown;
	*room = more;
	return 1;
}

int wt_nsys_read_table(struct wt_nsys *k, const char *names, const char *const *columns,
		       int (*row)(void *, sqlite3_stmt *))
{
	struct wt_nsys_table t;
	int there;

	if (k->error)
		return 0;
	there = wt_nsys_db_find(k->db, &t, names, columns);
	if (there)
		wt_nsys_db_scan(k->db, &t, row, k);
	wt_nsys_db_done(&t);
	return there;
}

/* ---- texts ---- */

static uint32_t text_at(struct wt_nsys *k, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? wt_builder_string(k->b, text, (size_t)sqlite3_column_bytes(s, column)) : 0;
}

static int add_string(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;

	if (wt_map_put(&k->strings, (uint64_t)sqlite3_column_int64(s, 0), text_at(k, s, 1)))
		k->error = -WT_E_NOMEM;
	return k->error;
}

uint32_t wt_nsys_string(struct wt_nsys *k, sqlite3_stmt *s, int column)
{
	uint32_t *at, id = 0;
	const char *text;
	int64_t key;
	size_t n;
	int isnew;

	if (sqlite3_column_type(s, column) != SQLITE_INTEGER)
		return 0;
	key = sqlite3_column_int64(s, column);
	if (!k->lookup)
		return wt_map_get(&k->strings, (uint64_t)key, &id) ? id : 0;
	at = wt_map_slot(&k->strings, (uint64_t)key, 0, &isnew);
	if (!at) {
		k->error = -WT_E_NOMEM;
		return 0;
	}
	if (!isnew)
		return *at;
	text = wt_nsys_db_text(k->db, k->lookup, key, &n);
	*at = text ? wt_builder_string(k->b, text, n) : 0;
	return *at;
}

static void open_strings(struct wt_nsys *k)
{
	static const char *const columns[] = {"id", "value", NULL};
	struct wt_nsys_table t;

	if (wt_nsys_db_find(k->db, &t, "StringIds", columns)) {
		k->lookup = wt_nsys_db_lookup(k->db, &t);
		if (!k->lookup)
			wt_nsys_db_scan(k->db, &t, add_string, k);
	}
	wt_nsys_db_done(&t);
}

/* ---- processes and threads ---- */

uint16_t wt_nsys_process(struct wt_nsys *k, sqlite3_stmt *s, int column)
{
	int64_t global;
	uint32_t *at;
	int isnew;

	if (sqlite3_column_type(s, column) == SQLITE_INTEGER)
		global = (int64_t)((uint64_t)sqlite3_column_int64(s, column) >> 24);
	else
		global = k->main_global >= 0 ? k->main_global : NO_PROCESS;
	if (k->has_last && k->last_global == (uint64_t)global)
		return k->last_process;
	at = wt_map_slot(&k->processes, (uint64_t)global, 0, &isnew);
	if (!at) {
		k->error = -WT_E_NOMEM;
		return 0;
	}
	if (isnew) {
		if (k->processes.count > MAX_PROCESSES) {
			k->error = -WT_E_LIMIT;
			return 0;
		}
		struct wt_process *p;
		char host[4096];

		/* Its name is in a table that is not opened. */
		snprintf(host, sizeof(host), WT_HOST_OF_EXPORT "%s",
			 wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path));
		*at = wt_builder_process(k->b, k->input, global);
		p = wt_builder_process_at(k->b, (uint16_t)*at);
		p->pid = global & 0xffffff;
		p->host = wt_builder_cstring(k->b, host);
	}
	k->last_global = (uint64_t)global;
	k->last_process = (uint16_t)*at;
	k->has_last = 1;
	return k->last_process;
}

uint32_t wt_nsys_thread(struct wt_nsys *k, uint16_t process, sqlite3_stmt *s, int column)
{
	return wt_builder_thread(k->b, process, sqlite3_column_int64(s, column) & 0xffffff);
}

/* ---- devices ---- */

static void parse_uuid(const char *text, uint8_t uuid[16])
{
	int n = 0;

	if (!text)
		return;
	if (!strncmp(text, "GPU-", 4))
		text += 4;
	for (; *text && n < 32; text++) {
		int c = *text | 0x20, v = c >= '0' && c <= '9'	 ? c - '0'
					  : c >= 'a' && c <= 'f' ? c - 'a' + 10
								 : -1;

		if (*text == '-')
			continue;
		if (v < 0)
			break;
		uuid[n / 2] = (uint8_t)(n % 2 ? uuid[n / 2] | v : v << 4);
		n++;
	}
	if (n != 32)
		memset(uuid, 0, 16);
}

static uint32_t small(sqlite3_stmt *s, int column)
{
	int64_t v = sqlite3_column_int64(s, column);

	return v >= 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static int add_gpu(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_nsys_gpu *g;
	int64_t bytes = sqlite3_column_int64(s, 4);

	if (k->ngpus >= MAX_DEVICES || !WT_NSYS_ROOM(k, gpus))
		return k->error;
	g = &k->gpus[k->ngpus++];
	*g = (struct wt_nsys_gpu){
		.id = sqlite3_column_int64(s, 0),
		.name = text_at(k, s, 1),
		.sm_count = small(s, 3),
		.memory_bytes = bytes > 0 ? (uint64_t)bytes : 0,
		.cc = small(s, 5) < 100 && small(s, 6) < 10 ? small(s, 5) * 10 + small(s, 6) : 0,
		.cuda = sqlite3_column_type(s, 7) == SQLITE_INTEGER ? sqlite3_column_int64(s, 7)
								    : -1,
	};
	parse_uuid((const char *)sqlite3_column_text(s, 2), g->uuid);
	return 0;
}

static int add_cuda_device(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;

	if (k->ncuda >= MAX_DEVICES * 16 || !WT_NSYS_ROOM(k, cuda))
		return k->error;
	k->cuda[k->ncuda++] = (struct wt_nsys_cuda_device){.gpu = sqlite3_column_int64(s, 0),
							   .cuda = sqlite3_column_int64(s, 1),
							   .pid = sqlite3_column_int64(s, 2)};
	return 0;
}

static const struct wt_nsys_gpu *gpu_of(const struct wt_nsys *k, int64_t pid, int64_t ordinal)
{
	for (size_t i = 0; i < k->ncuda; i++) {
		if (k->cuda[i].pid != pid || k->cuda[i].cuda != ordinal)
			continue;
		for (size_t g = 0; g < k->ngpus; g++)
			if (k->gpus[g].id == k->cuda[i].gpu)
				return &k->gpus[g];
	}
	for (size_t g = 0; g < k->ngpus; g++)
		if (k->gpus[g].cuda == ordinal)
			return &k->gpus[g];
	for (size_t g = 0; g < k->ngpus; g++)
		if (k->gpus[g].cuda < 0 && k->gpus[g].id == ordinal)
			return &k->gpus[g];
	return NULL;
}

uint16_t wt_nsys_device(struct wt_nsys *k, uint16_t process, int64_t ordinal)
{
	const struct wt_nsys_gpu *g;
	struct wt_device *d;
	int isnew;
	uint32_t *at = wt_map_slot(&k->devices, wt_nsys_key(process, (uint64_t)ordinal), 0, &isnew);

	if (!at)
		k->error = -WT_E_NOMEM;
	if (!at || !isnew)
		return at ? (uint16_t)*at : 0;
	if (++k->ndevices > MAX_DEVICES) {
		k->error = -WT_E_LIMIT;
		return 0;
	}
	g = gpu_of(k, wt_builder_process_at(k->b, process)->pid, ordinal);
	*at = wt_builder_device(k->b, process, ordinal, g ? g->uuid : NULL);
	if (g) {
		d = wt_builder_device_at(k->b, (uint16_t)*at);
		d->name = g->name;
		d->sm_count = g->sm_count;
		d->cc = g->cc;
		d->memory_bytes = g->memory_bytes;
	}
	return (uint16_t)*at;
}

/* Times count from the start of the session: with it, reports of several machines are on one clock. */
static int add_session(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;

	if (sqlite3_column_type(s, 0) == SQLITE_INTEGER && sqlite3_column_int64(s, 0) > 0)
		wt_builder_input_at(k->b, k->input)->base_ns = sqlite3_column_int64(s, 0);
	return 1;
}

void wt_nsys_read_info(struct wt_nsys *k)
{
	static const char *const gpu[] = {"id",
					  "name",
					  "uuid",
					  "smCount|numMultiprocessors",
					  "totalMemory|globalMemorySize",
					  "computeMajor|smMajor|computeCapabilityMajor",
					  "computeMinor|smMinor|computeCapabilityMinor",
					  "cuDevice",
					  NULL};
	static const char *const cuda[] = {"gpuId", "cudaId", "pid", NULL};
	static const char *const session[] = {"utcEpochNs", NULL};

	open_strings(k);
	wt_nsys_read_table(k, "TARGET_INFO_SESSION_START_TIME", session, add_session);
	wt_nsys_read_table(k, "TARGET_INFO_GPU|TARGET_INFO_CUDA_GPU", gpu, add_gpu);
	wt_nsys_read_table(k, "TARGET_INFO_CUDA_DEVICE", cuda, add_cuda_device);
}

/* ---- names, last ---- */

static int name_process(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	uint32_t process;

	if (sqlite3_column_type(s, 0) == SQLITE_INTEGER &&
	    wt_map_get(&k->processes, (uint64_t)sqlite3_column_int64(s, 0) >> 24, &process))
		wt_builder_process_at(k->b, (uint16_t)process)->name = text_at(k, s, 1);
	return 0;
}

/* The kernel's names of all threads of the machine: only those of processes that did something here. */
static int name_thread(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	uint32_t process, name;

	if (sqlite3_column_type(s, 0) != SQLITE_INTEGER ||
	    !wt_map_get(&k->processes, (uint64_t)sqlite3_column_int64(s, 0) >> 24, &process))
		return 0;
	name = wt_nsys_string(k, s, 1);
	wt_builder_thread_at(k->b, wt_nsys_thread(k, (uint16_t)process, s, 0))->name = name;
	return k->error;
}

void wt_nsys_read_names(struct wt_nsys *k)
{
	static const char *const process[] = {"globalPid", "name", NULL};
	static const char *const thread[] = {"globalTid", "nameId", NULL};

	wt_nsys_read_table(k, "PROCESSES", process, name_process);
	wt_nsys_read_table(k, "ThreadNames", thread, name_thread);
}
