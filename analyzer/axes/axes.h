/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes over the same seconds that the ledger accounts for: to which step and which phase of the job an operation
 * belongs, and to which module of the model. Each says how it is known (source, grade) and how much is not known.
 *
 * Nothing here changes the ledger: a slice belongs to the step and phase of its operation (of idle time: of the
 * operation that ended it), so sums over phases, and over steps and what is between them, are the ledger's sums.
 */
#ifndef WT_AXES_H
#define WT_AXES_H

#include "ledger/ledger.h"
#include "ledger/ranges.h"

struct wt_strings;
struct wt_xla;
struct wt_hlo;

enum wt_phase {
	WT_PHASE_UNKNOWN,
	WT_PHASE_FORWARD,
	WT_PHASE_BACKWARD,
	WT_PHASE_RECOMPUTE,
	WT_PHASE_OPTIMIZER,
	WT_PHASE_GRADIENT_COMM,
	WT_PHASE_EVALUATION,
	WT_PHASE_CHECKPOINT,
	WT_PHASE_PREFILL,
	WT_PHASE_DECODE,
	WT_PHASE_MIXED, /* prefill and decode in one iteration */
	WT_PHASES
};
extern const char *const wt_phase_names[WT_PHASES];

/* How steps are known, best first. */
enum wt_step_source {
	WT_STEPS_MARKED,    /* ranges that the job marked as steps */
	WT_STEPS_NAMED,	    /* ranges whose name says so: ProfilerStep#3 */
	WT_STEPS_OPTIMIZER, /* a step ends with the optimizer's last kernel */
	WT_STEPS_ENGINE,    /* an iteration of a serving engine, by the order of its kernels */
	WT_STEPS_PROGRAM,   /* a step begins with a run of the same compiled program (XLA) */
	WT_STEPS_GRAPH,	    /* a step begins with the launch of the same executable graph */
	WT_STEPS_PERIOD,    /* the sequence of kernels repeats */
};
extern const char *const wt_step_source_names[];

/*
 * What an iteration of a serving engine worked on; -1 = not known. A request whose prompt is being worked on (context)
 * has many new tokens, one that generates has one (more where it guesses ahead).
 */
enum wt_batch_source {
	WT_BATCH_NONE,
	WT_BATCH_ANNOTATED, /* the engine's annotation says it */
	WT_BATCH_GEOMETRY,  /* grids of kernels say tokens and requests */
	WT_BATCH_ORDER,	    /* only which kernels ran, and how they were launched */
};
extern const char *const wt_batch_source_names[];
struct wt_batch {
	int64_t tokens, requests;
	int64_t context_requests, context_tokens;
	int64_t generation_requests, generation_tokens;
	uint32_t layers; /* kernels that wrote to the cache; 0 = none seen */
	uint8_t source, grade;
	/* Over its requests, where the engine's annotation sums them: tokens to attend to, squares of the new ones, new
	 * ones times those to attend to. */
	int64_t kv_tokens, squares, pairs;
};
extern const struct wt_batch wt_batch_unknown;

/*
 * A step of one process on one of its devices. Its window is what the device did from the end of the step before (of
 * its last operation) to the end of its own last operation: a step that is launched ahead is where the device ran it.
 */
struct wt_step {
	int64_t number; /* as the job counts; else from 0 */
	int64_t host_start_ns, host_end_ns;
	int64_t start_ns, end_ns; /* on the device */
	uint64_t ops;
	uint32_t name; /* string; 0 = none */
	uint16_t process;
	uint16_t device; /* index into the ledger's devices */
	uint8_t partial; /* cut by the recording, or start-up is in it: kept out of medians */
	uint8_t source;	 /* enum wt_step_source */
	uint8_t grade;
	uint8_t phase; /* of a serving engine's iteration: PREFILL, DECODE, MIXED; else UNKNOWN */
	/* no step of the job: what was before the first one, or an engine's iteration to warm up, measure or capture */
	uint8_t startup;
	struct wt_batch batch,
		geometry; /* the best known, and what grids alone say of the same iteration */
};

struct wt_phase_row { /* over the windows of all devices */
	uint64_t kernels;
	int64_t kernel_ns;	  /* sums of kernels, overlaps counted twice */
	int64_t busy_ns, idle_ns; /* of the ledger: all phases together are the windows */
	int64_t leaves_ns[WT_LEAVES];
	int64_t grades_ns[WT_GRADES]; /* of kernel_ns */
};

struct wt_module {
	uint32_t path; /* wt_axes_text(): names from the outside in, parted by " / " */
	uint64_t kernels;
	int64_t kernel_ns;
};

/* Who is known to have launched to measure, and how (startup.c). */
enum wt_tuner { WT_TUNING_NONE, WT_TUNING_XLA, WT_TUNING_BENCHMARK, WT_TUNERS };
extern const char *const wt_tuner_names[WT_TUNERS];
/*
 * What one process did on one device before its first step, and the launches of autotuners, in steps or not. The time
 * goes from where recording began (of other tools' files: from the first operation) to the launch of the first step, or
 * to where the device had done all that was launched before it.
 */
struct wt_startup {
	uint16_t process;
	uint16_t device;	   /* index into the ledger's devices */
	int64_t begin_ns, end_ns;  /* end INT64_MAX: no step was found */
	int64_t first_ns, last_ns; /* of its operations on the device; INT64_MAX, INT64_MIN: none */
	uint64_t launches, ops, kernels;
	int64_t kernel_ns;
	uint64_t iterations; /* of a serving engine, launched to warm up, to measure, to capture */
	uint8_t source, grade; /* enum wt_step_source: of the first step, which ends it */
	uint8_t with_first;    /* 1: nothing parts it from the first step, which is in it */
	uint8_t begun;	       /* as of the process */
	struct wt_tuning {     /* kernels that an autotuner tried, and its own */
		uint64_t kernels, in_steps; /* all of them; those launched in steps */
		int64_t kernel_ns, first_ns, last_ns;
		uint32_t by; /* bits: 1 << enum wt_tuner */
	} tuning;
};

struct wt_axes {
	const struct wt_ledger *ledger;
	struct wt_ranges ranges;
	uint8_t *phase, *phase_grade; /* per operation of the timeline */
	struct wt_phase_row phases[WT_PHASES];
	struct wt_step *steps; /* by (process, device, start) */
	size_t nsteps;
	struct wt_startup *startups; /* by (process, device) */
	size_t nstartups;
	struct wt_module *modules; /* largest first */
	size_t nmodules;
	int64_t module_unknown_ns; /* of kernels that no module is known for */
	struct wt_strings *texts;
	struct wt_xla *xla; /* xla.c; NULL: no such ranges */
	struct wt_hlo *hlo; /* hlo.c; NULL: no profile with instructions */
	uint8_t *told;	    /* by string id: what names say, once asked; see axes_impl.h */
};

/* 0 or -WT_E_NOMEM. */
int wt_axes_build(struct wt_axes **ret, const struct wt_ledger *ledger);
void wt_axes_free(struct wt_axes *a);
/*
 * Steps that are whole, of all devices; 0 if some overlap on a device, which steps of two processes do: their seconds
 * together are not the device's.
 */
size_t wt_axes_whole_steps(const struct wt_axes *a);
/* The step of that number on a device of the ledger; NULL. */
const struct wt_step *wt_axes_step(const struct wt_axes *a, size_t device, int64_t number);
const char *wt_axes_text(const struct wt_axes *a, uint32_t id);

#endif
