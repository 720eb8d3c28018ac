/* SPDX-License-Identifier: Apache-2.0 */
/* Small things every part of the simulated driver uses: the clock, hashing, numbers in text, messages. */
#ifndef SIM_BASE_H
#define SIM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SIM_NEVER INT64_MAX

/* CLOCK_REALTIME, the one clock of the simulator. */
static inline int64_t sim_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t sim_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Mixes two words; the same on every machine, so that a seed means the same run everywhere. */
uint64_t sim_mix(uint64_t a, uint64_t b);
uint64_t sim_hash(const char *text);

/* "10us", "2.5ms", "500ns", "1s", "3" (ns). 0 = ok, -1 = not a duration. Exact: decimal, no floating point. */
int sim_parse_ns(const char *text, int64_t *ret_ns);
/* Decimal fraction in 1/1000: "1.3" -> 1300. 0 = ok, -1 = not a number in [0, 10^9]. */
int sim_parse_milli(const char *text, int64_t *ret_milli);
/* Whole number within [min, max]. 0 = ok, -1 = not so. */
int sim_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret);

/* One line on stderr. A simulator may talk: only for what makes it unusable or plainly wrong. */
void sim_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* One line into SIMGPU_LOG, if set. */
void sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* malloc that cannot fail: a test bed without memory says so and stops. */
void *sim_alloc(size_t bytes);
char *sim_intern(const char *text); /* one copy for the process's life */

#endif
