/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input file read in windows, front to back, gzip inflated on the way (ISA-L; several members; trailing bytes
 * after the last member are counted and ignored). Never mapped: a foreign truncation must not become a SIGBUS.
 */
#ifndef WT_SOURCE_H
#define WT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wt_err.h"

struct wt_source;

/* Opens a regular file or pipe. -WT_E_NOENT, -WT_E_IO (unreadable, a directory), -WT_E_NOMEM. */
int wt_source_open(struct wt_source **ret, const char *path, struct wt_diag *diag);
/* Opens n bytes in memory (tests, fuzzing); the bytes must outlive the source. */
int wt_source_open_memory(struct wt_source **ret, const void *bytes, size_t n);
/*
 * From now on, of the whole process, gzip may inflate to more than 200 times its size; else reading such a file ends in
 * -WT_E_LIMIT (beyond 16 MiB of text). Before the first source is opened.
 */
void wt_source_any_ratio(void);
/*
 * The first bytes, decoded, without consuming them: at most 64 KiB. *ret_n < 64 KiB only if the file is shorter. A
 * byte-order mark of UTF-8 is passed over, and stays so.
 */
const uint8_t *wt_source_head(struct wt_source *src, size_t *ret_n);
/*
 * Reads up to n decoded bytes: how many, 0 at the end, -WT_E_IO, -WT_E_TRUNCATED (gzip ends early), -WT_E_CORRUPT (bad
 * gzip) or -WT_E_LIMIT (see wt_source_any_ratio). Everything decoded before a fault is delivered first (at most 512
 * bytes are held back as doubtful).
 */
long wt_source_read(struct wt_source *src, void *buf, size_t n);
const char *wt_source_path(const struct wt_source *src);
/* Bytes consumed of the file as it lies on disk, and of the decoded text. */
int64_t wt_source_disk_offset(const struct wt_source *src);
int64_t wt_source_text_offset(const struct wt_source *src);
/* Bytes of the file as it lies on disk; -1 for a pipe. */
int64_t wt_source_size(const struct wt_source *src);
int wt_source_is_gzip(const struct wt_source *src);
/* Bytes after the last gzip member, known once the end was reached; 0 for other files. */
int64_t wt_source_trailing_bytes(const struct wt_source *src);
/* 1 if reading ended because the file inflates to too much: nothing of it is to be used. */
int wt_source_refused(const struct wt_source *src);
/* The fault that ended reading, if any; text is "" if none. */
const struct wt_diag *wt_source_fault(const struct wt_source *src);
void wt_source_close(struct wt_source *src);

#endif
