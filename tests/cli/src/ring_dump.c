/* cflags: -Iagent */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a black box holds: ring_dump FILE.ring
 *   row NAME N                     rows of that call, all chunks
 *   flag NAME FLAGS N              likewise, by flags
 *   count CONTEXT KIND STATE N     sums over rings
 *   dropped N
 * and checks what recovery will rely on: headers, magics, consecutive numbers within a ring. Exit 1 if broken.
 */
#include "box.h"
#include "hook_table.c"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t rows[WT_ID_END], flags[WT_ID_END][128];
static uint64_t counts[WT_COUNT_CONTEXTS][WT_COUNT_SLOTS][WT_COUNT_STATES], dropped, parents;

static void fail(const char *what)
{
	fprintf(stderr, "ring_dump: %s\n", what);
	exit(1);
}

static void take_chunk(const struct wt_chunk *c)
{
	if (c->magic != 0x4b435457 || c->version != WT_CHUNK_VERSION)
		fail("a chunk without its magic");
	if (c->state == WT_CHUNK_FREE)
		return;
	if (c->used > WT_CHUNK_RECS || !c->ring)
		fail("a chunk with impossible contents");
	for (uint32_t i = 0; i < c->used; i++) {
		const struct wt_rec *r = &c->rec[i];

		if (!r->op || r->op >= WT_ID_END || !r->start_tsc)
			fail("a row that was published before it was complete");
		if (i && r->start_tsc < c->rec[i - 1].start_tsc &&
		    !(c->rec[i - 1].flags & WT_REC_IN_NCCL))
			fail("rows out of order");
		if (r->parent) {
			const struct wt_rec *p = r + (r->parent - 1);

			if (!(r->flags & WT_REC_PARENT_AHEAD) || i + r->parent - 1 >= c->used ||
			    wt_hooks[p->op].library != WT_LIB_NCCL || p->start_tsc > r->start_tsc)
				fail("a parent that is none");
			parents++;
		}
		rows[r->op]++;
		flags[r->op][r->flags & 127]++;
	}
}

static void take_ring(const struct wt_ring *r)
{
	if (!r->state)
		return;
	if (r->magic != 0x47525457)
		fail("a ring without its magic");
	dropped += r->dropped;
	for (int c = 0; c < WT_COUNT_CONTEXTS; c++)
		for (int k = 0; k < WT_COUNT_SLOTS; k++)
			for (int s = 0; s < WT_COUNT_STATES; s++)
				counts[c][k][s] += r->counts[c][k][s];
}

static void print(void)
{
	for (int i = 1; i < WT_ID_END; i++)
		if (rows[i])
			printf("row %s %llu\n", wt_hooks[i].name, (unsigned long long)rows[i]);
	for (int i = 1; i < WT_ID_END; i++)
		for (int f = 1; f < 128; f++)
			if (flags[i][f])
				printf("flag %s %d %llu\n", wt_hooks[i].name, f,
				       (unsigned long long)flags[i][f]);
	for (int c = 0; c < WT_COUNT_CONTEXTS; c++)
		for (int k = 0; k < WT_COUNT_SLOTS; k++)
			for (int s = 0; s < WT_COUNT_STATES; s++)
				if (counts[c][k][s])
					printf("count %d %d %d %llu\n", c, k, s,
					       (unsigned long long)counts[c][k][s]);
	printf("parents %llu\ndropped %llu\n", (unsigned long long)parents,
	       (unsigned long long)dropped);
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	const uint8_t *base;
	const struct wt_box_head *h;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < WT_SEG_BYTES)
		fail("no black box to read");
	base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		fail("cannot map it");
	h = (const struct wt_box_head *)base;
	if (memcmp(h->magic, "WTBX", 4) || h->version != WT_BOX_VERSION ||
	    h->seg_bytes != WT_SEG_BYTES || h->ring_bytes != WT_RING_BYTES ||
	    (size_t)h->segs * WT_SEG_BYTES > (size_t)st.st_size)
		fail("not a black box of this version");
	for (uint32_t i = 0; i < h->rings; i++)
		take_ring((const struct wt_ring *)(base + WT_BOX_HEAD_BYTES + i * WT_RING_BYTES));
	for (uint32_t s = 1; s < h->segs; s++)
		for (uint32_t i = 0;
		     h->seg_kind[s] == WT_SEG_CHUNKS && i < WT_SEG_BYTES / WT_CHUNK_BYTES; i++)
			take_chunk((const struct wt_chunk *)(base + (size_t)s * WT_SEG_BYTES +
							     i * WT_CHUNK_BYTES));
	print();
	return 0;
}
