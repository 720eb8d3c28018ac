/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finished timeline's strings and its end, and the one table that says what a host call is by its name.
 */
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"

const char *wt_timeline_string(const struct wt_timeline *tl, uint32_t id)
{
	return wt_strings_get(tl->strings, id);
}

uint32_t wt_timeline_work_name(const struct wt_timeline *tl, const struct wt_op *op)
{
	const struct wt_instruction *in =
		op->instruction ? &tl->instructions[op->instruction] : NULL;

	return in && in->by_category ? in->category : op->name;
}

size_t wt_timeline_nstrings(const struct wt_timeline *tl)
{
	return wt_strings_count(tl->strings);
}

void wt_timeline_free(struct wt_timeline *tl)
{
	if (!tl)
		return;
	free(tl->ops);
	free(tl->device_first);
	free(tl->calls);
	free(tl->ranges);
	free(tl->asides);
	free(tl->collectives);
	free(tl->members);
	free(tl->standings);
	free(tl->waits);
	free(tl->memories);
	free(tl->counters);
	free(tl->frames);
	free(tl->holes);
	free(tl->counts);
	free(tl->processes);
	free(tl->devices);
	free(tl->streams);
	free(tl->threads);
	free(tl->shapes);
	free(tl->works);
	free(tl->instructions);
	free(tl->inputs);
	free(tl->notes);
	free(tl->environment);
	wt_strings_free(tl->strings);
	free(tl);
}

struct call_row {
	const char *stem; /* without cuda, cu, hip; a final '*' = whatever follows */
	enum wt_call_kind kind;
	int blocks;
};
static const struct call_row rows[] = {
#define WT_CALL(stem_, kind_, blocks_) {stem_, WT_CALL_##kind_, blocks_},
#include "timeline/calls.def"
#undef WT_CALL
};

/* The length without one of the suffixes that name a variant of the same call: _ptsz, _v2, _v11060. */
static size_t cut_suffix(const char *s, size_t n)
{
	static const char *const tails[] = {"_ptsz", "_ptds", "_spt"};
	size_t digits = n;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t k = strlen(tails[i]);

		if (n > k && !memcmp(s + n - k, tails[i], k))
			return n - k;
	}
	while (digits && s[digits - 1] >= '0' && s[digits - 1] <= '9')
		digits--;
	return digits < n && digits > 2 && !memcmp(s + digits - 2, "_v", 2) ? digits - 2 : n;
}

/* "cudaMemcpyAsync_v2_ptsz" -> "MemcpyAsync" and its length; 0 if no library of ours spells names that way. */
static size_t stem_of(const char *name, const char **ret_stem)
{
	static const char *const apis[] = {"cuda", "cu", "hip"};
	size_t n, shorter;

	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		size_t k = strlen(apis[i]);

		/* An upper-case letter follows, which keeps cublasX and cudnnX out. */
		if (strncmp(name, apis[i], k) || name[k] < 'A' || name[k] > 'Z')
			continue;
		*ret_stem = name + k;
		for (n = strlen(*ret_stem); (shorter = cut_suffix(*ret_stem, n)) < n;)
			n = shorter;
		return n;
	}
	return 0;
}

static const struct call_row *row_of(const char *name)
{
	const char *stem = NULL;
	size_t n = stem_of(name, &stem);

	for (size_t i = 0; n && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *s = rows[i].stem;
		size_t k;

		if (s[0] != stem[0])
			continue;
		k = strlen(s);
		if (s[k - 1] == '*' ? n >= k - 1 && !memcmp(s, stem, k - 1)
				    : n == k && !memcmp(s, stem, k))
			return &rows[i];
	}
	return NULL;
}

enum wt_call_kind wt_call_kind_by_name(const char *name)
{
	const struct call_row *row = row_of(name);

	return row ? row->kind : WT_CALL_OTHER;
}

int wt_call_blocks_by_name(const char *name)
{
	const struct call_row *row = row_of(name);

	return row ? row->blocks : 0;
}
