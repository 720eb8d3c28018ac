/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap report: reads files or folders of them into one timeline and prints its ledger.
 *
 * A file named on the command line that cannot be used is an error, unless others can: then the report is made of
 * those, the failure is said on stderr, and the exit code is that of a damaged input.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axes/axes.h"
#include "base/source.h"
#include "bounds/model.h"
#include "cmd/cmd.h"
#include "cmd/hlo_profile.h"
#include "cmd/say.h"
#include "import/job.h"
#include "report/report.h"

#define MOST_TEXT (1u << 20) /* of a file that an option names */

static const char usage_text[] =
	"usage: warptap report PATH... [--json] [--as hta] [--step N] [--model M]\n"
	"                     [--hlo FILE] [--families FILE] [-o FILE] [-q]\n"
	"\n"
	"Accounts for every nanosecond of every device in the traces at PATH: files, or folders "
	"of\n"
	"them. See man warptap-report.\n"
	"\n"
	"  --json     the report as JSON (schema warptap.report/1)\n"
	"  --as hta   instead, the breakdowns of HolisticTraceAnalysis, by its rules\n"
	"  --step N   of step N alone\n"
	"  --model M  MFU of a transformer: a FILE, the name of a published model, or its shape\n"
	"             (llama3-8b,seq=4096,tokens_per_step=1e6)\n"
	"  --hlo FILE an .xplane.pb of the same programs: says what XLA's kernels in graphs are\n"
	"  --families FILE\n"
	"             what kernels are by their names, instead of the table compiled in\n"
	"  -o FILE    write it to FILE instead of standard output\n"
	"  --any-ratio\n"
	"             read gzip that inflates to more than 200 times its size\n"
	"  -q         no warnings on standard error; errors are still printed\n";

struct options {
	int json, quiet, as_hta;
	int64_t step; /* -1 = all */
	const char *output, *model, *families, *hlo;
	char **paths;
	int npaths;
};

static int takes_value(const char *a)
{
	return !strcmp(a, "-o") || !strcmp(a, "--model") || !strcmp(a, "--families") ||
	       !strcmp(a, "--hlo");
}

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
		} else if (!strcmp(a, "--model") && i + 1 < argc) {
			ret->model = argv[++i];
		} else if (!strcmp(a, "--hlo") && i + 1 < argc) {
			ret->hlo = argv[++i];
		} else if (!strcmp(a, "--families") && i + 1 < argc) {
			ret->families = argv[++i];
		} else if (!strcmp(a, "--any-ratio")) {
			wt_source_any_ratio();
		} else if (!strcmp(a, "-q") || !strcmp(a, "--quiet")) {
			ret->quiet = 1;
		} else if (!strcmp(a, "--as") && i + 1 < argc && !strcmp(argv[i + 1], "hta")) {
			ret->as_hta = 1;
			i++;
		} else if (!strcmp(a, "--as")) {
			wt_say_line(stderr, "warptap report: --as: %s%s; known: hta",
				    i + 1 < argc ? "unknown view " : "a view must follow",
				    i + 1 < argc ? argv[i + 1] : "");
			return WT_EXIT_USAGE;
		} else if (!strcmp(a, "--step")) {
			char *end = NULL;

			errno = 0;
			ret->step = i + 1 < argc ? strtoll(argv[i + 1], &end, 10) : -1;
			if (errno || !end || *end || end == argv[i + 1] || ret->step < 0) {
				fputs("warptap report: --step: a number from 0 must follow\n",
				      stderr);
				return WT_EXIT_USAGE;
			}
			i++;
		} else if (!strcmp(a, "-o") && i + 1 < argc) {
			ret->output = argv[++i];
		} else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
			fputs(usage_text, stdout);
			return -1;
		} else {
			wt_say_line(stderr, "warptap report: %s '%s'",
				    takes_value(a) ? "a value must follow" : "unknown option", a);
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
	wt_say_line(stderr, "warptap report: %s: %s", path,
		    diag->text[0] ? diag->text : wt_strerror(err));
}

/* Says what is wrong with a file; 1 if something is. */
static int judge(const struct wt_job_file *f, const struct options *opt)
{
	if (!f->err)
		return 0;
	if (!wt_job_usable(f) || !opt->quiet)
		complain(f->path, &f->diag, f->err);
	return 1;
}

/* Reads everything; NULL after saying why nothing can be reported. */
static struct wt_timeline *read_all(const struct options *opt, int *ret_failed)
{
	struct wt_job job = {.keep_asides = opt->as_hta};
	struct wt_builder *b = NULL;
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	size_t used = 0;
	int err = 0;

	for (int i = 0; i < opt->npaths; i++) {
		err = wt_job_add(&job, opt->paths[i], &diag);
		if (err) {
			complain(opt->paths[i], &diag, err);
			++*ret_failed;
		}
	}
	err = wt_job_read(&job, &b);
	if (err)
		complain(opt->paths[0], &diag, err);
	for (size_t i = 0; i < job.n && !err; i++) {
		*ret_failed += judge(&job.files[i], opt);
		used += (size_t)wt_job_usable(&job.files[i]);
	}
	wt_job_release(&job);
	if (!used) {
		wt_builder_free(b);
		return NULL;
	}
	if (opt->hlo)
		*ret_failed += wt_cmd_hlo(opt->hlo, opt->quiet, b);
	for (int i = 0; i < opt->npaths && !opt->hlo; i++)
		wt_cmd_hlo_beside(opt->paths[i], b);
	err = wt_builder_finish(b, &tl, &diag);
	if (err)
		complain(opt->paths[0], &diag, err);
	return err ? NULL : tl;
}

