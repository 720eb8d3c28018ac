/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is ended: agent_ended HOW WORK. WORK is 50 kernels on one stream, over by what
 *   event    the host waited for: an event behind them
 *   query    the host asked for until it was so: the same
 *   stream   another stream waited for, and the host for that
 *   nothing  nobody waited for: there is one more, of a minute, before them
 * HOW: kill (SIGKILL at once), or handled (SIGINT: its handler says so, the job finishes what it was at and leaves by
 * _exit, as a forked engine does).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sim_check.h"

#define KERNELS 50

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry quick()\n{\n\tret;\n}\n"
			  ".visible .entry minute()\n{\n\tret;\n}\n";
static CUfunction quick, minute;
static CUstream a, b;
static CUevent e;
static volatile sig_atomic_t told;

static void setup(void)
{
	CUcontext ctx;
	CUmodule mod;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&quick, mod, "quick"));
	OK(cuModuleGetFunction(&minute, mod, "minute"));
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
}

static void launch(CUfunction f)
{
	OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, a, NULL, NULL));
}

static void work(const char *over_by)
{
	CUresult r;

	if (!strcmp(over_by, "nothing"))
		launch(minute);
	for (int i = 0; i < KERNELS; i++)
		launch(quick);
	OK(cuEventRecord(e, a));
	if (!strcmp(over_by, "event")) {
		OK(cuEventSynchronize(e));
	} else if (!strcmp(over_by, "query")) {
		do
			r = cuEventQuery(e);
		while (r == CUDA_ERROR_NOT_READY);
		OK(r);
	} else if (!strcmp(over_by, "stream")) {
		OK(cuStreamWaitEvent(b, e, 0));
		OK(cuStreamSynchronize(b));
	}
}

static void on_int(int signal)
{
	told = 1;
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	setup();
	if (!strcmp(argv[1], "handled"))
		CHECK(signal(SIGINT, on_int) != SIG_ERR);
	work(argv[2]);
	if (!strcmp(argv[1], "kill"))
		raise(SIGKILL);
	raise(SIGINT);
	CHECK(told);
	work(argv[2]);
	_exit(130);
}
