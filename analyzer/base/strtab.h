/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned strings: equal bytes have one id; ids count up from 0, and id 0 is "". Texts never move while the table
 * lives. One thread while it grows; then any number of readers.
 */
#ifndef WT_STRTAB_H
#define WT_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct wt_strings;

struct wt_strings *wt_strings_new(void); /* NULL: no memory */
void wt_strings_free(struct wt_strings *t);
/* The id of n bytes (a NUL byte ends them earlier). When memory runs out: 0, and wt_strings_failed() is 1 from then. */
uint32_t wt_strings_add(struct wt_strings *t, const char *s, size_t n);
/* The id if the bytes are there, else -1. */
int64_t wt_strings_find(const struct wt_strings *t, const char *s, size_t n);
/* NUL-terminated, never NULL: "" for an id that does not exist. */
const char *wt_strings_get(const struct wt_strings *t, uint32_t id);
size_t wt_strings_length(const struct wt_strings *t, uint32_t id);
size_t wt_strings_count(const struct wt_strings *t); /* id 0 included */
int wt_strings_failed(const struct wt_strings *t);

/* 64-bit hash of bytes, the same on every machine and in every run (not meant against attackers). */
uint64_t wt_hash_bytes(const void *bytes, size_t n, uint64_t seed);

#endif
