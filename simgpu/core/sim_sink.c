/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_sink.h. Callbacks hold the lock for reading, a replacement for writing: a sink must not replace itself from
 * its own callback. The flag keeps the usual case, no sink, free of the lock.
 */
#include "simgpu/core/sim_sink.h"

#include <pthread.h>
#include <string.h>

atomic_bool sim_sink_set;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct sim_sink sink;

void sim_sink_replace(const struct sim_sink *s)
{
	pthread_rwlock_wrlock(&lock);
	if (s)
		sink = *s;
	else
		memset(&sink, 0, sizeof(sink));
	atomic_store(&sim_sink_set, s != NULL);
	pthread_rwlock_unlock(&lock);
}

#define TELL(slot_, ...)                                                                           \
	do {                                                                                       \
		if (!atomic_load_explicit(&sim_sink_set, memory_order_relaxed))                    \
			break;                                                                     \
		pthread_rwlock_rdlock(&lock);                                                      \
		if (sink.slot_)                                                                    \
			sink.slot_(sink.arg, __VA_ARGS__);                                         \
		pthread_rwlock_unlock(&lock);                                                      \
	} while (0)

void sim_sink_op(const struct sim_op *op)
{
	TELL(op, op);
}

void sim_sink_api(const struct sim_api *api)
{
	TELL(api, api);
}

void sim_sink_context_end(uint32_t context)
{
	TELL(context_end, context);
}
