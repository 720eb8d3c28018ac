/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check that closes each packet of a .wt file. zstd's own checksum covers a whole frame, up to 30 s of a job; this
 * one says which packets of a damaged frame are still exactly what was written. Guest and bench, any thread.
 * Slicing by eight: a byte at a time would cost the writer as much as compressing does.
 */
#include "check.h"

#include <string.h>

void wt_check_init(struct wt_check *c)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int k = 0; k < 8; k++)
			v = v & 1 ? v >> 1 ^ 0xEDB88320u : v >> 1;
		c->t[0][i] = v;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			c->t[k][i] = c->t[k - 1][i] >> 8 ^ c->t[0][c->t[k - 1][i] & 255];
}

uint32_t wt_check_crc(const struct wt_check *c, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t crc = 0xFFFFFFFFu;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		v ^= crc;
		crc = c->t[7][v & 255] ^ c->t[6][v >> 8 & 255] ^ c->t[5][v >> 16 & 255] ^
		      c->t[4][v >> 24 & 255] ^ c->t[3][v >> 32 & 255] ^ c->t[2][v >> 40 & 255] ^
		      c->t[1][v >> 48 & 255] ^ c->t[0][v >> 56];
	}
	while (n--)
		crc = crc >> 8 ^ c->t[0][(crc ^ *p++) & 255];
	return crc ^ 0xFFFFFFFFu;
}
