/* SPDX-License-Identifier: Apache-2.0 */
/* See csv.h. Fields are unquoted in place: a field is never longer than what it was written as. */
#include "import/csv.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROW_BYTES (1u << 20) /* demangled names come to some tens of kilobytes */

struct wt_csv {
	struct wt_source *src;
	char *text; /* MAX_ROW_BYTES + 1 */
	size_t at, n;
	int64_t base; /* offset of text[0] */
	int ended;
};

struct wt_csv *wt_csv_new(struct wt_source *src)
{
	struct wt_csv *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->src = src;
	c->text = malloc(MAX_ROW_BYTES + 1);
	if (!c->text) {
		free(c);
		return NULL;
	}
	return c;
}

void wt_csv_free(struct wt_csv *c)
{
	if (!c)
		return;
	free(c->text);
	free(c);
}

/* More text behind what is there: 1, 0 at the end, or an error. */
static int refill(struct wt_csv *c)
{
	long got;

	if (c->ended)
		return 0;
	if (c->at) {
		memmove(c->text, c->text + c->at, c->n - c->at);
		c->base += (int64_t)c->at;
		c->n -= c->at;
		c->at = 0;
	}
	if (c->n == MAX_ROW_BYTES)
		return -WT_E_LIMIT;
	got = wt_source_read(c->src, c->text + c->n, MAX_ROW_BYTES - c->n);
	if (got < 0)
		return (int)got;
	c->ended = got == 0;
	c->n += (size_t)got;
	return got > 0;
}

/* Where the row's line ends: its length in *ret, without the line feed. 1, or 0 if there is more to read. */
static int find_end(const struct wt_csv *c, size_t *ret)
{
	int quoted = 0;

	for (size_t i = c->at; i < c->n; i++) {
		if (c->text[i] == '"')
			quoted = !quoted;
		else if (c->text[i] == '\n' && !quoted) {
			*ret = i - c->at;
			return 1;
		}
	}
	return 0;
}

/* A field in quotes, unquoted in place; *at is behind its end. */
static struct wt_csv_field take_quoted(char *s, size_t n, size_t *at)
{
	size_t from = *at + 1, to = from, i = from;

	for (; i < n; i++) {
		if (s[i] == '"') {
			if (i + 1 >= n || s[i + 1] != '"')
				break;
			i++;
		}
		s[to++] = s[i];
	}
	for (i = i < n ? i + 1 : n;
	     i < n && s[i] != ',';) /* what stands behind the quotes belongs to nothing */
		i++;
	*at = i;
	return (struct wt_csv_field){.s = s + from, .n = to - from};
}

static void split(char *s, size_t n, struct wt_csv_row *row)
{
	size_t at = 0;

	row->n = 0;
	do {
		struct wt_csv_field f;

		if (at < n && s[at] == '"') {
			f = take_quoted(s, n, &at);
		} else {
			char *end = at < n ? memchr(s + at, ',', n - at) : NULL;

			f.s = s + at;
			f.n = (end ? (size_t)(end - s) : n) - at;
			at += f.n;
		}
		if (row->n < WT_CSV_FIELDS)
			row->fields[row->n++] = f;
	} while (at++ < n);
}

int wt_csv_next(struct wt_csv *c, struct wt_csv_row *ret)
{
	size_t n = 0;
	int rc = 1;

	while (!find_end(c, &n) && rc > 0)
		rc = refill(c);
	if (rc < 0)
		return rc;
	ret->ended = rc > 0;
	if (!ret->ended) {
		/* An open quote would swallow all the rest; then the line alone is the row. */
		char *feed = memchr(c->text + c->at, '\n', c->n - c->at);

		if (c->at == c->n)
			return 0;
		n = (feed ? (size_t)(feed - c->text) : c->n) - c->at;
		ret->ended = feed != NULL;
	}
	ret->offset = c->base + (int64_t)c->at;
	split(c->text + c->at, n && c->text[c->at + n - 1] == '\r' ? n - 1 : n, ret);
	c->at += n + (c->at + n < c->n);
	return 1;
}
