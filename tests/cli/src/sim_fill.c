/* link: cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's fill kernels do what they say: values of each size, from a graph too; zeroes over gigabytes touch no
 * memory; what is no fill, or goes beyond the device's memory, writes nothing. A gather gives zeroes where its output
 * is known, and so does a conversion to 4-byte integers.
 */
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "sim_check.h"
#include "sim_kernels.h"

#define N 1000
#define NAME_OF(kernel_, type_)                                                                    \
	"_ZN2at6native29" kernel_ "ILi4ENS0_11FillFunctorI" type_ "EESt5arrayIPcLm1EEEEviT0_T1_"

#define GATHER                                                                                     \
	"_ZN2at6native34_scatter_gather_elementwise_kernelILi128ELi8EZNS0_36_cuda_scatter_gather_" \
	"internal_kernelILb0ENS0_10OpaqueTypeILi8EEElEclINS0_12TensorAssignEEEvRNS_14Tensor"       \
	"IteratorElllRKT_EUliE_EEviT1_"

#define CONVERSION(of_)                                                                            \
	"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Tensor" \
	"IteratorBaseEENKUlvE1_clEvENKUlvE1_clEvEUl" of_ "E_St5arrayIPcLm2EELi4E23TrivialOffset"   \
	"CalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_"

static char fill8, fill16, fill32, fill64, other, strided, gather, to_int, to_float;

static void launch(const void *key, int n, const void *value, void *to, cudaStream_t s)
{
	void *params[] = {&n, (void *)value, &to};
	cudaKernel_t k;

	OK(__cudaGetKernel(&k, key));
	OK(__cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){128, 1, 1}, params, 0, s));
}

/* n elements of `bytes` at d hold the value, and what follows is what it was. */
static void holds(const unsigned char *d, size_t n, size_t bytes, const void *value,
		  unsigned char behind)
{
	unsigned char host[N * 8 + 8];

	CHECK(n * bytes + 8 <= sizeof(host));
	OK(cudaMemcpy(host, d, n * bytes + 8, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < n; i++)
		CHECK(!memcmp(host + i * bytes, value, bytes));
	for (size_t i = 0; i < 8; i++)
		CHECK(host[n * bytes + i] == behind);
}

static void sizes(unsigned char *d, cudaStream_t s)
{
	const uint64_t v = 0x1122334455667788;
	const struct {
		const void *key;
		size_t bytes;
	} kind[] = {{&fill8, 1}, {&fill16, 2}, {&fill32, 4}, {&fill64, 8}};

	for (size_t i = 0; i < 4; i++) {
		OK(cudaMemset(d, 0xa5, 16384));
		launch(kind[i].key, N, &v, d, s);
		OK(cudaStreamSynchronize(s));
		holds(d, N, kind[i].bytes, &v, 0xa5);
	}
}

static void replayed(unsigned char *d, cudaStream_t s)
{
	const int64_t one = 1, two = 2;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	OK(cudaMemset(d, 0xa5, 16384));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	launch(&fill64, 10, &one, d, s);
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(&fill64, 10, &two, d, s);
	OK(cudaStreamSynchronize(s));
	holds(d, 10, 8, &two, 0xa5);
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	holds(d, 10, 8, &one, 0xa5);
}

static void nothing(unsigned char *d, cudaStream_t s)
{
	const int64_t v = 7;
	const unsigned char was[8] = {0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5};

	OK(cudaMemset(d, 0xa5, 16384));
	launch(&other, N, &v, d, s);
	launch(&strided, N, &v, d, s);
	launch(&fill64, 0, &v, d, s);
	launch(&fill64, -5, &v, d, s);
	launch(&fill64, N, &v, NULL, s);
	launch(&fill64, 2147483647, &v, d, s); /* more than there is */
	OK(cudaStreamSynchronize(s));
	holds(d, N, 8, was, 0xa5);
}

static void gathers(unsigned char *d, cudaStream_t s)
{
	const unsigned char was[8] = {0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5};
	const uint64_t zero = 0;
	uintptr_t closure[256] = {1, 2, 3};
	int n = 3;
	void *params[] = {&n, closure};
	cudaKernel_t k;

	OK(__cudaGetKernel(&k, &gather));
	OK(cudaMemset(d, 0xa5, 16384));
	closure[40] = (uintptr_t)d + 12288; /* left on the stack by a call before */
	closure[76] = (uintptr_t)d + 8192;
	closure[79] = (uintptr_t)d;
	for (int with = 0; with < 2; with++) { /* without a source it is something else */
		closure[82] = with ? (uintptr_t)d + 4096 : 0;
		OK(__cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){128, 1, 1}, params, 0, s));
		OK(cudaStreamSynchronize(s));
		holds(d, 3, 8, with ? (const void *)&zero : was, 0xa5);
	}
}

static void converts(unsigned char *d, cudaStream_t s)
{
	const unsigned char was[4] = {0xa5, 0xa5, 0xa5, 0xa5};
	const uint32_t zero = 0;
	const void *const key[] = {&to_float, &to_int};
	int n = 5;
	void *data[] = {d, d + 8192}, *params[] = {&n, &n, data};
	cudaKernel_t k;

	OK(cudaMemset(d, 0xa5, 16384));
	for (int i = 0; i < 2; i++) {
		OK(__cudaGetKernel(&k, key[i]));
		OK(__cudaLaunchKernel(k, (dim3){1, 1, 1}, (dim3){128, 1, 1}, params, 0, s));
		OK(cudaStreamSynchronize(s));
		holds(d, 5, 4, i ? (const void *)&zero : was, 0xa5);
	}
	holds(d + 8192, 5, 4, was, 0xa5);
}

static void large(cudaStream_t s)
{
	const int64_t zero = 0, one = 1;
	struct rusage before, after;
	unsigned char *d;

	OK(cudaMalloc((void **)&d, 8ull << 30));
	launch(&fill64, 100, &one, d, s);
	OK(cudaStreamSynchronize(s));
	holds(d, 100, 8, &one, 0);
	getrusage(RUSAGE_SELF, &before);
	launch(&fill64, 1 << 30, &zero, d, s);
	OK(cudaStreamSynchronize(s));
	getrusage(RUSAGE_SELF, &after);
	holds(d, 100, 8, &zero, 0);
	CHECK(after.ru_maxrss - before.ru_maxrss < 32 << 10);
	OK(cudaFree(d));
}

int main(void)
{
	unsigned char *d;
	cudaStream_t s;

	sim_kernel_add(&fill8, NAME_OF("vectorized_elementwise_kernel", "b"));
	sim_kernel_add(&fill16, NAME_OF("vectorized_elementwise_kernel", "N3c108BFloat16E"));
	sim_kernel_add(&fill32, NAME_OF("vectorized_elementwise_kernel", "f"));
	sim_kernel_add(&fill64, NAME_OF("vectorized_elementwise_kernel", "l"));
	sim_kernel_add(&other, NAME_OF("vectorized_elementwise_kernel", "N3c107complexIfEE"));
	sim_kernel_add(&strided, NAME_OF("unrolled_elementwise_kernel", "l"));
	sim_kernel_add(&gather, GATHER);
	sim_kernel_add(&to_int, CONVERSION("i"));
	sim_kernel_add(&to_float, CONVERSION("f"));
	__cudaRegisterFatBinaryEnd(sim_kernels_handle);
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&d, 16384));
	sizes(d, s);
	replayed(d, s);
	nothing(d, s);
	gathers(d, s);
	converts(d, s);
	large(s);
	puts("ok");
	return 0;
}
