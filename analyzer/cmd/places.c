// SPDX-License-Identifier: Apache-2.0
/* Finding the parts of an installation (places.h). */
#define _GNU_SOURCE
#include "cmd/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int join(char *out, size_t n, const char *a, const char *b)
{
	int len = snprintf(out, n, "%s/%s", a, b);

	return len < 0 || (size_t)len >= n ? -1 : 0;
}

int wt_place_find(char *out, const char *part)
{
	static const char *const places[] = {".", "../lib/warptap"};
	char exe[PATH_MAX], place[PATH_MAX + 32], path[PATH_MAX + 96];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n <= 0)
		return -1;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	if (!slash)
		return -1;
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!join(place, sizeof(place), exe, places[i]) &&
		    !join(path, sizeof(path), place, part) && realpath(path, out))
			return 0;
	return -1;
}
