/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a scenario that are not a matter of one call: a device that grows hot, a link that is slow, an operation
 * that hangs, records without times, clocks that disagree, a smaller memory. Read once in cuInit; any thread after.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_device_type;

/* rank: of this process, -1 = unknown (then device indices stand in). 0 = ok; -1: why in err. */
int sim_fault_load(int64_t rank, const struct sim_device_type *device, char *err, size_t err_bytes);

/* Bytes of a device: the type's, or less by [device] memory. */
uint64_t sim_fault_memory_bytes(void);

/* ns as kernels of that device last that are submitted now. Costs nothing where no [throttle] is set. */
int64_t sim_fault_throttle(int64_t ns, uint32_t device, int64_t submit_ns);

/*
 * The device's clock as CUPTI shows it, from the simulator's: [clock] skew, drift. Nothing else is skewed: neither the
 * timeline nor the truth, nor what clock_gettime answers the process.
 */
int64_t sim_fault_device_clock(int64_t ns);
void sim_fault_note(void); /* what a reader of the truth needs to undo that */

/* [nccl] slow: factor in 1/1000 for what goes between two ranks; b = -1: anything that rank a takes part in. */
int64_t sim_fault_link_milli(int64_t a, int64_t b);
/* [nccl] hang: number (from 1) of the operation of that rank that never completes; 0 = none. */
int64_t sim_fault_hang(int64_t rank);
/* [cupti] zero_timestamps: is the n-th kernel record (from 1) without times? */
bool sim_fault_zeroed(int64_t number);
/* [cupti] hold: how long the n-th API record (from 1) keeps its thread. */
int64_t sim_fault_hold_ns(int64_t number);

#endif
