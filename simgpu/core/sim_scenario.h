/* SPDX-License-Identifier: Apache-2.0 */
/* The scenario file: read once at cuInit, never changed afterwards, so reading needs no lock. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stddef.h>

struct sim_setting {
	const char *section, *key, *value;
	int line;
};

/* NULL path = an empty scenario. 0 = ok; -1: one line of what is wrong, with file and line, in err. */
int sim_scenario_load(const char *path, char *err, size_t err_bytes);
/* Value by "section.key", NULL if unset. Lives for ever. */
const char *sim_scenario_get(const char *dotted);
/* The settings of a section in file order: the next one after `after` (NULL = first), NULL at the end. */
const struct sim_setting *sim_scenario_next(const char *section, const struct sim_setting *after);

#endif
