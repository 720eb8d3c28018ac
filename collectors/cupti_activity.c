/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel, copy and memset times, and API records of an allow-list, from CUPTI's activity API.
 *
 *   start (job thread, inside cuInit)  load, arm: register callbacks, enable kinds; the clock: collection began
 *         (control thread)             the same when a window opens later
 *   lend, take back (any thread)       buffers out of the black box and back: lock-free, timed, nothing else
 *   flush (writer, each second)        what is complete comes in; dropped records are asked for
 *   disarm, arm                        another tool wants CUPTI, has left it: manners.c decides, lent.c sorts buffers
 *   close (control thread)             a window is over: disarm, the state is READY
 *   stop (writer)                      forced flush, unless a rule of caution says no
 *
 * No subscriber: the activity API needs none, and there is one only. Never cuptiFinalize: the library may be shared
 * with the job's own profiler. Anything that fails here switches the collector off, and the job goes on.
 * API records: only by the fine-grained switches (12.6 and later); all-or-nothing would record every cudaGetDevice.
 */
#include "collectors/cupti_activity.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/clock.h"
#include "agent/cost.h"
#include "agent/hook_table.h"
#include "agent/trouble.h"
#include "collectors/collector.h"
#include "collectors/cupti_api.h"
#include "collectors/manners.h"
#include "proto/wt_err.h"
#include "trace.pb-c.h"

#define STATE(s_)  WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_##s_
#define REASON(r_) WARPTAP__V1__STATE_REASON__STATE_REASON_##r_

#define SPILLS	     4
#define SPILL_BYTES  (256u << 10)
#define SICK_RECORDS 512
#define STILL_MAX    8	      /* looks in a pause at which records are fetched: 1, 2, 4, 8 */
#define CHEAP_NS     500000   /* a flush that may be repeated five times a second */
#define QUIET_NS     25000000 /* no record for so long: there may be no more */
#define SLOW_NS	     50000000 /* a flush slower than this is not repeated at exit */

static struct {
	_Atomic uint32_t state, kinds;
	_Atomic uint64_t dropped, spilled, refused;
	_Atomic int64_t flush_ns;
	_Atomic int distrust;
	_Atomic int own;      /* from before arming to after disarming: what CUPTI has is for us */
	_Atomic int flushing; /* the writer is inside a flush */
	_Atomic uint64_t
		received; /* kernels, copies, memsets of single launches the writer has read */
	uint64_t received0, expected0; /* as of arming */
	uint64_t launched;	       /* writer: as of the last look; how often it was so since */
	uint32_t looks, still;
	int loaded, armed_once;
	int sick, looked, untimed; /* writer: of the last SICK_RECORDS, half without times */
	int null_buffer_ok;	   /* CUPTI takes NULL for "no buffer" */
	/* Releases before 12.9 crash when they get no buffer: these are given and what lands in them is counted. */
	_Atomic uint32_t spill_busy;
	_Alignas(8) uint8_t spill[SPILLS][SPILL_BYTES];
} activity = {.state = STATE(ABSENT)};

/* An answer of CUPTI's that should be success. */
static CUptiResult told(CUptiResult r)
{
	if (r != CUPTI_SUCCESS)
		WT_TROUBLE(CUPTI, (int)r);
	return r;
}

/* To a question about a handle, which the job may have destroyed meanwhile. */
static int asked(CUptiResult r)
{
	if (r != CUPTI_ERROR_INVALID_CONTEXT && r != CUPTI_ERROR_INVALID_STREAM &&
	    r != CUPTI_ERROR_INVALID_PARAMETER)
		told(r);
	return r != CUPTI_SUCCESS;
}

static void nap(void)
{
	struct timespec t = {.tv_nsec = 500000};

	nanosleep(&t, NULL);
}

static int spill_of(const uint8_t *buf)
{
	uintptr_t at = (uintptr_t)buf - (uintptr_t)activity.spill;

	return at < sizeof(activity.spill) ? (int)(at / SPILL_BYTES) : -1;
}

