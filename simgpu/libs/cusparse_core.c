/* SPDX-License-Identifier: Apache-2.0 */
/* libcusparse.so.12: handles. Products launch a kernel by launches.tsv, descriptors are dummies. */
#include "simgpu/libs/lib_streams.h"

#define NOT_INITIALIZED 1
#define VERSION		12700 /* major * 1000 + minor * 100 + patch */

/* SIM_API_NAMES: cusparseDestroy cusparseSetStream cusparseGetStream */
SIM_HANDLE_DESTROY(cusparseDestroy, NOT_INITIALIZED)
SIM_HANDLE_SET_STREAM(cusparseSetStream, NOT_INITIALIZED)
SIM_HANDLE_GET_STREAM(cusparseGetStream, NOT_INITIALIZED)

SIM_API int cusparseCreate(void **ret)
{
	return sim_handle_create(ret, NOT_INITIALIZED);
}

SIM_API int cusparseGetVersion(void *handle, int *version)
{
	if (!version)
		return 3; /* invalid value */
	*version = VERSION;
	return 0;
}

/* SIM_API_NAMES: cusparseGetProperty */
SIM_GET_PROPERTY(cusparseGetProperty, 120700, 3)
