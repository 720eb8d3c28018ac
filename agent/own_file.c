// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors of our own (own_file.h). One caller at a time per file. What remains is the instant between the check
 * and the call that follows it: no one can close that from outside the job's own threads.
 */
#define _GNU_SOURCE
#include "agent/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "proto/wt_err.h"

#define HIGH_FD 500 /* out of the way of jobs that close 3..N or expect small numbers */

static int is_same(const struct wt_own_file *f, const struct stat *st)
{
	return (uint64_t)st->st_dev == f->dev && (uint64_t)st->st_ino == f->ino;
}

/* The number just opened may have become the job's meanwhile (dup2): then it is not ours to close. */
static int move_high(const struct wt_own_file *f, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	struct stat st;

	if (high < 0) /* the limit on descriptors is below: any free one */
		return fd;
	if (fstat(fd, &st) ? errno != EBADF : is_same(f, &st))
		close(fd);
	return high;
}

int wt_own_file_create(struct wt_own_file *f, const char *path, int mode)
{
	size_t n = strlen(path);
	struct stat st;
	int fd;

	f->fd = -1;
	f->mode = mode;
	if (n >= sizeof(f->path))
		return -WT_E_LIMIT;
	memcpy(f->path, path, n + 1);
	fd = open(path, mode | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -WT_E_IO;
	if (fstat(fd, &st)) {
		int why = errno;

		unlink(path); /* made just now */
		close(fd);
		errno = why;
		return -WT_E_IO;
	}
	f->dev = (uint64_t)st.st_dev;
	f->ino = (uint64_t)st.st_ino;
	f->fd = move_high(f, fd);
	return 0;
}

int wt_own_file_check(struct wt_own_file *f, struct stat *st)
{
	struct stat now;
	int fd;

	if (f->fd < 0)
		return 0;
	if (!fstat(f->fd, &now)) {
		if (is_same(f, &now))
			goto found;
	} else if (errno != EBADF) {
		return 0; /* open, and nothing says whose it is: it is kept, and not written to */
	}
	f->fd = -1;
	fd = open(f->path, f->mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (fstat(fd, &now) || !is_same(f, &now)) {
		close(fd);
		return 0;
	}
	f->fd = move_high(f, fd);
found:
	if (st)
		*st = now;
	return 1;
}

void wt_own_file_close(struct wt_own_file *f)
{
	struct stat st;

	/* Where nothing says whose it is, it is what we opened. */
	if (f->fd >= 0 && (fstat(f->fd, &st) ? errno != EBADF : is_same(f, &st)))
		close(f->fd);
	f->fd = -1;
}
