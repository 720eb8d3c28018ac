/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device thread: it completes what is due. One per process, detached, all signals blocked, never joined: a process
 * may end at any moment and must not hang in it.
 *
 * Laziness: completing late changes no time on the timeline, so with nobody waiting the thread looks twice a
 * millisecond only, and a launch costs no wake-up. It is punctual for the moment a waiter wants, for host functions,
 * and polls an open rendezvous more often.
 *
 * Order: what is due is taken off the heap in order of end times (ties: order of submission, which follows
 * dependencies) and completed in that order with the lock given up; busy_ns keeps waiters from running ahead of it.
 */
#include "simgpu/core/sim_engine.h"

#include "simgpu/core/sim_lane.h"
#include "simgpu/core/sim_sink.h"
#include "simgpu/core/sim_truth.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define LAZY_NS 500000
#define POLL_NS                                                                                    \
	50000 /* an open rendezvous, at first; doubled up to POLL_MAX_NS while nothing happens */
#define POLL_MAX_NS 400000
#define LINGER	    8 /* lazy rounds with nothing to do before it sleeps for good */
#define SPIN_NS	    40000
#define BATCH_OPS   256

struct heap_slot {
	int64_t key_ns;
	uint64_t number;
	struct sim_work *work;
};

struct heap {
	struct heap_slot *slot;
	size_t n, room;
};

static struct {
	struct heap ends;   /* settled operations, by end */
	struct heap starts; /* open operations, by start */
	struct sim_work *polled;
	int64_t poll_ns;
	int64_t busy_ns; /* smallest end among those being completed without the lock */
	int64_t want_ns; /* earliest moment somebody waits for; every broadcast clears it, waiters ask again */
	uint32_t waiters;
	atomic_uint rounds;	 /* broadcasts so far */
	int64_t sleeps_until_ns; /* of the device thread; 0 = it is awake */
	bool started, closing;
	pthread_cond_t wake, progress;
} engine = {.busy_ns = SIM_NEVER,
	    .want_ns = SIM_NEVER,
	    .poll_ns = POLL_NS,
	    .wake = PTHREAD_COND_INITIALIZER,
	    .progress = PTHREAD_COND_INITIALIZER};

void (*sim_work_failed)(struct sim_work *w);

static bool earlier(const struct heap_slot *a, const struct heap_slot *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->number < b->number;
}

static void push(struct heap *h, struct sim_work *w, int64_t key_ns)
{
	struct heap_slot s = {key_ns, w->number, w};
	size_t i = h->n;

	if (h->n == h->room) {
		h->room = h->room ? h->room * 2 : 1024;
		h->slot = realloc(h->slot, h->room * sizeof(*h->slot));
		if (!h->slot) {
			sim_complain("out of host memory (%zu operations queued)", h->n);
			__builtin_trap();
		}
	}
	h->n++;
	for (; i && earlier(&s, &h->slot[(i - 1) / 2]); i = (i - 1) / 2)
		h->slot[i] = h->slot[(i - 1) / 2];
	h->slot[i] = s;
}

static struct sim_work *pop(struct heap *h)
{
	struct sim_work *ret = h->slot[0].work;
	struct heap_slot s = h->slot[--h->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && earlier(&h->slot[child + 1], &h->slot[child]))
			child++;
		if (!earlier(&h->slot[child], &s))
			break;
		h->slot[i] = h->slot[child];
	}
	h->slot[i] = s;
	return ret;
}

static int64_t top_ns(const struct heap *h)
{
	return h->n ? h->slot[0].key_ns : SIM_NEVER;
}

void sim_push_end(struct sim_work *w)
{
	push(&engine.ends, w, w->op.end_ns);
	/* A thread that sleeps for good has to learn that there is work; a lazy one looks soon enough. */
	if (engine.sleeps_until_ns == SIM_NEVER)
		sim_kick();
}

void sim_push_start(struct sim_work *w)
{
	push(&engine.starts, w, w->op.start_ns);
	if (engine.sleeps_until_ns > w->op.start_ns)
		sim_kick();
}

