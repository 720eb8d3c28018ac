// SPDX-License-Identifier: Apache-2.0
/*
 * Opening the control socket; see control_sock.h. The directory is opened once, without following a link at its end,
 * checked by its descriptor, and used by that descriptor (/proc/self/fd), so that what was checked is what is used, and
 * a long path is no obstacle. Between bind() and listen() nobody can connect, then the mode is right, and only then the
 * socket gets the name that clients look for: one that found it before would take it for left behind, and remove it.
 *
 * What lies there under our own name was left by an earlier image of this process (exec) and goes. What others left
 * behind is not looked at: a job must not have to wait for that; `warptap attach` clears it away.
 */
#define _GNU_SOURCE
#include "agent/control_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/proc_text.h"
#include "agent/redact.h"
#include "agent/trouble.h"
#include "proto/wt_err.h"

#define HIGH_FD 500
#define BACKLOG 16

int wt_control_fd_high(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Makes the last part if it is missing. An open directory that only we can use, or -1. */
static int open_dir(char *path, size_t n, const char *base, const char *name)
{
	struct stat st;
	int fd, len = snprintf(path, n, "%s%s%s", base, *name ? "/" : "", name);

	if (len < 0 || (size_t)len >= n || *base != '/')
		return -1;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700) {
		wt_log("control: %s is not a directory of mode 0700 of our own: no control socket",
		       wt_redacted_word(path));
		close(fd);
		return -1;
	}
	return fd;
}

static int find_dir(char *path, size_t n)
{
	const char *run = secure_getenv("XDG_RUNTIME_DIR");
	char name[32];
	int fd;

	if (wt_config.control_dir[0])
		return open_dir(path, n, wt_config.control_dir, "");
	fd = run && *run ? open_dir(path, n, run, "warptap") : -1;

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "warptap-%u", (unsigned)geteuid());
	return open_dir(path, n, "/tmp", name);
}

/* Field 22 of /proc/self/stat; the name in field 2 may hold anything, but for a closing parenthesis behind it. */
static unsigned long long start_time(void)
{
	char text[1024], *at;

	wt_proc_text("/proc/self/stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Clients look at names that begin with a digit. */
static int listen_in(struct wt_control_sock *s, const char *dir, int dir_fd, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char hidden[100];
	struct stat st;
	int fd, why;

	snprintf(hidden, sizeof(hidden), ".%s", name);
	if (snprintf(s->path, sizeof(s->path), "%s/%s", dir, name) >= (int)sizeof(s->path) ||
	    snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s", dir_fd, hidden) >=
		    (int)sizeof(addr.sun_path))
		return -WT_E_LIMIT;
	fd = wt_control_fd_high(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -WT_E_IO;
	unlinkat(dir_fd, hidden, 0);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		goto fail;
	if (fchmodat(dir_fd, hidden, 0600, 0) || listen(fd, BACKLOG) || fstat(fd, &st) ||
	    renameat(dir_fd, hidden, dir_fd, name)) {
		unlinkat(dir_fd, hidden, 0);
		goto fail;
	}
	s->fd = fd;
	s->dev = (uint64_t)st.st_dev;
	s->ino = (uint64_t)st.st_ino;
	return 0;
fail:
	why = errno;
	wt_log("control: cannot listen at %s: %s", wt_redacted_word(s->path), strerrorname_np(why));
	close(fd);
	errno = why;
	return -WT_E_IO;
}

int wt_control_sock_open(struct wt_control_sock *s)
{
	char dir[400], name[96];
	struct stat ns;
	int dir_fd = find_dir(dir, sizeof(dir)), r;

	s->fd = -1;
	s->path[0] = 0;
	if (dir_fd < 0) {
		WT_TROUBLE(CONTROL, errno);
		return -WT_E_IO;
	}
	snprintf(name, sizeof(name), "%d.%llu.%llu", (int)getpid(), start_time(),
		 stat("/proc/self/ns/pid", &ns) ? 0ull : (unsigned long long)ns.st_ino);
	r = listen_in(s, dir, dir_fd, name);
	if (r) {
		WT_TROUBLE(CONTROL, errno);
		s->path[0] = 0;
	}
	close(dir_fd);
	return r;
}

int wt_control_sock_check(struct wt_control_sock *s)
{
	struct stat st;

	if (s->fd < 0)
		return 0;
	if (fstat(s->fd, &st) ? errno != EBADF
			      : (uint64_t)st.st_dev == s->dev && (uint64_t)st.st_ino == s->ino)
		return 1;
	s->fd = -1; /* closed by the job, or its own now */
	return 0;
}

void wt_control_sock_remove(struct wt_control_sock *s)
{
	if (s->path[0])
		unlink(s->path);
}
