// SPDX-License-Identifier: Apache-2.0
/*
 * CUPTI keeps a half-filled or empty buffer over a change of hands, so the first records of one user land in a buffer
 * of the other. Nobody may be given a buffer back that it did not lend (tools abort on it), or miss records because of
 * us. CUPTI therefore always has one pair of callbacks, ours, and these look at the address:
 *
 *   lent by   while we collect            while another tool does
 *   us        to the writer               records are copied into a buffer asked of the tool, ours is free again
 *   it        records are copied into     back to it, as if we were not there
 *             ours, its buffer goes back
 *             empty
 *
 * Which records are whose follows from the moment: both sides flush before they leave. Any thread; the other tool's
 * callbacks are never called from a call of our own (the tool may hold a lock that they take and wait for us): such
 * buffers wait for its next flush. No lock but a spin around a few words; no allocation.
 */
#include "collectors/lent.h"

#include <cupti.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/cost.h"
#include "agent/tls.h"
#include "collectors/cupti_activity.h"
#include "collectors/cupti_api.h"

#define WAITING 64

struct parcel {
	struct CUctx_st *context;
	uint32_t stream;
	uint8_t *buffer;
	size_t size, valid;
};

static struct {
	_Atomic(wt_cupti_request *) request, request_before;
	_Atomic(wt_cupti_complete *) complete, complete_before;
	atomic_flag lock;
	struct parcel waiting[WAITING];
	uint32_t n;
	_Atomic uint64_t kept, passed, lost;
} lent = {.lock = ATOMIC_FLAG_INIT};

void wt_lent_callbacks(wt_cupti_request *request, wt_cupti_complete *complete)
{
	atomic_store(&lent.request_before, atomic_load(&lent.request));
	atomic_store(&lent.complete_before, atomic_load(&lent.complete));
	atomic_store(&lent.request, request);
	atomic_store(&lent.complete, complete);
}

void wt_lent_callbacks_refused(void)
{
	atomic_store(&lent.request, atomic_load(&lent.request_before));
	atomic_store(&lent.complete, atomic_load(&lent.complete_before));
}

void wt_lent_forget(void)
{
	atomic_store(&lent.request, NULL);
	atomic_store(&lent.complete, NULL);
}

void wt_lent_totals(struct wt_lent_totals *ret)
{
	ret->theirs_kept = atomic_load(&lent.kept);
	ret->ours_passed = atomic_load(&lent.passed);
	ret->lost = atomic_load(&lent.lost);
}

/* ---- back to the owner ---- */

static void hand_back(const struct parcel *p)
{
	wt_cupti_complete *complete = atomic_load(&lent.complete);

	if (complete)
		complete(p->context, p->stream, p->buffer, p->size, p->valid);
}

/*
 * Now, unless it is our time: a flush of ours waits for every callback under way on any thread, and the tool may hold
 * the lock that its callback takes, and wait for us.
 */
static void hand_back_or_wait(const struct parcel *p, int our_time)
{
	if (!our_time && wt_tls.busy < WT_BUSY_SILENT) {
		hand_back(p);
		return;
	}
	while (atomic_flag_test_and_set_explicit(&lent.lock, memory_order_acquire))
		;
	if (lent.n < WAITING)
		lent.waiting[lent.n++] = *p;
	else
		atomic_fetch_add(&lent.lost, 1);
	atomic_flag_clear_explicit(&lent.lock, memory_order_release);
}

void wt_lent_deliver(void)
{
	for (;;) {
		struct parcel p;
		uint32_t n;

		while (atomic_flag_test_and_set_explicit(&lent.lock, memory_order_acquire))
			;
		n = lent.n;
		if (n) {
			p = lent.waiting[0];
			memmove(&lent.waiting[0], &lent.waiting[1],
				(n - 1) * sizeof(lent.waiting[0]));
			lent.n--;
		}
		atomic_flag_clear_explicit(&lent.lock, memory_order_release);
		if (!n)
			return;
		hand_back(&p);
	}
}

/* ---- copying ---- */

