/* SPDX-License-Identifier: Apache-2.0 */
/* libcurand.so.10: generators as handles. Generation launches a kernel and leaves the memory as it is. */
#include "simgpu/libs/lib_streams.h"

#define NOT_INITIALIZED 101

/* SIM_API_NAMES: curandDestroyGenerator curandSetStream */
SIM_HANDLE_DESTROY(curandDestroyGenerator, NOT_INITIALIZED)
SIM_HANDLE_SET_STREAM(curandSetStream, NOT_INITIALIZED)

SIM_API int curandCreateGenerator(void **ret, int type)
{
	return sim_handle_create(ret, NOT_INITIALIZED);
}
