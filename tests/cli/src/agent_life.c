/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that are born, multiply and end in every way a process can: agent_life WHAT [N [ARG]]
 *   plain     N launches, waited for                    running  N launches, returns while they run
 *   fork      N children, fork and raw clone (ARG libc: fork alone), that try to use CUDA; refused, end in four ways
 *   capture   forks in the middle of a stream capture; the graph is whole afterwards
 *   vfork     N children of vfork: one that execs /bin/true, one that only ends
 *   forkexec  N children of fork, N of posix_spawn, that become this program with "plain 100"
 *   engines   never uses CUDA itself; N children that do, launch 200 each and end by ARG: _exit, KILL, TERM, ABRT
 *   chain     launches 100 and becomes this program with N - 1, until N is 0
 *   daemon    double fork, setsid, all descriptors closed; the daemon launches N
 *   threads   N threads that launch once and end by pthread_exit, by cancellation, by the bare system call
 *   signals   N launches under a rain of signals; handlers run on the job's threads alone
 *   children  N short children, by turns posix_spawn of /bin/true and fork, from a job that has launched
 * Exit 0; anything else says what went wrong.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "agent_life:%d: %s: %d\n", __LINE__, #call_, (int)r_);     \
			_exit(3);                                                                  \
		}                                                                                  \
	} while (0)
#define MUST(cond_)                                                                                \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "agent_life:%d: not so: %s\n", __LINE__, #cond_);          \
			_exit(4);                                                                  \
		}                                                                                  \
	} while (0)

extern char **environ;
static CUcontext ctx;
static CUfunction kernel;
static long n;
static const char *arg, *self;

static void start(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry life_kernel()\n{\n\tret;\n}\n";
	CUmodule mod;

	OK(cuInit(0));
	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&kernel, mod, "life_kernel"));
}

static CUresult one(CUstream s)
{
	return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

static void launch(long times)
{
	for (long i = 0; i < times; i++)
		OK(one(NULL));
}

static void plain(void)
{
	start();
	launch(n);
	OK(cuCtxSynchronize());
}

static void running(void)
{
	start();
	launch(n);
}

/* The status of a child; a minute is for ever. */
static int status_of(pid_t pid)
{
	int status;

	for (int i = 0; i < 60000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static void ended_with(pid_t pid, int code)
{
	int status = status_of(pid);

	if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != code) {
		fprintf(stderr, "agent_life: a child ended with status %x, not exit %d\n",
			(unsigned)status, code);
		_exit(5);
	}
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Everything a child may try, and the driver refuses. */
static void try_all(void)
{
	CUdeviceptr p;
	CUstream s;

	for (int i = 0; i < 50; i++)
		MUST(one(NULL) == CUDA_ERROR_NOT_INITIALIZED);
	MUST(cuMemAlloc(&p, 64) == CUDA_ERROR_NOT_INITIALIZED);
	MUST(cuStreamCreate(&s, 0) == CUDA_ERROR_NOT_INITIALIZED);
	MUST(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
	MUST(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED);
}

/* 1: a child that is to return from main. */
static int forks(void)
{
	start();
	for (long i = 0; i < n; i++) {
		for (int how = 0; how < (strcmp(arg, "libc") ? 8 : 4); how++) {
			pid_t pid = how < 4 ? fork() : raw_fork();

			if (!pid) {
				try_all();
				if (how % 4 == 0)
					exit(7);
				if (how % 4 == 1)
					_exit(7);
				if (how % 4 == 2)
					return 1;
				quick_exit(7);
			}
			launch(10); /* side by side with the child */
			ended_with(pid, 7);
		}
		OK(cuCtxSynchronize());
	}
	return 0;
}

static void capture(void)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;
	size_t nodes = 0;

	start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (long i = 0; i < n; i++) {
		pid_t pid = i % 2 ? raw_fork() : fork();

		if (!pid) {
			try_all();
			_exit(7);
		}
		OK(one(s));
		ended_with(pid, 7);
	}
	OK(cuStreamEndCapture(s, &graph));
	OK(cuGraphGetNodes(graph, NULL, &nodes));
	MUST((long)nodes == n);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	launch(5);
	OK(cuCtxSynchronize());
}

static void vforks(void)
{
	start();
	for (volatile long i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		ended_with(pid, 0);
		pid = vfork();
		if (!pid)
			_exit(7);
		ended_with(pid, 7);
		launch(1);
	}
	OK(cuCtxSynchronize());
}

static pid_t spawn(const char *path, char *const argv[])
{
	pid_t pid;

	MUST(posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0);
	return pid;
}

static void fork_exec(void)
{
	char *argv[] = {"agent_life", "plain", "100", NULL};

	start();
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			execv(self, argv);
			_exit(9);
		}
		launch(1);
		ended_with(pid, 0);
		ended_with(spawn(self, argv), 0);
	}
	OK(cuCtxSynchronize());
}

static void engine(void)
{
	static const struct {
		const char *name;
		int sig;
	} ends[] = {{"KILL", SIGKILL}, {"TERM", SIGTERM}, {"ABRT", SIGABRT}};

	n = 200;
	plain();
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(arg, ends[i].name)) {
			usleep(2000000); /* a flush of the writer is due each tenth of a second */
			kill(getpid(), ends[i].sig);
		}
	_exit(7);
}

