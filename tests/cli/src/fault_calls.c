/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a job and watches the system calls that the agent in it makes; one of them can be made to fail:
 *   fault_calls list OUT -- COMMAND...              OUT: "name site hits", one line for each place calls are made from
 *   fault_calls NAME[@SITE]:ERRNO OUT -- COMMAND... calls of that name (from that place) are not made and answer ERRNO;
 *                                                   OUT: how many these were
 * A call is the agent's if the innermost frame that is neither libc's nor the loader's lies in libwarptap.so, or if the
 * thread was made by such a call. Frames are found by looking for return addresses on the stack: the frames between a
 * system call and whoever asked libc for it are few and small. Where they are not (making a thread), remains of older
 * frames mislead: a job says getpriority(WT_FAULT_MARK, 1) before it makes such calls itself, and 0 after.
 * close is made all the same: the kernel gives the number back, whatever it answers. Ends as the command does; 99 and a
 * word on stderr if it cannot watch. x86-64 alone.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "fault_mark.h"

#define THREADS	  64
#define SITES	  1024
#define REGIONS	  512
#define STACK_MAX (64u << 10)

static const struct {
	const char *name;
	long number;
} names[] = {
#define WT_CALL(part_, name_, ...) {#name_, SYS_##name_},
#include "agent/sandbox.def"
#undef WT_CALL
};

static const struct {
	const char *name;
	int number;
} errors[] = {{"EPERM", EPERM},		 {"ENOENT", ENOENT}, {"EIO", EIO},	 {"EBADF", EBADF},
	      {"EAGAIN", EAGAIN},	 {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EFAULT", EFAULT},
	      {"EEXIST", EEXIST},	 {"EINVAL", EINVAL}, {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC},
	      {"EROFS", EROFS},		 {"ENOSYS", ENOSYS}, {"EINTR", EINTR},	 {"ESRCH", ESRCH},
	      {"EOPNOTSUPP", EOPNOTSUPP}};

enum owner { NEUTRAL, AGENT, JOB };

struct region {
	uint64_t from, to, base;
	enum owner owner;
};

struct thread {
	pid_t tid;
	int ours;	/* the agent's own */
	int agent_call; /* what is under way is the agent's */
	int fail;	/* and is to fail */
	int job_says;	/* it is the job's own business */
	long number;
};

static struct {
	pid_t pid;
	struct thread thread[THREADS];
	struct region region[REGIONS];
	size_t regions;
	struct {
		long number;
		uint64_t at;
		long hits;
	} site[SITES];
	size_t sites;
	long fail_number; /* -1: none */
	uint64_t fail_at; /* 0: any */
	int fail_errno;
	long hits;
} w = {.fail_number = -1};

#ifdef __x86_64__

static void die(const char *what)
{
	fprintf(stderr, "fault_calls: %s: %s\n", what, strerror(errno));
	if (w.pid > 0)
		kill(w.pid, SIGKILL);
	exit(99);
}

/* ---- whose ---- */

static enum owner owner_of(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	if (!strncmp(base, "libwarptap.so", 13))
		return AGENT;
	if (!strncmp(base, "libc.so", 7) || !strncmp(base, "libc-", 5) ||
	    !strncmp(base, "ld-", 3) || !strncmp(base, "libpthread", 10) ||
	    !strncmp(base, "libdl.so", 8) || *base == '[')
		return NEUTRAL;
	return JOB;
}

static void read_regions(void)
{
	char path[64], line[4400], flags[8], file[4200];
	uint64_t from, to, base = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)w.pid);
	f = fopen(path, "r");
	w.regions = 0;
	while (f && fgets(line, sizeof(line), f)) {
		file[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4199s", &from, &to, flags, file) < 3)
			continue;
		if (owner_of(file) == AGENT && !base)
			base = from;
		if (flags[2] == 'x' && w.regions < REGIONS)
			w.region[w.regions++] = (struct region){from, to, base, owner_of(file)};
	}
	if (f)
		fclose(f);
}

