/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_devices.h. Copy bandwidths: reached, not peak (read and write of a device copy share the memory). */
#include "simgpu/core/sim_devices.h"

#include "simgpu/core/sim_base.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct sim_device_type types[] = {
	{"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 1410000, 1593000, 5120, 85100068864, 40 << 20,
	 164 << 10, 163 << 10, 750, 25, 250},
	{"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 1980000, 2619000, 5120, 84942979072, 50 << 20,
	 228 << 10, 227 << 10, 1500, 50, 380},
	{"h200", "NVIDIA H200", 9, 0, 132, 1980000, 3201000, 6144, 151397597184, 50 << 20,
	 228 << 10, 227 << 10, 2000, 50, 380},
	{"b200", "NVIDIA B200", 10, 0, 148, 1965000, 3996000, 7680, 191514411008, 126 << 20,
	 228 << 10, 227 << 10, 3200, 55, 760},
};

const struct sim_device_type *sim_device_type(const char *key)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].key, key))
			return &types[i];
	return NULL;
}

const char *sim_device_keys(void)
{
	return "a100 h100 h200 b200";
}

void sim_device_uuid(int index, unsigned char uuid[16])
{
	char boot[64] = "no boot id";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	uint64_t w[2];

	if (fd >= 0) {
		ssize_t n = read(fd, boot, sizeof(boot) - 1);
		boot[n > 0 ? n : 0] = 0;
		close(fd);
	}
	w[0] = sim_mix(sim_hash(boot), (uint64_t)index);
	w[1] = sim_mix(w[0], 0x53494d);
	memcpy(uuid, w, 16);
	/* Version 4, variant 1: tools print it as any other. */
	uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80);
}
