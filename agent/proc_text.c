// SPDX-License-Identifier: Apache-2.0
/*
 * Small files of the kernel (proc_text.h): one read gives all of them. Any thread, also of the job; no memory.
 */
#include "agent/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t wt_proc_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	n = read(fd, text, room - 1);
	err = errno;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	errno = err;
	return n;
}
