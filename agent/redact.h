/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WARPTAP_REDACT: names of the job's that nobody is to read: neither in the trace, nor in the black box, nor in the
 * log. Any thread, hooks included: no lock, errno kept.
 */
#ifndef WT_REDACT_H
#define WT_REDACT_H

#define WT_REDACTED	  "redacted-" /* what such a name begins with */
#define WT_REDACTED_BYTES (sizeof(WT_REDACTED) + 16)

/* Chooses the key: of WARPTAP_REDACT_KEY, else a random one that is kept nowhere. Once, before other threads ask. */
void wt_redact_init(void);
/*
 * The name to be kept in place of s (may be NULL, empty): s itself without WARPTAP_REDACT, or where it is public or
 * redacted already, else text in buf. The same text has the same name with the same key.
 */
const char *wt_redacted(const char *s, char buf[WT_REDACTED_BYTES]);
/* For a line of the log: s, or a word that says nothing. */
const char *wt_redacted_word(const char *s);

#endif
