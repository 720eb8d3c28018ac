/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says in a small file of /proc or /sys. */
#ifndef WT_PROC_TEXT_H
#define WT_PROC_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/* Up to room - 1 bytes of it in text, which always ends in a zero. How many; -1 and errno where it cannot be read. */
ssize_t wt_proc_text(const char *path, char *text, size_t room);

#endif
