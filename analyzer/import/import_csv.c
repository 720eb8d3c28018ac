/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of device operations as text: `nsys stats --report cuda_gpu_trace --format csv`, `nvprof --print-gpu-trace
 * --csv`, and rocprofv3's kernel_trace.csv and memory_copy_trace.csv. Columns are found by their names; units stand in
 * the name, "Start (ns)", or, for nvprof, in a line of their own. A row is an operation; there are no host calls, so
 * nothing is known of launches. Tables that only sum up are named with the report to ask for instead.
 */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/csv.h"
#include "import/decimal.h"
#include "import/importer.h"
#include "import/kineto_names.h"

enum column {
	START,
	DURATION,
	END,
	NAME,
	DEVICE,
	STREAM,
	CORRELATION,
	GRID_X,
	GRID_Y,
	GRID_Z,
	BLOCK_X,
	BLOCK_Y,
	BLOCK_Z,
	REGS,
	STATIC_SMEM,
	DYN_SMEM,
	BYTES,
	SRC_KIND,
	DST_KIND,
	COLUMNS
};

/* Names without what is in brackets, blanks and case; alternatives by '|'. */
static const char *const names[COLUMNS] = {
	[START] = "start|start_timestamp",
	[DURATION] = "duration",
	[END] = "end_timestamp",
	[NAME] = "name|kernel_name|direction",
	[DEVICE] = "device|agent_id|source_agent_id",
	[STREAM] = "strm|stream|stream_id|queue_id",
	[CORRELATION] = "corrid|correlation_id|corr id",
	[GRID_X] = "grdx|grid x|grid_size_x",
	[GRID_Y] = "grdy|grid y|grid_size_y",
	[GRID_Z] = "grdz|grid z|grid_size_z",
	[BLOCK_X] = "blkx|block x|workgroup_size_x",
	[BLOCK_Y] = "blky|block y|workgroup_size_y",
	[BLOCK_Z] = "blkz|block z|workgroup_size_z",
	[REGS] = "reg/trd|registers per thread|vgpr_count",
	[STATIC_SMEM] = "stcsmem|static smem|lds_block_size",
	[DYN_SMEM] = "dymsmem|dynsmem|dynamic smem",
	[BYTES] = "bytes|size",
	[SRC_KIND] = "srcmemkd|srcmemtype",
	[DST_KIND] = "dstmemkd|dstmemtype",
};

struct unit {
	const char *name;
	int scale;	 /* of times: to ns */
	uint64_t factor; /* of sizes: to bytes */
};
static const struct unit units[] = {
	{"ns", 0, 1},	  {"nsec", 0, 1},      {"us", 3, 1},	    {"usec", 3, 1},
	{"ms", 6, 1},	  {"msec", 6, 1},      {"s", 9, 1},	    {"sec", 9, 1},
	{"B", 0, 1},	  {"KB", 0, 1000},     {"MB", 0, 1000000},  {"GB", 0, 1000000000},
	{"KiB", 0, 1024}, {"MiB", 0, 1 << 20}, {"GiB", 0, 1 << 30},
};

struct table {
	struct wt_builder *b;
	uint32_t input;
	uint16_t process;
	int at[COLUMNS]; /* in a row; -1 */
	const struct unit *unit[COLUMNS];
	int nvprof, has_units; /* its units come in the row after the header */
	uint64_t rows, lost;
	int64_t first_lost;
};

static int same(const char *a, size_t n, const char *b, size_t m)
{
	return n == m && !strncasecmp(a, b, n);
}

static const struct unit *find_unit(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == n && !memcmp(units[i].name, s, n))
			return &units[i];
	return NULL;
}

static int is_one_of(const char *s, size_t n, const char *alternatives)
{
	while (*alternatives) {
		size_t m = strcspn(alternatives, "|");

		if (same(s, n, alternatives, m))
			return 1;
		alternatives += m + (alternatives[m] == '|');
	}
	return 0;
}

/* "Start (ns)", "Start(nsec)": the name's length, and the unit if there is one. */
static size_t name_of(const struct wt_csv_field *f, const struct unit **ret)
{
	const char *open = memchr(f->s, '(', f->n);
	size_t n = open ? (size_t)(open - f->s) : f->n;
	const char *close = open ? memchr(open, ')', f->n - n) : NULL;

	*ret = close ? find_unit(open + 1, (size_t)(close - open) - 1) : NULL;
	while (n && f->s[n - 1] == ' ')
		n--;
	return n;
}