/* What a server does whose engine cores are forked: it must stay without CUDA, or the children could not use it. */
static void engines(void)
{
	pid_t *pid = calloc((size_t)n, sizeof(*pid));
	CUcontext none;
	long many = n;

	MUST(pid);
	for (long i = 0; i < many; i++) {
		pid[i] = i % 2 ? raw_fork() : fork();
		if (!pid[i])
			engine();
	}
	for (long i = 0; i < many; i++) {
		int status = status_of(pid[i]);

		MUST(status != -1);
		MUST(strcmp(arg, "_exit") ? WIFSIGNALED(status)
					  : WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	MUST(cuCtxGetCurrent(&none) == CUDA_ERROR_NOT_INITIALIZED);
	free(pid);
}

static void chain(void)
{
	char left[24];

	start();
	launch(100);
	OK(cuCtxSynchronize());
	if (n <= 1)
		return;
	usleep(1500000); /* as before a kill: exec ends all threads */
	snprintf(left, sizeof(left), "%ld", n - 1);
	execl(self, "agent_life", "chain", left, (char *)NULL);
	_exit(9);
}

static void become_daemon(void)
{
	int ready[2];
	pid_t pid;
	char c;

	MUST(pipe(ready) == 0);
	pid = fork();
	if (!pid) {
		setsid();
		if (fork())
			_exit(0);
		for (int fd = 0; fd < 1024; fd++)
			if (fd != ready[1])
				close(fd);
		MUST(chdir("/") == 0);
		umask(0);
		plain();
		MUST(write(ready[1], "", 1) == 1);
		return;
	}
	ended_with(pid, 0);
	close(ready[1]);
	MUST(read(ready[0], &c, 1) == 1);
	MUST(read(ready[0], &c, 1) == 0); /* until it is gone */
}

static void *short_life(void *how)
{
	OK(cuCtxSetCurrent(ctx));
	launch(1);
	if ((long)how == 0)
		pthread_exit(NULL);
	if ((long)how == 1)
		for (;;)
			pause();
	syscall(SYS_exit, 0);
	return NULL;
}

static void threads(void)
{
	start();
	for (long i = 0; i < n; i++) {
		long how = i % 3;
		pthread_t th;

		MUST(pthread_create(&th, NULL, short_life, (void *)how) == 0);
		if (how == 1)
			pthread_cancel(th);
		pthread_join(th, NULL);
	}
	OK(cuCtxSynchronize());
}

static pid_t mine[2]; /* the two threads of the job */
static volatile sig_atomic_t rained, strangers;

static void on_alarm(int sig)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	rained++;
	strangers += tid != mine[0] && tid != mine[1];
}

static void *under_rain(void *unused)
{
	sigset_t none;

	mine[1] = (pid_t)syscall(SYS_gettid);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	OK(cuCtxSetCurrent(ctx));
	launch(n / 2);
	OK(cuCtxSynchronize());
	return NULL;
}

static void signals(void)
{
	static const int kinds[] = {SIGALRM, SIGUSR1, SIGPROF, SIGIO, SIGCHLD};
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {
		.sa_handler = on_alarm}; /* calls are interrupted, and not taken up again */
	sigset_t all, old;
	pthread_t th;

	mine[0] = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		MUST(sigaction(kinds[i], &act, NULL) == 0);
	start();
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0 &&
	     setitimer(ITIMER_PROF, &often, NULL) == 0);
	sigfillset(&all); /* until it has said who it is */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	MUST(pthread_create(&th, NULL, under_rain, NULL) == 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	launch(n - n / 2);
	for (int i = 0; i < 300; i++) {
		kill(getpid(), kinds[1 + i % 4]);
		usleep(1000);
	}
	OK(cuCtxSynchronize());
	pthread_join(th, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	setitimer(ITIMER_PROF, &never, NULL);
	MUST(rained > 100);
	MUST(!strangers);
}

static void children(void)
{
	char *argv[] = {"true", NULL};

	start();
	launch(100);
	for (long i = 0; i < n; i++) {
		pid_t pid = i % 2 ? fork() : spawn("/bin/true", argv);

		if (!pid)
			_exit(0);
		ended_with(pid, 0);
	}
	launch(100);
	OK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} what[] = {
		{"plain", plain},	{"running", running},	   {"capture", capture},
		{"vfork", vforks},	{"forkexec", fork_exec},   {"engines", engines},
		{"chain", chain},	{"daemon", become_daemon}, {"threads", threads},
		{"children", children}, {"signals", signals},
	};
	const char *name = argc > 1 ? argv[1] : "";

	self = "/proc/self/exe";
	n = argc > 2 ? atol(argv[2]) : 100;
	arg = argc > 3 ? argv[3] : "_exit";
	if (!strcmp(name, "fork"))
		return forks() ? 7 : 0;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		if (!strcmp(name, what[i].name)) {
			what[i].run();
			return 0;
		}
	return 2;
}
