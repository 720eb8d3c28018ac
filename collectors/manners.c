// SPDX-License-Identifier: Apache-2.0
/*
 * When to leave and when to come back; see manners.h. What leaving and coming back are is in cupti_activity.c, whose
 * buffer is whose in lent.c.
 *
 * Lock: `door`, held by a foreign call for the time of its yielding and its bookkeeping (never over the real call),
 * and by the writer while it takes collection up again. The writer gives way as soon as somebody waits, so the wait is
 * one call of CUPTI, and it ends after DOOR_NS in any case. Nothing of the job is called with the door held.
 *
 * A call that merely registers, or fails, leaves nothing enabled: then there is nothing to be flushed and the quiet
 * time begins at once. A subscriber takes nothing from us: we have none. Unsubscribing ends a session as a flush does,
 * but kinds that stay enabled keep us away: somebody may still be reading them.
 */
#define _GNU_SOURCE
#include "collectors/manners.h"

#include <cupti.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/clock.h"
#include "agent/config.h"
#include "agent/launches.h"
#include "agent/lifecycle.h"
#include "agent/redact.h"
#include "agent/tls.h"
#include "agent/trouble.h"
#include "collectors/cupti_activity.h"
#include "collectors/lent.h"
#include "proto/wt_err.h"
#include "trace.pb-c.h"

#define STATE(s_)  WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_##s_
#define REASON(r_) WARPTAP__V1__STATE_REASON__STATE_REASON_##r_

#define KINDS	    256 /* CUpti_ActivityKind ends below 64 today */
#define CBIDS	    2048
#define PAIRS	    64
#define DOOR_NS	    1000000000ll
#define DISARM_NS   100000000	  /* most that stepping aside may take: the job's thread waits */
#define STOP_NS	    1000000000	  /* for what is in flight when a window closes: nobody waits */
#define QUICK_NS    60000000000ll /* a stay shorter than this was hardly worth coming back for */
#define SICK_NS	    10000000000ll
#define QUICK_MOST  3
#define COOL_MAX_NS 600000000000ll

static struct {
	atomic_flag door;
	_Atomic uint32_t waiting,
		inside; /* foreign calls at the door, and between enter and leave */
	/* What other tools have switched on. */
	uint8_t kind[KINDS];
	uint8_t call[2][CBIDS]; /* driver, runtime */
	struct {
		const void *context; /* or subscriber */
		uint32_t kind;
	} pair[PAIRS];
	uint32_t pairs, on;  /* on: all of the above */
	int overflow;	     /* more than we can keep: until it finalizes */
	int unflushed;	     /* something was on since the last flush */
	_Atomic int leaving; /* our last flush is under way */
	_Atomic int clock;   /* device times are counted by a clock of theirs */
	_Atomic int64_t last_ns;
	int64_t armed_ns, cool_ns;
	_Atomic int wanted; /* a window is open: when it is our turn, collect */
	int sick;	    /* given up for records without times, not yet begun anew */
	int64_t sick_ns, sick_until_ns;
	uint32_t reason; /* of the window */
	uint64_t window;
	uint32_t quick;
	char holder[WT_HOLDER_MAX];
} m = {.door = ATOMIC_FLAG_INIT};

/* ---- the door ---- */

static int lock(void)
{
	int64_t until = 0;

	atomic_fetch_add(&m.waiting, 1);
	while (atomic_flag_test_and_set_explicit(&m.door, memory_order_acquire)) {
		struct timespec nap = {.tv_nsec = 50000};
		int64_t now = wt_clock_mono_ns();

		if (!until)
			until = now + DOOR_NS;
		if (now > until) {
			atomic_fetch_sub(&m.waiting, 1);
			return -WT_E_LIMIT;
		}
		nanosleep(&nap, NULL);
	}
	atomic_fetch_sub(&m.waiting, 1);
	return 0;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&m.door, memory_order_release);
}

/* Whoever holds the door for long asks this. */
static int someone_waits(void)
{
	return atomic_load(&m.waiting) != 0;
}

/* ---- who ---- */

struct finder {
	uintptr_t at;
	char *name;
};

static int is_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct finder *f = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

		if (p->p_type != PT_LOAD || f->at < info->dlpi_addr + p->p_vaddr ||
		    f->at >= info->dlpi_addr + p->p_vaddr + p->p_memsz)
			continue;
		base = base ? base + 1 : info->dlpi_name ? info->dlpi_name : "";
		strncpy(f->name, *base ? base : "the program", WT_HOLDER_MAX - 1);
		return 1;
	}
	return 0;
}

