/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that nobody is to read (redact.h): a keyed hash of 64 bits, quick enough for hooks of marks. The key is 128
 * bits of the system's, or made of what the processes of one job were given, so that their names agree.
 */
#include "agent/redact.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "agent/agent.h"
#include "agent/config.h"

static uint64_t key[2];

static uint64_t stir(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

#define TEXT_MAX 4095 /* of a name that is kept */

static void add(uint64_t h[2], const char *s)
{
	for (size_t i = 0; *s && i < TEXT_MAX; i++, s++) {
		h[0] = stir(h[0] + (uint8_t)*s + 1);
		h[1] = stir(h[1] ^ h[0]);
	}
}

void wt_redact_init(void)
{
	int saved = errno;

	if (key[0])
		return;
	if (wt_config.redact_key[0]) {
		key[1] = stir(0x9E3779B97F4A7C15ull);
		add(key, wt_config.redact_key);
		key[0] |= 1;
	} else if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key)) {
		key[0] = stir(wt_tsc()) | 1; /* early boot */
	}
	errno = saved;
}

/* NCCL's own names, mangled or not, are public, and tell communication from computing. */
static int is_public(const char *s)
{
	if (strncmp(s, "_Z", 2) == 0)
		for (s += 2; *s >= '0' && *s <= '9'; s++)
			;
	return strncmp(s, "nccl", 4) == 0;
}

const char *wt_redacted(const char *s, char buf[WT_REDACTED_BYTES])
{
	uint64_t h[2];

	if (!wt_config.redact || !s || !*s || is_public(s) ||
	    strncmp(s, WT_REDACTED, sizeof(WT_REDACTED) - 1) == 0)
		return s;
	wt_redact_init();
	memcpy(h, key, sizeof(h));
	add(h, s);
	memcpy(buf, WT_REDACTED, sizeof(WT_REDACTED));
	for (int i = 0; i < 16; i++)
		buf[sizeof(WT_REDACTED) - 1 + i] =
			"0123456789abcdef"[(h[0] ^ h[1]) >> (60 - 4 * i) & 15];
	buf[sizeof(WT_REDACTED) - 1 + 16] = '\0';
	return buf;
}

const char *wt_redacted_word(const char *s)
{
	return wt_config.redact ? "(redacted)" : s;
}
