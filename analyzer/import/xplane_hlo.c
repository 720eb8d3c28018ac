/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as the compiler wrote them (HloProto, in the plane /host:metadata): of each instruction the path in the
 * model, the opcode and the shape. Field numbers are those of XLA's public hlo.proto and xla_data.proto.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "import/import_xplane.h"

enum { HLO_MODULE = 1 };
enum { MODULE_COMPUTATION = 3 };
enum { COMPUTATION_INSTRUCTION = 2 };
enum {
	INSTRUCTION_NAME = 1,
	INSTRUCTION_OPCODE = 2,
	INSTRUCTION_SHAPE = 3,
	INSTRUCTION_METADATA = 7
};
enum { METADATA_OP_NAME = 2 };
enum { SHAPE_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_TUPLE = 4 };
#define SHAPE_DEPTH 4
#define SHAPE_MOST  256u

void wt_xhlo_init(struct wt_xhlo *h, struct wt_builder *b)
{
	memset(h, 0, sizeof(*h));
	h->b = b;
	h->keys.words = 2;
}

void wt_xhlo_release(struct wt_xhlo *h)
{
	wt_keyset_release(&h->keys);
	free(h->rows);
}

/* As HLO text spells PrimitiveType. */
static const char *type_name(uint64_t type)
{
	static const char *const names[] = {
		[1] = "pred",	     [2] = "s8",
		[3] = "s16",	     [4] = "s32",
		[5] = "s64",	     [6] = "u8",
		[7] = "u16",	     [8] = "u32",
		[9] = "u64",	     [10] = "f16",
		[11] = "f32",	     [12] = "f64",
		[14] = "opaque",     [15] = "c64",
		[16] = "bf16",	     [17] = "token",
		[18] = "c128",	     [19] = "f8e5m2",
		[20] = "f8e4m3fn",   [21] = "s4",
		[22] = "u4",	     [23] = "f8e4m3b11fnuz",
		[24] = "f8e5m2fnuz", [25] = "f8e4m3fnuz",
	};

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "?";
}

static void dimensions(struct wt_strbuf *out, const struct wt_wire_field *f, int *count)
{
	struct wt_wire w = wt_wire_of(f->bytes, f->n);
	uint64_t value = f->value;

	if (f->type == WT_WIRE_VARINT)
		wt_strbuf_addf(out, "%s%llu", (*count)++ ? "," : "", (unsigned long long)value);
	while (f->type == WT_WIRE_BYTES && w.p != w.end && out->n < SHAPE_MOST &&
	       !wt_wire_varint(&w, &value))
		wt_strbuf_addf(out, "%s%llu", (*count)++ ? "," : "", (unsigned long long)value);
}

static void shape(struct wt_strbuf *out, const struct wt_wire_field *from, int depth)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_wire_field f;
	int count = 0, parts = 0;

	while (wt_wire_next(&w, &f) > 0 && out->n < SHAPE_MOST) {
		if (f.number == SHAPE_TYPE && f.type == WT_WIRE_VARINT && f.value != 13)
			wt_strbuf_addf(out, "%s[", type_name(f.value));
		else if (f.number == SHAPE_DIMENSIONS)
			dimensions(out, &f, &count);
		else if (f.number == SHAPE_TUPLE && f.type == WT_WIRE_BYTES &&
			 depth < SHAPE_DEPTH) {
			wt_strbuf_adds(out, parts++ ? ", " : "(");
			shape(out, &f, depth + 1);
		}
	}
	wt_strbuf_adds(out, parts ? ")" : "]");
}

static uint32_t op_name(struct wt_xhlo *h, const struct wt_wire_field *from)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_wire_field f;

	while (wt_wire_next(&w, &f) > 0)
		if (f.number == METADATA_OP_NAME && f.type == WT_WIRE_BYTES)
			return wt_builder_string(h->b, (const char *)f.bytes, f.n);
	return 0;
}

static uint32_t symbol(struct wt_xhlo *h, const struct wt_wire_field *f)
{
	struct wt_xp xp = {.b = h->b};

	return wt_xp_symbol(&xp, (struct wt_xtext){(const char *)f->bytes, f->n});
}

