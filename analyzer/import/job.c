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
#define MOST_FOLDERS 10000u /* looked into for one that is given */
#define DEEPEST	     4u

/* ---- the list ---- */

/* The same file under any name counts once. */
static int is_there(struct wt_job *job, const struct stat *st)
{
	for (size_t i = 0; i < job->n; i++)
		if (job->files[i].inode == st->st_ino && job->files[i].device == st->st_dev)
			return 1;
	return 0;
}

static int add_file(struct wt_job *job, const char *path)
{
	struct stat st;
	int is_file = !stat(path, &st) && S_ISREG(st.st_mode);
	char *copy;

	if (is_file && is_there(job, &st)) {
		job->repeats++;
		return 0;
	}
	copy = strdup(path);

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
	job->files[job->n++] = (struct wt_job_file){.path = copy,
						    .diag = {.offset = -1},
						    .device = is_file ? st.st_dev : 0,
						    .inode = is_file ? st.st_ino : 0};
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

struct folders {
	struct wt_job *job;
	unsigned left; /* that may still be listed */
};

/* The traces in the folders `levels` below this one. 0, -WT_E_NOMEM, or -WT_E_IO (errno says why). */
static int list_folder(struct folders *f, const char *path, unsigned levels)
{
	struct dirent **names = NULL;
	int n, rc = 0;

	if (!f->left)
		return 0;
	f->left--;
	n = scandir(path, &names, NULL, versionsort);
	if (n < 0)
		return -WT_E_IO;
	for (int i = 0; i < n; i++) {
		size_t room = strlen(path) + strlen(names[i]->d_name) + 2;
		char *file = malloc(room);

		rc = file ? rc : -WT_E_NOMEM;
		if (!rc) {
			snprintf(file, room, "%s%s%s", path, ends_with(path, "/") ? "" : "/",
				 names[i]->d_name);
			if (levels && is_folder(file, names[i]->d_name))
				rc = list_folder(f, file, levels - 1) == -WT_E_NOMEM ? -WT_E_NOMEM
										     : 0;
			else if (!levels && is_trace(file, names[i]->d_name))
				rc = add_file(f->job, file);
		}
		free(file);
		free(names[i]);
	}
	free(names);
	return rc;
}

/*
 * A folder a rank is usual, and some tools put what they write a few folders down (plugins/profile/RUN/). The least
 * deep level with a trace counts: folders beside traces are more likely other runs.
 */
static int add_folder(struct wt_job *job, const char *path, struct wt_diag *diag)
{
	struct folders f = {.job = job, .left = MOST_FOLDERS};
	size_t before = job->n, repeats = job->repeats;
	int rc = 0;

	for (unsigned levels = 0; levels <= DEEPEST && !rc; levels++) {
		rc = list_folder(&f, path, levels);
		if (job->n > before || job->repeats > repeats)
			break;
	}
	if (rc == -WT_E_IO)
		return wt_fail(diag, WT_E_IO, -1, "cannot list the folder: %s", strerror(errno));
	if (rc)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (job->n > before || job->repeats > repeats)
		return 0;
	if (!f.left)
		return wt_fail(diag, WT_E_NOENT, -1,
			       "no trace in the first %u folders: give the one that holds them",
			       MOST_FOLDERS);
	return wt_fail(
		diag, WT_E_NOENT, -1,
		"no trace in this folder, nor %u levels of folders down; expected files of: %s",
		DEEPEST, wt_importer_formats());
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
	if (job->repeats)
		wt_builder_note(b, "%zu of the files named were named before: each is read once",
				job->repeats);
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
