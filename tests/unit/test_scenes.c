/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger against scenes whose ledger is known (tests/gen/scene.h), in both formats, from bytes to leaves: closing
 * sums, every leaf, and that the order of events, the names of streams and the origin of time decide nothing. A scene
 * that fails says its seed: build/tests/gen/gen_scene SEED truth.
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
#include "ranks/ranks.h"
#include "timeline/builder.h"

#ifdef __SANITIZE_ADDRESS__
#define SCENES 300 /* the plain build goes through all of them */
#else
#define SCENES 2000
#endif

extern const struct wt_importer wt_importer_warptap;

struct seen {
	struct wt_timeline *tl;
	struct wt_ledger *l;
};

static void read_into(struct wt_builder *b, const struct wt_importer *imp, const void *p, size_t n)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_source *src;

	assert_int_equal(wt_source_open_memory(&src, p, n), 0);
	assert_int_equal(imp->read(src, b, wt_builder_input(b, "scene", imp->name), &diag), 0);
	wt_source_close(src);
}

static struct seen look(const struct gen_scene *s, enum gen_format format,
			const struct gen_telling *how)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_diag diag = {.offset = -1};
	static struct gen_bytes json;
	struct seen seen;

	for (int i = 0; i < s->nranks; i++) {
		struct wt_scene w;

		if (format == GEN_WT) {
			gen_wt(s, how->shuffle ? s->nranks - 1 - i : i, &w);
			read_into(b, &wt_importer_warptap, w.out, w.n_out);
			free(w.out);
			continue;
		}
		json.n = 0;
		gen_kineto(s, i, how, &json);
		read_into(b, &wt_importer_kineto, json.p, json.n);
	}
	if (format == GEN_WT) {
		struct wt_scene w;

		if (gen_wt_neighbour(s, &w)) {
			read_into(b, &wt_importer_warptap, w.out, w.n_out);
			free(w.out);
		}
	}
	assert_int_equal(wt_builder_finish(b, &seen.tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&seen.l, seen.tl, &diag), 0);
	return seen;
}

static void leave(struct seen *seen)
{
	wt_ledger_free(seen->l);
	wt_timeline_free(seen->tl);
}

/* From a device's first to its last slice: the window without what lies outside the records. */
static struct wt_account inner(const struct wt_ledger_device *d)
{
	struct wt_account a;

	assert_true(d->slices.n > 0);
	assert_int_equal(wt_account_window(&d->slices, wt_slices_at(&d->slices, 0)->start_ns,
					   wt_slices_at(&d->slices, d->slices.n - 1)->end_ns, &a),
			 0);
	return a;
}

static int is_comm(int leaf)
{
	return leaf >= WT_B1 && leaf <= WT_B5;
}

/* parted: matched over the ranks, B5 is B1 to B4, and holes of the pipeline are D12; nothing else moves. */
static int judge_rank(const struct gen_scene *s, const struct wt_account *a, int rank,
		      enum gen_format format, int parted)
{
	const struct gen_rank *r = &s->rank[rank];
	int64_t comm_ns = 0, window_ns = 0;
	int wrong = 0;

	for (int i = 0; i < WT_LEAVES; i++) {
		int64_t truth_ns = r->truth[format][i];

		window_ns += truth_ns;
		comm_ns += is_comm(i) ? a->leaves_ns[i] - truth_ns : 0;
		if (is_comm(i) && !parted)
			continue;
		if (parted)
			truth_ns = i == WT_B5 ? 0 : truth_ns + r->parted[i];
		if (a->leaves_ns[i] == truth_ns)
			continue;
		wrong = 1;
		print_message("seed %llu %s rank %d: %s is %lld ns, the truth is %lld\n",
			      (unsigned long long)s->seed, format == GEN_WT ? ".wt" : "Kineto",
			      rank, wt_leaves[i].key, (long long)a->leaves_ns[i],
			      (long long)truth_ns);
	}
	if (comm_ns || window_ns != a->window_ns) {
		wrong = 1;
		print_message("seed %llu %s rank %d: communication is off by %lld ns, the window "
			      "by %lld\n",
			      (unsigned long long)s->seed, format == GEN_WT ? ".wt" : "Kineto",
			      rank, (long long)comm_ns, (long long)(a->window_ns - window_ns));
	}
	return wrong;
}

static int judge(const struct gen_scene *s, const struct seen *seen, enum gen_format format)
{
	int wrong = seen->l->ndevices != (size_t)s->nranks;

	for (int i = 0; !wrong && i < s->nranks; i++) {
		const struct wt_ledger_device *d = &seen->l->devices[i];
		struct wt_account a = inner(d);

		wrong |= judge_rank(s, &a, i, format, 0);
		/* What is left of the window lies outside the records. */
		if (s->nranks == 1 &&
		    d->account.leaves_ns[WT_E5] != d->account.window_ns - a.window_ns)
			wrong = 1;
		if (format == GEN_WT && s->nranks == 1 &&
		    d->account.window_ns != gen_end_of(&s->rank[0]) - GEN_BEGIN_NS)
			wrong = 1;
	}
	return wrong;
}

