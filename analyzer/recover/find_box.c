/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The black box of a trace (recover.h). Beside it as a rule; where that folder is on a network file system, where the
 * agent of this machine puts them then. Names come again: outside the folder of the trace it must be its own by the id
 * of the file, and belong to who owns the trace, since anybody can put something into /tmp.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/box.h"
#include "agent/box_places.h"
#include "proto/frame.h"
#include "recover/recover.h"

#define FILE_ID 16

struct sought {
	uint8_t id[FILE_ID];
	uid_t owner;
	const char *name; /* without folder and ending */
	int len;
};

static int read_at(int fd, void *to, size_t n, size_t at)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n ? 0 : -1;
}

/* Its id stands in the first marker. */
static int look_at_trace(const char *trace, struct sought *s)
{
	int fd = open(trace, O_RDONLY | O_CLOEXEC | O_NONBLOCK), bad;
	const char *slash = strrchr(trace, '/');
	uint8_t marker[WT_FRAME_MARKER_BYTES];
	struct stat st;

	if (fd < 0)
		return -1;
	bad = fstat(fd, &st) || !S_ISREG(st.st_mode) || read_at(fd, marker, sizeof(marker), 0) ||
	      memcmp(marker + 8, "WTAP", 4) != 0;
	close(fd);
	if (bad)
		return -1;
	memcpy(s->id, marker + 12, sizeof(s->id));
	s->owner = st.st_uid;
	s->name = slash ? slash + 1 : trace;
	s->len = (int)strlen(s->name) - 3;
	return 0;
}

static int is_its_box(const char *path, const struct sought *s)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), good;
	uint8_t id[FILE_ID];
	char magic[4];
	struct stat st;

	if (fd < 0)
		return 0;
	good = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == s->owner &&
	       !read_at(fd, magic, sizeof(magic), 0) && !memcmp(magic, "WTBX", sizeof(magic)) &&
	       !read_at(fd, id, sizeof(id), offsetof(struct wt_box_head, file_id)) &&
	       !memcmp(id, s->id, sizeof(id));
	close(fd);
	return good;
}

/* The log beside the trace says where it is, if not beside the trace. */
static int ask_log(const char *trace, const struct sought *s, char *ret, uint64_t bytes)
{
	static const char words[] = " the black box is ";
	char path[PATH_MAX], line[PATH_MAX + 200];
	int found = 0;
	FILE *f;

	if (snprintf(path, sizeof(path), "%.*s.log", (int)strlen(trace) - 3, trace) >=
	    (int)sizeof(path))
		return 0;
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, words);

		line[strcspn(line, "\n")] = '\0';
		if (!at || strlen(at += sizeof(words) - 1) >= bytes)
			continue;
		found = is_its_box(at, s);
		if (found)
			memcpy(ret, at, strlen(at) + 1);
	}
	if (f)
		fclose(f);
	return found;
}

int wt_recover_box_of(const char *trace, char *ret, uint64_t bytes)
{
	const char *places[] =
		WT_BOX_PLACES(getenv("WARPTAP_RING_DIR"), NULL, getenv("XDG_RUNTIME_DIR"));
	size_t n = strlen(trace);
	struct sought s;

	if (n < 4 || n >= bytes || strcmp(trace + n - 3, ".wt") != 0)
		return -WT_E_NOENT;
	if (snprintf(ret, bytes, "%.*s.ring", (int)n - 3, trace) < (int)bytes && !access(ret, F_OK))
		return 0;
	if (look_at_trace(trace, &s))
		return -WT_E_NOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i] && *places[i] &&
		    snprintf(ret, bytes, "%s/%.*s.ring", places[i], s.len, s.name) < (int)bytes &&
		    is_its_box(ret, &s))
			return 0;
	return ask_log(trace, &s, ret, bytes) ? 0 : -WT_E_NOENT;
}