bool sim_completed_beyond(int64_t ns)
{
	return engine.busy_ns > ns && top_ns(&engine.ends) > ns;
}

void sim_kick(void)
{
	if (engine.sleeps_until_ns)
		pthread_cond_signal(&engine.wake);
}

static bool run_polls(int64_t now_ns)
{
	struct sim_work **link = &engine.polled, *w, *ready = NULL;
	bool did = false;

	while ((w = *link)) {
		int64_t end_ns = 0;
		int rc;
		sim_leave();
		rc = w->behaviour->poll(w, &end_ns);
		sim_enter();
		if (!rc) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		w->next = NULL;
		w->op.end_ns = sim_max(rc < 0 ? now_ns : end_ns, w->op.start_ns);
		if (rc < 0 && sim_work_failed)
			sim_work_failed(w);
		sim_work_settled(w, &ready);
		sim_settle_all(ready);
		ready = NULL;
		did = true;
	}
	return did;
}

/* Without the lock. An open operation here is one whose start the clock has reached. */
static void complete(struct sim_work *w, bool open)
{
	const struct sim_behaviour *b = w->behaviour;

	if (open) {
		if (b->start)
			b->start(w);
		return;
	}
	if (b && b->finish)
		b->finish(w);
	if (w->op.kind) {
		sim_truth_op(&w->op);
		sim_sink_op(&w->op);
	}
}

/* Takes what is due next: an end before a start of the same moment if it was submitted before. NULL = nothing. */
static struct sim_work *next_due(int64_t now_ns)
{
	struct heap *e = &engine.ends, *s = &engine.starts;
	struct heap *h = !s->n || (e->n && earlier(&e->slot[0], &s->slot[0])) ? e : s;

	return top_ns(h) <= now_ns ? pop(h) : NULL;
}

static bool run_due(int64_t now_ns)
{
	struct sim_work *batch[BATCH_OPS], *w;
	bool open[BATCH_OPS];
	size_t n = 0;

	while (n < BATCH_OPS && (w = next_due(now_ns))) {
		/* Its state may change once start ran: a host function closes on a thread of its own. */
		open[n] = w->state == SIM_OPEN;
		if (open[n])
			w->refs++;
		else if (w->op.end_ns < engine.busy_ns)
			engine.busy_ns = w->op.end_ns;
		batch[n++] = w;
	}
	if (!n)
		return false;
	sim_leave();
	for (size_t i = 0; i < n; i++)
		complete(batch[i], open[i]);
	sim_truth_flush();
	sim_enter();
	for (size_t i = 0; i < n; i++) {
		w = batch[i];
		if (!open[i]) {
			w->state = SIM_DONE;
			if (w->lane)
				w->lane->queued--;
		} else if (w->behaviour->poll) {
			w->next = engine.polled;
			engine.polled = w;
			engine.poll_ns = POLL_NS;
		}
		sim_work_unref(w);
	}
	engine.busy_ns = SIM_NEVER;
	return true;
}

bool sim_step(int64_t now_ns)
{
	bool did = run_polls(now_ns);

	did |= run_due(now_ns);
	return did;
}

static void sleep_on(pthread_cond_t *c, int64_t until_ns)
{
	struct timespec t = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};

	if (until_ns == SIM_NEVER)
		pthread_cond_wait(c, &sim_lock);
	else
		pthread_cond_timedwait(c, &sim_lock, &t);
}

static int64_t next_look(int64_t now_ns, int *idle)
{
	int64_t due = sim_max(top_ns(&engine.ends), now_ns + LAZY_NS);

	if (!engine.ends.n && !engine.starts.n && !engine.polled && engine.want_ns == SIM_NEVER)
		return ++*idle > LINGER ? SIM_NEVER : now_ns + LAZY_NS;
	*idle = 0;
	if (top_ns(&engine.starts) < due)
		due = top_ns(&engine.starts);
	if (engine.want_ns < due)
		due = engine.want_ns;
	if (engine.polled && now_ns + engine.poll_ns < due) {
		due = now_ns + engine.poll_ns;
		engine.poll_ns =
			engine.poll_ns * 2 < POLL_MAX_NS ? engine.poll_ns * 2 : POLL_MAX_NS;
	}
	return due;
}

