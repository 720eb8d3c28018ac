/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner against yajl on whole trace files, event by event: for each element of the outermost array, or of
 * traceEvents, both must have seen the same tokens (kinds, keys, decoded strings, numbers as text). All public Kineto
 * files that are here, and made ones of each style. Sanitised builds take every eighth public file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>
#include <yajl/yajl_parse.h>

#include "base/strtab.h"
#include "import/json_scan.h"

struct events { /* a hash for each */
	uint64_t *hash;
	size_t n, room;
	uint64_t at; /* of the event being read */
	int depth;   /* of yajl's walk */
	int in_list, is_array, next_is_list;
};

static void end_event(struct events *e)
{
	if (e->n == e->room) {
		e->room = e->room ? e->room * 2 : 1024;
		e->hash = realloc(e->hash, e->room * sizeof(*e->hash));
		assert_non_null(e->hash);
	}
	e->hash[e->n++] = e->at;
	e->at = 0;
}

static void token(struct events *e, char kind, const void *s, size_t n)
{
	e->at = wt_hash_bytes(s, n, e->at * 31 + (uint64_t)kind);
}

/* ---- ours ---- */

static void walk(struct wt_json *js, struct events *e);

static void walk_object(struct wt_json *js, struct events *e)
{
	struct wt_json_text key;
	int rc;

	token(e, '{', "", 0);
	assert_int_equal(wt_json_enter_object(js), 0);
	while ((rc = wt_json_key(js, &key)) > 0) {
		token(e, 'k', key.s, key.n);
		walk(js, e);
	}
	assert_int_equal(rc, 0);
	token(e, '}', "", 0);
}

static void walk(struct wt_json *js, struct events *e)
{
	struct wt_json_text t;
	int kind = wt_json_peek(js), rc;

	if (kind == WT_JSON_OBJECT) {
		walk_object(js, e);
	} else if (kind == WT_JSON_ARRAY) {
		token(e, '[', "", 0);
		assert_int_equal(wt_json_enter_array(js), 0);
		while ((rc = wt_json_item(js)) > 0)
			walk(js, e);
		assert_int_equal(rc, 0);
		token(e, ']', "", 0);
	} else {
		assert_true(kind > 0);
		assert_int_equal(wt_json_scalar(js, &t), kind);
		if (kind == WT_JSON_STRING || kind == WT_JSON_NUMBER)
			token(e, kind == WT_JSON_STRING ? 's' : 'n', t.s, t.n);
		else
			token(e,
			      kind == WT_JSON_TRUE    ? 't'
			      : kind == WT_JSON_FALSE ? 'f'
						      : '0',
			      "", 0);
	}
}

static void walk_list(struct wt_json *js, struct events *e)
{
	int rc;

	assert_int_equal(wt_json_enter_array(js), 0);
	while ((rc = wt_json_item(js)) > 0) {
		e->at = 0;
		walk(js, e);
		end_event(e);
	}
	assert_int_equal(rc, 0);
}

static void scan(struct wt_source *src, struct events *e)
{
	struct wt_json *js = wt_json_new(src, 0);
	struct wt_json_text key;
	int rc;

	assert_non_null(js);
	if (wt_json_peek(js) == WT_JSON_ARRAY) {
		walk_list(js, e);
	} else {
		assert_int_equal(wt_json_enter_object(js), 0);
		while ((rc = wt_json_key(js, &key)) > 0) {
			if (key.n == 11 && !memcmp(key.s, "traceEvents", 11) &&
			    wt_json_peek(js) == WT_JSON_ARRAY)
				walk_list(js, e);
			else
				assert_int_equal(wt_json_skip(js), 0);
		}
		assert_int_equal(rc, 0);
	}
	assert_int_equal(wt_json_finish(js), 0);
	wt_json_free(js);
}

/* ---- yajl's ---- */

/* The list's own depth: 1 where it is the outermost value, else 2. An event's values lie deeper. */
static int take(struct events *e, char kind, const void *s, size_t n, int step)
{
	int list = e->is_array ? 1 : 2;

	if (step < 0)
		e->depth--;
	if (e->in_list && (e->depth > list || (e->depth == list && kind != ']'))) {
		token(e, kind, s, n);
		if (e->depth == list && step <= 0)
			end_event(e);
	} else if (e->in_list && kind == ']' && e->depth == list - 1) {
		e->in_list = 0;
	} else if (kind == '[' && e->depth == list - 1 && (e->is_array || e->next_is_list)) {
		e->in_list = 1;
		e->at = 0;
	}
	e->next_is_list = kind == 'k' && e->depth == 1 && n == 11 && !memcmp(s, "traceEvents", 11);
	if (step > 0)
		e->depth++;
	return 1;
}