static const struct region *region_of(uint64_t at)
{
	for (size_t i = 0; i < w.regions; i++)
		if (at >= w.region[i].from && at < w.region[i].to)
			return &w.region[i];
	return NULL;
}

static ssize_t peek(uint64_t at, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)(uintptr_t)at, n};

	return process_vm_readv(w.pid, &local, 1, &remote, 1, 0);
}

/*
 * Is there a call instruction before it? What the agent calls to get into libc goes by a stub (jmp *x): a call of one
 * of its own functions is an older frame's leaving.
 */
static int is_return(uint64_t at, enum owner owner)
{
	uint8_t b[7], stub[2];
	int32_t off;

	if (peek(at - 7, b, 7) != 7)
		return 0;
	if (b[2] == 0xe8) {
		memcpy(&off, b + 3, sizeof(off));
		return owner != AGENT || (peek(at + (uint64_t)(int64_t)off, stub, 2) == 2 &&
					  stub[0] == 0xff && stub[1] == 0x25);
	}
	for (int i = 0; i < 6; i++)
		if (i != 2 && b[i] == 0xff && (b[i + 1] & 0x38) == 0x10)
			return 1;
	return 0;
}

/* The innermost frame that says whose call it is; *ret_at its place in libwarptap.so. */
static enum owner who(uint64_t sp, uint64_t *ret_at, int *ret_direct)
{
	static uint64_t stack[STACK_MAX / 8];
	size_t got = 0;

	/* Pages at a time: the stack may end before we do. */
	while (got < STACK_MAX) {
		size_t n = 4096 - (sp + got) % 4096;

		if (n > STACK_MAX - got)
			n = STACK_MAX - got;
		if (peek(sp + got, (char *)stack + got, n) != (ssize_t)n)
			break;
		got += n;
	}
	for (size_t i = 0; i < got / 8; i++) {
		const struct region *r = region_of(stack[i]);

		if (!r || r->owner == NEUTRAL || !is_return(stack[i], r->owner))
			continue;
		*ret_at = r->owner == AGENT ? stack[i] - r->base : 0;
		*ret_direct = !i;
		return r->owner;
	}
	return NEUTRAL;
}

/* ---- stops ---- */

static struct thread *thread_of(pid_t tid)
{
	struct thread *empty = NULL;

	for (size_t i = 0; i < THREADS; i++) {
		if (w.thread[i].tid == tid)
			return &w.thread[i];
		if (!w.thread[i].tid && !empty)
			empty = &w.thread[i];
	}
	if (!empty)
		die("too many threads");
	*empty = (struct thread){.tid = tid};
	return empty;
}

static void count(long number, uint64_t at)
{
	size_t i = 0;

	while (i < w.sites && (w.site[i].number != number || w.site[i].at != at))
		i++;
	if (i == SITES)
		die("too many places");
	w.site[i].number = number;
	w.site[i].at = at;
	w.site[i].hits++;
	w.sites = i == w.sites ? i + 1 : w.sites;
}

static int changes_maps(long number)
{
	return number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
	       number == SYS_execve;
}

static void entry(struct thread *t, const struct ptrace_syscall_info *info)
{
	int direct = 0; /* by syscall(), and not inside a function of libc's */
	uint64_t at = 0;
	enum owner o;

	t->number = (long)info->entry.nr;
	if (t->number == SYS_getpriority && info->entry.args[0] == WT_FAULT_MARK)
		t->job_says = (int)info->entry.args[1];
	o = t->job_says ? JOB : who(info->stack_pointer, &at, &direct);
	t->agent_call = t->ours || o == AGENT;
	t->fail = 0;
	if (!t->agent_call || t->number == SYS_exit || t->number == SYS_exit_group ||
	    t->number == SYS_rt_sigreturn || t->number == SYS_restart_syscall)
		return;
	count(t->number, at);
	/* libc ends the process where a futex of its own answers what no kernel does. */
	if (t->number != w.fail_number || (w.fail_at && w.fail_at != at) ||
	    (t->number == SYS_futex && !direct))
		return;
	w.hits++;
	t->fail = 1;
	if (t->number == SYS_close)
		return;
	if (ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user_regs_struct, orig_rax), -1L) &&
	    errno != ESRCH)
		die("cannot leave a call out");
}

