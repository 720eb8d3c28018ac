// SPDX-License-Identifier: Apache-2.0
/*
 * The job's own clock (pace.h).
 */
#include "agent/pace.h"

#include "agent/control.h"

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

void wt_pace_step(void)
{
	/* Steps are marked by one thread as a rule; where several do, all of them count. */
	uint64_t n =
		atomic_fetch_add_explicit(&wt_pace.at[WT_SPAN_STEPS], 1, memory_order_seq_cst) + 1;

	if (n >= atomic_load_explicit(&wt_pace.trigger[WT_SPAN_STEPS], memory_order_seq_cst))
		wt_pace_reached(WT_SPAN_STEPS);
}
