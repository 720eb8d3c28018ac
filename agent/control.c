// SPDX-License-Identifier: Apache-2.0
/*
 * The control thread (control.h): one poll() loop.
 *
 *   wake pipe      a hook saw the step or collective at which a window is due
 *   socket         a client: the same user's, else it is closed; one request, one reply, one second
 *   time           windows, the governor's tick
 *
 * Clients: at most CLIENTS at once, one more is closed at once; nothing waits for them, in either direction. The job
 * may close our descriptors, or make them its own (dup2): each is looked at before it is used, and made anew once a
 * second.
 */
#define _GNU_SOURCE
#include "agent/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/clock.h"
#include "agent/config.h"
#include "agent/control_reply.h"
#include "agent/control_sock.h"
#include "agent/cost.h"
#include "agent/governor.h"
#include "agent/level.h"
#include "agent/thread.h"
#include "agent/trouble.h"
#include "agent/windows.h"
#include "proto/control_msg.h"
#include "proto/wt_err.h"

#define CLIENTS	     8
#define CLIENT_NS    1000000000ll
#define TICK_NS	     1000000000ll
#define SKEW_TICK_NS 50000000ll /* while a window is open: what holds up all ranks is to end soon */
#define BLIND_NS     10000000ll /* tick while there is no pipe to be woken by */
#define SYNC_MS	     2000
#define OPEN_MS	     50

struct client {
	int fd; /* -1 = free */
	uint64_t dev, ino;
	int64_t until_ns;
};

static struct {
	struct wt_control_sock sock;
	int wake[2]; /* pipe: read, write */
	uint64_t wake_ino;
	struct client client[CLIENTS];
	int64_t tick_ns;
	_Atomic uint64_t ticks;
	int64_t deaf_ns; /* until then nobody is let in */
	_Atomic uint32_t running, closing, opening;
	int rank;
} c = {.sock = {.fd = -1}, .wake = {-1, -1}};

static int is_ours(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		return errno !=
		       EBADF; /* open, and nothing says whose it is: then it is what it was */
	return (uint64_t)st.st_ino == ino && (!dev || (uint64_t)st.st_dev == dev);
}

/* ---- waking ---- */

static void open_wake(void)
{
	struct stat st;
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK)) {
		WT_TROUBLE(CONTROL, errno);
		return;
	}
	if (fstat(p[0], &st)) {
		WT_TROUBLE(CONTROL, errno);
		close(p[0]);
		close(p[1]);
		return;
	}
	c.wake[0] = wt_control_fd_high(p[0]);
	c.wake_ino = (uint64_t)st.st_ino;
	__atomic_store_n(&c.wake[1], wt_control_fd_high(p[1]), __ATOMIC_RELEASE);
}

void wt_control_wake(void)
{
	int saved = errno, fd = __atomic_load_n(&c.wake[1], __ATOMIC_ACQUIRE);
	ssize_t n = 0;

	if (is_ours(fd, 0, c.wake_ino))
		n = write(fd, "", 1);
	(void)n; /* full: it is awake */
	errno = saved;
}

static void drain_wake(void)
{
	char sink[64];

	while (is_ours(c.wake[0], 0, c.wake_ino) && read(c.wake[0], sink, sizeof(sink)) > 0)
		;
}

/* ---- requests ---- */

static const char *set_level(const struct wt_ctl_request *r)
{
	if (!(r->has & 1u << WT_CTL_KEY_LEVEL) || r->value[WT_CTL_KEY_LEVEL] < WT_LEVEL_OFF)
		return "which level?";
	wt_level_base(r->value[WT_CTL_KEY_LEVEL]);
	return NULL;
}

static const char *snapshot(void)
{
	wt_collectors_flush(0);
	return wt_writer_sync(SYNC_MS) && wt_writer_sync(SYNC_MS) ? NULL
								  : "the writer does not keep up";
}