static void leave(struct thread *t)
{
	if (t->fail &&
	    ptrace(PTRACE_POKEUSER, t->tid, offsetof(struct user_regs_struct, rax),
		   (long)-w.fail_errno) &&
	    errno != ESRCH)
		die("cannot answer for a call");
	if (changes_maps(t->number))
		read_regions();
}

static void at_syscall(struct thread *t)
{
	struct ptrace_syscall_info info;

	memset(&info, 0, sizeof(info));
	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof(info), &info) <= 0)
		return; /* it is being killed: the process ends */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		entry(t, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		leave(t);
}

/* The signal to go on with. */
static int stopped(struct thread *t, int status)
{
	int sig = WSTOPSIG(status);
	unsigned long child;

	if (sig == (SIGTRAP | 0x80)) {
		at_syscall(t);
		return 0;
	}
	if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8)) {
		if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &child))
			die("PTRACE_GETEVENTMSG");
		thread_of((pid_t)child)->ours = t->agent_call;
		return 0;
	}
	if (status >> 16) { /* another event; a new thread's first stop among them */
		if (status >> 16 == PTRACE_EVENT_EXEC)
			read_regions();
		return 0;
	}
	return sig;
}

static int watch(void)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		struct thread *t;

		if (tid < 0)
			die("waitpid");
		t = thread_of(tid);
		if (WIFSTOPPED(status)) {
			int sig = stopped(t, status);

			if (ptrace(PTRACE_SYSCALL, tid, 0, sig) && errno != ESRCH)
				die("PTRACE_SYSCALL");
			continue;
		}
		t->tid = 0;
		if (tid == w.pid)
			return status;
	}
}

static void launch(char **argv)
{
	int status;

	w.pid = fork();
	if (!w.pid) {
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (w.pid < 0 || waitpid(w.pid, &status, WUNTRACED) != w.pid)
		die("no child");
	if (ptrace(PTRACE_SEIZE, w.pid, 0,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
			   PTRACE_O_EXITKILL))
		die("PTRACE_SEIZE");
	kill(w.pid, SIGCONT);
	/* From a stop of our own on, every call is seen. */
	if (ptrace(PTRACE_INTERRUPT, w.pid, 0, 0))
		die("PTRACE_INTERRUPT");
}

/* ---- words ---- */

static const char *name_of(long number)
{
	static char text[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == number)
			return names[i].name;
	snprintf(text, sizeof(text), "%ld", number);
	return text;
}

static void what_fails(char *spec)
{
	char *error = strrchr(spec, ':'), *at = strchr(spec, '@');

	errno = EINVAL;
	if (!error)
		die(spec);
	*error++ = 0;
	if (at)
		*at++ = 0;
	w.fail_at = at ? strtoull(at, NULL, 16) : 0;
	w.fail_number = strtol(spec, NULL, 10);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, spec))
			w.fail_number = names[i].number;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, error))
			w.fail_errno = errors[i].number;
	if (!w.fail_errno || (!w.fail_number && strcmp(spec, "read") != 0))
		die(error);
}

int main(int argc, char **argv)
{
	FILE *out;
	int status;

	if (argc < 5 || strcmp(argv[3], "--") != 0) {
		fprintf(stderr, "usage: fault_calls list|NAME[@SITE]:ERRNO OUT -- COMMAND...\n");
		return 99;
	}
	if (strcmp(argv[1], "list") != 0)
		what_fails(argv[1]);
	out = fopen(argv[2], "we");
	if (!out)
		die(argv[2]);
	launch(argv + 4);
	status = watch();
	if (w.fail_number >= 0)
		fprintf(out, "%ld\n", w.hits);
	else
		for (size_t i = 0; i < w.sites; i++)
			fprintf(out, "%s %lx %ld\n", name_of(w.site[i].number), w.site[i].at,
				w.site[i].hits);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
#else
int main(void)
{
	fprintf(stderr, "fault_calls: x86-64 alone\n");
	return 99;
}
#endif
