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
#include <unistd.h>

#include "proto/wt_err.h"

#define STEP (1u << 20)

int wt_sink_open(struct wt_sink *s, const char *path, uint64_t cap_bytes)
{
	struct rlimit lim;
	int r;

	*s = (struct wt_sink){.cap_bytes = cap_bytes, .ahead = 1};
	r = wt_own_file_create(&s->file, path, O_WRONLY);
	if (r) {
		s->sys_errno = errno;
		return r;
	}
	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    (!s->cap_bytes || lim.rlim_cur < s->cap_bytes))
		s->cap_bytes = lim.rlim_cur;
	return 0;
}

static int is_ours(struct wt_sink *s)
{
	if (wt_own_file_check(&s->file, NULL))
		return 1;
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
		return s->file.fd >= 0;
	if (!is_ours(s))
		return 0;
	if (s->cap_bytes && s->reserved_to + step > s->cap_bytes)
		step = s->cap_bytes - s->reserved_to;
	if (fallocate(s->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)s->reserved_to, (off_t)step) == 0 ||
	    (step > need - s->reserved_to &&
	     fallocate(s->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)s->reserved_to,
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
		ssize_t k = pwrite(s->file.fd, p, n, (off_t)s->pos);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			s->sys_errno = k < 0 ? errno : EIO;
			if (ftruncate(s->file.fd, (off_t)before) == 0)
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
	if (!s->pos && s->file.ino && unlink(s->file.path)) /* an empty file is no trace */
		s->sys_errno = errno;
	if (!is_ours(s))
		return;
	/* Gives back what was reserved beyond the end; harmless where it fails. */
	if (s->reserved_to > s->pos && ftruncate(s->file.fd, (off_t)s->pos) != 0)
		s->sys_errno = errno;
	wt_own_file_close(&s->file);
}