static const char *execute(const struct wt_ctl_request *r)
{
	switch (r->verb) {
	case WT_CTL_STATUS:
		return NULL;
	case WT_CTL_LEVEL:
		return set_level(r);
	case WT_CTL_SNAPSHOT:
		return snapshot();
	default:
		return wt_windows_command(r);
	}
}

static size_t answer(const char *text, size_t n, char *out, size_t room)
{
	struct wt_ctl_request r;
	int err = wt_ctl_parse(text, n, &r);
	const char *wrong;

	if (err)
		return wt_control_error(out, room,
					err == -WT_E_UNSUPPORTED ? "not known to this version"
					: err == -WT_E_LIMIT	 ? "a number is out of range"
								 : "not a request");
	if (atomic_load(&c.closing))
		return wt_control_error(out, room, "the process is ending");
	wrong = execute(&r);
	if (wrong)
		return wt_control_error(out, room, wrong);
	return wt_control_status(out, room);
}

/* ---- clients ---- */

static void drop(struct client *k)
{
	if (is_ours(k->fd, k->dev, k->ino))
		close(k->fd);
	k->fd = -1;
}

/* Ours alone: the directory keeps others out already, but a descriptor can be handed on. */
static int is_same_user(int fd)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		WT_TROUBLE(CONTROL, errno);
		return 0;
	}
	return n == sizeof(cred) && cred.uid == geteuid();
}

