/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of one name from several modules, as every JIT compiler makes them: two modules at once, then a third after
 * the first is gone, whose function may get the same handle. 30 launches of the first, 20 of the second, 10 of the
 * third, told apart by their grids: 1, 2 and 3 blocks.
 */
#include <cuda.h>

#include "sim_check.h"

static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel()\n{\n\tret;\n}\n";

static CUfunction load(CUmodule *ret)
{
	CUfunction f;

	OK(cuModuleLoadData(ret, ptx));
	OK(cuModuleGetFunction(&f, *ret, "kernel"));
	return f;
}

static void launch(CUfunction f, unsigned blocks, int n)
{
	for (int i = 0; i < n; i++)
		OK(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

int main(void)
{
	CUmodule a, b, c;
	CUcontext ctx;
	CUdevice dev;
	CUfunction fa, fb;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	fa = load(&a);
	fb = load(&b);
	for (int i = 0; i < 10; i++) {
		launch(fa, 1, 3);
		launch(fb, 2, 2);
	}
	OK(cuCtxSynchronize());
	OK(cuModuleUnload(a));
	launch(load(&c), 3, 10);
	OK(cuCtxSynchronize());
	return 0;
}