/* A spill buffer nobody holds; with all of them out, the last is shared and its records are not counted one by one. */
static uint8_t *spill_take(void)
{
	uint32_t busy = atomic_load_explicit(&activity.spill_busy, memory_order_relaxed);

	for (uint32_t i = 0; i < SPILLS; i++) {
		busy = atomic_fetch_or_explicit(&activity.spill_busy, 1u << i,
						memory_order_acq_rel);
		if (!(busy & 1u << i))
			return activity.spill[i];
	}
	atomic_fetch_add_explicit(&activity.refused, 1, memory_order_relaxed);
	return activity.null_buffer_ok ? NULL : activity.spill[SPILLS - 1];
}

void wt_cupti_lend(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint64_t begin = wt_tsc();
	uint8_t *b = wt_buffer_take();

	*max_records = 0;
	*size = WT_CUPTI_BUFFER_BYTES;
	if (!b) {
		b = spill_take();
		*size = b ? SPILL_BYTES : 0;
		wt_writer_poke();
	}
	*buffer = b;
	wt_cost_cupti(wt_tsc() - begin);
}

/* Counted by CUPTI's own stepping: it is the only one that knows their sizes. */
uint64_t wt_cupti_count_records(uint8_t *buf, size_t valid)
{
	CUpti_Activity *rec = NULL;
	uint64_t n = 0;

	while (wt_cupti.cuptiActivityGetNextRecord(buf, valid, &rec) == CUPTI_SUCCESS)
		n++;
	return n;
}

int wt_cupti_lent(const uint8_t *buffer)
{
	return spill_of(buffer) >= 0 || wt_buffer_is_ours(buffer);
}

void wt_cupti_spilled(uint64_t records)
{
	atomic_fetch_add_explicit(&activity.spilled, records, memory_order_relaxed);
}

void wt_cupti_take_back(uint8_t *buffer, size_t valid)
{
	uint64_t begin = wt_tsc();
	int spill = spill_of(buffer);

	if (spill < 0) {
		wt_buffer_complete(buffer, valid > WT_CUPTI_BUFFER_BYTES ? 0 : (uint32_t)valid, 0);
		wt_writer_poke();
	} else {
		wt_cupti_spilled(wt_cupti_count_records(buffer, valid));
		atomic_fetch_and_explicit(&activity.spill_busy, ~(1u << spill),
					  memory_order_release);
	}
	wt_cost_cupti(wt_tsc() - begin);
}

uint32_t wt_cupti_state(void)
{
	return atomic_load(&activity.state);
}

void wt_cupti_set_state(uint32_t state)
{
	atomic_store(&activity.state, state);
	if (state != STATE(OURS))
		atomic_store(&activity.kinds, 0);
}

int wt_manners_own(void)
{
	return atomic_load_explicit(&activity.own, memory_order_acquire);
}

uint32_t wt_cupti_kinds(void)
{
	return atomic_load(&activity.kinds);
}

uint64_t wt_cupti_timestamp(void)
{
	uint64_t now = 0;

	if (wt_cupti_state() != STATE(OURS) ||
	    told(wt_cupti.cuptiGetTimestamp(&now)) != CUPTI_SUCCESS)
		return 0;
	return now;
}

void wt_cupti_totals(struct wt_cupti_totals *ret)
{
	ret->dropped = atomic_load(&activity.dropped);
	ret->spilled = atomic_load(&activity.spilled);
	ret->refused = atomic_load(&activity.refused);
	ret->flush_ns = atomic_load(&activity.flush_ns);
}

uint32_t wt_cupti_context_id(uint64_t context)
{
	uint32_t id = 0;

	if (wt_cupti_state() != STATE(OURS) || !wt_cupti.cuptiGetContextId || !context ||
	    asked(wt_cupti.cuptiGetContextId((CUcontext)(uintptr_t)context, &id)))
		return 0;
	return id;
}

uint32_t wt_cupti_stream_id(uint64_t context, uint64_t stream)
{
	uint32_t id = 0;

	if (wt_cupti_state() != STATE(OURS) || !wt_cupti.cuptiGetStreamIdEx || !context ||
	    asked(wt_cupti.cuptiGetStreamIdEx((CUcontext)(uintptr_t)context,
					      (CUstream)(uintptr_t)stream, 0, &id)))
		return 0;
	return id;
}

