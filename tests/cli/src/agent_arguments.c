/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of kernels of which an argument is read, and of others that look like them: agent_arguments [kill]
 * The grid of a launch is its number; the table of agent-arguments.sh says what the trace has of each.
 *
 * agent_arguments serve [silent]: an engine like vLLM's second model runner, with graphs for what is between attention,
 * made for 1, 2, 4, 8, 16, 24 ... tokens. It marks which of these are padding (unless silent), and logs its iterations.
 */
#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "agent_arguments:%d: %s: %d\n", __LINE__, #call_,          \
				(int)r_);                                                          \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

#define FILL(kernel_, type_)                                                                       \
	"_ZN2at6native" kernel_ "ILi4ENS0_11FillFunctorI" type_ "EESt5arrayIPcLm1EEEEviT0_T1_"
#define FILL_BOOLS    FILL("29vectorized_elementwise_kernel", "b")
#define FILL_INTEGERS FILL("29vectorized_elementwise_kernel", "i")
#define FILL_UNROLLED FILL("27unrolled_elementwise_kernel", "b")

static CUdeviceptr memory;

static CUmodule load(const char *const *names, size_t n)
{
	char ptx[8192];
	CUmodule module;
	int at = sprintf(ptx, ".version 8.0\n.target sm_80\n.address_size 64\n");

	for (size_t i = 0; i < n; i++)
		at += sprintf(ptx + at, ".visible .entry %s()\n{\n\tret;\n}\n", names[i]);
	OK(cuModuleLoadData(&module, ptx));
	return module;
}

static CUfunction function(CUmodule module, const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void launch(CUfunction f, unsigned grid, unsigned smem, int n)
{
	unsigned char value = 0;
	void *params[] = {&n, &value, &memory};

	OK(cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, smem, NULL, params, NULL));
}

static void launch_extra(CUfunction f, unsigned grid, int n, size_t bytes)
{
	struct {
		int n;
		unsigned char value;
		CUdeviceptr to;
	} packed = {n, 0, memory};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};

	OK(cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
}

static void launch_ex(CUfunction f, unsigned grid, int n)
{
	CUlaunchConfig config = {.gridDimX = grid,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1};
	unsigned char value = 0;
	void *params[] = {&n, &value, &memory};

	OK(cuLaunchKernelEx(&config, f, params, NULL));
}

static void by_kernel(const char *name)
{
	char ptx[1024];
	CUlibrary library;
	CUkernel kernel;
	CUfunction f;

	sprintf(ptx,
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry "
		"%s()\n{\n\tret;\n}\n",
		name);
	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, name));
	launch((CUfunction)kernel, 11, 0, 77);
	OK(cuKernelGetFunction(&f, kernel));
	launch(f, 12, 0, 78);
}

static void all_kinds(void)
{
	static const char *const names[] = {FILL_BOOLS, FILL_INTEGERS, FILL_UNROLLED, "other"};
	static const char *const others[] = {"other", FILL_INTEGERS};
	CUmodule module = load(names, 4), again;
	CUfunction fill = function(module, FILL_BOOLS);

	launch(fill, 1, 0, 11);
	launch_ex(fill, 2, 5);
	launch_extra(fill, 3, 499, 16);
	launch_extra(fill, 4, 499, 2);
	launch(fill, 5, 64, 7);
	launch(fill, 6, 0, -3);
	launch(function(module, FILL_INTEGERS), 7, 0, 9);
	launch(function(module, FILL_UNROLLED), 8, 0, 6);
	launch(function(module, "other"), 9, 0, 8);
	OK(cuLaunchKernel(function(module, "other"), 10, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	by_kernel(FILL_BOOLS);
	/* What comes next may get the same handles. */
	OK(cuModuleUnload(module));
	again = load(others, 2);
	launch(function(again, "other"), 13, 0, 21);
	launch(function(again, FILL_INTEGERS), 14, 0, 22);
	OK(cuModuleUnload(again));
	again = load(names, 4);
	launch(function(again, FILL_BOOLS), 15, 0, 23);
	OK(cuCtxSynchronize());
}

/* ---- an engine ---- */

enum { WRITE, PREFILL, PIECE, CACHE, SAMPLE, UPDATE, KERNELS };
static const char *const kernels[KERNELS] = {
	"_apply_write_kernel",	 "_prepare_prefill_inputs_kernel",
	"triton_poi_fused_0",	 "reshape_and_cache_flash_kernel",
	"_gumbel_sample_kernel", "_post_update_kernel"};
static CUfunction f[KERNELS], fill;
static CUgraphExec piece;

static unsigned rounded(unsigned n)
{
	return n <= 2 ? n : n <= 4 ? 4 : (n + 7) / 8 * 8;
}

static void run(int which, unsigned grid)
{
	launch(f[which], grid, 0, 1);
}

static void iterate(unsigned fresh, unsigned prompts, unsigned going, int silent)
{
	static int number;
	static long host[64];
	unsigned requests = fresh + going, tokens = prompts + going, all = rounded(tokens);

	for (int i = 0; fresh && i < 3; i++)
		run(WRITE, fresh);
	if (!silent) {
		launch(fill, 1, 0, (int)tokens);
		if (all > tokens)
			launch(fill, 1, 0, (int)(all - tokens));
	}
	if (fresh)
		run(PREFILL, requests);
	for (int layer = 0; layer < 2; layer++) {
		OK(cuGraphLaunch(piece, NULL));
		run(CACHE, all);
	}
	run(SAMPLE, requests);
	run(UPDATE, requests);
	OK(cuMemcpyDtoH(host, memory, 8 * requests));
	printf("Iteration(%d): %u context requests, %u context tokens, %u generation requests, "
	       "%u generation tokens\n",
	       number++, fresh, prompts, going, going);
}

static void serve(int silent)
{
	static const char *const fills[] = {FILL_BOOLS};
	CUmodule module = load(kernels, KERNELS);
	CUstream stream;
	CUgraph graph;

	for (int i = 0; i < KERNELS; i++)
		f[i] = function(module, kernels[i]);
	fill = function(load(fills, 1), FILL_BOOLS);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuLaunchKernel(f[PIECE], 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiate(&piece, graph, 0));
	for (unsigned n = 1; n < 40; n++) {
		iterate(1, 3 + n, 0, silent);
		iterate(1 + n % 3, 4 + 5 * n, 1, silent);
		for (unsigned i = 0; i < 2; i++)
			iterate(0, 0, 2 + n % 3, silent);
	}
}

int main(int argc, char **argv)
{
	CUcontext ctx;
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	OK(cuMemAlloc(&memory, 4096));
	if (argc > 1 && !strcmp(argv[1], "serve"))
		serve(argc > 2);
	else
		all_kinds();
	if (argc > 1 && !strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
