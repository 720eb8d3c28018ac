/* SPDX-License-Identifier: Apache-2.0 */
/* See wire.h. Groups, gone from protobuf since 2008, are answered as damage. */
#include "import/wire.h"

#include <string.h>

static int fixed(struct wt_wire *w, size_t n, struct wt_wire_field *ret)
{
	if ((size_t)(w->end - w->p) < n)
		return -WT_E_TRUNCATED;
	ret->value = 0;
	memcpy(&ret->value, w->p, n); /* little endian, as on the wire */
	w->p += n;
	return 1;
}

int wt_wire_next(struct wt_wire *w, struct wt_wire_field *ret)
{
	struct wt_wire at = *w;
	uint64_t tag, n;
	int rc;

	if (at.p == at.end)
		return 0;
	rc = wt_wire_varint(&at, &tag);
	if (rc)
		return rc;
	if (!(tag >> 3) || tag >> 32)
		return -WT_E_CORRUPT;
	ret->number = (uint32_t)(tag >> 3);
	ret->type = tag & 7;
	ret->bytes = NULL;
	ret->n = 0;
	switch (ret->type) {
	case WT_WIRE_VARINT:
		rc = wt_wire_varint(&at, &ret->value);
		rc = rc ? rc : 1;
		break;
	case WT_WIRE_64:
		rc = fixed(&at, 8, ret);
		break;
	case WT_WIRE_32:
		rc = fixed(&at, 4, ret);
		break;
	case WT_WIRE_BYTES:
		rc = wt_wire_varint(&at, &n);
		if (rc)
			return rc;
		ret->bytes = at.p;
		ret->n = (size_t)(at.end - at.p);
		if (n > ret->n)
			return -WT_E_TRUNCATED;
		ret->n = (size_t)n;
		at.p += n;
		rc = 1;
		break;
	default:
		return -WT_E_CORRUPT;
	}
	if (rc > 0)
		*w = at;
	return rc;
}
