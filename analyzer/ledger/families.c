/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See families.h. An expression's alternatives are asked one by one; most are told by a word (pattern_words.h). Those
 * that are more than a word are read at first use: a file with five kernels needs few of them. What pattern.h does not
 * know is left to the C library, whole.
 */
#include "ledger/families.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/pattern.h"
#include "ledger/pattern_words.h"

#define LONGEST_NAME	  2048 /* of a name, what expressions see: template names of megabytes exist */
#define MOST_NAMES	  (1u << 24) /* that are remembered */
#define MOST_ALTERNATIVES 64	     /* that are asked one by one */
#define LATENCY_NS	  10000
#define SMALL_TILE	  32

/* What was found out about a name. */
struct known {
	uint16_t row;  /* + 1; 0 = none */
	uint8_t asked; /* ASKED_* */
	uint8_t state;
	uint8_t matrix;
};
#define ASKED_ROW    1u
#define ASKED_MATRIX 2u

struct wt_families {
	const struct wt_family_row *table;
	int n;
	struct wt_family_row *own; /* a table of the caller's; its words lie in `text` */
	char *text;
	struct row {
		uint32_t first, nalternatives;
		uint8_t by_library;
		regex_t *compiled; /* NULL: not yet */
	} * rows;
	struct alternative {
		struct wt_alternative words;
		struct wt_pattern *pattern; /* NULL: not yet, or not needed */
	} * alternatives;
	size_t nalternatives, room;
	struct known *known; /* by name id */
	size_t known_room;
};

/* Takes row i's expression apart. */
static int add_alternatives(struct wt_families *f, int i)
{
	const char *pattern = f->table[i].pattern;
	int32_t at = 0;

	f->rows[i].first = (uint32_t)f->nalternatives;
	do {
		if (f->nalternatives == f->room) {
			size_t room = f->room ? f->room * 2 : 1024;
			struct alternative *more = realloc(f->alternatives, room * sizeof(*more));

			if (!more)
				return -WT_E_NOMEM;
			f->alternatives = more;
			f->room = room;
		}
		f->alternatives[f->nalternatives].pattern = NULL;
		at = wt_pattern_alternative(pattern, at,
					    &f->alternatives[f->nalternatives++].words);
		f->rows[i].nalternatives++;
	} while (at >= 0 && f->rows[i].nalternatives < MOST_ALTERNATIVES);
	if (at >= 0) { /* a caller's row: many questions in one are the library's strength */
		f->nalternatives = f->rows[i].first;
		f->rows[i].by_library = 1;
	}
	return 0;
}

static struct wt_families *with_table(const struct wt_family_row *table, int n)
{
	struct wt_families *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return NULL;
	f->table = table;
	f->n = n;
	f->rows = calloc((size_t)n + 1, sizeof(*f->rows));
	for (int i = 0; f->rows && table && i < n && !err; i++)
		err = add_alternatives(f, i);
	if (!f->rows || err) {
		wt_families_free(f);
		return NULL;
	}
	return f;
}

struct wt_families *wt_families_new(void)
{
	return with_table(wt_family_rows, wt_nfamily_rows);
}

void wt_families_free(struct wt_families *f)
{
	if (!f)
		return;
	for (int i = 0; f->rows && i < f->n; i++) {
		if (f->rows[i].compiled)
			regfree(f->rows[i].compiled);
		free(f->rows[i].compiled);
	}
	for (size_t i = 0; i < f->nalternatives; i++)
		wt_pattern_free(f->alternatives[i].pattern);
	free(f->rows);
	free(f->alternatives);
	free(f->known);
	free(f->own);
	free(f->text);
	free(f);
}

/* ---- a table of the caller's ---- */

#define MOST_ROWS	4096
#define LONGEST_PATTERN 2048
#define MOST_PLUSES	8
#define MOST_TEXT	(1u << 20)
enum column { PATTERN, FAMILY, LIBRARY, BOUND, ROLE, FLAGS, COLUMNS };
#define MOST_CELLS 16

