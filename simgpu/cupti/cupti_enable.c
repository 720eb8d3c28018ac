/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is on, and since when. Each kind keeps the intervals in which it was on (the last ones; a context's own beside
 * the global ones), because a record is due for work submitted while its kind was on, however late the work ends.
 * Single API calls are switched apart from their kind, as cuptiActivityEnableRuntimeApi says. Any thread.
 */
#include "simgpu/cudart/sim_stub.h"
#include "simgpu/cupti/cupti_sim.h"

#include <pthread.h>
#include <string.h>

#define HISTORY	  64
#define MAX_CBIDS 2048

struct interval {
	int64_t on_ns, off_ns; /* off: INT64_MAX = still on; on == off: unused */
	uint32_t context;      /* 0 = all */
};

static struct {
	struct interval slots[HISTORY];
	unsigned next;
} history[CUPTI_ACTIVITY_KIND_COUNT];

struct call {
	int64_t on_ns; /* 0 = off */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct call calls[2][MAX_CBIDS]; /* by sim_domain; callback ids of 13.0 end below 1024 */
static int sink_set;

/* This stand-in has no overhead of its own to tell of: OVERHEAD yields records where a scenario holds threads. */
static const uint8_t supported[CUPTI_ACTIVITY_KIND_COUNT] = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = 1,
	[CUPTI_ACTIVITY_KIND_MEMSET] = 1,
	[CUPTI_ACTIVITY_KIND_KERNEL] = 1,
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 1,
	[CUPTI_ACTIVITY_KIND_DRIVER] = 1,
	[CUPTI_ACTIVITY_KIND_RUNTIME] = 1,
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = 1,
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = 1,
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = 1,
};

int cupti_was_on(CUpti_ActivityKind kind, uint32_t context, int64_t ns)
{
	int on = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < HISTORY && !on; i++) {
		const struct interval *v = &history[kind].slots[i];

		on = ns >= v->on_ns && ns < v->off_ns && (!v->context || v->context == context);
	}
	pthread_mutex_unlock(&lock);
	return on;
}

int cupti_api_on(enum sim_domain domain, uint32_t cbid, int64_t start_ns)
{
	int64_t on_ns;

	if (cbid >= MAX_CBIDS)
		return 0;
	on_ns = __atomic_load_n(&calls[domain == SIM_RUNTIME][cbid].on_ns, __ATOMIC_RELAXED);
	return on_ns && start_ns >= on_ns;
}

/* Once set it stays: work in flight when a kind goes off is still owed its record. */
static void want_sink(const struct sim_export *sim)
{
	static const struct sim_sink sink = {.op = cupti_on_op, .api = cupti_on_api};

	if (!__atomic_exchange_n(&sink_set, 1, __ATOMIC_ACQ_REL))
		sim->set_sink(&sink);
}

static CUptiResult check_kind(CUpti_ActivityKind kind, const struct sim_export **ret_sim)
{
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	*ret_sim = cupti_sim();
	if (!*ret_sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!supported[kind]) {
		sim_log_line("stub cupti activity kind %d", (int)kind);
		return CUPTI_ERROR_NOT_SUPPORTED;
	}
	return CUPTI_SUCCESS;
}

/* Holds the lock. */
static void switch_calls(CUpti_ActivityKind kind, int64_t on_ns)
{
	if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER)
		return;
	for (unsigned i = 0; i < MAX_CBIDS; i++)
		__atomic_store_n(&calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME][i].on_ns, on_ns,
				 __ATOMIC_RELAXED);
}

static void turn_on(CUpti_ActivityKind kind, uint32_t context, int64_t now_ns)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < HISTORY; i++) {
		const struct interval *v = &history[kind].slots[i];

		if (v->off_ns == INT64_MAX && v->context == context) {
			pthread_mutex_unlock(&lock);
			return; /* on already */
		}
	}
	/* The oldest interval goes, but never one that is still open: there are at most two kinds of those. */
	do {
		history[kind].next = (history[kind].next + 1) % HISTORY;
	} while (history[kind].slots[history[kind].next].off_ns == INT64_MAX);
	history[kind].slots[history[kind].next] = (struct interval){now_ns, INT64_MAX, context};
	if (!context)
		switch_calls(kind, now_ns);
	pthread_mutex_unlock(&lock);
}

static void turn_off(CUpti_ActivityKind kind, uint32_t context, int64_t now_ns)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < HISTORY; i++) {
		struct interval *v = &history[kind].slots[i];

		if (v->off_ns == INT64_MAX && v->context == context)
			v->off_ns = now_ns;
	}
	if (!context)
		switch_calls(kind, 0);
	pthread_mutex_unlock(&lock);
}

void cupti_all_off(void)
{
	const struct sim_export *sim = cupti_sim();
	int64_t now_ns = sim ? sim->now_ns() : 0;

	pthread_mutex_lock(&lock);
	for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++) {
		for (unsigned i = 0; i < HISTORY; i++)
			if (history[kind].slots[i].off_ns == INT64_MAX)
				history[kind].slots[i].off_ns = now_ns;
		switch_calls((CUpti_ActivityKind)kind, 0);
	}
	pthread_mutex_unlock(&lock);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	const struct sim_export *sim;
	CUptiResult rc = check_kind(kind, &sim);

	CUPTI_MAY_FAIL();
	if (rc != CUPTI_SUCCESS)
		return rc;
	turn_on(kind, 0, sim->now_ns());
	want_sink(sim);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	const struct sim_export *sim;
	CUptiResult rc = check_kind(kind, &sim);

	CUPTI_MAY_FAIL();
	if (rc == CUPTI_SUCCESS)
		turn_off(kind, 0, sim->now_ns());
	return rc;
}

static CUptiResult switch_context(CUcontext context, CUpti_ActivityKind kind, int on)
{
	const struct sim_export *sim;
	CUptiResult rc = check_kind(kind, &sim);
	uint32_t id;

	if (rc != CUPTI_SUCCESS)
		return rc;
	/* The real one refuses the kinds that belong to no context. */
	if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER ||
	    kind == CUPTI_ACTIVITY_KIND_OVERHEAD ||
	    kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (!context || sim->context_id(context, &id) != CUDA_SUCCESS || !id)
		return CUPTI_ERROR_INVALID_CONTEXT;
	if (!on) {
		turn_off(kind, id, sim->now_ns());
		return CUPTI_SUCCESS;
	}
	turn_on(kind, id, sim->now_ns());
	want_sink(sim);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return switch_context(context, kind, 1);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return switch_context(context, kind, 0);
}

static CUptiResult switch_call(enum sim_domain domain, CUpti_CallbackId cbid, uint8_t enable)
{
	const struct sim_export *sim = cupti_sim();

	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!cbid || cbid >= MAX_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	__atomic_store_n(&calls[domain == SIM_RUNTIME][cbid].on_ns, enable ? sim->now_ns() : 0,
			 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	if (enable)
		want_sink(sim);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	CUPTI_MAY_FAIL();
	return switch_call(SIM_RUNTIME, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	CUPTI_MAY_FAIL();
	return switch_call(SIM_DRIVER, cbid, enable);
}
