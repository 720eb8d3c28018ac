/* SPDX-License-Identifier: Apache-2.0 */
/* Troubles of the agent (trouble.h). */
#include "agent/trouble.h"

#include <stdatomic.h>

static struct {
	_Atomic uint32_t n;
	_Atomic int error;
} trouble[WT_TROUBLES];

void wt_trouble(unsigned what, int error)
{
	if (what < WT_TROUBLES &&
	    !atomic_fetch_add_explicit(&trouble[what].n, 1, memory_order_relaxed))
		atomic_store_explicit(&trouble[what].error, error, memory_order_relaxed);
}

uint32_t wt_trouble_read(unsigned what, int *ret_error)
{
	*ret_error = atomic_load_explicit(&trouble[what].error, memory_order_relaxed);
	return atomic_load_explicit(&trouble[what].n, memory_order_relaxed);
}
