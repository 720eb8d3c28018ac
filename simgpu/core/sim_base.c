/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_base.h. Any thread. The intern table and the log have a lock of their own, taken last. */
#include "simgpu/core/sim_base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t sim_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c159e3779b9u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t sim_hash(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

/* Reads digits[.digits] as value * scale, scale a power of ten; no rounding beyond the last digit that counts. */
static int parse_decimal(const char **text, int64_t scale, int64_t *ret)
{
	const char *p = *text;
	int64_t whole = 0, part = 0, unit = scale;
	int digits = 0;

	for (; *p >= '0' && *p <= '9'; p++, digits++) {
		if (whole > 1000000000)
			return -1;
		whole = whole * 10 + (*p - '0');
	}
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, digits++) {
			unit /= 10;
			part += unit * (*p - '0');
		}
	if (!digits || whole > INT64_MAX / scale - 1)
		return -1;
	*ret = whole * scale + part;
	*text = p;
	return 0;
}

int sim_parse_ns(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"", 1}};
	const char *end = text + strspn(text, "0123456789."), *unit = end + strspn(end, " ");
	int64_t v;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].unit)) {
			if (parse_decimal(&text, units[i].ns, &v) || text != end)
				return -1;
			*ret_ns = v;
			return 0;
		}
	return -1;
}

int sim_parse_milli(const char *text, int64_t *ret_milli)
{
	int64_t v;

	if (parse_decimal(&text, 1000, &v) || *text)
		return -1;
	*ret_milli = v;
	return 0;
}

int sim_parse_int(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		return -1;
	*ret = v;
	return 0;
}

static void emit(int fd, const char *prefix, const char *fmt, va_list ap)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s", prefix);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);

	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* One write: lines of several processes do not mix. */
	if (write(fd, line, len) < 0)
		return;
}

void sim_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit(STDERR_FILENO, "simgpu: ", fmt, ap);
	va_end(ap);
}

void sim_log(const char *fmt, ...)
{
	const char *path = getenv("SIMGPU_LOG");
	char prefix[32];
	va_list ap;
	int fd;

	if (!path || !*path)
		return;
	/* Opened per line: a stub logs once in its life. */
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	snprintf(prefix, sizeof(prefix), "%d ", (int)getpid());
	va_start(ap, fmt);
	emit(fd, prefix, fmt, ap);
	va_end(ap);
	close(fd);
}

void *sim_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		sim_complain("out of host memory (%zu bytes)", bytes);
		__builtin_trap();
	}
	return p;
}

/* Open hashing, grown by doubling; kernels of a large framework are tens of thousands. */
static struct {
	pthread_mutex_t lock;
	char **slot;
	size_t size, used;
} interned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char **intern_slot(const char *text)
{
	size_t i = sim_hash(text) & (interned.size - 1);

	while (interned.slot[i] && strcmp(interned.slot[i], text))
		i = (i + 1) & (interned.size - 1);
	return &interned.slot[i];
}

static void intern_grow(void)
{
	char **old = interned.slot;
	size_t n = interned.size;

	interned.size = n ? n * 2 : 256;
	interned.slot = sim_alloc(interned.size * sizeof(*interned.slot));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			*intern_slot(old[i]) = old[i];
	free(old);
}

char *sim_intern(const char *text)
{
	char **slot, *ret;

	pthread_mutex_lock(&interned.lock);
	if (interned.used * 2 >= interned.size)
		intern_grow();
	slot = intern_slot(text);
	if (!*slot) {
		size_t n = strlen(text) + 1;
		*slot = memcpy(sim_alloc(n), text, n);
		interned.used++;
	}
	ret = *slot;
	pthread_mutex_unlock(&interned.lock);
	return ret;
}
