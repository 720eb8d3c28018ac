/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a black box (box_image.h). The file is copied, never mapped: somebody may cut it. Every index and length in
 * it is held against what is there before it is used; a chunk, ring or piece that makes no sense is passed over.
 */
#define _GNU_SOURCE
#include "recover/box_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"

#define RING_MAGIC  0x47525457u
#define CHUNK_MAGIC 0x4b435457u
#define SEQ_MAX	    (1ull << 62)

static int check(struct wt_box_image *b, size_t bytes, struct wt_diag *diag)
{
	const struct wt_box_head *h = b->head = (const struct wt_box_head *)b->base;
	uint32_t rings = h->rings;

	if (memcmp(h->magic, "WTBX", 4) != 0)
		return wt_fail(diag, WT_E_FORMAT, 0, "not a black box: expected \"WTBX\"");
	if (h->version != WT_BOX_VERSION)
		return wt_fail(diag, WT_E_UNSUPPORTED, 4,
			       "a black box of version %u, this program reads version %u: use the "
			       "warptap that recorded it",
			       h->version, WT_BOX_VERSION);
	if (h->head_bytes != WT_BOX_HEAD_BYTES || h->seg_bytes != WT_SEG_BYTES ||
	    h->ring_bytes != WT_RING_BYTES || h->rings_max != WT_RINGS_MAX)
		return wt_fail(diag, WT_E_FORMAT, 8,
			       "sizes of parts that version %u does not have: damaged",
			       WT_BOX_VERSION);
	if (h->hooks != wt_hooks_hash())
		return wt_fail(diag, WT_E_UNSUPPORTED, offsetof(struct wt_box_head, hooks),
			       "recorded with another list of hooks: use the warptap that "
			       "recorded it");
	b->segs = h->segs;
	if (b->segs > bytes / WT_SEG_BYTES)
		b->segs = (uint32_t)(bytes / WT_SEG_BYTES); /* cut: what is left is read */
	b->rings = rings < WT_RINGS_MAX ? rings : WT_RINGS_MAX;
	return b->segs < WT_HEAD_SEGS
		       ? wt_fail(diag, WT_E_FORMAT, (int64_t)bytes, "ends in its first %u bytes",
				 WT_HEAD_SEGS * WT_SEG_BYTES)
		       : 0;
}

static int each_piece(struct wt_box_image *b)
{
	uint32_t per = WT_SEG_BYTES / WT_PIECE_BYTES;

	for (uint32_t s = WT_HEAD_SEGS; s < b->segs; s++) {
		for (uint32_t i = 0; b->head->seg_kind[s] == WT_SEG_PIECES && i < per; i++) {
			uint8_t *at = b->base + (size_t)s * WT_SEG_BYTES + i * WT_PIECE_BYTES;
			const struct wt_piece *p = (const struct wt_piece *)at;

			if (p->magic != WT_PIECE_MAGIC || p->what >= WT_PIECE_KINDS ||
			    p->index >= WT_IMAGE_PIECES)
				continue;
			if (!b->piece[p->what])
				b->piece[p->what] = calloc(WT_IMAGE_PIECES, sizeof(uint8_t *));
			if (!b->piece[p->what])
				return -WT_E_NOMEM;
			b->piece[p->what][p->index] = at;
			if (b->pieces[p->what] <= p->index)
				b->pieces[p->what] = p->index + 1;
		}
	}
	return 0;
}

static int reserve(struct wt_box_image *b, size_t bytes)
{
	memset(b, 0, sizeof(*b));
	/* Texts may end at its last byte: one page more, which is zero. */
	b->base = mmap(NULL, (size_t)WT_SEGS_MAX * WT_SEG_BYTES + 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->base != MAP_FAILED)
		return 0;
	b->base = NULL;
	return -WT_E_NOMEM;
}

static int finish(struct wt_box_image *b, size_t n, struct wt_diag *diag)
{
	int r = check(b, n, diag);

	if (!r && each_piece(b))
		r = wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (r)
		wt_box_image_close(b);
	return r;
}

int wt_box_image_open(struct wt_box_image *b, const char *path, struct wt_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t most = (size_t)WT_SEGS_MAX * WT_SEG_BYTES, n = 0;
	struct stat st;
	ssize_t k = 1;

	memset(b, 0, sizeof(*b));
	if (fd < 0)
		return wt_fail(diag, errno == ENOENT ? WT_E_NOENT : WT_E_IO, -1, "%s",
			       strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)WT_BOX_HEAD_BYTES) {
		close(fd);
		return wt_fail(diag, WT_E_FORMAT, 0, "not a black box: too short, or no file");
	}
	if (reserve(b, most)) {
		close(fd);
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	}
	while (n < most && (k = pread(fd, b->base + n, most - n < 1u << 20 ? most - n : 1u << 20,
				      (off_t)n)) > 0)
		n += (size_t)k;
	close(fd);
	if (k < 0) {
		wt_box_image_close(b);
		return wt_fail(diag, WT_E_IO, (int64_t)n, "%s", strerror(errno));
	}
	return finish(b, n, diag);
}

