/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_scenario.h. Keys are checked here against a table, so that a misspelt one is an error with a line number and
 * not a run without the straggler somebody asked for. Values are checked by whoever reads them.
 */
#include "simgpu/core/sim_scenario.h"

#include "simgpu/core/sim_base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES (1 << 20)

static struct {
	char *text;
	struct sim_setting *set;
	size_t n, room;
} scenario;

/* keys = NULL: the section's keys are patterns or names, checked by their reader. */
static const struct {
	const char *section, *keys;
} known[] = {
	{"device", " name count hold memory "},
	{"kernel", NULL},
	{"straggler", " rank factor "},
	{"model",
	 " launch_latency seed kernel h2d_gbs d2h_gbs d2d_gbs p2p_gbs copy_latency queue "},
	{"nccl", " alpha busbw_gbs collective_data slow hang "},
	{"cupti", " hold keep lose_buffer version zero_timestamps "},
	{"clock", " skew drift "},
	{"throttle", " from until factor device "},
	{"fail", NULL},
	{"truth", " calls "},
};

static int section_index(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].section, name))
			return (int)i;
	return -1;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r", end[-1]))
		*--end = 0;
	return s;
}

static void cut_comment(char *line)
{
	for (char *p = line; *p; p++)
		if (*p == '#' && (p == line || p[-1] == ' ' || p[-1] == '\t')) {
			*p = 0;
			return;
		}
}

static void add(const char *section, const char *key, const char *value, int line)
{
	if (scenario.n == scenario.room) {
		size_t room = scenario.room ? scenario.room * 2 : 32;
		struct sim_setting *set = sim_alloc(room * sizeof(*set));
		if (scenario.n)
			memcpy(set, scenario.set, scenario.n * sizeof(*set));
		free(scenario.set);
		scenario.set = set;
		scenario.room = room;
	}
	scenario.set[scenario.n++] = (struct sim_setting){section, key, value, line};
}

/* Several `key = value` may share a line, parted by two blanks or more, as in simgpu/README.md. */
static char *next_part(char **line)
{
	char *s = *line, *gap;

	if (!s || !*s)
		return NULL;
	for (gap = strchr(s, '='); gap && *gap; gap++)
		if (!strncmp(gap, "  ", 2) && strchr(gap, '=')) {
			*gap = 0;
			*line = trim(gap + 1);
			return trim(s);
		}
	*line = NULL;
	return trim(s);
}

static int parse_pair(char *pair, int section, int line, char *err, size_t err_bytes)
{
	const char *keys = known[section].keys;
	/* The last '=': a pattern may hold one, a value does not. */
	char *eq = strrchr(pair, '='), *key, *value, word[64];

	if (!eq) {
		snprintf(err, err_bytes, "line %d: expected \"key = value\", got \"%.60s\"", line,
			 pair);
		return -1;
	}
	*eq = 0;
	key = trim(pair);
	value = trim(eq + 1);
	if (!*key || !*value) {
		snprintf(err, err_bytes, "line %d: %s is empty", line,
			 *key ? "the value" : "the key");
		return -1;
	}
	snprintf(word, sizeof(word), " %.60s ", key);
	if (keys && !strstr(keys, word)) {
		snprintf(err, err_bytes, "line %d: [%s] has no key \"%.60s\"; it has:%s", line,
			 known[section].section, key, keys);
		return -1;
	}
	add(known[section].section, key, value, line);
	return 0;
}

static int parse_line(char *line, int number, int *section, char *err, size_t err_bytes)
{
	char *part;

	cut_comment(line);
	line = trim(line);
	if (*line == '[') {
		char *end = strchr(line, ']');
		if (end)
			*end = 0;
		*section = end ? section_index(trim(line + 1)) : -1;
		if (*section < 0) {
			snprintf(err, err_bytes,
				 "line %d: unknown section \"%.40s\"; known: device kernel truth "
				 "straggler model nccl cupti fail clock throttle",
				 number, line + 1);
			return -1;
		}
		line = trim(end + 1);
	}
	while ((part = next_part(&line))) {
		if (*section < 0) {
			snprintf(err, err_bytes, "line %d: a setting before any [section]", number);
			return -1;
		}
		if (parse_pair(part, *section, number, err, err_bytes))
			return -1;
	}
	return 0;
}

static char *slurp(const char *path, char *err, size_t err_bytes)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;

	if (!f) {
		snprintf(err, err_bytes, "cannot read: %s", strerror(errno));
		return NULL;
	}
	text = sim_alloc(MAX_FILE_BYTES + 1);
	n = fread(text, 1, MAX_FILE_BYTES + 1, f);
	if (ferror(f) || n > MAX_FILE_BYTES || memchr(text, 0, n)) {
		snprintf(err, err_bytes,
			 ferror(f)	      ? "cannot read: is it a directory?"
			 : n > MAX_FILE_BYTES ? "larger than 1 MiB: not a scenario"
					      : "holds NUL bytes: not a text file");
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

int sim_scenario_load(const char *path, char *err, size_t err_bytes)
{
	char detail[256], *line, *save;
	int number = 0, section = -1;

	free(scenario.text);
	scenario.text = NULL;
	scenario.n = 0;
	if (!path || !*path)
		return 0;
	scenario.text = slurp(path, detail, sizeof(detail));
	if (!scenario.text) {
		snprintf(err, err_bytes, "scenario %s: %s", path, detail);
		return -1;
	}
	for (save = scenario.text; (line = strsep(&save, "\n"));) {
		if (parse_line(line, ++number, &section, detail, sizeof(detail))) {
			snprintf(err, err_bytes, "scenario %s: %s", path, detail);
			return -1;
		}
	}
	return 0;
}

const char *sim_scenario_get(const char *dotted)
{
	const char *dot = strchr(dotted, '.');

	/* The last one wins, as in most such files. */
	for (size_t i = scenario.n; dot && i-- > 0;)
		if (!strncmp(scenario.set[i].section, dotted, (size_t)(dot - dotted)) &&
		    !scenario.set[i].section[dot - dotted] && !strcmp(scenario.set[i].key, dot + 1))
			return scenario.set[i].value;
	return NULL;
}

const struct sim_setting *sim_scenario_next(const char *section, const struct sim_setting *after)
{
	size_t i = after ? (size_t)(after - scenario.set) + 1 : 0;

	for (; i < scenario.n; i++)
		if (!strcmp(scenario.set[i].section, section))
			return &scenario.set[i];
	return NULL;
}
