/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where communication stands, from dumps of a job that hangs, or from its traces: the ranks to suspect, the
 * communicators whose ranks are not equally far, and what was called differently. Nothing is printed where no input has
 * such a state.
 */
#include <inttypes.h>
#include <string.h>

#include "report/section.h"

#define MAX_ROWS 12 /* of text; JSON has all */

static const char *const whys[] = {
	[WT_SUSPECT_NOT_FINISHED] = "not finished",
	[WT_SUSPECT_NOT_CALLED] = "not called",
	[WT_SUSPECT_UNPAIRED] = "unpaired",
	[WT_SUSPECT_NO_DUMP] = "no dump",
	[WT_SUSPECT_CIRCLE] = "circle",
};

/* As the framework calls it, else by its key, as in the section of the ranks. */
static void group_name(const struct wt_progress *p, uint32_t comm, struct wt_strbuf *out)
{
	const char *name = wt_timeline_string(p->tl, p->comms[comm].group);

	if (name[0])
		wt_text_name(out, name, 80);
	else
		wt_strbuf_addf(out, "communicator %08" PRIx32,
			       (uint32_t)(p->comms[comm].comm >> 32));
}

static void group_json(const struct wt_progress *p, struct wt_jout *j, const char *key,
		       uint32_t comm)
{
	struct wt_strbuf text = {.n = 0};
	const char *name = wt_timeline_string(p->tl, p->comms[comm].group);

	if (!name[0])
		group_name(p, comm, &text);
	wt_jout_string(j, key, name[0] ? name : wt_strbuf_text(&text));
	wt_strbuf_release(&text);
}

/* ---- JSON ---- */

static void suspect_json(const struct wt_progress *p, struct wt_jout *j, const struct wt_suspect *s)
{
	wt_jout_open(j, NULL, '{');
	wt_jout_int(j, "rank", s->rank);
	wt_jout_string(j, "why", whys[s->why]);
	group_json(p, j, "communicator", s->comm);
	wt_jout_uint(j, "ranks", p->comms[s->comm].members);
	wt_jout_count(j, "seq", s->seq);
	wt_jout_uint(j, "waiting", s->waiting);
	wt_jout_close(j, '}');
}

static void comm_json(const struct wt_progress *p, struct wt_jout *j, uint32_t i)
{
	const struct wt_progress_comm *c = &p->comms[i];

	wt_jout_open(j, NULL, '{');
	group_json(p, j, "name", i);
	wt_jout_uint(j, "ranks", c->members);
	wt_jout_uint(j, "dumps", c->dumps);
	wt_jout_bool(j, "agrees", c->agrees);
	wt_jout_bool(j, "p2p", c->p2p);
	wt_jout_count(j, "least_called", c->least_called);
	wt_jout_count(j, "most_called", c->most_called);
	wt_jout_count(j, "least_finished", c->least_finished);
	wt_jout_count(j, "most_finished", c->most_finished);
	wt_jout_uint(j, "called_by_all", c->everywhere);
	wt_jout_uint(j, "called_by_some", c->somewhere);
	wt_jout_close(j, '}');
}

static void call_json(const struct wt_progress *p, struct wt_jout *j, const char *key,
		      uint32_t collective)
{
	const struct wt_collective *c = &p->tl->collectives[collective];

	wt_jout_open(j, key, '{');
	wt_jout_count(j, "rank", p->tl->processes[c->process].rank);
	wt_jout_string(j, "name", wt_timeline_string(p->tl, c->name));
	wt_jout_uint(j, "count", c->count);
	wt_jout_uint(j, "bytes", c->bytes);
	wt_jout_close(j, '}');
}

void wt_progress_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_progress *p = r->progress;

	if (!p)
		return;
	wt_jout_open(j, "progress", '{');
	wt_jout_uint(j, "ranks", p->ranks);
	wt_jout_open(j, "without_dump", '[');
	for (size_t i = 0; i < p->nmissing; i++)
		wt_jout_int(j, NULL, p->missing[i]);
	wt_jout_close(j, ']');
	wt_jout_open(j, "suspects", '[');
	for (size_t i = 0; i < p->nsuspects; i++)
		suspect_json(p, j, &p->suspects[i]);
	wt_jout_close(j, ']');
	wt_jout_open(j, "communicators", '[');
	for (uint32_t i = 0; i < p->ncomms; i++)
		comm_json(p, j, i);
	wt_jout_close(j, ']');
	wt_jout_open(j, "mismatches", '[');
	for (size_t i = 0; i < p->nmismatches; i++) {
		const struct wt_mismatch *m = &p->mismatches[i];

		wt_jout_open(j, NULL, '{');
		group_json(p, j, "communicator", m->comm);
		wt_jout_uint(j, "seq", m->seq);
		call_json(p, j, "a", m->a);
		call_json(p, j, "b", m->b);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	wt_jout_close(j, '}');
}

/* ---- text ---- */