static int read_header(struct table *t, const struct wt_csv_row *row)
{
	for (int c = 0; c < COLUMNS; c++)
		t->at[c] = -1;
	for (size_t i = 0; i < row->n; i++) {
		const struct unit *unit;
		size_t n = name_of(&row->fields[i], &unit);

		for (int c = 0; c < COLUMNS; c++)
			if (t->at[c] < 0 && is_one_of(row->fields[i].s, n, names[c])) {
				t->at[c] = (int)i;
				t->unit[c] = unit;
			}
		t->nvprof |= same(row->fields[i].s, n, "Grid X", 6);
	}
	if (t->at[START] >= 0 && !t->unit[START])
		t->unit[START] = t->unit[DURATION] = find_unit("ns", 2);
	t->has_units = !t->nvprof;
	return t->at[START] >= 0 && t->at[NAME] >= 0 && (t->at[DURATION] >= 0 || t->at[END] >= 0);
}

static void read_units(struct table *t, const struct wt_csv_row *row)
{
	t->has_units = 1;
	for (int c = 0; c < COLUMNS; c++)
		if (t->at[c] >= 0 && (size_t)t->at[c] < row->n) {
			const struct unit *u =
				find_unit(row->fields[t->at[c]].s, row->fields[t->at[c]].n);

			t->unit[c] = u ? u : t->unit[c];
		}
}

/* ---- rows ---- */

static struct wt_csv_field field(const struct table *t, const struct wt_csv_row *row, enum column c)
{
	struct wt_csv_field none = {.s = "", .n = 0};

	return t->at[c] >= 0 && (size_t)t->at[c] < row->n ? row->fields[t->at[c]] : none;
}

static int time_of(const struct table *t, const struct wt_csv_row *row, enum column c, int64_t *ret)
{
	struct wt_csv_field f = field(t, row, c);

	return !f.n || wt_decimal_scaled(f.s, f.n, t->unit[c] ? t->unit[c]->scale : 0, ret);
}

/* A number anywhere in a field: "Agent 4", "17"; `none` without. */
static int64_t number_of(struct wt_csv_field f, int64_t none)
{
	size_t digits = f.n;
	int64_t v;

	while (digits && f.s[digits - 1] >= '0' && f.s[digits - 1] <= '9')
		digits--;
	return digits == f.n || wt_decimal_i64(f.s + digits, f.n - digits, &v) ? none : v;
}

static uint64_t bytes_of(const struct table *t, const struct wt_csv_row *row, enum column c)
{
	struct wt_csv_field f = field(t, row, c);
	int64_t millionths;
	uint64_t factor = t->unit[c] ? t->unit[c]->factor : 1;
	double bytes;

	if (!f.n || wt_decimal_scaled(f.s, f.n, 6, &millionths) || millionths <= 0)
		return 0;
	bytes = (double)millionths / 1e6 * (double)factor;
	return bytes < 9e18 ? (uint64_t)(bytes + 0.5) : 0;
}

