/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that are put in a narrow place, or go there while they run: agent_place WHAT [N]
 *   early FILTER   installs a filter of system calls before CUDA is initialised
 *   late FILTER    the same, for all threads, while it runs
 *                  FILTER is ACTION:CALL,CALL...  ACTION kill (the process), thread, trap, refuse (EPERM), nosys
 *   setuid         gives up being root while it runs, in all threads
 *   chroot DIR     enters DIR while it runs
 *   fds N          opens descriptors until the limit refuses, gives them back, and says how many below N there were
 *   plain N        N launches, nothing else
 * Launches 500 before and 500 after. Prints "done" and exits 0.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MUST(cond_)                                                                                \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "agent_place:%d: not so: %s (errno %d)\n", __LINE__,       \
				#cond_, errno);                                                    \
			_exit(4);                                                                  \
		}                                                                                  \
	} while (0)

static CUcontext ctx;
static CUfunction kernel;

static void start(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry place_kernel()\n{\n\tret;\n}\n";
	CUmodule mod;

	MUST(cuInit(0) == CUDA_SUCCESS);
	MUST(cuCtxCreate(&ctx, NULL, 0, 0) == CUDA_SUCCESS);
	MUST(cuModuleLoadData(&mod, ptx) == CUDA_SUCCESS);
	MUST(cuModuleGetFunction(&kernel, mod, "place_kernel") == CUDA_SUCCESS);
}

static void launch(long times)
{
	for (long i = 0; i < times; i++)
		MUST(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
}

static const struct {
	const char *name;
	int number;
} calls[] = {
#define CALL(name_) {#name_, SYS_##name_},
	CALL(fallocate) CALL(socket) CALL(bind) CALL(listen) CALL(pipe2) CALL(mkdir) CALL(getrandom)
		CALL(pwrite64) CALL(ftruncate) CALL(statfs) CALL(sched_setscheduler) CALL(fchmodat)
			CALL(unlink) CALL(unlinkat) CALL(ppoll) CALL(rt_sigtimedwait)
				CALL(sched_getaffinity) CALL(access) CALL(readlink)
					CALL(rt_sigpending) CALL(newfstatat) CALL(accept4)
						CALL(uname) CALL(geteuid) CALL(renameat)
#undef CALL
};

static uint32_t action_of(const char *name, size_t n)
{
	static const struct {
		const char *name;
		uint32_t what;
	} actions[] = {{"kill", SECCOMP_RET_KILL_PROCESS},
		       {"thread", SECCOMP_RET_KILL_THREAD},
		       {"trap", SECCOMP_RET_TRAP},
		       {"refuse", SECCOMP_RET_ERRNO | EPERM},
		       {"nosys", SECCOMP_RET_ERRNO | ENOSYS}};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strlen(actions[i].name) == n && !strncmp(actions[i].name, name, n))
			return actions[i].what;
	MUST(!"such an action");
	return 0;
}

static int number_of(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == n && !strncmp(calls[i].name, name, n))
			return calls[i].number;
	MUST(!"such a call");
	return -1;
}

/* ACTION:CALL,CALL... becomes one comparison a call. */
static void filter(const char *spec)
{
	struct sock_filter code[80];
	struct sock_fprog prog = {.filter = code};
	size_t n = strcspn(spec, ":"), at = 0;
	uint32_t action = action_of(spec, n);

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, nr));
	for (spec += n; *spec && at < 78; spec += n) {
		n = strcspn(++spec, ",");
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (uint32_t)number_of(spec, n), 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)at;
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0);
}

static void drop_root(void)
{
	MUST(setresgid(65534, 65534, 65534) == 0);
	MUST(setresuid(65534, 65534, 65534) == 0);
}

/* How many descriptors the job can have, the agent's taken off: what it needs must be left. */
static void take_fds(long least)
{
	int fd[4096], n = 0;

	while (n < 4096 && (fd[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	MUST(n >= least);
	while (n)
		close(fd[--n]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain", *arg = argc > 2 ? argv[2] : "";

	if (!strcmp(what, "early"))
		filter(arg);
	start();
	launch(500);
	if (!strcmp(what, "late") || !strcmp(what, "setuid") || !strcmp(what, "chroot"))
		usleep(300000); /* the writer is at work */
	if (!strcmp(what, "late"))
		filter(arg);
	if (!strcmp(what, "setuid"))
		drop_root();
	if (!strcmp(what, "chroot"))
		MUST(chroot(arg) == 0 && chdir("/") == 0);
	if (!strcmp(what, "fds"))
		take_fds(atol(arg));
	launch(500);
	MUST(cuCtxSynchronize() == CUDA_SUCCESS);
	if (!strcmp(what, "late"))
		usleep(2500000); /* the writer and the control thread do all they do */
	puts("done");
	return 0;
}
