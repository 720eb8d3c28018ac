// SPDX-License-Identifier: Apache-2.0
/*
 * Finding and asking running agents (agents.h). A directory is used only if it is ours, mode 0700 and no link, and by
 * its descriptor; what answers there must run as us, which the kernel tells. An agent has five seconds to answer.
 */
#define _GNU_SOURCE
#include "cmd/agents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/wt_err.h"

#define ANSWER_S 5

static int open_dir(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700)
		return fd;
	if (fd >= 0) {
		close(fd);
		errno = EPERM;
	}
	return -1;
}

/* A connected socket; -1: errno, ECONNREFUSED = nobody listens there any more. *ret_pid: who made it listen. */
static int connect_to(int dir_fd, const char *name, int *ret_pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = ANSWER_S};
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), saved;

	if (fd < 0)
		return -1;
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s", dir_fd, name) >=
	    (int)sizeof(addr.sun_path))
		errno = ENAMETOOLONG;
	else if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) &&
		 !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
		 !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
		 !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		*ret_pid = cred.pid;
		if (cred.uid == geteuid())
			return fd;
		errno = EPERM;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Directories looked at so far: one may have several names. */
struct seen {
	struct stat dir[4];
	size_t n;
};

static int is_new(struct seen *seen, int dir_fd)
{
	struct stat st;

	if (dir_fd < 0 || fstat(dir_fd, &st))
		return 0;
	for (size_t i = 0; i < seen->n; i++)
		if (seen->dir[i].st_dev == st.st_dev && seen->dir[i].st_ino == st.st_ino)
			return 0;
	seen->dir[seen->n++] = st;
	return 1;
}

/* Being made when its process was killed: ".PID.START.NAMESPACE". In another namespace nothing can be said of it. */
static int is_half_made(const char *name)
{
	unsigned long long ns;
	struct stat own;
	int pid;

	return sscanf(name, ".%d.%*u.%llu", &pid, &ns) == 2 && pid > 0 &&
	       !stat("/proc/self/ns/pid", &own) && ns == (unsigned long long)own.st_ino &&
	       kill(pid, 0) && errno == ESRCH;
}

static size_t find_in(struct seen *seen, const char *dir, int pid, struct wt_agent_ref *ret,
		      size_t room)
{
	int dir_fd = open_dir(dir), at;
	DIR *d = is_new(seen, dir_fd) ? fdopendir(dup(dir_fd)) : NULL;
	struct dirent *e;
	size_t n = 0;

	while (d && n < room && (e = readdir(d))) {
		struct wt_agent_ref *a = &ret[n];
		int fd;

		if (is_half_made(e->d_name))
			unlinkat(dir_fd, e->d_name, 0);
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		fd = connect_to(dir_fd, e->d_name, &at);
		if (fd < 0 && errno == ECONNREFUSED)
			unlinkat(dir_fd, e->d_name, 0);
		if (fd < 0)
			continue;
		close(fd);
		if ((pid && at != pid) || snprintf(a->path, sizeof(a->path), "%s/%s", dir,
						   e->d_name) >= (int)sizeof(a->path))
			continue;
		a->pid = at;
		n++;
	}
	if (d)
		closedir(d);
	if (dir_fd >= 0)
		close(dir_fd);
	return n;
}

static int by_pid(const void *a, const void *b)
{
	const struct wt_agent_ref *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

size_t wt_agents_find(int pid, struct wt_agent_ref *ret, size_t room)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *own = getenv("WARPTAP_CONTROL_DIR");
	unsigned user = (unsigned)geteuid();
	struct seen seen = {.n = 0};
	char dir[400];
	size_t n = 0;

	if (own && *own)
		return find_in(&seen, own, pid, ret, room);
	/* A job has the environment of a scheduler or of another login: wherever it may have looked. */
	if (run && *run == '/' && snprintf(dir, sizeof(dir), "%s/warptap", run) < (int)sizeof(dir))
		n = find_in(&seen, dir, pid, ret, room);
	snprintf(dir, sizeof(dir), "/run/user/%u/warptap", user);
	n += find_in(&seen, dir, pid, ret + n, room - n);
	snprintf(dir, sizeof(dir), "/tmp/warptap-%u", user);
	n += find_in(&seen, dir, pid, ret + n, room - n);
	qsort(ret, n, sizeof(*ret), by_pid);
	return n;
}

int wt_agent_ask(const struct wt_agent_ref *a, const struct wt_ctl_request *r, char *reply,
		 size_t room)
{
	char text[WT_CTL_REQUEST_MAX + 1], dir[512];
	char *slash;
	int len = wt_ctl_print(r, text, sizeof(text)), dir_fd, fd, pid;
	ssize_t n;

	if (len < 0)
		return len;
	snprintf(dir, sizeof(dir), "%s", a->path);
	slash = strrchr(dir, '/');
	if (!slash)
		return -WT_E_NOENT;
	*slash = 0;
	dir_fd = open_dir(dir);
	fd = dir_fd < 0 ? -1 : connect_to(dir_fd, slash + 1, &pid);
	if (dir_fd >= 0)
		close(dir_fd);
	if (fd < 0)
		return errno == ECONNREFUSED || errno == ENOENT ? -WT_E_NOENT : -WT_E_IO;
	n = send(fd, text, (size_t)len, MSG_NOSIGNAL) < 0 ? -1 : recv(fd, reply, room - 1, 0);
	close(fd);
	if (!n) /* it had no time for us */
		errno = ECONNRESET;
	if (n <= 0)
		return -WT_E_IO;
	reply[n] = 0;
	return 0;
}

const char *wt_agent_value(const char *reply, const char *key, char *out, size_t n)
{
	size_t len = strlen(key);
	const char *line = reply;

	out[0] = 0;
	while (line && *line) {
		const char *end = strchr(line, '\n');

		if (!strncmp(line, key, len) && line[len] == ' ') {
			snprintf(out, n, "%.*s", end ? (int)(end - line - (long)len - 1) : (int)n,
				 line + len + 1);
			break;
		}
		line = end ? end + 1 : NULL;
	}
	return out;
}