void wt_cupti_distrust(void)
{
	atomic_store(&activity.distrust, 1);
}

/* The collector is off from here on; hooks go on at level api. */
static int fail(const char *what, int result)
{
	WT_TROUBLE(CUPTI, result);
	wt_log("cupti_activity: %s answered %d: no device times", what, result);
	atomic_store(&activity.state, STATE(FAILED));
	atomic_store(&activity.kinds, 0);
	wt_writer_state(WT_LEVEL_API, STATE(FAILED), REASON(ERROR), 0);
	return -WT_E_UNSUPPORTED;
}

/* ---- on and off ---- */

static const struct {
	uint8_t runtime;
	CUpti_CallbackId cbid;
} calls[] = {
#define WT_API_DRIVER(name_)   {0, CUPTI_DRIVER_TRACE_CBID_##name_},
#define WT_API_RUNTIME(name_)  {1, CUPTI_RUNTIME_TRACE_CBID_##name_},
#define WT_API(domain_, name_) WT_API_##domain_(name_)
#include "collectors/cupti_api_list.def"
#undef WT_API
#undef WT_API_RUNTIME
#undef WT_API_DRIVER
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static const struct {
	CUpti_ActivityKind kind;
	uint32_t bit;
	const char *name;
} kinds[] = {
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1, "enabling kernels"},
	{CUPTI_ACTIVITY_KIND_MEMCPY, 2, "enabling copies"},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, 2, "enabling peer copies"},
	{CUPTI_ACTIVITY_KIND_MEMSET, 2, "enabling memsets"},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, 8,
	 "enabling overheads"}, /* few: no call has one as a rule */
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Calls of the driver's and of the runtime's: how many were asked for and refused, and the last refusal. */
struct refused {
	size_t asked[2], n[2];
	int answer;
};

/* Each call by itself; returns how many were refused. */
static size_t switch_api(uint8_t on, int (*stop)(void), struct refused *ret)
{
	*ret = (struct refused){.answer = 0};
	for (size_t i = 0; i < CALLS && !(stop && stop()); i++) {
		CUptiResult r = calls[i].runtime
					? wt_cupti.cuptiActivityEnableRuntimeApi(calls[i].cbid, on)
					: wt_cupti.cuptiActivityEnableDriverApi(calls[i].cbid, on);

		ret->asked[calls[i].runtime]++;
		if (r == CUPTI_SUCCESS)
			continue;
		ret->n[calls[i].runtime]++; /* an older release does not know the newest calls */
		ret->answer = (int)r;
	}
	return ret->n[0] + ret->n[1];
}

/* 1 = API records will come. */
static int enable_api(int (*stop)(void))
{
	struct refused no;
	size_t refused;

	if (!wt_cupti.cuptiActivityEnableRuntimeApi || !wt_cupti.cuptiActivityEnableDriverApi) {
		wt_log("cupti_activity: this CUPTI cannot select API records: joined by order "
		       "alone");
		return 0;
	}
	refused = switch_api(1, stop, &no);
	for (int d = 0; d < 2; d++)
		if (no.n[d] && no.n[d] == no.asked[d])
			WT_TROUBLE(CUPTI, no.answer);
	if (refused)
		wt_log("cupti_activity: %zu of %zu calls refused for API records", refused, CALLS);
	return refused < CALLS;
}

static int enable_kinds(int (*stop)(void))
{
	/* API records first: no kernel record without the call that explains it. */
	if (enable_api(stop))
		atomic_fetch_or(&activity.kinds, 4);
	for (size_t i = 0; i < N_KINDS && !(stop && stop()); i++) {
		CUptiResult r = wt_cupti.cuptiActivityEnable(kinds[i].kind);

		if (kinds[i].bit != 1)
			told(r);
		if (r == CUPTI_SUCCESS)
			atomic_fetch_or(&activity.kinds, kinds[i].bit);
		else if (kinds[i].bit == 1)
			return fail(kinds[i].name, (int)r);
		else
			wt_log("cupti_activity: %s answered %d", kinds[i].name, (int)r);
	}
	return 0;
}

