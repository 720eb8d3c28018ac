/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /device:GPU:N: records of CUPTI (NVIDIA) or ROCm (AMD) on lines named "Stream #7(Compute,MemcpyD2D)". XLA Modules,
 * XLA Ops, Framework Ops and the like are made from them afterwards and would count everything twice.
 *
 * A kernel that XLA launched names its instruction (hlo_op, program_id). Inside a command buffer (a CUDA graph) all
 * kernels name the buffer; there the kernel's own name is that of its instruction, dots as underscores.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_xplane.h"

#define REGS_MOST 1024u /* of a thread; ROCm's field holds arbitrary bytes in some versions */

enum { META_NEW, META_OP, META_NONE };

/* ---- names and numbers inside texts ---- */

/* The value of "key:value" in "regs:32 grid:1,2,3 ..."; "" if it is not there. */
static struct wt_xtext detail(struct wt_xtext t, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i + n < t.n; i++) {
		size_t end;

		if ((i && t.s[i - 1] != ' ') || memcmp(t.s + i, key, n) || t.s[i + n] != ':')
			continue;
		for (end = i + n + 1; end < t.n && t.s[end] != ' ' && t.s[end] != '\n'; end++)
			;
		return (struct wt_xtext){t.s + i + n + 1, end - i - n - 1};
	}
	return (struct wt_xtext){"", 0};
}

/* Up to `most` numbers with commas between them; how many. */
static int numbers(struct wt_xtext t, uint64_t *ret, int most)
{
	int n = 0, digits = 0;

	for (size_t i = 0; i < t.n && n < most; i++) {
		if (t.s[i] >= '0' && t.s[i] <= '9') {
			ret[n] = (digits ? ret[n] : 0) * 10 + (uint64_t)(t.s[i] - '0');
			if (++digits > 18)
				return 0;
		} else if (t.s[i] == ',' && digits) {
			n++;
			digits = 0;
		} else
			return 0;
	}
	return n + (digits != 0);
}

static uint64_t number(struct wt_xtext details, const char *key)
{
	uint64_t value = 0;

	return numbers(detail(details, key), &value, 1) == 1 ? value : 0;
}

static void dims(struct wt_xtext details, const char *key, uint32_t ret[3])
{
	uint64_t v[3];

	if (numbers(detail(details, key), v, 3) == 3)
		for (int i = 0; i < 3; i++)
			ret[i] = v[i] <= UINT32_MAX ? (uint32_t)v[i] : 0;
}

static uint32_t shape_of(struct wt_xp *xp, struct wt_xtext details)
{
	uint64_t regs = number(details, "regs"), fixed = number(details, "static_shared"),
		 dynamic = number(details, "dynamic_shared");
	struct wt_shape shape = {.regs = 0};

	dims(details, "grid", shape.grid);
	dims(details, "block", shape.block);
	if (regs <= REGS_MOST) { /* else these three are not what they say */
		shape.regs = (uint32_t)regs;
		shape.static_smem = fixed <= UINT32_MAX ? (uint32_t)fixed : 0;
		shape.dyn_smem = dynamic <= UINT32_MAX ? (uint32_t)dynamic : 0;
	}
	return shape.grid[0] || shape.block[0] ? wt_builder_shape(xp->b, &shape) : 0;
}

static uint8_t copy_kind(struct wt_xtext name)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = {
		{"MemcpyH2D", WT_COPY_H2D},	   {"MemcpyD2H", WT_COPY_D2H},
		{"MemcpyD2D", WT_COPY_D2D},	   {"MemcpyP2P", WT_COPY_P2P},
		{"MemcpyH2H", WT_COPY_H2H},	   {"CopyHostToDevice", WT_COPY_H2D},
		{"CopyDeviceToHost", WT_COPY_D2H}, {"CopyDeviceToDevice", WT_COPY_D2D},
		{"CopyPeerToPeer", WT_COPY_P2P},   {"CopyHostToHost", WT_COPY_H2H},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (wt_xtext_is(name, kinds[i].name))
			return kinds[i].kind;
	return WT_COPY_OTHER;
}

/* ---- instructions ---- */

