/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is queued and waits for something else: agent_waits device|stream|function, ten times. The first device
 * runs `quick`, then waits for the end of `slow` on the second one (by an event, over two streams with `stream`), or
 * for a function of the host that sleeps for 20 ms, and runs `quick` again. Warmed up before: launches are quick.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <string.h>
#include <unistd.h>

#include "sim_check.h"

#define ROUNDS 10

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry quick()\n{\n\tret;\n}\n"
			  ".visible .entry slow()\n{\n\tret;\n}\n";
static CUcontext ctx[2];
static CUfunction quick[2], slow[2];
static CUstream stream[2], between;
static CUevent slept[2], passed;

static void setup(void)
{
	OK(cuInit(0));
	for (int i = 0; i < 2; i++) {
		CUmodule mod;

		OK(cuDevicePrimaryCtxRetain(&ctx[i], i));
		OK(cuCtxSetCurrent(ctx[i]));
		OK(cuModuleLoadData(&mod, ptx));
		OK(cuModuleGetFunction(&quick[i], mod, "quick"));
		OK(cuModuleGetFunction(&slow[i], mod, "slow"));
		OK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&slept[i], CU_EVENT_DISABLE_TIMING));
	}
	OK(cuCtxSetCurrent(ctx[0]));
	OK(cuStreamCreate(&between, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&passed, CU_EVENT_DISABLE_TIMING));
}

static void launch(int device, CUfunction f, CUstream s)
{
	OK(cuCtxSetCurrent(ctx[device]));
	OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, s, NULL, NULL));
}

static void sleeps(void *arg)
{
	usleep(20000);
}

static void round_of(const char *what)
{
	launch(0, quick[0], stream[0]);
	if (!strcmp(what, "function")) {
		OK(cuLaunchHostFunc(stream[0], sleeps, NULL));
	} else {
		launch(1, slow[1], stream[1]);
		OK(cuEventRecord(slept[1], stream[1]));
		OK(cuCtxSetCurrent(ctx[0]));
		if (!strcmp(what, "stream")) {
			OK(cuStreamWaitEvent(between, slept[1], 0));
			OK(cuEventRecord(passed, between));
			OK(cuStreamWaitEvent(stream[0], passed, 0));
		} else {
			OK(cuStreamWaitEvent(stream[0], slept[1], 0));
		}
	}
	launch(0, quick[0], stream[0]);
	OK(cuStreamSynchronize(stream[0]));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	setup();
	for (int i = 0; i < 50; i++) {
		launch(0, quick[0], stream[0]);
		launch(0, quick[0], between);
		launch(1, quick[1], stream[1]);
	}
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(ctx[i]));
		OK(cuCtxSynchronize());
	}
	for (int i = 0; i < ROUNDS; i++)
		round_of(argv[1]);
	return 0;
}