static void disable_kinds(void)
{
	struct refused no;

	for (size_t i = 0; i < N_KINDS; i++)
		told(wt_cupti.cuptiActivityDisable(kinds[i].kind));
	if (wt_cupti.cuptiActivityEnableRuntimeApi && wt_cupti.cuptiActivityEnableDriverApi)
		switch_api(0, NULL, &no);
}

static void add_expected(void *arg, struct wt_ring *r)
{
	static const uint8_t counted[] = {WT_KIND_LAUNCH, WT_KIND_COPY, WT_KIND_MEMSET};

	for (size_t c = 0; c < WT_COUNT_CONTEXTS; c++)
		for (size_t k = 0; k < sizeof(counted); k++)
			*(uint64_t *)arg += atomic_load_explicit(&r->counts[c][counted[k]][WT_DONE],
								 memory_order_relaxed);
}

static void add_launched(void *arg, struct wt_ring *r)
{
	add_expected(arg, r);
	for (size_t c = 0; c < WT_COUNT_CONTEXTS; c++)
		*(uint64_t *)arg += atomic_load_explicit(
			&r->counts[c][WT_KIND_GRAPH_LAUNCH][WT_DONE], memory_order_relaxed);
}

/* Records that calls so far must have made, nodes of graphs apart. */
static uint64_t expected(void)
{
	uint64_t n = 0;

	wt_ring_each(add_expected, &n);
	return n;
}

