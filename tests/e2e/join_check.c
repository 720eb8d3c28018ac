/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the join of host and device records against the simulator's truth: every device operation of every trace in a
 * directory must be in the truth with the same times, and must hang on the host call that really submitted it (same
 * thread, and the true submit stamp inside the call). The analyzer joins by order and never looks at time, so time is
 * an independent judge here.
 *
 * usage: join_check DIR [allowed unjoined [allowed late]]      prints "N operations, N joined, 0 wrong"; exit 1 if any
 * is wrong. A call that was under way when a window opened is in no row, but what it submitted may be in a record: so
 * many of them are allowed, if none of the rows is of the call that submitted it, and the reader says so in a note.
 * JOIN_DUMP=FILE lists what arrived: pid, correlation, start, one operation a line.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"

#define CLOCK_SLACK_NS                                                                             \
	2000 /* host stamps are converted from TSC ticks: tens of ns; the rest is the sim's own stamp */

struct row {
	uint32_t correlation, tid, stream;
	int64_t submit_ns, start_ns, end_ns;
	char kind[12];
	char name[200];
	int used;
};

static struct row *rows;
static FILE *dump;
static size_t nrows, wrong, joined, total, complaints, late_calls, late_ops;
static uint64_t late[64]; /* correlations */

static int by_correlation(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Columns by name: the truth's first line names them. */
static int column(char **names, int n, const char *want)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], want))
			return i;
	fprintf(stderr, "truth has no column %s\n", want);
	exit(2);
}

static int split(char *line, char **cell, int max, const char *sep)
{
	int n = 0;

	line[strcspn(line, "\r\n")] = 0;
	for (char *p = line; p && n < max;) {
		cell[n++] = strsep(&p, sep);
	}
	return n;
}

static void load_truth(const char *path)
{
	static char head[4096], line[65536];
	char *names[32], *cell[32];
	FILE *f = fopen(path, "r");
	size_t room = 0;

	nrows = 0;
	if (!f || !fgets(head, sizeof(head), f)) {
		fprintf(stderr, "no truth: %s\n", path);
		exit(2);
	}
	char *h = head + strspn(head, "# ");
	int nnames = split(h, names, 32, strchr(h, '\t') ? "\t" : " ");
	int c_row = column(names, nnames, "row"), c_kind = column(names, nnames, "kind");
	int c_stream = column(names, nnames, "stream"),
	    c_corr = column(names, nnames, "correlation");
	int c_submit = column(names, nnames, "submit_ns"),
	    c_start = column(names, nnames, "start_ns");
	int c_end = column(names, nnames, "end_ns"), c_tid = column(names, nnames, "tid");
	int c_name = column(names, nnames, "name");

	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		int n = split(line, cell, 32, "\t");
		if (n < nnames || strcmp(cell[c_row], "op"))
			continue;
		if (nrows == room)
			rows = realloc(rows, (room = room ? room * 2 : 1024) * sizeof(*rows));
		struct row *r = &rows[nrows++];
		memset(r, 0, sizeof(*r));
		r->correlation = (uint32_t)strtoul(cell[c_corr], NULL, 10);
		r->tid = (uint32_t)strtoul(cell[c_tid], NULL, 10);
		r->stream = (uint32_t)strtoul(cell[c_stream], NULL, 10);
		r->submit_ns = strtoll(cell[c_submit], NULL, 10);
		r->start_ns = strtoll(cell[c_start], NULL, 10);
		r->end_ns = strtoll(cell[c_end], NULL, 10);
		snprintf(r->kind, sizeof(r->kind), "%s", cell[c_kind]);
		snprintf(r->name, sizeof(r->name), "%s", cell[c_name]);
	}
	fclose(f);
	qsort(rows, nrows, sizeof(*rows), by_correlation);
}

static struct row *find(const struct wt_op *op)
{
	size_t lo = 0, hi = nrows;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (rows[mid].correlation < op->correlation)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < nrows && rows[lo].correlation == op->correlation; lo++)
		if (!rows[lo].used && rows[lo].start_ns == op->start_ns &&
		    rows[lo].end_ns == op->end_ns) {
			rows[lo].used = 1;
			return &rows[lo];
		}
	return NULL;
}

