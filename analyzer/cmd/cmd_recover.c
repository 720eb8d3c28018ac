/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap recover: the tail of killed jobs, from their black boxes into their traces. Each trace is written anew beside
 * the old one and takes its name when it is whole and on disk; only then is the box removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/say.h"
#include "recover/recover.h"

static const char usage_text[] =
	"usage: warptap recover [-k] [-q] [-o OUT.wt] PATH...\n"
	"\n"
	"Adds to the traces of killed jobs what is only in their black boxes. PATH is a folder, a\n"
	"black box (*.ring) or the trace of one. See man warptap-recover.\n"
	"\n"
	"  -o OUT.wt  of one black box: write the whole trace there, change nothing else\n"
	"  -k         keep the black boxes\n"
	"  -q         say nothing but errors\n";

struct options {
	const char *output;
	int quiet, keep;
};

static int ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n >= k && !strcmp(s + n - k, tail);
}

static int complain(const char *path, const char *text)
{
	wt_say_line(stderr, "warptap recover: %s: %s", path, text);
	return WT_EXIT_FAILED;
}

static void say(const char *trace, const struct wt_recovered *g)
{
	wt_say(stdout, "%s: %" PRIu64 " calls and %" PRIu64 " device records added\n", trace,
	       g->rows, g->records);
	if (g->open_buffers)
		wt_say(stdout,
		       "  %" PRIu64 " buffer%s that CUPTI was still filling could not be read\n",
		       g->open_buffers, g->open_buffers == 1 ? "" : "s");
	if (g->unread_bytes)
		wt_say(stdout,
		       "  %" PRIu64 " bytes of device records are of a kind never read before\n",
		       g->unread_bytes);
	if (g->unnamed)
		wt_say(stdout, "  %" PRIu64 " kernels ran whose names are not known\n", g->unnamed);
	if (g->lost_rows)
		wt_say(stdout, "  %" PRIu64 " calls found no room on disk while the job ran\n",
		       g->lost_rows);
}

static void sync_folder(const char *file)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(file, '/');
	int fd;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - file) + 1 : 1, slash ? file : ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fsync(fd))
		errno = 0; /* some file systems cannot; the rename was still atomic */
	close(fd);
}

static int recover_pair(const char *ring, const char *trace, const struct options *opt)
{
	struct wt_diag diag = {.offset = -1};
	char out[PATH_MAX + 32];
	struct wt_recovered got;

	if (wt_recover_is_held(ring))
		return complain(ring, "its job still records: nothing to recover");
	snprintf(out, sizeof(out), "%s.part.%ld", trace, (long)getpid());
	if (wt_recover(ring, trace, opt->output ? opt->output : out, &got, &diag))
		return complain(ring, diag.text);
	if (opt->output) {
		if (got.already)
			return complain(ring, "its trace is whole already");
		if (!opt->quiet)
			say(opt->output, &got);
		return WT_EXIT_OK;
	}
	if (!got.already && rename(out, trace)) {
		int e = errno;

		unlink(out);
		return complain(trace, strerror(e));
	}
	sync_folder(trace);
	if (!opt->keep && unlink(ring))
		return complain(ring, strerror(errno));
	if (!opt->quiet && got.already)
		wt_say(stdout, "%s: whole already\n", trace);
	else if (!opt->quiet)
		say(trace, &got);
	return WT_EXIT_OK;
}

static int recover(const char *ring, const struct options *opt)
{
	struct wt_diag diag = {.offset = -1};
	char trace[PATH_MAX];

	if (wt_recover_trace_of(ring, trace, sizeof(trace), &diag))
		return complain(ring, wt_recover_is_held(ring)
					      ? "its job still records: nothing to recover"
					      : diag.text);
	return recover_pair(ring, trace, opt);
}

static int is_ours(const struct dirent *d)
{
	return ends_with(d->d_name, ".ring") || ends_with(d->d_name, ".wt");
}

/* A black box; or a trace whose box is not in the folder. 0 = a trace that has none, or has it here. */
static int recover_entry(const char *folder, const char *name, const struct options *opt,
			 int *ret_n)
{
	char path[PATH_MAX], ring[PATH_MAX];
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (ends_with(name, ".ring")) {
		++*ret_n;
		return recover(path, opt);
	}
	n = strlen(path) - 3;
	if (wt_recover_box_of(path, ring, sizeof(ring)) ||
	    (!strncmp(path, ring, n) && !strcmp(ring + n, ".ring")))
		return 0;
	++*ret_n;
	return recover_pair(ring, path, opt);
}

static int recover_folder(const char *path, const struct options *opt, int *ret_n)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, is_ours, alphasort), bad = 0, boxes = 0;

	if (n < 0)
		return complain(path, strerror(errno));
	for (int i = 0; i < n; i++) {
		bad += recover_entry(path, names[i]->d_name, opt, &boxes) != 0;
		free(names[i]);
	}
	free(names);
	*ret_n += boxes;
	return !bad ? WT_EXIT_OK : boxes > bad ? WT_EXIT_DAMAGED : WT_EXIT_FAILED;
}

static int recover_path(const char *path, const struct options *opt, int *ret_n)
{
	char ring[PATH_MAX];
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return opt->output ? complain(path, "-o takes one black box, not a folder")
				   : recover_folder(path, opt, ret_n);
	++*ret_n;
	if (!ends_with(path, ".wt"))
		return recover(path, opt);
	return wt_recover_box_of(path, ring, sizeof(ring))
		       ? complain(path, "no black box of its own on this machine")
		       : recover_pair(ring, path, opt);
}

static int wrong_use(const char *text, const char *what)
{
	wt_say_line(stderr, "warptap recover: %s%s", text, what);
	fputs(usage_text, stderr);
	return WT_EXIT_USAGE;
}

int wt_cmd_recover(int argc, char **argv)
{
	struct options opt = {.output = NULL};
	int paths = 0, boxes = 0, failed = 0, good = 0, only_paths = 0;

	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (only_paths || a[0] != '-' || !a[1])
			argv[paths++] = argv[i];
		else if (!strcmp(a, "--"))
			only_paths = 1;
		else if (!strcmp(a, "-q") || !strcmp(a, "--quiet"))
			opt.quiet = 1;
		else if (!strcmp(a, "-k") || !strcmp(a, "--keep"))
			opt.keep = 1;
		else if (!strcmp(a, "-o") && i + 1 < argc)
			opt.output = argv[++i];
		else if (!strcmp(a, "--help") || !strcmp(a, "-h"))
			return fputs(usage_text, stdout) < 0;
		else
			return wrong_use(strcmp(a, "-o") ? "unknown option "
							 : "a file name must follow ",
					 a);
	}
	if (!paths)
		return wrong_use("no PATH given", "");
	if (opt.output && paths > 1)
		return wrong_use("-o takes one black box", "");
	for (int i = 0; i < paths; i++) {
		int rc = recover_path(argv[i], &opt, &boxes);

		failed |= rc != WT_EXIT_OK;
		good |= rc != WT_EXIT_FAILED;
	}
	if (!boxes && !failed && !opt.quiet)
		wt_say(stdout, "no black boxes: nothing to recover; where the folder is on a "
			       "network file system they lie on the machine that recorded\n");
	return !failed ? WT_EXIT_OK : good ? WT_EXIT_DAMAGED : WT_EXIT_FAILED;
}