int wt_box_image_copy(struct wt_box_image *b, const uint8_t *bytes, size_t n, struct wt_diag *diag)
{
	if (n < WT_BOX_HEAD_BYTES || n > (size_t)WT_SEGS_MAX * WT_SEG_BYTES || reserve(b, n))
		return wt_fail(diag, WT_E_FORMAT, 0, "not a black box: too short, or too long");
	memcpy(b->base, bytes, n);
	return finish(b, n, diag);
}

void wt_box_image_close(struct wt_box_image *b)
{
	if (b->base)
		munmap(b->base, (size_t)WT_SEGS_MAX * WT_SEG_BYTES + 4096);
	for (size_t i = 0; i < WT_PIECE_KINDS; i++)
		free(b->piece[i]);
	memset(b, 0, sizeof(*b));
}

const struct wt_ring *wt_box_image_ring(const struct wt_box_image *b, uint32_t i)
{
	const struct wt_ring *r =
		(const struct wt_ring *)(b->base + WT_BOX_HEAD_BYTES + (size_t)i * WT_RING_BYTES);

	return i < b->rings && r->magic == RING_MAGIC && r->state ? r : NULL;
}

const struct wt_chunk *wt_box_image_chunk(const struct wt_box_image *b, uint32_t i)
{
	const struct wt_chunk *c = (const struct wt_chunk *)(b->base + (size_t)i * WT_CHUNK_BYTES);
	uint32_t seg = i / (WT_SEG_BYTES / WT_CHUNK_BYTES);

	if (seg < WT_HEAD_SEGS || seg >= b->segs || b->head->seg_kind[seg] != WT_SEG_CHUNKS ||
	    c->magic != CHUNK_MAGIC || c->version != WT_CHUNK_VERSION ||
	    c->state == WT_CHUNK_FREE || c->state > WT_CHUNK_DRAINED || !c->used ||
	    c->used > WT_CHUNK_RECS || !c->ring || c->first_seq > SEQ_MAX)
		return NULL;
	return c;
}

uint8_t *wt_box_image_buffer(const struct wt_box_image *b, uint32_t i, uint32_t state,
			     uint32_t *ret_valid)
{
	uint32_t seg = i / (WT_SEG_BYTES / WT_CUPTI_BUFFER_BYTES);
	const struct wt_buffer_meta *m;

	if (seg < WT_HEAD_SEGS || seg >= b->segs || b->head->seg_kind[seg] != WT_SEG_BUFFERS)
		return NULL;
	m = &b->head->buffers[i];
	if (m->state != state)
		return NULL;
	*ret_valid =
		m->valid_bytes < WT_CUPTI_BUFFER_BYTES ? m->valid_bytes : WT_CUPTI_BUFFER_BYTES;
	return b->base + (size_t)i * WT_CUPTI_BUFFER_BYTES;
}

const char *wt_box_image_text(const struct wt_box_image *b, uint32_t offset)
{
	uint32_t index = offset / WT_PIECE_BYTES, at = offset % WT_PIECE_BYTES;
	uint8_t *piece = index < b->pieces[WT_PIECE_NAMES] ? b->piece[WT_PIECE_NAMES][index] : NULL;
	const struct wt_reg_text *t;

	if (!piece || at < sizeof(struct wt_piece) + sizeof(*t) || at % sizeof(uint64_t))
		return "";
	t = wt_piece_text(piece, offset);
	if (!t->len || t->len >= WT_PIECE_BYTES - at || t->text[t->len] ||
	    strnlen(t->text, t->len) != t->len)
		return "";
	return t->text;
}

const char *wt_box_image_at(const struct wt_box_image *b, uint64_t address)
{
	const struct wt_address *a;
	const char *text;

	if (!b->pieces[WT_PIECE_ADDRESSES] || !b->piece[WT_PIECE_ADDRESSES][0])
		return NULL;
	a = (const struct wt_address *)(b->piece[WT_PIECE_ADDRESSES][0] + sizeof(struct wt_piece));
	for (uint32_t i = 0; i < WT_ADDRESS_PROBES; i++) {
		const struct wt_address *s = &a[(wt_address_slot(address) + i) % WT_PIECE_SLOTS];

		if (s->address != address)
			continue;
		text = wt_box_image_text(b, s->text);
		return *text ? text : NULL;
	}
	return NULL;
}
