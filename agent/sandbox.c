/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May we live here? (sandbox.h) A seccomp filter that refuses a call is answered like any failing call. One that kills
 * cannot be asked, so a child tries: each call of sandbox.def, by the bare system call. A child of its own memory, not
 * one that shares ours: its end may be a core dump, which before Linux 5.16 took all with it who shared the memory.
 * That a filter is there is read from /proc/self/status; prctl() would tell too, but may be deadly itself.
 * What remains: a filter the job puts over all threads later, when ours are at work.
 */
#define _GNU_SOURCE
#include "agent/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/proc_text.h"

#define WAIT_MS 1000 /* a filter may hand calls to a supervisor that takes its time */

/* arm64 has no newfstatat by this name in older headers; the kernel's number is the same call */
#if !defined(SYS_newfstatat) && defined(SYS_fstatat64)
#define SYS_newfstatat SYS_fstatat64
#endif

enum { LOG = WT_SANDBOX_LOG, LIFE = WT_SANDBOX_LIFE, CONTROL = WT_SANDBOX_CONTROL };

static const struct {
	int part;
	const char *name;
	long number, arg[6];
} calls[] = {
#define WT_CALL(part_, name_, ...) {part_, #name_, SYS_##name_, {__VA_ARGS__}},
#include "agent/sandbox.def"
#undef WT_CALL
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* "Seccomp:\t2" */
static int is_filtered(void)
{
	char text[4096], *at;

	wt_proc_text("/proc/self/status", text, sizeof(text));
	at = strstr(text, "\nSeccomp:\t");
	return at && at[10] == '2';
}

/* In the child: nothing but system calls. How far it has come is in `at`, a page shared with the parent. */
static void try_calls(volatile unsigned *at)
{
	syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0); /* of its own memory: no core file */
	for (unsigned i = 0; i < CALLS; i++) {
		const long *a = calls[i].arg;

		*at = i;
		syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	*at = CALLS;
	syscall(SYS_exit_group, 0);
}

/* Until the child is gone, or has had its time. */
static void await(pid_t pid)
{
	struct timespec nap = {.tv_nsec = 200000};

	for (int i = 0; i < WAIT_MS * 5; i++) {
		if (syscall(SYS_wait4, pid, NULL, __WALL | WNOHANG, NULL) != 0)
			return;
		nanosleep(&nap, NULL);
	}
	syscall(SYS_kill, pid, SIGKILL);
	syscall(SYS_wait4, pid, NULL, __WALL, NULL);
}

/* The index of the first deadly call, CALLS if there is none; -1: no child can be had. */
static int first_deadly(volatile unsigned *at)
{
	sigset_t all, old;
	pid_t pid;

	*at = 0;
	/* No signal at its end, no handler of the job in it. SIGSYS held back is deadly, as it should be. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		try_calls(at);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return -1;
	await(pid);
	return (int)*at;
}

int wt_sandbox_look(const char **ret_call)
{
	unsigned *at;
	int i;

	*ret_call = NULL;
	if (!is_filtered())
		return 0;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	i = at == MAP_FAILED ? -1 : first_deadly(at);
	if (at != MAP_FAILED)
		munmap(at, 4096);
	if (i < 0)
		return WT_SANDBOX_LOG; /* nothing can be said of any of them */
	if ((size_t)i == CALLS)
		return 0;
	*ret_call = calls[i].name;
	return calls[i].part;
}
