// SPDX-License-Identifier: Apache-2.0
/*
 * Birth and death of the agent. The constructor reads the environment and resolves dlsym, nothing else: this library
 * is preloaded into shells, compilers and data workers that never touch CUDA, and must cost them nothing. Everything
 * starts inside the first cuInit that succeeds (CUPTI crashes without a driver), on the job's thread, silently.
 *
 * Death: exit handlers registered after CUPTI started run before libcuda's own; _exit is interposed. Both wait a
 * bounded time for the writer. No handler for fatal signals: the black box answers those. Children of fork find the
 * level word wiped to 0, raw fork included, and everything here asks it (or the process id, for vfork) first.
 */
#define _GNU_SOURCE
#include "lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "collectors/collector.h"
#include "collectors/cupti_activity.h"
#include "config.h"
#include "control.h"
#include "level.h"
#include "log.h"
#include "pack.h"
#include "proto/wt_err.h"
#include "real.h"
#include "redact.h"
#include "registry.h"
#include "sandbox.h"
#include "tls.h"
#include "trace.pb-c.h"
#include "trouble.h"

int wt_agent_enabled;
_Atomic int wt_agent_loaded;
_Atomic int wt_agent_started;

static pid_t
	our_pid; /* of the process that started; a vfork child shares our memory but not this */
static char stem[128];

/* ---- collectors ---- */

static const struct wt_collector *const collectors[] = {
#define WT_COLLECTOR(name_) &wt_collector_##name_,
#include "collectors/collectors.def"
#undef WT_COLLECTOR
};
#define COLLECTORS (sizeof(collectors) / sizeof(collectors[0]))
static int running[COLLECTORS];

int wt_collectors_start(void)
{
	int n = 0;

	for (size_t i = 0; i < COLLECTORS; i++) {
		const struct wt_collector *c = collectors[i];

		if ((c->probe && c->probe()) || (c->start && c->start())) {
			wt_log("collector %s: not available", c->name);
			continue;
		}
		__atomic_store_n(&running[i], 1, __ATOMIC_RELEASE);
		n++;
	}
	return n;
}

void wt_collectors_close(uint32_t reason)
{
	for (size_t i = 0; i < COLLECTORS; i++)
		if (__atomic_load_n(&running[i], __ATOMIC_ACQUIRE) && collectors[i]->close)
			collectors[i]->close(reason);
}

void wt_collectors_flush(int forced)
{
	for (size_t i = 0; i < COLLECTORS; i++)
		if (__atomic_load_n(&running[i], __ATOMIC_ACQUIRE) && collectors[i]->flush)
			collectors[i]->flush(forced);
}

void wt_collectors_stop(void)
{
	for (size_t i = 0; i < COLLECTORS; i++)
		if (__atomic_exchange_n(&running[i], 0, __ATOMIC_ACQ_REL) && collectors[i]->stop)
			collectors[i]->stop();
}

/* ---- birth ---- */

/*
 * A name that no trace has: the n-th such, from 0. A file of this process's is there from its image before (exec), of
 * a process before with this id, or of one beside it, in another container with the same host name.
 */
static int make_stem(int *n)
{
	char host[64] = "localhost", path[WT_CONFIG_TEXT_MAX + 160];
	struct stat st;

	if (!wt_config.redact)
		gethostname(host, sizeof(host) - 1);
	for (char *p = host; *p; p++)
		if (*p == '/')
			*p = '_';
	for (; *n < 1000; ++*n) {
		if (*n)
			snprintf(stem, sizeof(stem), "%s.%d-%d", host, (int)getpid(), *n);
		else
			snprintf(stem, sizeof(stem), "%s.%d", host, (int)getpid());
		snprintf(path, sizeof(path), "%s/%s.wt", wt_config.dir, stem);
		if (lstat(path, &st))
			return 0;
	}
	return -1;
}

/* Whoever looked at the same time may have taken the name: then it is the next one. */
static int open_trace(void)
{
	int n = 0, r;

	do {
		if (make_stem(&n))
			return -1;
		r = wt_writer_open(wt_config.dir, stem);
	} while (r == -WT_E_USAGE);
	wt_log_open(wt_config.dir, stem);
	if (r)
		wt_log("cannot write to %s: not recording", wt_redacted_word(wt_config.dir));
	return r;
}

static void on_exit_handler(void)
{
	wt_agent_exit();
}

/* Where windows are scheduled, "trace" is what they are; what is between them is counted. */
static uint32_t first_level(void)
{
	uint32_t level = wt_config.level;

	if (level == WT_LEVEL_TRACE && wt_config.window_every.n && wt_config.window_for.n)
		level = wt_config.level = WT_LEVEL_COUNT;
	return level == WT_LEVEL_TRACE && !wt_config.cupti ? WT_LEVEL_API : level;
}

/*
 * In a child, once: what the parent's memory says of a black box and of a socket is not so here. fork() calls this by
 * its handler; after a bare system call nobody does, and the first call of the driver comes by (wt_agent_inert): the
 * driver may have state of its own left in which the buffers we lent are still its.
 */
static void forked(void)
{
	uint32_t due = WT_MEND_DUE;

	if (atomic_compare_exchange_strong(&wt_words->mend, &due, WT_MEND_NOW)) {
		wt_box_forked();
		wt_control_forked();
		atomic_store(&wt_words->mend, WT_MEND_DONE);
	}
	while (atomic_load(&wt_words->mend) == WT_MEND_NOW)
		sched_yield(); /* another thread of the child came first: two system calls */
}