static int judge_waits(const struct gen_scene *s, struct seen *seen, enum gen_format format)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_ranks *ranks;
	int wrong = 0;

	assert_int_equal(wt_ranks_build(&ranks, seen->l, &diag), 0);
	for (int i = 0; i < s->nranks; i++) {
		struct wt_account a = inner(&seen->l->devices[i]);

		wrong |= judge_rank(s, &a, i, format, 1);
	}
	wt_ranks_free(ranks);
	return wrong;
}

static void leaves_are_as_built(void **state)
{
	static struct gen_scene s;
	int wrong = 0;

	for (uint64_t seed = 1; seed <= SCENES; seed++) {
		gen_scene_make(&s, seed);
		for (int f = 0; f < GEN_FORMATS; f++) {
			struct seen seen = look(&s, (enum gen_format)f, &(struct gen_telling){0});

			wrong += judge(&s, &seen, (enum gen_format)f);
			wrong += s.nranks > 1 && judge_waits(&s, &seen, (enum gen_format)f);
			leave(&seen);
		}
		if (wrong > 5)
			break;
	}
	assert_int_equal(wrong, 0);
}

static void telling_decides_nothing(void **state)
{
	static struct gen_scene s;
	int wrong = 0;

	for (uint64_t seed = 1; seed <= SCENES && wrong < 5; seed++) {
		struct gen_telling how = {
			.shift_ns = (int64_t)(seed * 86400123456789 % 200000000000000000),
			.shuffle = seed % 3 != 0,
			.rename = seed % 2};
		struct seen seen;

		gen_scene_make(&s, seed);
		seen = look(&s, GEN_KINETO, &how);
		wrong += judge(&s, &seen, GEN_KINETO);
		leave(&seen);
	}
	assert_int_equal(wrong, 0);
}

/* A .wt tells its rows in an order of its own; what may differ is when it was recorded and which file is read first. */
static void move(struct gen_rank *r, int64_t ns)
{
	for (int i = 0; i < r->nops; i++) {
		r->ops[i].start += ns;
		r->ops[i].end += ns;
	}
	for (int i = 0; i < r->ncalls; i++) {
		r->calls[i].start += ns;
		r->calls[i].end += ns;
	}
	for (int i = 0; i < r->nranges; i++) {
		r->ranges[i].start += ns;
		r->ranges[i].end += ns;
	}
	for (size_t i = 0; i < sizeof(r->h) / sizeof(r->h[0]); i++)
		r->h[i] += ns;
	r->t += ns;
}

static void recorded_later(void **state)
{
	static struct gen_scene s;
	int wrong = 0;

	for (uint64_t seed = 1; seed <= SCENES && wrong < 5; seed++) {
		int64_t later_ns = (int64_t)(seed * 7919317 % 3000000000) & ~INT64_C(1);
		struct seen seen;

		gen_scene_make(&s, seed);
		for (int i = 0; i < s.nranks; i++)
			move(&s.rank[i], later_ns);
		move(&s.neighbour, later_ns);
		seen = look(&s, GEN_WT, &(struct gen_telling){.shuffle = 1});
		wrong += judge(&s, &seen, GEN_WT);
		wrong += s.nranks > 1 && judge_waits(&s, &seen, GEN_WT);
		leave(&seen);
	}
	assert_int_equal(wrong, 0);
}

static void windows_add(void **state)
{
	static struct gen_scene s;

	for (uint64_t seed = 1; seed <= SCENES; seed += 10) {
		struct seen seen;

		gen_scene_make(&s, seed);
		seen = look(&s, seed % 20 == 1 ? GEN_WT : GEN_KINETO, &(struct gen_telling){0});
		for (size_t k = 0; k < seen.l->ndevices; k++) {
			const struct wt_ledger_device *d = &seen.l->devices[k];
			int64_t at = d->w0_ns;
			struct wt_account sum = {0}, a;

			while (at < d->w1_ns) {
				int64_t to = at + 1 +
					     (int64_t)(gen_u32(&s) %
						       (uint64_t)((d->w1_ns - d->w0_ns) / 3 + 1));

				to = to > d->w1_ns ? d->w1_ns : to;
				assert_int_equal(wt_account_window(&d->slices, at, to, &a), 0);
				for (size_t i = 0; i < sizeof(a) / sizeof(int64_t); i++)
					((int64_t *)&sum)[i] += ((int64_t *)&a)[i];
				at = to;
			}
			_Static_assert(sizeof(a) % sizeof(int64_t) == 0,
				       "an account is numbers of ns only");
			assert_memory_equal(&sum, &d->account, sizeof(sum));
		}
		leave(&seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_are_as_built),
		cmocka_unit_test(telling_decides_nothing),
		cmocka_unit_test(recorded_later),
		cmocka_unit_test(windows_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
