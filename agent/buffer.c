// SPDX-License-Identifier: Apache-2.0
/*
 * Buffers lent to CUPTI, out of the black box: what CUPTI has delivered and we have not yet written survives a kill.
 * take and complete run on any thread (CUPTI's worker, or a job thread inside a CUDA call), so they are lock-free and
 * never grow the box; next and release are the writer's.
 */
#include "agent.h"
#include "box.h"

static struct wt_buffer_meta *meta(struct wt_box *b, uint32_t index)
{
	return &b->head->buffers[index];
}

static uint8_t *address(struct wt_box *b, uint32_t index)
{
	return b->base + (size_t)index * WT_CUPTI_BUFFER_BYTES;
}

/* UINT32_MAX = not one of ours: another tool's buffer may be completed to our callback. */
static uint32_t index_of(struct wt_box *b, const uint8_t *buf)
{
	uintptr_t off = (uintptr_t)buf - (uintptr_t)b->base;
	uint32_t seg = (uint32_t)(off / WT_SEG_BYTES);

	if (buf < b->base || off >= b->cap_bytes || off % WT_CUPTI_BUFFER_BYTES ||
	    seg >= atomic_load_explicit(&b->segs, memory_order_acquire) ||
	    b->head->seg_kind[seg] != WT_SEG_BUFFERS)
		return UINT32_MAX;
	return (uint32_t)(off / WT_CUPTI_BUFFER_BYTES);
}

static void push(struct wt_box *b, wt_stack *s, uint32_t index)
{
	uint64_t old = atomic_load_explicit(s, memory_order_relaxed);

	do
		atomic_store_explicit(&meta(b, index)->next, (uint32_t)old, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(s, &old, (old & ~0xffffffffull) | (index + 1),
						      memory_order_release, memory_order_relaxed));
}

static void give_free(struct wt_box *b, uint32_t index)
{
	atomic_store_explicit(&meta(b, index)->state, WT_BUFFER_FREE, memory_order_relaxed);
	push(b, &b->free_buffers, index);
	atomic_fetch_add_explicit(&b->free_buffer_count, 1, memory_order_relaxed);
}

void wt_buffer_seg_init(struct wt_box *b, uint32_t seg)
{
	uint32_t per = WT_SEG_BYTES / WT_CUPTI_BUFFER_BYTES;

	for (uint32_t i = 0; i < per; i++)
		give_free(b, seg * per + i);
}

uint8_t *wt_buffer_take(void)
{
	struct wt_box *b = wt_box;
	uint64_t old = b ? atomic_load_explicit(&b->free_buffers, memory_order_acquire) : 0;

	while ((uint32_t)old) {
		uint32_t index = (uint32_t)old - 1;
		uint64_t next = atomic_load_explicit(&meta(b, index)->next, memory_order_relaxed);

		if (!atomic_compare_exchange_weak_explicit(
			    &b->free_buffers, &old, ((old >> 32) + 1) << 32 | next,
			    memory_order_acquire, memory_order_acquire))
			continue;
		if (atomic_fetch_sub_explicit(&b->free_buffer_count, 1, memory_order_relaxed) <=
		    WT_BUFFERS_LOW / 2)
			wt_writer_poke(); /* only the writer can make more */
		atomic_store_explicit(&meta(b, index)->state, WT_BUFFER_LENT, memory_order_release);
		return address(b, index);
	}
	return NULL;
}

int wt_buffer_is_ours(const uint8_t *buf)
{
	struct wt_box *b = wt_box;

	return b && index_of(b, buf) != UINT32_MAX;
}

void wt_buffer_complete(uint8_t *buf, uint32_t valid_bytes, uint32_t context)
{
	struct wt_box *b = wt_box;
	uint32_t index = b ? index_of(b, buf) : UINT32_MAX;
	uint32_t lent = WT_BUFFER_LENT;

	/* Completed twice, or never lent: a second entry on the list would make a cycle. */
	if (index == UINT32_MAX ||
	    !atomic_compare_exchange_strong(&meta(b, index)->state, &lent, WT_BUFFER_DONE))
		return;
	meta(b, index)->valid_bytes =
		valid_bytes <= WT_CUPTI_BUFFER_BYTES ? valid_bytes : WT_CUPTI_BUFFER_BYTES;
	meta(b, index)->context = context;
	push(b, &b->done_buffers, index);
}

int wt_buffer_next(uint8_t **ret, uint32_t *ret_valid, uint32_t *ret_context)
{
	struct wt_box *b = wt_box;
	uint32_t index;

	if (!b)
		return 0;
	if (!b->done_list) { /* take all over, oldest first */
		uint32_t next = (uint32_t)atomic_exchange_explicit(&b->done_buffers, 0,
								   memory_order_acquire);

		while (next) {
			struct wt_buffer_meta *m = meta(b, next - 1);
			uint32_t after = atomic_load_explicit(&m->next, memory_order_relaxed);

			atomic_store_explicit(&m->next, b->done_list, memory_order_relaxed);
			b->done_list = next;
			next = after;
		}
	}
	if (!b->done_list)
		return 0;
	index = b->done_list - 1;
	b->done_list = atomic_load_explicit(&meta(b, index)->next, memory_order_relaxed);
	atomic_store_explicit(&meta(b, index)->state, WT_BUFFER_READ, memory_order_relaxed);
	*ret = address(b, index);
	*ret_valid = meta(b, index)->valid_bytes;
	*ret_context = meta(b, index)->context;
	return 1;
}

void wt_buffer_release(uint8_t *buf)
{
	struct wt_box *b = wt_box;
	uint32_t index = b ? index_of(b, buf) : UINT32_MAX;
	uint32_t read = WT_BUFFER_READ;

	if (index == UINT32_MAX || !atomic_compare_exchange_strong(&meta(b, index)->state, &read,
								   (uint32_t)WT_BUFFER_FREE))
		return;
	give_free(b, index);
}
