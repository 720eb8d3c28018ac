/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches and occupancy. A kernel computes nothing; its name, its shape and when it runs are real. */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"

CUresult drv_check_launch(const struct drv_kernel *k)
{
	const struct sim_device_type *d = sim_settings.device;
	uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
	uint32_t smem_limit = k->f->max_dyn_smem > 49152 ? (uint32_t)k->f->max_dyn_smem : 49152;

	for (int i = 0; i < 3; i++)
		if (!k->grid[i] || !k->block[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (k->grid[0] > 2147483647u || k->grid[1] > 65535 || k->grid[2] > 65535 ||
	    k->block[0] > 1024 || k->block[1] > 1024 || k->block[2] > 64 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > k->f->max_threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	/* Beyond 48 KiB only after cuFuncSetAttribute, as on the device. */
	if (k->dyn_smem > smem_limit || k->dyn_smem > d->smem_per_block_optin)
		return CUDA_ERROR_INVALID_VALUE;
	if (k->cluster[0] && (k->grid[0] % k->cluster[0] || k->grid[1] % k->cluster[1] ||
			      k->grid[2] % k->cluster[2] || d->cc_major < 9))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return CUDA_SUCCESS;
}

static CUresult launch(struct drv_task *t, CUfunction f, CUstream h, void **params)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	t->type = CU_GRAPH_NODE_TYPE_KERNEL;
	t->kernel.f = f;
	t->kernel.raw = params;
	if (!drv_kernel_param(&t->kernel, params))
		return CUDA_ERROR_INVALID_VALUE;
	r = drv_check_launch(&t->kernel);
	return r == CUDA_SUCCESS ? drv_issue(s, t) : r;
}

static void shape(struct drv_task *t, unsigned int gx, unsigned int gy, unsigned int gz,
		  unsigned int bx, unsigned int by, unsigned int bz, unsigned int smem)
{
	memset(t, 0, sizeof(*t));
	t->kernel.grid[0] = gx;
	t->kernel.grid[1] = gy;
	t->kernel.grid[2] = gz;
	t->kernel.block[0] = bx;
	t->kernel.block[1] = by;
	t->kernel.block[2] = bz;
	t->kernel.dyn_smem = smem;
}

CUresult sim_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int smem,
			    CUstream h, void **params, void **extra)
{
	struct drv_task t;

	shape(&t, gx, gy, gz, bx, by, bz, smem);
	return launch(&t, f, h, params);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	struct drv_task t;

	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	shape(&t, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
	      c->sharedMemBytes);
	/* Programmatic dependent launch and the other hints are accepted; only a cluster changes the shape. */
	for (unsigned int i = 0; i < c->numAttrs; i++)
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			t.kernel.cluster[0] = c->attrs[i].value.clusterDim.x;
			t.kernel.cluster[1] = c->attrs[i].value.clusterDim.y;
			t.kernel.cluster[2] = c->attrs[i].value.clusterDim.z;
			if (!t.kernel.cluster[0] || !t.kernel.cluster[1] || !t.kernel.cluster[2])
				return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		}
	return launch(&t, f, c->hStream, params);
}

static unsigned int blocks_per_sm(const struct CUfunc_st *f, int block, size_t dyn_smem)
{
	const struct sim_device_type *d = sim_settings.device;
	unsigned int warps = ((unsigned int)block + 31) / 32, n = 32;
	unsigned int regs = (f->regs + 7) / 8 * 8 * warps * 32;
	/* The driver keeps 1 KiB of every block's shared memory for itself. */
	uint64_t smem = f->static_smem + dyn_smem + 1024;

	if (2048 / (warps * 32) < n)
		n = 2048 / (warps * 32);
	if (regs && 65536 / regs < n)
		n = 65536 / regs;
	if (d->smem_per_sm / smem < n)
		n = (unsigned int)(d->smem_per_sm / smem);
	return n;
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
				       unsigned int gz, unsigned int bx, unsigned int by,
				       unsigned int bz, unsigned int smem, CUstream h,
				       void **params)
{
	struct drv_task t;

	shape(&t, gx, gy, gz, bx, by, bz, smem);
	if (drv_is(f, DRV_FUNC) && bx && by && bz && (uint64_t)bx * by * bz <= 1024 &&
	    (uint64_t)gx * gy * gz > (uint64_t)blocks_per_sm(f, (int)(bx * by * bz), smem) *
					     sim_settings.device->sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return launch(&t, f, h, params);
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f,
								  int block, size_t smem,
								  unsigned int flags)
{
	if (!blocks || block <= 0 || block > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*blocks = (int)blocks_per_sm(f, block, smem);
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int block,
							 size_t smem)
{
	return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block, smem, 0);
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block, CUfunction f,
						       CUoccupancyB2DSize to_smem, size_t smem,
						       int limit, unsigned int flags)
{
	unsigned int best = 0;

	if (!min_grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*block = 0;
	for (int b = (int)f->max_threads / 32 * 32; b >= 32; b -= 32) {
		unsigned int n;
		if (limit > 0 && b > limit)
			continue;
		n = blocks_per_sm(f, b, to_smem ? to_smem(b) : smem);
		if (n * (unsigned int)b > best) {
			best = n * (unsigned int)b;
			*block = b;
			*min_grid = (int)(n * sim_settings.device->sm_count);
		}
	}
	return *block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction f,
					      CUoccupancyB2DSize to_smem, size_t smem, int limit)
{
	return sim_cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, f, to_smem, smem,
							     limit, 0);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction f, int blocks,
						     int block)
{
	if (!bytes || blocks <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*bytes = sim_settings.device->smem_per_sm / (unsigned int)blocks;
	*bytes = *bytes > f->static_smem + 1024 ? *bytes - f->static_smem - 1024 : 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction f,
						const CUlaunchConfig *config)
{
	if (!size || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*size = 8; /* what every device with clusters guarantees */
	return sim_settings.device->cc_major >= 9 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *config)
{
	unsigned int per = 1;

	if (!clusters || !config)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned int i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			per = config->attrs[i].value.clusterDim.x *
			      config->attrs[i].value.clusterDim.y *
			      config->attrs[i].value.clusterDim.z;
	if (!per)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*clusters = (int)(sim_settings.device->sm_count / per);
	return CUDA_SUCCESS;
}