static const char *const column_names[COLUMNS] = {"pattern",	 "family", "library",
						  "bound_guess", "role",   "flags"};

static int bad_line(struct wt_diag *diag, int line, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "line %d: %s", line, what);
	return wt_fail(diag, WT_E_CORRUPT, -1, "%s", text);
}

static int count_of(const char *s, char c)
{
	int n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* Cuts a line at its tabs. */
static int cells_of(char *line, char **cells)
{
	int n = 0;

	for (char *at = line; at && n < MOST_CELLS; n++)
		cells[n] = strsep(&at, "\t");
	return n;
}

static int read_header(char *line, int *place, struct wt_diag *diag)
{
	char *cells[MOST_CELLS];
	int n = cells_of(line, cells);

	for (int c = 0; c < COLUMNS; c++) {
		place[c] = -1;
		for (int i = 0; i < n; i++)
			if (!strcmp(cells[i], column_names[c]))
				place[c] = i;
		if (place[c] < 0)
			return bad_line(
				diag, 1,
				"the columns pattern, family, library, bound_guess, role and "
				"flags are expected");
	}
	return 0;
}

static int read_row(char *line, int number, const int *place, struct wt_family_row *ret,
		    struct wt_diag *diag)
{
	static const char *const bounds[] = {
		[WT_BOUND_COMPUTE] = "compute",
		[WT_BOUND_MEMORY] = "memory",
		[WT_BOUND_LATENCY] = "latency",
		[WT_BOUND_COMM] = "comm",
	};
	char *cells[MOST_CELLS];
	int n = cells_of(line, cells);
	regex_t re;

	for (int c = 0; c < COLUMNS; c++)
		if (place[c] >= n)
			return bad_line(diag, number, "a column is missing");
	*ret = (struct wt_family_row){.pattern = cells[place[PATTERN]],
				      .family = cells[place[FAMILY]],
				      .library = cells[place[LIBRARY]],
				      .role = cells[place[ROLE]],
				      .icase = strchr(cells[place[FLAGS]], 'i') != NULL};
	for (size_t i = WT_BOUND_COMPUTE; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (!strcmp(cells[place[BOUND]], bounds[i]))
			ret->bound = (enum wt_bound)i;
	if (ret->bound == WT_BOUND_UNKNOWN)
		return bad_line(diag, number,
				"bound_guess is none of compute, memory, latency, comm");
	/* The library expands repetition: a short pattern with counts, or a + of a + of..., could take all memory. */
	if (strlen(ret->pattern) > LONGEST_PATTERN || strchr(ret->pattern, '{'))
		return bad_line(diag, number, "the pattern is longer than 2048 or has a {count}");
	if (count_of(ret->pattern, '+') > MOST_PLUSES)
		return bad_line(diag, number, "the pattern has more than 8 times +");
	if (!*ret->pattern || regcomp(&re, ret->pattern, REG_EXTENDED | REG_NOSUB))
		return bad_line(diag, number, "the pattern is no POSIX extended expression");
	regfree(&re);
	return 0;
}

static int parse_lines(struct wt_families *f, struct wt_diag *diag)
{
	char *at = f->text;
	int place[COLUMNS], err = 0;

	for (int number = 1; !err && at; number++) {
		char *line = strsep(&at, "\n");

		if (number == 1) {
			err = read_header(line, place, diag);
		} else if (*line && *line != '#') {
			if (f->n == MOST_ROWS)
				return wt_fail(diag, WT_E_LIMIT, -1, "more than %d lines",
					       MOST_ROWS);
			err = read_row(line, number, place, &f->own[f->n], diag);
			if (!err && add_alternatives(f, f->n))
				return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
			f->n += !err;
		}
	}
	return err;
}

int wt_families_parse(struct wt_families **ret, const char *text, size_t n, struct wt_diag *diag)
{
	struct wt_families *f;
	int err = 0;

	if (n > MOST_TEXT)
		return wt_fail(diag, WT_E_LIMIT, -1, "more than 1 MiB");
	f = with_table(NULL, MOST_ROWS);
	if (f) {
		f->n = 0;
		f->own = calloc(MOST_ROWS, sizeof(*f->own));
		f->text = strndup(text, n);
		f->table = f->own;
	}
	if (!f || !f->own || !f->text)
		err = wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	err = err ? err : parse_lines(f, diag);
	if (err) {
		wt_families_free(f);
		return err;
	}
	*ret = f;
	return 0;
}

static int finds_by_library(struct wt_families *f, int i, const char *name)
{
	struct row *row = &f->rows[i];

	if (!row->compiled) {
		row->compiled = malloc(sizeof(*row->compiled));
		/* A test compiles every row of our table, and a caller's was tried: failure here is lack of memory. */
		if (!row->compiled ||
		    regcomp(row->compiled, f->table[i].pattern,
			    REG_EXTENDED | REG_NOSUB | (f->table[i].icase ? REG_ICASE : 0))) {
			free(row->compiled);
			row->compiled = NULL;
			return 0;
		}
	}
	return !regexec(row->compiled, name, 0, NULL, 0);
}

/* Whether row i's expression finds something in the name, whose pairs are given. */
static int finds(struct wt_families *f, int i, const char *name, const struct wt_pairs *pairs)
{
	const struct wt_family_row *row = &f->table[i];

	for (uint32_t k = 0; k < f->rows[i].nalternatives && !f->rows[i].by_library; k++) {
		struct alternative *a = &f->alternatives[f->rows[i].first + k];

		if (!wt_alternative_may_match(&a->words, row->pattern, row->icase, name, pairs))
			continue;
		if (a->words.is_word)
			return 1;
		if (!a->pattern)
			a->pattern =
				wt_pattern_new(row->pattern + a->words.at, a->words.n, row->icase);
		if (!a->pattern)
			f->rows[i].by_library = 1;
		else if (wt_pattern_finds(a->pattern, name))
			return 1;
	}
	return f->rows[i].by_library && finds_by_library(f, i, name);
}

static uint32_t match(struct wt_families *f, const char *name)
{
	char cut[LONGEST_NAME + 1];
	struct wt_pairs pairs;

	if (strlen(name) > LONGEST_NAME) {
		memcpy(cut, name, LONGEST_NAME);
		cut[LONGEST_NAME] = 0;
		name = cut;
	}
	wt_pairs_of(name, strlen(name), &pairs);
	for (int i = 0; i < f->n; i++)
		if (finds(f, i, name, &pairs))
			return (uint32_t)i + 1;
	return 0;
}

enum wt_state wt_family_state(const struct wt_family_row *row)
{
	static const struct {
		const char *role, *family;
		enum wt_state state;
	} states[] = {
		{"comm", NULL, WT_STATE_COMM},
		{"spin", NULL, WT_STATE_SPIN},
		/* ROCm copies by kernels. */
		{NULL, "memcpy", WT_STATE_COPY},
		{NULL, "memset", WT_STATE_COPY},
	};

	for (size_t i = 0; row && i < sizeof(states) / sizeof(states[0]); i++) {
		const char *word = states[i].role ? states[i].role : states[i].family,
			   *its = states[i].role ? row->role : row->family;

		if (*its == *word && !strcmp(its, word))
			return states[i].state;
	}
	return WT_STATE_COMPUTE;
}

int wt_family_is_matrix(const struct wt_family_row *row, const char *name)
{
	static const char *const roles[] = {"gemm", "attention", "conv", "moe"};
	/* Matrix products of the ordinary pipes. Those of the matrix pipe carry its shape: s884gemm, s16816gemm. */
	static const char *const ordinary[] = {"_sgemm",    "_dgemm",	       "_hgemm",
					       "scudnn",    "_simt_",	       "gemmSN_",
					       "gemmk1_",   "cudnn::detail::", "winograd_nonfused",
					       "naive_conv"};

	size_t role = 0;

	while (row && role < sizeof(roles) / sizeof(roles[0]) && strcmp(row->role, roles[role]))
		role++;
	if (!row || role == sizeof(roles) / sizeof(roles[0]))
		return 0;
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
		if (strstr(name, ordinary[i]))
			return 0;
	return 1;
}

static int make_room(struct wt_families *f, uint32_t id)
{
	size_t n = f->known_room ? f->known_room : 256;
	struct known *known;

	while (n <= id)
		n *= 2;
	known = realloc(f->known, n * sizeof(*known));
	if (!known)
		return -WT_E_NOMEM;
	memset(known + f->known_room, 0, (n - f->known_room) * sizeof(*known));
	f->known = known;
	f->known_room = n;
	return 0;
}

/* What is known of the name; without memory it is asked again each time. */
static const struct known *look_up(struct wt_families *f, uint32_t id, const char *name,
				   unsigned wanted, struct known *spare)
{
	struct known *k = spare;

	if (id < f->known_room && (f->known[id].asked & wanted) == wanted)
		return &f->known[id];
	*spare = (struct known){.row = 0};
	if (id < f->known_room || (id < MOST_NAMES && !make_room(f, id)))
		k = &f->known[id];
	if (!(k->asked & ASKED_ROW)) {
		k->row = (uint16_t)match(f, name);
		k->state = (uint8_t)wt_family_state(k->row ? &f->table[k->row - 1] : NULL);
		k->asked |= ASKED_ROW;
	}
	if (wanted & ASKED_MATRIX) {
		k->matrix =
			(uint8_t)wt_family_is_matrix(k->row ? &f->table[k->row - 1] : NULL, name);
		k->asked |= ASKED_MATRIX;
	}
	return k;
}

const struct wt_family_row *wt_family_of(struct wt_families *f, uint32_t id, const char *name)
{
	struct known spare;
	uint16_t row = look_up(f, id, name, ASKED_ROW, &spare)->row;

	return row ? &f->table[row - 1] : NULL;
}

enum wt_state wt_family_state_of(struct wt_families *f, uint32_t id, const char *name)
{
	struct known spare;

	return (enum wt_state)look_up(f, id, name, ASKED_ROW, &spare)->state;
}

int wt_family_is_matrix_of(struct wt_families *f, uint32_t id, const char *name)
{
	struct known spare;

	return look_up(f, id, name, ASKED_ROW | ASKED_MATRIX, &spare)->matrix;
}

/* The smaller side of the first "<digits>x<digits>" after `mark`, 0 if there is none. */
static unsigned tile_after(const char *name, const char *mark)
{
	const char *at = strstr(name, mark);

	for (at = at ? at + strlen(mark) : ""; *at; at++) {
		char *end;
		unsigned long a, b;

		if (*at < '0' || *at > '9')
			continue;
		a = strtoul(at, &end, 10);
		if (*end == 'x' && end[1] >= '0' && end[1] <= '9') {
			b = strtoul(end + 1, NULL, 10);
			return (unsigned)(a < b ? a : b);
		}
		at = end - 1;
	}
	return 0;
}

/* GEMM names that carry their tile: a narrow one means few rows, and few rows mean that weights are read, not used. */
static int small_tile(const char *name)
{
	static const char *const marks[] = {"nvjet_", "_MT", "_Fp32_t", "tilesize"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		unsigned side = tile_after(name, marks[i]);

		if (side)
			return side <= SMALL_TILE;
	}
	return 0;
}

enum wt_bound wt_family_bound(const struct wt_family_row *row, const char *name,
			      int64_t duration_ns)
{
	if (!row)
		return WT_BOUND_UNKNOWN;
	if (duration_ns < LATENCY_NS && row->bound != WT_BOUND_COMM)
		return WT_BOUND_LATENCY;
	if (row->bound == WT_BOUND_COMPUTE && !strcmp(row->role, "gemm") && small_tile(name))
		return WT_BOUND_MEMORY;
	return row->bound;
}
