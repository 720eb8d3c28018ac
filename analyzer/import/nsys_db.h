/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A foreign SQLite file, read as data and never trusted: opened read-only and immutable (no journal, no lock, nothing
 * written beside it), with limits on sizes and on the work of one row, and an authorizer that lets only the tables
 * named by wt_nsys_db_find() be read. Tables are scanned front to back; where a page is bad, what lies behind it is
 * read from the end backwards. One thread.
 */
#ifndef WT_NSYS_DB_H
#define WT_NSYS_DB_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wt_err.h"

struct sqlite3_stmt;
struct wt_nsys_db;

#define WT_NSYS_COLUMNS 32

struct wt_nsys_table {
	char name[96];		     /* as found; "" = not there */
	struct sqlite3_stmt *select; /* of the asked columns in their order, then the row id */
	struct sqlite3_stmt *back;   /* the same from the end */
	uint32_t has;		     /* bit i: column i exists (others read as NULL) */
	int ncolumns;
};

/*
 * Opens the file at `path`, or n bytes in memory if path is NULL. -WT_E_FORMAT: no database; -WT_E_CORRUPT: one whose
 * list of tables cannot be read. A file cut short is opened for what is left: *ret_missing = bytes it lacks.
 */
int wt_nsys_db_open(struct wt_nsys_db **ret, const char *path, const void *bytes, size_t n,
		    int64_t *ret_missing, struct wt_diag *diag);
void wt_nsys_db_close(struct wt_nsys_db *db);

/* 1 if there is a table whose name begins like this. */
int wt_nsys_db_has_prefix(const struct wt_nsys_db *db, const char *prefix);
/*
 * Finds a table by its name or a versioned one ("NAME_V3", "NAME3"; the highest counts) and prepares reading it.
 * `names` and each entry of `columns` are alternatives separated by '|', the first that exists is taken; columns end
 * with NULL. 1 if it is there and can be read, 0 if not.
 */
int wt_nsys_db_find(struct wt_nsys_db *db, struct wt_nsys_table *ret, const char *names,
		    const char *const *columns);
/* Calls row() for every row that can be read. Damage is kept in the database, see below. 0 or what row() returned. */
int wt_nsys_db_scan(struct wt_nsys_db *db, struct wt_nsys_table *t,
		    int (*row)(void *arg, struct sqlite3_stmt *s), void *arg);
void wt_nsys_db_done(struct wt_nsys_table *t);
/* Looks one text up by integer key (table from find() with the columns key, text): NULL if it is not there. */
const char *wt_nsys_db_text(struct wt_nsys_db *db, struct sqlite3_stmt *lookup, int64_t key,
			    size_t *ret_n);
/* A look-up of t's second column by its first; NULL if the first is no integer primary key. */
struct sqlite3_stmt *wt_nsys_db_lookup(struct wt_nsys_db *db, const struct wt_nsys_table *t);
/* Tables that could not be read to the end, and the first of them in words; "" if none. */
int wt_nsys_db_faults(const struct wt_nsys_db *db);
const char *wt_nsys_db_fault(const struct wt_nsys_db *db);

#endif
