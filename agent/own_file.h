/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the agent's own in a process that may close every descriptor it finds and open others in their place.
 * Before each use the descriptor is held against device and inode of the file we made. One that is another's is left
 * alone, never closed; the file is opened again by its name, if that still leads to it.
 */
#ifndef WT_OWN_FILE_H
#define WT_OWN_FILE_H

#include <stdint.h>
#include <sys/stat.h>

struct wt_own_file {
	int fd;	  /* -1 = closed, or lost */
	int mode; /* O_RDWR or O_WRONLY */
	uint64_t dev, ino;
	char path[1280];
};

/* Creates path (it must not exist; links are not followed): mode 0600, close-on-exec, a high number. 0, -WT_E_x. */
int wt_own_file_create(struct wt_own_file *f, const char *path, int mode);
/* 1: f->fd is our file, *st (may be NULL) as it is now. 0: it is gone for good, f->fd is -1. */
int wt_own_file_check(struct wt_own_file *f, struct stat *st);
void wt_own_file_close(struct wt_own_file *f);

#endif
