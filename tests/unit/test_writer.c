/* SPDX-License-Identifier: Apache-2.0 */
/* check: tsan */
/*
 * agent/writer.c and what packs for it, against a black box of the test's own: every row is in the file exactly once
 * and in order, holes only where rows were dropped; ids mean what was registered; a chunk or buffer is free again only
 * when a reader of the file would find its rows; a full disk, a cap and a failing write end in a readable file.
 * The writer lives once per process, so each case records in a forked child and is read back in the parent.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <cupti.h>

#include "agent/registry.h"
#include "collectors/cupti_activity.h"
#include "collectors/cupti_api.h"
#include "read_back.h"
#include "writer_box.h"

/* ---- cases ---- */

static char dir[64], path[128];

static void fresh(void)
{
	snprintf(dir, sizeof(dir), "/tmp/wt_writer.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.wt", dir);
}

static void tidy(void)
{
	unlink(path);
	rmdir(dir);
}

/* Runs a case in a child; its exit status says how far it came. */
static void in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHECK(cond_)                                                                               \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond_);                \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define ROWS	 20000
#define FUNCTION 0x5000
#define STREAM	 0x9000

static struct wt_rec launch_row(int ring, uint64_t seq)
{
	struct wt_rec r = {.op = LAUNCH, .context = 1, .dur = (uint32_t)(seq % 977)};

	r.start_tsc = 1000000 + seq * 100 + (uint64_t)ring;
	r.stream = STREAM + (seq % 3) * 16;
	r.object = FUNCTION + (seq % 50) * 16;
	r.u.launch.gx = (uint32_t)(seq % 7) + 1;
	r.u.launch.gy = r.u.launch.gz = r.u.launch.by = r.u.launch.bz = 1;
	r.u.launch.bx = 256;
	if (seq % 1000 == 999)
		r.status = 1;
	return r;
}

static void registered(void)
{
	struct wt_reg_entry e = {0};
	char name[32];

	CHECK(wt_reg_init() == 0);
	e.u.context.device = 0;
	CHECK(wt_reg_add(WT_REG_CONTEXT, 0xc0, 1, &e) == 1);
	memset(&e, 0, sizeof(e));
	e.context = 1;
	for (int i = 0; i < 3; i++)
		CHECK(wt_reg_add(WT_REG_STREAM, STREAM + (uint64_t)i * 16, 2, &e));
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		e.u.function.name = wt_reg_intern(name);
		CHECK(wt_reg_add(WT_REG_FUNCTION, FUNCTION + (uint64_t)i * 16, 3, &e));
	}
}

static void start(void)
{
	registered();
	box_open();
	wt_writer_state(WT_LEVEL_TRACE, 2, 0, 12345);
	CHECK(wt_writer_open(dir, "t") == 0 && wt_writer_start() == 0);
}

static void *produce(void *arg)
{
	int ring = (int)(intptr_t)arg;

	for (uint64_t seq = 0; seq < ROWS; seq++) {
		struct wt_rec r = launch_row(ring, seq);

		put(ring, seq, &r);
		atomic_fetch_add(&box.ring[ring].counts[1][1][r.status ? 2 : 0], 1);
		if (seq % 2048 == 0) /* some rows are dropped, not most */
			usleep(4000);
	}
	return NULL;
}

static void record_rows(void)
{
	pthread_t th[RINGS];
	char note[160];
	FILE *f;

	start();
	for (intptr_t i = 0; i < RINGS; i++)
		CHECK(pthread_create(&th[i], NULL, produce, (void *)i) == 0);
	for (int i = 0; i < RINGS; i++)
		pthread_join(th[i], NULL);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
	CHECK(box.closed == 1);
	/* what was dropped, for the parent */
	snprintf(note, sizeof(note), "%s/dropped", dir);
	f = fopen(note, "w");
	CHECK(f);
	for (int i = 0; i < RINGS; i++)
		fprintf(f, "%llu\n", (unsigned long long)atomic_load(&box.ring[i].dropped));
	fclose(f);
}

