/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source: any bytes as a file. Reading in small and in large pieces must give the same text and the same end; only
 * where bad gzip ends it may one of them have a few hundred bytes less.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MOST_TEXT     (4u << 20) /* a bomb is read in windows too, but not for ever here */
#define MOST_DOUBTFUL 1024u

static size_t read_all(const uint8_t *data, size_t n, uint8_t *text, size_t step, int head,
		       long *ret_rc)
{
	struct wt_source *src;
	size_t got = 0, nhead = 0;
	long rc;

	if (wt_source_open_memory(&src, data, n))
		abort();
	if (head && wt_source_head(src, &nhead) && nhead > 65536)
		abort();
	while ((rc = wt_source_read(src, text + got, step)) > 0) {
		got += (size_t)rc;
		if (got + step > MOST_TEXT)
			break;
	}
	if (got < nhead || wt_source_disk_offset(src) < 0 ||
	    wt_source_disk_offset(src) > (int64_t)n)
		abort();
	if (rc < 0 && !wt_source_fault(src)->text[0])
		abort();
	*ret_rc = rc;
	wt_source_close(src);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint8_t a[MOST_TEXT], b[MOST_TEXT];
	long rc_a, rc_b;
	size_t na, nb;

	if (!n)
		return 0;
	na = read_all(data + 1, n - 1, a, 65536, 0, &rc_a);
	nb = read_all(data + 1, n - 1, b, 1 + data[0], 1, &rc_b);
	if (rc_a > 0 || rc_b > 0)
		return 0;
	if (rc_a != rc_b || memcmp(a, b, na < nb ? na : nb))
		abort();
	if (na > nb + MOST_DOUBTFUL || nb > na + MOST_DOUBTFUL ||
	    (na != nb && rc_a != -WT_E_CORRUPT))
		abort();
	return 0;
}
