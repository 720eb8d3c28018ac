/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error vocabulary of guest and bench code. Functions that can fail return 0 or -WT_E_x;
 * where and why goes into an optional struct wt_diag, the last parameter.
 */
#ifndef WT_ERR_H
#define WT_ERR_H

#include <stdint.h>

/* Values are pinned: scripts see them through `warptap report --json`. */
enum wt_err {
	WT_OK = 0,
	WT_E_NOMEM = 1,
	WT_E_IO = 2,	       /* read or write failed; wt_diag.sys_errno says how */
	WT_E_NOENT = 3,	       /* no such file */
	WT_E_FORMAT = 10,      /* not the kind of data that was expected: nothing could be used */
	WT_E_TRUNCATED = 11,   /* ends too early; what came before was delivered */
	WT_E_CORRUPT = 12,     /* damaged inside; what could be read was delivered */
	WT_E_LIMIT = 20,       /* a size or count in the data is beyond what we accept */
	WT_E_UNSUPPORTED = 21, /* known, but newer than this build or not available here */
	WT_E_USAGE = 30,
};

/* Where and why. Filled by the function that failed; untouched on success. */
struct wt_diag {
	char path[512]; /* file, "" if none */
	int64_t offset; /* byte in the file as it lies on disk (before inflating), -1 = unknown */
	int sys_errno;	/* 0 = not a system call */
	char text[512]; /* one line, no newline: what was found, what was expected */
};

/* Short English name of -err or err; never NULL. */
const char *wt_strerror(int err);

/* Fills *diag (may be NULL) printf-like and returns -err, so that `return wt_fail(...)` reads well. */
int wt_fail(struct wt_diag *diag, enum wt_err err, int64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
