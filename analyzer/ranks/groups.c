/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, with what became of their parts, and what each joins: by the words of its name where the framework
 * gave one, else by its members (consecutive ranks or a stride) and its operations. The second is a guess and says so.
 */
#define _GNU_SOURCE /* strcasestr */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

const char *const wt_group_names[WT_GROUP_KINDS] = {
	[WT_GROUP_UNKNOWN] = "unknown", [WT_GROUP_ALL] = "all ranks",
	[WT_GROUP_TENSOR] = "tensor",	[WT_GROUP_PIPELINE] = "pipeline",
	[WT_GROUP_DATA] = "data",	[WT_GROUP_EXPERT] = "expert",
	[WT_GROUP_CONTEXT] = "context",
};

/* The first word found decides: Megatron's names hold several (EXPERT_DATA_PARALLEL_GROUP is data's). */
static const struct {
	const char *word;
	int whole; /* the word by itself, not inside another */
	enum wt_group_kind kind;
} words[] = {
	{"expert_data", 0, WT_GROUP_DATA}, {"pipeline", 0, WT_GROUP_PIPELINE},
	{"pp", 1, WT_GROUP_PIPELINE},	   {"expert", 0, WT_GROUP_EXPERT},
	{"ep", 1, WT_GROUP_EXPERT},	   {"moe", 0, WT_GROUP_EXPERT},
	{"data", 0, WT_GROUP_DATA},	   {"dp", 1, WT_GROUP_DATA},
	{"fsdp", 0, WT_GROUP_DATA},	   {"tensor", 0, WT_GROUP_TENSOR},
	{"tp", 1, WT_GROUP_TENSOR},	   {"context", 0, WT_GROUP_CONTEXT},
	{"cp", 1, WT_GROUP_CONTEXT},	   {"sequence", 0, WT_GROUP_CONTEXT},
};

static enum wt_group_kind kind_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		for (const char *at = name; (at = strcasestr(at, words[i].word)); at++)
			if (!words[i].whole || ((at == name || !isalpha((unsigned char)at[-1])) &&
						!isalpha((unsigned char)at[n])))
				return words[i].kind;
	}
	return WT_GROUP_UNKNOWN;
}

/* What the members and operations of one communicator look like. */
struct look {
	int32_t low, high, stride; /* of the members' ranks; stride -1 = uneven */
	uint32_t members;
	uint64_t p2p, rings, all_to_alls;
	uint64_t peers; /* of p2p, with a known other side */
};