static void accept_client(int64_t now_ns)
{
	int fd = wt_control_fd_high(accept4(c.sock.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	struct stat st;

	if (fd < 0) {
		/* Gone again; or no descriptor to be had, and then it still waits, and asking at once would not end. */
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
			WT_TROUBLE(CONTROL, errno);
			c.deaf_ns = now_ns + BLIND_NS;
		}
		return;
	}
	for (int i = 0; i < CLIENTS && is_same_user(fd); i++) {
		if (c.client[i].fd >= 0)
			continue;
		if (fstat(fd, &st)) {
			WT_TROUBLE(CONTROL, errno);
			break;
		}
		c.client[i] = (struct client){fd, (uint64_t)st.st_dev, (uint64_t)st.st_ino,
					      now_ns + CLIENT_NS};
		return;
	}
	close(fd);
}

static void serve(struct client *k)
{
	static char in[WT_CTL_REQUEST_MAX + 1], out[WT_CTL_REPLY_MAX];
	ssize_t n;

	if (!is_ours(k->fd, k->dev, k->ino)) {
		k->fd = -1;
		return;
	}
	n = recv(k->fd, in, sizeof(in), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && errno != ECONNRESET)
		WT_TROUBLE(CONTROL, errno);
	if (n > 0) {
		size_t len = answer(in, (size_t)n > sizeof(in) ? sizeof(in) : (size_t)n, out,
				    sizeof(out));

		/* It has asked once and gets one packet, if it has room for it. */
		if (is_ours(k->fd, k->dev, k->ino))
			n = send(k->fd, out, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EPIPE && errno != ECONNRESET)
			WT_TROUBLE(CONTROL, errno);
	}
	drop(k);
}

/* ---- the loop ---- */

/* The job's doing: descriptors closed or taken. Made anew, under the same name. */
static void mend(void)
{
	if (!is_ours(c.wake[0], 0, c.wake_ino) || !is_ours(c.wake[1], 0, c.wake_ino))
		open_wake();
	if (!wt_config.control || wt_control_sock_check(&c.sock))
		return;
	atomic_store(&c.opening, 1);
	if (!atomic_load(&c.closing))
		wt_control_sock_open(&c.sock);
	atomic_store(&c.opening, 0);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void wait_for_work(int64_t until_ns)
{
	struct pollfd p[2 + CLIENTS];
	int64_t now = wt_clock_mono_ns(), left;
	struct timespec t;

	p[0] = (struct pollfd){is_ours(c.wake[0], 0, c.wake_ino) ? c.wake[0] : -1, POLLIN, 0};
	p[1] = (struct pollfd){wt_control_sock_check(&c.sock) && now >= c.deaf_ns ? c.sock.fd : -1,
			       POLLIN, 0};
	if (now < c.deaf_ns)
		until_ns = least(until_ns, c.deaf_ns);
	for (int i = 0; i < CLIENTS; i++) {
		p[2 + i] = (struct pollfd){c.client[i].fd, POLLIN, 0};
		if (c.client[i].fd >= 0)
			until_ns = least(until_ns, c.client[i].until_ns);
	}
	if (p[0].fd < 0)
		until_ns = least(until_ns, now + BLIND_NS);
	left = until_ns > now ? until_ns - now : 0;
	t = (struct timespec){left / 1000000000, left % 1000000000};
	if (ppoll(p, 2 + CLIENTS, &t, NULL) < 0) {
		if (errno != EINTR) {
			WT_TROUBLE(CONTROL, errno);
			nanosleep(&(struct timespec){.tv_nsec = BLIND_NS}, NULL);
		}
		return;
	}
	now = wt_clock_mono_ns();
	if (p[0].revents)
		drain_wake();
	for (int i = 0; i < CLIENTS; i++) {
		if (c.client[i].fd < 0)
			continue;
		if (p[2 + i].revents)
			serve(&c.client[i]);
		else if (now >= c.client[i].until_ns)
			drop(&c.client[i]);
	}
	if (p[1].revents & POLLIN && wt_control_sock_check(&c.sock))
		accept_client(now);
}

uint64_t wt_control_ticks(void)
{
	return atomic_load(&c.ticks);
}

static void *run(void *arg)
{
	int64_t next, now;

	wt_thread_begin();
	wt_cost_control_is_here();
	wt_governor_start();
	wt_windows_start(c.rank);
	mend();
	c.tick_ns = wt_clock_mono_ns();
	while (!atomic_load(&c.closing)) {
		now = wt_clock_mono_ns();
		if (now >= c.tick_ns) {
			mend();
			wt_governor_tick(now);
			atomic_fetch_add(&c.ticks, 1);
			c.tick_ns = wt_clock_mono_ns() +
				    least(TICK_NS, (int64_t)wt_config.budget_span_ms * 100000);
		}
		next = wt_windows_tick(wt_clock_mono_ns());
		if (wt_config.skew_us && wt_windows_is_open())
			c.tick_ns = least(c.tick_ns, now + SKEW_TICK_NS);
		if (atomic_load(&c.closing))
			break;
		wait_for_work(least(next, c.tick_ns));
	}
	atomic_store(&c.running, 0);
	return NULL;
}

int wt_control_start(const char *trace_dir, const char *stem, int rank)
{
	int r;

	wt_control_reply_init(trace_dir, stem, rank);
	for (int i = 0; i < CLIENTS; i++)
		c.client[i].fd = -1;
	c.rank = rank;
	atomic_store(&c.running, 1);
	r = wt_thread_start(run, NULL);
	if (r) {
		atomic_store(&c.running, 0);
		WT_TROUBLE(CONTROL, errno);
		wt_log("control: no thread: the level stays what it is");
	}
	return r;
}

void wt_control_stop(void)
{
	if (!atomic_load(&c.running))
		return;
	atomic_store(&c.closing, 1);
	/* A socket that is half made would stay in the directory: a few system calls, waited for if need be. */
	for (int i = 0; i < OPEN_MS * 5 && atomic_load(&c.opening); i++)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	wt_control_sock_remove(&c.sock);
	wt_control_wake();
}

void wt_control_forked(void)
{
	if (wt_control_sock_check(&c.sock))
		close(c.sock.fd);
	c.sock.fd = -1;
	c.sock.path[0] = 0;
	for (int i = 0; i < CLIENTS; i++)
		drop(&c.client[i]);
	atomic_store(&c.running, 0);
}
