/* SPDX-License-Identifier: Apache-2.0 */
/* The small containers of analyzer/base: interned strings, the integer map, the region and the text buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/region.h"
#include "base/strbuf.h"
#include "base/strtab.h"

static void test_strings(void **state)
{
	struct wt_strings *t = wt_strings_new();
	char name[700];

	assert_non_null(t);
	assert_int_equal(wt_strings_count(t), 1);
	assert_string_equal(wt_strings_get(t, 0), "");
	assert_int_equal(wt_strings_add(t, "", 0), 0);
	assert_int_equal(wt_strings_add(t, NULL, 0), 0);
	assert_int_equal(wt_strings_find(t, "kernel", 6), -1);
	assert_int_equal(wt_strings_add(t, "kernel", 6), 1);
	assert_int_equal(wt_strings_add(t, "kernels", 6), 1);	    /* n counts, not a terminator */
	assert_int_equal(wt_strings_add(t, "kernel\0tail", 11), 1); /* a NUL ends it */
	assert_int_equal(wt_strings_add(t, "\0", 1), 0);
	assert_int_equal(wt_strings_add(t, "Kernel", 6), 2);
	assert_int_equal(wt_strings_find(t, "Kernel", 6), 2);
	assert_int_equal(wt_strings_length(t, 2), 6);
	assert_string_equal(wt_strings_get(t, 99), "");
	/* Many, of all lengths around the hash's steps, twice: the same ids. */
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 20000; i++) {
			int n = snprintf(name, sizeof(name), "%d", i), want = i % 600;

			for (; n < want; n++)
				name[n] = (char)('a' + (n * 7 + i) % 26);
			name[n] = '\0';
			assert_int_equal(wt_strings_add(t, name, (size_t)n), 3 + i);
			assert_string_equal(wt_strings_get(t, (uint32_t)(3 + i)), name);
		}
	assert_int_equal(wt_strings_count(t), 20003);
	assert_int_equal(wt_strings_failed(t), 0);
	wt_strings_free(t);
	wt_strings_free(NULL);
}

static void test_hash(void **state)
{
	char a[64] = {0}, b[64] = {0};

	/* One changed byte at each place and length changes the hash; the length itself counts. */
	for (size_t n = 1; n <= sizeof(a); n++) {
		assert_true(wt_hash_bytes(a, n, 0) != wt_hash_bytes(a, n - 1, 0));
		for (size_t i = 0; i < n; i++) {
			b[i] = 1;
			assert_true(wt_hash_bytes(a, n, 0) != wt_hash_bytes(b, n, 0));
			b[i] = 0;
		}
		assert_true(wt_hash_bytes(a, n, 0) != wt_hash_bytes(a, n, 1));
	}
}

static void test_map(void **state)
{
	struct wt_map m = {0};
	uint32_t v = 0, *slot;
	int isnew;

	assert_int_equal(wt_map_get(&m, 0, &v), 0);
	assert_int_equal(wt_map_put(&m, 0, 7), 0);
	assert_int_equal(wt_map_get(&m, 0, &v), 1);
	assert_int_equal(v, 7);
	assert_int_equal(wt_map_put(&m, UINT64_MAX, 8), 0);
	slot = wt_map_slot(&m, UINT64_MAX, 1, &isnew);
	assert_int_equal(isnew, 0);
	assert_int_equal((*slot)++, 8);
	for (uint64_t k = 1; k <= 50000; k++)
		assert_int_equal(wt_map_put(&m, k << 40, (uint32_t)k), 0);
	for (uint64_t k = 1; k <= 50000; k++) {
		assert_int_equal(wt_map_get(&m, k << 40, &v), 1);
		assert_int_equal(v, k);
		assert_int_equal(wt_map_get(&m, (k << 40) + 1, &v), 0);
	}
	assert_int_equal(wt_map_get(&m, UINT64_MAX, &v), 1);
	assert_int_equal(v, 9);
	assert_int_equal(m.count, 50002);
	wt_map_release(&m);
	assert_int_equal(wt_map_get(&m, 0, &v), 0);
}

static void test_region(void **state)
{
	struct wt_region r = {0};
	char *texts[2000];

	for (size_t i = 0; i < 2000; i++) {
		size_t n = i % 37 ? i % 300 : 5000 + i * 13;
		uint64_t *aligned = wt_region_alloc(&r, 8, 8);

		assert_non_null(aligned);
		assert_int_equal((uintptr_t)aligned % 8, 0);
		*aligned = i;
		texts[i] = wt_region_alloc(&r, n + 1, 1);
		assert_non_null(texts[i]);
		memset(texts[i], (int)('a' + i % 26), n);
		texts[i][n] = '\0';
	}
	for (size_t i = 0; i < 2000; i++) {
		size_t n = i % 37 ? i % 300 : 5000 + i * 13;

		assert_int_equal(strlen(texts[i]), n);
		assert_true(n == 0 || texts[i][n - 1] == (char)('a' + i % 26));
	}
	assert_string_equal(wt_region_copy(&r, "abc", 2), "ab");
	assert_null(wt_region_alloc(&r, SIZE_MAX, 1));
	assert_null(wt_region_copy(&r, "x", SIZE_MAX));
	wt_region_release(&r);
	wt_region_release(&r);
}

static void test_strbuf(void **state)
{
	struct wt_strbuf b = {0};

	assert_string_equal(wt_strbuf_text(&b), "");
	wt_strbuf_addf(&b, "%d-%s", 7, "x");
	wt_strbuf_addc(&b, '!');
	wt_strbuf_adds(&b, "");
	assert_string_equal(b.s, "7-x!");
	for (int i = 0; i < 1000; i++)
		wt_strbuf_addf(&b, "%04d", i);
	assert_int_equal(b.n, 4004);
	assert_int_equal(strlen(b.s), 4004);
	assert_string_equal(b.s + 4000, "0999");
	wt_strbuf_clear(&b);
	assert_string_equal(wt_strbuf_text(&b), "");
	assert_int_equal(wt_strbuf_reserve(&b, SIZE_MAX / 2), -1);
	assert_int_equal(b.failed, 1);
	wt_strbuf_adds(&b, "ignored");
	assert_string_equal(wt_strbuf_text(&b), "");
	wt_strbuf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings), cmocka_unit_test(test_hash),
		cmocka_unit_test(test_map),	cmocka_unit_test(test_region),
		cmocka_unit_test(test_strbuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
