// SPDX-License-Identifier: Apache-2.0
/*
 * config.def, three times over: defaults, parser rows, values as text. Runs in the constructor, before main, on the
 * loader's thread: no allocation, no locale, no library that could call back into the job.
 */
#define _GNU_SOURCE
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/wt_err.h"
#include "redact.h"

extern char **environ;

#define WT_DEF_UINT(def_)  (def_)
#define WT_DEF_LEVEL(def_) (def_)
#define WT_DEF_TEXT(def_)  ""
#define WT_DEF_SPAN(def_)                                                                          \
	{                                                                                          \
		(def_), WT_SPAN_MS                                                                 \
	}
#define WT_DEF_PPM(def_) (def_)
struct wt_config wt_config = {
#define WT_OPT(name_, env_, type_, def_, min_, max_, help_) .name_ = WT_DEF_##type_(def_),
#include "config.def"
#undef WT_OPT
};

enum opt_type { OPT_UINT, OPT_LEVEL, OPT_TEXT, OPT_SPAN, OPT_PPM };
struct opt {
	const char *env;
	enum opt_type type;
	uint32_t min, max;
	size_t offset;
};
static const struct opt opts[] = {
#define WT_OPT(name_, env_, type_, def_, min_, max_, help_)                                        \
	{env_, OPT_##type_, min_, max_, offsetof(struct wt_config, name_)},
#include "config.def"
#undef WT_OPT
};
#define OPT_COUNT (sizeof(opts) / sizeof(opts[0]))

static const char *const level_names[] = {"inert", "off", "count", "api", "trace"};

const char *wt_level_name(uint32_t level)
{
	return level < sizeof(level_names) / sizeof(level_names[0]) ? level_names[level] : "?";
}

static void *field(const struct opt *o)
{
	return (char *)&wt_config + o->offset;
}

static int parse_uint(const struct opt *o, const char *text)
{
	uint64_t v = 0;

	if (!*text)
		return -WT_E_LIMIT;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return -WT_E_LIMIT;
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > UINT32_MAX)
			return -WT_E_LIMIT;
	}
	if (v < o->min || v > o->max)
		return -WT_E_LIMIT;
	*(uint32_t *)field(o) = (uint32_t)v;
	return 0;
}

static int parse_level(const struct opt *o, const char *text)
{
	for (uint32_t i = o->min; i <= o->max; i++)
		if (!strcmp(text, level_names[i])) {
			*(uint32_t *)field(o) = i;
			return 0;
		}
	return -WT_E_LIMIT;
}

static int parse_text(const struct opt *o, const char *text)
{
	size_t n = strlen(text);

	if (n >= WT_CONFIG_TEXT_MAX)
		return -WT_E_LIMIT;
	memcpy(field(o), text, n + 1);
	return 0;
}

static int parse_span(const struct opt *o, const char *text)
{
	return wt_span_parse(text, field(o));
}

/* "1", "0.25", "0.25%": at most four decimals, so that no floating point is needed. */
static int parse_ppm(const struct opt *o, const char *text)
{
	uint64_t v = 0;
	int decimals = -1;

	if (*text < '0' || *text > '9')
		return -WT_E_LIMIT;
	for (; *text && strcmp(text, "%") != 0; text++) {
		if (*text == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*text < '0' || *text > '9' || decimals == 4 || v > UINT32_MAX)
			return -WT_E_LIMIT;
		v = v * 10 + (uint64_t)(*text - '0');
		decimals += decimals >= 0;
	}
	for (int i = decimals < 0 ? 0 : decimals; i < 4; i++)
		v *= 10;
	if (v < o->min || v > o->max)
		return -WT_E_LIMIT;
	*(uint32_t *)field(o) = (uint32_t)v;
	return 0;
}

static int (*const parsers[])(const struct opt *, const char *) = {
	[OPT_UINT] = parse_uint, [OPT_LEVEL] = parse_level, [OPT_TEXT] = parse_text,
	[OPT_SPAN] = parse_span, [OPT_PPM] = parse_ppm,
};

int wt_config_set(const char *env_name, const char *value)
{
	for (size_t i = 0; i < OPT_COUNT; i++)
		if (!strcmp(opts[i].env, env_name))
			return parsers[opts[i].type](&opts[i], value);
	return -WT_E_NOENT;
}

/* A misspelt name would otherwise be a setting that silently does nothing. */
static int complain_unknown(void)
{
	int n = 0;

	for (char **e = environ; e && *e; e++) {
		const char *eq = strchr(*e, '=');
		size_t len = eq ? (size_t)(eq - *e) : 0;
		int known = 0;

		if (len < 9 || strncmp(*e, "WARPTAP_", 8))
			continue;
		for (size_t i = 0; i < OPT_COUNT && !known; i++)
			known = strlen(opts[i].env) == len && !strncmp(opts[i].env, *e, len);
		if (!known) {
			wt_log("unknown setting %.*s: ignored", (int)len, *e);
			n++;
		}
	}
	return n;
}

/* A folder named from where the process began: it may go elsewhere before the first file is made. */
static int make_absolute(const struct opt *o)
{
	char here[WT_CONFIG_TEXT_MAX], *dir = field(o);
	size_t n, len = strlen(dir);

	if (o->type != OPT_TEXT || !len || *dir == '/' || !strstr(o->env, "_DIR"))
		return 0;
	if (!getcwd(here, sizeof(here)) || *here != '/' ||
	    (n = strlen(here)) + 1 + len >= WT_CONFIG_TEXT_MAX) {
		*dir = 0;
		return -WT_E_LIMIT;
	}
	here[n++] = '/';
	memmove(dir + n, dir, len + 1);
	memcpy(dir, here, n);
	return 0;
}

int wt_config_read(void)
{
	const char *redact = secure_getenv("WARPTAP_REDACT");
	int refused = 0;

	if (redact) /* first: what is complained of below may be somebody's name */
		wt_config_set("WARPTAP_REDACT", redact);
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const char *text = secure_getenv(opts[i].env);

		if (!text || !*text ||
		    (!wt_config_set(opts[i].env, text) && !make_absolute(&opts[i])))
			continue;
		wt_log("setting %s=%.100s not understood or out of range: default kept",
		       opts[i].env, wt_redacted_word(text));
		refused++;
	}
	return refused + complain_unknown();
}

void wt_config_each(void (*fn)(void *arg, const char *name, const char *value), void *arg)
{
	for (size_t i = 0; i < OPT_COUNT; i++) {
		const struct opt *o = &opts[i];
		char text[32];

		if (o->type == OPT_TEXT) {
			fn(arg, o->env, field(o));
		} else if (o->type == OPT_LEVEL) {
			fn(arg, o->env, wt_level_name(*(uint32_t *)field(o)));
		} else if (o->type == OPT_SPAN) {
			wt_span_print(field(o), text, sizeof(text));
			fn(arg, o->env, text);
		} else if (o->type == OPT_PPM) {
			uint32_t v = *(uint32_t *)field(o);

			snprintf(text, sizeof(text), "%u.%04u%%", v / 10000, v % 10000);
			fn(arg, o->env, text);
		} else {
			snprintf(text, sizeof(text), "%u", *(uint32_t *)field(o));
			fn(arg, o->env, text);
		}
	}
}
