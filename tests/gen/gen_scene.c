/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_scene SEED wt|kineto RANK: one rank of the scene of that seed on standard output (wt -1: the neighbour);
 * gen_scene SEED truth: what its ledger must say, a line per rank and leaf: rank, leaf, ns in .wt, ns in Kineto, ns
 * that matching over the ranks adds or takes. To look at what test_scenes.c found.
 */
#include "gen/scene_out.h"

static const char *const leaf_keys[] = {
#define WT_LEAF(key_, name_, title_, rollup_, meaning_, remedy_) #key_,
#include "ledger/leaves.def"
#undef WT_LEAF
};

int main(int argc, char **argv)
{
	static struct gen_scene s;
	struct gen_telling how = {0};
	struct gen_bytes json = {0};
	struct wt_scene w;
	int rank = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;

	if (argc < 3) {
		fprintf(stderr, "usage: gen_scene SEED wt|kineto|truth [RANK]\n");
		return 2;
	}
	gen_scene_make(&s, strtoull(argv[1], NULL, 10));
	if (rank < -1 || rank >= s.nranks) {
		fprintf(stderr, "gen_scene: this scene has %d ranks\n", s.nranks);
		return 2;
	}
	if (!strcmp(argv[2], "wt") && rank < 0) {
		if (gen_wt_neighbour(&s, &w)) {
			fwrite(w.out, 1, w.n_out, stdout);
			free(w.out);
		}
	} else if (!strcmp(argv[2], "wt")) {
		gen_wt(&s, rank, &w);
		fwrite(w.out, 1, w.n_out, stdout);
		free(w.out);
	} else if (!strcmp(argv[2], "kineto")) {
		gen_kineto(&s, rank, &how, &json);
		fwrite(json.p, 1, json.n, stdout);
		free(json.p);
	}
	for (int i = 0; !strcmp(argv[2], "truth") && i < s.nranks; i++)
		for (int leaf = 0; leaf < WT_LEAVES; leaf++)
			if (s.rank[i].truth[GEN_WT][leaf] || s.rank[i].truth[GEN_KINETO][leaf] ||
			    s.rank[i].parted[leaf])
				printf("%d\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", i,
				       leaf_keys[leaf], s.rank[i].truth[GEN_WT][leaf],
				       s.rank[i].truth[GEN_KINETO][leaf], s.rank[i].parted[leaf]);
	return fflush(stdout) ? 1 : 0;
}
