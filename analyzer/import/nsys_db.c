/* SPDX-License-Identifier: Apache-2.0 */
/* See nsys_db.h. */
#include "import/nsys_db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"

#define MAX_VALUE_BYTES (16 << 20)
#define MAX_SQL_BYTES	(1 << 20)
#define STEP_OPS	100000 /* virtual machine instructions between two looks at the clock hand */
#define MAX_STEP_OPS	(100 * STEP_OPS) /* of one row: an honest table needs some hundreds */
#define MAX_TABLES	4096

struct wt_nsys_db {
	sqlite3 *db;
	char (*tables)[96];
	size_t ntables;
	/* What the authorizer lets through now: one table, or the list of tables. */
	const char *readable;
	int64_t ops; /* of the row at hand */
	int faults;
	char fault[256];
};

/* ---- what may be done ---- */

static int is_readable(const struct wt_nsys_db *d, const char *table)
{
	return table && d->readable && !strcasecmp(table, d->readable);
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *schema,
		     const char *inside)
{
	const struct wt_nsys_db *d = arg;

	switch (action) {
	case SQLITE_SELECT:
		return SQLITE_OK;
	case SQLITE_READ:
		/* Through a view or trigger: whatever it wants, we did not ask for it. */
		return is_readable(d, a) && !inside ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return !strcmp(a, "table_info") && is_readable(d, b) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int watch(void *arg)
{
	struct wt_nsys_db *d = arg;

	d->ops += STEP_OPS;
	return d->ops > MAX_STEP_OPS;
}

static int step(struct wt_nsys_db *d, sqlite3_stmt *s)
{
	d->ops = 0;
	return sqlite3_step(s);
}

static void note_fault(struct wt_nsys_db *d, const char *table, int rc)
{
	d->faults++;
	if (!d->fault[0])
		snprintf(d->fault, sizeof(d->fault), "table %.80s: %s", table,
			 rc == SQLITE_INTERRUPT ? "a row costs more work than any export's does"
						: sqlite3_errmsg(d->db));
}

/* ---- opening ---- */

/* The path as a URI: everything but plain characters is escaped. */
static void uri_of(const char *path, struct wt_strbuf *uri)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";

	/* An empty authority, so that a path with two slashes is not taken for one. */
	wt_strbuf_adds(uri, path[0] == '/' ? "file://" : "file:./");
	for (; *path; path++)
		if (strchr(plain, *path))
			wt_strbuf_addc(uri, *path);
		else
			wt_strbuf_addf(uri, "%%%02X", (unsigned char)*path);
	wt_strbuf_adds(uri, "?mode=ro&immutable=1");
}

static void set_limits(struct wt_nsys_db *d, int rescue)
{
	static const int limits[][2] = {
		{SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES},
		{SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES},
		{SQLITE_LIMIT_COLUMN, 256},
		{SQLITE_LIMIT_EXPR_DEPTH, 32},
		{SQLITE_LIMIT_COMPOUND_SELECT, 2},
		{SQLITE_LIMIT_VDBE_OP, 25000},
		{SQLITE_LIMIT_FUNCTION_ARG, 8},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 128},
		{SQLITE_LIMIT_VARIABLE_NUMBER, 8},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(d->db, limits[i][0], limits[i][1]);
	/*
	 * SQLite refuses a file shorter than its header says, but for connections that may repair a schema. Ours may
	 * write nothing in any case: the file is immutable, and the authorizer knows SELECT alone.
	 */
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, !rescue, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, rescue, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_set_authorizer(d->db, authorize, d);
	sqlite3_progress_handler(d->db, STEP_OPS, watch, d);
}

static int list_tables(struct wt_nsys_db *d)
{
	sqlite3_stmt *s = NULL;
	int rc;

	d->readable = "sqlite_master";
	d->ntables = 0;
	rc = sqlite3_prepare_v2(d->db, "SELECT name FROM sqlite_master WHERE type = 'table'", -1,
				&s, NULL);
	while (rc == SQLITE_OK && (rc = step(d, s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);

		rc = SQLITE_OK;
		if (!name || strlen(name) >= sizeof(*d->tables) || d->ntables == MAX_TABLES)
			continue;
		memcpy(d->tables[d->ntables++], name, strlen(name) + 1);
	}
	sqlite3_finalize(s);
	d->readable = NULL;
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int connect(struct wt_nsys_db *d, const char *path, const void *bytes, size_t n, int rescue)
{
	struct wt_strbuf uri = {.n = 0};
	int rc;

	sqlite3_close(d->db);
	d->db = NULL;
	if (path)
		uri_of(path, &uri);
	rc = uri.failed
		     ? SQLITE_NOMEM
		     : sqlite3_open_v2(path ? wt_strbuf_text(&uri) : ":memory:", &d->db,
				       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				       NULL);
	wt_strbuf_release(&uri);
	if (rc == SQLITE_OK && !path)
		rc = sqlite3_deserialize(d->db, "main", (unsigned char *)bytes, (sqlite3_int64)n,
					 (sqlite3_int64)n, SQLITE_DESERIALIZE_READONLY);
	if (rc != SQLITE_OK)
		return rc;
	set_limits(d, rescue);
	return list_tables(d);
}

static uint32_t be(const uint8_t *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* How many bytes the header says beyond the file's end; 0 if it says nothing reliable. */
static int64_t missing_bytes(const uint8_t h[100], int64_t size)
{
	uint32_t page = be(h + 16, 2);
	int64_t want;

	page = page == 1 ? 65536 : page;
	/* The page count counts only if it was written together with the change counter. */
	if (be(h + 24, 4) != be(h + 92, 4))
		return 0;
	want = (int64_t)page * be(h + 28, 4);
	return want > size ? want - size : 0;
}

static int read_header(const char *path, const void *bytes, size_t n, uint8_t h[100],
		       int64_t *ret_size)
{
	FILE *f;
	int bad;

	*ret_size = (int64_t)n;
	if (!path) {
		if (n < 100)
			return -1;
		memcpy(h, bytes, 100);
		return 0;
	}
	f = fopen(path, "rbe");
	if (!f)
		return -1;
	bad = fread(h, 1, 100, f) != 100 || fseeko(f, 0, SEEK_END);
	*ret_size = bad ? 0 : ftello(f);
	fclose(f);
	return bad ? -1 : 0;
}

int wt_nsys_db_open(struct wt_nsys_db **ret, const char *path, const void *bytes, size_t n,
		    int64_t *ret_missing, struct wt_diag *diag)
{
	struct wt_nsys_db *d = calloc(1, sizeof(*d));
	uint8_t header[100];
	int64_t size;
	int rc;

	*ret_missing = 0;
	if (!d || !(d->tables = calloc(MAX_TABLES, sizeof(*d->tables)))) {
		free(d);
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	}
	if (read_header(path, bytes, n, header, &size)) {
		wt_nsys_db_close(d);
		return wt_fail(
			diag, WT_E_FORMAT, 0,
			"found an SQLite database shorter than the 100 bytes of header expected");
	}
	*ret_missing = missing_bytes(header, size);
	rc = connect(d, path, bytes, n, 0);
	if (rc != SQLITE_OK && rc != SQLITE_NOMEM && *ret_missing)
		rc = connect(d, path, bytes, n, 1);
	/* Some of the list is enough to go on with. */
	if (rc != SQLITE_OK && d->ntables) {
		note_fault(d, "sqlite_master", rc);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_OK) {
		wt_fail(diag, WT_E_CORRUPT, *ret_missing ? size : -1,
			"an SQLite database whose list of tables cannot be read: %s",
			d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(rc));
		wt_nsys_db_close(d);
		return rc == SQLITE_NOTADB ? -WT_E_FORMAT : -WT_E_CORRUPT;
	}
	*ret = d;
	return 0;
}

void wt_nsys_db_close(struct wt_nsys_db *d)
{
	if (!d)
		return;
	sqlite3_close(d->db);
	free(d->tables);
	free(d);
}

/* ---- finding ---- */

int wt_nsys_db_has_prefix(const struct wt_nsys_db *d, const char *prefix)
{
	for (size_t i = 0; i < d->ntables; i++)
		if (!strncasecmp(d->tables[i], prefix, strlen(prefix)))
			return 1;
	return 0;
}

/* 0: another name; 1: this very one; 2 + N: version N of it ("_V3", "_v3", "3"). */
static unsigned long name_match(const char *name, const char *want, size_t n)
{
	const char *tail = name + n;
	char *end;
	unsigned long version;

	if (strncasecmp(name, want, n))
		return 0;
	if (!*tail)
		return 1;
	if (!strncasecmp(tail, "_v", 2))
		tail += 2;
	if (*tail < '0' || *tail > '9' || strlen(tail) > 6)
		return 0;
	version = strtoul(tail, &end, 10);
	return *end ? 0 : 2 + version;
}

static const char *find_name(const struct wt_nsys_db *d, const char *names)
{
	while (*names) {
		size_t n = strcspn(names, "|");
		const char *best = NULL;
		unsigned long best_match = 0;

		for (size_t i = 0; i < d->ntables; i++) {
			unsigned long m = name_match(d->tables[i], names, n);

			if (m == 1)
				return d->tables[i];
			if (m > best_match) {
				best_match = m;
				best = d->tables[i];
			}
		}
		if (best)
			return best;
		names += n + (names[n] == '|');
	}
	return NULL;
}

/* Appends the first of the alternatives that the table has, or NULL. 1 if it has one. */
static int pick_column(sqlite3_str *sql, const char *alternatives, char (*have)[96], size_t nhave)
{
	while (*alternatives) {
		size_t n = strcspn(alternatives, "|");

		for (size_t i = 0; i < nhave; i++) {
			if (strlen(have[i]) == n && !strncasecmp(have[i], alternatives, n)) {
				sqlite3_str_appendf(sql, "\"%w\"", have[i]);
				return 1;
			}
		}
		alternatives += n + (alternatives[n] == '|');
	}
	sqlite3_str_appendall(sql, "NULL");
	return 0;
}

static size_t list_columns(struct wt_nsys_db *d, const char *table, char (*names)[96], size_t room)
{
	char *sql = sqlite3_mprintf("PRAGMA table_info(\"%w\")", table);
	sqlite3_stmt *s = NULL;
	size_t n = 0;

	if (sql && sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) == SQLITE_OK)
		while (n < room && step(d, s) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(s, 1);

			if (name && strlen(name) < sizeof(*names))
				memcpy(names[n++], name, strlen(name) + 1);
		}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return n;
}

static sqlite3_stmt *prepare(struct wt_nsys_db *d, const char *columns, const char *table,
			     const char *order)
{
	char *sql = sqlite3_mprintf("SELECT %s FROM \"%w\" NOT INDEXED %s", columns, table, order);
	sqlite3_stmt *s = NULL;

	if (!sql || sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) != SQLITE_OK)
		s = NULL;
	sqlite3_free(sql);
	return s;
}

int wt_nsys_db_find(struct wt_nsys_db *d, struct wt_nsys_table *ret, const char *names,
		    const char *const *columns)
{
	const char *name = find_name(d, names);
	char(*have)[96];
	sqlite3_str *sql;
	char *text, *with_id;
	size_t nhave;

	*ret = (struct wt_nsys_table){.ncolumns = 0};
	if (!name || !(have = calloc(256, sizeof(*have))))
		return 0;
	d->readable = name;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	nhave = list_columns(d, name, have, 256);
	sql = sqlite3_str_new(d->db);
	for (int i = 0; i < WT_NSYS_COLUMNS && columns[i]; i++, ret->ncolumns++) {
		if (i)
			sqlite3_str_appendall(sql, ", ");
		ret->has |= (uint32_t)pick_column(sql, columns[i], have, nhave) << i;
	}
	free(have);
	text = sqlite3_str_finish(sql);
	with_id = text ? sqlite3_mprintf("%s, rowid", text) : NULL;
	if (with_id) {
		ret->select = prepare(d, with_id, name, "");
		ret->back = ret->select ? prepare(d, with_id, name, "ORDER BY rowid DESC") : NULL;
	}
	/* A table without row ids cannot be read from behind. */
	if (text && !ret->select)
		ret->select = prepare(d, text, name, "");
	if (!ret->select)
		note_fault(d, name, SQLITE_ERROR);
	sqlite3_free(with_id);
	sqlite3_free(text);
	d->readable = NULL;
	return ret->select != NULL;
}

/* ---- reading ---- */

int wt_nsys_db_scan(struct wt_nsys_db *d, struct wt_nsys_table *t,
		    int (*row)(void *arg, struct sqlite3_stmt *s), void *arg)
{
	sqlite3_int64 last = INT64_MIN;
	int rc, err = 0;

	while ((rc = step(d, t->select)) == SQLITE_ROW) {
		if (t->back)
			last = sqlite3_column_int64(t->select, t->ncolumns);
		err = row(arg, t->select);
		if (err)
			return err;
	}
	if (rc == SQLITE_DONE)
		return 0;
	note_fault(d, t->name, rc);
	if (rc == SQLITE_INTERRUPT || !t->back)
		return 0;
	while ((rc = step(d, t->back)) == SQLITE_ROW &&
	       sqlite3_column_int64(t->back, t->ncolumns) > last) {
		err = row(arg, t->back);
		if (err)
			return err;
	}
	return 0;
}

void wt_nsys_db_done(struct wt_nsys_table *t)
{
	sqlite3_finalize(t->select);
	sqlite3_finalize(t->back);
	t->select = t->back = NULL;
}

struct sqlite3_stmt *wt_nsys_db_lookup(struct wt_nsys_db *d, const struct wt_nsys_table *t)
{
	char *sql = sqlite3_mprintf("PRAGMA table_info(\"%w\")", t->name);
	sqlite3_stmt *s = NULL, *lookup = NULL;
	int is_key = 0;

	d->readable = t->name;
	if (sql && sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) == SQLITE_OK)
		while (step(d, s) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(s, 1);
			const char *type = (const char *)sqlite3_column_text(s, 2);

			/* Only such a column is the row's own key. */
			if (name && type && !strcasecmp(name, "id") &&
			    !strcasecmp(type, "INTEGER") && sqlite3_column_int(s, 5) == 1)
				is_key = 1;
		}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	sql = is_key ? sqlite3_mprintf("SELECT value FROM \"%w\" WHERE id = ?", t->name) : NULL;
	if (sql && sqlite3_prepare_v2(d->db, sql, -1, &lookup, NULL) != SQLITE_OK)
		lookup = NULL;
	sqlite3_free(sql);
	d->readable = NULL;
	return lookup;
}

const char *wt_nsys_db_text(struct wt_nsys_db *d, struct sqlite3_stmt *lookup, int64_t key,
			    size_t *ret_n)
{
	const char *text = NULL;
	int rc;

	sqlite3_reset(lookup);
	sqlite3_bind_int64(lookup, 1, key);
	rc = step(d, lookup);
	if (rc == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(lookup, 0);
	else if (rc != SQLITE_DONE)
		note_fault(d, "StringIds", rc);
	*ret_n = text ? (size_t)sqlite3_column_bytes(lookup, 0) : 0;
	return text;
}

int wt_nsys_db_faults(const struct wt_nsys_db *d)
{
	return d->faults;
}

const char *wt_nsys_db_fault(const struct wt_nsys_db *d)
{
	return d->fault;
}
