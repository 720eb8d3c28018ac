/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of collectors/nccl_plugin.c -> one NcclEvents packet a batch. Writer thread. */
#include <stddef.h>

#include "agent/pack.h"
#include "collectors/nccl_plugin.h"

#define WAIT_UNIT 6 /* of a row's waits: 2^6 ticks */

void wt_pack_nccl_add(struct wt_pack *p, const struct wt_rec *r, uint64_t seq)
{
	p->nccl[p->n_nccl++] = (struct wt_nccl_row){.call_seq = seq, .rec = *r};
}

enum { SEQ, PLAN, N, NUMBER, START, END, GPU, PEER_WAIT, NET, FLUSH, WIDE };
enum { WHAT, OP, ALGORITHM, PROTOCOL, CHANNEL, WARPS, PEER, SEND, STEPS, NARROW };
_Static_assert(WIDE <= WT_COLUMNS && NARROW <= WT_COLUMNS, "columns of the batch");

static void put_plan(uint64_t **w, uint32_t **s, const struct wt_rec *r, uint32_t i)
{
	w[NUMBER][i] = r->u.raw[0];
	s[OP][i] = (uint8_t)r->u.raw[1];
	s[ALGORITHM][i] = (uint8_t)(r->u.raw[1] >> 8);
	s[PROTOCOL][i] = (uint8_t)(r->u.raw[1] >> 16);
	s[CHANNEL][i] = (uint8_t)(r->u.raw[1] >> 24);
	s[WARPS][i] = (uint8_t)(r->u.raw[1] >> 32);
	s[PEER][i] = (uint32_t)r->u.raw[2];
}

static void put_proxy(uint64_t **w, uint32_t **s, const struct wt_rec *r, uint32_t i)
{
	s[CHANNEL][i] = (uint8_t)r->u.raw[0];
	s[SEND][i] = r->u.raw[0] >> 8 & 1;
	s[STEPS][i] = (uint16_t)(r->u.raw[0] >> 16);
	s[PEER][i] = (uint32_t)(r->u.raw[0] >> 32);
	w[GPU][i] = (r->u.raw[1] & UINT32_MAX) << WAIT_UNIT;
	w[PEER_WAIT][i] = (r->u.raw[1] >> 32) << WAIT_UNIT;
	w[NET][i] = (r->u.raw[2] & UINT32_MAX) << WAIT_UNIT;
	w[FLUSH][i] = (r->u.raw[2] >> 32) << WAIT_UNIT;
}

static void put_row(uint64_t **w, uint32_t **s, const struct wt_rec *r, uint32_t i)
{
	for (int k = PLAN; k < WIDE; k++)
		w[k][i] = 0;
	for (int k = 0; k < NARROW; k++)
		s[k][i] = 0;
	s[WHAT][i] = (uint16_t)r->status;
	w[PLAN][i] = r->stream;
	w[N][i] = r->object;
	if (r->status == WT_NCCL_PLAN)
		put_plan(w, s, r, i);
	if (r->status == WT_NCCL_PROXY)
		put_proxy(w, s, r, i);
	if (r->status == WT_NCCL_KERNEL) {
		w[N][i] = 0;
		w[START][i] = r->object;
		w[END][i] = r->u.raw[0];
		s[CHANNEL][i] = (uint8_t)r->u.raw[1];
	}
}

void wt_pack_nccl_emit(struct wt_pack *p, uint32_t thread, uint64_t ring)
{
	Warptap__V1__NcclEvents m = WARPTAP__V1__NCCL_EVENTS__INIT;
	uint64_t **w = p->wide, seq = 0;
	uint32_t **s = p->narrow, n = p->n_nccl;

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		w[SEQ][i] = p->nccl[i].call_seq - seq;
		seq = p->nccl[i].call_seq;
		put_row(w, s, &p->nccl[i].rec, i);
	}
	p->n_nccl = 0;
	m.thread = thread;
	m.ring = ring;
	WT_COLUMN(m, call_seq_d, w[SEQ], n);
	WT_COLUMN(m, plan, w[PLAN], n);
	WT_COLUMN(m, n, w[N], n);
	WT_COLUMN(m, seq, w[NUMBER], n);
	WT_COLUMN(m, start_ns, w[START], n);
	WT_COLUMN(m, end_ns, w[END], n);
	WT_COLUMN(m, gpu, w[GPU], n);
	WT_COLUMN(m, peer_wait, w[PEER_WAIT], n);
	WT_COLUMN(m, net, w[NET], n);
	WT_COLUMN(m, flush, w[FLUSH], n);
	WT_COLUMN(m, what, s[WHAT], n);
	WT_COLUMN(m, op, s[OP], n);
	WT_COLUMN(m, algorithm, s[ALGORITHM], n);
	WT_COLUMN(m, protocol, s[PROTOCOL], n);
	WT_COLUMN(m, channel, s[CHANNEL], n);
	WT_COLUMN(m, warps, s[WARPS], n);
	WT_COLUMN(m, peer, s[PEER], n);
	WT_COLUMN(m, send, s[SEND], n);
	WT_COLUMN(m, steps, s[STEPS], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_NCCL, &m, n);
}
