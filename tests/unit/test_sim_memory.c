/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's lazy memory against a plain copy of it, its space allocator, and the faults a scenario may name.
 */
#define _GNU_SOURCE /* memfd_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "simgpu/core/sim_base.h"
#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_extent.h"
#include "simgpu/core/sim_fault.h"
#include "simgpu/core/sim_pages.h"
#include "simgpu/core/sim_scenario.h"

#define BYTES	(8u << 20)
#define REGIONS 3 /* private pages, a file, a file of which no book is kept */

static struct region {
	char *at;
	struct sim_pages pages;
	bool book, file;
} regions[REGIONS];

static void span(const void *address, struct sim_span *ret)
{
	*ret = (struct sim_span){.left = SIZE_MAX};
	for (int i = 0; i < REGIONS; i++) {
		size_t at = (size_t)((const char *)address - regions[i].at);
		if ((const char *)address < regions[i].at || at >= BYTES)
			continue;
		ret->pages = regions[i].book ? &regions[i].pages : NULL;
		ret->offset = at;
		ret->left = BYTES - at;
		ret->device = true;
		ret->file = regions[i].file;
	}
}

static int set_up(void **state)
{
	for (int i = 0; i < REGIONS; i++) {
		struct region *r = &regions[i];
		int fd = i ? memfd_create("test", MFD_CLOEXEC) : -1;
		char *p;
		r->file = i > 0;
		r->book = i < 2;
		if (i && ftruncate(fd, 2 * BYTES))
			return -1;
		p = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE,
			 i ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);
		if (p == MAP_FAILED)
			return -1;
		madvise(p, 2 * BYTES, MADV_NOHUGEPAGE);
		r->at = (char *)(((uintptr_t)p + SIM_BLOCK - 1) / SIM_BLOCK * SIM_BLOCK);
		sim_pages_init(&r->pages, BYTES, r->file);
		if (i)
			close(fd);
	}
	return 0;
}

static size_t resident(const char *p, size_t n)
{
	unsigned char in[BYTES / SIM_PAGE];
	size_t ret = 0;

	assert_int_equal(mincore((void *)(uintptr_t)p, n, in), 0);
	for (size_t i = 0; i < n / SIM_PAGE; i++)
		ret += in[i] & 1;
	return ret;
}

static void test_nothing_costs_nothing(void **state)
{
	char *a = regions[0].at, *b = regions[1].at, byte = 7;

	sim_pages_zero(span, a, BYTES);
	sim_pages_copy(span, a + 4096, b, BYTES - 4096);
	sim_pages_copy(span, b, a, BYTES);
	assert_int_equal(resident(a, BYTES), 0);
	assert_int_equal(resident(b, BYTES), 0);
	/* One byte is one page, there and where it is copied to along with eight megabytes of nothing. */
	sim_pages_copy(span, a + 5000000, &byte, 1);
	assert_int_equal(resident(a, BYTES), 1);
	assert_int_equal(sim_pages_count(&regions[0].pages), 1);
	sim_pages_copy(span, b, a, BYTES);
	assert_int_equal(resident(b, BYTES), 1);
	assert_int_equal(b[5000000], 7);
	/* A large zero fill gives pages back; the neighbours of the stretch stay. */
	sim_pages_touch(span, a, BYTES);
	memset(a, 1, BYTES);
	sim_pages_zero(span, a + 1000, BYTES - 2000);
	assert_true(resident(a, BYTES) <= 2);
	assert_int_equal(a[999], 1);
	assert_int_equal(a[1000], 0);
	assert_int_equal(a[BYTES - 1001], 0);
	assert_int_equal(a[BYTES - 1000], 1);
	memset(b, 1, BYTES);
	sim_pages_touch(span, b, BYTES);
	sim_pages_zero(span, b, BYTES);
	assert_int_equal(resident(b, BYTES), 0);
	assert_int_equal(sim_pages_count(&regions[1].pages), 0);
}

