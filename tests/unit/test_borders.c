/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion, nanosecond by nanosecond and without a sort, a heap or an index. First: whose each busy nanosecond
 * is, on scenes of scene.h. Then: the borders between host time (D8), launch latency (D9), gaps between queued kernels
 * (D10), waits inside a graph (D11) and what is unresolved (D14), on random timelines full of borders, written from the
 * rules of the leaves alone:
 *
 *   a gap [s, e) ends with O, of the operations that start at e (of no length too) the one launched first, at a0
 *   before a0: the host's
 *   a0 > s   latency up to the cap, from a0; then, for a later node of a graph, D11, else unresolved
 *   a0 <= s  D10 if e - s <= 5 us; a later node of a graph D11; else latency up to a0 + cap, then unresolved
 *   no launch of O known: unresolved
 *   cap = max(20 us, 4 x the median of e - a0 over gaps with s < a0 < e)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gen/scene_out.h"
#include "import/import_kineto.h"
#include "timeline/builder.h"

#ifdef __SANITIZE_ADDRESS__
#define SCENES 20
#define ROUNDS 100
#else
#define SCENES 100
#define ROUNDS 1000
#endif
#define LONGEST_NS 8000000

/* ---- whose nanosecond ---- */

/* Whether o comes before p where both are there. */
static int owns(const struct gen_op *o, const struct gen_op *p)
{
	int a = gen_kinds[o->kind].state, b = gen_kinds[p->kind].state;

	if (a != b)
		return a < b;
	if (o->small != p->small && a == GEN_COMPUTE)
		return !o->small;
	if (o->start != p->start)
		return o->start < p->start;
	return o->stream < p->stream;
}

static enum wt_leaf leaf_of(const struct gen_rank *r, const struct gen_op *o)
{
	for (int i = 0; i < r->ncalls; i++) {
		const struct gen_call *c = &r->calls[i];

		if (c->correlation != o->correlation || c->kind != GEN_COPY_CALL)
			continue;
		for (int k = 0; k < r->nranges; k++) {
			const struct gen_range *g = &r->ranges[k];

			if (g->thread != c->thread || c->start < g->start || c->start >= g->end)
				continue;
			if (g->name == GEN_RANGES - 1)
				return WT_C6;
			if (g->name == 0 && gen_kinds[o->kind].copy_kind == WT_COPY_H2D)
				return WT_C1;
		}
	}
	return gen_leaf(o->kind, o->end - o->start);
}

static struct wt_ledger *ledger_of(const struct gen_scene *s, struct wt_timeline **ret_tl)
{
	static struct gen_bytes json;
	struct wt_builder *b = wt_builder_new();
	struct wt_ledger *l = NULL;
	struct wt_source *src;

	json.n = 0;
	gen_kineto(s, 0, &(struct gen_telling){0}, &json);
	assert_int_equal(wt_source_open_memory(&src, json.p, json.n), 0);
	assert_int_equal(
		wt_importer_kineto.read(src, b, wt_builder_input(b, "scene", "kineto"), NULL), 0);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, ret_tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&l, *ret_tl, NULL), 0);
	return l;
}

