/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32 (the one of zlib and Ethernet), eight bytes at a time. The tables live in the caller's memory: no state of
 * our own, no initialisation order, nothing shared between threads.
 */
#ifndef WT_CHECK_H
#define WT_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct wt_check {
	uint32_t t[8][256];
};

void wt_check_init(struct wt_check *c);
uint32_t wt_check_crc(const struct wt_check *c, const void *bytes, size_t n);

#endif