/* Thousands of random copies and fills do what they do to plain memory. */
static void test_same_as_plain_memory(void **state)
{
	char *plain[REGIONS], *host = malloc(BYTES), *host2 = malloc(BYTES);
	uint64_t x = 1;

	for (int i = 0; i < REGIONS; i++) {
		plain[i] = malloc(BYTES);
		memcpy(plain[i], regions[i].at, BYTES);
	}
	memset(host, 0, BYTES);
	memset(host2, 0, BYTES);
	for (int round = 0; round < 3000; round++) {
		size_t r[6];
		for (int i = 0; i < 6; i++)
			r[i] = (x = sim_mix(x, (uint64_t)round)) >> 8;
		size_t n = round % 3 ? r[0] % 20000 + 1 : r[0] % (BYTES / 4) + 1;
		size_t to = r[1] % (BYTES - n), from = r[2] % (BYTES - n);
		int d = (int)(r[3] % REGIONS), s = (int)(r[4] % REGIONS);
		switch (r[5] % 5) {
		case 0:
			sim_pages_zero(span, regions[d].at + to, n);
			memset(plain[d] + to, 0, n);
			break;
		case 1: /* from the host */
			memset(host + from, (int)(r[5] >> 3 & 3), n / 3);
			sim_pages_copy(span, regions[d].at + to, host + from, n);
			memcpy(plain[d] + to, host + from, n);
			break;
		case 2: /* to the host */
			sim_pages_copy(span, host2 + to, regions[s].at + from, n);
			assert_memory_equal(host2 + to, plain[s] + from, n);
			break;
		default:
			sim_pages_copy(span, regions[d].at + to, regions[s].at + from, n);
			memmove(plain[d] + to, plain[s] + from, n);
		}
	}
	for (int i = 0; i < REGIONS; i++) {
		assert_memory_equal(plain[i], regions[i].at, BYTES);
		free(plain[i]);
	}
	free(host);
	free(host2);
}

static void test_extents(void **state)
{
	enum { N = 64, SIZE = 1 << 20 };
	struct sim_extent *space = NULL, whole;
	struct {
		uint64_t start;
		size_t bytes;
	} live[N] = {{0, 0}};
	uint64_t x = 3;

	sim_extent_give(&space, SIZE, SIZE, NULL);
	assert_int_equal(sim_extent_take(&space, SIZE + 1), SIM_NO_EXTENT);
	for (int round = 0; round < 20000; round++) {
		int i = (int)((x = sim_mix(x, 1)) % N);
		if (live[i].bytes) {
			sim_extent_give(&space, live[i].start, live[i].bytes, &whole);
			assert_true(whole.start <= live[i].start);
			assert_true(whole.start + whole.bytes >= live[i].start + live[i].bytes);
			live[i].bytes = 0;
			continue;
		}
		live[i].bytes = (size_t)(x >> 20) % 40000 + 1;
		live[i].start = sim_extent_take(&space, live[i].bytes);
		if (live[i].start == SIM_NO_EXTENT) {
			live[i].bytes = 0;
			continue;
		}
		for (int k = 0; k < N; k++)
			if (k != i && live[k].bytes)
				assert_true(live[k].start + live[k].bytes <= live[i].start ||
					    live[i].start + live[i].bytes <= live[k].start);
	}
	for (int i = 0; i < N; i++)
		if (live[i].bytes)
			sim_extent_give(&space, live[i].start, live[i].bytes, NULL);
	/* All is one stretch again. */
	assert_non_null(space);
	assert_int_equal(space->start, SIZE);
	assert_int_equal(space->bytes, SIZE);
	assert_null(space->next);
	assert_int_equal(sim_extent_take(&space, SIZE), SIZE);
	assert_null(space);
}

/* 0 = accepted; the message of what was not in err. */
static int load(const char *text, int64_t rank, char *err, size_t n)
{
	char path[] = "/tmp/wt_fault_XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	rc = sim_scenario_load(path, err, n);
	unlink(path);
	return rc ? rc : sim_fault_load(rank, sim_device_type("h100"), err, n);
}

