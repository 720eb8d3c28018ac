/* SPDX-License-Identifier: Apache-2.0 */
/* warptap run --sim: see run_sim.c. */
#ifndef WT_CMD_RUN_SIM_H
#define WT_CMD_RUN_SIM_H

/*
 * Puts the simulated device `spec` (DEVICE and options, as --sim has them) under this process and what it becomes: in a
 * child, just before exec. lib: the folder of the simulated libraries; truth_dir: where the truth goes. 0, or the exit
 * code to end with, said already.
 */
int wt_run_sim(const char *spec, const char *lib, const char *truth_dir);
/* Afterwards: says what to do where JAX cannot have seen the device. */
void wt_run_sim_hint(void);
/* value goes to the front of a list parted by colons. 0 or -1. */
int wt_run_prepend(const char *name, const char *value);

#endif
