/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's packing code asks the living process for its header, clocks, CUPTI and black box. Here the process is
 * gone: the answers come from its trace and its box. Linked into the command only, where nothing else of the recorder
 * is that would answer.
 */
#include <cupti.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "collectors/cupti_activity.h"
#include "collectors/cupti_api.h"
#include "collectors/manners.h"
#include "recover/resume.h"

static struct {
	const Warptap__V1__Header *header;
	struct wt_clock_row clock;
	uint16_t stride[WT_CUPTI_KINDS];
	uint32_t extra;
	uint64_t unread;
} stubs;

/* ---- CUPTI ---- */

static CUptiResult version(uint32_t *ret)
{
	*ret = stubs.extra ? 130000 : 0;
	return CUPTI_SUCCESS;
}

/* By the sizes the writer saw. A record of a kind it never saw ends the buffer. */
static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	const uint8_t *at = (const uint8_t *)*record, *end = buffer + valid;
	uint32_t kind;

	if (at) {
		memcpy(&kind, at, sizeof(kind));
		at += stubs.stride[kind];
	} else {
		at = buffer;
	}
	if ((size_t)(end - at) < sizeof(kind))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	memcpy(&kind, at, sizeof(kind));
	if (kind >= WT_CUPTI_KINDS || stubs.stride[kind] < sizeof(kind) ||
	    stubs.stride[kind] > (size_t)(end - at)) {
		stubs.unread += (uint64_t)(end - at);
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	}
	*record = (CUpti_Activity *)(uintptr_t)at;
	return CUPTI_SUCCESS;
}

struct wt_cupti_api wt_cupti = {.cuptiGetVersion = version,
				.cuptiActivityGetNextRecord = next_record};

void wt_box_stride(uint32_t kind, size_t bytes, int extra)
{
}

uint64_t wt_cupti_timestamp(void)
{
	return 0;
}

uint32_t wt_cupti_context_id(uint64_t context)
{
	return 0;
}

int wt_manners_clock_is_foreign(void)
{
	return 0;
}

/* ---- clocks, the box, the header ---- */

int64_t wt_clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t wt_clock_ticks_to_ns(const struct wt_clock *c, uint64_t ticks)
{
	return c->tsc_hz ? (uint64_t)((unsigned __int128)ticks * 1000000000u / c->tsc_hz) : 0;
}

void wt_clock_sample(struct wt_clock *c, struct wt_clock_row *ret)
{
	*ret = stubs.clock;
}

uint8_t *wt_box_piece(uint32_t what, uint32_t index)
{
	return NULL;
}

void wt_log(const char *fmt, ...)
{
}

void wt_header_emit(struct wt_pack *p, int bare)
{
	Warptap__V1__Header m = *stubs.header;

	m.segment = p->segment;
	p->tick_shift = wt_tick_shift(p->clock.tsc_hz);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_HEADER, &m, 0);
}

void wt_stubs_set(const Warptap__V1__Header *header, const struct wt_clock_row *clock,
		  const struct wt_box_head *box)
{
	stubs.header = header;
	stubs.clock = *clock;
	memcpy(stubs.stride, box->stride, sizeof(stubs.stride));
	stubs.extra = box->cupti_extra;
	stubs.unread = 0;
}

uint64_t wt_stubs_unread(void)
{
	return stubs.unread;
}
