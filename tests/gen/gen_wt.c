/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_wt NAME: writes the trace of that name to standard output, the same packets every time. The golden file and the
 * fuzz seeds were made by it; tests make their own good and bad files with it.
 */
#include "gen/wt_scene.h"

static const struct {
	const char *name;
	struct wt_scene scene;
} scenes[] = {
	{"basic",
	 {.steps = 6, .kernels = 16, .graphs = 1, .threads = 1, .collectives = 1, .rank = 0}},
	{"every",
	 {.steps = 3,
	  .kernels = 8,
	  .graphs = 1,
	  .threads = 1,
	  .collectives = 1,
	  .every = 1,
	  .rank = 0}},
	{"tiny", {.steps = 1, .kernels = 2, .rank = -1}},
	{"lossy",
	 {.steps = 40, .kernels = 16, .graphs = 1, .lose_from = 300, .lose_to = 402, .rank = -1}},
	{"marks", {.steps = 3, .kernels = 4, .marks = 1, .rank = -1}},
	{"no-api", {.steps = 6, .kernels = 16, .threads = 1, .no_api = 1, .rank = -1}},
	{"no-device", {.steps = 6, .kernels = 16, .no_device = 1, .rank = -1}},
	{"killed", {.steps = 8, .kernels = 16, .cut = 1, .no_sync = 1, .in_flight = 3, .rank = -1}},
	{"clock-step", {.steps = 6, .kernels = 16, .step_clock = 1, .rank = -1}},
	{"many", {.steps = 400, .kernels = 64, .threads = 1, .collectives = 1, .rank = 1}},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		struct wt_scene s = scenes[i].scene;

		if (strcmp(argv[1], scenes[i].name))
			continue;
		wt_scene_make(&s);
		wt_scene_write(&s);
		fwrite(s.out, 1, s.n_out, stdout);
		wt_scene_release(&s);
		return fflush(stdout) ? 1 : 0;
	}
	fprintf(stderr, "usage: gen_wt NAME, one of:");
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		fprintf(stderr, " %s", scenes[i].name);
	fprintf(stderr, "\n");
	return 2;
}
