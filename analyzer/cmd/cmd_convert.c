/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap convert: traces of any format, one or a job of them, as one file of ours. The output appears under its name
 * when it is whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/source.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "import/job.h"
#include "trace/convert.h"

static const char usage_text[] =
	"usage: warptap convert PATH... -o OUT.wt [-q]\n"
	"\n"
	"Writes the traces at PATH (files, folders, patterns; any format) as one warptap trace.\n"
	"See man warptap-convert.\n"
	"\n"
	"  -o OUT.wt    the file to write\n"
	"  --any-ratio  read gzip that inflates to more than 200 times its size\n"
	"  -q           no warnings on standard error; errors are still printed\n";

struct options {
	const char *output;
	int quiet;
	char **paths;
	int npaths;
};

static int wrong_use(const char *text, const char *what)
{
	wt_say_line(stderr, "warptap convert: %s%s", text, what);
	fputs(usage_text, stderr);
	return WT_EXIT_USAGE;
}

static int parse(int argc, char **argv, struct options *ret)
{
	int only_paths = 0;

	ret->paths = argv; /* filled from the front: never ahead of the argument being read */
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (only_paths || a[0] != '-' || !a[1])
			ret->paths[ret->npaths++] = argv[i];
		else if (!strcmp(a, "--"))
			only_paths = 1;
		else if (!strcmp(a, "--any-ratio"))
			wt_source_any_ratio();
		else if (!strcmp(a, "-q") || !strcmp(a, "--quiet"))
			ret->quiet = 1;
		else if (!strcmp(a, "-o") && i + 1 < argc)
			ret->output = argv[++i];
		else if (!strcmp(a, "--help") || !strcmp(a, "-h"))
			return fputs(usage_text, stdout), -1;
		else
			return wrong_use(strcmp(a, "-o") ? "unknown option "
							 : "a file name must follow ",
					 a);
	}
	if (!ret->npaths)
		return wrong_use("no PATH given", "");
	return ret->output ? 0 : wrong_use("no output given: -o OUT.wt", "");
}

static void complain(const char *path, const struct wt_diag *diag, int err)
{
	wt_say_line(stderr, "warptap convert: %s: %s", path,
		    diag->text[0] ? diag->text : wt_strerror(err));
}

static struct wt_timeline *read_all(const struct options *opt, int *ret_failed)
{
	struct wt_job job = {.n = 0};
	struct wt_builder *b = NULL;
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	size_t used = 0;
	int err;

	for (int i = 0; i < opt->npaths; i++) {
		err = wt_job_add(&job, opt->paths[i], &diag);
		if (err) {
			complain(opt->paths[i], &diag, err);
			++*ret_failed;
		}
	}
	err = wt_job_read(&job, &b);
	for (size_t i = 0; i < job.n && !err; i++) {
		const struct wt_job_file *f = &job.files[i];

		used += (size_t)wt_job_usable(f);
		*ret_failed += f->err != 0;
		if (f->err && (!wt_job_usable(f) || !opt->quiet))
			complain(f->path, &f->diag, f->err);
	}
	wt_job_release(&job);
	if (used)
		err = wt_builder_finish(b, &tl, &diag);
	else
		wt_builder_free(b);
	if (err)
		complain(opt->paths[0], &diag, err);
	return tl;
}

static int to_file(void *arg, const void *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -WT_E_IO;
}

/* Beside its place first: an existing file is replaced by a whole one or not at all. */
static int write_out(const char *output, const struct wt_timeline *tl)
{
	size_t n = strlen(output) + sizeof(".part");
	char *part = malloc(n);
	FILE *f;
	int err = -WT_E_NOMEM, sys = 0;

	if (!part)
		goto out;
	snprintf(part, n, "%s.part", output);
	f = fopen(part, "wb");
	if (!f) {
		err = -WT_E_IO;
		sys = errno;
		goto out;
	}
	err = wt_convert(tl, to_file, f);
	if ((fflush(f) || ferror(f)) && !err)
		err = -WT_E_IO;
	sys = errno;
	if (fclose(f) && !err)
		err = -WT_E_IO;
	if (!err && rename(part, output)) {
		err = -WT_E_IO;
		sys = errno;
	}
	if (err)
		unlink(part);
out:
	if (err)
		wt_say_line(stderr, "warptap convert: %s: cannot write: %s", output,
			    err == -WT_E_IO && sys ? strerror(sys) : wt_strerror(err));
	free(part);
	return err ? WT_EXIT_FAILED : WT_EXIT_OK;
}

int wt_cmd_convert(int argc, char **argv)
{
	struct options opt = {.npaths = 0};
	int rc = parse(argc, argv, &opt), failed = 0;
	struct wt_timeline *tl;

	if (rc)
		return rc < 0 ? WT_EXIT_OK : rc;
	tl = read_all(&opt, &failed);
	if (!tl)
		return WT_EXIT_FAILED;
	rc = write_out(opt.output, tl);
	wt_timeline_free(tl);
	return rc || !failed ? rc : WT_EXIT_DAMAGED;
}
