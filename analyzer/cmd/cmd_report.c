/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap report: reads files or folders of them into one timeline and prints its ledger.
 *
 * A file named on the command line that cannot be used is an error, unless others can: then the report is made of
 * those, the failure is said on stderr, and the exit code is that of a damaged input.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/source.h"
#include "cmd/cmd.h"
#include "import/importer.h"
#include "report/report.h"

static const char usage_text[] =
	"usage: warptap report PATH... [--json] [--as hta] [-o FILE] [-q]\n"
	"\n"
	"Accounts for every nanosecond of every device in the traces at PATH: files, or folders "
	"of\n"
	"them. See man warptap-report.\n"
	"\n"
	"  --json     the report as JSON (schema warptap.report/1)\n"
	"  --as hta   instead, the breakdowns of HolisticTraceAnalysis, by its rules\n"
	"  -o FILE    write it to FILE instead of standard output\n"
	"  -q         no warnings on standard error; errors are still printed\n";

struct options {
	int json, quiet, as_hta;
	const char *output;
	char **paths;
	int npaths;
};

struct reading {
	struct wt_builder *builder;
	const struct options *opt;
	int used, failed;
};

static int parse(int argc, char **argv, struct options *ret)
{
	int only_paths = 0;

	ret->paths = argv; /* filled from the front: never ahead of the argument being read */
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (only_paths || a[0] != '-' || !a[1]) {
			ret->paths[ret->npaths++] = argv[i];
		} else if (!strcmp(a, "--")) {
			only_paths = 1;
		} else if (!strcmp(a, "--json")) {
			ret->json = 1;
		} else if (!strcmp(a, "-q") || !strcmp(a, "--quiet")) {
			ret->quiet = 1;
		} else if (!strcmp(a, "--as") && i + 1 < argc && !strcmp(argv[i + 1], "hta")) {
			ret->as_hta = 1;
			i++;
		} else if (!strcmp(a, "--as")) {
			fprintf(stderr, "warptap report: --as: %s%s; known: hta\n",
				i + 1 < argc ? "unknown view " : "a view must follow",
				i + 1 < argc ? argv[i + 1] : "");
			return WT_EXIT_USAGE;
		} else if (!strcmp(a, "-o") && i + 1 < argc) {
			ret->output = argv[++i];
		} else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
			fputs(usage_text, stdout);
			return -1;
		} else {
			fprintf(stderr, "warptap report: %s '%s'\n",
				strcmp(a, "-o") ? "unknown option" : "a file name must follow", a);
			return WT_EXIT_USAGE;
		}
	}
	if (!ret->npaths) {
		fputs("warptap report: no PATH given\n", stderr);
		fputs(usage_text, stderr);
		return WT_EXIT_USAGE;
	}
	return 0;
}

static void complain(const char *path, const struct wt_diag *diag, int err)
{
	fprintf(stderr, "warptap report: %s: %s\n", path,
		diag->text[0] ? diag->text : wt_strerror(err));
}

static void read_file(struct reading *r, const char *path)
{
	struct wt_diag diag = {.offset = -1};
	int err = wt_import_file(path, r->builder, &diag);

	switch (err) {
	case 0:
		r->used++;
		break;
	case -WT_E_TRUNCATED:
	case -WT_E_CORRUPT:
		r->used++;
		r->failed++;
		if (!r->opt->quiet)
			complain(path, &diag, err);
		break;
	default:
		r->failed++;
		complain(path, &diag, err);
	}
}

static int ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n >= k && !strcmp(s + n - k, tail);
}

/* In a folder: our own files by name, others by what is in them; what `run` leaves beside traces is passed over. */
static int is_trace(const char *path, const char *name)
{
	struct wt_source *src;
	struct stat st;
	int known = 0;

	if (name[0] == '.' || ends_with(name, ".log") || ends_with(name, ".ring") ||
	    (!strncmp(name, "truth.", 6) && ends_with(name, ".tsv")))
		return 0;
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (ends_with(name, ".wt"))
		return 1;
	if (!wt_source_open(&src, path, NULL)) {
		size_t n;
		const uint8_t *head = wt_source_head(src, &n);

		known = n && wt_importer_find(head, n);
		wt_source_close(src);
	}
	return known;
}

