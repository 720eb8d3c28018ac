/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over an agent's control socket: one request, one reply, each one packet of a SOCK_SEQPACKET unix socket.
 *
 *   request   "warptap/1 VERB[ KEY=VALUE]..."      printable ASCII, single blanks, at most WT_CTL_REQUEST_MAX bytes
 *   reply     "warptap/1 ok\nKEY VALUE\n..."       at most WT_CTL_REPLY_MAX bytes
 *             "warptap/1 error TEXT\n"
 *
 * Verbs and keys are rows of control_msg.def. A number is decimal and at most 10 digits. What a version does not know
 * is an error, never ignored. Requests come from outside: everything is bounded before it is used.
 */
#ifndef WT_CONTROL_MSG_H
#define WT_CONTROL_MSG_H

#include <stddef.h>
#include <stdint.h>

#define WT_CTL_VERSION	   1
#define WT_CTL_REQUEST_MAX 256
#define WT_CTL_REPLY_MAX   4096

/* An amount of time or of work. */
enum wt_span_unit { WT_SPAN_MS, WT_SPAN_STEPS, WT_SPAN_COLLECTIVES, WT_SPAN_UNITS };
struct wt_span {
	uint32_t n; /* 0 = none */
	uint32_t unit;
};

enum wt_ctl_verb {
#define WT_VERB(name_, text_, keys_) WT_CTL_##name_,
#define WT_KEY(name_, text_, max_)
#include "proto/control_msg.def"
#undef WT_VERB
#undef WT_KEY
	WT_CTL_VERBS
};
enum wt_ctl_key {
#define WT_VERB(name_, text_, keys_)
#define WT_KEY(name_, text_, max_) WT_CTL_KEY_##name_,
#include "proto/control_msg.def"
#undef WT_VERB
#undef WT_KEY
	WT_CTL_KEYS
};

struct wt_ctl_request {
	uint32_t verb; /* enum wt_ctl_verb */
	uint32_t has;  /* 1u << enum wt_ctl_key */
	uint32_t value[WT_CTL_KEYS];
};

/* 0; -WT_E_FORMAT not a request; -WT_E_UNSUPPORTED another version, verb or key; -WT_E_LIMIT number out of range. */
int wt_ctl_parse(const char *text, size_t n, struct wt_ctl_request *ret);
/* Writes the request as text, terminated. Bytes without the terminator, or -WT_E_LIMIT. */
int wt_ctl_print(const struct wt_ctl_request *r, char *out, size_t n);
const char *wt_ctl_verb_name(uint32_t verb);
/* 0 and *ret for a known verb, -WT_E_NOENT. */
int wt_ctl_verb_find(const char *name, uint32_t *ret);

/* "500ms", "5s", "2m", "100steps", "1000collectives": 0 or -WT_E_LIMIT. "0" = none. */
int wt_span_parse(const char *text, struct wt_span *ret);
void wt_span_print(const struct wt_span *s, char *out, size_t n);

#endif
