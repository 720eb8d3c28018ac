/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /device:TPU:N, one TensorCore: "XLA Modules" are executions of programs, started by the host one by one; "XLA Ops"
 * the operations in them, one after the other, loops around their bodies; "Async XLA Ops" transfers that run beside
 * them. To the ledger a module is what a graph launch is, and its operations are the nodes.
 *
 * Operations of control flow (while, call, conditional) that contain others are not counted, their contents are; the
 * time in a loop that none of its operations covers stays a gap between nodes. The core's waits for other cores
 * (barrier-cores, on "XLA TraceMe") are operations that spin: time of a late peer, and without them the core would
 * seem idle. An operation is called by what stays the same from one compilation to the next: category, shape, path.
 */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "import/import_xplane.h"

enum { META_NEW, META_OP };
enum { KIND_CONTROL = 64, KIND_TRANSFER = 65 }; /* beside enum wt_op_kind */

struct module {
	int64_t start_ps, end_ps;
	uint64_t flow;
	uint32_t name;
};
struct row { /* of XLA Ops */
	int64_t start_ps, end_ps;
	int32_t meta;
};
struct tpu {
	struct wt_xp *xp;
	struct wt_xplane *x;
	uint16_t device;
	struct module *modules; /* in order of start */
	size_t nmodules, modules_room;
	struct row *rows;
	size_t nrows, rows_room;
};

static void *add(struct tpu *t, void *rows, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return rows;
	grown = realloc(rows, more * size);
	if (!grown) {
		t->xp->error = -WT_E_NOMEM;
		return rows;
	}
	*room = more;
	return grown;
}

/* ---- what an operation is ---- */

/* The n-th part of a tuple's text "(a{1,0}, b, (c, d))"; n counts from 0. "" if there is none. */
static struct wt_xtext tuple_part(struct wt_xtext t, int n)
{
	size_t from = 1;
	int depth = 0;

	if (!t.n || t.s[0] != '(')
		return (struct wt_xtext){"", 0};
	for (size_t i = 0; i < t.n; i++) {
		char c = t.s[i];

		if (c == ')' || c == '}' || c == ']')
			depth--;
		if ((c == ',' && depth == 1) || (c == ')' && !depth)) {
			if (!n--)
				return (struct wt_xtext){t.s + from, i - from};
			from = i + 1;
		}
		if (c == '(' || c == '{' || c == '[')
			depth++;
		if (!depth)
			break;
	}
	return (struct wt_xtext){"", 0};
}

static struct wt_xtext behind(struct wt_xtext t, const char *what)
{
	const char *at = memmem(t.s, t.n, what, strlen(what));

	return at ? (struct wt_xtext){at + strlen(what), t.n - (size_t)(at - t.s) - strlen(what)}
		  : (struct wt_xtext){"", 0};
}

/* Memory space 5 in a layout is the host's memory. */
static int on_host(struct wt_xtext shape)
{
	return memmem(shape.s, shape.n, "S(5)", 4) != NULL;
}

/* Of "%copy-start = (to, from, context) copy-start(...)" and "%copy-done = to copy-done((to, from, context) %x)". */
static uint8_t transfer_kind(struct wt_xtext text)
{
	struct wt_xtext tuple = behind(text, "copy-done("), to, from;

	if (!tuple.n)
		tuple = behind(text, " = ");
	to = tuple_part(tuple, 0);
	from = tuple_part(tuple, 1);
	if (!to.n || !from.n)
		return WT_COPY_OTHER;
	return on_host(to)     ? on_host(from) ? WT_COPY_H2H : WT_COPY_D2H
	       : on_host(from) ? WT_COPY_H2D
			       : WT_COPY_D2D;
}

/* A shape without its layouts: "f32[8,128]{1,0:T(8,128)}" -> "f32[8,128]". */
static void add_shape(struct wt_strbuf *out, struct wt_xtext t)
{
	int depth = 0;

	for (size_t i = 0; i < t.n; i++) {
		depth += t.s[i] == '{';
		if (!depth)
			wt_strbuf_addc(out, t.s[i]);
		depth -= t.s[i] == '}' && depth;
	}
}

static void set_kind(struct wt_xmeta *m, struct wt_xtext category, struct wt_xtext text)
{
	static const struct {
		const char *category;
		uint8_t kind, copy_kind, flags;
	} kinds[] = {
#define WT_XTPU(category_, kind_, copy_kind_, flags_) {category_, kind_, copy_kind_, flags_},
#include "import/xplane_tpu.def"
#undef WT_XTPU
	};

	m->kind = WT_OP_KERNEL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!wt_xtext_is(category, kinds[i].category))
			continue;
		m->kind = kinds[i].kind;
		m->copy_kind = kinds[i].copy_kind;
		m->flags = kinds[i].flags;
		if (m->kind == KIND_TRANSFER) {
			m->kind = WT_OP_COPY;
			m->copy_kind = transfer_kind(text);
		}
		return;
	}
}

