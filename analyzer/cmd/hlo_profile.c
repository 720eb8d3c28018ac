/* SPDX-License-Identifier: Apache-2.0 */
/* See hlo_profile.h. */
#include "cmd/hlo_profile.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/say.h"
#include "import/job.h"
#include "timeline/fields.h"
#include "timeline/timeline.h"

/* Below the folder that a job gave jax.profiler: a folder for each profile, named after its time. */
#define PROFILES "plugins/profile/*/*.xplane.pb"

/* Adds the instructions of all files of the job; *ret_paths: of how many it is known where in the model they are. */
static int take(struct wt_job *job, struct wt_builder *b, struct wt_diag *diag, size_t *ret_paths)
{
	struct wt_builder *from = NULL;
	struct wt_timeline *tl = NULL;
	int err = wt_job_read(job, &from);

	for (size_t i = 0; i < job->n && !err; i++)
		if (!wt_job_usable(&job->files[i])) {
			err = job->files[i].err;
			*diag = job->files[i].diag;
		}
	if (!err)
		err = wt_builder_finish(from, &tl, diag);
	else
		wt_builder_free(from);
	for (size_t i = 0; !err && i < tl->ninstructions; i++) {
		const struct wt_instruction *in = &tl->instructions[i];
		struct wt_instruction row = {
			.path = wt_builder_cstring(b, wt_timeline_string(tl, in->path)),
			.name = wt_builder_cstring(b, wt_timeline_string(tl, in->name)),
			.program = wt_builder_cstring(b, wt_timeline_string(tl, in->program))};

		*ret_paths += row.path != 0;
		wt_builder_instruction(b, &row);
	}
	wt_timeline_free(tl);
	return err;
}

int wt_cmd_hlo(const char *path, int quiet, struct wt_builder *b)
{
	struct wt_job job = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	size_t paths = 0;
	int err = wt_job_add(&job, path, &diag);

	err = err ? err : take(&job, b, &diag, &paths);
	if (err)
		wt_say_line(stderr, "warptap report: %s: %s", path,
			    diag.text[0] ? diag.text : wt_strerror(err));
	else if (!paths && !quiet)
		wt_say_line(stderr, "warptap report: %s: no paths of XLA instructions in it", path);
	wt_job_release(&job);
	return err != 0;
}

/* Traces of ours: other tools' have their own instructions, and a profile is none of its own. */
static int any_native(struct wt_builder *b)
{
	size_t n;
	const struct wt_process *p = wt_builder_rows(b, WT_TABLE_processes, &n);

	for (size_t i = 0; i < n; i++)
		if (p[i].level >= 0)
			return 1;
	return 0;
}

void wt_cmd_hlo_beside(const char *folder, struct wt_builder *b)
{
	char pattern[PATH_MAX];
	struct wt_job job = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	size_t paths = 0, last, run;
	const char *file;
	glob_t found;
	int err = 0;

	if (!any_native(b) || strpbrk(folder, "*?[\\") ||
	    snprintf(pattern, sizeof(pattern), "%s/" PROFILES, folder) >= (int)sizeof(pattern) ||
	    glob(pattern, 0, NULL, &found))
		return;
	/* Sorted by name, and so by time; a run of several hosts has a file of each. */
	last = found.gl_pathc - 1;
	file = found.gl_pathv[last];
	run = (size_t)(strrchr(file, '/') - file);
	for (size_t i = 0; i <= last && !err; i++)
		if (!strncmp(found.gl_pathv[i], file, run + 1))
			err = wt_job_add(&job, found.gl_pathv[i], &diag);
	err = err ? err : take(&job, b, &diag, &paths);
	if (!err && paths)
		wt_builder_note(b,
				"%.*s: what the kernels in XLA's graphs are is from this profile; "
				"of what it "
				"measured nothing is taken",
				(int)run, file);
	else if (err)
		wt_builder_note(b, "%.*s: a profile beside the traces gives no modules: %s",
				(int)run, file, diag.text[0] ? diag.text : wt_strerror(err));
	wt_job_release(&job);
	globfree(&found);
}