static uint32_t instruction_of(struct wt_xp *xp, const struct wt_xstats *s, struct wt_xtext kernel,
			       uint32_t kernel_id)
{
	struct wt_xtext hlo = wt_xstats_text(s, WT_XSTAT_HLO_OP),
			path = wt_xstats_text(s, WT_XSTAT_OP_NAME),
			where = wt_xstats_text(s, WT_XSTAT_ANNOTATION);
	struct wt_xpending *p;
	int isnew, in_buffer = wt_xtext_starts(hlo, "command_buffer");
	uint64_t program = wt_xstats_integer(s, WT_XSTAT_PROGRAM_ID);
	uint32_t hlo_id = wt_xp_string(xp, hlo), where_id = hlo.n ? 0 : wt_xp_string(xp, where);
	int64_t i;

	if (!hlo_id && !where_id)
		return 0;
	i = wt_keyset_add(&xp->instruction_keys,
			  (uint64_t[]){program, (uint64_t)(hlo_id ? hlo_id : where_id) << 32 |
							(in_buffer || !hlo_id ? kernel_id : 0)},
			  &isnew);
	if (i >= 0 && isnew && xp->npending == xp->pending_room) {
		size_t room = xp->pending_room ? xp->pending_room * 2 : 64;

		p = realloc(xp->pending, room * sizeof(*p));
		xp->pending = p ? p : xp->pending;
		xp->pending_room = p ? room : xp->pending_room;
		i = p ? i : -1;
	}
	if (i < 0) {
		xp->error = -WT_E_NOMEM;
		return 0;
	}
	p = &xp->pending[i];
	if (isnew) {
		const size_t suffix =
			kernel.n > 3 && !memcmp(kernel.s + kernel.n - 3, ".kd", 3) ? 3 : 0;
		size_t n = 0;
		struct wt_instruction row = {
			.name = hlo_id,
			.program = wt_xp_string(xp, wt_xstats_text(s, WT_XSTAT_HLO_MODULE)),
			.shapes = wt_xp_string(xp, wt_xstats_text(s, WT_XSTAT_TENSOR_SHAPES)),
		};

		/* TensorFlow's annotation is "path:Operation"; XLA's stat `name` is a path, or a parameter's name. */
		while (n < where.n && where.s[n] != ':')
			n++;
		if (where_id)
			row.path = wt_builder_string(xp->b, where.s, n);
		else if (path.n && memchr(path.s, '/', path.n))
			row.path = wt_xp_string(xp, path);
		xp->npending++;
		*p = (struct wt_xpending){
			.program_id = program,
			.instruction = wt_builder_instruction(xp->b, &row),
			.hlo_name = hlo.n ? wt_xp_symbol(xp, hlo) : 0,
			.kernel = wt_xp_symbol(xp, (struct wt_xtext){kernel.s, kernel.n - suffix}),
			.command_buffer = (uint32_t)in_buffer};
	}
	p->executions++;
	return p->instruction;
}

void wt_xp_resolve(struct wt_xp *xp)
{
	uint64_t in_buffers = 0, lost = 0;

	for (size_t i = 0; i < xp->npending && !xp->error; i++) {
		const struct wt_xpending *p = &xp->pending[i];
		struct wt_instruction *row = wt_builder_instruction_at(xp->b, p->instruction);
		const struct wt_xhlo_row *hlo;

		if (!p->hlo_name)
			continue;
		hlo = wt_xhlo_find(&xp->hlo, p->program_id,
				   p->command_buffer ? p->kernel : p->hlo_name);
		if (!hlo) {
			xp->error = xp->hlo.error;
			return;
		}
		if (p->command_buffer) {
			in_buffers += p->executions;
			lost += hlo->opcode ? 0 : p->executions;
			if (hlo->opcode)
				row->name = p->kernel;
		}
		row->path = hlo->path ? hlo->path : row->path;
		row->category = hlo->opcode;
		row->shapes = hlo->shapes ? hlo->shapes : row->shapes;
	}
	if (lost)
		wt_builder_note(
			xp->b,
			"of %" PRIu64 " kernels in command buffers %" PRIu64
			" cannot be told which XLA operation they "
			"are: the file has no program with an instruction of the kernel's name",
			in_buffers, lost);
}

/* ---- operations ---- */

/* What events of this kind are, looked at once. */
static void classify(struct wt_xp *xp, struct wt_xplane *x, struct wt_xmeta *m,
		     const struct wt_xstats *s)
{
	const uint64_t memory = WT_XSTAT_BIT(MEMALLOC_DETAILS) | WT_XSTAT_BIT(MEMFREE_DETAILS) |
				WT_XSTAT_BIT(RESIDENCY_DETAILS);
	struct wt_xtext name;

	wt_xmeta_read(x, m, &name, NULL, NULL);
	m->name = wt_xp_string(xp, name);
	m->state = s->seen & memory ? META_NONE : META_OP;
	m->kind = WT_OP_KERNEL;
	if (s->seen & WT_XSTAT_BIT(MEMCPY_DETAILS) || wt_xtext_starts(name, "Memcpy")) {
		m->kind = WT_OP_COPY;
		m->copy_kind = copy_kind(name);
	} else if (s->seen & (WT_XSTAT_BIT(MEMSET_DETAILS) | WT_XSTAT_BIT(MEMSET_DETAILS_LOWER)) ||
		   wt_xtext_is(name, "Memset") || wt_xtext_is(name, "FillBuffer"))
		m->kind = WT_OP_MEMSET;
}

static void add_op(struct wt_xp *xp, struct wt_xplane *x, const struct wt_xevent *e,
		   struct wt_op *op)
{
	const uint64_t graph =
		WT_XSTAT_BIT(GRAPH_ID) | WT_XSTAT_BIT(GRAPH_EXEC_ID) | WT_XSTAT_BIT(GRAPH_NODE_ID);
	const struct wt_xstats *s = xp->stats;
	struct wt_xmeta *m = e->meta >= 0 ? &x->metas[e->meta] : NULL;
	struct wt_xtext name = {"", 0};

