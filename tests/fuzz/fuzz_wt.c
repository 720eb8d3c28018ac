/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native reader behind the frames. The input is a list of packets, each with a length of two bytes; they are framed
 * here with right checks, or the fuzzer would never get past them. Whatever they hold: a timeline without dangling
 * indices, and an identity of completeness that adds up.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "proto/frame.h"

extern const struct wt_importer wt_importer_warptap;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint8_t *out;
static size_t n_out, room;

static int sink(void *arg, const void *bytes, size_t n)
{
	if (n_out + n > room) {
		room = (n_out + n) * 2;
		out = realloc(out, room);
		if (!out)
			abort();
	}
	memcpy(out + n_out, bytes, n);
	n_out += n;
	return 0;
}

static void frame(const uint8_t *data, size_t n)
{
	static void *mem;
	size_t size = wt_frame_writer_size(1), at = 0;
	struct wt_frame_writer *w;

	if (!mem)
		mem = aligned_alloc(16, (size + 15) & ~(size_t)15);
	w = wt_frame_writer_init(mem, size, 1, (const uint8_t *)"fuzz-fuzz-fuzz-0", sink, NULL);
	if (!w)
		abort();
	n_out = 0;
	while (at + 2 <= n) {
		size_t len = data[at] | (size_t)data[at + 1] << 8;

		at += 2;
		if (len > n - at)
			len = n - at;
		if (wt_frame_writer_packet(w, data + at, len))
			abort();
		at += len;
	}
	if (wt_frame_writer_end(w, 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl;
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	int rc;

	frame(data, n);
	if (!n_out) {
		wt_builder_free(b);
		return 0;
	}
	if (!b || wt_source_open_memory(&src, out, n_out))
		abort();
	rc = wt_importer_warptap.read(src, b, wt_builder_input(b, "fuzz", "warptap"), &diag);
	if (rc && !diag.text[0])
		abort();
	wt_source_close(src);
	if (wt_builder_finish(b, &tl, &diag))
		abort();
	for (size_t i = 0; i < tl->nops; i++)
		if (tl->ops[i].end_ns < tl->ops[i].start_ns ||
		    tl->ops[i].call >= (int64_t)tl->ncalls)
			abort();
	for (size_t i = 0; i < tl->nholes; i++)
		if (tl->holes[i].end_ns <= tl->holes[i].start_ns)
			abort();
	for (size_t i = 0; i < tl->nnotes; i++)
		if (strstr(wt_timeline_string(tl, tl->notes[i]), "does not add up"))
			abort();
	wt_timeline_free(tl);
	return 0;
}