static void whose(void **state)
{
	static struct gen_scene s;
	static const struct gen_op *owner[LONGEST_NS];
	static uint8_t mask[LONGEST_NS];
	int seen = 0;

	for (uint64_t seed = 1; seen < SCENES; seed++) {
		int64_t busy[WT_LEAVES] = {0}, masks[1 << WT_STATES] = {0}, first;
		const struct gen_rank *r = &s.rank[0];
		struct wt_timeline *tl;
		struct wt_ledger *l;

		gen_scene_make(&s, seed);
		first = r->ops[0].start;
		if (s.nranks > 1 || r->t - first > LONGEST_NS)
			continue;
		seen++;
		memset(owner, 0, sizeof(owner[0]) * (size_t)(r->t - first));
		memset(mask, 0, (size_t)(r->t - first));
		for (int i = 0; i < r->nops; i++) {
			const struct gen_op *o = &r->ops[i];

			for (int64_t t = o->start - first; t < o->end - first; t++) {
				mask[t] |= (uint8_t)(1u << gen_kinds[o->kind].state);
				if (!owner[t] || owns(o, owner[t]))
					owner[t] = o;
			}
		}
		for (int64_t t = 0; t < r->t - first; t++) {
			masks[mask[t]]++;
			if (owner[t] && (!t || owner[t] != owner[t - 1])) {
				int64_t to = t;

				while (to < r->t - first && owner[to] == owner[t])
					to++;
				busy[leaf_of(r, owner[t])] += to - t;
			}
		}
		l = ledger_of(&s, &tl);
		assert_int_equal(l->ndevices, 1);
		for (int m = 0; m < 1 << WT_STATES; m++)
			assert_int_equal(l->devices[0].account.mask_ns[m], masks[m]);
		for (int k = WT_A1; k < WT_D1; k++)
			assert_int_equal(l->devices[0].account.leaves_ns[k], busy[k]);
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
}

/* ---- borders ---- */

#define MOST 40

struct job {
	struct {
		int64_t start, end, launch; /* launch: of its call; -1 = not recorded */
		int graph;		    /* number of its graph; 0 = none */
	} op[MOST];
	int n;
};

static struct gen_scene dice;
static int64_t in(int64_t lo, int64_t hi)
{
	return gen_in(&dice, lo, hi);
}

static int64_t pick(const int64_t *of, int64_t n)
{
	return of[in(0, n - 1)];
}

static void random_job(struct job *j)
{
	static const int64_t gaps[] = {0,     0,     1,	    4999,  5000,  5001,
				       12000, 19999, 20000, 20001, 30000, 70000};
	static const int64_t before[] = {1, 2000, 5000, 19999, 20000, 20001, 26000, 40000, 90000};
	int64_t reach = 1000000;
	int graph = 0;

	memset(j, 0, sizeof(*j));
	j->n = (int)in(2, MOST);
	for (int i = 0; i < j->n; i++) {
		int64_t start = reach + pick(gaps, 12) + (in(0, 3) ? 0 : in(0, 9000)),
			d = in(0, 30) ? in(1, 9000) : 0;

		if (i && !in(0, 4)) /* beside the one before */
			start = in(0, 1) ? j->op[i - 1].start : in(j->op[i - 1].start, reach);
		j->op[i].start = start;
		j->op[i].end = start + d;
		j->op[i].launch = start - (in(0, 2) ? pick(before, 9) : in(1, 60000));
		if (!in(0, 3) && reach < start) /* exactly at the drain, or beside it */
			j->op[i].launch = reach + in(-1, 1) - (reach + 1 >= start);
		if (!in(0, 11))
			j->op[i].launch = -1;
		if (i && j->op[i - 1].launch >= 0 && j->op[i - 1].launch < start && !in(0, 5)) {
			if (!j->op[i - 1].graph)
				j->op[i - 1].graph = ++graph;
			j->op[i].graph = j->op[i - 1].graph;
			j->op[i].launch = j->op[i - 1].launch;
		}
		reach = j->op[i].end > reach ? j->op[i].end : reach;
	}
}

static struct wt_ledger *ledger_of_job(const struct job *j, struct wt_timeline **ret_tl)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	struct wt_ledger *l = NULL;

	for (int i = 0; i < j->n; i++) {
		int graph = j->op[i].graph;
		struct wt_op op = {.start_ns = j->op[i].start,
				   .end_ns = j->op[i].end,
				   .correlation = (uint64_t)(graph ? 1000 + graph : i + 1),
				   .kind = WT_OP_KERNEL,
				   .flags = graph ? WT_OP_GRAPH_NODE : 0,
				   .call = -1,
				   .collective = -1,
				   .device = d,
				   .process = p,
				   .name = wt_builder_cstring(b, "nobody_knows_me"),
				   .stream = wt_builder_stream(b, p, d, 7 + i % 3)};
		struct wt_call call = {.start_ns = j->op[i].launch,
				       .end_ns = j->op[i].launch + 1,
				       .correlation = op.correlation,
				       .thread = wt_builder_thread(b, p, 10 + i % 2),
				       .stream = UINT32_MAX,
				       .parent = -1,
				       .process = p,
				       .kind = graph ? WT_CALL_GRAPH_LAUNCH : WT_CALL_LAUNCH};

		wt_builder_op(b, &op);
		if (j->op[i].launch >= 0 && (!graph || i == 0 || j->op[i - 1].graph != graph))
			wt_builder_call(b, &call);
	}
	assert_int_equal(wt_builder_finish(b, ret_tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&l, *ret_tl, NULL), 0);
	return l;
}

/* The operation that ends a gap at e; -1 = none of them has a launch. */
static int ender(const struct job *j, int64_t e)
{
	int best = -1;

	for (int i = 0; i < j->n; i++)
		if (j->op[i].start == e && j->op[i].launch >= 0 &&
		    (best < 0 || j->op[i].launch < j->op[best].launch))
			best = i;
	return best;
}

