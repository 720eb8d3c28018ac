/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_stub.h. The file is opened for each line: stubs are rare, and several libraries and processes share it
 * (O_APPEND keeps short lines whole). errno survives.
 */
#define _GNU_SOURCE /* secure_getenv */
#include "simgpu/cudart/sim_stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void sim_log_line(const char *fmt, ...)
{
	const char *path = secure_getenv("SIMGPU_LOG");
	char line[512];
	int saved = errno, fd, n;
	va_list ap;

	if (!path || !*path)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0) {
		if (write(fd, line, n) != n)
			n = 0; /* nowhere to say so */
		close(fd);
	}
	errno = saved;
}

void sim_stub_used(unsigned char *once, const char *lib, const char *name)
{
	if (!__atomic_exchange_n(once, 1, __ATOMIC_RELAXED))
		sim_log_line("stub %s %s", lib, name);
}