/* Without ":" and what follows it, the operation's type of TensorFlow. */
static struct wt_xtext path_of(struct wt_xtext t)
{
	while (t.n && t.s[t.n - 1] != ':')
		t.n--;
	t.n -= t.n > 0;
	return t;
}

static void describe(struct tpu *t, struct wt_xmeta *m, uint32_t program)
{
	struct wt_xp *xp = t->xp;
	struct wt_xstats *s = xp->meta_stats;
	struct wt_xtext text, display, category, path;
	struct wt_instruction row = {.by_category = 1, .program = program};
	struct wt_strbuf name = {.n = 0}, shapes = {.n = 0};

	wt_xmeta_read(t->x, m, &text, &display, s);
	m->state = META_OP;
	category = wt_xstats_text(s, WT_XSTAT_CATEGORY);
	path = path_of(wt_xstats_text(s, WT_XSTAT_TF_OP));
	set_kind(m, category, text);
	if (!category.n) { /* not one of XLA's: a wait, a marker */
		m->name = wt_xp_string(xp, text);
		return;
	}
	add_shape(&shapes, wt_xstats_text(s, WT_XSTAT_SHAPE));
	row.path = wt_xp_string(xp, path);
	row.category = wt_xp_string(xp, category);
	row.shapes = wt_builder_string(xp->b, wt_strbuf_text(&shapes), shapes.n);
	row.name = wt_xp_string(xp, display.n ? display : text);
	row.flops = wt_xstats_integer(s, WT_XSTAT_FLOPS);
	row.bytes = wt_xstats_integer(s, WT_XSTAT_BYTES);
	m->instruction = wt_builder_instruction(xp->b, &row);
	wt_strbuf_add(&name, category.s, category.n);
	wt_strbuf_addf(&name, " %s ", wt_strbuf_text(&shapes));
	wt_strbuf_add(&name, path.s, path.n);
	m->name = wt_builder_string(xp->b, wt_strbuf_text(&name),
				    name.n - (name.n && name.s[name.n - 1] == ' '));
	xp->error = name.failed || shapes.failed ? -WT_E_NOMEM : xp->error;
	wt_strbuf_release(&name);
	wt_strbuf_release(&shapes);
}

/* ---- lines ---- */

static int by_start(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	return a->end_ps > b->end_ps ? -1 : a->end_ps < b->end_ps;
}

static int module_by_start(const void *pa, const void *pb)
{
	const struct module *a = pa, *b = pb;

	return a->start_ps < b->start_ps ? -1 : a->start_ps > b->start_ps;
}

static void read_modules(struct tpu *t, const struct wt_xline *line)
{
	struct wt_wire w = wt_wire_of(line->body, line->n);
	struct wt_xevent e;

	while (!t->xp->error && wt_xline_next(t->x, line, &w, &e, t->xp->stats)) {
		struct wt_xtext name = {"", 0};
		struct module *m;

		if (e.bad_time || e.aggregated)
			continue;
		if (e.meta >= 0)
			wt_xmeta_read(t->x, &t->x->metas[e.meta], &name, NULL, NULL);
		for (size_t i = 0; i < name.n; i++)
			name.n =
				name.s[i] == '('
					? i
					: name.n; /* "jit_step(123)": the number is the program's id */
		t->modules = add(t, t->modules, t->nmodules, &t->modules_room, sizeof(*t->modules));
		if (t->xp->error)
			return;
		m = &t->modules[t->nmodules++];
		*m = (struct module){.start_ps = e.start_ps,
				     .end_ps = e.end_ps,
				     .name = wt_xp_string(t->xp, name)};
		m->flow = wt_xp_flow(t->xp->stats, WT_XSTAT_CONSUMER_TYPE, WT_XSTAT_CONSUMER);
		/* Nothing on the host started it, or the file does not say: still one execution, apart from others. */
		if (!m->flow)
			m->flow = wt_mix64((uint64_t)e.start_ps ^ wt_mix64(t->device + 1u)) | 1;
	}
}

static void read_rows(struct tpu *t, const struct wt_xline *line)
{
	struct wt_wire w = wt_wire_of(line->body, line->n);
	struct wt_xevent e;

	t->nrows = 0;
	while (!t->xp->error && wt_xline_next(t->x, line, &w, &e, t->xp->stats)) {
		if (e.aggregated || e.bad_time) {
			t->xp->aggregated += e.aggregated;
			t->xp->untimed += e.bad_time && !e.aggregated;
			continue;
		}
		t->rows = add(t, t->rows, t->nrows, &t->rows_room, sizeof(*t->rows));
		if (!t->xp->error)
			t->rows[t->nrows++] = (struct row){e.start_ps, e.end_ps, e.meta};
	}
	if (t->nrows)
		qsort(t->rows, t->nrows, sizeof(*t->rows), by_start);
}

