/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registry and tables as the dead writer had them (resume.h). Streams, communicators, executable graphs and threads get
 * the ids the trace has for them, so that their rows go on being theirs; the box says which object an id belongs to.
 * Strings, functions, shapes and products are only values: they get new ids, above all that were taken.
 */
#include "recover/resume.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/registry.h"

/* ---- the registry ---- */

/* Keeps the numbers in step where the box lacks an object: nobody asks for this handle, or at this time. */
static uint32_t add_nobody(enum wt_reg_kind kind, uint32_t id)
{
	uint32_t got = wt_reg_add(kind, UINT64_MAX - id, 0, NULL);

	wt_reg_end(kind, UINT64_MAX - id, 0);
	return got;
}

static int add_node(const struct wt_box_image *box, enum wt_reg_kind kind, uint32_t id,
		    struct wt_reg_node *n)
{
	struct wt_reg_entry e;
	uint32_t said = n->said;

	memcpy(&e, n->word, sizeof(e));
	if (e.id != id || !e.birth_tsc)
		return add_nobody(kind, id) ? 0 : -WT_E_NOMEM;
	if (kind == WT_REG_FUNCTION)
		e.u.function.name = wt_reg_intern(wt_box_image_text(box, e.u.function.name));
	if (!wt_reg_add(kind, e.handle, e.birth_tsc, &e))
		return -WT_E_NOMEM;
	if (e.death_tsc != UINT64_MAX)
		wt_reg_end(kind, e.handle, e.death_tsc);
	wt_reg_said(kind, id, said);
	return 0;
}

/* Ids in use: up to the last node of the last piece that was taken. */
static uint32_t count_of(const struct wt_box_image *box, enum wt_reg_kind kind)
{
	uint32_t n = box->pieces[kind];

	for (uint32_t id = n * (uint32_t)WT_PIECE_NODES; n && id > (n - 1) * WT_PIECE_NODES; id--) {
		struct wt_reg_entry e;

		memcpy(&e, wt_piece_node(box->piece[kind][n - 1], id)->word, sizeof(e));
		if (e.id == id)
			return id;
	}
	return n ? (n - 1) * (uint32_t)WT_PIECE_NODES : 0;
}

int wt_resume_registry(const struct wt_box_image *box)
{
	int r = wt_reg_init();

	/* Modules before functions, which name them. */
	static const enum wt_reg_kind order[] = {WT_REG_CONTEXT,  WT_REG_STREAM, WT_REG_MODULE,
						 WT_REG_FUNCTION, WT_REG_GRAPH,	 WT_REG_EXEC,
						 WT_REG_COMM};

	for (size_t k = 0; !r && k < sizeof(order) / sizeof(order[0]); k++) {
		uint32_t n = count_of(box, order[k]);

		for (uint32_t id = 1; !r && id <= n; id++) {
			uint8_t *piece = box->piece[order[k]][(id - 1) / WT_PIECE_NODES];

			if (piece)
				r = add_node(box, order[k], id, wt_piece_node(piece, id));
			else
				r = add_nobody(order[k], id) ? 0 : -WT_E_NOMEM;
			if (r && id > 1)
				r = 0, n = id - 1; /* full, as it may have been in the job */
		}
	}
	return r;
}

/* Registry id of what the trace calls `id`; 0 = not in the box. */
static int map_said(const struct wt_box_image *box, enum wt_reg_kind kind, struct wt_map *ret)
{
	uint32_t n = wt_reg_count(kind);

	for (uint32_t id = 1; id <= n; id++) {
		uint8_t *piece = box->piece[kind][(id - 1) / WT_PIECE_NODES];
		uint32_t said = piece ? wt_piece_node(piece, id)->said : 0;

		if (said && wt_map_put(ret, said, id))
			return -WT_E_NOMEM;
	}
	return 0;
}

static uint32_t reg_of(const struct wt_map *m, uint64_t id)
{
	uint32_t reg = 0;

	return wt_map_get(m, id, &reg) ? reg : 0;
}

/* ---- tables ---- */

static int put_streams(struct wt_pack *p, const struct wt_scan *scan, const struct wt_map *said)
{
	for (size_t i = 0; i < scan->streams.n; i++) {
		const struct wt_scan_stream *s = &scan->streams.p[i];
		struct wt_stream like = {
			.handle = s->handle, .context = s->context, .reg = reg_of(said, s->id)};
		struct wt_reg_entry e;

		if (!s->id || s->id > p->streams.cap)
			continue;
		if (like.reg &&
		    (!wt_reg_by_id(WT_REG_STREAM, like.reg, &e) || e.handle != s->handle))
			like.reg = 0; /* that id came to nothing: it was never in the trace */
		if (wt_table_put(&p->streams, (uint32_t)s->id, wt_stream_key(&like, s->ring),
				 &like))
			return -WT_E_NOMEM;
	}
	return 0;
}

