// SPDX-License-Identifier: Apache-2.0
/*
 * The black box: rings, chunks, CUPTI buffers. One box for the whole program, as in life.   check: tsan
 * The thread test is the invariant: with many producers and one writer that releases late, each row arrives exactly
 * once, in order, and holes in the numbers are exactly the rows that were dropped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/agent.h"
#include "agent/box.h"
#include "agent/tls.h"

static char dir[64];
static char ring_file[128];

static int open_box(void **state)
{
	strcpy(dir, "/tmp/wt-chunk-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(ring_file, sizeof(ring_file), "%s/t.ring", dir);
	return wt_box_open(dir, "t", 16 << 20);
}

static int close_box(void **state)
{
	wt_box_close(0);
	return rmdir(dir);
}

/* ---- helpers ---- */

struct producer {
	struct wt_ring *ring;
	struct wt_chunk *chunk;
	uint64_t next; /* number of the next row */
	uint64_t dropped;
};

static void produce(struct producer *p)
{
	uint32_t used = p->chunk ? atomic_load(&p->chunk->used) : WT_CHUNK_RECS;

	if (used == WT_CHUNK_RECS) {
		if (p->chunk)
			wt_chunk_full(p->chunk);
		p->chunk = wt_chunk_take(p->ring, p->next);
		used = 0;
	}
	if (!p->chunk) {
		p->dropped++;
		p->next++;
		return;
	}
	p->chunk->rec[used].op = 1;
	p->chunk->rec[used].start_tsc = p->next;
	p->chunk->rec[used].object = p->ring->id;
	atomic_store_explicit(&p->chunk->used, used + 1, memory_order_release);
	p->next++;
}

#define RINGS 64
struct seen {
	uint64_t rows, next, holes;
};
static struct seen seen[RINGS];

static void consume(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to)
{
	struct seen *s = &seen[c->ring % RINGS];

	assert_true(from < to && to <= WT_CHUNK_RECS);
	assert_int_equal(c->written, from);
	for (uint32_t i = from; i < to; i++) {
		uint64_t seq = c->first_seq + i;

		assert_int_equal(c->rec[i].start_tsc, seq);
		assert_int_equal(c->rec[i].object, c->ring);
		assert_true(seq >= s->next);
		s->holes += seq - s->next;
		s->next = seq + 1;
		s->rows++;
	}
}

static uint32_t free_chunks(void)
{
	return atomic_load(&wt_box->free_chunk_count);
}

/* ---- tests ---- */

