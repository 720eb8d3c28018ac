/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over its corpus without a fuzzer, so that plain `make check` replays every input that ever
 * mattered, under whatever sanitizers the build has.
 *
 * Flow: main -> each regular file of WT_FUZZ_CORPUS in name order -> LLVMFuzzerTestOneInput. Also each input cut in
 * half and with one byte flipped: cheap neighbours that a corpus file alone does not cover.
 * One thread. Exit 0 = all ran (a defect aborts in the sanitizer), 1 = no input found: a corpus that went missing must
 * not pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define MAX_INPUT_BYTES (16u << 20)

/* An exact-size heap block, so that a read one byte past the input is seen. */
static void run_copy(const uint8_t *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		exit(1);
	if (bytes)
		memcpy(copy, data, bytes);
	LLVMFuzzerTestOneInput(copy, bytes);
	free(copy);
}

static int run_file(const char *path)
{
	struct stat st;
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	size_t got;

	if (!f || fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
		if (f)
			fclose(f);
		return 0;
	}
	if (st.st_size > MAX_INPUT_BYTES) {
		fprintf(stderr, "%s: larger than %u bytes\n", path, MAX_INPUT_BYTES);
		exit(1);
	}
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		exit(1);
	got = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	printf("%s: %zu bytes\n", path, got);
	fflush(stdout);
	run_copy(data, got);
	run_copy(data, got / 2);
	if (got) {
		data[got / 3] ^= 0x20;
		run_copy(data, got);
	}
	free(data);
	return 1;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : WT_FUZZ_CORPUS;
	struct dirent **list;
	int i, ran = 0, n = scandir(dir, &list, NULL, alphasort);

	if (n < 0) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		return 1;
	}
	for (i = 0; i < n; i++) {
		char path[4096];

		if (snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name) < (int)sizeof(path))
			ran += run_file(path);
		free(list[i]);
	}
	free(list);
	run_copy(NULL, 0);
	printf("%d inputs\n", ran);
	return ran ? 0 : 1;
}
