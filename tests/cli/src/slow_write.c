/* shared: libslow_write.so */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow disk, preloaded behind the agent: each write() or pwrite() to a *.wt takes SLOW_MS milliseconds, until the
 * file SLOW_UNTIL exists. And a slow machine: SLOW_LISTEN_MS go by before a listen().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void take_time(int fd)
{
	const char *ms = getenv("SLOW_MS"), *until = getenv("SLOW_UNTIL");
	char name[64], path[512];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = ms ? readlink(name, path, sizeof(path) - 1) : 0;
	if (len > 3 && !memcmp(path + len - 3, ".wt", 3) && (!until || access(until, F_OK)))
		usleep((useconds_t)atoi(ms) * 1000);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	take_time(fd);
	return real(fd, buf, n);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pwrite");
	take_time(fd);
	return real(fd, buf, n, at);
}

int listen(int fd, int n)
{
	static int (*real)(int, int);
	const char *ms = getenv("SLOW_LISTEN_MS");

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "listen");
	if (ms)
		usleep((useconds_t)atoi(ms) * 1000);
	return real(fd, n);
}
