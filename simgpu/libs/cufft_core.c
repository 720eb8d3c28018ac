/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcufft.so.12: plans are small numbers; each knows its stream and how many elements it transforms. An execution
 * launches one kernel that reads and writes them. Any thread; the table only grows.
 */
#include <stdint.h>

#include "simgpu/libs/lib_kernel.h"
#include "simgpu/libs/lib_stub.h"

#define PLANS	     4096
#define INVALID_PLAN 1
#define EXEC_FAILED  6

struct plan {
	int used;
	void *stream;
	double elements;
};
static struct plan plans[PLANS];
static unsigned int n_plans;

static struct plan *plan_of(int p)
{
	return p >= 0 && p < PLANS && __atomic_load_n(&plans[p].used, __ATOMIC_ACQUIRE) ? &plans[p]
											: NULL;
}

SIM_API int cufftCreate(int *ret)
{
	unsigned int at = __atomic_fetch_add(&n_plans, 1, __ATOMIC_RELAXED) % PLANS;

	if (!ret)
		return INVALID_PLAN;
	plans[at].stream = NULL;
	plans[at].elements = 0;
	__atomic_store_n(&plans[at].used, 1, __ATOMIC_RELEASE);
	*ret = (int)at;
	return 0;
}

SIM_API int cufftDestroy(int p)
{
	struct plan *plan = plan_of(p);

	if (!plan)
		return INVALID_PLAN;
	sim_lib_synchronize(); /* see sim_lib_handle_free() */
	__atomic_store_n(&plan->used, 0, __ATOMIC_RELEASE);
	return 0;
}

static int shape(int p, double elements, size_t *work)
{
	struct plan *plan = plan_of(p);

	if (!plan)
		return INVALID_PLAN;
	plan->elements = elements;
	if (work)
		*work = 0;
	return 0;
}

SIM_API int cufftMakePlan1d(int p, int nx, int type, int batch, size_t *work)
{
	return shape(p, (double)nx * batch, work);
}

SIM_API int cufftMakePlan2d(int p, int nx, int ny, int type, size_t *work)
{
	return shape(p, (double)nx * ny, work);
}

SIM_API int cufftMakePlan3d(int p, int nx, int ny, int nz, int type, size_t *work)
{
	return shape(p, (double)nx * ny * nz, work);
}

SIM_API int cufftMakePlanMany(int p, int rank, const int *n, const int *inembed, int istride,
			      int idist, const int *onembed, int ostride, int odist, int type,
			      int batch, size_t *work)
{
	double elements = batch;

	for (int i = 0; i < rank && n; i++)
		elements *= n[i];
	return shape(p, elements, work);
}

static double elements64(int rank, const long long *n, long long batch)
{
	double elements = (double)batch;

	for (int i = 0; i < rank && n; i++)
		elements *= (double)n[i];
	return elements;
}

SIM_API int cufftMakePlanMany64(int p, int rank, const long long *n, const long long *inembed,
				long long istride, long long idist, const long long *onembed,
				long long ostride, long long odist, int type, long long batch,
				size_t *work)
{
	return shape(p, elements64(rank, n, batch), work);
}

SIM_API int cufftXtMakePlanMany(int p, int rank, const long long *n, const long long *inembed,
				long long istride, long long idist, int itype,
				const long long *onembed, long long ostride, long long odist,
				int otype, long long batch, size_t *work, int exec)
{
	return shape(p, elements64(rank, n, batch), work);
}

SIM_API int cufftPlan1d(int *ret, int nx, int type, int batch)
{
	int r = cufftCreate(ret);

	return r ? r : cufftMakePlan1d(*ret, nx, type, batch, NULL);
}

SIM_API int cufftPlan2d(int *ret, int nx, int ny, int type)
{
	int r = cufftCreate(ret);

	return r ? r : cufftMakePlan2d(*ret, nx, ny, type, NULL);
}

SIM_API int cufftPlan3d(int *ret, int nx, int ny, int nz, int type)
{
	int r = cufftCreate(ret);

	return r ? r : cufftMakePlan3d(*ret, nx, ny, nz, type, NULL);
}

SIM_API int cufftPlanMany(int *ret, int rank, const int *n, const int *inembed, int istride,
			  int idist, const int *onembed, int ostride, int odist, int type,
			  int batch)
{
	int r = cufftCreate(ret);

	return r ? r
		 : cufftMakePlanMany(*ret, rank, n, inembed, istride, idist, onembed, ostride,
				     odist, type, batch, NULL);
}

SIM_API int cufftSetStream(int p, void *stream)
{
	struct plan *plan = plan_of(p);

	if (!plan)
		return INVALID_PLAN;
	plan->stream = stream;
	return 0;
}

static int execute(int p, const char *name, double element_bytes)
{
	struct plan *plan = plan_of(p);

	if (!plan)
		return INVALID_PLAN;
	return sim_lib_launch_small(name, 2 * plan->elements * element_bytes, plan->stream)
		       ? EXEC_FAILED
		       : 0;
}

#define EXEC(name, params, kernel, bytes)                                                          \
	SIM_API int name params                                                                    \
	{                                                                                          \
		return execute(p, kernel, bytes);                                                  \
	}

/* SIM_API_NAMES: cufftExecC2C cufftExecR2C cufftExecC2R cufftExecZ2Z cufftExecD2Z cufftExecZ2D cufftXtExec */
EXEC(cufftExecC2C, (int p, void *in, void *out, int direction), "regular_fft_c2c_kernel", 8)
EXEC(cufftExecR2C, (int p, void *in, void *out), "regular_fft_r2c_kernel", 8)
EXEC(cufftExecC2R, (int p, void *in, void *out), "regular_fft_c2r_kernel", 8)
EXEC(cufftExecZ2Z, (int p, void *in, void *out, int direction), "regular_fft_z2z_kernel", 16)
EXEC(cufftExecD2Z, (int p, void *in, void *out), "regular_fft_d2z_kernel", 16)
EXEC(cufftExecZ2D, (int p, void *in, void *out), "regular_fft_z2d_kernel", 16)
EXEC(cufftXtExec, (int p, void *in, void *out, int direction), "regular_fft_kernel", 8)

SIM_API int cufftGetVersion(int *version)
{
	if (!version)
		return 4; /* invalid value */
	*version = 12000;
	return 0;
}

/* SIM_API_NAMES: cufftGetProperty */
SIM_GET_PROPERTY(cufftGetProperty, 120000, 4)