void wt_agent_inert(void)
{
	int saved = errno;

	if (!atomic_load(&wt_words->alive))
		forked();
	errno = saved;
}

static void start(const char *no_control)
{
	uint32_t level = first_level();

	if (open_trace())
		return;
	if (no_control) {
		WT_TROUBLE(CONTROL, EPERM);
		wt_log("a filter of system calls kills for %s: no control: the level stays what it "
		       "is",
		       no_control);
	}
	if (wt_box_open(wt_config.dir, stem, (uint64_t)wt_config.pool_mb << 20)) {
		wt_log("no memory for the black box: not recording");
		wt_writer_abandon();
		return;
	}
	if (level == WT_LEVEL_TRACE)
		wt_box_want_buffers(1);
	if (wt_config.redact)
		wt_redact_init();
	if (wt_reg_init())
		wt_log("no memory for the registry: handles will have no names");
	if (wt_writer_start()) { /* it has said why */
		wt_box_close(0);
		return;
	}
	our_pid = getpid();
	if (level < WT_LEVEL_TRACE)
		wt_writer_state(level, /* cupti absent */ 0, /* reason start */ 0,
				/* device_ns */ 0);
	else if (!wt_collectors_start()) /* they have said why */
		level = WT_LEVEL_API;
	wt_level_init(wt_config.level, level);
	atexit(on_exit_handler);
	at_quick_exit(on_exit_handler);
	/* lint: allow pthread_atfork: one mmap() and some close() in the child, no lock; the wiped word cannot do it */
	pthread_atfork(NULL, NULL, forked);
	atomic_store(wt_level_word, level);
	/* Another tool may hold CUPTI, or have taken it just now. */
	if (level == WT_LEVEL_TRACE &&
	    wt_cupti_state() != WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_OURS)
		atomic_compare_exchange_strong(wt_level_word, &level, WT_LEVEL_API);
	if (!no_control)
		wt_control_start(wt_config.dir, stem, wt_header_rank());
}

/* Beside a limit on the size of files a word is not worth the signal: see above. */
static void say_only(const char *why)
{
	struct rlimit lim;
	int n = 0;

	if (getrlimit(RLIMIT_FSIZE, &lim) || lim.rlim_cur != RLIM_INFINITY || make_stem(&n))
		return;
	wt_log_open(wt_config.dir, stem);
	wt_log("%s: not recording", why);
}

/*
 * Beyond RLIMIT_FSIZE the kernel answers a write or a reservation with EFBIG, which we expect, and with SIGXFSZ, which
 * would end the job. It goes to this thread: held back, and taken away again unless one was waiting before.
 */
static void start_without_sigxfsz(const char *no_control)
{
	struct timespec none = {0};
	sigset_t xfsz, old, before;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	if (sigpending(&before) || pthread_sigmask(SIG_BLOCK, &xfsz, &old)) {
		say_only("signals cannot be held back");
		return;
	}
	start(no_control);
	/* The raw call: libc's is a cancellation point, and the thread is the job's. */
	if (!sigismember(&before, SIGXFSZ))
		syscall(SYS_rt_sigtimedwait, &xfsz, NULL, &none, _NSIG / 8);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void start_here(void)
{
	const char *deadly;
	int not_here = wt_sandbox_look(&deadly);
	char why[96];

	if (not_here == WT_SANDBOX_LIFE) {
		snprintf(why, sizeof(why), "a filter of system calls kills for %s", deadly);
		say_only(why);
	}
	if (!not_here || not_here == WT_SANDBOX_CONTROL)
		start_without_sigxfsz(deadly);
}

void wt_agent_start(void)
{
	int no = 0, saved = errno;

	if (!wt_agent_enabled || !atomic_compare_exchange_strong(&wt_agent_started, &no, 1))
		return;
	atomic_store(&wt_words->alive, 1);
	wt_silence_enter();
	start_here();
	wt_silence_leave();
	errno = saved;
}

/* ---- death ---- */

void wt_agent_exit(void)
{
	static _Atomic int once;
	int saved = errno;

	if (!atomic_load(wt_level_word) || our_pid != getpid() || atomic_exchange(&once, 1))
		return;
	wt_silence_enter();
	wt_control_stop();
	wt_writer_stop(1, (int)wt_config.exit_ms);
	wt_silence_leave();
	errno = saved;
}

/* ---- load ---- */

static int make_level_word(void)
{
	struct wt_words *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -1;
	if (madvise(page, 4096, MADV_WIPEONFORK)) { /* before Linux 4.14: children would record */
		munmap(page, 4096);
		return -1;
	}
	atomic_store(&page->alive, 1);
	wt_words = page;
	wt_level_word = &page->level;
	return 0;
}

/* The constructor, or sooner: a library beside us may ask for the driver in a constructor that runs before ours. */
int wt_agent_load(void)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;
	int saved = errno;

	if (!atomic_flag_test_and_set(&once)) {
		wt_real_init();
		wt_config_read();
		if (wt_config.dir[0] && !getauxval(AT_SECURE) && !make_level_word())
			wt_agent_enabled = 1;
		atomic_store(&wt_agent_loaded, 1);
	}
	errno = saved;
	return wt_agent_enabled;
}

static __attribute__((constructor)) void load(void)
{
	wt_agent_load();
}
