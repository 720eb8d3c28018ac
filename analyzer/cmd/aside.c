/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery for readers (aside.h). The whole trace is made in a folder of its own in $TMPDIR, opened, and unlinked at
 * once. A box that its job still holds is left alone. Any thread; recoveries wait for each other.
 */
#define _GNU_SOURCE
#include "cmd/aside.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recover/recover.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static int make(const char *ring, const char *path)
{
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX], out[PATH_MAX + 16];
	struct wt_diag diag = {.offset = -1};
	struct wt_recovered got;
	int fd = -1;

	if (snprintf(dir, sizeof(dir), "%s/warptap-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
		    (int)sizeof(dir) ||
	    !mkdtemp(dir))
		return -1;
	snprintf(out, sizeof(out), "%s/whole.wt", dir);
	pthread_mutex_lock(&one);
	if (wt_recover(ring, path, out, &got, &diag))
		fprintf(stderr, "warptap: %s: %s: what it holds is not used\n", ring, diag.text);
	else if (!got.already)
		fd = open(out, O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&one);
	unlink(out);
	rmdir(dir);
	return fd;
}

const char *wt_aside(const char *path, char name[WT_ASIDE_NAME], int *ret_fd)
{
	char ring[PATH_MAX];

	*ret_fd = -1;
	if (wt_recover_box_of(path, ring, sizeof(ring)) || access(ring, R_OK) ||
	    wt_recover_is_held(ring))
		return path;
	*ret_fd = make(ring, path);
	if (*ret_fd < 0)
		return path;
	snprintf(name, WT_ASIDE_NAME, "/proc/self/fd/%d", *ret_fd);
	return name;
}
