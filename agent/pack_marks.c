/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of marks.c -> one Marks packet a batch. A name in several rows is put together here; where a batch ends between
 * them the rest is a row of its own (MARK_WHAT_MORE). Names are the job's and can be without end: after MAX_NAMES
 * different ones no more are kept, so that kernels' names always find room.
 */
#include "agent/marks.h"

#include <stddef.h>
#include <string.h>

#include "agent/pack.h"

#define MAX_NAMES 16384u
#define TEXT_MAX  (WT_MARK_TEXT + (WT_MARK_ROWS - 1) * WT_MARK_MORE_TEXT)

/* Of the mark at hand; writer thread only. */
static struct {
	char text[TEXT_MAX + 1];
	size_t n;
	int open;
} name;

static void add_text(const struct wt_rec *r, size_t offset, size_t most)
{
	const char *from = (const char *)r + offset;
	size_t n = strnlen(from, most);

	if (n > TEXT_MAX - name.n)
		n = TEXT_MAX - name.n;
	memcpy(name.text + name.n, from, n);
	name.n += n;
}

/* The name of the last mark is whole. */
static void close_name(struct wt_pack *p)
{
	uint32_t known = p->strings.count, id;

	if (!name.open || !p->n_mark)
		return;
	name.open = 0;
	name.text[name.n] = '\0';
	if (!name.n || p->mark_names >= MAX_NAMES)
		return;
	id = wt_string_id(p, name.text);
	p->mark_names += p->strings.count > known;
	wt_table_use(&p->strings, id, p->segment);
	p->mark[p->n_mark - 1].name = id;
}

void wt_pack_mark_add(struct wt_pack *p, const struct wt_rec *r, uint64_t seq)
{
	int more = wt_mark_what(r) == WT_MARK_MORE;

	if (more && name.open) {
		add_text(r, offsetof(struct wt_rec, stream), WT_MARK_MORE_TEXT);
		return;
	}
	close_name(p);
	name.open = 1;
	name.n = 0;
	if (more)
		add_text(r, offsetof(struct wt_rec, stream), WT_MARK_MORE_TEXT);
	else
		add_text(r, offsetof(struct wt_rec, object), WT_MARK_TEXT);
	p->mark[p->n_mark++] = (struct wt_mark_row){
		.call_seq = seq,
		.tsc = r->start_tsc,
		.value = more ? 0 : (int64_t)r->stream,
		.what = (uint8_t)wt_mark_what(r),
		.kind = (uint8_t)wt_mark_kind(r),
	};
}

void wt_pack_mark_end(struct wt_pack *p)
{
	close_name(p);
}

void wt_pack_mark_emit(struct wt_pack *p, uint32_t thread, uint64_t ring)
{
	Warptap__V1__Marks m = WARPTAP__V1__MARKS__INIT;
	uint64_t **w = p->wide, seq = 0, tsc = 0;
	uint32_t **s = p->narrow, n = p->n_mark;

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct wt_mark_row *r = &p->mark[i];

		w[0][i] = r->call_seq - seq;
		seq = r->call_seq;
		w[1][i] = r->tsc - tsc;
		tsc = r->tsc;
		w[2][i] = (uint64_t)r->value;
		w[3][i] = r->name;
		s[0][i] = r->what;
		s[1][i] = r->kind;
	}
	p->n_mark = 0;
	m.thread = thread;
	m.ring = ring;
	WT_COLUMN(m, call_seq_d, w[0], n);
	WT_COLUMN(m, tsc_d, w[1], n);
	WT_COLUMN(m, value, w[2], n);
	WT_COLUMN(m, name, w[3], n);
	WT_COLUMN(m, what, s[0], n);
	WT_COLUMN(m, kind, s[1], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_MARKS, &m, n);
}