/* Checks each row of each batch against the rule that made it; fills which (ring, seq) were seen. */
static void check_batch(const struct file *f, size_t at, uint8_t *seen)
{
	const Warptap__V1__HostCalls *m = f->packet[at]->calls;
	int ring = (int)m->ring - 1;
	uint64_t start, end = 0;

	for (size_t i = 0; i < m->n_start_gap; i++) {
		uint64_t seq = m->first_seq + i;
		struct wt_rec r = launch_row(ring, seq);
		char name[32];

		start = end + (uint64_t)m->start_gap[i];
		/* a column of zeros is left out */
		end = start + (m->n_dur ? m->dur[i] : 0);
		assert_true(seq < ROWS);
		assert_int_equal(start, r.start_tsc >> m->tick_shift);
		assert_int_equal(end, (r.start_tsc + r.dur) >> m->tick_shift);
		assert_int_equal(m->op[i], LAUNCH);
		assert_int_equal(m->n_status ? m->status[i] : 0, r.status);
		if (seq % 97 == 0) {
			snprintf(name, sizeof(name), "kernel_%d", (int)(seq % 50));
			assert_string_equal(function_name(f, at, m->object[i]), name);
		}
		assert_int_equal(seen[ring * ROWS + (int)seq]++, 0);
	}
}

static void test_rows(void **state)
{
	uint8_t *seen = calloc(RINGS, ROWS);
	uint64_t dropped[RINGS], said = 0, states = 0, last[RINGS] = {0};
	char note[160];
	struct file f;
	FILE *d;

	fresh();
	in_child(record_rows);
	snprintf(note, sizeof(note), "%s/dropped", dir);
	d = fopen(note, "r");
	assert_non_null(d);
	for (int i = 0; i < RINGS; i++)
		assert_int_equal(fscanf(d, "%lu", &dropped[i]), 1);
	fclose(d);
	unlink(note);
	f = load(path);
	assert_true(f.n > 10);
	assert_int_equal(f.damage.frames_lost, 0);
	assert_int_equal(f.damage.truncated, 0);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(f.packet[i]->seq, i + 1);
	assert_int_equal(f.packet[0]->body_case, BODY(HEADER));
	EACH(f, i, CALLS)
	{
		const Warptap__V1__HostCalls *m = f.packet[i]->calls;

		assert_true(m->first_seq >= last[m->ring - 1]);
		last[m->ring - 1] = m->first_seq + m->n_start_gap;
		check_batch(&f, i, seen);
	}
	EACH(f, i, LOSS)
	{
		assert_int_equal(f.packet[i]->loss->where,
				 WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_POOL_EMPTY);
		said += f.packet[i]->loss->n;
	}
	for (int r = 0; r < RINGS; r++) {
		uint64_t missing = 0;

		for (int s = 0; s < ROWS; s++)
			missing += !seen[r * ROWS + s];
		assert_int_equal(missing, dropped[r]);
		said -= dropped[r];
	}
	assert_int_equal(said, 0);
	/* totals are exact whatever was dropped */
	for (size_t i = f.n; i--;) {
		const Warptap__V1__Counts *m = f.packet[i]->counts;
		uint64_t done = 0, failed = 0;

		if (f.packet[i]->body_case != BODY(COUNTS))
			continue;
		for (size_t k = 0; k < m->n_n; k++) {
			done += m->kind[k] == 1 && m->state[k] == 0 && m->context[k] == 1 ? m->n[k]
											  : 0;
			failed += m->kind[k] == 1 && m->state[k] == 2 ? m->n[k] : 0;
		}
		assert_int_equal(failed, RINGS * ROWS / 1000);
		assert_int_equal(done, RINGS * ROWS - failed);
		break;
	}
	assert_int_equal(f.packet[f.n - 1]->body_case, BODY(END));
	assert_int_equal(f.packet[f.n - 1]->end->packets, f.n);
	assert_int_equal(f.packet[f.n - 1]->end->how, WARPTAP__V1__END_HOW__END_HOW_EXIT);
	assert_int_equal(count_of(&f, BODY(STATE)), 2);
	EACH(f, i, THREADS)
	{
		assert_int_equal(f.packet[i]->threads->pthread[0] >> 32, 0x7000);
	}
	EACH(f, i, STATE)
	{
		assert_int_equal(f.packet[i]->state->level, 3);
		assert_int_equal(f.packet[i]->state->device_ns, states++ ? 0 : 12345);
	}
	free(seen);
	drop(&f);
	tidy();
}

/* ---- two-phase release ---- */

static _Atomic int unsafe, releases;

