/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_call.h. Any thread; nothing here takes the timeline's lock. */
#include "simgpu/core/sim_call.h"

#include "simgpu/core/sim_scenario.h"
#include "simgpu/core/sim_base.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__thread struct sim_bracket sim_bracket __attribute__((tls_model("initial-exec")));

static int never_alive; /* until cuInit maps the page */
volatile int *sim_alive = &never_alive;
bool sim_torn_down;
bool sim_truth_calls;
const struct sim_watch *_Atomic sim_watch;
static atomic_uint correlations;

void sim_watch_begin(struct sim_watched *w, enum sim_domain domain, uint32_t cbid,
		     const void *params)
{
	*w = (struct sim_watched){
		.watch = atomic_load(&sim_watch),
		.call = {.domain = domain,
			 .cbid = cbid,
			 .correlation = sim_bracket.correlation,
			 .params = params},
	};
	if (w->watch)
		w->watch->call(w->watch->arg, &w->call);
}

void sim_watch_end(struct sim_watched *w, int32_t *result)
{
	w->call.result = result;
	w->watch->call(w->watch->arg, &w->call);
	w->watch = NULL;
}

void sim_bracket_open(void)
{
	sim_bracket.correlation =
		atomic_fetch_add_explicit(&correlations, 1, memory_order_relaxed) + 1;
	sim_bracket.start_ns =
		atomic_load_explicit(&sim_sink_set, memory_order_relaxed) ? sim_now_ns() : 0;
}

void sim_bracket_close(enum sim_domain domain, uint32_t cbid, int32_t result)
{
	struct sim_api a = {.domain = domain,
			    .cbid = cbid,
			    .correlation = sim_bracket.correlation,
			    .start_ns = sim_bracket.start_ns,
			    .end_ns = sim_now_ns(),
			    .thread_word = (uint32_t)(uintptr_t)pthread_self(),
			    .result = result};

	if (*sim_alive) /* in a child nobody listens, and whoever holds the sink's locks is not there */
		sim_sink_api(&a);
}

CUresult sim_call_stub(struct sim_call *c)
{
	if (!atomic_exchange(&c->logged, true))
		sim_log("%s: not simulated, answered CUDA_ERROR_NOT_SUPPORTED", c->name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

bool sim_call_refused_slow(struct sim_call *c, CUresult *ret)
{
	if (!*sim_alive && c->needs_init) {
		*ret = sim_torn_down ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
		return true;
	}
	if (c->fails) {
		uint32_t n = atomic_fetch_add(&c->count, 1) + 1;
		if (n >= c->fail_first && n <= c->fail_last) {
			*ret = c->fail_code;
			return true;
		}
	}
	return false;
}

/* A failure named for cuX holds for its per-thread variants too, with a count of their own. */
static bool same_call(const char *call, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(call, name, n) &&
	       (!call[n] || !strcmp(call + n, "_ptsz") || !strcmp(call + n, "_ptds"));
}

static int parse_failure(const struct sim_setting *s, struct sim_call *ret)
{
	char value[32], *colon, *plus;
	int64_t first, code;

	snprintf(value, sizeof(value), "%s", s->value);
	colon = strchr(value, ':');
	if (!colon)
		return -1;
	*colon = 0;
	plus = strchr(value, '+');
	if (plus && !plus[1])
		*plus = 0;
	if (sim_parse_int(value, 1, UINT32_MAX, &first) || sim_parse_int(colon + 1, 1, 999, &code))
		return -1;
	ret->fail_first = (uint32_t)first;
	ret->fail_last = plus ? UINT32_MAX : (uint32_t)first;
	ret->fail_code = (CUresult)code;
	return 0;
}

/* Calls of CUPTI that are to fail: the driver does not know their names, they ask. */
#define MAX_FOREIGN 16
static struct {
	const char *name;
	struct sim_call call;
} foreign[MAX_FOREIGN];
static unsigned int n_foreign;

static bool is_foreign(const struct sim_setting *s, const struct sim_call *f)
{
	if (strncmp(s->key, "cupti", 5) != 0 || n_foreign == MAX_FOREIGN)
		return false;
	foreign[n_foreign].name = s->key;
	foreign[n_foreign].call = *f;
	n_foreign++;
	return true;
}

int sim_call_failure(const char *name)
{
	for (unsigned int i = 0; i < n_foreign; i++) {
		struct sim_call *c = &foreign[i].call;
		uint32_t n;

		if (strcmp(foreign[i].name, name) != 0)
			continue;
		n = atomic_fetch_add(&c->count, 1) + 1;
		return n >= c->fail_first && n <= c->fail_last ? (int)c->fail_code : 0;
	}
	return 0;
}

int sim_call_load_failures(char *err, size_t err_bytes)
{
	for (const struct sim_setting *s = NULL; (s = sim_scenario_next("fail", s));) {
		struct sim_call f = {0};
		bool found = false;

		if (parse_failure(s, &f)) {
			snprintf(err, err_bytes,
				 "scenario line %d: \"%s\": expected call:result, as 5:2 (the 5th) "
				 "or 5+:2 (from the 5th on)",
				 s->line, s->value);
			return -1;
		}
		for (unsigned int i = 0; i < sim_n_calls; i++)
			if (same_call(sim_calls[i].name, s->key)) {
				sim_calls[i].fail_first = f.fail_first;
				sim_calls[i].fail_last = f.fail_last;
				sim_calls[i].fail_code = f.fail_code;
				sim_calls[i].fails = found = true;
			}
		if (!found && !is_foreign(s, &f)) {
			snprintf(err, err_bytes,
				 "scenario line %d: the driver exports no \"%s\" (write the ABI "
				 "name, as cuMemAlloc_v2)",
				 s->line, s->key);
			return -1;
		}
	}
	return 0;
}
