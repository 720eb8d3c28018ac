/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short job that gives the agent occasion for everything it does: agent_faults FILE WARPTAP
 * Launches, a graph, copies, streams, threads; WARPTAP attach asks for a window and a status meanwhile (whatever comes
 * of that). Prints what the driver answered, "done", and exits with 5. FILE gets a line "descriptors mappings kB" after
 * the first part and one at the end: what runs on must not grow; then 0 if WARPTAP attach was answered.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_mark.h"

static CUcontext ctx;
static CUfunction kernel;
static CUdeviceptr memory;
static unsigned bad;

/* The job goes on whatever it is told, and says so in the end. */
#define TELL(call_)                                                                                \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS && bad++ < 10)                                              \
			printf("%s: %d\n", #call_, (int)r_);                                       \
	} while (0)

static void start(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry fault_kernel()\n{\n\tret;\n}\n";
	CUmodule mod;

	TELL(cuInit(0));
	TELL(cuCtxCreate(&ctx, NULL, 0, 0));
	TELL(cuModuleLoadData(&mod, ptx));
	TELL(cuModuleGetFunction(&kernel, mod, "fault_kernel"));
	TELL(cuMemAlloc(&memory, 1 << 20));
}

static void launch(CUstream s, int times)
{
	for (int i = 0; i < times; i++)
		TELL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
}

static void graph(void)
{
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	TELL(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	TELL(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch(s, 3);
	TELL(cuStreamEndCapture(s, &g));
	TELL(cuGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 10; i++)
		TELL(cuGraphLaunch(exec, s));
	TELL(cuStreamSynchronize(s));
	TELL(cuGraphExecDestroy(exec));
	TELL(cuGraphDestroy(g));
	TELL(cuStreamDestroy(s));
}

static void *in_thread(void *arg)
{
	char text[4096] = "";

	TELL(cuCtxSetCurrent(ctx));
	launch(NULL, 50);
	TELL(cuMemcpyHtoD(memory, text, sizeof(text)));
	TELL(cuMemsetD8(memory, 1, 4096));
	TELL(cuMemcpyDtoH(text, memory, sizeof(text)));
	if (text[100] != 1 && bad++ < 10)
		printf("the memory holds %d\n", text[100]);
	return arg;
}

static void work(void)
{
	pthread_t thread;

	launch(NULL, 100);
	graph();
	WT_MINE(1);
	if (!pthread_create(&thread, NULL, in_thread, NULL))
		pthread_join(thread, NULL);
	WT_MINE(0);
	TELL(cuCtxSynchronize());
}

/* Whatever comes of it, within twenty seconds. */
static int attach(const char *warptap, const char *command, const char *option, const char *value)
{
	char pid[16], *env[] = {NULL}, *argv[] = {(char *)(uintptr_t)warptap,
						  "attach",
						  pid,
						  (char *)(uintptr_t)command,
						  (char *)(uintptr_t)option,
						  (char *)(uintptr_t)value,
						  NULL};
	char control[300];
	char *const with[] = {control, NULL};
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(control, sizeof(control), "WARPTAP_CONTROL_DIR=%s",
		 getenv("WARPTAP_CONTROL_DIR") ? getenv("WARPTAP_CONTROL_DIR") : "");
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	if (!posix_spawn(&child, warptap, &quiet, NULL, argv, *control ? with : env)) {
		for (int i = 0; i < 20000 && waitpid(child, &status, WNOHANG) != child; i++) {
			if (i == 19900)
				kill(child, SIGKILL);
			usleep(1000);
		}
	}
	posix_spawn_file_actions_destroy(&quiet);
	return status;
}

/* But for the one it is counted with. */
static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = -1;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

/*
 * Kept ones, not those that are open for the length of a look: a socket that cannot be made is tried again each second,
 * with two of them for as long as it takes. 0 = how many there are is not known; else it is waited for that they are no
 * more than so many.
 */
static int measure(int to, int known)
{
	int n = descriptors(), again, fd;
	char text[100];
	long pages = 0;

	for (int i = 0; i < (known ? 2500 : 25) && (!known || n > known); i++) {
		usleep(2000);
		again = descriptors();
		n = again < n ? again : n;
	}
	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		pages = atol(text);
	if (fd >= 0)
		close(fd);
	dprintf(to, "%d %ld\n", n, pages * 4);
	return n;
}

int main(int argc, char **argv)
{
	int to = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	int asked, open_now;

	if (to < 0)
		return 2;
	start();
	work();
	WT_MINE(1);
	usleep(350000); /* the writer's second cycle, and the control thread is up */
	asked = attach(argv[2], "window", "--for", "60ms") | attach(argv[2], "status", NULL, NULL);
	usleep(100000); /* the last connection is closed */
	open_now = measure(to, 0);
	WT_MINE(0);
	for (int i = 0; i < 5; i++) {
		work();
		usleep(60000);
	}
	WT_MINE(1);
	measure(to, open_now);
	dprintf(to, "%d\n", asked);
	puts("done");
	WT_MINE(0);
	return 5;
}
