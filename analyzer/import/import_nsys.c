/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nsight Systems exports in SQLite (`nsys export --type sqlite`), schemas of 2021 to 2026 -> timeline. Tables are
 * looked up, because they are created only when something was recorded and carry a version in some releases; what is
 * absent is said. Tables that hold the environment, the host's name or a program's output are never opened: the
 * authorizer of nsys_db.c would refuse them.
 *
 * SQLite needs the file itself, so this importer takes the source's path and reads nothing of its stream.
 */
#include "import/import_nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/importer.h"
#include "import/nsys.h"

/* What is missing when a table is. */
static const struct {
	int (*read)(struct wt_nsys *k);
	const char *table, *removes;
} parts[] = {
	{wt_nsys_read_syncs, NULL, NULL},
	{wt_nsys_read_kernels, "KERNEL", "kernels"},
	{wt_nsys_read_copies, "MEMCPY", "copies"},
	{wt_nsys_read_memsets, NULL, NULL},
	{wt_nsys_read_graphs, NULL, NULL},
	{wt_nsys_read_calls, "RUNTIME", "launches and the causes of gaps"},
	{wt_nsys_read_ranges, "NVTX_EVENTS", "steps and ranges"},
	{wt_nsys_read_os_calls, NULL, NULL},
};
#define NPARTS (sizeof(parts) / sizeof(parts[0]))

static int is_export(const struct wt_nsys_db *db)
{
	static const char *const marks[] = {"CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "OSRT_API",
					    "TARGET_INFO_"};

	if (!wt_nsys_db_has_prefix(db, "StringIds"))
		return 0;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (wt_nsys_db_has_prefix(db, marks[i]))
			return 1;
	return 0;
}

/* Other profilers keep SQLite files too: what to use instead. */
static int refuse(const struct wt_nsys_db *db, struct wt_diag *diag)
{
	static const struct {
		const char *mark, *what;
	} others[] = {
		{"CUPTI_ACTIVITY_KIND_", "an nvprof database: convert it with `nvprof "
					 "--import-profile FILE --print-gpu-trace "
					 "--csv --log-file FILE.csv`"},
		{"rocpd_", "a rocprofv3 database: convert it with `rocpd convert -i FILE "
			   "--output-format csv`, or record with "
			   "`rocprofv3 --output-format json`"},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (wt_nsys_db_has_prefix(db, others[i].mark))
			return wt_fail(diag, WT_E_FORMAT, 0, "%s", others[i].what);
	return wt_fail(diag, WT_E_FORMAT, 0,
		       "an SQLite database, but no Nsight Systems export: expected the tables "
		       "StringIds and "
		       "CUPTI_ACTIVITY_KIND_*, NVTX_EVENTS, OSRT_API or TARGET_INFO_*");
}

static void note_absent(struct wt_nsys *k, const int there[NPARTS])
{
	char text[512];
	size_t n = 0;

	for (size_t i = 0; i < NPARTS; i++)
		if (parts[i].table && !there[i] && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s (no %s)",
					      n ? ", " : "", parts[i].table, parts[i].removes);
	if (n)
		wt_builder_note(k->b, "%s: tables not in this export: %s",
				wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path),
				text);
}

static void note_rest(struct wt_nsys *k)
{
	const char *path = wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path);

	if (k->untimed)
		wt_builder_note(
			k->b,
			"%s: %llu device records have no usable times: counted, they own no time",
			path, (unsigned long long)k->untimed);
	if (k->operators)
		wt_builder_note(k->b, "%s: %llu NVTX ranges of PyTorch operators were passed over",
				path, (unsigned long long)k->operators);
}

static int judge(struct wt_nsys *k, int64_t missing, int64_t size, struct wt_diag *diag)
{
	struct wt_input *in = wt_builder_input_at(k->b, k->input);

	if (k->error == -WT_E_LIMIT)
		return wt_fail(diag, WT_E_CORRUPT, -1,
			       "more processes (32,768) or devices (4,096) than a job can have");
	if (k->error)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (missing) {
		in->lost_bytes = (uint64_t)missing;
		return wt_fail(diag, WT_E_TRUNCATED, size,
			       "the database ends %lld bytes too early: %llu rows of what is left "
			       "were read%s%s",
			       (long long)missing, (unsigned long long)k->rows,
			       wt_nsys_db_faults(k->db) ? "; " : "", wt_nsys_db_fault(k->db));
	}
	if (wt_nsys_db_faults(k->db))
		return wt_fail(
			diag, WT_E_CORRUPT, -1,
			"%d tables could not be read to the end, first %s; %llu rows were read",
			wt_nsys_db_faults(k->db), wt_nsys_db_fault(k->db),
			(unsigned long long)k->rows);
	return 0;
}

