/* SPDX-License-Identifier: Apache-2.0 */
/* A killed job's trace as `recover` would leave it, for commands that only read: nothing beside it is changed. */
#ifndef WT_ASIDE_H
#define WT_ASIDE_H

#define WT_ASIDE_NAME 32

/*
 * The path to read instead of a trace that has a black box beside it: a name of an open file without one, of *ret_fd,
 * which the caller closes when it has opened the path. `path` itself, and -1, where there is nothing to add.
 */
const char *wt_aside(const char *path, char name[WT_ASIDE_NAME], int *ret_fd);

#endif