void wt_cupti_received(int untimed)
{
	activity.looked++;
	activity.untimed += untimed != 0;
	if (activity.looked == SICK_RECORDS) {
		activity.sick = activity.untimed >= SICK_RECORDS / 2;
		activity.looked = activity.untimed = 0;
	}
	atomic_store_explicit(&activity.received,
			      atomic_load_explicit(&activity.received, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

int wt_cupti_is_sick(void)
{
	return activity.sick;
}

static void ask_dropped(void)
{
	size_t n = 0;

	if (wt_cupti.cuptiActivityGetNumDroppedRecords &&
	    told(wt_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &n)) == CUPTI_SUCCESS && n)
		atomic_fetch_add(&activity.dropped, n);
}

int wt_cupti_arm(int (*stop)(void))
{
	int r;

	if (!activity.loaded)
		return -WT_E_UNSUPPORTED;
	/* What a tool has left behind goes to the tool. */
	if (activity.armed_once)
		told(wt_cupti.cuptiActivityFlushAll(0));
	r = (int)wt_cupti.cuptiActivityRegisterCallbacks(
		(CUpti_BuffersCallbackRequestFunc)wt_manners_request,
		(CUpti_BuffersCallbackCompleteFunc)wt_manners_complete);
	if (r)
		return fail("cuptiActivityRegisterCallbacks", r);
	atomic_store_explicit(&activity.own, 1, memory_order_release);
	r = enable_kinds(stop);
	if (!r && stop && stop())
		r = -WT_E_LIMIT; /* somebody is at the door */
	if (r) {
		disable_kinds();
		atomic_store_explicit(&activity.own, 0, memory_order_release);
		return r;
	}
	activity.armed_once = 1;
	activity.sick = activity.looked = activity.untimed = 0;
	activity.received0 = atomic_load(&activity.received);
	activity.expected0 = expected();
	return 0;
}

/*
 * What is in flight may still come, for a while: as long as records keep coming. Where the job's thread waits, that is
 * not for long, and the last resort is to say that they are missing. Where none does (stop), everything that was due
 * when collection ended is waited for, and then for a quiet moment: calls made while kinds were being switched have
 * records or have none, so that the number alone does not tell.
 */
long wt_cupti_disarm(int64_t most_ns, int (*stop)(void))
{
	int64_t now = wt_clock_mono_ns(), until = now + most_ns, last = now;
	uint64_t due = expected() - activity.expected0, want, got = 0, before = 0;
	int over;

	disable_kinds();
	want = expected() - activity.expected0;
	while (atomic_load(&activity.flushing) && wt_clock_mono_ns() < until)
		nap();
	for (;;) {
		told(wt_cupti.cuptiActivityFlushAll(0));
		wt_writer_poke();
		got = atomic_load(&activity.received) - activity.received0;
		now = wt_clock_mono_ns();
		if (got > before)
			last = now;
		before = got;
		over = now - last > QUIET_NS;
		if (now >= until || (stop ? stop() || (over && got >= due) : over || got >= want))
			break;
		nap();
	}
	ask_dropped();
	atomic_store_explicit(&activity.own, 0, memory_order_release);
	if (stop)
		want = due;
	return got < want ? (long)(want - got) : 0;
}

static int probe(void)
{
	return 0; /* anything more would touch CUPTI, and start is where that is allowed */
}

static int start(void)
{
	uint32_t version = 0;
	int r;

	wt_silence_enter();
	if (activity.loaded) { /* a later window */
		r = wt_cupti_state() == STATE(FAILED) ? -WT_E_UNSUPPORTED : wt_manners_start();
		if (r > 0)
			r = 0;
		goto out;
	}
	r = wt_cupti_load();
	if (r == -WT_E_NOENT) {
		WT_TROUBLE(CUPTI_LIBRARY, 0);
		wt_log("cupti_activity: no libcupti found: no device times");
		wt_writer_state(WT_LEVEL_API, STATE(ABSENT), REASON(START), 0);
		goto out;
	}
	if (r) {
		r = fail("looking up entry points", r);
		goto out;
	}
	activity.loaded = 1;
	if (wt_cupti.cuptiGetVersion)
		wt_cupti.cuptiGetVersion(&version);
	activity.null_buffer_ok = version >= 28; /* 12.9 */
	r = wt_manners_start();
	wt_log("cupti_activity: %s, version %u, kinds %u", wt_cupti.soname, version,
	       wt_cupti_kinds());
	if (r > 0)
		r = 0; /* not yet */
out:
	wt_silence_leave();
	return r;
}

static void fetch(int forced)
{
	int64_t begin = wt_clock_mono_ns();

	atomic_store(&activity.flushing, 1);
	if (wt_cupti_state() == STATE(OURS))
		told(wt_cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
	if (wt_cupti_state() == STATE(OURS))
		ask_dropped();
	atomic_store(&activity.flushing, 0);
	atomic_store(&activity.flush_ns, wt_clock_mono_ns() - begin);
}

static void flush(int forced)
{
	if (!forced)
		wt_manners_tick();
	if (wt_cupti_state() != STATE(OURS))
		return;
	if (forced &&
	    (atomic_load(&activity.distrust) || atomic_load(&activity.flush_ns) > SLOW_NS)) {
		wt_log("cupti_activity: last flush left out: %s",
		       atomic_load(&activity.distrust) ? "a context is lost"
						       : "the one before was slow");
		return;
	}
	fetch(forced);
}

/* At work: every other time, where that is cheap. In a pause: at rising intervals, for what the device is still at. */
static int is_due(uint64_t launched)
{
	activity.looks++;
	if (launched != activity.launched) {
		activity.launched = launched;
		activity.still = 0;
		return activity.looks % 2 == 0 && atomic_load(&activity.flush_ns) < CHEAP_NS;
	}
	if (activity.still < UINT32_MAX)
		activity.still++;
	return launched && activity.still <= STILL_MAX &&
	       !(activity.still & (activity.still - 1)) &&
	       atomic_load(&activity.flush_ns) < SLOW_NS;
}

int wt_cupti_look(void)
{
	uint64_t launched = 0;

	if (wt_cupti_state() != STATE(OURS))
		return 0;
	wt_ring_each(add_launched, &launched);
	if (!is_due(launched))
		return 0;
	fetch(0);
	return 1;
}

static void stop(void)
{
	flush(1);
	/* Kinds stay enabled and callbacks registered: switching off at exit has hung more than one release. */
}

const struct wt_collector wt_collector_cupti_activity = {
	.name = "cupti_activity",
	.probe = probe,
	.start = start,
	.flush = flush,
	.close = wt_manners_stop,
	.stop = stop,
};
