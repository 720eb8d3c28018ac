/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long things take. Every answer is a function of (scenario, seed, rank, stream, number of the operation on its
 * stream): no clock, no shared counter, so that a run with the same submissions has the same durations.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct sim_device_type;

/* Of one kernel name, found once when the function is made. */
struct sim_kernel_model {
	int64_t duration_ns; /* < 0: no pattern of the scenario matched */
	int32_t jitter_pct;
	int64_t default_ns; /* where nobody knows better; 0: sim_settings.kernel_ns */
	int64_t thread_bytes; /* default_ns is the least: bandwidth bounds a grid of many threads; 0 = not known */
};

struct sim_settings {
	int64_t hold_ns, launch_latency_ns, copy_latency_ns, kernel_ns;
	uint32_t queue; /* operations a stream holds before a launch waits */
	int device_count;
	const struct sim_device_type *device;
	uint64_t seed; /* the scenario's, mixed with the rank */
};
extern struct sim_settings sim_settings;

/* Reads environment and scenario. 0 = ok; -1: one line of what is wrong in err. */
int sim_model_load(char *err, size_t err_bytes);
int64_t sim_model_rank(void); /* of this process; -1 = unknown: the device index stands in */
struct sim_kernel_model sim_model_of(const char *kernel_name);
/* For a grid of so many threads: default_ns, or what their bytes take. */
void sim_model_widen(struct sim_kernel_model *m, double threads);
/* base_ns < 0: the model's default. A rendezvous kernel is not slowed by the straggler: its link is shared. */
int64_t sim_model_kernel_ns(const struct sim_kernel_model *m, int64_t base_ns, int rendezvous,
			    uint32_t device, uint64_t stream_key, uint64_t op_number);

enum sim_copy_path {
	SIM_PATH_H2D,
	SIM_PATH_D2H,
	SIM_PATH_D2D,
	SIM_PATH_P2P,
	SIM_PATH_H2H,
	SIM_PATHS
};
int64_t sim_model_copy_ns(enum sim_copy_path path, int pageable, uint64_t bytes);
int64_t sim_model_memset_ns(uint64_t bytes);

#endif