/* The module that was running at an instant; `at` moves on through them. */
static const struct module *module_at(const struct tpu *t, size_t *at, int64_t ps)
{
	while (*at < t->nmodules && t->modules[*at].end_ps <= ps)
		++*at;
	return *at < t->nmodules && t->modules[*at].start_ps <= ps ? &t->modules[*at] : NULL;
}

/* Whether row i contains the next one: then it is control flow around it. */
static int contains_next(const struct tpu *t, size_t i)
{
	const struct row *a = &t->rows[i], *b = a + 1;

	return i + 1 < t->nrows && b->start_ps < a->end_ps && b->end_ps <= a->end_ps;
}

static void emit(struct tpu *t, size_t i, const struct module *module, uint32_t stream)
{
	const struct row *r = &t->rows[i];
	struct wt_xmeta *m = r->meta >= 0 ? &t->x->metas[r->meta] : NULL;
	const struct wt_xevent e = {.start_ps = r->start_ps, .end_ps = r->end_ps};
	struct wt_op op = {.stream = stream,
			   .call = -1,
			   .collective = -1,
			   .device = t->device,
			   .process = t->xp->process,
			   .kind = WT_OP_KERNEL,
			   .flags = module ? WT_OP_GRAPH_NODE : 0};

	if (m && m->state == META_NEW)
		describe(t, m, module ? module->name : 0);
	if (m ? m->kind == KIND_CONTROL && contains_next(t, i) : contains_next(t, i))
		return;
	if (!m)
		t->xp->nameless++;
	else {
		op.name = m->name;
		op.instruction = m->instruction;
		op.kind = m->kind == KIND_CONTROL ? WT_OP_KERNEL : m->kind;
		op.copy_kind = m->copy_kind;
		op.flags |= m->flags;
		if (op.kind == WT_OP_COPY)
			op.bytes = wt_builder_instruction_at(t->xp->b, m->instruction)->bytes;
	}
	op.correlation = module ? module->flow : 0;
	wt_xp_times(t->xp, &e, &op.start_ns, &op.end_ns);
	wt_builder_op(t->xp->b, &op);
}

static void op_line(struct tpu *t, const struct wt_xline *line)
{
	uint32_t stream = wt_builder_stream(t->xp->b, t->xp->process, t->device, line->id);
	size_t at = 0;

	read_rows(t, line);
	for (size_t i = 0; i < t->nrows && !t->xp->error; i++)
		emit(t, i, module_at(t, &at, t->rows[i].start_ps), stream);
}

/* Of the core's own marks only the waits for its peers. */
static void wait_line(struct tpu *t, const struct wt_xline *line)
{
	uint32_t stream = wt_builder_stream(t->xp->b, t->xp->process, t->device, line->id);
	size_t at = 0;

	read_rows(t, line);
	for (size_t i = 0; i < t->nrows && !t->xp->error; i++) {
		struct wt_xtext name = {"", 0};

		if (t->rows[i].meta < 0)
			continue;
		wt_xmeta_read(t->x, &t->x->metas[t->rows[i].meta], &name, NULL, NULL);
		if (wt_xtext_is(name, "barrier-cores"))
			emit(t, i, module_at(t, &at, t->rows[i].start_ps), stream);
	}
}

static uint64_t scaled(double x, double by)
{
	return x > 0 && x * by < 9e18 ? (uint64_t)(x * by) : 0;
}

static const struct wt_xline *line_of(const struct wt_xplane *x, const char *name)
{
	for (size_t i = 0; i < x->nlines; i++)
		if (wt_xtext_is(x->lines[i].name, name))
			return &x->lines[i];
	return NULL;
}

void wt_xp_tpu(struct wt_xp *xp, struct wt_xplane *x, int64_t ordinal)
{
	struct tpu t = {
		.xp = xp, .x = x, .device = wt_builder_device(xp->b, xp->process, ordinal, NULL)};
	struct wt_device *d = wt_builder_device_at(xp->b, t.device);
	const struct wt_xline *line;

	d->name = wt_xp_string(xp, wt_xstats_text(&x->stats, WT_XSTAT_DEVICE_TYPE));
	d->peak_flops = scaled(wt_xstats_double(&x->stats, WT_XSTAT_PEAK_TFLOPS), 1e12);
	d->peak_bytes_per_s = scaled(wt_xstats_double(&x->stats, WT_XSTAT_PEAK_HBM), 1e9);
	line = line_of(x, "XLA Modules");
	if (line)
		read_modules(&t, line);
	if (t.nmodules)
		qsort(t.modules, t.nmodules, sizeof(*t.modules), module_by_start);
	line = line_of(x, "XLA Ops");
	if (line)
		op_line(&t, line);
	line = line_of(x, "Async XLA Ops");
	if (line)
		op_line(&t, line);
	line = line_of(x, "XLA TraceMe");
	if (line)
		wait_line(&t, line);
	line = line_of(x, "Steps");
	if (line)
		wt_xp_step_line(xp, x, line);
	free(t.modules);
	free(t.rows);
}
