/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See convert.h. The file: Header, all strings, the tables in the order of fields.def (a row refers only to tables
 * before its own, or to its own), notes, End. Strings are not repeated: a converted trace is read from its beginning.
 *
 * One packet at a time is built and packed, so memory is that of the timeline and a few megabytes.
 */
#include "trace/convert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "timeline/fields.h"
#include "trace.pb-c.h"

#define ROWS_A_PACKET	 4096
#define STRINGS_A_PACKET 4096
#define STRING_BYTES                                                                               \
	(256u << 10) /* of a packet, and at most of a string: a packet has to fit a frame */
#define LEVEL 3
#define MINOR 4

struct out {
	const struct wt_timeline *tl;
	struct wt_frame_writer *w;
	void *mem;
	uint8_t *packed;
	size_t room;
	uint64_t seq, segment_bytes;
	uint8_t id[16];
};

static int put(struct out *o, Warptap__V1__Packet *p)
{
	size_t n;

	p->seq = ++o->seq;
	n = warptap__v1__packet__get_packed_size(p);
	if (n > o->room) {
		uint8_t *packed = realloc(o->packed, 2 * n);

		if (!packed)
			return -WT_E_NOMEM;
		o->packed = packed;
		o->room = 2 * n;
	}
	warptap__v1__packet__pack(p, o->packed);
	return wt_frame_writer_packet(o->w, o->packed, n);
}

static int put_header(struct out *o)
{
	Warptap__V1__Packet p = WARPTAP__V1__PACKET__INIT;
	Warptap__V1__Header h = WARPTAP__V1__HEADER__INIT;
	Warptap__V1__Header__SettingsEntry from = WARPTAP__V1__HEADER__SETTINGS_ENTRY__INIT,
					   *list = &from;

	h.minor = MINOR;
	h.rank = -1;
	h.file_id = (ProtobufCBinaryData){sizeof(o->id), o->id};
	h.settings = &list;
	h.n_settings = 1;
	from.key = (char *)WT_CONVERTED_FROM;
	from.value = o->tl->ninputs ? (char *)wt_timeline_string(o->tl, o->tl->inputs[0].format)
				    : (char *)"nothing";
	for (size_t i = 1; i < o->tl->ninputs; i++)
		if (o->tl->inputs[i].format != o->tl->inputs[0].format)
			from.value = (char *)"several formats";
	p.body_case = WARPTAP__V1__PACKET__BODY_HEADER;
	p.header = &h;
	return put(o, &p);
}

/* protobuf strings are UTF-8: bytes that are not become U+FFFD here, as they would where they are printed. */
static char *clean(const char *s)
{
	struct wt_strbuf b = {.n = 0};

	while (*s && b.n < STRING_BYTES) {
		unsigned n = wt_utf8_length((const unsigned char *)s);

		wt_strbuf_add(&b, n ? s : "\xef\xbf\xbd", n ? n : 3);
		s += n ? n : 1;
	}
	wt_strbuf_addc(&b, '\0');
	if (b.failed)
		wt_strbuf_release(&b);
	return b.s;
}

static int put_strings(struct out *o)
{
	char *text[STRINGS_A_PACKET];
	size_t count = wt_timeline_nstrings(o->tl), next = 1;
	int rc = 0;

	while (next < count && !rc) {
		Warptap__V1__Packet p = WARPTAP__V1__PACKET__INIT;
		Warptap__V1__Strings m = WARPTAP__V1__STRINGS__INIT;
		size_t bytes = 0;

		m.first_id = next;
		m.text = text;
		while (next < count && m.n_text < STRINGS_A_PACKET && bytes < STRING_BYTES) {
			text[m.n_text] = clean(wt_timeline_string(o->tl, (uint32_t)next++));
			if (!text[m.n_text]) {
				rc = -WT_E_NOMEM;
				break;
			}
			bytes += strlen(text[m.n_text++]);
		}
		p.body_case = WARPTAP__V1__PACKET__BODY_STRINGS;
		p.strings = &m;
		rc = rc ? rc : put(o, &p);
		for (size_t i = 0; i < m.n_text; i++)
			free(text[i]);
	}
	return rc;
}

static int put_table(struct out *o, Warptap__V1__Table *m)
{
	Warptap__V1__Packet p = WARPTAP__V1__PACKET__INIT;

	p.body_case = WARPTAP__V1__PACKET__BODY_TABLE;
	p.table = m;
	return put(o, &p);
}

/* Column f of n rows. */
static void fill(const struct wt_field *f, const struct wt_field *start, const char *row, size_t n,
		 int64_t *d)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++, row += wt_tables[f->table].size) {
		uint64_t v = (uint64_t)wt_field_get(f, row);

		if (f->refers == WT_REFERS_END)
			v -= (uint64_t)wt_field_get(start, row);
		d[i] = (int64_t)(v - last);
		last = v;
	}
}