static void suspect_text(const struct wt_progress *p, struct wt_strbuf *out,
			 const struct wt_suspect *s)
{
	wt_strbuf_addf(out, "rank %" PRId32 " ", s->rank);
	switch (s->why) {
	case WT_SUSPECT_NOT_FINISHED:
		wt_strbuf_addf(
			out, "called #%" PRId64 " and its device has not finished it, others have",
			s->seq);
		break;
	case WT_SUSPECT_NOT_CALLED:
		wt_strbuf_addf(out, "has not called #%" PRId64, s->seq);
		break;
	case WT_SUSPECT_UNPAIRED:
		wt_strbuf_adds(out, "has not posted the other side of a send or receive");
		break;
	case WT_SUSPECT_NO_DUMP:
		wt_strbuf_addf(out, "left no dump, and #%" PRId64 " waits", s->seq);
		break;
	default:
		wt_strbuf_adds(out, "waits and is waited for: a circle");
	}
	wt_strbuf_adds(out, " on ");
	group_name(p, s->comm, out);
	wt_strbuf_addf(out, " (%" PRIu32 " ranks, %" PRIu32 " waiting)", p->comms[s->comm].members,
		       s->waiting);
}

int wt_text_standstill(const struct wt_progress *p, struct wt_strbuf *out)
{
	if (p->nsuspects) {
		suspect_text(p, out, &p->suspects[0]);
		return 1;
	}
	for (uint32_t i = 0; i < p->ncomms; i++) {
		const struct wt_progress_comm *c = &p->comms[i];

		if (c->p2p || !c->everywhere || c->most_finished != c->least_finished)
			continue;
		wt_strbuf_addf(out, "all of %" PRIu32 " ranks called #%" PRId64 " on ", c->members,
			       c->least_finished + 1);
		group_name(p, i, out);
		wt_strbuf_adds(out, ", none has finished it");
		return 1;
	}
	return 0;
}

static void comm_text(const struct wt_progress *p, struct wt_strbuf *out, uint32_t i)
{
	const struct wt_progress_comm *c = &p->comms[i];

	wt_strbuf_adds(out, "  ");
	group_name(p, i, out);
	wt_strbuf_addf(out, " (%" PRIu32 " ranks", c->members);
	if (c->dumps < c->members)
		wt_strbuf_addf(out, ", %" PRIu32 " dumps", c->dumps);
	if (c->p2p)
		wt_strbuf_adds(out, "): sends and receives are not paired\n");
	else
		wt_strbuf_addf(out,
			       "): called #%" PRId64 " to #%" PRId64 ", finished #%" PRId64
			       " to #%" PRId64 "; %" PRIu64 " called by all, %" PRIu64
			       " by some only\n",
			       c->least_called, c->most_called, c->least_finished, c->most_finished,
			       c->everywhere, c->somewhere);
}

static void mismatch_text(const struct wt_progress *p, struct wt_strbuf *out,
			  const struct wt_mismatch *m)
{
	const struct wt_collective *a = &p->tl->collectives[m->a], *b = &p->tl->collectives[m->b];

	wt_strbuf_adds(out, "  different calls: ");
	group_name(p, m->comm, out);
	wt_strbuf_addf(out, " #%" PRIu64 ": rank %d ", m->seq, p->tl->processes[a->process].rank);
	wt_text_name(out, wt_timeline_string(p->tl, a->name), 60);
	wt_strbuf_addf(out, " of %" PRIu64 ", rank %d ", a->count,
		       p->tl->processes[b->process].rank);
	wt_text_name(out, wt_timeline_string(p->tl, b->name), 60);
	wt_strbuf_addf(out, " of %" PRIu64 "\n", b->count);
}

static void more(struct wt_strbuf *out, size_t n, size_t shown)
{
	if (n > shown)
		wt_strbuf_addf(out, "  and %zu more\n", n - shown);
}

void wt_progress_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_progress *p = r->progress;
	size_t uneven = 0;

	if (!p)
		return;
	wt_text_heading(r, out, "Where communication stands");
	wt_strbuf_addf(out, "  %s of %" PRIu32 " ranks", p->traces ? "traces" : "dumps", p->ranks);
	for (size_t i = 0; i < p->nmissing && i < MAX_ROWS; i++)
		wt_strbuf_addf(out, "%s%" PRId32, i ? ", " : "; none of rank ", p->missing[i]);
	more(out, p->nmissing, MAX_ROWS);
	wt_strbuf_addf(out, p->nsuspects ? "; suspect%s:\n" : "; no rank is behind others\n",
		       p->nsuspects == 1 ? "" : "s");
	for (size_t i = 0; i < p->nsuspects && i < MAX_ROWS; i++) {
		wt_strbuf_adds(out, "  ");
		suspect_text(p, out, &p->suspects[i]);
		wt_strbuf_addc(out, '\n');
	}
	more(out, p->nsuspects, MAX_ROWS);
	for (size_t i = 0; i < p->nmismatches && i < MAX_ROWS; i++)
		mismatch_text(p, out, &p->mismatches[i]);
	for (uint32_t i = 0; i < p->ncomms; i++)
		if (!p->comms[i].agrees && uneven++ < MAX_ROWS)
			comm_text(p, out, i);
	more(out, uneven, MAX_ROWS);
}
