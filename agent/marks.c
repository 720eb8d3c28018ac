// SPDX-License-Identifier: Apache-2.0
/*
 * See marks.h. Job threads: no lock, no system call unless a chunk is full, errno kept; below level api nothing is
 * recorded. A mark made while a hook of this thread is at work (a signal handler) is left out.
 */
#define _GNU_SOURCE
#include "marks.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "hot.h"
#include "pace.h"
#include "redact.h"

#define WHAT_LAST 4u
#define PUSH	  1u /* WT_MARK_PUSH of annotate.h, and WT_STEP */
#define STEP	  2u
#define KIND_LAST 0xffu

_Static_assert(offsetof(struct wt_rec, object) + WT_MARK_TEXT == sizeof(struct wt_rec),
	       "object and u are the end of a row");
_Static_assert(offsetof(struct wt_rec, stream) + WT_MARK_MORE_TEXT == sizeof(struct wt_rec),
	       "stream, object and u are the end of a row");

/* Copies at most n bytes of *text to `to`, which is zero already; *text is moved on, NULL at its end. */
static void take_text(char *to, const char **text, size_t n)
{
	const char *s = *text;
	size_t i = 0;

	while (s && i < n && s[i]) {
		to[i] = s[i];
		i++;
	}
	*text = s && i == n && s[i] ? s + i : NULL;
}

static void put_row(struct wt_tls *t, uint32_t what, uint32_t kind, int64_t value,
		    const char **text)
{
	struct wt_rec *rec = wt_enter_slow(t, WT_ID_MARK);
	char *tail = (char *)rec;

	rec->flags = 0;
	rec->context = 0;
	rec->start_tsc = wt_tsc();
	rec->dur = 0;
	rec->status = (int16_t)(what | kind << 8);
	if (what == WT_MARK_MORE) {
		take_text(tail + offsetof(struct wt_rec, stream), text, WT_MARK_MORE_TEXT);
	} else {
		rec->stream = (uint64_t)value;
		take_text(tail + offsetof(struct wt_rec, object), text, WT_MARK_TEXT);
	}
	wt_put_row(t, rec);
}

__attribute__((visibility("default"))) void warptap_mark(unsigned int what, unsigned int kind,
							 long long value, const char *name)
{
	struct wt_tls *t = &wt_tls;
	char buf[WT_REDACTED_BYTES];
	int saved;

	if (what == PUSH && kind == STEP && wt_level())
		wt_pace_step(); /* at every level: windows are counted in them */
	if (wt_level() < WT_LEVEL_API || !what || what > WHAT_LAST || kind > KIND_LAST)
		return;
	if (wt_inside(t))
		return;
	saved = errno;
	name = wt_redacted(name, buf); /* the black box is a file too */
	put_row(t, what, kind, value, &name);
	for (uint32_t i = 1; name && i < WT_MARK_ROWS; i++)
		put_row(t, WT_MARK_MORE, 0, 0, &name);
	errno = saved;
}