/* Not dladdr: that takes the lock under which libraries run constructors, and one of those may wait for the caller. */
static void remember_caller(const void *caller)
{
	struct finder f = {(uintptr_t)caller, m.holder};

	memset(m.holder, 0, sizeof(m.holder));
	dl_iterate_phdr(is_in, &f);
}

/* ---- states ---- */

static void set_level(uint32_t from, uint32_t to)
{
	atomic_compare_exchange_strong(wt_level_word, &from, to);
}

/* What the job's hooks do while nothing is collected. */
static uint32_t level_now(void)
{
	uint32_t level = atomic_load(wt_level_word);

	return level < WT_LEVEL_API ? level : WT_LEVEL_API;
}

static void say(uint32_t state, uint64_t device_ns)
{
	wt_writer_note(&(struct wt_state_note){.level = level_now(),
					       .cupti = state,
					       .reason = REASON(FOREIGN),
					       .device_ns = device_ns,
					       .holder = m.holder});
}

static void say_own(uint32_t level, uint32_t state, uint32_t reason, uint64_t device_ns)
{
	wt_writer_note(&(struct wt_state_note){.level = level,
					       .cupti = state,
					       .reason = reason,
					       .device_ns = device_ns,
					       .window = m.window});
}

static void yield(void)
{
	int64_t now = wt_clock_mono_ns();
	uint64_t device_ns = wt_cupti_timestamp();
	long overdue;

	atomic_store(&m.leaving, 1);
	wt_cupti_set_state(STATE(YIELDED));
	set_level(WT_LEVEL_TRACE, WT_LEVEL_API);
	say(STATE(YIELDED), device_ns);
	wt_launches_edge(WT_EDGE_OFF, wt_tsc());
	overdue = wt_cupti_disarm(DISARM_NS, NULL);
	atomic_store(&m.leaving, 0);
	m.quick = now - m.armed_ns < QUICK_NS ? m.quick + 1 : 1;
	if (m.quick == 1 || !m.cool_ns)
		m.cool_ns = (int64_t)wt_config.cool_ms * 1000000;
	if (m.quick >= QUICK_MOST)
		m.cool_ns = m.cool_ns * 2 < COOL_MAX_NS ? m.cool_ns * 2 : COOL_MAX_NS;
	wt_log("cupti_activity: steps aside for %s, %ld operations in flight",
	       wt_redacted_word(m.holder), overdue);
}

/* Something was given up, or never taken: is it time to wait for quiet? */
static void settle(void)
{
	if (wt_cupti_state() != STATE(YIELDED) || m.on || m.overflow || m.unflushed)
		return;
	wt_cupti_set_state(STATE(COOL));
	say(STATE(COOL), 0);
}

int wt_manners_enter(int takes, const void *caller)
{
	struct wt_tls *t = &wt_tls;
	int saved = errno;

	if (!wt_words->alive || t->cupti || t->busy >= WT_BUSY_SILENT)
		return 0;
	t->cupti = 1;
	wt_silence_enter();
	if (lock()) {
		wt_silence_leave();
		t->cupti = 0;
		errno = saved;
		return 0;
	}
	atomic_fetch_add(&m.inside, 1);
	atomic_store(&m.last_ns, wt_clock_mono_ns());
	if (takes) {
		remember_caller(caller);
		if (wt_cupti_state() == STATE(OURS)) {
			yield();
		} else if (wt_cupti_state() == STATE(COOL)) {
			wt_cupti_set_state(STATE(YIELDED));
			say(STATE(YIELDED), 0);
		}
	}
	unlock();
	wt_silence_leave();
	errno = saved;
	return 1;
}

void wt_manners_leave(void)
{
	int saved = errno;

	if (!lock()) {
		settle();
		unlock();
	}
	atomic_store(&m.last_ns, wt_clock_mono_ns());
	atomic_fetch_sub(&m.inside, 1);
	wt_tls.cupti = 0;
	errno = saved;
}

/* ---- what it did ---- */

static void flip(uint8_t *is, int on)
{
	if (*is == on)
		return;
	*is = (uint8_t)on;
	m.on += on ? 1 : UINT32_MAX;
	m.unflushed |= on;
}