/* As many whole records from `from` on as fit into `room` bytes: their bytes, and *ret_n. 0 = none fits. */
static size_t whole_records(uint8_t *buffer, size_t valid, size_t from, size_t room,
			    size_t max_records, uint64_t *ret_n)
{
	CUpti_Activity *rec = from ? (CUpti_Activity *)(buffer + from) : NULL;
	size_t end = from;
	uint64_t n = 0;

	/* Stepping needs the record before: the one at `from` is known to be there, its end is the next one's start. */
	if (!from && wt_cupti.cuptiActivityGetNextRecord(buffer, valid, &rec) != CUPTI_SUCCESS)
		return 0;
	for (;;) {
		size_t next = valid;

		if (wt_cupti.cuptiActivityGetNextRecord(buffer, valid, &rec) == CUPTI_SUCCESS)
			next = (size_t)((uint8_t *)rec - buffer);
		if (next <= end || next - from > room || (max_records && n == max_records))
			break;
		end = next;
		n++;
		if (end >= valid)
			break;
	}
	*ret_n = n;
	return end - from;
}

/* From a buffer of theirs to buffers of ours. */
static void keep(uint8_t *buffer, size_t valid)
{
	size_t from = 0, bytes;
	uint64_t n;

	while (from < valid &&
	       (bytes = whole_records(buffer, valid, from, WT_CUPTI_BUFFER_BYTES, 0, &n))) {
		uint8_t *own = wt_buffer_take();

		if (own) {
			memcpy(own, buffer + from, bytes);
			wt_buffer_complete(own, (uint32_t)bytes, 0);
			atomic_fetch_add(&lent.kept, n);
		} else {
			wt_cupti_spilled(n);
		}
		from += bytes;
	}
	wt_writer_poke();
}

/* From a buffer of ours to buffers of theirs. */
static void pass(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t valid)
{
	wt_cupti_request *request = atomic_load(&lent.request);
	size_t from = 0;

	while (from < valid) {
		struct parcel p = {.context = context, .stream = stream};
		size_t max_records = 0;
		uint64_t n = 0;

		if (request && wt_tls.busy < WT_BUSY_SILENT)
			request(&p.buffer, &p.size, &max_records);
		if (!p.buffer)
			break;
		p.valid = whole_records(buffer, valid, from, p.size, max_records, &n);
		memcpy(p.buffer, buffer + from, p.valid);
		hand_back(&p);
		if (!p.valid)
			break;
		atomic_fetch_add(&lent.passed, n);
		from += p.valid;
	}
	if (from < valid)
		atomic_fetch_add(&lent.lost, wt_cupti_count_records(buffer, valid));
}

/* ---- CUPTI's callbacks ---- */

void wt_manners_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	wt_cupti_request *request = atomic_load(&lent.request);

	/* A child of fork has neither our mapping nor a business of ours. */
	if (wt_words->alive && wt_manners_own()) {
		wt_cupti_lend(buffer, size, max_records);
	} else if (request) {
		request(buffer, size, max_records);
	} else if (wt_words->alive) {
		wt_cupti_lend(buffer, size, max_records);
	} else {
		*buffer = NULL;
		*size = *max_records = 0;
	}
}

void wt_manners_complete(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid)
{
	struct parcel p = {context, stream, buffer, size, valid};
	int own = wt_words->alive && wt_manners_own();
	/* Asked second: `leaving` holds from before it stops being ours until our last flush has returned. */
	int leaving = wt_words->alive && wt_manners_leaving();
	int ours = wt_words->alive && buffer && wt_cupti_lent(buffer);

	if (!wt_words->alive || (!own && !buffer)) {
		hand_back(&p);
	} else if (!buffer) {
		/* CUPTI got none and says so by handing back nothing */
	} else if (ours && own) {
		wt_cupti_take_back(buffer, valid);
	} else if (ours) {
		pass(context, stream, buffer, valid);
		wt_cupti_take_back(buffer, 0);
	} else if (own && valid) {
		keep(buffer, valid);
		p.valid = 0;
		hand_back_or_wait(&p, 1);
	} else {
		hand_back_or_wait(&p, own || leaving);
	}
}
