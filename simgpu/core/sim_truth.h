/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what really happened (simgpu/README.md): truth.<pid>.tsv in SIMGPU_TRUTH. Nothing where that is unset. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "simgpu/core/sim_export.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* 0 = ok or not wanted; -1: why in err. */
int sim_truth_open(const char *dir, char *err, size_t err_bytes);
void sim_truth_op(const struct sim_op *op); /* buffered: follow a batch with flush */
/* A driver call that ended: [start_ns, now). Buffered. */
void sim_truth_call(const char *name, int64_t start_ns, uint32_t correlation, int result);
/* Memory that is there, or gone, from ns on. Buffered. */
void sim_truth_memory(bool alloc, const char *kind, uint32_t device, uint64_t bytes,
		      uint64_t address, uint32_t tid, int64_t ns);
void sim_truth_flush(void);
void sim_truth_note(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_truth_vnote(const char *key, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#endif
