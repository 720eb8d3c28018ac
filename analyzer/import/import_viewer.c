/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What XProf's trace viewer exports (trace.json.gz): events without categories on processes named /device:TPU:N or
 * /device:GPU:N and on threads named after what they show. Device work is the X events of a TPU's "XLA Ops" and of a
 * GPU's streams; modules, name scopes and source lines are views of the same. Steps are on the thread "Steps".
 *
 * The viewer leaves events out when there are many, and keeps no programs: the .xplane.pb beside it says more, and the
 * note says so.
 */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "import/decimal.h"
#include "import/importer.h"
#include "import/kineto_names.h"
#include "import/values.h"

#define KIND_CONTROL  254
#define KIND_TRANSFER 253
#define MAX_DEVICES   4096

enum show { SHOW_NOTHING, SHOW_OPS, SHOW_STREAM, SHOW_STEPS };

struct row {
	int64_t start_ns, end_ns;
	uint32_t event, device; /* value; index into devices */
	int64_t tid;
	uint8_t show;
};
struct viewer {
	const struct wt_values *v;
	struct wt_builder *b;
	uint16_t process;
	struct wt_map devices, threads; /* pid -> builder's device + 1; (pid, tid) -> enum show */
	size_t ndevices;
	struct row *rows;
	size_t nrows, room;
	uint64_t bad;
	int is_cut;
};

static int text_is(const struct wt_values *v, uint32_t id, const char *word)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s && n == strlen(word) && !memcmp(s, word, n);
}

static int starts(const struct wt_values *v, uint32_t id, const char *word)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s && n >= strlen(word) && !memcmp(s, word, strlen(word));
}

static uint32_t get(const struct viewer *w, uint32_t map, const char *key)
{
	return wt_value_get(w->v, map, key);
}

static uint32_t intern(struct viewer *w, uint32_t id)
{
	size_t n;
	const char *s = wt_value_text(w->v, id, &n);

	return s ? wt_builder_string(w->b, s, n) : 0;
}

static int64_t integer(const struct viewer *w, uint32_t map, const char *key)
{
	int64_t i;

	return wt_value_int(w->v, get(w, map, key), &i) ? i : 0;
}

static uint64_t thread_key(int64_t pid, int64_t tid)
{
	return wt_mix64((uint64_t)tid ^ wt_mix64((uint64_t)pid + 1));
}

/* ---- who is who ---- */

static int name_device(struct viewer *w, int64_t pid, uint32_t name)
{
	size_t n;
	const char *s = wt_value_text(w->v, name, &n);
	size_t digits = n;
	int64_t ordinal = 0;
	uint16_t device;

	if (!starts(w->v, name, "/device:TPU:") && !starts(w->v, name, "/device:GPU:"))
		return 0;
	while (digits && s[digits - 1] >= '0' && s[digits - 1] <= '9')
		digits--;
	if (wt_decimal_i64(s + digits, n - digits, &ordinal) || ++w->ndevices > MAX_DEVICES)
		return 0;
	device = wt_builder_device(w->b, w->process, ordinal, NULL);
	wt_builder_device_at(w->b, device)->name =
		wt_builder_cstring(w->b, s[8] == 'T' ? "TPU" : "GPU");
	return wt_map_put(&w->devices, (uint64_t)pid, device + 1u);
}

static int read_names(struct viewer *w, uint32_t events)
{
	struct wt_value_iterator it = {.block = 0};
	uint32_t event;
	int err = 0;

	while (!err && (event = wt_value_next(w->v, events, &it))) {
		uint32_t kind = get(w, event, "name"), name = get(w, get(w, event, "args"), "name");
		int64_t pid = integer(w, event, "pid");

		if (!text_is(w->v, get(w, event, "ph"), "M"))
			continue;
		if (text_is(w->v, kind, "process_name"))
			err = name_device(w, pid, name);
		else if (text_is(w->v, kind, "thread_name"))
			err = wt_map_put(&w->threads, thread_key(pid, integer(w, event, "tid")),
					 text_is(w->v, name, "XLA Ops")	  ? SHOW_OPS
					 : text_is(w->v, name, "Steps")	  ? SHOW_STEPS
					 : starts(w->v, name, "Stream #") ? SHOW_STREAM
									  : SHOW_NOTHING);
	}
	return err;
}

/* ---- events ---- */

static int times(const struct viewer *w, uint32_t event, struct row *row)
{
	size_t n, m;
	const char *ts = wt_value_text(w->v, get(w, event, "ts"), &n),
		   *dur = wt_value_text(w->v, get(w, event, "dur"), &m);
	int64_t length;

	return ts && dur && !wt_decimal_us_to_ns(ts, n, &row->start_ns) &&
	       !wt_decimal_us_to_ns(dur, m, &length) && length >= 0 &&
	       !__builtin_add_overflow(row->start_ns, length, &row->end_ns);
}

