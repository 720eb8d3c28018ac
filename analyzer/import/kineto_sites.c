/* SPDX-License-Identifier: Apache-2.0 */
/* See kineto_sites.h: a place a text, by a few of its bytes; the last one that came there stays, whole. */
#include "import/kineto_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/kineto_names.h"

#define PLACES	256
#define LONGEST 4096 /* that is kept; longer ones are looked at each time */

struct entry {
	char *text;
	size_t n, room;
	size_t at, site_n; /* of the site; site_n 0: none */
	int is_stack;
};
struct wt_kineto_sites {
	struct entry entries[PLACES + 1]; /* the last: of a long one */
};

struct wt_kineto_sites *wt_kineto_sites_new(void)
{
	return calloc(1, sizeof(struct wt_kineto_sites));
}

void wt_kineto_sites_free(struct wt_kineto_sites *c)
{
	for (size_t i = 0; c && i <= PLACES; i++)
		free(c->entries[i].text);
	free(c);
}

/* Of texts that are alike at both ends. */
static size_t place_of(struct wt_json_text t, int is_stack)
{
	uint64_t h = t.n * 2 + (size_t)is_stack, bytes;

	for (size_t at = 0; t.n >= 32 && at < 4; at++) {
		memcpy(&bytes, t.s + at * (t.n - 8) / 3, sizeof(bytes));
		h = (h ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
	}
	for (size_t at = 0; t.n < 32 && at < t.n; at++)
		h = (h ^ (unsigned char)t.s[at]) * UINT64_C(0x9e3779b97f4a7c15);
	return wt_mix64(h) % PLACES;
}

/* Takes the text over. 0, or -1 without memory: then the entry is that of an empty text. */
static int fill(struct entry *e, struct wt_json_text t, int is_stack)
{
	if (e->room < t.n) {
		free(e->text);
		e->text = malloc(t.n);
		e->room = e->text ? t.n : 0;
		e->n = e->site_n = 0;
	}
	if (!e->text)
		return -1;
	memcpy(e->text, t.s, t.n);
	e->n = t.n;
	e->is_stack = is_stack;
	return 0;
}

struct wt_json_text wt_kineto_sites_of(struct wt_kineto_sites *c, struct wt_json_text text,
				       int is_stack)
{
	struct entry *e = &c->entries[text.n <= LONGEST ? place_of(text, is_stack) : PLACES];
	const char *site;
	size_t n;
	int found;

	if (!text.n)
		return (struct wt_json_text){NULL, 0};
	if (e->n != text.n || e->is_stack != is_stack || memcmp(e->text, text.s, text.n)) {
		if (fill(e, text, is_stack))
			return (struct wt_json_text){NULL, 0};
		site = e->text;
		n = e->n;
		found = is_stack ? wt_kineto_stack_site(e->text, e->n, &site, &n)
				 : wt_kineto_site(&site, &n);
		e->at = (size_t)(site - e->text);
		e->site_n = found ? n : 0;
	}
	return (struct wt_json_text){e->site_n ? e->text + e->at : NULL, e->site_n};
}
