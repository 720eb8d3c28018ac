/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocprofv3's JSON (`rocprofv3 --kernel-trace --memory-copy-trace --hip-trace --output-format json`), the results of
 * ROCprofiler-SDK's tool: one entry a process, with agents (the devices), kernel symbols, and buffer records: kernel
 * dispatches, memory copies, calls of HIP and HSA, marker ranges. Times are nanoseconds. Records meet calls by the
 * internal correlation id. The tables of names stand before and behind the records, so the document is read as a whole.
 */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "base/map.h"
#include "import/importer.h"
#include "import/values.h"

struct rocprof {
	const struct wt_values *v;
	struct wt_builder *b;
	uint32_t tool, records, strings; /* values */
	uint16_t process;
	struct wt_map symbols,
		agents; /* kernel id -> builder's name; agent handle -> builder's device + 1 */
	uint64_t untimed;
};

static uint32_t get(const struct rocprof *r, uint32_t map, const char *key)
{
	return wt_value_get(r->v, map, key);
}

static int64_t integer(const struct rocprof *r, uint32_t map, const char *key)
{
	int64_t i;

	return wt_value_int(r->v, get(r, map, key), &i) ? i : 0;
}

static uint32_t small(const struct rocprof *r, uint32_t map, const char *key)
{
	int64_t i = integer(r, map, key);

	return i > 0 && i <= UINT32_MAX ? (uint32_t)i : 0;
}

static uint32_t intern(struct rocprof *r, uint32_t id)
{
	size_t n;
	const char *s = wt_value_text(r->v, id, &n);

	return s ? wt_builder_string(r->b, s, n) : 0;
}

static int is(const struct rocprof *r, uint32_t id, const char *word)
{
	size_t n;
	const char *s = wt_value_text(r->v, id, &n);

	return s && n == strlen(word) && !memcmp(s, word, n);
}

static int read_symbols(struct rocprof *r)
{
	struct wt_value_iterator it = {.block = 0};
	uint32_t list = get(r, r->tool, "kernel_symbols"), s;
	int err = 0;

	while (!err && (s = wt_value_next(r->v, list, &it))) {
		static const char *const keys[] = {"formatted_kernel_name", "demangled_kernel_name",
						   "kernel_name"};
		uint32_t name = 0;

		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !name; i++)
			name = intern(r, get(r, s, keys[i]));
		err = wt_map_put(&r->symbols, (uint64_t)integer(r, s, "kernel_id"), name);
	}
	return err;
}

/* Agents of type 2 are GPUs; ordinals are those HIP gives them. */
static int read_agents(struct rocprof *r)
{
	struct wt_value_iterator it = {.block = 0};
	uint32_t list = get(r, r->tool, "agents"), a;
	int64_t ordinal = 0;
	int err = 0;

	while (!err && (a = wt_value_next(r->v, list, &it)) && ordinal < 4096) {
		uint16_t device;
		struct wt_device *d;

		if (integer(r, a, "type") != 2 && !is(r, get(r, a, "type"), "GPU"))
			continue;
		device = wt_builder_device(r->b, r->process, ordinal++, NULL);
		d = wt_builder_device_at(r->b, device);
		d->name = intern(r, get(r, a, "product_name"));
		d->name = d->name ? d->name : intern(r, get(r, a, "name"));
		d->sm_count = small(r, a, "cu_count");
		err = wt_map_put(&r->agents, (uint64_t)integer(r, get(r, a, "id"), "handle"),
				 device + 1u);
	}
	return err;
}

static uint16_t device_of(struct rocprof *r, uint32_t agent)
{
	uint64_t handle = (uint64_t)integer(r, agent, "handle");
	uint32_t device;

	if (wt_map_get(&r->agents, handle, &device))
		return (uint16_t)(device - 1);
	return wt_builder_device(r->b, r->process, 4096,
				 NULL); /* one for all that are not in the list */
}

static struct wt_op op_of(struct rocprof *r, uint32_t record, uint8_t kind)
{
	struct wt_op op = {
		.start_ns = integer(r, record, "start_timestamp"),
		.end_ns = integer(r, record, "end_timestamp"),
		.correlation = (uint64_t)integer(r, get(r, record, "correlation_id"), "internal"),
		.call = -1,
		.collective = -1,
		.process = r->process,
		.kind = kind};

