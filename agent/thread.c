// SPDX-License-Identifier: Apache-2.0
/*
 * Threads of our own in a stranger's process (thread.h). Made on a job thread inside cuInit.
 */
#define _GNU_SOURCE
#include "agent/thread.h"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "proto/wt_err.h"

#define STACK_BYTES (128u << 10)

/* Static TLS of every library lies on a thread's stack: 128 KiB are meant to be left after it. */
static int add_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)arg += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

int wt_thread_start(void *(*run)(void *arg), void *arg)
{
	size_t stack = STACK_BYTES + (16u << 10);
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int r;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	stack += 4u << 20;
#endif
	dl_iterate_phdr(add_tls, &stack);
	stack = (stack + 4095) & ~(size_t)4095;
	if (pthread_attr_init(&attr) != 0)
		return -WT_E_NOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack);
	sigfillset(&all);
	/* glibc's own: a raw system call would block its internal signals too, and setuid() would then hang */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r ? -WT_E_NOMEM : 0;
}

/*
 * Never preempts, but has its share: where cores are short (data workers, builds), a niced thread is not merely late.
 * It holds up the job, whose process is not gone before the writer is, and loses the file. Measured at nice 19 with
 * two jobs a core: each exit took 3 s more, no file was closed. What the writer takes at full cores the governor
 * bounds.
 */
void wt_thread_begin(void)
{
	struct sched_param none = {0};

	wt_silence_enter();
	sched_setscheduler((pid_t)syscall(SYS_gettid), SCHED_BATCH, &none); /* may be forbidden */
}
