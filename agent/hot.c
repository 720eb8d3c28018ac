// SPDX-License-Identifier: Apache-2.0
/*
 * The rare half of the hot path: first call of a thread, chunk full, pool empty, failed or captured calls, unknown
 * context, very long calls; and the bracket around calls of libraries. Job threads; errno is kept; no lock.
 */
#define _GNU_SOURCE
#include "hot.h"

#include <errno.h>
#include <stddef.h>

#include "book.h"
#include "cost.h"
#include "cuda_abi.h"
#include "real_calls.h"

uint64_t wt_row_seq(const struct wt_tls *t)
{
	if (!t->chunk)
		return t->next_seq;
	return t->chunk->first_seq + atomic_load_explicit(&t->chunk->used, memory_order_relaxed);
}

/* Pool empty: the row is lost, the count is not; the hole in the numbers says how many. */
static struct wt_rec *drop_row(struct wt_tls *t)
{
	struct wt_ring *r = t->ring;
	uint64_t before = atomic_load_explicit(&r->dropped, memory_order_relaxed);

	if (!before)
		r->first_dropped_seq = t->next_seq;
	atomic_store_explicit(&r->dropped, before + 1, memory_order_relaxed);
	t->next_seq++;
	if (before % 256 == 0) /* not each time: waking the writer is a system call */
		wt_writer_poke();
	return &t->scratch;
}

static struct wt_rec *new_chunk(struct wt_tls *t)
{
	if (t->chunk) {
		if (wt_chunk_full(t->chunk))
			wt_writer_poke();
		t->chunk = NULL;
	}
	t->chunk = wt_chunk_take(t->ring, t->next_seq);
	if (!t->chunk)
		return drop_row(t);
	t->next_seq += WT_CHUNK_RECS;
	wt_cost_sample(t->chunk);
	return t->chunk->rec;
}

static WT_COLD void get_ring(struct wt_tls *t)
{
	int saved = errno;

	t->ring = wt_ring_get();
	t->no_ring = !t->ring;
	wt_book_ring(t);
	errno = saved;
}

static WT_COLD struct wt_rec *get_row(struct wt_tls *t)
{
	int saved = errno;
	struct wt_rec *rec = t->row ? t->row : t->put_by;

	t->row = t->put_by = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	if (!rec)
		rec = new_chunk(t);
	errno = saved;
	return rec;
}

/* The caller has made sure that this thread is not wt_inside(). */
struct wt_rec *wt_enter_slow(struct wt_tls *t, uint32_t id)
{
	/* Asked once: whether the call leaves a row, and as what it counts, is decided here. */
	uint32_t level = wt_level();
	struct wt_rec *rec = &t->scratch;

	t->busy |= WT_BUSY_DRIVER;
	atomic_signal_fence(memory_order_seq_cst);
	if (WT_UNLIKELY(!t->ring && !t->no_ring))
		get_ring(t);
	if (t->ring && level >= WT_LEVEL_API)
		rec = get_row(t);
	wt_start_row(t, rec, id);
	if (level < WT_LEVEL_API)
		rec->flags |= level < WT_LEVEL_COUNT ? WT_REC_UNCOUNTED : WT_REC_NO_ROW;
	return rec;
}

/* No ring was left for this thread: its rows are not recorded, its counts go to one ring shared by all such. */
static void count_shared(uint32_t context, uint32_t kind, uint32_t state, uint32_t n, int lost)
{
	struct wt_ring *r = wt_ring_shared();
	uint32_t slot = context < WT_COUNT_CONTEXTS ? context : WT_COUNT_CONTEXTS - 1;

	if (!r)
		return;
	atomic_fetch_add_explicit(&r->counts[slot][kind][state], n, memory_order_relaxed);
	if (lost)
		atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
}

void wt_count_slow(struct wt_tls *t, struct wt_rec *rec, uint32_t kind, uint32_t n, uint64_t dur)
{
	int saved = errno;
	uint32_t state = rec->flags & WT_REC_NO_ROW ? WT_UNROWED : WT_DONE;
	uint32_t context;

	if (dur >> 32) {
		rec->flags |= WT_REC_LONG;
		rec->dur = dur >> 42 ? UINT32_MAX : (uint32_t)(dur >> 10);
	}
	/* ncclInProgress is success of a non-blocking communicator. */
	if (rec->status && !(wt_hooks[rec->op].library == WT_LIB_NCCL && rec->status == 7))
		state = WT_FAILED;
	else if (rec->flags & WT_REC_CAPTURED)
		state = WT_CAPTURED;
	else if (rec->flags & WT_REC_SOFT)
		state = WT_SOFT;
	if (rec->flags & WT_REC_UNCOUNTED)
		goto out;
	context = wt_book_context_now(t);
	rec->context = (uint16_t)context;
	if (t->no_ring)
		count_shared(context, kind, state, n, !(rec->flags & WT_REC_NO_ROW));
	else if (t->counts)
		wt_add(&t->counts[kind * WT_COUNT_STATES + state], n);
out:
	errno = saved;
}