	if (op.end_ns < op.start_ns || !op.start_ns) {
		op.start_ns = op.end_ns = 0;
		op.flags = WT_OP_UNTIMED;
		r->untimed++;
	}
	return op;
}

static void add_kernel(struct rocprof *r, uint32_t record)
{
	uint32_t info = get(r, record, "dispatch_info"), block = get(r, info, "workgroup_size"),
		 grid = get(r, info, "grid_size");
	struct wt_op op = op_of(r, record, WT_OP_KERNEL);
	struct wt_shape shape = {
		.block = {small(r, block, "x"), small(r, block, "y"), small(r, block, "z")},
		.grid = {small(r, grid, "x"), small(r, grid, "y"), small(r, grid, "z")},
		.dyn_smem = small(r, info, "group_segment_size")};
	uint32_t stream = get(r, record, "stream_id") ? get(r, record, "stream_id")
						      : get(r, info, "queue_id");

	/* HSA counts the grid in work items. */
	for (int i = 0; i < 3; i++)
		shape.grid[i] = shape.block[i]
					? (shape.grid[i] + shape.block[i] - 1) / shape.block[i]
					: shape.grid[i];
	op.device = device_of(r, get(r, info, "agent_id"));
	op.stream = wt_builder_stream(r->b, r->process, op.device, integer(r, stream, "handle"));
	op.shape = shape.grid[0] || shape.block[0] ? wt_builder_shape(r->b, &shape) : 0;
	wt_map_get(&r->symbols, (uint64_t)integer(r, info, "kernel_id"), &op.name);
	wt_builder_op(r->b, &op);
}

/* The name of an operation of a kind: strings.buffer_records[kind].operations[operation]. */
static uint32_t operation_of(struct rocprof *r, uint32_t record)
{
	struct wt_value_iterator kinds = {.block = 0}, ops = {.block = 0};
	int64_t kind = integer(r, record, "kind"), operation = integer(r, record, "operation");
	uint32_t list = get(r, r->strings, "buffer_records"), item = 0;

	for (int64_t i = 0; i <= kind && i < 4096 && (item = wt_value_next(r->v, list, &kinds));)
		i++;
	list = get(r, item, "operations");
	item = 0;
	for (int64_t i = 0;
	     i <= operation && i < 65536 && (item = wt_value_next(r->v, list, &ops));)
		i++;
	return item;
}

static void add_copy(struct rocprof *r, uint32_t record)
{
	static const struct {
		const char *name, *shown;
		uint8_t kind;
	} copies[] = {{"MEMORY_COPY_HOST_TO_DEVICE", "Memcpy HtoD", WT_COPY_H2D},
		      {"MEMORY_COPY_DEVICE_TO_HOST", "Memcpy DtoH", WT_COPY_D2H},
		      {"MEMORY_COPY_DEVICE_TO_DEVICE", "Memcpy DtoD", WT_COPY_D2D},
		      {"MEMORY_COPY_HOST_TO_HOST", "Memcpy HtoH", WT_COPY_H2H}};
	struct wt_op op = op_of(r, record, WT_OP_COPY);
	uint32_t name = operation_of(r, record), device, agent = get(r, record, "dst_agent_id");
	int64_t bytes = integer(r, record, "bytes");

	/* A copy belongs to the GPU of its two sides. */
	if (!wt_map_get(&r->agents, (uint64_t)integer(r, agent, "handle"), &device))
		agent = get(r, record, "src_agent_id");
	op.device = device_of(r, agent);
	op.stream = wt_builder_stream(r->b, r->process, op.device,
				      integer(r, get(r, record, "stream_id"), "handle"));
	op.bytes = bytes > 0 ? (uint64_t)bytes : 0;
	op.name = wt_builder_cstring(r->b, "Memcpy");
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		if (is(r, name, copies[i].name)) {
			op.copy_kind = copies[i].kind;
			op.name = wt_builder_cstring(r->b, copies[i].shown);
		}
	wt_builder_op(r->b, &op);
}