static void release(struct wt_nsys *k)
{
	sqlite3_finalize(k->lookup);
	wt_map_release(&k->strings);
	wt_map_release(&k->processes);
	wt_map_release(&k->devices);
	wt_map_release(&k->kinds);
	wt_map_release(&k->names);
	wt_map_release(&k->syncs);
	wt_map_release(&k->nccl_launches);
	free(k->gpus);
	free(k->cuda);
	free(k->nccl);
	free(k->nccl_ops);
	free(k->fields);
	free(k);
}

int wt_nsys_read_db(struct wt_nsys_db *db, int64_t missing, int64_t size, struct wt_builder *b,
		    uint32_t input, struct wt_diag *diag)
{
	struct wt_nsys *k;
	int there[NPARTS], rc;

	if (!is_export(db))
		return refuse(db, diag);
	k = calloc(1, sizeof(*k));
	if (!k)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	k->b = b;
	k->db = db;
	k->input = input;
	k->main_global = -1;
	wt_nsys_read_info(k);
	wt_nsys_find_main(k);
	for (size_t i = 0; i < NPARTS; i++)
		there[i] = parts[i].read(k);
	wt_nsys_nccl_finish(k);
	wt_nsys_read_names(k);
	note_absent(k, there);
	note_rest(k);
	rc = judge(k, missing, size, diag);
	release(k);
	return rc;
}

static int read_database(const char *path, const void *bytes, size_t n, int64_t size,
			 struct wt_builder *b, uint32_t input, struct wt_diag *diag)
{
	struct wt_nsys_db *db = NULL;
	int64_t missing;
	int rc = wt_nsys_db_open(&db, path, bytes, n, &missing, diag);

	/* Nothing of it could be read, so nothing is reported. */
	if (rc == -WT_E_CORRUPT)
		return -WT_E_FORMAT;
	if (!rc)
		rc = wt_nsys_read_db(db, missing, size, b, input, diag);
	wt_nsys_db_close(db);
	return rc;
}

int wt_nsys_read_memory(const void *bytes, size_t n, struct wt_builder *b, uint32_t input,
			struct wt_diag *diag)
{
	return read_database(NULL, bytes, n, (int64_t)n, b, input, diag);
}

/* What was written to a write-ahead log and not yet to the file is not seen. */
static void note_log(const char *path, struct wt_builder *b)
{
	size_t n = strlen(path);
	char *log = malloc(n + 5);
	struct stat st;

	if (!log)
		return;
	memcpy(log, path, n);
	memcpy(log + n, "-wal", 5);
	if (!stat(log, &st) && st.st_size)
		wt_builder_note(
			b, "%s: a write-ahead log lies beside it; what is in there is not read",
			path);
	free(log);
}

static int read_nsys(struct wt_source *src, struct wt_builder *b, uint32_t input,
		     struct wt_diag *diag)
{
	const char *path = wt_source_path(src);

	if (wt_source_is_gzip(src) || wt_source_size(src) < 0)
		return wt_fail(diag, WT_E_FORMAT, 0,
			       "an SQLite database %s: it must be a plain file, because it is not "
			       "read front to back",
			       wt_source_is_gzip(src) ? "packed with gzip" : "from a pipe");
	note_log(path, b);
	return read_database(path, NULL, 0, wt_source_size(src), b, input, diag);
}

static int probe_nsys(const uint8_t *head, size_t n)
{
	return n >= 16 && !memcmp(head, "SQLite format 3", 16);
}

const struct wt_importer wt_importer_nsys = {
	.name = "nsys",
	.human = "Nsight Systems export (.sqlite)",
	.probe = probe_nsys,
	.read = read_nsys,
};