/* The row of an instruction, made empty if it is not there; NULL when memory runs out. A program has a name once. */
static struct wt_xhlo_row *row_of(struct wt_xhlo *h, uint64_t program_id, uint32_t name)
{
	int isnew;
	int64_t i = wt_keyset_add(&h->keys, (uint64_t[]){program_id, name}, &isnew);

	if (i >= 0 && !isnew)
		return &h->rows[i];
	if (i >= 0 && h->nrows == h->room) {
		size_t room = h->room ? h->room * 2 : 256;
		struct wt_xhlo_row *rows = realloc(h->rows, room * sizeof(*rows));

		if (!rows)
			i = -1;
		else {
			h->rows = rows;
			h->room = room;
		}
	}
	if (i < 0) {
		h->error = -WT_E_NOMEM;
		return NULL;
	}
	h->rows[h->nrows] = (struct wt_xhlo_row){.path = 0};
	return &h->rows[h->nrows++];
}

static void instruction(struct wt_xhlo *h, uint64_t program_id, const struct wt_wire_field *from)
{
	struct wt_wire w = wt_wire_of(from->bytes, from->n);
	struct wt_strbuf text = {.n = 0};
	struct wt_xhlo_row row = {.path = 0};
	struct wt_wire_field f;
	uint32_t name = 0;
	int rc;

	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (f.type != WT_WIRE_BYTES)
			continue;
		if (f.number == INSTRUCTION_NAME)
			name = symbol(h, &f);
		else if (f.number == INSTRUCTION_OPCODE)
			row.opcode = wt_builder_string(h->b, (const char *)f.bytes, f.n);
		else if (f.number == INSTRUCTION_METADATA)
			row.path = op_name(h, &f);
		else if (f.number == INSTRUCTION_SHAPE) {
			shape(&text, &f, 0);
			row.shapes = wt_builder_string(h->b, wt_strbuf_text(&text), text.n);
		}
	}
	h->faults += rc < 0;
	wt_strbuf_release(&text);
	if (name && !h->error) {
		struct wt_xhlo_row *to = row_of(h, program_id, name);

		if (to)
			*to = row;
	}
}

/* Goes down: module, computations, instructions. */
static void level(struct wt_xhlo *h, uint64_t program_id, const uint8_t *bytes, size_t n, int depth)
{
	static const uint32_t next[] = {HLO_MODULE, MODULE_COMPUTATION, COMPUTATION_INSTRUCTION};
	struct wt_wire w = wt_wire_of(bytes, n);
	struct wt_wire_field f;
	int rc;

	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (f.number != next[depth] || f.type != WT_WIRE_BYTES)
			continue;
		if (depth == 2)
			instruction(h, program_id, &f);
		else
			level(h, program_id, f.bytes, f.n, depth + 1);
	}
	h->faults += rc < 0;
}

void wt_xhlo_add(struct wt_xhlo *h, uint64_t program_id, const uint8_t *bytes, size_t n)
{
	h->nprograms++;
	level(h, program_id, bytes, n, 0);
}

const struct wt_xhlo_row *wt_xhlo_find(struct wt_xhlo *h, uint64_t program_id, uint32_t name)
{
	return h->error ? NULL : row_of(h, program_id, name);
}

void wt_xp_programs(struct wt_xp *xp, struct wt_xplane *x)
{
	for (size_t i = 0; i < x->nmetas; i++) {
		struct wt_xtext name, proto;
		uint64_t id = 0;
		size_t at;

		wt_xmeta_read(x, &x->metas[i], &name, NULL, xp->meta_stats);
		proto = wt_xstats_text(xp->meta_stats, WT_XSTAT_HLO_PROTO);
		proto = proto.n ? proto : wt_xstats_text(xp->meta_stats, WT_XSTAT_HLO_PROTO_LOWER);
		if (!proto.n || !name.n || name.s[name.n - 1] != ')')
			continue;
		/* "jit_step(47)": the number is the program's id. */
		for (at = name.n - 1; at && name.s[at - 1] >= '0' && name.s[at - 1] <= '9'; at--)
			;
		for (; at < name.n - 1; at++)
			id = id * 10 + (uint64_t)(name.s[at] - '0');
		wt_xhlo_add(&xp->hlo, id, (const uint8_t *)proto.s, proto.n);
	}
}