static void *device_thread(void *arg)
{
	int idle = 0;

	/* The default slack of 50 us would be longer than most kernels. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	prctl(PR_SET_NAME, "simgpu");
	sim_enter();
	while (!engine.closing) {
		int64_t now = sim_now_ns(), until;
		bool did = false;
		while (sim_step(now))
			did = true;
		if (did)
			engine.poll_ns = POLL_NS;
		if (engine.waiters && (did || engine.want_ns <= now)) {
			engine.want_ns = SIM_NEVER;
			atomic_fetch_add(&engine.rounds, 1);
			pthread_cond_broadcast(&engine.progress);
		}
		until = next_look(now, &idle);
		if (until <= sim_now_ns())
			continue;
		if (until - now < SPIN_NS && engine.waiters) {
			sim_leave();
			while (sim_now_ns() < until)
				;
			sim_enter();
			continue;
		}
		engine.sleeps_until_ns = until;
		sleep_on(&engine.wake, until);
		engine.sleeps_until_ns = 0;
	}
	pthread_cond_broadcast(&engine.progress);
	sim_leave();
	return arg;
}

void sim_engine_start(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;

	sim_enter();
	if (!engine.started) {
		engine.started = true;
		sigfillset(&all);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		if (pthread_create(&t, &attr, device_thread, NULL))
			sim_complain("cannot start the device thread");
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_attr_destroy(&attr);
	}
	sim_leave();
}

/*
 * A short wait is spun, as the real driver does: two sleeps and two wake-ups would cost ten times a short kernel. True:
 * the device thread has been round meanwhile.
 */
static bool spin_for_round(int64_t ns)
{
	int64_t now = sim_now_ns(), limit = sim_max(ns, now) + SPIN_NS;
	unsigned int round = atomic_load(&engine.rounds);

	if (ns > now + SPIN_NS)
		return false;
	sim_leave();
	while (atomic_load(&engine.rounds) == round && sim_now_ns() < limit)
		;
	sim_enter();
	return atomic_load(&engine.rounds) != round || engine.closing;
}

bool sim_sleep_for(int64_t ns)
{
	if (engine.closing)
		return false;
	engine.waiters++;
	if (ns < engine.want_ns)
		engine.want_ns = ns;
	if (engine.sleeps_until_ns > ns)
		sim_kick();
	if (!spin_for_round(ns))
		pthread_cond_wait(&engine.progress, &sim_lock);
	engine.waiters--;
	return !engine.closing;
}

bool sim_wait_progress(void)
{
	return sim_sleep_for(SIM_NEVER);
}

void sim_drain(void)
{
	int64_t until = sim_now_ns();

	sim_enter();
	while (engine.started && !sim_completed_beyond(until) && sim_sleep_for(until))
		;
	sim_leave();
}

void sim_engine_close(int64_t limit_ns)
{
	int64_t now = sim_now_ns(), until = now, deadline = now + limit_ns;

	/* Somebody may hold the lock for ever: a thread that was cancelled, or one stopped by a debugger. */
	while (pthread_mutex_trylock(&sim_lock)) {
		struct timespec t = {.tv_nsec = 200000};
		if (sim_now_ns() > deadline)
			return;
		nanosleep(&t, NULL);
	}
	engine.waiters++;
	while (engine.started && !sim_completed_beyond(until) && sim_now_ns() < deadline) {
		engine.want_ns = until;
		sim_kick();
		sleep_on(&engine.progress, deadline);
	}
	engine.waiters--;
	engine.closing = true;
	pthread_cond_signal(&engine.wake);
	pthread_cond_broadcast(&engine.progress);
	sim_leave();
}
