/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's memory snapshots (torch.cuda.memory._snapshot, _dump_snapshot). Segments say what is held now, traces what
 * happened, oldest first, as far back as the allocator's ring went: the peak is that of the time they cover.
 */
#include "import/torch_dump.h"

#include <string.h>

#define MAX_DEVICES 64

struct memory {
	uint64_t segments, reserved, used, largest_hole;
	uint64_t allocs, frees, ooms;
	int64_t now, peak; /* over the trace, relative to its beginning */
};

static uint64_t bytes_of(const struct wt_values *v, uint32_t map, const char *key)
{
	int64_t i;

	return wt_value_int(v, wt_value_get(v, map, key), &i) && i > 0 && i < INT64_C(1) << 50
		       ? (uint64_t)i
		       : 0;
}

static int is(const struct wt_values *v, uint32_t id, const char *word)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s && n == strlen(word) && !memcmp(s, word, n);
}

static void add_segment(const struct wt_values *v, uint32_t segment, struct memory *m)
{
	uint32_t blocks = wt_value_get(v, segment, "blocks"), block;
	struct wt_value_iterator it = {.block = 0};

	m->segments++;
	m->reserved += bytes_of(v, segment, "total_size");
	m->used += bytes_of(v, segment, "allocated_size");
	while ((block = wt_value_next(v, blocks, &it))) {
		uint64_t size = bytes_of(v, block, "size");

		if (is(v, wt_value_get(v, block, "state"), "inactive") && size > m->largest_hole)
			m->largest_hole = size;
	}
}

static void add_action(const struct wt_values *v, uint32_t event, struct memory *m)
{
	uint32_t action = wt_value_get(v, event, "action");
	int64_t size = (int64_t)bytes_of(v, event, "size");

	if (is(v, action, "alloc")) {
		m->allocs++;
		m->now += size;
		m->peak = m->now > m->peak ? m->now : m->peak;
	} else if (is(v, action, "free_completed")) {
		m->frees++;
		m->now -= size;
	} else if (is(v, action, "oom")) {
		m->ooms++;
	}
}

static void report(struct wt_builder *b, const char *path, uint16_t process, size_t device,
		   const struct memory *m)
{
	/* What was held when the trace began is what is held now, less what it added since. */
	int64_t peak = (int64_t)m->used - m->now + m->peak;

	peak = peak > (int64_t)m->used ? peak : (int64_t)m->used;
	wt_builder_memory(b, &(struct wt_memory){.device = (int64_t)device,
						 .peak_allocated = (uint64_t)peak,
						 .allocated = m->used,
						 .reserved = m->reserved,
						 .events = m->allocs + m->frees,
						 .ooms = m->ooms,
						 .process = process,
						 .source = WT_MEMORY_SNAPSHOT});
	wt_builder_note(
		b,
		"%s: memory of device %zu: %llu bytes reserved in %llu segments, %llu in use, "
		"largest hole %llu; the trace has "
		"%llu allocations and %llu frees, its peak is %lld bytes; out of memory %llu times",
		path, device, (unsigned long long)m->reserved, (unsigned long long)m->segments,
		(unsigned long long)m->used, (unsigned long long)m->largest_hole,
		(unsigned long long)m->allocs, (unsigned long long)m->frees, (long long)peak,
		(unsigned long long)m->ooms);
}

int wt_snapshot_read(const struct wt_values *v, struct wt_builder *b, uint32_t input,
		     struct wt_diag *diag)
{
	uint32_t root = wt_values_root(v), segments = wt_value_get(v, root, "segments"), item;
	uint32_t traces = wt_value_get(v, root, "device_traces"), event;
	struct wt_value_iterator it = {.block = 0}, devices = {.block = 0};
	struct memory memory[MAX_DEVICES] = {{.segments = 0}};
	const char *path = wt_builder_get(b, wt_builder_input_at(b, input)->path);
	int64_t device;

	while ((item = wt_value_next(v, segments, &it)))
		if (wt_value_int(v, wt_value_get(v, item, "device"), &device) && device >= 0 &&
		    device < MAX_DEVICES)
			add_segment(v, item, &memory[device]);
	for (size_t d = 0; d < MAX_DEVICES && (item = wt_value_next(v, traces, &devices)); d++) {
		struct wt_value_iterator events = {.block = 0};

		while ((event = wt_value_next(v, item, &events)))
			add_action(v, event, &memory[d]);
	}
	for (size_t d = 0; d < MAX_DEVICES; d++)
		if (memory[d].segments || memory[d].allocs || memory[d].ooms)
			report(b, path, wt_builder_process(b, input, /* pid= */ -1), d, &memory[d]);
	return 0;
}
