/* SPDX-License-Identifier: Apache-2.0 */
/* See utf8.h. */
#include "base/utf8.h"

unsigned wt_utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char lead, mask, low, high; /* first byte; the range of the second */
		unsigned n;
	} forms[] = {
		{0xc2, 0xe0, 0x80, 0xbf, 2}, {0xe0, 0xff, 0xa0, 0xbf, 3},
		{0xed, 0xff, 0x80, 0x9f, 3}, {0xe1, 0xf0, 0x80, 0xbf, 3},
		{0xf0, 0xff, 0x90, 0xbf, 4}, {0xf4, 0xff, 0x80, 0x8f, 4},
		{0xf1, 0xfc, 0x80, 0xbf, 4},
	};

	if (s[0] < 0x80)
		return 1;
	if (s[0] == 0xc0 || s[0] == 0xc1 || s[0] > 0xf4)
		return 0;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((s[0] & forms[i].mask) != (forms[i].lead & forms[i].mask))
			continue;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (unsigned k = 2; k < forms[i].n; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].n;
	}
	return 0;
}

int wt_utf8_valid(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned m = (unsigned char)s[i] < 0x80
				     ? 1
				     : wt_utf8_length((const unsigned char *)s + i);

		if (!m || m > n - i)
			return 0;
		i += m;
	}
	return 1;
}