static void complain(const struct wt_timeline *tl, const struct wt_op *op, const char *what)
{
	wrong++;
	if (complaints++ < 10)
		printf("%s: correlation %" PRIu64 " [%" PRId64 ", %" PRId64 ") %s\n", what,
		       op->correlation, op->start_ns, op->end_ns, wt_timeline_string(tl, op->name));
}

/* It hangs on no call. Is there one that it should hang on? */
static void check_late(const struct wt_timeline *tl, const struct wt_op *op, const struct row *r)
{
	for (size_t i = 0; i < tl->ncalls; i++) {
		const struct wt_call *call = &tl->calls[i];

		if (tl->threads[call->thread].tid == r->tid && call->start_ns <= r->submit_ns &&
		    r->submit_ns <= call->end_ns)
			return;
	}
	size_t said = 0, known = 0;

	while (said < tl->nnotes &&
	       !strstr(wt_timeline_string(tl, tl->notes[said]), "have no host call"))
		said++;
	if (said == tl->nnotes)
		return;
	while (known < late_calls && late[known] != op->correlation)
		known++;
	if (known == sizeof(late) / sizeof(late[0]))
		return;
	late[known] = op->correlation;
	late_calls += known == late_calls;
	late_ops++;
}

static void check_op(const struct wt_timeline *tl, const struct wt_op *op)
{
	struct row *r = find(op);

	total++;
	if (!r) {
		complain(tl, op, "not in the truth");
		return;
	}
	if (op->kind == WT_OP_KERNEL &&
	    strncmp(r->name, wt_timeline_string(tl, op->name), sizeof(r->name) - 1)) {
		complain(tl, op, "other name in the truth");
		return;
	}
	if (tl->streams[op->stream].id != r->stream) {
		complain(tl, op, "other stream in the truth");
		return;
	}
	if (op->call < 0) {
		check_late(tl, op, r);
		return;
	}
	const struct wt_call *call = &tl->calls[op->call];
	if (tl->threads[call->thread].tid != r->tid)
		complain(tl, op, "joined to a call of another thread");
	else if (r->submit_ns < call->start_ns - CLOCK_SLACK_NS ||
		 r->submit_ns > call->end_ns + CLOCK_SLACK_NS)
		complain(tl, op, "joined to another call");
	else
		joined++;
}

static void check_trace(const char *dir, const char *name)
{
	char path[4096];
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.text = ""};

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int err = wt_import_file(path, b, &diag);
	if (err && err != -WT_E_TRUNCATED && err != -WT_E_CORRUPT) {
		fprintf(stderr, "%s: %s\n", path, diag.text);
		exit(2);
	}
	if (wt_builder_finish(b, &tl, &diag)) {
		fprintf(stderr, "%s: %s\n", path, diag.text);
		exit(2);
	}
	for (size_t p = 0; p < tl->nprocesses; p++) {
		int has = 0;
		for (size_t i = 0; i < tl->nops && !has; i++)
			has = tl->ops[i].process == p;
		if (!has)
			continue;
		snprintf(path, sizeof(path), "%s/truth.%" PRId64 ".tsv", dir, tl->processes[p].pid);
		load_truth(path);
		for (size_t i = 0; i < tl->nops; i++) {
			if (tl->ops[i].process != p)
				continue;
			check_op(tl, &tl->ops[i]);
			if (dump)
				fprintf(dump, "%" PRId64 " %" PRIu64 " %" PRId64 "\n",
					tl->processes[p].pid, tl->ops[i].correlation,
					tl->ops[i].start_ns);
		}
	}
	wt_timeline_free(tl);
}

int main(int argc, char **argv)
{
	DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
	size_t allowed = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	size_t allowed_late = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	struct dirent *e;

	if (!d) {
		fprintf(stderr, "usage: join_check DIR [allowed unjoined [allowed late]]\n");
		return 2;
	}
	if (getenv("JOIN_DUMP"))
		dump = fopen(getenv("JOIN_DUMP"), "w");
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name);
		if (n > 3 && !strcmp(e->d_name + n - 3, ".wt"))
			check_trace(argv[1], e->d_name);
	}
	closedir(d);
	if (dump)
		fclose(dump);
	free(rows);
	printf("%zu operations, %zu joined, %zu wrong\n", total, joined, wrong);
	if (late_calls <= allowed_late) /* else they are like any that is not joined */
		total -= late_ops;
	return wrong || !joined || total - wrong - joined > allowed;
}