static void fill_bytes(const struct wt_field *f, const char *row, size_t n, uint8_t *to)
{
	for (size_t i = 0; i < n; i++, row += wt_tables[f->table].size)
		memcpy(to + i * f->size, row + f->offset, f->size);
}

struct columns {
	Warptap__V1__Column column[32], *list[32];
	int64_t d[32][ROWS_A_PACKET];
	uint8_t bytes[16 * ROWS_A_PACKET]; /* one member of a table is bytes at most */
};

static int put_rows(struct out *o, int table, const char *rows, size_t first, size_t n,
		    struct columns *c)
{
	Warptap__V1__Table m = WARPTAP__V1__TABLE__INIT;
	const struct wt_field *start = NULL;

	m.table = wt_tables[table].id;
	m.first = first;
	m.rows = (uint32_t)n;
	m.columns = c->list;
	rows += first * wt_tables[table].size;
	for (size_t k = 0; k < wt_nfields && m.n_columns < 32; k++) {
		const struct wt_field *f = &wt_fields[k];
		Warptap__V1__Column *col = &c->column[m.n_columns];

		if (f->table != table)
			continue;
		start = start ? start : f;
		warptap__v1__column__init(col);
		col->member = f->id;
		if (f->refers == WT_REFERS_BYTES) {
			fill_bytes(f, rows, n, c->bytes);
			col->bytes = (ProtobufCBinaryData){n * f->size, c->bytes};
		} else {
			col->n_d = n;
			col->d = c->d[m.n_columns];
			fill(f, start, rows, n, col->d);
		}
		c->list[m.n_columns++] = col;
	}
	return put_table(o, &m);
}

static int put_tables(struct out *o)
{
	struct columns *c = malloc(sizeof(*c));
	int rc = c ? 0 : -WT_E_NOMEM;

	for (int t = 0; t < WT_TABLES && !rc; t++) {
		const char *rows = *(char *const *)((const char *)o->tl + wt_tables[t].in_timeline);
		size_t n;

		memcpy(&n, (const char *)o->tl + wt_tables[t].n_in_timeline, sizeof(n));
		for (size_t at = 0; at < n && !rc; at += ROWS_A_PACKET)
			rc = put_rows(o, t, rows, at,
				      n - at < ROWS_A_PACKET ? n - at : ROWS_A_PACKET, c);
	}
	free(c);
	return rc;
}

static int put_notes(struct out *o)
{
	Warptap__V1__Table m = WARPTAP__V1__TABLE__INIT;
	Warptap__V1__Column col = WARPTAP__V1__COLUMN__INIT, *list = &col;
	int64_t *d = calloc(o->tl->nnotes + 1, sizeof(*d));
	int rc = d ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; i < o->tl->nnotes && d; i++)
		d[i] = (int64_t)o->tl->notes[i] - (i ? (int64_t)o->tl->notes[i - 1] : 0);
	m.table = WT_NOTES_ID;
	m.rows = (uint32_t)o->tl->nnotes;
	m.columns = &list;
	m.n_columns = 1;
	col.member = 1;
	col.n_d = o->tl->nnotes;
	col.d = d;
	/* A note is a sentence; as many as would not fit a packet do not exist. */
	if (!rc && o->tl->nnotes && o->tl->nnotes < 10000)
		rc = put_table(o, &m);
	free(d);
	return rc;
}

static int put_end(struct out *o)
{
	Warptap__V1__Packet p = WARPTAP__V1__PACKET__INIT;
	Warptap__V1__End e = WARPTAP__V1__END__INIT;

	e.how = WARPTAP__V1__END_HOW__END_HOW_CONVERTED;
	e.packets = o->seq + 1;
	p.body_case = WARPTAP__V1__PACKET__BODY_END;
	p.end = &e;
	return put(o, &p);
}

int wt_convert(const struct wt_timeline *tl, wt_frame_sink *sink, void *arg)
{
	struct out o = {.tl = tl};
	size_t size = wt_frame_writer_size(LEVEL);
	int rc = -WT_E_NOMEM;

	if (getrandom(o.id, sizeof(o.id), 0) != (ssize_t)sizeof(o.id))
		return -WT_E_IO;
	o.mem = aligned_alloc(16, (size + 15) / 16 * 16);
	o.w = o.mem ? wt_frame_writer_init(o.mem, size, LEVEL, o.id, sink, arg) : NULL;
	if (o.w)
		rc = put_header(&o);
	rc = rc ? rc : put_strings(&o);
	rc = rc ? rc : put_tables(&o);
	rc = rc ? rc : put_notes(&o);
	rc = rc ? rc : put_end(&o);
	rc = rc ? rc : wt_frame_writer_end(o.w, 0);
	free(o.packed);
	free(o.mem);
	return rc;
}
