/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of reading XPlane files: events a second on one core, from the file (page cache warm) to a finished timeline.
 * Rows of the timeline are counted, which are fewer than the file's events (derived lines, Python frames).
 *
 * usage: bench_xplane FILE...     the best of five runs is printed, because the machines this runs on are shared
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "import/importer.h"

#define RUNS 5

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double run(const char *path, double *ret_read_s, size_t *ret_rows)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_diag diag = {.offset = -1};
	struct wt_timeline *tl = NULL;
	double start = now_s(), read;

	if (!b || wt_import_file(path, b, &diag)) {
		fprintf(stderr, "bench_xplane: %s: %s\n", path, diag.text);
		exit(1);
	}
	read = now_s();
	if (wt_builder_finish(b, &tl, &diag)) {
		fprintf(stderr, "bench_xplane: %s: %s\n", path, diag.text);
		exit(1);
	}
	*ret_read_s = read - start;
	*ret_rows = tl->nops + tl->ncalls + tl->nranges;
	start = now_s() - start;
	wt_timeline_free(tl);
	return start;
}

int main(int argc, char **argv)
{
	struct rusage use;

	for (int i = 1; i < argc; i++) {
		double best = 0, read = 0;
		size_t rows = 0;

		for (int k = 0; k < RUNS; k++) {
			double read_s, s = run(argv[i], &read_s, &rows);

			if (!k || s < best) {
				best = s;
				read = read_s;
			}
		}
		printf("%-40s %9zu rows %8.3f s  %6.2f M rows/s (reading alone %.2f)\n", argv[i],
		       rows, best, (double)rows / best / 1e6, (double)rows / read / 1e6);
	}
	getrusage(RUSAGE_SELF, &use);
	printf("peak memory %.0f MiB\n", (double)use.ru_maxrss / 1024);
	return 0;
}
