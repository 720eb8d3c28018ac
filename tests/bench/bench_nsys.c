/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of reading an Nsight Systems database, in rows per second on one core: the import, and up to a finished
 * timeline. The rows are those of the tables that are read. The best of several runs is printed, because the machines
 * this runs on are shared; the page cache is warm.
 *
 * usage: bench_nsys FILE...     files of some size are made by tests/gen/gen_nsys.py --kernels 400000
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

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(const char *path, double best[2], uint64_t *ret_rows)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_diag diag;
	double t0 = now_s(), t1, t2;

	if (!b || wt_import_file(path, b, &diag)) {
		fprintf(stderr, "bench_nsys: %s: %s\n", path, b ? diag.text : "out of memory");
		exit(1);
	}
	t1 = now_s();
	if (wt_builder_finish(b, &tl, &diag)) {
		fprintf(stderr, "bench_nsys: %s: %s\n", path, diag.text);
		exit(1);
	}
	t2 = now_s();
	*ret_rows = tl->nops + tl->ncalls + tl->nranges;
	best[0] = !best[0] || t1 - t0 < best[0] ? t1 - t0 : best[0];
	best[1] = !best[1] || t2 - t0 < best[1] ? t2 - t0 : best[1];
	wt_timeline_free(tl);
}

int main(int argc, char **argv)
{
	struct rusage u;

	for (int i = 1; i < argc; i++) {
		double best[2] = {0, 0};
		uint64_t rows = 0;

		for (int n = 0; n < RUNS; n++)
			run(argv[i], best, &rows);
		getrusage(RUSAGE_SELF, &u);
		printf("%s: %llu rows kept; import %.2f M rows/s, with the finished timeline %.2f "
		       "M rows/s; %ld MiB\n",
		       argv[i], (unsigned long long)rows, (double)rows / best[0] / 1e6,
		       (double)rows / best[1] / 1e6, u.ru_maxrss / 1024);
	}
	return 0;
}