	if (m && m->state == META_NEW)
		classify(xp, x, m, s);
	if (m && m->state == META_NONE)
		return;
	if (m) {
		op->name = m->name;
		op->kind = m->kind;
		op->copy_kind = m->copy_kind;
	} else
		xp->nameless++;
	op->correlation = wt_xstats_integer(s, WT_XSTAT_CORRELATION);
	if (op->kind == WT_OP_KERNEL) {
		op->shape = shape_of(xp, wt_xstats_text(s, WT_XSTAT_KERNEL_DETAILS));
		if (m && s->seen & (WT_XSTAT_BIT(HLO_OP) | WT_XSTAT_BIT(ANNOTATION))) {
			wt_xmeta_read(x, m, &name, NULL, NULL);
			op->instruction = instruction_of(xp, s, name, op->name);
		}
	} else if (op->kind == WT_OP_COPY) {
		struct wt_xtext details = wt_xstats_text(s, WT_XSTAT_MEMCPY_DETAILS);

		op->bytes = number(details, "size");
		if (wt_xtext_is(detail(details, "kind_src"), "pageable") ||
		    wt_xtext_is(detail(details, "kind_dst"), "pageable"))
			op->flags |= WT_OP_PAGEABLE;
	} else {
		struct wt_xtext details = wt_xstats_text(s, WT_XSTAT_MEMSET_DETAILS);

		details = details.n ? details : wt_xstats_text(s, WT_XSTAT_MEMSET_DETAILS_LOWER);
		op->bytes = number(details, "size");
	}
	if (s->seen & graph ||
	    wt_xtext_starts(wt_xstats_text(s, WT_XSTAT_HLO_OP), "command_buffer"))
		op->flags |= WT_OP_GRAPH_NODE;
	wt_builder_op(xp->b, op);
}

/* Lines that are no streams; in files after post-processing they have ids from 0xdeadbeef on. */
static int is_stream(const struct wt_xline *line)
{
	return wt_xtext_starts(line->name, "Stream #");
}

static void stream_line(struct wt_xp *xp, struct wt_xplane *x, const struct wt_xline *line,
			uint16_t device)
{
	struct wt_wire w = wt_wire_of(line->body, line->n);
	struct wt_xtext of_name = {line->name.s + 8, line->name.n - 8};
	struct wt_xevent e;
	int64_t id = 0;
	uint32_t stream;
	size_t digits = 0;

	while (digits < of_name.n && digits < 18 && of_name.s[digits] >= '0' &&
	       of_name.s[digits] <= '9')
		id = id * 10 + (of_name.s[digits++] - '0');
	stream = wt_builder_stream(xp->b, xp->process, device, digits ? id : line->id);
	while (!xp->error && wt_xline_next(x, line, &w, &e, xp->stats)) {
		struct wt_op op = {.stream = stream,
				   .call = -1,
				   .collective = -1,
				   .device = device,
				   .process = xp->process,
				   .kind = WT_OP_KERNEL};

		if (e.aggregated)
			xp->aggregated++;
		else if (wt_xp_times(xp, &e, &op.start_ns, &op.end_ns))
			add_op(xp, x, &e, &op);
	}
}

static void properties(struct wt_xp *xp, const struct wt_xplane *x, uint16_t device)
{
	struct wt_device *d = wt_builder_device_at(xp->b, device);
	uint64_t major = wt_xstats_integer(&x->stats, WT_XSTAT_CC_MAJOR),
		 minor = wt_xstats_integer(&x->stats, WT_XSTAT_CC_MINOR);
	struct wt_xtext name = wt_xstats_text(&x->stats, WT_XSTAT_DEVICE_NAME);
	uint64_t cores = wt_xstats_integer(&x->stats, WT_XSTAT_CORE_COUNT);

	name = name.n ? name : wt_xstats_text(&x->stats, WT_XSTAT_DEVICE_TYPE);
	d->name = wt_xp_string(xp, name);
	d->sm_count = cores <= UINT16_MAX ? (uint32_t)cores : 0;
	d->cc = major < 1000 && minor < 10 ? (uint32_t)(major * 10 + minor) : 0;
	d->memory_bytes = wt_xstats_integer(&x->stats, WT_XSTAT_MEMORY_SIZE);
	/* XLA takes it from clock and bus width; of AMD's HBM that is half of what it is (MI300X: 2.66 of 5.3 TB/s). */
	if (!wt_xtext_is(wt_xstats_text(&x->stats, WT_XSTAT_VENDOR), "AMD"))
		d->peak_bytes_per_s = wt_xstats_integer(&x->stats, WT_XSTAT_MEMORY_BANDWIDTH);
}

void wt_xp_gpu(struct wt_xp *xp, struct wt_xplane *x, int64_t ordinal)
{
	uint16_t device = wt_builder_device(xp->b, xp->process, ordinal, NULL);

	properties(xp, x, device);
	for (size_t i = 0; i < x->nlines && !xp->error; i++) {
		if (is_stream(&x->lines[i]))
			stream_line(xp, x, &x->lines[i], device);
		else if (wt_xtext_is(x->lines[i].name, "Steps"))
			wt_xp_step_line(xp, x, &x->lines[i]);
	}
}
