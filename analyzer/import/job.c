/* SPDX-License-Identifier: Apache-2.0 */
/* See job.h. The calling thread merges; the others take the next unread file each. */
#define _GNU_SOURCE /* versionsort, sched_getaffinity */
#include "import/job.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "timeline/fields.h"

#define MOST_THREADS 64

/* ---- the list ---- */

static int add_file(struct wt_job *job, const char *path)
{
	char *copy = strdup(path);

	if (copy && job->n == job->room) {
		size_t room = job->room ? job->room * 2 : 16;
		struct wt_job_file *files = realloc(job->files, room * sizeof(*files));

		if (files) {
			job->files = files;
			job->room = room;
		}
	}
	if (!copy || job->n == job->room) {
		free(copy);
		return -WT_E_NOMEM;
	}
	job->files[job->n++] = (struct wt_job_file){.path = copy, .diag = {.offset = -1}};
	return 0;
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

static int is_folder(const char *path, const char *name)
{
	struct stat st;

	return name[0] != '.' && !lstat(path, &st) && S_ISDIR(st.st_mode);
}

/* The traces in a folder or, with `folders`, in the folders in it. 0, -WT_E_NOMEM, or -WT_E_IO (errno says why). */
static int list_folder(struct wt_job *job, const char *path, int folders)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, versionsort), rc = 0;

	if (n < 0)
		return -WT_E_IO;
	for (int i = 0; i < n; i++) {
		size_t room = strlen(path) + strlen(names[i]->d_name) + 2;
		char *file = malloc(room);

		rc = file ? rc : -WT_E_NOMEM;
		if (!rc) {
			snprintf(file, room, "%s%s%s", path, ends_with(path, "/") ? "" : "/",
				 names[i]->d_name);
			if (folders && is_folder(file, names[i]->d_name))
				rc = list_folder(job, file, 0) == -WT_E_NOMEM ? -WT_E_NOMEM : 0;
			else if (!folders && is_trace(file, names[i]->d_name))
				rc = add_file(job, file);
		}
		free(file);
		free(names[i]);
	}
	free(names);
	return rc;
}

/* A folder a rank is usual; those beside traces are more likely other runs. */
static int add_folder(struct wt_job *job, const char *path, struct wt_diag *diag)
{
	size_t before = job->n;
	int rc = list_folder(job, path, 0);

	if (!rc && job->n == before)
		rc = list_folder(job, path, 1);
	if (rc == -WT_E_IO)
		return wt_fail(diag, WT_E_IO, -1, "cannot list the folder: %s", strerror(errno));
	if (!rc && job->n == before)
		return wt_fail(
			diag, WT_E_NOENT, -1,
			"no trace in this folder, nor in the folders in it; expected files of: %s",
			wt_importer_formats());
	return rc ? wt_fail(diag, WT_E_NOMEM, -1, "out of memory") : 0;
}

static int add_pattern(struct wt_job *job, const char *path)
{
	glob_t found = {.gl_pathc = 0};
	int rc = 0;

	if (strpbrk(path, "*?[") && !glob(path, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc && !rc; i++)
			rc = add_file(job, found.gl_pathv[i]);
	else
		rc = add_file(job, path); /* reading it will say what is wrong */
	globfree(&found);
	return rc;
}

int wt_job_add(struct wt_job *job, const char *path, struct wt_diag *diag)
{
	struct stat st;
	int rc;

	if (stat(path, &st))
		rc = add_pattern(job, path);
	else if (S_ISDIR(st.st_mode))
		return add_folder(job, path, diag);
	else
		rc = add_file(job, path);
	return rc ? wt_fail(diag, WT_E_NOMEM, -1, "out of memory") : 0;
}

/* ---- reading ---- */

struct reading {
	struct wt_job *job;
	size_t next;
	pthread_mutex_t lock;
	pthread_cond_t one_done;
};

static void read_one(const struct wt_job *job, struct wt_job_file *f)
{
	f->builder = wt_builder_new();
	if (f->builder && job->keep_asides)
		wt_builder_keep_asides(f->builder);
	f->err = f->builder ? wt_import_file(f->path, f->builder, &f->diag)
			    : wt_fail(&f->diag, WT_E_NOMEM, -1, "out of memory");
	if (!wt_job_usable(f)) {
		wt_builder_free(f->builder);
		f->builder = NULL;
	}
}

static void *work(void *arg)
{
	struct reading *r = arg;

	pthread_mutex_lock(&r->lock);
	while (r->next < r->job->n) {
		struct wt_job_file *f = &r->job->files[r->next++];

		pthread_mutex_unlock(&r->lock);
		read_one(r->job, f);
		pthread_mutex_lock(&r->lock);
		f->done = 1;
		pthread_cond_broadcast(&r->one_done);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static unsigned cores(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static void merge(struct wt_builder *b, struct wt_job_file *f)
{
	if (f->builder)
		wt_builder_merge(b, f->builder);
	f->builder = NULL;
}

int wt_job_read(struct wt_job *job, struct wt_builder **ret)
{
	struct reading r = {.job = job};
	struct wt_builder *b = wt_builder_new();
	pthread_t threads[MOST_THREADS];
	unsigned want = cores(), have = 0;

	if (!b)
		return -WT_E_NOMEM;
	wt_importer_formats(); /* makes its text once, while nobody else does */
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.one_done, NULL);
	want = want > MOST_THREADS ? MOST_THREADS : want;
	while (job->n > 1 && have < want && have < job->n &&
	       !pthread_create(&threads[have], NULL, work, &r))
		have++;
	if (!have)
		work(&r);
	for (size_t i = 0; i < job->n; i++) {
		pthread_mutex_lock(&r.lock);
		while (!job->files[i].done)
			pthread_cond_wait(&r.one_done, &r.lock);
		pthread_mutex_unlock(&r.lock);
		merge(b, &job->files[i]);
	}
	for (unsigned i = 0; i < have; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&r.one_done);
	pthread_mutex_destroy(&r.lock);
	wt_builder_note_ranks(b);
	*ret = b;
	return 0;
}

int wt_job_usable(const struct wt_job_file *file)
{
	return !file->err || file->err == -WT_E_TRUNCATED || file->err == -WT_E_CORRUPT;
}

void wt_job_release(struct wt_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		wt_builder_free(job->files[i].builder);
		free(job->files[i].path);
	}
	free(job->files);
	*job = (struct wt_job){.n = 0};
}