static uint32_t small(const struct table *t, const struct wt_csv_row *row, enum column c)
{
	int64_t v = number_of(field(t, row, c), 0);

	return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* "Tesla V100-SXM2-16GB (0)" -> 0, and its name. */
static uint16_t device_of(struct table *t, const struct wt_csv_row *row)
{
	struct wt_csv_field f = field(t, row, DEVICE);
	size_t n = f.n, open = f.n;
	int64_t ordinal;
	uint16_t device;

	if (n && f.s[n - 1] == ')') {
		while (open && f.s[open - 1] != '(')
			open--;
		ordinal = open ? number_of((struct wt_csv_field){f.s + open, n - 1 - open}, 0) : 0;
		n = open ? open - 1 : 0;
		while (n && f.s[n - 1] == ' ')
			n--;
	} else {
		ordinal = number_of(f, 0);
		n = 0;
	}
	device = wt_builder_device(t->b, t->process, ordinal < 4096 ? ordinal : 4096, NULL);
	if (n)
		wt_builder_device_at(t->b, device)->name = wt_builder_string(t->b, f.s, n);
	return device;
}

static int contains(struct wt_csv_field f, const char *word)
{
	return memmem(f.s, f.n, word, strlen(word)) != NULL;
}

/* Host-to-Device and HOST_TO_DEVICE as the others say it: HtoD. */
static uint8_t copy_kind(struct wt_csv_field f, uint8_t *flags)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {
		{"Host-to-Device", WT_COPY_H2D},   {"Device-to-Host", WT_COPY_D2H},
		{"Device-to-Device", WT_COPY_D2D}, {"Host-to-Host", WT_COPY_H2H},
		{"Peer-to-Peer", WT_COPY_P2P},	   {"HOST_TO_DEVICE", WT_COPY_H2D},
		{"DEVICE_TO_HOST", WT_COPY_D2H},   {"DEVICE_TO_DEVICE", WT_COPY_D2D},
		{"HOST_TO_HOST", WT_COPY_H2H},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (contains(f, words[i].word))
			return words[i].kind;
	return wt_kineto_copy_kind(f.s, f.n, flags);
}

/* nvprof puts the correlation behind a kernel's name: "add(float*) [123]". */
static void cut_number(struct wt_csv_field *f, uint64_t *correlation)
{
	size_t at = f->n;

	if (!at || f->s[at - 1] != ']' || f->s[0] == '[')
		return;
	while (at && f->s[at - 1] != '[')
		at--;
	if (at < 2 || f->s[at - 2] != ' ' || wt_decimal_u64(f->s + at, f->n - 1 - at, correlation))
		return;
	f->n = at - 2;
}

static int add_row(struct table *t, const struct wt_csv_row *row)
{
	struct wt_csv_field name = field(t, row, NAME);
	struct wt_shape shape = {
		.grid = {small(t, row, GRID_X), small(t, row, GRID_Y), small(t, row, GRID_Z)},
		.block = {small(t, row, BLOCK_X), small(t, row, BLOCK_Y), small(t, row, BLOCK_Z)},
		.regs = small(t, row, REGS),
	};
	struct wt_op op = {
		.call = -1, .collective = -1, .process = t->process, .kind = WT_OP_KERNEL};
	int64_t length;

	if (time_of(t, row, START, &op.start_ns) || !name.n)
		return 0;
	if (t->at[END] >= 0) {
		if (time_of(t, row, END, &op.end_ns))
			return 0;
	} else if (time_of(t, row, DURATION, &length) ||
		   __builtin_add_overflow(op.start_ns, length, &op.end_ns)) {
		return 0;
	}
	if (op.end_ns < op.start_ns)
		return 0;
	op.device = device_of(t, row);
	op.stream =
		wt_builder_stream(t->b, t->process, op.device, number_of(field(t, row, STREAM), 0));
	op.correlation = (uint64_t)number_of(field(t, row, CORRELATION), 0);
	cut_number(&name, &op.correlation);
	if (contains(name, "memcpy") || contains(name, "Memcpy") || contains(name, "MEMORY_COPY")) {
		op.kind = WT_OP_COPY;
		op.copy_kind = copy_kind(name, &op.flags);
		if (contains(field(t, row, SRC_KIND), "Pageable") ||
		    contains(field(t, row, DST_KIND), "Pageable"))
			op.flags |= WT_OP_PAGEABLE;
	} else if (contains(name, "memset") || contains(name, "Memset")) {
		op.kind = WT_OP_MEMSET;
	} else if (shape.grid[0] || shape.block[0]) {
		uint64_t smem = bytes_of(t, row, STATIC_SMEM), dyn = bytes_of(t, row, DYN_SMEM);

		shape.static_smem = smem <= UINT32_MAX ? (uint32_t)smem : 0;
		shape.dyn_smem = dyn <= UINT32_MAX ? (uint32_t)dyn : 0;
		op.shape = wt_builder_shape(t->b, &shape);
	}
	if (op.kind != WT_OP_KERNEL)
		op.bytes = bytes_of(t, row, BYTES);
	op.name = wt_builder_string(t->b, name.s, name.n);
	wt_builder_op(t->b, &op);
	t->rows++;
	return 1;
}

/* ---- the file ---- */

/* What the tools say around their tables. */
static int is_chatter(const struct wt_csv_row *row)
{
	static const char *const begins[] = {"==",	    "Processing ", "NOTICE",  "WARNING",
					     "Generating ", " **",	   "SKIPPED", "Using "};
	const struct wt_csv_field *f = &row->fields[0];

	if (row->n == 1 && !f->n)
		return 1;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (f->n >= strlen(begins[i]) && !memcmp(f->s, begins[i], strlen(begins[i])))
			return 1;
	return 0;
}

/* Tables without device intervals, by a column that only they have. */
static const struct {
	const char *column, *what;
} others[] = {
	{"Instances", "a summary by `nsys stats`: expected `--report cuda_gpu_trace --format csv`"},
	{"Num Calls", "a summary by `nsys stats`: expected `--report cuda_gpu_trace --format csv`"},
	{"Calls", "a summary: expected `nvprof --print-gpu-trace --csv` or `nsys stats --report "
		  "cuda_gpu_trace --format csv`"},
	{"Result", "the host's calls: expected `nsys stats --report cuda_gpu_trace --format csv`"},
	{"Kernel Name",
	 "Nsight Compute's counters, which have no intervals: expected a trace by Nsight Systems"},
	{"Metric Name",
	 "Nsight Compute's counters, which have no intervals: expected a trace by Nsight Systems"},
	{"Domain", "rocprofv3's host calls: expected its kernel_trace.csv"},
};

static const char *other_of(const struct wt_csv_row *row)
{
	for (size_t i = 0; i < row->n; i++)
		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
			const struct unit *unit;

			if (same(row->fields[i].s, name_of(&row->fields[i], &unit),
				 others[k].column, strlen(others[k].column)))
				return others[k].what;
		}
	return NULL;
}

