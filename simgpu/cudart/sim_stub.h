/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of stubs: which call nobody has written yet. Compiled into each simulated library beside the driver.
 * Any thread; touches nothing but the file named by SIMGPU_LOG, and only at the first use of each stub.
 */
#ifndef SIM_STUB_H
#define SIM_STUB_H

/* Appends "stub LIB NAME" to the log unless *once is already set; sets it. */
void sim_stub_used(unsigned char *once, const char *lib, const char *name);
/* Appends one line of text. */
void sim_log_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
