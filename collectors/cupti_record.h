/* SPDX-License-Identifier: Apache-2.0 */
/* A record of CUPTI, of any release since 11.8, read into struct wt_dev_rec. Writer thread. */
#ifndef WT_CUPTI_RECORD_H
#define WT_CUPTI_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "agent/pack.h"

/*
 * Reads the record at `rec`, of which `avail` bytes can be read: 1 and *ret, or 0 for a kind we do not take (or one
 * that ends before the fields every release has). `extra`: the release is known to fill fields that came without a
 * new structure name (13.0: isDeviceLaunched).
 */
int wt_cupti_overhead_is_ours(
	uint32_t kind); /* CUPTI's own doing, and not the driver's for the job */
int wt_cupti_record(const void *rec, size_t avail, int extra, struct wt_dev_rec *ret);

/* Calls fn for each record of a completed buffer; returns how many records of other kinds there were. */
uint64_t wt_cupti_buffer(uint8_t *buf, size_t valid_bytes,
			 void (*fn)(void *arg, const struct wt_dev_rec *r), void *arg);

#endif