static int y_null(void *e)
{
	return take(e, '0', "", 0, 0);
}
static int y_bool(void *e, int v)
{
	return take(e, v ? 't' : 'f', "", 0, 0);
}
static int y_number(void *e, const char *s, size_t n)
{
	return take(e, 'n', s, n, 0);
}
static int y_string(void *e, const unsigned char *s, size_t n)
{
	return take(e, 's', s, n, 0);
}
static int y_key(void *e, const unsigned char *s, size_t n)
{
	return take(e, 'k', s, n, 0);
}
static int y_open_map(void *e)
{
	return take(e, '{', "", 0, 1);
}
static int y_close_map(void *e)
{
	return take(e, '}', "", 0, -1);
}
static int y_open_array(void *e)
{
	if (!((struct events *)e)->depth)
		((struct events *)e)->is_array = 1;
	return take(e, '[', "", 0, 1);
}
static int y_close_array(void *e)
{
	return take(e, ']', "", 0, -1);
}

static const yajl_callbacks callbacks = {y_null,      y_bool,	    NULL,	  NULL,
					 y_number,    y_string,	    y_open_map,	  y_key,
					 y_close_map, y_open_array, y_close_array};

static void parse_yajl(struct wt_source *src, struct events *e)
{
	static unsigned char buf[65536];
	yajl_handle h = yajl_alloc(&callbacks, NULL, e);
	long n;

	assert_non_null(h);
	while ((n = wt_source_read(src, buf, sizeof(buf))) > 0)
		assert_int_equal(yajl_parse(h, buf, (size_t)n), yajl_status_ok);
	assert_int_equal(n, 0);
	assert_int_equal(yajl_complete_parse(h), yajl_status_ok);
	yajl_free(h);
}

/* ---- */

static size_t compare(const char *what, struct wt_source *a, struct wt_source *b)
{
	struct events ours = {.n = 0}, theirs = {.n = 0};

	scan(a, &ours);
	parse_yajl(b, &theirs);
	wt_source_close(a);
	wt_source_close(b);
	for (size_t i = 0; i < ours.n && i < theirs.n; i++)
		if (ours.hash[i] != theirs.hash[i])
			fail_msg("%s: event %zu reads differently", what, i);
	if (ours.n != theirs.n)
		fail_msg("%s: %zu events, yajl sees %zu", what, ours.n, theirs.n);
	free(ours.hash);
	free(theirs.hash);
	return ours.n;
}

static void test_made(void **state)
{
	static const char *const args[] = {
		"--noise --nccl --steps 3", "--style old --pretty --noise",
		"--style rocm --array --shuffle --quoted", "--header-last --empty --untimed",
		"--devices 3 --steps 40 --noise --seed 9"};
	static char text[16 << 20];

	for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++) {
		struct wt_source *a, *b;
		char command[256];
		FILE *f;
		size_t n;

		snprintf(command, sizeof(command), "python3 tests/gen/gen_kineto.py %s", args[i]);
		f = popen(command, "r");
		assert_non_null(f);
		n = fread(text, 1, sizeof(text), f);
		assert_int_equal(pclose(f), 0);
		assert_in_range(n, 1000, sizeof(text) - 1);
		assert_int_equal(wt_source_open_memory(&a, text, n), 0);
		assert_int_equal(wt_source_open_memory(&b, text, n), 0);
		assert_in_range(compare(args[i], a, b), 20, 100000);
	}
}

static void test_public(void **state)
{
	glob_t files;
	size_t events = 0, step = 1;

#ifdef __SANITIZE_ADDRESS__
	step = 8;
#endif
	if (glob("../shared/traces/kineto/*", 0, NULL, &files))
		skip();
	for (size_t i = 0; i < files.gl_pathc; i += step) {
		struct wt_source *a, *b;

		assert_int_equal(wt_source_open(&a, files.gl_pathv[i], NULL), 0);
		assert_int_equal(wt_source_open(&b, files.gl_pathv[i], NULL), 0);
		events += compare(files.gl_pathv[i], a, b);
	}
	printf("%zu files, %zu events\n", files.gl_pathc, events);
	globfree(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