static enum wt_group_kind kind_by_look(const struct look *k, const struct wt_rank_comm *c,
				       uint32_t world)
{
	/* Sends to nobody knows whom can be any exchange. */
	if (k->p2p > c->ops / 2 && !k->peers)
		return WT_GROUP_UNKNOWN;
	if (k->p2p > c->ops / 2)
		return k->rings > k->p2p / 2 ? WT_GROUP_CONTEXT : WT_GROUP_PIPELINE;
	if (c->nranks && c->nranks == world)
		return WT_GROUP_ALL;
	if (k->all_to_alls > c->ops / 2)
		return WT_GROUP_EXPERT;
	if (k->members < 2 || k->stride < 1)
		return WT_GROUP_UNKNOWN;
	return k->stride == 1 ? WT_GROUP_TENSOR : WT_GROUP_DATA;
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static int cmp_double(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* The row of a part's communicator. UINT32_MAX when memory runs out. */
static uint32_t comm_for(struct wt_ranks *r, struct wt_map *rows, size_t *room, uint32_t part)
{
	const struct wt_part *p = &r->parts[part];
	int family = (p->flags & WT_PART_FAMILY) != 0;
	uint32_t name = family ? (uint32_t)(p->key >> 32) : r->tl->collectives[part].group;
	/* Families by name, whatever the anchor. */
	uint64_t key = family ? wt_mix64(name + 1ull) ^ 0x66616d696c79u : p->key;
	int isnew;
	uint32_t *at = wt_map_slot(rows, key, (uint32_t)r->ncomms, &isnew);

	if (!at)
		return UINT32_MAX;
	if (!isnew)
		return *at;
	if (r->ncomms == *room) {
		struct wt_rank_comm *comms =
			realloc(r->comms, (*room = *room * 2 + 16) * sizeof(*comms));

		if (!comms)
			return UINT32_MAX;
		r->comms = comms;
	}
	r->comms[r->ncomms] = (struct wt_rank_comm){.key = family ? 0 : p->key,
						    .name = name,
						    .first_seat = p->seat,
						    .family = (uint8_t)family,
						    .fallback = (p->flags & WT_PART_FALLBACK) != 0,
						    .start_skew_p50_ns = -1,
						    .start_skew_p95_ns = -1,
						    .end_skew_p50_ns = -1,
						    .end_skew_p95_ns = -1};
	return (uint32_t)r->ncomms++;
}

static void add_part(struct wt_rank_comm *c, const struct wt_part *p)
{
	c->nranks = p->nranks > c->nranks ? p->nranks : c->nranks;
	c->ops++;
	c->why[p->why]++;
	c->matched += !p->why;
	c->total_ns += wt_part_busy_ns(p);
	if (p->why || !wt_part_timed(p))
		return;
	c->wait_ns += p->wait_ns;
	c->transfer_ns += wt_part_busy_ns(p) - p->wait_ns;
	if (p->ideal_ns < 0)
		return;
	c->ideal_ns += p->ideal_ns;
	c->referred_ns += wt_part_busy_ns(p) - p->wait_ns;
}

/* Skews and imbalance of the instances of one kind of match; instances of a communicator lie together. */
static int add_instances(struct wt_ranks *r, const struct wt_matches *m)
{
	int64_t *starts = malloc((m->ninstances + 1) * sizeof(*starts));
	int64_t *ends = malloc((m->ninstances + 1) * sizeof(*ends));
	double *shares = malloc((m->ninstances + 1) * sizeof(*shares));
	int err = starts && ends && shares ? 0 : -WT_E_NOMEM;

	for (size_t i = 0, end; !err && i < m->ninstances; i = end) {
		uint32_t comm = r->comm_of[m->order[m->instances[i].first]];
		struct wt_rank_comm *c = &r->comms[comm];
		size_t nstarts = 0, nends = 0, nshares = 0;

		for (end = i;
		     end < m->ninstances && r->comm_of[m->order[m->instances[end].first]] == comm;
		     end++) {
			const struct wt_instance *x = &m->instances[end];
			int64_t longest_ns = 0, least_ns = INT64_MAX, first_ns = INT64_MAX,
				last_ns = INT64_MIN;
			uint64_t most = 0, sum = 0;
			int told = 1, timed = 0;

			for (uint32_t k = 0; k < x->n; k++) {
				const struct wt_part *p = &r->parts[m->order[x->first + k]];
				int64_t ns = p->end_ns - p->start_ns, at_ns;

				sum += p->bytes;
				most = p->bytes > most ? p->bytes : most;
				if (p->why || !wt_part_timed(p))
					continue;
				timed++;
				longest_ns = ns > longest_ns ? ns : longest_ns;
				least_ns = ns < least_ns ? ns : least_ns;
				told &= wt_ranks_comparable(r, c->first_seat, p->seat) &&
					r->clocks[r->seats[p->seat].process].state !=
						WT_CLOCK_FITTED;
				at_ns = told ? wt_ranks_on_clock(r, p->seat, p->end_ns,
								 c->first_seat)
					     : 0;
				first_ns = at_ns < first_ns ? at_ns : first_ns;
				last_ns = at_ns > last_ns ? at_ns : last_ns;
			}
			if (r->parts[m->order[x->first]].op == WT_COLL_ALL_TO_ALL && sum)
				shares[nshares++] = (double)most * x->n / (double)sum;
			if (timed < 2 || !wt_match_syncs(r->parts[m->order[x->first]].op))
				continue;
			starts[nstarts++] = longest_ns - least_ns;
			if (told)
				ends[nends++] = last_ns - first_ns;
		}
		if (nstarts) {
			qsort(starts, nstarts, sizeof(*starts), cmp_ns);
			c->start_skew_p50_ns = starts[(nstarts - 1) / 2];
			c->start_skew_p95_ns = starts[(nstarts - 1) * 95 / 100];
		}
		if (nends) {
			qsort(ends, nends, sizeof(*ends), cmp_ns);
			c->end_skew_p50_ns = ends[(nends - 1) / 2];
			c->end_skew_p95_ns = ends[(nends - 1) * 95 / 100];
		}
		if (nshares) {
			qsort(shares, nshares, sizeof(*shares), cmp_double);
			c->imbalance_p50 = shares[(nshares - 1) / 2];
			c->imbalance_max = shares[nshares - 1];
		}
	}
	free(starts);
	free(ends);
	free(shares);
	return err;
}

static void add_stops(struct wt_ranks *r)
{
	for (size_t i = 0; i < r->matches.ncomms; i++) {
		const struct wt_match_comm *m = &r->matches.comms[i];

		for (size_t k = 0; m->stopped && k < r->ncomms; k++) {
			if (r->comms[k].family || r->comms[k].key != m->key)
				continue;
			r->comms[k].stopped = m->stopped;
			r->comms[k].stopped_at = m->stopped_at;
		}
	}
}

/* Members by rank, and the kinds of operations. seen: comm << 32 | seat. */
static int set_kinds(struct wt_ranks *r)
{
	struct look *looks = calloc(r->ncomms + 1, sizeof(*looks));
	struct wt_map seen = {.count = 0};
	uint32_t world = 0;
	int err = looks ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_process *p = &r->tl->processes[i];

		world = p->world > 0 && (uint32_t)p->world > world ? (uint32_t)p->world : world;
	}
	for (size_t i = 0; !err && i < r->nparts; i++) {
		const struct wt_part *p = &r->parts[i];
		struct look *k = &looks[r->comm_of[i]];
		int32_t rank = r->seats[p->seat].rank;
		int isnew;

		k->p2p += p->op == WT_COLL_SEND || p->op == WT_COLL_RECV;
		k->peers += (p->op == WT_COLL_SEND || p->op == WT_COLL_RECV) &&
			    r->tl->collectives[i].peer >= 0;
		k->rings += (p->op == WT_COLL_SEND || p->op == WT_COLL_RECV) && p->leaf == WT_B3;
		k->all_to_alls += p->op == WT_COLL_ALL_TO_ALL;
		if (!wt_map_slot(&seen, (uint64_t)r->comm_of[i] << 32 | p->seat, 0, &isnew))
			err = -WT_E_NOMEM;
		else if (isnew)
			r->comms[r->comm_of[i]].seats++;
		if (err || !isnew || rank < 0)
			continue;
		/* Seats come in no order; a stride is what divides all distances from the first. */
		if (!k->members++)
			k->low = k->high = rank;
		for (int32_t a = k->stride, b = rank > k->low ? rank - k->low : k->low - rank; b;
		     k->stride = a) {
			int32_t t = a % b;

			a = b;
			b = t;
		}
		k->low = rank < k->low ? rank : k->low;
		k->high = rank > k->high ? rank : k->high;
	}
	for (size_t i = 0; !err && i < r->ncomms; i++) {
		struct wt_rank_comm *c = &r->comms[i];
		struct look *k = &looks[i];

		if (k->members > 1 && k->stride &&
		    (uint32_t)((k->high - k->low) / k->stride) + 1 != k->members)
			k->stride = -1;
		c->kind =
			(uint8_t)kind_by_name(c->family ? "" : wt_timeline_string(r->tl, c->name));
		c->kind_grade = c->kind ? 3 : 1;
		if (!c->kind && !c->family)
			c->kind = (uint8_t)kind_by_look(k, c, world);
	}
	wt_map_release(&seen);
	free(looks);
	return err;
}

int wt_ranks_groups(struct wt_ranks *r)
{
	struct wt_map rows = {.count = 0};
	size_t room = 0;
	int err = 0;

	r->comm_of = malloc((r->nparts + 1) * sizeof(*r->comm_of));
	if (!r->comm_of)
		return -WT_E_NOMEM;
	for (size_t i = 0; !err && i < r->nparts; i++) {
		r->comm_of[i] = comm_for(r, &rows, &room, (uint32_t)i);
		if (r->comm_of[i] == UINT32_MAX) {
			err = -WT_E_NOMEM;
			continue;
		}
		/* What rides on another one's kernels shares its fate. */
		if (i < r->tl->ncollectives && (size_t)r->tl->collectives[i].lead != i)
			r->parts[i].why = r->parts[r->tl->collectives[i].lead].why;
		add_part(&r->comms[r->comm_of[i]], &r->parts[i]);
	}
	wt_map_release(&rows);
	if (err)
		return err;
	add_stops(r);
	err = add_instances(r, &r->matches);
	err = err ? err : add_instances(r, &r->families);
	return err ? err : set_kinds(r);
}
