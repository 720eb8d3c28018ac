// SPDX-License-Identifier: Apache-2.0
// What nvcc makes of <<<>>>, on the simulated runtime: names, grids, streams. Built by sim-nvcc.sh, not by make.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] *= a;
}

template <typename T> __global__ void fill(T *x, T v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = v;
}

__device__ int counter;

#define OK(call)                                                                                   \
	do {                                                                                       \
		cudaError_t e_ = call;                                                             \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));                \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

int main()
{
	const int n = 1000;
	float *d, in[n], out[n];
	int seen = -1, three = 3;
	cudaStream_t s;

	for (int i = 0; i < n; i++)
		in[i] = i;
	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&d, sizeof(in)));
	OK(cudaMemcpyAsync(d, in, sizeof(in), cudaMemcpyHostToDevice, s));
	for (int i = 0; i < 5; i++)
		scale<<<(n + 127) / 128, 128, 64, s>>>(d, 2.0f, n);
	fill<int><<<3, 256>>>((int *)d, 1, 0);
	OK(cudaGetLastError());
	OK(cudaMemcpyToSymbol(counter, &three, sizeof(three)));
	OK(cudaMemcpyFromSymbol(&seen, counter, sizeof(seen)));
	OK(cudaMemcpyAsync(out, d, sizeof(out), cudaMemcpyDeviceToHost, s));
	OK(cudaDeviceSynchronize());
	// Simulated kernels compute nothing: the data is what was copied.
	for (int i = 0; i < n; i++)
		if (out[i] != in[i])
			return 2;
	if (seen != 3)
		return 3;
	puts("ok");
	return 0;
}