void wt_manners_kind(int r, uint32_t kind, int on)
{
	static const uint8_t domain[] = {CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};

	if (r || lock())
		return;
	if (kind < KINDS)
		flip(&m.kind[kind], on);
	/* The kind as a whole, switched off, takes its single calls with it. */
	for (int d = 0; d < 2 && !on; d++)
		for (uint32_t i = 0; i < CBIDS && kind == domain[d]; i++)
			flip(&m.call[d][i], 0);
	unlock();
}

void wt_manners_context_kind(int r, const void *context, uint32_t kind, int on)
{
	uint32_t i = 0;

	if (r || lock())
		return;
	while (i < m.pairs && (m.pair[i].context != context || m.pair[i].kind != kind))
		i++;
	if (on && i == m.pairs && i == PAIRS) {
		m.overflow = 1;
	} else if (on && i == m.pairs) {
		m.pair[i].context = context;
		m.pair[i].kind = kind;
		m.pairs++;
		m.on++;
		m.unflushed = 1;
	} else if (!on && i < m.pairs) {
		m.pair[i] = m.pair[--m.pairs];
		m.on--;
	}
	unlock();
}

void wt_manners_call(int r, int runtime, uint32_t cbid, int on)
{
	if (r || cbid >= CBIDS || lock())
		return;
	flip(&m.call[runtime][cbid], on != 0);
	unlock();
}

void wt_manners_clock(int r)
{
	if (!r)
		atomic_store(&m.clock, 1);
}

int wt_manners_leaving(void)
{
	return atomic_load(&m.leaving);
}

int wt_manners_clock_is_foreign(void)
{
	return atomic_load_explicit(&m.clock, memory_order_relaxed);
}

void wt_manners_flushed(int r)
{
	wt_lent_deliver();
	if (r || lock())
		return;
	if (!m.on)
		m.unflushed = 0;
	unlock();
}

void wt_manners_gone(int r, const void *subscriber)
{
	if (r || lock())
		return;
	for (uint32_t i = m.pairs; i--;) {
		if (subscriber && m.pair[i].context != subscriber)
			continue;
		m.pair[i] = m.pair[--m.pairs];
		m.on--;
	}
	if (!subscriber) {
		memset(m.kind, 0, sizeof(m.kind));
		memset(m.call, 0, sizeof(m.call));
		m.on = 0;
		m.overflow = 0;
		atomic_store(&m.clock, 0);
		wt_lent_forget();
	}
	if (!m.on)
		m.unflushed = 0;
	unlock();
}

void wt_manners_callbacks(wt_cupti_request *request, wt_cupti_complete *complete)
{
	wt_lent_callbacks(request, complete);
}

void wt_manners_callbacks_refused(void)
{
	wt_lent_callbacks_refused();
}

/* ---- the collector's side ---- */

/* Holds the door. */
static int arm(uint32_t reason)
{
	uint64_t device_ns;
	int r;

	wt_launches_edge(WT_EDGE_ARMING, wt_tsc());
	r = wt_cupti_arm(someone_waits);
	wt_launches_edge(r ? WT_EDGE_OFF : WT_EDGE_ON, wt_tsc());
	if (r)
		return r;
	m.armed_ns = wt_clock_mono_ns();
	wt_cupti_set_state(STATE(OURS));
	device_ns = wt_cupti_timestamp();
	say_own(WT_LEVEL_TRACE, STATE(OURS), reason, device_ns);
	return 0;
}

static int64_t cool_left_ns(void)
{
	int64_t last = atomic_load(&m.last_ns);
	int64_t cool = m.cool_ns ? m.cool_ns : (int64_t)wt_config.cool_ms * 1000000;

	return last ? last + cool - wt_clock_mono_ns() : 0;
}

int wt_manners_start(void)
{
	int r = lock();

	if (r)
		return r;
	atomic_store(&m.wanted, 1);
	if (wt_cupti_state() == STATE(OURS)) {
		r = 0;
	} else if (m.on || m.overflow || m.unflushed || cool_left_ns() > 0 ||
		   atomic_load(&m.inside)) {
		wt_cupti_set_state(STATE(YIELDED));
		say(STATE(YIELDED), 0);
		settle();
		wt_log("cupti_activity: %s was here first: waiting for it to leave",
		       wt_redacted_word(m.holder));
		r = 1;
	} else {
		if (m.reason != REASON(START)) { /* else no call can have been made yet */
			wt_cupti_set_state(STATE(READY));
			say_own(level_now(), STATE(READY), m.reason, 0);
		}
		r = arm(m.reason);
		if (!r)
			set_level(WT_LEVEL_API, WT_LEVEL_TRACE);
	}
	unlock();
	return r;
}