static void test_faults(void **state)
{
	char err[512] = "";
	int64_t now = sim_now_ns(), at;

	assert_int_equal(load("[device] memory = 8GiB\n"
			      "[throttle] from = 2s  until = 4s  factor = 1.5  device = 1\n"
			      "[clock] skew = 0:-2ms, 1:+3ms  drift = 1:50ppm\n"
			      "[nccl] slow = 2:3, 0-1:4.5  hang = 7:1\n"
			      "[cupti] zero_timestamps = 3+\n",
			      1, err, sizeof(err)),
			 0);
	assert_int_equal(sim_fault_memory_bytes(), 8ull << 30);
	assert_int_equal(sim_fault_throttle(1000, 1, now + 1000000000), 1000);
	assert_int_equal(sim_fault_throttle(1000, 1, now + 3000000000), 1500);
	assert_int_equal(sim_fault_throttle(1000, 0, now + 3000000000), 1000);
	assert_int_equal(sim_fault_throttle(1000, 1, now + 5000000000), 1000);
	at = sim_fault_device_clock(now + 1000000000) - sim_fault_device_clock(now);
	assert_in_range(at, 1000000000 + 49999, 1000000000 + 50001);
	assert_in_range(sim_fault_device_clock(now) - now, 3000000 - 200000, 3000000);
	assert_int_equal(sim_fault_link_milli(2, -1), 3000);
	assert_int_equal(sim_fault_link_milli(5, 2), 3000);
	assert_int_equal(sim_fault_link_milli(0, -1), 1000);
	assert_int_equal(sim_fault_link_milli(1, 0), 4500);
	assert_int_equal(sim_fault_link_milli(1, 3), 1000);
	assert_int_equal(sim_fault_hang(1), 7);
	assert_int_equal(sim_fault_hang(0), 0);
	assert_false(sim_fault_zeroed(2));
	assert_true(sim_fault_zeroed(3));
	assert_true(sim_fault_zeroed(4));

	assert_int_equal(
		load("[cupti] zero_timestamps = 3\n[nccl] hang = 2\n", 0, err, sizeof(err)), 0);
	assert_false(sim_fault_zeroed(4));
	assert_true(sim_fault_zeroed(6));
	assert_int_equal(sim_fault_hang(5), 2);
	assert_int_equal(sim_fault_memory_bytes(), sim_device_type("h100")->memory_bytes);
	assert_int_equal(sim_fault_throttle(1000, 0, now + 3000000000), 1000);
	assert_int_equal(sim_fault_device_clock(now), now);
	assert_int_equal(sim_fault_link_milli(0, 1), 1000);
}

static void test_bad_faults(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"[device] memory = lots\n", "device.memory = lots: expected a size"},
		{"[device] memory = 8\n", "device.memory"},
		{"[device] memory = 0GiB\n", "device.memory"},
		{"[device] memory = -1GiB\n", "device.memory"},
		{"[throttle] factor = 0\n", "throttle.factor"},
		{"[throttle] factor = 2  from = soon\n", "throttle.from"},
		{"[throttle] device = 99\n", "throttle.device"},
		{"[clock] skew = x:1ms\n", "clock.skew"},
		{"[clock] skew = 0:often\n", "clock.skew"},
		{"[clock] drift = 0:50\n", "clock.drift"},
		{"[nccl] slow = 1\n", "nccl.slow"},
		{"[nccl] slow = 1-1:2\n", "nccl.slow"},
		{"[nccl] slow = 1:-2\n", "nccl.slow"},
		{"[nccl] hang = 0\n", "nccl.hang"},
		{"[nccl] hang = 3:x\n", "nccl.hang"},
		{"[nccl] colour = red\n", "has no key"},
		{"[cupti] zero_timestamps = all\n", "cupti.zero_timestamps"},
		{"[throttle] fast = 2\n", "has no key"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char err[512] = "";
		if (!load(rows[i].text, 0, err, sizeof(err)))
			fail_msg("accepted: %s", rows[i].text);
		if (!strstr(err, rows[i].says))
			fail_msg("for %s it said: %s", rows[i].text, err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_costs_nothing),
		cmocka_unit_test(test_same_as_plain_memory),
		cmocka_unit_test(test_extents),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_bad_faults),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
