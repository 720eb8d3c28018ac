/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a trace as text, through protobuf-c's descriptors. Lines are bounded: a column of a thousand rows shows
 * its beginning and says how many there are. Text from the file is escaped: it goes to a terminal.
 */
#include "cmd/info_packet.h"

#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/visible.h"

#define AT(m_, offset_, type_) (*(const type_ *)((const char *)(m_) + (offset_)))

const ProtobufCMessage *wt_info_body(const Warptap__V1__Packet *p, const char **ret_name)
{
	const ProtobufCFieldDescriptor *f;

	*ret_name = p->base.n_unknown_fields ? "unknown" : "none";
	if (p->body_case == WARPTAP__V1__PACKET__BODY__NOT_SET)
		return NULL;
	f = protobuf_c_message_descriptor_get_field(p->base.descriptor, p->body_case);
	if (!f)
		return NULL;
	*ret_name = f->name;
	return AT(p, f->offset, ProtobufCMessage *);
}

size_t wt_info_rows(const ProtobufCMessage *m)
{
	size_t rows = 0;

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		size_t n =
			f->label == PROTOBUF_C_LABEL_REPEATED && f->type != PROTOBUF_C_TYPE_MESSAGE
				? AT(m, f->quantifier_offset, size_t)
				: 0;

		rows = n > rows ? n : rows;
	}
	return rows ? rows : 1;
}

static void add_text(struct wt_strbuf *b, const char *s, size_t n, size_t most)
{
	wt_strbuf_addc(b, '"');
	for (size_t i = 0; i < n && i < most; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			wt_strbuf_addf(b, "\\%c", c);
		else if (c < 32 || c == 127)
			wt_strbuf_addf(b, "\\x%02x", c);
		else
			wt_strbuf_addc(b, (char)c);
	}
	wt_strbuf_adds(b, n > most ? "\"..." : "\"");
}

static void add_bytes(struct wt_strbuf *b, const ProtobufCBinaryData *d)
{
	for (size_t i = 0; i < d->len && i < 16; i++)
		wt_strbuf_addf(b, "%02x", d->data[i]);
	if (d->len > 16)
		wt_strbuf_adds(b, "...");
	if (!d->len)
		wt_strbuf_adds(b, "\"\"");
}

/* Element i of the array (or the single value) at p. */
static void add_value(struct wt_strbuf *b, const ProtobufCFieldDescriptor *f, const void *p,
		      size_t i)
{
	const ProtobufCEnumValue *e;

	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		wt_strbuf_addf(b, "%" PRId32, ((const int32_t *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		wt_strbuf_addf(b, "%" PRIu32, ((const uint32_t *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		wt_strbuf_addf(b, "%" PRId64, ((const int64_t *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		wt_strbuf_addf(b, "%" PRIu64, ((const uint64_t *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		wt_strbuf_addf(b, "%g", (double)((const float *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		wt_strbuf_addf(b, "%g", ((const double *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		wt_strbuf_adds(b, ((const protobuf_c_boolean *)p)[i] ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		e = protobuf_c_enum_descriptor_get_value(f->descriptor, ((const int *)p)[i]);
		if (e)
			wt_strbuf_adds(b, e->name);
		else
			wt_strbuf_addf(b, "%d", ((const int *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_STRING: {
		const char *s = ((char *const *)p)[i];

		add_text(b, s ? s : "", s ? strlen(s) : 0, 60);
		break;
	}
	case PROTOBUF_C_TYPE_BYTES:
		add_bytes(b, &((const ProtobufCBinaryData *)p)[i]);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		break;
	}
}

/* A message inside (a device, a pair of a map) as name=value in braces. */
static void add_message(struct wt_strbuf *b, const ProtobufCMessage *m)
{
	wt_strbuf_addc(b, '{');
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED || f->type == PROTOBUF_C_TYPE_MESSAGE)
			continue;
		wt_strbuf_addf(b, "%s%s=", i ? " " : "", f->name);
		add_value(b, f, (const char *)m + f->offset, 0);
	}
	wt_strbuf_addc(b, '}');
}

static void print_column(FILE *out, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
			 size_t width)
{
	size_t n = AT(m, f->quantifier_offset, size_t), keep;
	const void *p = AT(m, f->offset, void *);
	struct wt_strbuf line = {0};

	wt_strbuf_addf(&line, "    %s[%zu]:", f->name, n);
	for (size_t i = 0; i < n; i++) {
		keep = line.n;
		wt_strbuf_addc(&line, ' ');
		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			add_message(&line, ((const ProtobufCMessage *const *)p)[i]);
		else
			add_value(&line, f, p, i);
		/* the first value is shown whatever its length: it is bounded itself */
		if (i && line.n > width - 4) {
			line.n = keep;
			wt_strbuf_adds(&line, " ...");
			break;
		}
	}
	wt_strbuf_addc(&line, '\n');
	wt_visible_output(&line, /* colour= */ 0);
	fwrite(wt_strbuf_text(&line), 1, line.n, out);
	wt_strbuf_release(&line);
}

/* A text that is empty says nothing, and in a file older than its field it is always. */
static int is_empty_text(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	return f->type == PROTOBUF_C_TYPE_STRING && !*AT(m, f->offset, char *);
}

void wt_info_print(FILE *out, const ProtobufCMessage *m, size_t width)
{
	struct wt_strbuf line = {0};

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED || f->type == PROTOBUF_C_TYPE_MESSAGE ||
		    is_empty_text(m, f))
			continue;
		wt_strbuf_addf(&line, " %s=", f->name);
		add_value(&line, f, (const char *)m + f->offset, 0);
	}
	wt_strbuf_addc(&line, '\n');
	wt_visible_output(&line, /* colour= */ 0);
	fwrite(wt_strbuf_text(&line), 1, line.n, out);
	wt_strbuf_release(&line);
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED && AT(m, f->quantifier_offset, size_t))
			print_column(out, m, f, width);
	}
}
