/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame of a call stack, or of Python's own frames, counts as a call site (kineto_names.h), remembered: a file
 * holds a few stacks ten thousand times, and each costs searches through paths.
 */
#ifndef WT_KINETO_SITES_H
#define WT_KINETO_SITES_H

#include "import/json_scan.h"

struct wt_kineto_sites;

/* NULL: no memory. */
struct wt_kineto_sites *wt_kineto_sites_new(void);
void wt_kineto_sites_free(struct wt_kineto_sites *c);
/* The site in a frame's text, or in a stack of such; {NULL, 0}: none. Good until the next call. */
struct wt_json_text wt_kineto_sites_of(struct wt_kineto_sites *c, struct wt_json_text text,
				       int is_stack);

#endif
