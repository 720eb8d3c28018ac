/* SPDX-License-Identifier: Apache-2.0 */
/* See xspace.h. */
#include "import/xspace.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_MOST ((uint64_t)INT32_MAX) /* protobuf's own limit for one message */
#define NAME_MOST  256u

/* ---- recognising it ---- */

static int known_name(const uint8_t *s, size_t n)
{
	static const char *const starts[] = {"/device:", "/host:", "Task Environment", "#Chip",
					     "/virtualdevice:"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (n >= strlen(starts[i]) && !memcmp(s, starts[i], strlen(starts[i])))
			return 1;
	return 0;
}

/* Looks into the first plane: its name comes first, but for its id. */
static int names_plane(struct wt_wire w)
{
	struct wt_wire_field f;
	int rc;

	while ((rc = wt_wire_next(&w, &f)) > 0) {
		if (f.number == 1 && f.type == WT_WIRE_VARINT)
			continue;
		return f.number == 2 && f.type == WT_WIRE_BYTES && f.n <= NAME_MOST &&
		       known_name(f.bytes, f.n);
	}
	return 0;
}

static int is_xspace(const uint8_t *head, size_t n)
{
	struct wt_wire w = wt_wire_of(head, n);
	struct wt_wire_field f;
	int rc;

	/* Errors, warnings and host names may come before the planes. */
	while ((rc = wt_wire_next(&w, &f)) > 0 || (rc == -WT_E_TRUNCATED && f.bytes)) {
		if (f.type != WT_WIRE_BYTES || f.number > WT_XSPACE_HOST)
			return 0;
		if (f.number == WT_XSPACE_PLANE)
			return names_plane(wt_wire_of(f.bytes, f.n));
		if (rc < 0)
			return 0;
	}
	return 0;
}

/* The length of the UTF-8 sequence at p, 0 if it is none. */
static size_t utf8_length(const uint8_t *p, size_t n)
{
	size_t want = *p < 0x80	  ? 1
		      : *p < 0xc2 ? 0
		      : *p < 0xe0 ? 2
		      : *p < 0xf0 ? 3
		      : *p < 0xf5 ? 4
				  : 0;

	for (size_t i = 1; i < want && i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return want;
}

int64_t wt_xspace_textual(const uint8_t *head, size_t n)
{
	int64_t first = -1;
	int control = 0, named = 0;

	for (size_t i = 0, step; i < n; i += step) {
		step = utf8_length(head + i, n - i);
		if (!step)
			return -1; /* bytes that text cannot have: nothing was converted */
		if (step == 3 && n - i >= 3 && !memcmp(head + i, "\xef\xbf\xbd", 3) && first < 0)
			first = (int64_t)i;
		control |= head[i] < 0x20 && !memchr("\t\n\r\f", head[i], 4);
		named |= head[i] == '/' || head[i] == 'T' ? known_name(head + i, n - i) : 0;
	}
	return control && named ? first : -1;
}

int wt_xspace_probe(const uint8_t *head, size_t n)
{
	return n && *head == (WT_XSPACE_PLANE << 3 | WT_WIRE_BYTES)
		       ? is_xspace(head, n) || wt_xspace_textual(head, n) >= 0
		       : n && *head < ' ' && is_xspace(head, n);
}

/* ---- reading it ---- */

void wt_xspace_init(struct wt_xspace *xs, struct wt_source *src)
{
	memset(xs, 0, sizeof(*xs));
	xs->src = src;
	xs->diag.offset = -1;
}

void wt_xspace_release(struct wt_xspace *xs)
{
	free(xs->buf);
	xs->buf = NULL;
}

/* Where the text at `offset` lies on disk. */
static int64_t disk_offset(const struct wt_xspace *xs, int64_t offset)
{
	return wt_source_is_gzip(xs->src) ? wt_source_disk_offset(xs->src) : offset;
}

static int fail(struct wt_xspace *xs, enum wt_err err, int64_t offset, const char *what)
{
	const struct wt_diag *fault = wt_source_fault(xs->src);

	if (fault->text[0])
		xs->diag = *fault;
	else
		wt_fail(&xs->diag, err, disk_offset(xs, offset), "%s", what);
	xs->error = -(int)err;
	return -(int)err;
}

/* Fills the window: bytes there now, 0 at the end, or an error (also kept). */
static long refill(struct wt_xspace *xs)
{
	long n;

	xs->text_offset += (int64_t)xs->filled;
	xs->at = xs->filled = 0;
	n = wt_source_read(xs->src, xs->window, sizeof(xs->window));
	if (n < 0)
		return fail(xs, (enum wt_err) - n, xs->text_offset, "the file cannot be read on");
	xs->filled = (size_t)n;
	return n;
}

static int64_t here(const struct wt_xspace *xs)
{
	return xs->text_offset + (int64_t)xs->at;
}

/* 0; 1 at a clean end before the first byte; or an error. */
static int varint(struct wt_xspace *xs, uint64_t *ret)
{
	int64_t start = here(xs);

	*ret = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t c;

		if (xs->at == xs->filled) {
			long n = refill(xs);

			if (n < 0)
				return (int)n;
			if (!n)
				return shift ? fail(xs, WT_E_TRUNCATED, here(xs),
						    "the file ends inside a field: expected the "
						    "rest of a length or tag")
					     : 1;
		}
		c = xs->window[xs->at++];
		*ret |= shift < 64 ? (uint64_t)(c & 0x7f) << shift : 0;
		if (!(c & 0x80))
			return 0;
	}
	return fail(xs, WT_E_CORRUPT, start,
		    "expected a field of an XSpace, found a number of more than ten bytes");
}

static int grow(struct wt_xspace *xs, size_t more)
{
	size_t room = xs->room ? xs->room : sizeof(xs->window);
	uint8_t *buf;

	while (room < xs->n + more)
		room += room / 2;
	if (room == xs->room)
		return 0;
	buf = realloc(xs->buf, room);
	if (!buf)
		return fail(xs, WT_E_NOMEM, here(xs), "out of memory");
	xs->buf = buf;
	xs->room = room;
	return 0;
}

/* Takes n bytes into buf, or what the file has of them. */
static int take(struct wt_xspace *xs, uint64_t n)
{
	xs->n = 0;
	xs->field_offset = here(xs);
	while (n) {
		size_t part = xs->filled - xs->at;
		long rc;

		if (!part) {
			rc = refill(xs);
			if (rc < 0)
				return (int)rc;
			if (!rc) {
				fail(xs, WT_E_TRUNCATED, here(xs), "");
				if (!wt_source_fault(xs->src)->text[0])
					wt_fail(&xs->diag, WT_E_TRUNCATED,
						disk_offset(xs, here(xs)),
						"the file ends inside a plane: expected %llu bytes "
						"more",
						(unsigned long long)n);
				return -WT_E_TRUNCATED;
			}
			continue;
		}
		part = part < n ? part : (size_t)n;
		if (grow(xs, part))
			return xs->error;
		memcpy(xs->buf + xs->n, xs->window + xs->at, part);
		xs->n += part;
		xs->at += part;
		n -= part;
	}
	return 0;
}

int wt_xspace_next(struct wt_xspace *xs, struct wt_wire_field *ret)
{
	uint64_t tag, n;
	int64_t start;
	int rc;

	if (xs->error)
		return 0;
	start = here(xs);
	rc = varint(xs, &tag);
	if (rc)
		return 0;
	if ((tag & 7) != WT_WIRE_BYTES || tag >> 3 == 0 || tag >> 3 > 1000) {
		fail(xs, WT_E_CORRUPT, start, "expected a plane, found no field of an XSpace");
		return 0;
	}
	rc = varint(xs, &n);
	if (rc) {
		if (rc > 0)
			fail(xs, WT_E_TRUNCATED, here(xs),
			     "the file ends where the length of a plane was expected");
		return 0;
	}
	if (n > FIELD_MOST) {
		fail(xs, WT_E_CORRUPT, start,
		     "expected a plane, found a field of more than 2 GiB, protobuf's limit");
		return 0;
	}
	*ret = (struct wt_wire_field){.number = (uint32_t)(tag >> 3), .type = WT_WIRE_BYTES};
	rc = take(xs, n);
	ret->bytes = xs->buf;
	ret->n = xs->n;
	return xs->n || !rc;
}