void wt_count_rare(struct wt_tls *t, uint32_t id, uint32_t flags, uint32_t kind, uint32_t n,
		   uint32_t status)
{
	struct wt_rec rec = {.op = (uint16_t)id,
			     .flags = (uint16_t)(flags | WT_REC_NO_ROW),
			     .status = (int16_t)status};

	wt_count_slow(t, &rec, kind, n, 0);
}

void wt_put_row(struct wt_tls *t, struct wt_rec *rec)
{
	struct wt_rec *next;

	if (rec != &t->scratch) {
		next = wt_publish(rec);
		if (t->context)
			t->row = next;
		else
			t->put_by = next;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy &= ~WT_BUSY_DRIVER;
}

#define SPECIAL (WT_REC_CAPTURED | WT_REC_SOFT | WT_REC_NO_ROW | WT_REC_UNCOUNTED)

void wt_leave_slow(struct wt_tls *t, struct wt_rec *rec, uint32_t kind, uint32_t n, uint32_t status,
		   uint64_t end_tsc)
{
	uint64_t dur = end_tsc - rec->start_tsc;

	rec->dur = (uint32_t)dur;
	rec->status = (int16_t)status;
	if (!(status | (rec->flags & SPECIAL) | dur >> 32) && rec->context == t->context &&
	    rec->context)
		wt_add(&t->counts[kind * WT_COUNT_STATES + WT_DONE], n);
	else
		wt_count_slow(t, rec, kind, n, dur);
	wt_put_row(t, rec);
}

/*
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT answers for the legacy stream while another stream captures: the call at hand
 * will fail or is not captured. Any answer but "active" counts as not captured.
 */
uint32_t wt_ask_capture(uint64_t stream)
{
	int saved = errno;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = WT_REAL_CALL(cuStreamIsCapturing, (CUstream)stream, &status);

	errno = saved;
	return r == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? WT_REC_CAPTURED : 0;
}

/* ---- the bracket around library calls ---- */

void wt_library_enter(struct wt_tls *t, struct wt_rec *row, uint32_t inside)
{
	if (row->stream && wt_captures())
		row->flags |= (uint16_t)wt_ask_capture(row->stream);
	t->library = 1;
	t->inherit = (uint16_t)(inside | WT_REC_PARENT_AHEAD);
	t->children_from = wt_row_seq(t);
	row->start_tsc = wt_tsc();
}

/* Children still in the open chunk learn how far ahead their parent is. Those of a full chunk keep 0: "the next". */
static __attribute__((noinline)) void adopt_children(struct wt_rec *row, uint64_t children)
{
	uint64_t here = (uint64_t)(row - wt_chunk_of(row)->rec);
	uint64_t n = children < here ? children : here;

	for (uint64_t i = 1; i <= n; i++)
		if (row[-(ptrdiff_t)i].flags & (WT_REC_IN_NCCL | WT_REC_IN_BLAS))
			__atomic_store_n(&row[-(ptrdiff_t)i].parent, (uint32_t)i + 1,
					 __ATOMIC_RELAXED);
}

static WT_COLD void library_leave_slow(struct wt_tls *t, struct wt_rec *row, uint32_t kind,
				       uint32_t status, uint64_t end_tsc)
{
	struct wt_rec *rec;
	uint64_t children;

	if (wt_level() < WT_LEVEL_COUNT)
		return;
	rec = wt_enter_slow(t, row->op);
	children = wt_row_seq(t) - t->children_from;
	row->context = rec->context;
	row->flags |= rec->flags & (WT_REC_NO_ROW | WT_REC_UNCOUNTED);
	*rec = *row;
	if (rec != &t->scratch)
		adopt_children(rec, children);
	wt_leave_slow(t, rec, kind, 1, status, end_tsc);
}

void wt_library_leave(struct wt_tls *t, struct wt_rec *row, uint32_t kind, uint32_t status,
		      uint64_t end_tsc)
{
	uint64_t dur = end_tsc - row->start_tsc, children;
	struct wt_rec *rec = t->row;

	t->library = 0;
	t->inherit = 0;
	/* As on the hot path: a row at hand, the context known, nothing special. A row at hand lies in t->chunk. */
	if (WT_UNLIKELY(!rec || status | (row->flags & WT_REC_CAPTURED) | dur >> 32 ||
			wt_level() < WT_LEVEL_API || t->busy)) {
		library_leave_slow(t, row, kind, status, end_tsc);
		return;
	}
	wt_take_row(t);
	*rec = *row;
	rec->context = t->context;
	rec->dur = (uint32_t)dur;
	children = wt_row_seq(t) - t->children_from;
	wt_add(&t->counts[kind * WT_COUNT_STATES + WT_DONE], 1);
	if (WT_UNLIKELY(children))
		adopt_children(rec, children); /* before the parent is the writer's */
	t->row = wt_publish(rec);
}
