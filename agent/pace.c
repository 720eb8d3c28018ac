// SPDX-License-Identifier: Apache-2.0
/*
 * The job's own clock (pace.h).
 */
#include "agent/pace.h"

#include "agent/agent.h"
#include "agent/control.h"
#include "agent/hot.h"

#define LEVELS 4u

struct wt_pace wt_pace = {.trigger = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};

void wt_pace_comm(uint32_t id, uint32_t ranks)
{
	uint32_t is = atomic_load(&wt_pace.comm);

	if (!ranks && is == id) { /* gone: the next one made will do */
		atomic_store(&wt_pace.comm, 0);
		atomic_store(&wt_pace.ranks, 0);
	} else if (id && ranks > atomic_load(&wt_pace.ranks)) {
		atomic_store(&wt_pace.at[WT_SPAN_COLLECTIVES], 0);
		atomic_store(&wt_pace.ranks, ranks);
		atomic_store(&wt_pace.comm, id);
	}
}

void wt_pace_reached(uint32_t unit)
{
	if (atomic_exchange(&wt_pace.trigger[unit], UINT64_MAX) != UINT64_MAX)
		wt_control_wake();
}

/* ---- steps in time ---- */

static struct {
	/* Of the thread that marked the first step, and its alone. */
	_Atomic uintptr_t owner;
	uint64_t tsc;
	uint32_t level, changes, same;
	/* Sums, and what of them was taken. */
	_Atomic uint64_t steps[LEVELS], ticks[LEVELS];
	uint64_t steps_taken[LEVELS], ticks_taken[LEVELS];
	_Atomic uint32_t noted; /* changes of the level, also those that a step has both of */
} timed;

static void time_step(void)
{
	uintptr_t me = (uintptr_t)&wt_tls, nobody = 0;
	uint32_t level = wt_level(), changes;
	uint64_t now = wt_tsc();

	if (atomic_load_explicit(&timed.owner, memory_order_relaxed) != me &&
	    !atomic_compare_exchange_strong(&timed.owner, &nobody, me))
		return;
	changes = atomic_load_explicit(&timed.noted, memory_order_relaxed);
	if (timed.tsc && level == timed.level && changes == timed.changes) {
		uint32_t i = (level - WT_LEVEL_OFF) % LEVELS;

		if (timed.same++) { /* the first after a change still pays for it */
			atomic_fetch_add_explicit(&timed.ticks[i], now - timed.tsc,
						  memory_order_relaxed);
			atomic_fetch_add_explicit(&timed.steps[i], 1, memory_order_relaxed);
		}
	} else {
		timed.same = 0;
	}
	timed.tsc = now;
	timed.level = level;
	timed.changes = changes;
}

void wt_pace_take(uint32_t level, uint64_t *ret_steps, uint64_t *ret_ticks)
{
	uint32_t i = level % LEVELS;
	uint64_t steps = atomic_load(&timed.steps[i]), ticks = atomic_load(&timed.ticks[i]);

	atomic_fetch_add(&timed.noted, 1);
	*ret_steps = steps - timed.steps_taken[i];
	*ret_ticks = ticks - timed.ticks_taken[i];
	for (uint32_t k = 0; k < LEVELS;
	     k++) { /* what ran at another level meanwhile is nobody's */
		timed.steps_taken[k] = k == i ? steps : atomic_load(&timed.steps[k]);
		timed.ticks_taken[k] = k == i ? ticks : atomic_load(&timed.ticks[k]);
	}
}

void wt_pace_step(void)
{
	time_step(); /* before the count: what it wakes finds this step timed */
	/* Steps are marked by one thread as a rule; where several do, all of them count, and one is timed. */
	uint64_t n =
		atomic_fetch_add_explicit(&wt_pace.at[WT_SPAN_STEPS], 1, memory_order_seq_cst) + 1;

	if (n >= atomic_load_explicit(&wt_pace.trigger[WT_SPAN_STEPS], memory_order_seq_cst))
		wt_pace_reached(WT_SPAN_STEPS);
}