static int later_node(const struct job *j, int o)
{
	for (int i = 0; i < j->n; i++)
		if (j->op[o].graph && j->op[i].graph == j->op[o].graph &&
		    j->op[i].start < j->op[o].start)
			return 1;
	return 0;
}

/* Of the nanosecond t of a gap [s, e) that o ends; waits: o is a later node of its graph. */
static enum wt_leaf idle_leaf(const struct job *j, int o, int waits, const int64_t gap[2],
			      int64_t t, int64_t cap)
{
	int64_t a0 = o < 0 ? 0 : j->op[o].launch;

	if (o < 0)
		return WT_D14;
	if (t < a0)
		return WT_D8;
	if (a0 <= gap[0] && gap[1] - gap[0] <= 5000)
		return WT_D10;
	if (waits)
		return WT_D11;
	return t < a0 + cap ? WT_D9 : WT_D14;
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

/* All gaps, in order. An operation of no length owns no time, but it ends a gap. */
static int gaps_of(const struct job *j, int64_t ret[MOST][2])
{
	static uint8_t busy[LONGEST_NS];
	int64_t first = INT64_MAX, last = 0, from = -1;
	int n = 0;

	for (int i = 0; i < j->n; i++) {
		first = j->op[i].start < first ? j->op[i].start : first;
		last = j->op[i].end > last ? j->op[i].end : last;
	}
	gen_must(last - first < LONGEST_NS, "the job is too long");
	memset(busy, 0, (size_t)(last - first + 1));
	for (int i = 0; i < j->n; i++) {
		memset(busy + j->op[i].start - first, 1, (size_t)(j->op[i].end - j->op[i].start));
		busy[j->op[i].start - first] |= 2; /* something starts */
	}
	for (int64_t t = first; t <= last; t++) {
		int starts = busy[t - first] & 2, is_busy = t == last || busy[t - first] & 1;

		if (from >= 0 && from < t && (is_busy || starts)) {
			ret[n][0] = from;
			ret[n++][1] = t;
			from = -1;
		}
		if (from < 0 && !is_busy)
			from = t;
	}
	return n;
}

static void borders(void **state)
{
	static const enum wt_leaf judged[] = {WT_D8, WT_D9, WT_D10, WT_D11, WT_D14};
	int64_t reached[WT_LEAVES] = {0};

	dice.state = 42;
	for (int round = 0; round < ROUNDS; round++) {
		int64_t gap[MOST][2], delay[MOST], want[WT_LEAVES] = {0}, cap = 20000;
		struct wt_timeline *tl;
		struct wt_ledger *l;
		struct job j;
		int n, delays = 0;

		random_job(&j);
		n = gaps_of(&j, gap);
		for (int i = 0; i < n; i++) {
			int o = ender(&j, gap[i][1]);

			if (o >= 0 && j.op[o].launch > gap[i][0])
				delay[delays++] = gap[i][1] - j.op[o].launch;
		}
		qsort(delay, (size_t)delays, sizeof(*delay), cmp_ns);
		if (delays && 4 * delay[(delays - 1) / 2] > cap)
			cap = 4 * delay[(delays - 1) / 2];
		for (int i = 0; i < n; i++) {
			int o = ender(&j, gap[i][1]), waits = o >= 0 && later_node(&j, o);

			for (int64_t t = gap[i][0]; t < gap[i][1]; t++)
				want[idle_leaf(&j, o, waits, gap[i], t, cap)]++;
		}
		l = ledger_of_job(&j, &tl);
		if (!l->ndevices || l->devices[0].w0_ns == l->devices[0].w1_ns) {
			wt_ledger_free(l);
			wt_timeline_free(tl);
			continue;
		}
		assert_int_equal(l->devices[0].launch_cap_ns, cap);
		for (size_t k = 0; k < sizeof(judged) / sizeof(judged[0]); k++) {
			int64_t got = l->devices[0].account.leaves_ns[judged[k]];

			if (got != want[judged[k]])
				print_message("round %d: %s is %lld ns, %lld by the rules\n", round,
					      wt_leaves[judged[k]].key, (long long)got,
					      (long long)want[judged[k]]);
			assert_int_equal(got, want[judged[k]]);
			reached[judged[k]] += got;
		}
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
	for (size_t k = 0; k < sizeof(judged) / sizeof(judged[0]); k++)
		assert_true(reached[judged[k]] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose),
		cmocka_unit_test(borders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
