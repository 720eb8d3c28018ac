/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bracket around every API call: correlation ids, the sink's API records, injected failures, stubs. The outermost
 * call of a thread counts: a runtime call hides its driver calls, as in life.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "simgpu/core/sim_export.h"
#include "simgpu/core/sim_base.h"
#include "simgpu/core/sim_sink.h"
#include "simgpu/core/sim_truth.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

struct sim_call {
	const char *name;
	uint32_t cbid;
	uint8_t per_thread; /* a _ptsz or _ptds variant: stream 0 is the thread's own */
	uint8_t needs_init;
	uint8_t fails; /* the scenario names it */
	atomic_bool logged;
	uint32_t fail_first, fail_last; /* calls number fail_first..fail_last answer fail_code */
	CUresult fail_code;
	atomic_uint count;
};
extern struct sim_call sim_calls[];
extern const unsigned int sim_n_calls;

struct sim_bracket {
	uint32_t depth, correlation;
	int64_t start_ns; /* 0 = no sink when it opened */
	int64_t call_ns;  /* start of the driver call, while the truth lists calls */
	uint8_t per_thread;
};
extern __thread struct sim_bracket sim_bracket __attribute__((tls_model("initial-exec")));

/*
 * Alive = cuInit was successful in this very process. The word lies on a page that a fork wipes, a raw one too; in the
 * child of an initialised process it reads 0.
 */
extern volatile int *sim_alive;
extern bool sim_truth_calls; /* scenario [truth] calls = 1: a row for each driver call */
extern bool sim_torn_down;   /* by exit: calls answer CUDA_ERROR_DEINITIALIZED */

/* Who is told of every call; NULL almost always. */
extern const struct sim_watch *_Atomic sim_watch;
struct sim_watched {
	const struct sim_watch *watch; /* NULL: this call is not watched */
	struct sim_watched_call call;
};
void sim_watch_begin(struct sim_watched *w, enum sim_domain domain, uint32_t cbid,
		     const void *params);
void sim_watch_end(struct sim_watched *w, int32_t *result);
static inline bool sim_watching(void)
{
	return __builtin_expect(atomic_load_explicit(&sim_watch, memory_order_relaxed) != NULL, 0);
}

void sim_bracket_open(void);
void sim_bracket_close(enum sim_domain domain, uint32_t cbid, int32_t result);
CUresult sim_call_stub(struct sim_call *c);
bool sim_call_refused_slow(struct sim_call *c, CUresult *ret);
/* Reads the scenario's [fail] section into the call table. 0 = ok, -1: why in err. */
int sim_call_load_failures(char *err, size_t err_bytes);
/* Of a call that is not the driver's: what it is to answer, 0 = nothing. Counts. */
int sim_call_failure(const char *name);

static inline void sim_call_enter(struct sim_call *c)
{
	if (sim_bracket.depth++ == 0)
		sim_bracket_open();
	sim_bracket.per_thread = c->per_thread;
	if (__builtin_expect(sim_truth_calls, 0))
		sim_bracket.call_ns = sim_now_ns();
}

static inline bool sim_call_refused(struct sim_call *c, CUresult *ret)
{
	return (!*sim_alive || c->fails) && sim_call_refused_slow(c, ret);
}

static inline void sim_call_exit(struct sim_call *c, CUresult r)
{
	if (__builtin_expect(sim_truth_calls, 0))
		sim_truth_call(c->name, sim_bracket.call_ns, sim_bracket.correlation, (int)r);
	if (--sim_bracket.depth == 0 && sim_bracket.start_ns)
		sim_bracket_close(SIM_DRIVER, c->cbid, (int32_t)r);
}

static inline void sim_zero(void *p, size_t n)
{
	memset(p, 0, n);
}

#endif
