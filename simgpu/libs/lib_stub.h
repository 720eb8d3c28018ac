/* SPDX-License-Identifier: Apache-2.0 */
/* What every generated stub and every hand-written function of these libraries shares. */
#ifndef SIM_LIB_STUB_H
#define SIM_LIB_STUB_H

#include "simgpu/cudart/sim_stub.h"

/* Opens the definition of an exported function; simgpu/gen/gen_libs.py looks for it and leaves out its stub. */
#define SIM_API __attribute__((visibility("default")))

/* A handle for somebody who will only hand it back: distinct, never NULL, zeroes behind it. */
void *sim_lib_dummy(void);

/* NAMEGetProperty: part 0, 1, 2 is the major, minor and patch level of major * 10000 + minor * 100 + patch. */
#define SIM_GET_PROPERTY(name, version, bad)                                                       \
	SIM_API int name(int type, int *value)                                                     \
	{                                                                                          \
		const int parts[] = {(version) / 10000, (version) / 100 % 100, (version) % 100};   \
                                                                                                   \
		if (!value || type < 0 || type > 2)                                                \
			return bad;                                                                \
		*value = parts[type];                                                              \
		return 0;                                                                          \
	}

#endif
