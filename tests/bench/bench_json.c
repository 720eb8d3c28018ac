/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of reading Kineto JSON, in MB of text per second of CPU time: the scanner alone (everything skipped, grammar
 * checked), the whole import up to a finished timeline, and yajl (count only) beside them.
 *
 * usage: bench_json [FILE...]     default: the largest shared Kineto files
 *
 * "memory": the text was inflated before the clock started. "file": from the (compressed) file, page cache warm. The
 * best of several runs is printed, because the machines this runs on are shared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yajl/yajl_parse.h>

#include "base/source.h"
#include "import/import_kineto.h"
#include "import/json_scan.h"

#define RUNS 5

struct text {
	const char *path;
	char *bytes;
	size_t n;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *path, const char *what)
{
	fprintf(stderr, "bench_json: %s: %s\n", path, what);
	exit(1);
}

static struct text load(const char *path)
{
	struct text t = {.path = path};
	struct wt_source *src;
	struct wt_diag diag;
	size_t room = 1 << 20;
	long got;

	if (wt_source_open(&src, path, &diag))
		die(path, diag.text);
	t.bytes = malloc(room);
	while (t.bytes && (got = wt_source_read(src, t.bytes + t.n, room - t.n)) > 0) {
		t.n += (size_t)got;
		if (t.n == room)
			t.bytes = realloc(t.bytes, room *= 2);
	}
	if (!t.bytes || got < 0)
		die(path, "cannot be read");
	wt_source_close(src);
	return t;
}

static void scan(struct wt_source *src, const char *path)
{
	struct wt_json *js = wt_json_new(src, 0);

	if (!js || wt_json_skip(js) || wt_json_finish(js))
		die(path, js ? wt_json_diag(js)->text : "out of memory");
	wt_json_free(js);
}

static void import(struct wt_source *src, const char *path)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_diag diag;

	if (!b || wt_importer_kineto.read(src, b, wt_builder_input(b, path, "kineto"), &diag) ||
	    wt_builder_finish(b, &tl, &diag))
		die(path, diag.text);
	wt_timeline_free(tl);
}

static void scan_memory(const struct text *t)
{
	struct wt_source *src;

	if (wt_source_open_memory(&src, t->bytes, t->n))
		die(t->path, "out of memory");
	scan(src, t->path);
	wt_source_close(src);
}

static void import_memory(const struct text *t)
{
	struct wt_source *src;

	if (wt_source_open_memory(&src, t->bytes, t->n))
		die(t->path, "out of memory");
	import(src, t->path);
	wt_source_close(src);
}

static void inflate_file(const struct text *t)
{
	static char buf[256 << 10];
	struct wt_source *src;

	if (wt_source_open(&src, t->path, NULL))
		die(t->path, "cannot be opened");
	while (wt_source_read(src, buf, sizeof(buf)) > 0)
		;
	wt_source_close(src);
}

static void import_file(const struct text *t)
{
	struct wt_source *src;

	if (wt_source_open(&src, t->path, NULL))
		die(t->path, "cannot be opened");
	import(src, t->path);
	wt_source_close(src);
}

static void yajl(const struct text *t)
{
	static const yajl_callbacks none;
	yajl_handle h = yajl_alloc(&none, NULL, NULL);
	size_t at = 0;

	if (!h)
		die(t->path, "out of memory");
	yajl_config(h, yajl_dont_validate_strings, 1);
	while (at < t->n) {
		size_t n = t->n - at < 65536 ? t->n - at : 65536;

		if (yajl_parse(h, (const unsigned char *)t->bytes + at, n) != yajl_status_ok)
			die(t->path, "yajl refuses it");
		at += n;
	}
	if (yajl_complete_parse(h) != yajl_status_ok)
		die(t->path, "yajl refuses it");
	yajl_free(h);
}

static double rate(const struct text *t, void (*fn)(const struct text *))
{
	double best = 1e9;

	for (int i = 0; i < RUNS; i++) {
		double start = now_s(), took;

		fn(t);
		took = now_s() - start;
		best = took < best ? took : best;
	}
	return (double)t->n / 1e6 / best;
}

int main(int argc, char **argv)
{
	static char *usual[] = {"", "k011", "k012", "k026", "k032", "k046", NULL};
	int shared = argc < 2;

	if (shared)
		argv = usual;
	printf("%-40s %8s %10s %12s %12s %12s %8s\n", "MB/s of JSON text", "MB", "scan,mem",
	       "import,mem", "inflate,file", "import,file", "yajl");
	for (char **arg = argv + 1; *arg; arg++) {
		char path[512];
		struct text t;
		FILE *f;

		snprintf(path, sizeof(path), shared ? "../shared/traces/kineto/%s.json.gz" : "%s",
			 *arg);
		f = fopen(path, "rb");
		if (!f && shared) {
			printf("%s: not here, left out\n", path);
			continue;
		}
		if (f)
			fclose(f);
		t = load(path);
		printf("%-40s %8.1f %10.0f %12.0f %12.0f %12.0f %8.0f\n", path, (double)t.n / 1e6,
		       rate(&t, scan_memory), rate(&t, import_memory), rate(&t, inflate_file),
		       rate(&t, import_file), rate(&t, yajl));
		free(t.bytes);
	}
	return 0;
}