static int keep(struct viewer *w, const struct row *row)
{
	if (w->nrows == w->room) {
		size_t room = w->room ? w->room * 2 : 1024;
		struct row *rows = realloc(w->rows, room * sizeof(*rows));

		if (!rows)
			return -WT_E_NOMEM;
		w->rows = rows;
		w->room = room;
	}
	w->rows[w->nrows++] = *row;
	return 0;
}

static int read_rows(struct viewer *w, uint32_t events)
{
	struct wt_value_iterator it = {.block = 0};
	uint32_t event, device, show;
	int err = 0;

	while (!err && (event = wt_value_next(w->v, events, &it))) {
		int64_t pid = integer(w, event, "pid");
		struct row row = {.event = event, .tid = integer(w, event, "tid")};

		if (wt_value_is_cut(w->v, event) || !text_is(w->v, get(w, event, "ph"), "X") ||
		    !wt_map_get(&w->devices, (uint64_t)pid, &device) ||
		    !wt_map_get(&w->threads, thread_key(pid, row.tid), &show) ||
		    show == SHOW_NOTHING)
			continue;
		row.device = device - 1;
		row.show = (uint8_t)show;
		if (times(w, event, &row))
			err = keep(w, &row);
		else
			w->bad++;
	}
	return err;
}

static int by_place(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* ---- what they are ---- */

static void set_kind(struct viewer *w, uint32_t category, struct wt_op *op)
{
	static const struct {
		const char *category;
		uint8_t kind, copy_kind, flags;
	} kinds[] = {
#define WT_XTPU(category_, kind_, copy_kind_, flags_) {category_, kind_, copy_kind_, flags_},
#include "import/xplane_tpu.def"
#undef WT_XTPU
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (text_is(w->v, category, kinds[i].category)) {
			op->kind = kinds[i].kind == KIND_TRANSFER ? WT_OP_COPY : kinds[i].kind;
			op->copy_kind =
				kinds[i].kind == KIND_TRANSFER ? WT_COPY_D2D : kinds[i].copy_kind;
			op->flags = kinds[i].flags;
		}
}

/* "f32[8,128]{1,0:T(8,128)}" -> "f32[8,128]" */
static void add_shape(struct viewer *w, uint32_t id, struct wt_strbuf *out)
{
	size_t n;
	const char *s = wt_value_text(w->v, id, &n);
	int depth = 0;

	for (size_t i = 0; s && i < n; i++) {
		depth += s[i] == '{';
		if (!depth)
			wt_strbuf_addc(out, s[i]);
		depth -= s[i] == '}' && depth;
	}
}

/* The stable name of an operation of XLA: category, shapes, path; fusion.42 is another one in the next program. */
static void describe(struct viewer *w, uint32_t event, struct wt_op *op)
{
	uint32_t args = get(w, event, "args"), category = get(w, args, "hlo_category");
	struct wt_instruction row = {.by_category = 1, .name = intern(w, get(w, event, "name"))};
	struct wt_strbuf shapes = {.n = 0}, name = {.n = 0};
	size_t n, npath;
	const char *s = wt_value_text(w->v, category, &n),
		   *path = wt_value_text(w->v, get(w, args, "tf_op"), &npath);
	int64_t v;

	op->name = row.name;
	if (!s)
		return;
	while (npath && path[npath - 1] == ':')
		npath--;
	set_kind(w, category, op);
	add_shape(w, get(w, args, "shape_with_layout"), &shapes);
	row.category = intern(w, category);
	row.path = path ? wt_builder_string(w->b, path, npath) : 0;
	row.shapes = wt_builder_string(w->b, wt_strbuf_text(&shapes), shapes.n);
	v = integer(w, args, "model_flops");
	row.flops = v > 0 ? (uint64_t)v : 0;
	v = integer(w, args, "bytes_accessed");
	row.bytes = v > 0 ? (uint64_t)v : 0;
	op->instruction = wt_builder_instruction(w->b, &row);
	if (op->kind == WT_OP_COPY)
		op->bytes = row.bytes;
	wt_strbuf_add(&name, s, n);
	wt_strbuf_addf(&name, " %s%s", wt_strbuf_text(&shapes), npath ? " " : "");
	wt_strbuf_add(&name, path ? path : "", npath);
	op->name = wt_builder_string(w->b, wt_strbuf_text(&name), name.n);
	wt_strbuf_release(&shapes);
	wt_strbuf_release(&name);
}

static void add_kernel(struct viewer *w, uint32_t event, struct wt_op *op)
{
	uint32_t name = get(w, event, "name");
	size_t n;
	const char *s = wt_value_text(w->v, name, &n);

	op->name = intern(w, name);
	if (!s)
		return;
	if (memmem(s, n, "emcpy", 5)) {
		op->kind = WT_OP_COPY;
		op->copy_kind = memmem(s, n, "H2D", 3)	 ? WT_COPY_H2D
				: memmem(s, n, "D2H", 3) ? WT_COPY_D2H
				: memmem(s, n, "D2D", 3) ? WT_COPY_D2D
							 : wt_kineto_copy_kind(s, n, &op->flags);
	} else if (memmem(s, n, "emset", 5)) {
		op->kind = WT_OP_MEMSET;
	}
}

/* Control flow is drawn around what it runs. */
static int contains_next(const struct viewer *w, size_t i)
{
	const struct row *a = &w->rows[i], *b = a + 1;

	return i + 1 < w->nrows && b->device == a->device && b->tid == a->tid &&
	       b->start_ns < a->end_ns && b->end_ns <= a->end_ns;
}

static void add_step(struct viewer *w, const struct row *r)
{
	struct wt_range range = {.start_ns = r->start_ns,
				 .end_ns = r->end_ns,
				 .name = intern(w, get(w, r->event, "name")),
				 .process = w->process,
				 .kind = WT_RANGE_STEP,
				 .on_device = 1};

	range.thread = wt_builder_thread(w->b, w->process, r->tid);
	if (wt_value_int(w->v, get(w, r->event, "name"), &range.step))
		wt_builder_range(w->b, &range);
}

static void deliver(struct viewer *w, size_t i)
{
	const struct row *r = &w->rows[i];
	struct wt_op op = {.start_ns = r->start_ns,
			   .end_ns = r->end_ns,
			   .call = -1,
			   .collective = -1,
			   .device = (uint16_t)r->device,
			   .process = w->process,
			   .kind = WT_OP_KERNEL};

	if (r->show == SHOW_STEPS) {
		add_step(w, r);
		return;
	}
	op.stream = wt_builder_stream(w->b, w->process, op.device, r->tid);
	if (r->show == SHOW_OPS)
		describe(w, r->event, &op);
	else
		add_kernel(w, r->event, &op);
	if (op.kind == KIND_CONTROL) {
		/* What it contained may be what was cut off. */
		if (contains_next(w, i) || w->is_cut)
			return;
		op.kind = WT_OP_KERNEL;
	}
	wt_builder_op(w->b, &op);
}

static int read_viewer(struct wt_source *src, struct wt_builder *b, uint32_t input,
		       struct wt_diag *diag)
{
	struct viewer w = {.b = b};
	struct wt_values *v = NULL;
	uint32_t events;
	/* The names of devices and threads stand before all events: of a cut file, what is there can be told. */
	int damage = wt_values_read_json(&v, src, diag), err;

	if (!v)
		return damage == -WT_E_NOMEM ? damage : -WT_E_FORMAT;
	w.v = v;
	w.is_cut = damage != 0;
	events = get(&w, wt_values_root(v), "traceEvents");
	w.process = wt_builder_process(b, input, /* pid= */ -1);
	err = read_names(&w, events);
	err = err ? err : read_rows(&w, events);
	if (w.nrows)
		qsort(w.rows, w.nrows, sizeof(*w.rows), by_place);
	for (size_t i = 0; i < w.nrows && !err; i++)
		deliver(&w, i);
	wt_builder_note(b,
			"%s: the trace viewer's export leaves events out where there are many: the "
			".xplane.pb it was made from says "
			"more",
			wt_source_path(src));
	if (w.bad)
		wt_builder_note(b, "%s: %llu device events without usable times are left out",
				wt_source_path(src), (unsigned long long)w.bad);
	wt_map_release(&w.devices);
	wt_map_release(&w.threads);
	free(w.rows);
	wt_values_free(v);
	if (err)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	return damage && !w.nrows ? -WT_E_FORMAT : damage;
}

static int probe_viewer(const uint8_t *head, size_t n)
{
	static const char *const marks[] = {"\"/device:TPU:", "\"/device:GPU:"};

	if (!memmem(head, n, "\"traceEvents\"", 13))
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (memmem(head, n, marks[i], strlen(marks[i])))
			return 1;
	return 0;
}

const struct wt_importer wt_importer_viewer = {
	.name = "xprof-viewer",
	.human = "XProf trace-viewer JSON (.trace.json.gz)",
	.probe = probe_viewer,
	.read = read_viewer,
};
