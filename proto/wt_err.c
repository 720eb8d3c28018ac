/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of errors and the one way to report where and why. Guest and bench, any thread; never prints, never allocates.
 */
#include "wt_err.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
	int err;
	const char *text;
} names[] = {
	{WT_OK, "ok"},
	{WT_E_NOMEM, "out of memory"},
	{WT_E_IO, "read or write failed"},
	{WT_E_NOENT, "no such file"},
	{WT_E_FORMAT, "not the expected format"},
	{WT_E_TRUNCATED, "ends too early"},
	{WT_E_CORRUPT, "damaged"},
	{WT_E_LIMIT, "beyond a limit"},
	{WT_E_UNSUPPORTED, "not supported"},
	{WT_E_USAGE, "wrong use"},
};

const char *wt_strerror(int err)
{
	/* Not -err: INT_MIN has no positive twin. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (err == names[i].err || err == -names[i].err)
			return names[i].text;
	return "unknown error";
}

int wt_fail(struct wt_diag *diag, enum wt_err err, int64_t offset, const char *fmt, ...)
{
	va_list ap;
	int saved = errno;

	if (diag) {
		diag->offset = offset;
		diag->sys_errno = err == WT_E_IO || err == WT_E_NOENT ? saved : 0;
		va_start(ap, fmt);
		vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
		va_end(ap);
		errno = saved;
	}
	return -(int)err;
}
