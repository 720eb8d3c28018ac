/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where device memory is lazy: every write of it goes through sim_pages (copies, zero fills) or is announced to it
 * (drv_touch: other fills, values written by streams, results of collectives). Device thread, but for the touch of a
 * library, which may come from any.
 *
 * The data lock is the outermost one here: memory that becomes shared is moved to a file while nothing writes it.
 */
#include "simgpu/cuda/drv.h"

#include <pthread.h>

static pthread_mutex_t data_lock = PTHREAD_MUTEX_INITIALIZER;

void drv_data_enter(void)
{
	pthread_mutex_lock(&data_lock);
}

void drv_data_leave(void)
{
	pthread_mutex_unlock(&data_lock);
}

void drv_touch(const void *address, uint64_t bytes)
{
	sim_pages_touch(drv_span, address, bytes);
}
