/* SPDX-License-Identifier: Apache-2.0 */
/* libcusolver.so.12: handles. Factorisations launch one kernel by launches.tsv; workspace sizes are zero. */
#include "simgpu/libs/lib_streams.h"

#define NOT_INITIALIZED 1

/* SIM_API_NAMES: cusolverDnDestroy cusolverDnSetStream cusolverDnGetStream */
SIM_HANDLE_DESTROY(cusolverDnDestroy, NOT_INITIALIZED)
SIM_HANDLE_SET_STREAM(cusolverDnSetStream, NOT_INITIALIZED)
SIM_HANDLE_GET_STREAM(cusolverDnGetStream, NOT_INITIALIZED)

SIM_API int cusolverDnCreate(void **ret)
{
	return sim_handle_create(ret, NOT_INITIALIZED);
}

SIM_API int cusolverGetVersion(int *version)
{
	if (!version)
		return 3; /* invalid value */
	*version = 12000;
	return 0;
}

/* SIM_API_NAMES: cusolverGetProperty */
SIM_GET_PROPERTY(cusolverGetProperty, 120000, 3)
