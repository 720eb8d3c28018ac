/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulated devices are. Public data-sheet and driver figures; one row a device. */
#ifndef SIM_DEVICE_TABLE_H
#define SIM_DEVICE_TABLE_H

#include <stdint.h>

struct sim_device_type {
	const char *key;  /* SIMGPU_DEVICE */
	const char *name; /* cuDeviceGetName */
	uint32_t cc_major, cc_minor;
	uint32_t sm_count;
	uint32_t clock_khz, memory_clock_khz;
	uint32_t bus_bits;
	uint64_t memory_bytes;
	uint32_t l2_bytes;
	uint32_t smem_per_sm, smem_per_block_optin;
	uint32_t d2d_gbs, h2d_gbs, p2p_gbs; /* what a copy reaches, GB/s = bytes/ns */
};

const struct sim_device_type *sim_device_type(const char *key); /* NULL = no such device */
const char *sim_device_keys(void);				/* for messages */
/* 16 bytes: the same for one index on one boot of the machine, different between indices and machines. */
void sim_device_uuid(int index, unsigned char uuid[16]);

#endif