static int write_out(const struct options *opt, const struct wt_strbuf *text)
{
	FILE *out = opt->output ? fopen(opt->output, "w") : stdout;
	int bad;

	if (!out) {
		wt_say_line(stderr, "warptap report: %s: cannot write: %s", opt->output,
			    strerror(errno));
		return WT_EXIT_FAILED;
	}
	fwrite(wt_strbuf_text(text), 1, text->n, out);
	bad = fflush(out) || ferror(out);
	if (bad)
		wt_say_line(stderr, "warptap report: %s: cannot write: %s",
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

/* Narrows the ledger to one step. 0, 1 after saying that there is none, or -WT_E_x. */
static int narrow(const struct options *opt, struct wt_ledger *ledger)
{
	struct wt_axes *axes = NULL;
	int err = opt->step < 0 ? 0 : wt_axes_build(&axes, ledger);
	size_t found = 0;

	if (opt->step < 0 || err)
		return err;
	for (size_t d = 0; !err && d < ledger->ndevices; d++) {
		const struct wt_step *s = wt_axes_step(axes, d, opt->step);

		found += s != NULL;
		err = wt_ledger_window(ledger, d, s ? s->start_ns : 0, s ? s->end_ns : 0);
	}
	if (!err && !found)
		wt_say_line(stderr, "warptap report: no step %lld in %s: %zu steps are known",
			    (long long)opt->step, opt->paths[0], axes->nsteps);
	wt_axes_free(axes);
	return err ? err : !found;
}

/* What the options say that must be right before an hour of reading begins. */
struct asked {
	struct wt_families *families; /* the report's to free */
	struct wt_model model;
};

/* A small text file whole; NULL after saying why not. */
static char *read_text(const char *path, size_t *ret_n)
{
	FILE *in = fopen(path, "r");
	char *text = in ? malloc(MOST_TEXT + 1) : NULL;

	if (!text)
		wt_say_line(stderr, "warptap report: %s: cannot read: %s", path, strerror(errno));
	else
		*ret_n = fread(text, 1, MOST_TEXT + 1, in);
	if (in)
		fclose(in);
	return text;
}

static int ask_model(const char *what, struct wt_model *ret)
{
	struct wt_diag diag = {.offset = -1};
	int is_file = !access(what, R_OK);
	size_t n = strlen(what);
	char *text = is_file ? read_text(what, &n) : strdup(what);
	int err;

	if (!text)
		return WT_EXIT_USAGE;
	err = wt_model_parse(ret, text, n, &diag);
	free(text);
	if (err)
		wt_say_line(stderr, "warptap report: --model%s%s: %s", is_file ? " " : "",
			    is_file ? what : "", diag.text);
	return err ? WT_EXIT_USAGE : WT_EXIT_OK;
}

static int ask(const struct options *opt, struct asked *ret)
{
	struct wt_diag diag = {.offset = -1};
	size_t n = 0;
	char *text;
	int err;

	if (opt->model && ask_model(opt->model, &ret->model))
		return WT_EXIT_USAGE;
	if (!opt->families) {
		ret->families = wt_families_new();
		return WT_EXIT_OK;
	}
	text = read_text(opt->families, &n);
	if (!text)
		return WT_EXIT_USAGE;
	err = wt_families_parse(&ret->families, text, n, &diag);
	free(text);
	if (err)
		complain(opt->families, &diag, err);
	return err ? WT_EXIT_USAGE : WT_EXIT_OK;
}

static int report(const struct options *opt, const struct asked *asked,
		  const struct wt_timeline *tl)
{
	struct wt_ledger *ledger = NULL;
	struct wt_hta *hta = NULL;
	struct wt_ranks *ranks = NULL;
	struct wt_report *r = NULL;
	struct wt_strbuf text = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	const struct wt_model *model = opt->model ? &asked->model : NULL;
	int err = wt_ledger_build_with(&ledger, tl, asked->families, model, &diag);
	int rc = WT_EXIT_FAILED;

	err = err ? err : wt_ranks_build(&ranks, ledger, &diag);
	err = err ? err : narrow(opt, ledger);
	err = err ? err : wt_report_new(&r, tl, ledger, ranks);
	if (!err && opt->as_hta)
		err = wt_hta_build(&hta, tl);
	if (!err) {
		r->hta = hta;
		r->model = model;
		r->colour = wants_colour(opt);
		if (opt->json)
			wt_report_json(r, &text);
		else
			wt_report_text(r, &text);
		err = text.failed ? -WT_E_NOMEM : 0;
	}
	if (err < 0)
		complain(opt->paths[0], &diag, err);
	else if (!err)
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
	struct options opt = {.step = -1};
	struct asked asked = {.families = NULL};
	int rc = parse(argc, argv, &opt), failed = 0;
	struct wt_timeline *tl;

	if (rc)
		return rc < 0 ? WT_EXIT_OK : rc;
	rc = ask(&opt, &asked);
	if (rc)
		return rc;
	tl = read_all(&opt, &failed);
	if (!tl) {
		wt_families_free(asked.families);
		return WT_EXIT_FAILED;
	}
	rc = report(&opt, &asked, tl);
	if (!rc && (failed || wt_report_damaged(tl)))
		rc = WT_EXIT_DAMAGED;
	wt_timeline_free(tl);
	return rc;
}
