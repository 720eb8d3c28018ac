// SPDX-License-Identifier: Apache-2.0
/*
 * Requests as text and back (control_msg.h). The agent parses what anyone of the same user may have sent, in a
 * stranger's process: no allocation, no locale, nothing but the bytes it was given.
 */
#include "proto/control_msg.h"

#include <stdio.h>
#include <string.h>

#include "proto/wt_err.h"

#define DIGITS_MAX 10

static const struct {
	const char *text;
	uint32_t keys;
} verbs[] = {
#define WT_KEY(name_, text_, max_)
#define WT_VERB(name_, text_, keys_) {text_, keys_},
#include "proto/control_msg.def"
#undef WT_KEY
#undef WT_VERB
};
static const struct {
	const char *text;
	uint32_t max;
} keys[] = {
#define WT_KEY(name_, text_, max_) {text_, max_},
#define WT_VERB(name_, text_, keys_)
#include "proto/control_msg.def"
#undef WT_KEY
#undef WT_VERB
};

struct word {
	const char *at;
	size_t n;
};

static int is(struct word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.at, text, w.n);
}

static int number(struct word w, uint64_t most, uint32_t *ret)
{
	uint64_t v = 0;

	if (!w.n || w.n > DIGITS_MAX)
		return -WT_E_LIMIT;
	for (size_t i = 0; i < w.n; i++) {
		if (w.at[i] < '0' || w.at[i] > '9')
			return -WT_E_FORMAT;
		v = v * 10 + (uint64_t)(w.at[i] - '0');
	}
	if (v > most)
		return -WT_E_LIMIT;
	*ret = (uint32_t)v;
	return 0;
}

/* Words are parted by one blank. 1 = got one. */
static int next(const char **at, const char *end, struct word *ret)
{
	const char *blank;

	if (*at >= end)
		return 0;
	blank = memchr(*at, ' ', (size_t)(end - *at));
	ret->at = *at;
	ret->n = (size_t)((blank ? blank : end) - *at);
	*at = blank ? blank + 1 : end;
	return 1;
}

static int take_pair(struct word w, struct wt_ctl_request *r)
{
	const char *eq = memchr(w.at, '=', w.n);
	struct word key = {w.at, eq ? (size_t)(eq - w.at) : 0};

	if (!eq)
		return -WT_E_FORMAT;
	for (uint32_t k = 0; k < WT_CTL_KEYS; k++) {
		if (!is(key, keys[k].text))
			continue;
		if (!(verbs[r->verb].keys & 1u << k) || r->has & 1u << k)
			return -WT_E_FORMAT;
		r->has |= 1u << k;
		return number((struct word){eq + 1, w.n - key.n - 1}, keys[k].max, &r->value[k]);
	}
	return -WT_E_UNSUPPORTED;
}

static int take_version(struct word w)
{
	static const char name[] = "warptap/";
	uint32_t v;

	if (w.n < sizeof(name) || memcmp(w.at, name, sizeof(name) - 1))
		return -WT_E_FORMAT;
	w.at += sizeof(name) - 1;
	w.n -= sizeof(name) - 1;
	if (number(w, UINT32_MAX, &v))
		return -WT_E_FORMAT;
	return v == WT_CTL_VERSION ? 0 : -WT_E_UNSUPPORTED;
}

int wt_ctl_parse(const char *text, size_t n, struct wt_ctl_request *ret)
{
	struct wt_ctl_request r = {.verb = WT_CTL_VERBS};
	const char *at = text, *end = text + n;
	struct word w = {text, 0};
	int err;

	if (!n || n > WT_CTL_REQUEST_MAX || end[-1] == ' ')
		return -WT_E_FORMAT;
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return -WT_E_FORMAT;
	next(&at, end, &w);
	err = take_version(w);
	if (err)
		return err;
	if (!next(&at, end, &w))
		return -WT_E_FORMAT;
	for (uint32_t v = 0; v < WT_CTL_VERBS; v++)
		if (is(w, verbs[v].text))
			r.verb = v;
	if (r.verb == WT_CTL_VERBS)
		return -WT_E_UNSUPPORTED;
	while (next(&at, end, &w)) {
		err = take_pair(w, &r);
		if (err)
			return err;
	}
	*ret = r;
	return 0;
}

int wt_ctl_print(const struct wt_ctl_request *r, char *out, size_t n)
{
	int len = snprintf(out, n, "warptap/%d %s", WT_CTL_VERSION, wt_ctl_verb_name(r->verb));

	for (uint32_t k = 0; k < WT_CTL_KEYS && len >= 0 && (size_t)len < n; k++)
		if (r->has & 1u << k)
			len += snprintf(out + len, n - (size_t)len, " %s=%u", keys[k].text,
					r->value[k]);
	return len >= 0 && (size_t)len < n && len <= WT_CTL_REQUEST_MAX ? len : -WT_E_LIMIT;
}

const char *wt_ctl_verb_name(uint32_t verb)
{
	return verb < WT_CTL_VERBS ? verbs[verb].text : "?";
}

int wt_ctl_verb_find(const char *name, uint32_t *ret)
{
	for (uint32_t v = 0; v < WT_CTL_VERBS; v++) {
		if (strcmp(name, verbs[v].text) != 0)
			continue;
		*ret = v;
		return 0;
	}
	return -WT_E_NOENT;
}

/* ---- spans ---- */

static const struct {
	const char *text;
	uint32_t unit, times;
} units[] = {
	{"ms", WT_SPAN_MS, 1},
	{"s", WT_SPAN_MS, 1000},
	{"m", WT_SPAN_MS, 60000},
	{"h", WT_SPAN_MS, 3600000},
	{"steps", WT_SPAN_STEPS, 1},
	{"step", WT_SPAN_STEPS, 1},
	{"collectives", WT_SPAN_COLLECTIVES, 1},
};

int wt_span_parse(const char *text, struct wt_span *ret)
{
	size_t n = strspn(text, "0123456789");
	uint32_t v;

	if (number((struct word){text, n}, 1000000000, &v))
		return -WT_E_LIMIT;
	if (!v && !text[n]) {
		*ret = (struct wt_span){0, WT_SPAN_MS};
		return 0;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + n, units[i].text) != 0)
			continue;
		if (v > 1000000000u / units[i].times)
			return -WT_E_LIMIT;
		*ret = (struct wt_span){v * units[i].times, units[i].unit};
		return 0;
	}
	return -WT_E_LIMIT;
}

void wt_span_print(const struct wt_span *s, char *out, size_t n)
{
	static const char *const names[WT_SPAN_UNITS] = {"ms", "steps", "collectives"};

	snprintf(out, n, "%u%s", s->n, s->n && s->unit < WT_SPAN_UNITS ? names[s->unit] : "");
}