static void test_place(void **state)
{
	struct stat st;

	assert_string_equal(wt_box_kind(), "file");
	assert_int_equal(stat(ring_file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true((uint64_t)st.st_size >= wt_box_mapped_bytes());
	/* never sparse: a hole would be a SIGBUS on a full disk */
	assert_true((uint64_t)st.st_blocks * 512 >= wt_box_mapped_bytes());
	assert_memory_equal(wt_box->head->magic, "WTBX", 4);
	assert_int_equal((uintptr_t)wt_box->base % WT_CHUNK_BYTES, 0);
	assert_int_not_equal(wt_box_open(dir, "t", 8 << 20), 0);
}

static void test_open_chunk_is_read_as_it_grows(void **state)
{
	struct producer p = {.ring = wt_ring_get()};
	struct seen *s;

	assert_non_null(p.ring);
	assert_ptr_equal(p.ring, wt_ring_get());
	s = &seen[p.ring->id % RINGS];
	for (int i = 0; i < 10; i++)
		produce(&p);
	wt_chunk_drain(consume, NULL);
	assert_int_equal(s->rows, 10);
	wt_chunk_drain(consume, NULL);
	assert_int_equal(s->rows, 10); /* nothing twice */
	for (int i = 0; i < 5000; i++)
		produce(&p);
	wt_chunk_drain(consume, NULL);
	assert_int_equal(s->rows, 5010);
	assert_int_equal(s->holes, 0);
	assert_int_equal(p.dropped, 0);
	wt_chunk_release(1, 1);
	wt_chunk_full(p.chunk);
	wt_chunk_drain(consume, NULL);
	wt_chunk_release(2, 2);
	memset(seen, 0, sizeof(seen));
}

/* A chunk comes back only when the write() of the block that holds its rows has returned. */
static void test_two_phase_release(void **state)
{
	struct producer p = {.ring = wt_ring_get(), .next = 100000};
	uint32_t before;

	wt_chunk_drain(consume, NULL);
	wt_chunk_release(9, 9);
	seen[p.ring->id % RINGS].next = p.next;
	for (int i = 0; i < 3 * (int)WT_CHUNK_RECS; i++)
		produce(&p);
	wt_chunk_full(p.chunk);
	before = free_chunks();
	wt_chunk_drain(consume, NULL);
	assert_int_equal(free_chunks(), before); /* drained: not free */
	wt_chunk_release(10, 9);
	assert_int_equal(free_chunks(), before); /* in block 10, which is not written */
	wt_chunk_release(11, 9);
	assert_int_equal(free_chunks(), before);
	wt_chunk_release(11, 10);
	assert_int_equal(free_chunks(), before + 3);
	memset(seen, 0, sizeof(seen));
}

/* Empty pool: rows are refused, nothing waits; after a release there is room again, within the cap. */
static void test_pool_empty(void **state)
{
	struct producer p = {.ring = wt_ring_get(), .next = 200000};
	struct seen *s = &seen[p.ring->id % RINGS];
	uint64_t first = p.next;

	s->next = first;
	for (int round = 0; round < 30; round++) {
		while (!p.dropped)
			produce(&p);
		for (int i = 0; i < 100; i++)
			produce(&p);
		assert_true(p.dropped >= 1);
		assert_null(p.chunk);
		wt_chunk_drain(consume, NULL); /* may grow the box */
		wt_chunk_release((uint64_t)round + 20, (uint64_t)round + 20);
		assert_true(wt_box_mapped_bytes() <= 16 << 20);
		produce(&p);
		assert_non_null(p.chunk);
		wt_chunk_full(p.chunk);
		p.chunk = NULL;
		wt_chunk_drain(consume, NULL);
		wt_chunk_release((uint64_t)round + 20, (uint64_t)round + 20);
		assert_int_equal(s->holes, p.dropped);
		assert_int_equal(s->rows + s->holes, p.next - first);
		first = p.next;
		s->rows = s->holes = p.dropped = 0;
	}
	assert_int_equal(wt_box_mapped_bytes(), 16 << 20);
	memset(seen, 0, sizeof(seen));
}

#define PRODUCERS 6
#define ROWS	  60000
static struct producer done[PRODUCERS];
static _Atomic int finished;

static void *producer(void *arg)
{
	struct producer *p = arg;

	p->ring = wt_ring_get();
	for (int i = 0; i < ROWS; i++) {
		produce(p);
		if (i % 1000 == 0)
			sched_yield();
		/* added, not set: the ring may have been a gone thread's, and its counts go on */
		atomic_fetch_add(&p->ring->counts[1][1][0], 1);
	}
	if (p->chunk && p - done < PRODUCERS / 2) /* the others leave it open: sweep closes it */
		wt_chunk_full(p->chunk);
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void *writer(void *arg)
{
	uint64_t block = 100;

	while (atomic_load(&finished) < PRODUCERS) {
		wt_chunk_drain(consume, NULL);
		wt_chunk_release(block, block - 3); /* writes are slow: three blocks under way */
		block++;
		wt_ring_sweep();
	}
	return NULL;
}

static uint64_t total_counts;

static void add_counts(void *arg, struct wt_ring *r)
{
	total_counts += atomic_load(&r->counts[1][1][0]);
}

static void test_threads(void **state)
{
	pthread_t t[PRODUCERS], w;
	uint64_t rows = 0, dropped = 0;

	assert_int_equal(pthread_create(&w, NULL, writer, NULL), 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, producer, &done[i]), 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(t[i], NULL);
	pthread_join(w, NULL);
	wt_ring_sweep();
	wt_chunk_drain(consume, NULL);
	wt_chunk_release(1u << 20, 1u << 20);
	for (int i = 0; i < RINGS; i++)
		rows += seen[i].rows;
	for (int i = 0; i < PRODUCERS; i++)
		dropped += done[i].dropped;
	assert_int_equal(rows + dropped, (uint64_t)PRODUCERS * ROWS);
	assert_int_equal(free_chunks(), atomic_load(&wt_box->chunk_count)); /* all came home */
	wt_ring_each(add_counts, NULL);
	assert_int_equal(total_counts, (uint64_t)PRODUCERS * ROWS);
	memset(seen, 0, sizeof(seen));
}

static void *short_lived(void *arg)
{
	struct producer p = {.ring = wt_ring_get()};

	assert_non_null(p.ring);
	*(uint64_t *)arg = p.ring->id;
	produce(&p);
	atomic_fetch_add(&p.ring->counts[1][1][0], 1);
	return NULL;
}

/* More threads than rings, one after the other: rings are used again, counts go on, ids do not come back. */
static void test_rings_are_recycled(void **state)
{
	uint64_t last = 0, id = 0, rings = atomic_load(&wt_box->head->rings);

	total_counts = 0;
	wt_ring_each(add_counts, NULL);
	uint64_t before = total_counts;
	for (int i = 0; i < 1000; i++) {
		pthread_t t;

		assert_int_equal(pthread_create(&t, NULL, short_lived, &id), 0);
		pthread_join(t, NULL);
		assert_true(id > last);
		last = id;
		wt_ring_sweep();
		if (i % 50 == 0) {
			wt_chunk_drain(consume, NULL);
			wt_chunk_release(1u << 20, 1u << 20);
			memset(seen, 0, sizeof(seen));
		}
	}
	assert_true(atomic_load(&wt_box->head->rings) <= rings + 2);
	total_counts = 0;
	wt_ring_each(add_counts, NULL);
	assert_int_equal(total_counts, before + 1000);
	wt_chunk_drain(consume, NULL);
	wt_chunk_release(1u << 20, 1u << 20);
	memset(seen, 0, sizeof(seen));
}

static void test_shared_ring(void **state)
{
	struct wt_ring *r = wt_ring_shared();

	assert_non_null(r);
	assert_ptr_equal(r, wt_ring_shared());
	total_counts = 0;
	wt_ring_each(add_counts, NULL);
	uint64_t before = total_counts;
	atomic_fetch_add(&r->counts[1][1][0], 5);
	wt_ring_sweep(); /* nobody's thread: must not be closed or given away */
	total_counts = 0;
	wt_ring_each(add_counts, NULL);
	assert_int_equal(total_counts, before + 5);
}

/* At the cap after the pool test: none could be made. And what is not ours is not taken for ours. */
static void test_no_buffers(void **state)
{
	uint8_t *got, foreign[16];
	uint32_t valid, context;

	assert_null(wt_buffer_take());
	wt_buffer_complete(foreign, 10, 1);
	wt_buffer_complete(wt_box->base, 10, 1);
	assert_int_equal(wt_buffer_next(&got, &valid, &context), 0);
	wt_buffer_release(foreign);
	assert_null(wt_buffer_take());
}

/* With room: in a child, because a process has one box. */
static int buffers_in_child(void)
{
	uint8_t *b[8], *got;
	uint32_t valid, context, n = 0;

	while (n < 8 && (b[n] = wt_buffer_take()))
		n++;
	if (n < 6)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		if ((uintptr_t)b[i] % 8)
			return 2;
		memset(b[i], (int)i, WT_CUPTI_BUFFER_BYTES); /* all of it is there */
	}
	for (uint32_t i = 0; i < n; i++)
		wt_buffer_complete(b[i], 100 + i, i);
	wt_buffer_complete(b[0], 7, 7); /* twice: ignored */
	for (uint32_t i = 0; i < n; i++) {
		if (wt_buffer_next(&got, &valid, &context) != 1 || got != b[i] ||
		    valid != 100 + i || context != i)
			return 3; /* in the order they were completed */
	}
	if (wt_buffer_next(&got, &valid, &context))
		return 4;
	wt_buffer_release(b[2]);
	wt_buffer_release(b[2]); /* twice: ignored */
	if (wt_buffer_take() != b[2])
		return 5;
	return 0;
}

static void test_buffers_with_room(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		wt_box = NULL; /* what the parent's agent leaves to a child: nothing it may touch */
		memset(&wt_tls, 0, sizeof(wt_tls));
		if (wt_box_open(dir, "child", 32 << 20))
			_exit(20);
		wt_box_want_buffers(1);
		status = buffers_in_child();
		wt_box_close(0);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_open_chunk_is_read_as_it_grows),
		cmocka_unit_test(test_two_phase_release),
		cmocka_unit_test(test_pool_empty),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_rings_are_recycled),
		cmocka_unit_test(test_shared_ring),
		cmocka_unit_test(test_no_buffers),
		cmocka_unit_test(test_buffers_with_room),
	};

	return cmocka_run_group_tests(tests, open_box, close_box);
}
