// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's own voice: <stem>.log beside the trace, nothing else, ever. Lines written before there is a file (the
 * constructor's) wait in a small buffer; a process that never uses CUDA leaves none. Any thread; a line is one
 * write(), so lines never mix. No allocation; errno is kept.
 */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "trouble.h"

#define LINES_MAX 1000 /* a log is for people: whoever repeats himself is cut off */

static char path[1280];
static char early[2048];
static _Atomic uint32_t early_used;
static _Atomic uint32_t lines;
static _Atomic int opened;

static void append(const char *text, size_t n)
{
	/* In a folder that others can write to anything may lie there: a fifo must not keep the job waiting. */
	int fd =
		open(path,
		     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		     0600);
	struct stat st;
	ssize_t done = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1)
		done = write(fd, text, n);
	if (done < 0)
		WT_TROUBLE(LOG, errno);
	if (fd >= 0)
		close(fd);
}

void wt_log_open(const char *dir, const char *stem)
{
	int n = snprintf(path, sizeof(path), "%s/%s.log", dir, stem);

	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	atomic_store(&opened, 1);
	if (atomic_load(&early_used))
		append(early, atomic_load(&early_used));
}

void wt_log(const char *fmt, ...)
{
	int saved = errno;
	char line[512];
	struct timespec now;
	va_list ap;
	int n, m;

	if (atomic_fetch_add(&lines, 1) >= LINES_MAX)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	n = snprintf(line, sizeof(line), "%lld.%03ld ", (long long)now.tv_sec,
		     now.tv_nsec / 1000000);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (m < 0)
		goto out;
	n += m;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (atomic_load(&opened)) {
		append(line, (size_t)n);
	} else if (early_used + (uint32_t)n <= sizeof(early)) {
		/* One thread only: before the first cuInit nothing but the constructor logs. */
		memcpy(early + early_used, line, (size_t)n);
		early_used += (uint32_t)n;
	}
out:
	errno = saved;
}