static int is_device_table(const struct table *t)
{
	return t->at[DEVICE] >= 0 || t->at[GRID_X] >= 0;
}

/* Reads to the header: 1, 0 if there is none among the first rows, or an error. */
static int find_header(struct wt_csv *c, struct table *t, struct wt_csv_row *row)
{
	int rc = 0;

	for (int i = 0; i < 64 && (rc = wt_csv_next(c, row)) > 0; i++)
		if (!is_chatter(row))
			return read_header(t, row) && is_device_table(t);
	return rc < 0 ? rc : 0;
}

static int read_rows(struct wt_csv *c, struct table *t, const char *path, struct wt_csv_row *row)
{
	size_t columns = row->n;
	int rc;

	while ((rc = wt_csv_next(c, row)) > 0) {
		if (is_chatter(row))
			continue;
		if (!t->has_units) {
			read_units(t, row);
			continue;
		}
		if (row->n >= columns && add_row(t, row)) {
			if (!row->ended)
				wt_builder_note(
					t->b,
					"%s: the last line has no end: its last column, and "
					"lines behind it, may be missing",
					path);
			continue;
		}
		if (!row->ended) /* cut in the middle */
			return -WT_E_TRUNCATED;
		if (!t->lost++)
			t->first_lost = row->offset;
	}
	return rc;
}

static int judge(struct table *t, struct wt_source *src, int rc, struct wt_diag *diag)
{
	struct wt_input *in = wt_builder_input_at(t->b, t->input);

	in->lost_events += t->lost;
	if (rc == -WT_E_TRUNCATED)
		return wt_fail(diag, WT_E_TRUNCATED, wt_source_disk_offset(src),
			       "the table ends inside a row; %llu rows were read",
			       (unsigned long long)t->rows);
	if (rc < 0)
		return wt_fail(
			diag, WT_E_CORRUPT, wt_source_disk_offset(src), "%s; %llu rows were read",
			rc == -WT_E_LIMIT ? "a row of more than 1 MiB" : wt_source_fault(src)->text,
			(unsigned long long)t->rows);
	if (t->lost)
		return wt_fail(diag, WT_E_CORRUPT, t->first_lost,
			       "%llu rows are not as the header says: expected a start, a duration "
			       "and a name",
			       (unsigned long long)t->lost);
	return 0;
}

static int read_csv(struct wt_source *src, struct wt_builder *b, uint32_t input,
		    struct wt_diag *diag)
{
	struct table t = {.b = b, .input = input};
	struct wt_csv *c = wt_csv_new(src);
	struct wt_csv_row row = {.n = 0};
	const char *other;
	int rc = c ? find_header(c, &t, &row) : -WT_E_NOMEM;

	if (!c)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (rc <= 0) {
		other = rc == 0 ? other_of(&row) : NULL;
		rc = wt_fail(diag, WT_E_FORMAT, 0, "found %s",
			     other ? other
				   : "a table without device intervals: expected a start, "
				     "a duration, a device and a name");
	} else {
		t.process = wt_builder_process(b, input, /* pid= */ -1);
		rc = judge(&t, src, read_rows(c, &t, wt_source_path(src), &row), diag);
	}
	wt_csv_free(c);
	return rc;
}

/* By the first line that is no chatter: names that these tables have. */
static int probe_csv(const uint8_t *head, size_t n)
{
	static const char *const marks[] = {"Start (",	      "Start(",		 "\"Start\",",
					    "Start,Duration", "Start_Timestamp", "Time (%)",
					    "Time(%)",	      "\"Kernel Name\""};
	size_t at = 0;

	for (int lines = 0; lines < 64 && at < n; lines++) {
		const uint8_t *end = memchr(head + at, '\n', n - at);
		size_t len = end ? (size_t)(end - head) - at : n - at;

		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (memmem(head + at, len, marks[i], strlen(marks[i])) &&
			    memchr(head + at, ',', len))
				return 1;
		if (memchr(head + at, 0, len))
			return 0;
		at += len + 1;
	}
	return 0;
}

const struct wt_importer wt_importer_csv = {
	.name = "csv",
	.human = "table of device operations by nsys stats, nvprof or rocprofv3 (.csv)",
	.probe = probe_csv,
	.read = read_csv,
};