void wt_manners_want(uint32_t reason, uint64_t window)
{
	m.reason = reason;
	m.window = window;
}

int wt_manners_stop(uint32_t reason)
{
	static int said; /* once is enough for people, the trace has them all */
	uint64_t device_ns;
	long overdue;
	int r = lock();

	if (r)
		return r;
	atomic_store(&m.wanted, 0);
	if (wt_cupti_state() == STATE(OURS)) {
		device_ns = wt_cupti_timestamp();
		atomic_store(&m.leaving, 1);
		wt_cupti_set_state(STATE(READY));
		set_level(WT_LEVEL_TRACE, WT_LEVEL_API);
		say_own(WT_LEVEL_API, STATE(READY), reason, device_ns);
		wt_launches_edge(WT_EDGE_OFF, wt_tsc());
		overdue = wt_cupti_disarm(STOP_NS, someone_waits);
		atomic_store(&m.leaving, 0);
		if (overdue && !said++)
			wt_log("cupti_activity: %ld operations were in flight when the window "
			       "closed",
			       overdue);
	}
	unlock();
	return 0;
}

/*
 * Holds the door; writer. CUPTI's store of times on the device can run dry, and then every record comes without: ended
 * here, taken up again by a later tick, when what was under way has been read. Each time it waits twice as long.
 */
static void give_up(int64_t now)
{
	uint64_t device_ns = wt_cupti_timestamp();

	atomic_store(&m.leaving, 1);
	wt_cupti_set_state(STATE(COOL));
	set_level(WT_LEVEL_TRACE, WT_LEVEL_API);
	say_own(level_now(), STATE(COOL), REASON(ERROR), device_ns);
	wt_launches_edge(WT_EDGE_OFF, wt_tsc());
	wt_cupti_disarm(DISARM_NS, NULL);
	atomic_store(&m.leaving, 0);
	m.sick = 1;
	m.sick_ns = !m.sick_ns			  ? SICK_NS
		    : m.sick_ns < COOL_MAX_NS / 2 ? m.sick_ns * 2
						  : COOL_MAX_NS;
	m.sick_until_ns = now + m.sick_ns;
	WT_TROUBLE(UNTIMED, 0);
	wt_log("cupti_activity: records come without times: collection begins anew");
}

static void look_after(void)
{
	int64_t now = wt_clock_mono_ns();

	if (!wt_cupti_is_sick() || now < m.sick_until_ns || atomic_load(&m.inside) ||
	    atomic_flag_test_and_set_explicit(&m.door, memory_order_acquire))
		return;
	if (wt_cupti_state() == STATE(OURS) && !atomic_load(&m.inside))
		give_up(now);
	unlock();
}

void wt_manners_tick(void)
{
	uint32_t reason = m.sick ? REASON(ERROR) : REASON(FOREIGN);
	int r;

	if (wt_cupti_state() == STATE(OURS)) {
		look_after();
		return;
	}
	if (wt_cupti_state() != STATE(COOL) || !atomic_load(&m.wanted) || atomic_load(&m.inside) ||
	    cool_left_ns() > 0)
		return;
	/* not lock(): somebody inside means that it is not quiet */
	if (atomic_flag_test_and_set_explicit(&m.door, memory_order_acquire))
		return;
	if (wt_cupti_state() == STATE(COOL) && atomic_load(&m.wanted) && !atomic_load(&m.inside)) {
		/* From here on kinds come on, one by one: the reader must know how early a record can be. */
		wt_cupti_set_state(STATE(READY));
		if (m.sick)
			say_own(level_now(), STATE(READY), reason, 0);
		else
			say(STATE(READY), 0);
		r = arm(reason);
		if (wt_cupti_state() == STATE(READY))
			wt_cupti_set_state(STATE(COOL)); /* somebody is at the door */
		if (!r) {
			set_level(WT_LEVEL_API, WT_LEVEL_TRACE);
			m.sick = 0;
			wt_log("cupti_activity: back");
		}
	}
	unlock();
}