static void read_folder(struct reading *r, const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), found = 0;

	if (n < 0) {
		fprintf(stderr, "warptap report: %s: cannot list the folder: %s\n", path,
			strerror(errno));
		r->failed++;
		return;
	}
	for (int i = 0; i < n; i++) {
		size_t room = strlen(path) + strlen(names[i]->d_name) + 2;
		char *file = malloc(room);

		if (file) {
			snprintf(file, room, "%s%s%s", path, ends_with(path, "/") ? "" : "/",
				 names[i]->d_name);
			if (is_trace(file, names[i]->d_name)) {
				found++;
				read_file(r, file);
			}
		}
		free(file);
		free(names[i]);
	}
	free(names);
	if (!found) {
		fprintf(stderr,
			"warptap report: %s: no trace in this folder; expected files of: %s\n",
			path, wt_importer_formats());
		r->failed++;
	}
}

/* Reads everything; NULL after saying why nothing can be reported. */
static struct wt_timeline *read_all(const struct options *opt, int *ret_failed)
{
	struct reading r = {.builder = wt_builder_new(), .opt = opt};
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	int err;

	if (!r.builder) {
		fputs("warptap report: out of memory\n", stderr);
		return NULL;
	}
	if (opt->as_hta)
		wt_builder_keep_asides(r.builder);
	for (int i = 0; i < opt->npaths; i++) {
		struct stat st;

		if (!stat(opt->paths[i], &st) && S_ISDIR(st.st_mode))
			read_folder(&r, opt->paths[i]);
		else
			read_file(&r, opt->paths[i]);
	}
	*ret_failed = r.failed;
	if (!r.used) {
		wt_builder_free(r.builder);
		return NULL;
	}
	err = wt_builder_finish(r.builder, &tl, &diag);
	if (err)
		complain(opt->paths[0], &diag, err);
	return err ? NULL : tl;
}

static int write_out(const struct options *opt, const struct wt_strbuf *text)
{
	FILE *out = opt->output ? fopen(opt->output, "w") : stdout;
	int bad;

	if (!out) {
		fprintf(stderr, "warptap report: %s: cannot write: %s\n", opt->output,
			strerror(errno));
		return WT_EXIT_FAILED;
	}
	fwrite(wt_strbuf_text(text), 1, text->n, out);
	bad = fflush(out) || ferror(out);
	if (bad)
		fprintf(stderr, "warptap report: %s: cannot write: %s\n",
			opt->output ? opt->output : "standard output", strerror(errno));
	if (opt->output)
		fclose(out);
	return bad ? WT_EXIT_FAILED : WT_EXIT_OK;
}

static int wants_colour(const struct options *opt)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !opt->output && !(no && *no) && isatty(STDOUT_FILENO) &&
	       !(term && !strcmp(term, "dumb"));
}

static int report(const struct options *opt, const struct wt_timeline *tl)
{
	struct wt_ledger *ledger = NULL;
	struct wt_hta *hta = NULL;
	struct wt_ranks *ranks = NULL;
	struct wt_report *r = NULL;
	struct wt_strbuf text = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	int err = wt_ledger_build(&ledger, tl, &diag), rc = WT_EXIT_FAILED;

	err = err ? err : wt_ranks_build(&ranks, ledger, &diag);
	err = err ? err : wt_report_new(&r, tl, ledger, ranks);
	if (!err && opt->as_hta)
		err = wt_hta_build(&hta, tl);
	if (!err) {
		r->hta = hta;
		r->colour = wants_colour(opt);
		if (opt->json)
			wt_report_json(r, &text);
		else
			wt_report_text(r, &text);
		err = text.failed ? -WT_E_NOMEM : 0;
	}
	if (err)
		complain(opt->paths[0], &diag, err);
	else
		rc = write_out(opt, &text);
	wt_strbuf_release(&text);
	wt_report_free(r);
	wt_hta_free(hta);
	wt_ranks_free(ranks);
	wt_ledger_free(ledger);
	return rc;
}

int wt_cmd_report(int argc, char **argv)
{
	struct options opt = {.npaths = 0};
	int rc = parse(argc, argv, &opt), failed = 0;
	struct wt_timeline *tl;

	if (rc)
		return rc < 0 ? WT_EXIT_OK : rc;
	tl = read_all(&opt, &failed);
	if (!tl)
		return WT_EXIT_FAILED;
	rc = report(&opt, tl);
	if (!rc && (failed || wt_report_damaged(tl)))
		rc = WT_EXIT_DAMAGED;
	wt_timeline_free(tl);
	return rc;
}
