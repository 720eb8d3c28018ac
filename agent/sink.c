/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file (sink.h). Room is reserved with fallocate(KEEP_SIZE) in steps ahead of the end: a disk that fills up
 * is noticed while the reserve still holds the closing packets, and a frame is never torn by it. File systems that
 * cannot reserve are written as they are; there a short write is cut off again, so that the file ends with whole bytes
 * of what zstd had flushed before.
 * SIGXFSZ: the writer thread has all signals blocked; the write answers EFBIG and the signal stays pending there.
 */
#define _GNU_SOURCE
#include "agent/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/wt_err.h"

#define STEP	(1u << 20)
#define HIGH_FD 500 /* out of the way of jobs that close 3..N or expect small numbers */

int wt_sink_open(struct wt_sink *s, const char *path, uint64_t cap_bytes)
{
	struct rlimit lim;
	struct stat st;
	int fd, high;

	*s = (struct wt_sink){.fd = -1, .cap_bytes = cap_bytes, .ahead = 1};
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		s->sys_errno = errno;
		return -WT_E_IO;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0) /* the limit on descriptors is below: any free one */
		high = fd;
	else
		close(fd);
	s->fd = high;
	if (fstat(high, &st) == 0) {
		s->dev = (uint64_t)st.st_dev;
		s->ino = (uint64_t)st.st_ino;
	}
	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    (!s->cap_bytes || lim.rlim_cur < s->cap_bytes))
		s->cap_bytes = lim.rlim_cur;
	return 0;
}

/* 0 when the descriptor is not ours any more: the job closed it, and may have opened a file of its own there. */
static int is_ours(struct wt_sink *s)
{
	struct stat st;

	if (s->fd >= 0 && fstat(s->fd, &st) == 0 && (uint64_t)st.st_dev == s->dev &&
	    (uint64_t)st.st_ino == s->ino)
		return 1;
	s->fd = -1; /* not closed: it is the job's */
	s->sys_errno = EBADF;
	return 0;
}

int wt_sink_room(struct wt_sink *s, uint64_t bytes, int tail)
{
	uint64_t need = s->pos + bytes + (tail ? 0 : WT_SINK_TAIL);
	uint64_t step = (need - s->reserved_to + STEP - 1) / STEP * STEP;

	if (s->cap_bytes && need > s->cap_bytes) {
		s->sys_errno = EFBIG;
		return 0;
	}
	if (!s->ahead || need <= s->reserved_to)
		return s->fd >= 0;
	if (!is_ours(s))
		return 0;
	if (s->cap_bytes && s->reserved_to + step > s->cap_bytes)
		step = s->cap_bytes - s->reserved_to;
	if (fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->reserved_to, (off_t)step) == 0 ||
	    (step > need - s->reserved_to &&
	     fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->reserved_to,
		       (off_t)(step = need - s->reserved_to)) == 0)) {
		s->reserved_to += step;
		return 1;
	}
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
		s->sys_errno = errno;
		return 0;
	}
	if (errno != EINTR)
		s->ahead = 0; /* this file system cannot reserve */
	return 1;
}

int wt_sink_write(void *sink, const void *bytes, size_t n)
{
	struct wt_sink *s = sink;
	uint64_t before = s->pos;
	const uint8_t *p = bytes;

	if (!is_ours(s))
		return -WT_E_IO;
	while (n) {
		ssize_t k = write(s->fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			s->sys_errno = k < 0 ? errno : EIO;
			if (ftruncate(s->fd, (off_t)before) == 0 &&
			    lseek(s->fd, (off_t)before, SEEK_SET) >= 0)
				s->pos = before;
			return -WT_E_IO;
		}
		p += k;
		n -= (size_t)k;
		s->pos += (uint64_t)k;
	}
	return 0;
}

void wt_sink_close(struct wt_sink *s)
{
	if (!is_ours(s))
		return;
	/* Gives back what was reserved beyond the end; harmless where it fails. */
	if (s->reserved_to > s->pos && ftruncate(s->fd, (off_t)s->pos) != 0)
		s->sys_errno = errno;
	close(s->fd);
	s->fd = -1;
}