/* Everything of the chunks about to be freed, and of the buffers, must be found by a reader of the file as it is. */
static void check_release(void)
{
	static uint8_t seen[64 * 1024];
	struct file f = load(path);
	size_t kernels = 0;

	atomic_fetch_add(&releases, 1);
	memset(seen, 0, sizeof(seen));
	EACH(f, i, CALLS)
	{
		for (size_t k = 0; k < f.packet[i]->calls->n_start_gap; k++)
			seen[f.packet[i]->calls->first_seq + k] = 1;
	}
	EACH(f, i, KERNELS)
	{
		kernels += f.packet[i]->kernels->n_start_gap;
	}
	for (int i = 0; i < box.n_pending; i++)
		for (uint32_t k = 0; k < box.pending[i]->written; k++)
			unsafe += !seen[box.pending[i]->first_seq + k];
	unsafe += kernels < (size_t)box.next_buffer * 3;
	drop(&f);
}

static CUptiResult fake_next(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	static const size_t size[] = {[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy6),
				      [CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(CUpti_ActivityMemset4),
				      [CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI),
				      [CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI),
				      [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] =
					      sizeof(CUpti_ActivityKernel10)};
	uint8_t *at = *record ? (uint8_t *)*record + size[(*record)->kind] : buffer;

	if (at >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

/* Three kernels, their API records, a copy and a memset. */
static void fill_buffer(int n)
{
	static uint8_t mem[BUFFERS][8192] __attribute__((aligned(8)));
	uint8_t *at = mem[n];

	for (int i = 0; i < 3; i++) {
		CUpti_ActivityKernel10 k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
		CUpti_ActivityAPI a = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME};

		a.cbid = 211;
		a.threadId = 77;
		a.correlationId = k.correlationId = (uint32_t)(n * 100 + i * 7 + 1);
		k.start = 1000000000u + (uint64_t)n * 1000 + (uint64_t)i * 100;
		k.end = i == 2 ? 0 : k.start + 50;
		k.deviceId = 0;
		k.contextId = 1;
		k.streamId = 7 + (uint32_t)i;
		k.gridX = 4;
		k.gridY = k.gridZ = k.blockY = k.blockZ = 1;
		k.blockX = 128;
		k.registersPerThread = 32;
		k.name = i ? "ampere_sgemm"
			   : "caf\xe9"; /* not UTF-8: still a file that protobuf reads */
		memcpy(at, &a, sizeof(a));
		at += sizeof(a);
		memcpy(at, &k, sizeof(k));
		at += sizeof(k);
	}
	CUpti_ActivityMemcpy6 c = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .copyKind = 1};
	c.bytes = 4096;
	c.start = 1000000500;
	c.end = 1000000600;
	c.contextId = 1;
	memcpy(at, &c, sizeof(c));
	at += sizeof(c);
	CUpti_ActivityMemset4 s = {.kind = CUPTI_ACTIVITY_KIND_MEMSET};
	s.bytes = 64;
	s.start = 1000000700;
	s.end = 1000000710;
	s.contextId = 1;
	memcpy(at, &s, sizeof(s));
	at += sizeof(s);
	pthread_mutex_lock(&box.lock);
	box.buffer[box.n_buffers] = mem[n];
	box.valid[box.n_buffers++] = (uint32_t)(at - mem[n]);
	pthread_mutex_unlock(&box.lock);
	wt_writer_poke();
}

static void record_release(void)
{
	wt_cupti.cuptiActivityGetNextRecord = fake_next;
	box.on_release = check_release;
	start();
	for (uint64_t seq = 0; seq < 9000; seq++) {
		struct wt_rec r = launch_row(0, seq);

		while (!put(0, seq, &r))
			usleep(1000);
		if (seq % 2500 == 0)
			fill_buffer((int)(seq / 2500));
		if (seq % 1000 == 0)
			usleep(2000);
	}
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
	CHECK(releases >= 3);
	CHECK(unsafe == 0);
	CHECK(box.buffers_released == 4);
}

static void test_release(void **state)
{
	uint64_t kernels = 0, copies = 0, apis = 0;
	struct file f;

	fresh();
	in_child(record_release);
	f = load(path);
	EACH(f, i, KERNELS)
	{
		const Warptap__V1__Kernels *m = f.packet[i]->kernels;
		int64_t t = 0, c = 0;

		for (size_t k = 0; k < m->n_start_gap; k++, kernels++) {
			uint64_t n = kernels / 3, w = kernels % 3;

			t += m->start_gap[k];
			c += m->correlation_d[k];
			assert_int_equal(t, 1000000000u + n * 1000 + w * 100);
			assert_int_equal(c, n * 100 + w * 7 + 1);
			assert_int_equal(m->n_dur ? m->dur[k] : 0, w == 2 ? 0 : 50);
			assert_int_equal(m->n_flags ? m->flags[k] : 0, w == 2 ? 1 : 0);
			t += w == 2 ? 0 : 50;
			assert_int_equal(m->stream[k], 7 + w);
			assert_string_equal(function_name(&f, i, m->function[k]),
					    w ? "ampere_sgemm" : "caf?");
		}
		assert_int_equal(m->context, 1);
	}
	EACH(f, i, COPIES)
	{
		copies += f.packet[i]->copies->n_kind;
	}
	EACH(f, i, API)
	{
		assert_int_equal(f.packet[i]->api->thread_word, 77);
		apis += f.packet[i]->api->n_cbid;
	}
	assert_int_equal(kernels, 12);
	assert_int_equal(copies, 8);
	assert_int_equal(apis, 12);
	drop(&f);
	tidy();
}

/* ---- no room ---- */

/* Rows that do not compress: addresses and sizes at random. */
static void record_noise(uint64_t rows)
{
	uint64_t x = 88172645463325252ull;

	for (uint64_t seq = 0; seq < rows; seq++) {
		struct wt_rec r = {.op = ALLOC, .context = 1};

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		r.start_tsc = seq * 1000 + x % 1000;
		r.dur = (uint32_t)(x >> 20);
		r.object = x * 3;
		r.u.copy.bytes = x * 5;
		while (!put(0, seq, &r))
			usleep(1000); /* ends only if chunks come back although nothing is written */
	}
}

static void record_cap(void)
{
	wt_config.out_mb = 1;
	start();
	record_noise(200000);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

static void record_rlimit(void)
{
	struct rlimit lim = {300000, 300000};

	CHECK(setrlimit(RLIMIT_FSIZE, &lim) == 0);
	start();
	record_noise(100000);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

/* The limit comes down behind the sink's back: write() itself fails, with SIGXFSZ blocked in the writer. */
static void record_broken(void)
{
	struct rlimit lim = {200000, 300000};

	start();
	record_noise(5000);
	usleep(100000);
	CHECK(setrlimit(RLIMIT_FSIZE, &lim) == 0);
	record_noise(100000);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

static void check_full(uint64_t most_bytes, int whole)
{
	struct file f = load(path);
	struct stat st;
	uint64_t rows = 0, lost = 0;

	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_size <= most_bytes);
	assert_true((uint64_t)st.st_size > most_bytes / 4);
	EACH(f, i, CALLS)
	{
		rows += f.packet[i]->calls->n_start_gap;
	}
	EACH(f, i, LOSS)
	{
		if (f.packet[i]->loss->where == WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_DISK)
			lost += f.packet[i]->loss->n;
	}
	assert_true(rows > 1000);
	if (whole) {
		assert_int_equal(f.damage.frames_lost, 0);
		assert_int_equal(f.damage.truncated, 0);
		assert_true(lost > 1000);
		assert_int_equal(f.packet[f.n - 1]->body_case, BODY(END));
		assert_int_equal(f.packet[f.n - 1]->end->packets, f.n);
		assert_true(count_of(&f, BODY(COUNTS)) > 0);
	}
	drop(&f);
	tidy();
}

static void test_cap(void **state)
{
	fresh();
	in_child(record_cap);
	check_full(1 << 20, 1);
}

static void test_rlimit(void **state)
{
	fresh();
	in_child(record_rlimit);
	check_full(300000, 1);
}

static void test_broken_write(void **state)
{
	fresh();
	in_child(record_broken);
	check_full(300000, 0);
}

/* A disk of 400 KiB that is really full; needs the right to mount. The file is judged in the child, which sees it. */
static void record_enospc(void)
{
	struct file f;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", dir, "tmpfs", 0, "size=400k") != 0)
		return;
	start();
	record_noise(100000);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
	f = load(path);
	CHECK(f.n > 5 && f.damage.frames_lost == 0 && f.damage.truncated == 0);
	CHECK(f.packet[f.n - 1]->body_case == BODY(END));
	CHECK(count_of(&f, BODY(LOSS)) > 0 && count_of(&f, BODY(CALLS)) > 5);
}

static void test_enospc(void **state)
{
	fresh();
	in_child(record_enospc);
	tidy();
}

/* ---- segments: what ids mean is said again ---- */

static void record_segments(void)
{
	struct wt_rec r;

	start();
	for (uint64_t seq = 0; seq < 5; seq++) {
		r = launch_row(0, seq);
		put(0, seq, &r);
	}
	for (uint64_t seq = 5; seq < 600000; seq++) {
		r = (struct wt_rec){.op = ALLOC, .context = 1, .start_tsc = seq << 20};
		r.object = ~seq;
		r.u.copy.bytes = ~seq;
		while (!put(0, seq, &r))
			usleep(500);
	}
	for (uint64_t seq = 600000; seq < 600005; seq++) {
		r = launch_row(0, seq);
		while (!put(0, seq, &r))
			usleep(500);
	}
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

static void test_segments(void **state)
{
	uint64_t launches = 0, raw = 0;
	struct file f;

	fresh();
	in_child(record_segments);
	f = load(path);
	assert_true(count_of(&f, BODY(HEADER)) >= 2);
	EACH(f, i, CALLS)
	{
		const Warptap__V1__HostCalls *m = f.packet[i]->calls;

		for (size_t k = 0; k < m->n_op; k++) {
			char name[32];

			if (m->op[k] != LAUNCH)
				continue;
			snprintf(name, sizeof(name), "kernel_%d", (int)((m->first_seq + k) % 50));
			assert_string_equal(function_name(&f, i, m->object[k]), name);
			launches++;
		}
	}
	for (size_t i = 0, segment = 0; i < f.n; i++) {
		raw += warptap__v1__packet__get_packed_size(f.packet[i]);
		if (f.packet[i]->body_case != BODY(HEADER))
			continue;
		assert_int_equal(f.packet[i]->header->segment, segment++);
		assert_true(raw <= WT_SEGMENT_RAW_MAX);
		raw = 0;
	}
	assert_int_equal(launches, 10);
	drop(&f);
	tidy();
}

/* ---- handles that come again ---- */

#define LIVES	   6
#define LIFE_TICKS 100000u
#define LIFE_ROWS  40u

/* Of each life most rows, and last of all one of the life before: another thread was late to leave it. */
static uint32_t life_of(uint64_t seq)
{
	uint32_t life = (uint32_t)(seq / LIFE_ROWS);

	return life && seq % LIFE_ROWS == LIFE_ROWS - 1 ? life - 1 : life;
}

static void record_lives(void)
{
	struct wt_reg_entry e = {.context = 1};
	char name[32];

	start();
	for (uint64_t seq = 0; seq < LIVES * LIFE_ROWS; seq++) {
		struct wt_rec r = launch_row(0, 0);

		if (seq % LIFE_ROWS == 0) {
			uint64_t born = LIFE_TICKS * (seq / LIFE_ROWS + 1);

			snprintf(name, sizeof(name), "life_%d", (int)(seq / LIFE_ROWS));
			e.u.function.name = wt_reg_intern(name);
			wt_reg_end(WT_REG_FUNCTION, FUNCTION, born - 10);
			CHECK(wt_reg_add(WT_REG_FUNCTION, FUNCTION, born, &e));
			wt_reg_end(WT_REG_STREAM, STREAM, born - 10);
			CHECK(wt_reg_add(WT_REG_STREAM, STREAM, born,
					 &(struct wt_reg_entry){.context = 1}));
		}
		r.start_tsc = LIFE_TICKS * (life_of(seq) + 1) + 100 + seq;
		r.dur = 1;
		put(0, seq, &r);
		/* Packed while it lives, or all together when its successors are known. */
		if (seq == LIFE_ROWS / 2 || seq == 2 * LIFE_ROWS)
			CHECK(wt_writer_sync(10000));
	}
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

static void test_lives(void **state)
{
	uint64_t rows = 0, streams[LIVES] = {0};
	struct file f;

	fresh();
	in_child(record_lives);
	f = load(path);
	EACH(f, i, CALLS)
	{
		const Warptap__V1__HostCalls *m = f.packet[i]->calls;

		for (size_t k = 0; k < m->n_op; k++, rows++) {
			uint32_t life = life_of(m->first_seq + k);
			char name[32];

			snprintf(name, sizeof(name), "life_%d", (int)life);
			assert_string_equal(function_name(&f, i, m->object[k]), name);
			if (!streams[life])
				streams[life] = m->stream[k];
			assert_int_equal(m->stream[k], streams[life]);
		}
	}
	assert_int_equal(rows, LIVES * LIFE_ROWS);
	for (int a = 0; a < LIVES; a++)
		for (int b = 0; b < a; b++)
			assert_int_not_equal(streams[a], streams[b]);
	drop(&f);
	tidy();
}

/* ---- collectives and groups ---- */

static void record_collectives(void)
{
	struct wt_reg_entry e = {0};
	struct wt_rec r = {.context = 1};
	uint64_t seq = 0;

	registered();
	memcpy(e.u.comm.key, "0123456789abcdef", 16);
	e.u.comm.rank = 1;
	e.u.comm.nranks = 2;
	CHECK(wt_reg_add(WT_REG_COMM, 0xcc, 5, &e) == 1);
	box_open();
	CHECK(wt_writer_open(dir, "t") == 0 && wt_writer_start() == 0);
	/* alone; a group of two with a group of one inside; another group; one that failed */
	static const struct {
		int op, depth, status;
	} rows[] = {{ALLREDUCE, 0, 0},	 {GROUP_START, 1, 0}, {ALLREDUCE, 1, 0},
		    {GROUP_START, 2, 0}, {ALLREDUCE, 2, 0},   {GROUP_END, 1, 0},
		    {ALLREDUCE, 1, 7},	 {GROUP_END, 0, 0},   {GROUP_START, 1, 0},
		    {ALLREDUCE, 1, 0},	 {GROUP_END, 0, 0},   {ALLREDUCE, 0, 4}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r.op = (uint16_t)rows[i].op;
		r.start_tsc = 100 + i;
		r.object = rows[i].op == ALLREDUCE ? 0xcc : 0;
		r.status = (int16_t)rows[i].status;
		memset(&r.u, 0, sizeof(r.u));
		if (rows[i].op == ALLREDUCE) {
			r.u.coll.count = 1000 + i;
			r.u.coll.seq = i + 1;
			r.u.coll.op = 1;
			r.u.coll.dtype = 7;
			r.u.coll.group = (uint8_t)rows[i].depth;
		}
		put(0, seq++, &r);
	}
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
}

static void test_collectives(void **state)
{
	static const uint64_t call[] = {0, 2, 4, 6, 9};
	struct file f;

	fresh();
	in_child(record_collectives);
	f = load(path);
	assert_int_equal(count_of(&f, BODY(COLLECTIVES)), 1);
	EACH(f, i, COMMS)
	{
		assert_memory_equal(f.packet[i]->comms->key[0].data, "0123456789abcdef", 16);
		assert_int_equal(f.packet[i]->comms->nranks[0], 2);
	}
	EACH(f, i, COLLECTIVES)
	{
		const Warptap__V1__Collectives *m = f.packet[i]->collectives;
		uint64_t seq = 0;

		assert_int_equal(m->n_seq_d, 5); /* in progress counts, failed does not */
		for (size_t k = 0; k < 5; k++) {
			seq += (uint64_t)m->seq_d[k];
			assert_int_equal(seq, call[k] + 1);
			assert_int_equal(m->call_seq ? m->call_seq[k] : 0, call[k]);
			assert_int_equal(m->count[k], 1000 + call[k]);
			assert_int_equal(m->dtype[k], 7);
		}
		assert_int_equal(m->n_group, 5);
		assert_int_equal(m->group[0], 0);
		assert_true(m->group[1] != 0);
		assert_int_equal(m->group[1], m->group[2]);
		assert_int_equal(m->group[2], m->group[3]);
		assert_true(m->group[4] != m->group[3]);
	}
	drop(&f);
	tidy();
}

/* ---- the file is refused, the job goes on ---- */

static void record_refused(void)
{
	struct stat st;
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0 && write(fd, "mine", 4) == 4);
	close(fd);
	CHECK(wt_writer_open(dir, "t") == -WT_E_USAGE); /* never overwrites */
	CHECK(stat(path, &st) == 0 && st.st_size == 4);
	CHECK(unlink(path) == 0 && symlink("/dev/null", path) == 0);
	CHECK(wt_writer_open(dir, "t") == -WT_E_USAGE); /* never follows */
	CHECK(wt_writer_stop(1, 100) == 0);
	wt_writer_poke();
}

static void test_refused(void **state)
{
	fresh();
	in_child(record_refused);
	tidy();
}

/* The job closes every descriptor and gets our number for a file of its own: not a byte of ours goes there. */
static void record_stolen(void)
{
	char other[160], link[64], to[160];
	struct stat st;
	int fd, stolen = 0;

	start();
	record_noise(3000);
	usleep(150000);
	snprintf(other, sizeof(other), "%s/job", dir);
	fd = open(other, O_CREAT | O_RDWR, 0600);
	CHECK(fd >= 0);
	for (int i = 3; i < 600; i++) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", i);
		n = readlink(link, to, sizeof(to) - 1);
		if (n <= 0)
			continue;
		to[n] = 0;
		if (strcmp(to, path) == 0) {
			CHECK(dup2(fd, i) == i);
			stolen++;
		}
	}
	CHECK(stolen == 1);
	record_noise(60000);
	CHECK(wt_writer_stop(WARPTAP__V1__END_HOW__END_HOW_EXIT, 20000) == 1);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 0);
	CHECK(fcntl(500, F_GETFD) >= 0); /* nor is it closed */
	unlink(other);
}

static void test_stolen(void **state)
{
	fresh();
	in_child(record_stolen);
	tidy();
}

/* ---- a pause of the job ---- */

static int flushes, slow;

static CUptiResult CUPTIAPI fake_flush(uint32_t flag)
{
	flushes += !flag;
	if (slow)
		usleep(1000);
	return CUPTI_SUCCESS;
}

/* The looks, of the next `n`, at which CUPTI is asked for records: one bit each. */
static unsigned looks(int n)
{
	unsigned at = 0;

	for (int i = 0; i < n; i++) {
		int before = flushes;
		int told = wt_cupti_look();

		CHECK(told == flushes - before);
		at |= (unsigned)told << i;
	}
	return at;
}

#define KIND(k_) WARPTAP__V1__COUNT_KIND__COUNT_KIND_##k_
static void launch_some(uint32_t kind, uint64_t n)
{
	atomic_fetch_add(&box.ring[1].counts[1][kind][WARPTAP__V1__COUNT_STATE__COUNT_STATE_DONE],
			 n);
}

static void pauses(void)
{
	wt_cupti.cuptiActivityFlushAll = fake_flush;
	CHECK(!looks(4)); /* not collecting */
	wt_cupti_set_state(WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_OURS);
	CHECK(!looks(20)); /* nothing has ever been launched */
	launch_some(KIND(LAUNCH), 5);
	CHECK(looks(20) == (1u << 1 | 1u << 2 | 1u << 4 | 1u << 8));
	for (int i = 0; i < 4; i++) { /* at work at each look */
		launch_some(KIND(GRAPH_LAUNCH), 1);
		CHECK(looks(1) == i % 2u);
	}
	CHECK(looks(2) == 3);
	slow = 1; /* it costs too much to be done more often than needed */
	launch_some(KIND(GRAPH_LAUNCH), 1);
	CHECK(looks(2) == 2);
	launch_some(KIND(GRAPH_LAUNCH), 1);
	CHECK(!looks(1));
	launch_some(KIND(GRAPH_LAUNCH), 1);
	CHECK(!looks(1));
	CHECK(looks(2) == 3);
	launch_some(KIND(EVENT), 1); /* has no record */
	CHECK(looks(2) == 2);
	wt_cupti_set_state(WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_YIELDED);
	launch_some(KIND(LAUNCH), 1);
	CHECK(!looks(20));
}

/* How long a flush took counts, and the machine may have other things to do: one undisturbed time will do. */
static void test_pauses(void **state)
{
	int status = 1;

	for (int i = 0; i < 30 && status; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pauses();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_release),
		cmocka_unit_test(test_cap),	     cmocka_unit_test(test_rlimit),
		cmocka_unit_test(test_broken_write), cmocka_unit_test(test_enospc),
		cmocka_unit_test(test_segments),     cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_lives),	     cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