static int put_threads(struct wt_pack *p, const struct wt_scan *scan)
{
	for (size_t i = 0; i < scan->threads.n; i++) {
		const struct wt_scan_thread *t = &scan->threads.p[i];
		struct wt_thread like = {.ring = t->ring,
					 .tid = t->tid,
					 .pthread = t->pthread,
					 .name = wt_string_id(p, wt_scan_text(scan, t->name)),
					 .depth = t->depth,
					 .group = t->group,
					 .next_seq = t->next_seq};

		if (!t->id || t->id > p->threads.cap)
			continue;
		if (wt_table_put(&p->threads, (uint32_t)t->id, t->ring, &like))
			return -WT_E_NOMEM;
	}
	return 0;
}

static int put_comms(struct wt_pack *p, const struct wt_scan *scan, const struct wt_map *said)
{
	for (size_t i = 0; i < scan->comms.n; i++) {
		uint64_t id = scan->comms.p[i];
		struct wt_plain like = {.reg = reg_of(said, id)};

		if (id && id <= p->comms.cap && like.reg &&
		    wt_table_put(&p->comms, (uint32_t)id, like.reg, &like))
			return -WT_E_NOMEM;
	}
	return wt_table_skip(&p->comms, scan->comm_max);
}

static int put_execs(struct wt_pack *p, const struct wt_scan *scan, const struct wt_map *said)
{
	int r = 0;

	for (size_t i = 0; i < scan->execs.n && !r; i++) {
		const struct wt_scan_exec *x = &scan->execs.p[i];
		struct wt_exec like = {.reg = reg_of(said, x->id),
				       .revision = (uint32_t)x->revision};
		struct wt_reg_entry e;

		if (!x->id || x->id > p->execs.cap)
			continue;
		if (!like.reg || !wt_reg_by_id(WT_REG_EXEC, like.reg, &e)) {
			r = wt_table_skip(&p->execs, x->id);
			continue;
		}
		like.complete = e.u.graph.complete;
		memcpy(like.nodes, e.u.graph.nodes, sizeof(like.nodes));
		r = wt_table_put(&p->execs, (uint32_t)x->id, like.reg, &like);
	}
	return r;
}

static int put_tables(struct wt_pack *p, const struct wt_box_image *box, const struct wt_scan *scan)
{
	struct wt_map said[3] = {{0}};
	int r = wt_table_skip(&p->strings, scan->string_max);

	r = r ? r : wt_table_skip(&p->functions, scan->function_max);
	r = r ? r : wt_table_skip(&p->shapes, scan->shape_max);
	r = r ? r : wt_table_skip(&p->gemms, scan->gemm_max);
	r = r ? r : map_said(box, WT_REG_STREAM, &said[0]);
	r = r ? r : map_said(box, WT_REG_COMM, &said[1]);
	r = r ? r : map_said(box, WT_REG_EXEC, &said[2]);
	r = r ? r : put_streams(p, scan, &said[0]);
	r = r ? r : put_comms(p, scan, &said[1]);
	r = r ? r : put_execs(p, scan, &said[2]);
	r = r ? r : put_threads(p, scan);
	for (size_t i = 0; i < 3; i++)
		wt_map_release(&said[i]);
	return r;
}

int wt_resume_pack(struct wt_pack *p, const struct wt_box_image *box, const struct wt_scan *scan)
{
	const Warptap__V1__Header *h = scan->header->header;

	wt_stubs_set(h, &scan->clock, box->head);
	p->recovering = 1;
	for (size_t i = 0; i < h->n_settings; i++)
		if (!strcmp(h->settings[i]->key, "WARPTAP_REDACT") &&
		    !strcmp(h->settings[i]->value, "1"))
			wt_config.redact = 1; /* an older agent's box has marks as they were said */
	p->clock.tsc_hz = h->tsc_hz;
	p->seq = scan->seq;
	p->segment = h->segment;
	memcpy(p->file_id, scan->file_id, sizeof(p->file_id));
	memcpy(p->context_cupti, scan->context_cupti, sizeof(p->context_cupti));
	return put_tables(p, box, scan);
}

void wt_resume_release(struct wt_pack *p)
{
	struct wt_table *all[] = {&p->strings, &p->functions, &p->shapes, &p->gemms, &p->streams,
				  &p->threads, &p->comms,     &p->execs,  &p->ops};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		wt_arena_close(&all[i]->items);
	wt_arena_close(&p->function_ids);
	wt_arena_close(&p->mem);
	wt_reg_release();
	wt_config.redact = 0;
}
