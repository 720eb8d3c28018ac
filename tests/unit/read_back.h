/* SPDX-License-Identifier: Apache-2.0 */
/* A .wt file read back whole into protobuf-c packets, for tests of those who write it. Included by one test program. */
#ifndef READ_BACK_H
#define READ_BACK_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/frame.h"
#include "trace.pb-c.h"

struct file {
	Warptap__V1__Packet **packet;
	size_t n;
	struct wt_frame_damage damage;
};

static long read_fd(void *arg, void *bytes, size_t n)
{
	return read(*(int *)arg, bytes, n);
}

static struct file load(const char *path)
{
	struct file f = {0};
	struct wt_frame_reader *r = NULL;
	const uint8_t *bytes;
	size_t n, room = 0;
	uint64_t offset;
	int fd = open(path, O_RDONLY), got;

	if (fd < 0 || wt_frame_reader_open(&r, read_fd, &fd, NULL) != 0)
		return f;
	while ((got = wt_frame_reader_next(r, &bytes, &n, &offset)) == 1) {
		if (f.n == room)
			f.packet = realloc(f.packet, (room = room * 2 + 64) * sizeof(*f.packet));
		f.packet[f.n] = warptap__v1__packet__unpack(NULL, n, bytes);
		if (!f.packet[f.n++])
			abort();
	}
	f.damage = *wt_frame_reader_damage(r);
	wt_frame_reader_free(r);
	close(fd);
	return f;
}

static void drop(struct file *f)
{
	for (size_t i = 0; i < f->n; i++)
		warptap__v1__packet__free_unpacked(f->packet[i], NULL);
	free(f->packet);
	memset(f, 0, sizeof(*f));
}

#define BODY(name_) WARPTAP__V1__PACKET__BODY_##name_
#define EACH(f_, i_, body_)                                                                        \
	for (size_t i_ = 0; i_ < (f_).n; i_++)                                                     \
		if ((f_).packet[i_]->body_case == BODY(body_))

static size_t count_of(const struct file *f, int body)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += (int)f->packet[i]->body_case == body;
	return n;
}

/* The text of a string id, as said last before packet `at`. */
static const char *text_of(const struct file *f, size_t at, uint64_t id)
{
	while (at--) {
		const Warptap__V1__Strings *s = f->packet[at]->strings;

		if (f->packet[at]->body_case == BODY(STRINGS) && id >= s->first_id &&
		    id < s->first_id + s->n_text)
			return s->text[id - s->first_id];
	}
	return "?";
}

/* Name of a function id, found within the segment that packet `at` lies in. */
static const char *function_name(const struct file *f, size_t at, uint64_t id)
{
	for (size_t i = at; i--;) {
		const Warptap__V1__Functions *m = f->packet[i]->functions;

		if (f->packet[i]->body_case == BODY(HEADER))
			return "not said in this segment";
		if (f->packet[i]->body_case != BODY(FUNCTIONS))
			continue;
		for (size_t k = 0; k < m->n_id; k++)
			if (m->id[k] == id)
				return text_of(f, i, m->name[k]);
	}
	return "?";
}

#endif
