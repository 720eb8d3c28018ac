/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef WT_AXES_IMPL_H
#define WT_AXES_IMPL_H

#include "axes/axes.h"

/* An operation in the order of its launch. */
struct wt_launch {
	int64_t at_ns;	 /* start of the call */
	uint32_t op;	 /* index into ops */
	uint32_t thread; /* index into threads */
	uint64_t key;	 /* what ran, of which shape: equal for equal work */
	uint8_t kernel;	 /* a compute kernel that is no node of a graph */
	uint8_t anchor;	 /* a kernel that only optimizers launch */
	uint8_t update;	 /* its family is the optimizer's: clipping and norms too */
	uint8_t matrix;	 /* a matrix product or attention: no part of an optimizer's step */
	uint8_t later;	 /* of an executable graph */
	uint8_t tuning;	 /* enum wt_tuner */
};
struct wt_launches {		/* of one process */
	struct wt_launch *rows; /* by time */
	size_t n;
	uint16_t process;
	uint8_t anchors; /* any row is one */
};

/* Of wt_axes.told. */
enum {
	WT_TOLD_ROW = 1,      /* the next one is known */
	WT_TOLD_MATRIX = 2,   /* a kernel of that name is a matrix product or attention */
	WT_TOLD_WORDS = 4,    /* the next one is known */
	WT_TOLD_BACKWARD = 8, /* the name says backward */
	WT_TOLD_TUNER = 16,   /* the next two are known */
	WT_TOLD_TUNES = 32,   /* a kernel of that name is an autotuner's own */
	WT_TOLD_FILLS = 64,   /* it fills memory with integers, as those do that empty the cache */
};

/* The n operations of one process that have a launch. 0 or -WT_E_NOMEM; rows are the caller's to free. */
int wt_launches_of(const struct wt_axes *a, uint16_t process, const uint32_t *ops, size_t n,
		   struct wt_launches *ret);
/*
 * The row behind the last anchor, or operation known to be the optimizer's, of the next cluster from row i on; 0 = none
 * follows.
 */
size_t wt_launches_cluster(const struct wt_axes *a, const struct wt_launches *l, size_t i);
/* phases.c: fills phase and phase_grade of the process's operations. */
int wt_phases_of(struct wt_axes *a, const struct wt_launches *l);
/* recompute.c: of backward's operations in rows [from, to), those that repeat forward's. */
int wt_recompute_find(struct wt_axes *a, const struct wt_launches *l, size_t from, size_t to);
/*
 * iterations.c: a serving engine's iterations by the order of its kernels, in order of launch; *ret is the caller's to
 * free. None of a job that trains.
 */
struct wt_iteration {
	size_t from, to; /* rows of the launches */
	struct wt_batch batch;
	uint8_t phase, startup;
};
int wt_iterations_of(struct wt_axes *a, const struct wt_launches *l, struct wt_iteration **ret,
		     size_t *ret_n);
/*
 * rounded.c: how many of a graph's rounded number of tokens there are, by the bytes that were copied to the device or
 * filled on it before; -1 = that does not say.
 */
int64_t wt_tokens_copied(const uint64_t *copied, size_t ncopied, int64_t requests, int64_t rounded);
int64_t wt_tokens_filled(const uint64_t *filled, size_t nfilled, int64_t requests, int64_t rounded);
/* steps.c: appends the process's steps on all its devices. */
int wt_steps_of(struct wt_axes *a, const struct wt_launches *l, const struct wt_iteration *it,
		size_t n);
/* startup.c: marks the rows that are an autotuner's; 0 or -WT_E_NOMEM. */
int wt_tuning_find(const struct wt_axes *a, struct wt_launches *l);
/* Appends what was before the steps from `first` on, which are the process's. 0 or -WT_E_NOMEM. */
int wt_startup_of(struct wt_axes *a, const struct wt_launches *l, size_t first);
/* period.c: rows at which the sequence of kernels begins anew; *ret_n of them (0: it does not repeat). */
int wt_period_find(const struct wt_launches *l, size_t **ret_rows, size_t *ret_n);
/*
 * replays.c: rows at which a step begins with the launch of a graph, or with the run of a compiled program; *ret_n of
 * them (0: that is not what it does).
 */
int wt_replays_find(const struct wt_axes *a, const struct wt_launches *l, int programs,
		    size_t **ret_rows, size_t *ret_n);
/* modules.c */
int wt_modules_find(struct wt_axes *a);
/* Position in the order of ranges of the innermost module that a call was made in; -1. */
int32_t wt_module_at(const struct wt_axes *a, const struct wt_call *c);
/* The path of an operation as its compiler says it; a text, 0 = not said. */
uint32_t wt_module_compiled(const struct wt_axes *a, const struct wt_op *op);
/* xla.c: 0 or -WT_E_NOMEM; wt_xla_free() in both cases. */
int wt_xla_init(struct wt_axes *a);
void wt_xla_free(struct wt_axes *a);
/* The run of a compiled program that a call was made in: the position of its range and the string that names it; -1. */
int32_t wt_xla_run(const struct wt_axes *a, const struct wt_call *call, uint32_t *ret_program);
uint32_t wt_xla_path(const struct wt_axes *a, const struct wt_op *op);
/* As a kernel of that instruction is named, a text: dots are underscores. */
uint32_t wt_xla_symbol(const struct wt_axes *a, const char *s, size_t n);
/* hlo.c: the same as in xla.c, from a profile of the same programs. */
int wt_hlo_init(struct wt_axes *a);
void wt_hlo_free(struct wt_axes *a);
uint32_t wt_hlo_path(const struct wt_axes *a, const struct wt_op *op);
/* batch.c: what an engine's annotation says; 0 = it is none. */
int wt_batch_of_name(const char *name, struct wt_batch *ret);
/* PREFILL, DECODE, MIXED or UNKNOWN of an engine's step, by its name. */
enum wt_phase wt_engine_phase(const char *name);

#endif
