/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a job: a list made of files, folders and patterns, read on as many threads as there are cores, each file
 * into a builder of its own; the builders become one in the order of the list, so the result does not depend on which
 * file was read first. A file that cannot be used leaves nothing behind but its error.
 */
#ifndef WT_JOB_H
#define WT_JOB_H

#include "import/importer.h"

struct wt_job_file {
	char *path;
	int err; /* as wt_import_file() returned: see wt_job_usable() */
	struct wt_diag diag;
	struct wt_builder *builder; /* while it is read */
	int done;
	uint64_t device, inode; /* 0: no regular file */
};
struct wt_job {
	struct wt_job_file *files;
	size_t n, room;
	size_t repeats;	 /* files that were on the list already */
	int keep_asides; /* wt_builder_keep_asides() */
};

/*
 * Adds a file, if it is not on the list already; the traces in a folder (found by content; what `warptap run` leaves
 * beside them is passed over) or, if there are none, those in the folders in it, and so on for four levels, in natural
 * order; or what a pattern (*, ?, [) matches, where no file has that name. 0; -WT_E_NOENT: a folder without a trace;
 * -WT_E_IO: it cannot be listed; -WT_E_NOMEM. *diag says which.
 */
int wt_job_add(struct wt_job *job, const char *path, struct wt_diag *diag);
/* Reads all files. 0 and a builder (of nothing, if no file is usable); -WT_E_NOMEM. */
int wt_job_read(struct wt_job *job, struct wt_builder **ret);
/* 1 if the builder holds this file, whole or what was left of it. */
int wt_job_usable(const struct wt_job_file *file);
void wt_job_release(struct wt_job *job);

#endif
