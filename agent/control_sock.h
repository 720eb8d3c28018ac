/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of the control socket: <dir>/<pid>.<start>.<namespace>, mode 0600, in a directory of mode 0700 that belongs
 * to us: WARPTAP_CONTROL_DIR; else $XDG_RUNTIME_DIR/warptap, else /tmp/warptap-<uid>. start = the process's start time
 * in clock ticks since boot (a pid comes again, both do not), namespace = inode of its pid namespace (containers may
 * share a directory). proto/control_msg.h says what goes over it.
 */
#ifndef WT_CONTROL_SOCK_H
#define WT_CONTROL_SOCK_H

#include <stdint.h>

struct wt_control_sock {
	int fd;		   /* listening; -1 = none */
	uint64_t dev, ino; /* of fd: the number may become the job's */
	char path[512];	   /* "" = nothing to remove */
};

/* Control thread. 0, or -WT_E_x: no socket, and the log says why. */
int wt_control_sock_open(struct wt_control_sock *s);
int wt_control_sock_check(struct wt_control_sock *s); /* 1 = fd is still ours */
/* At exit, any thread: the path goes, so that nobody knocks at a dying process. */
void wt_control_sock_remove(struct wt_control_sock *s);
/* A descriptor moved out of the job's way, close-on-exec. */
int wt_control_fd_high(int fd);

#endif