static void add_call(struct rocprof *r, uint32_t record)
{
	struct wt_call call = {
		.start_ns = integer(r, record, "start_timestamp"),
		.end_ns = integer(r, record, "end_timestamp"),
		.correlation = (uint64_t)integer(r, get(r, record, "correlation_id"), "internal"),
		.stream = UINT32_MAX,
		.parent = -1,
		.process = r->process};
	const char *name;

	if (call.end_ns < call.start_ns)
		return;
	call.name = intern(r, operation_of(r, record));
	name = wt_builder_get(r->b, call.name);
	call.kind = (uint8_t)wt_call_kind_by_name(name);
	call.flags = wt_call_blocks_by_name(name) ? WT_CALL_BLOCKING : 0;
	call.thread = wt_builder_thread(r->b, r->process, integer(r, record, "thread_id"));
	wt_builder_call(r->b, &call);
}

static const struct {
	const char *key;
	void (*add)(struct rocprof *r, uint32_t record);
} tables[] = {{"kernel_dispatch", add_kernel}, {"memory_copy", add_copy}, {"hip_api", add_call}};

static int read_tool(struct rocprof *r, uint32_t input)
{
	uint32_t metadata = get(r, r->tool, "metadata");
	int err;

	r->process = wt_builder_process(r->b, input, integer(r, metadata, "pid"));
	r->records = get(r, r->tool, "buffer_records");
	r->strings = get(r, r->tool, "strings");
	err = read_symbols(r);
	err = err ? err : read_agents(r);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++) {
		struct wt_value_iterator it = {.block = 0};
		uint32_t list = get(r, r->records, tables[i].key), record;

		while ((record = wt_value_next(r->v, list, &it)))
			if (!wt_value_is_cut(r->v, record))
				tables[i].add(r, record);
	}
	wt_map_release(&r->symbols);
	wt_map_release(&r->agents);
	return err;
}

static int read_rocprof(struct wt_source *src, struct wt_builder *b, uint32_t input,
			struct wt_diag *diag)
{
	struct rocprof r = {.b = b};
	struct wt_values *v = NULL;
	struct wt_value_iterator it = {.block = 0};
	uint32_t tools, tool;
	/* Of a cut file the whole records: the tables of names stand before them in the files there are. */
	int damage = wt_values_read_json(&v, src, diag), err = 0, found = 0, is_list;

	if (!v)
		return damage == -WT_E_NOMEM ? damage : -WT_E_FORMAT;
	r.v = v;
	tools = wt_value_get(v, wt_values_root(v), "rocprofiler-sdk-tool");
	/* A list of processes; older releases wrote one without the list. */
	is_list = wt_value_kind(v, tools) == WT_VALUE_LIST;
	for (tool = is_list ? wt_value_next(v, tools, &it) : tools; tool && !err;
	     tool = is_list ? wt_value_next(v, tools, &it) : 0) {
		r.tool = tool;
		found += wt_value_kind(v, get(&r, tool, "buffer_records")) == WT_VALUE_MAP;
		err = read_tool(&r, input);
	}
	wt_values_free(v);
	if (err)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (!found && damage)
		return -WT_E_FORMAT;
	if (!found)
		return wt_fail(diag, WT_E_FORMAT, 0,
			       "found JSON of rocprofv3 without buffer records, expected "
			       "`rocprofv3 --kernel-trace --memory-copy-trace "
			       "--hip-trace --output-format json`");
	if (r.untimed)
		wt_builder_note(
			b,
			"%s: %llu device records have no usable times: counted, they own no time",
			wt_source_path(src), (unsigned long long)r.untimed);
	return damage;
}

static int probe_rocprof(const uint8_t *head, size_t n)
{
	static const char mark[] = "\"rocprofiler-sdk-tool\"";

	return n && memchr("{ \t\r\n", head[0], 5) &&
	       memmem(head, n < 4096 ? n : 4096, mark, sizeof(mark) - 1);
}

const struct wt_importer wt_importer_rocprof = {
	.name = "rocprof",
	.human = "rocprofv3 results (.json)",
	.probe = probe_rocprof,
	.read = read_rocprof,
};
