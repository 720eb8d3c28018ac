/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set of files says about the ranks of its job (fields.h): two files that claim one rank, ranks without a file.
 * Only where files say their rank; one without is a rank of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/builder_impl.h"
#include "timeline/fields.h"

struct claim {
	int32_t rank;
	uint32_t input;
};

static int by_rank(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

/* One claim per input and rank. Processes of one rank that our own agent recorded are parts of it, not rivals. */
static size_t collect(const struct wt_builder *b, struct claim *claims, int32_t *ret_world)
{
	size_t n = 0;

	*ret_world = 0;
	for (size_t i = 0; i < b->processes.n; i++) {
		const struct wt_process *p = &b->processes.rows[i];

		if (p->world > *ret_world)
			*ret_world = p->world;
		if (p->rank >= 0)
			claims[n++] = (struct claim){p->rank, p->input};
	}
	if (n)
		qsort(claims, n, sizeof(*claims), by_rank);
	return n;
}

static int of_other_tool(const struct wt_builder *b, uint32_t input)
{
	for (size_t i = 0; i < b->processes.n; i++)
		if (b->processes.rows[i].input == input && b->processes.rows[i].level >= 0)
			return 0;
	return 1;
}

static void note_rivals(struct wt_builder *b, const struct claim *claims, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct claim *a = &claims[i - 1], *c = &claims[i];

		if (a->rank == c->rank && a->input != c->input && of_other_tool(b, a->input) &&
		    of_other_tool(b, c->input))
			wt_builder_note(
				b,
				"rank %" PRId32
				" is claimed by two files, %.400s and %.400s: both are shown, "
				"each as a device of its own",
				c->rank, wt_builder_get(b, b->inputs.rows[a->input].path),
				wt_builder_get(b, b->inputs.rows[c->input].path));
	}
}

static void note_gaps(struct wt_builder *b, const struct claim *claims, size_t n, int32_t world)
{
	char text[256] = "";
	size_t used = 0;
	int32_t next = 0, missing = 0;

	for (size_t i = 0; i <= n; i++) {
		int32_t rank = i < n ? claims[i].rank : world;

		if (rank > world)
			rank = world;
		if (rank > next && used < sizeof(text) - 32) {
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 rank - next > 1 ? "%s%" PRId32 "-%" PRId32
								 : "%s%" PRId32,
						 used ? ", " : "", next, rank - 1);
			if (used >= sizeof(text) - 32)
				snprintf(text + used, sizeof(text) - used, " ...");
		}
		missing += rank > next ? rank - next : 0;
		next = rank + 1 > next ? rank + 1 : next;
	}
	if (missing)
		wt_builder_note(b, "%" PRId32 " of %" PRId32 " ranks are not among the files: %s",
				missing, world, text);
}

void wt_builder_note_ranks(struct wt_builder *b)
{
	struct claim *claims = calloc(b->processes.n + 1, sizeof(*claims));
	int32_t world;
	size_t n;

	if (!claims) {
		b->error = b->error ? b->error : WT_E_NOMEM;
		return;
	}
	n = collect(b, claims, &world);
	note_rivals(b, claims, n);
	if (n && b->inputs.n > 1)
		note_gaps(b, claims, n, world);
	/* A single file is looked at for itself, but it does not tell what the others' would. */
	else if (n == 1 && world > 1)
		wt_builder_note(b,
				"rank %" PRId32 " of a job of %" PRId32
				" ranks: who waited for whom takes the files of all",
				claims[0].rank, world);
	free(claims);
}
