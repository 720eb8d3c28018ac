/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that are hard on whoever lives inside them: agent_hostile WHAT [N]
 *   close   closes every descriptor, takes the numbers for a file of its own, goes on; its file must stay as it is
 *   fork    N children of fork() that call a launch and end by exit, N that return from main, N raw ones that _exit
 *   churn   N threads, one after the other, one launch each
 *   many    N threads at once, 20 launches each
 *   reuse   N streams, each gone before the next is made, so that the driver gives out one handle for all
 *   plain   N launches
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "agent_hostile:%d: %s: %d\n", __LINE__, #call_, (int)r_);  \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)
#define FDS 900

static CUcontext ctx;
static CUfunction kernel;
static long n;

static void start(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry hostile_kernel()\n{\n\tret;\n}\n";
	CUmodule mod;

	OK(cuInit(0));
	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&kernel, mod, "hostile_kernel"));
}

static void launch(CUstream stream, long times)
{
	for (long i = 0; i < times; i++)
		OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static int take_all_descriptors(void)
{
	char name[] = "/tmp/agent_hostile.XXXXXX";
	struct stat st;
	int own, lost = 0;

	if (syscall(SYS_close_range, 3, ~0u, 0) || (own = mkstemp(name)) < 0)
		return 77;
	unlink(name);
	for (int fd = own + 1; fd < FDS; fd++)
		dup2(own, fd);
	for (int i = 0; i < 25; i++) {
		launch(NULL, n);
		usleep(100000);
	}
	OK(cuCtxSynchronize());
	for (int fd = own; fd < FDS; fd++)
		lost += fcntl(fd, F_GETFD) < 0;
	if (fstat(own, &st) || st.st_size || st.st_blocks || lost) {
		printf("the job's file has %ld bytes, %d descriptors are closed\n",
		       (long)st.st_size, lost);
		return 4;
	}
	return 0;
}

/* The status of a child, -1 if it hangs. */
static int status_of(pid_t pid)
{
	int status;

	for (int i = 0; i < 5000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static void check_child(const char *how, pid_t pid)
{
	int status = status_of(pid);

	if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
		printf("child (%s): status %x\n", how, (unsigned)status);
		exit(4);
	}
}

/* Returns 1 in a child that is to return from main. */
static int fork_all(void)
{
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			/* refused or not: a child may ask */
			cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
			exit(7);
		}
		check_child("exit", pid);
		pid = fork();
		if (!pid)
			return 1;
		check_child("return", pid);
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			_exit(7);
		check_child("_exit", pid);
	}
	return 0;
}

static void *one(void *arg)
{
	OK(cuCtxSetCurrent(ctx));
	launch(NULL, (long)arg);
	return NULL;
}

static void churn(void)
{
	for (long i = 0; i < n; i++) {
		pthread_t th;

		pthread_create(&th, NULL, one, (void *)1l);
		pthread_join(th, NULL);
	}
}

static void many(void)
{
	pthread_t *th = calloc((size_t)n, sizeof(*th));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long i = 0; i < n; i++)
		if (pthread_create(&th[i], &small, one, (void *)20l))
			exit(77);
	for (long i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	free(th);
}

static void reuse(void)
{
	for (long i = 0; i < n; i++) {
		CUstream s;

		OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		launch(s, 1);
		OK(cuStreamSynchronize(s));
		OK(cuStreamDestroy(s));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";

	n = argc > 2 ? atol(argv[2]) : 1000;
	start();
	if (!strcmp(what, "close"))
		return take_all_descriptors();
	if (!strcmp(what, "fork") && fork_all())
		return 7;
	if (!strcmp(what, "churn"))
		churn();
	if (!strcmp(what, "many"))
		many();
	if (!strcmp(what, "reuse"))
		reuse();
	if (!strcmp(what, "plain"))
		launch(NULL, n);
	OK(cuCtxSynchronize());
	return 0;
}
