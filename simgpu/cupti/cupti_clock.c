/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the driver's clock (ns of CLOCK_REALTIME) to the client's, once it registered a timestamp callback. That clock
 * counts whatever the client likes: PyTorch's gives raw TSC ticks, so offset and rate both have to be measured.
 *
 * The map is made of straight pieces that join: about every 50 ms of use a new pair of readings bends the line so that
 * it meets the true one 50 ms later. It never jumps, so two operations of a stream never come to overlap by it, and a
 * time that lies a while back is mapped by the piece of its own time. A clock that counts ns too (its first rate is 1
 * within the error of the readings) keeps one offset for the whole session: durations stay exact. Any thread.
 */
#include "simgpu/cupti/cupti_sim.h"

#include <pthread.h>
#include <time.h>

#define PIECES	   128
#define REFRESH_NS 50000000
#define BASE_NS	   1000000 /* over which the first rate is measured */
#define SAME_RATE  0.001

struct reading {
	int64_t ns, theirs;
};
struct piece {
	struct reading from;
	double rate;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_TimestampCallbackFunc clock_fn;
static struct reading first;
static struct piece pieces[PIECES]; /* a ring, newest at newest % PIECES */
static uint64_t newest;
static int counts_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The tightest of a few brackets. */
static struct reading read_both(CUpti_TimestampCallbackFunc fn)
{
	struct reading r = {0, 0};
	int64_t best = INT64_MAX;

	for (int i = 0; i < 8; i++) {
		int64_t before = now_ns(), theirs = (int64_t)fn(), after = now_ns();

		if (after - before < best) {
			best = after - before;
			r = (struct reading){before + best / 2, theirs};
		}
	}
	return r;
}

static int64_t along(const struct piece *p, int64_t ns)
{
	return p->from.theirs + (int64_t)((double)(ns - p->from.ns) * p->rate);
}

/* Holds the lock. */
static const struct piece *piece_of(int64_t ns)
{
	for (uint64_t i = newest; i > 0 && newest - i < PIECES - 1; i--)
		if (pieces[i % PIECES].from.ns <= ns)
			return &pieces[i % PIECES];
	return &pieces[newest < PIECES ? 0 : (newest + 1) % PIECES];
}

/* Holds the lock. */
static void refresh(void)
{
	struct reading now = read_both(clock_fn);
	double rate;
	int64_t mapped;

	if (now.ns - first.ns < BASE_NS)
		return;
	rate = (double)(now.theirs - first.theirs) / (double)(now.ns - first.ns);
	mapped = along(&pieces[newest % PIECES], now.ns);
	rate += (double)(now.theirs - mapped) / REFRESH_NS;
	if (rate <= 0)
		return; /* a clock that runs backwards: the old line stays */
	newest++;
	pieces[newest % PIECES] = (struct piece){{now.ns, mapped}, rate};
}

/* As the scenario's [clock] skews it. A client's own clock hides that: CUPTI converts what it gets. */
int64_t cupti_device_clock(int64_t ns)
{
	const struct sim_export *sim = cupti_sim();

	return sim && sim->bytes >= offsetof(struct sim_export, fault) ? sim->device_clock_ns(ns)
								       : ns;
}

uint64_t cupti_time(int64_t ns)
{
	int64_t t = ns;

	if (!__atomic_load_n(&clock_fn, __ATOMIC_ACQUIRE))
		return (uint64_t)cupti_device_clock(ns);
	pthread_mutex_lock(&lock);
	if (!counts_ns && now_ns() - pieces[newest % PIECES].from.ns > REFRESH_NS)
		refresh();
	t = along(piece_of(ns), ns);
	pthread_mutex_unlock(&lock);
	return (uint64_t)t;
}

CUpti_TimestampCallbackFunc cupti_client_clock(void)
{
	return __atomic_load_n(&clock_fn, __ATOMIC_ACQUIRE);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	struct reading later;
	double rate;

	if (!funcTimestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	if (clock_fn != funcTimestamp) {
		first = read_both(funcTimestamp);
		while (now_ns() - first.ns < BASE_NS)
			;
		later = read_both(funcTimestamp);
		newest = 0;
		rate = (double)(later.theirs - first.theirs) / (double)(later.ns - first.ns);
		counts_ns = rate > 1 - SAME_RATE && rate < 1 + SAME_RATE;
		pieces[0] = (struct piece){first, counts_ns ? 1 : rate};
		__atomic_store_n(&clock_fn, funcTimestamp, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}
