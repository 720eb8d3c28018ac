/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph API of cuDNN: descriptors that keep their attributes, a heuristic with one engine, and execution as one
 * kernel named after what the graph holds (attention, convolution, normalisation, product, pointwise).
 *
 * A descriptor is a list of attributes as the caller set them; it holds what they point to, so that a plan outlives the
 * graph it was made from, as in life. What was never set and has an answer of its own
 * (counts, sizes) stands in a table. An engine configuration that the heuristic fills remembers the graph, so
 * execution finds its way from plan to configuration to graph. Any thread; a descriptor is its caller's to guard.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu/libs/cudnn_graph.h"
#include "simgpu/libs/lib_handle.h"
#include "simgpu/libs/lib_stub.h"

#define MAX_VALUE_BYTES (16u << 20)
#define TYPES		48

struct attribute {
	int name, type;
	int64_t count;
	size_t bytes;
	struct attribute *next;
	_Alignas(16) unsigned char value[];
};

struct cudnn_descriptor {
	uint64_t magic;
	int type, finalized, refs; /* the caller's, and one for each attribute that holds it */
	struct attribute *attributes;
};

#define MAGIC 0x63756464657363ull

/* Bytes of one element by cudnnBackendAttributeType_t; types that later releases add are enumerators. */
static const uint8_t type_bytes[TYPES] = {8, 4, 1, 8, 4, 8, 8, 4, 4, 4, 4,  4, 4, 4, 4, 8,
					  4, 4, 4, 4, 4, 4, 4, 4, 1, 4, 16, 4, 4, 4, 4, 4,
					  4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,  4, 4, 4, 4, 4};

/* What an unset attribute answers: so many elements, each this value. */
static const struct answer {
	int name;
	int64_t count, value;
} answers[] = {
	{CUDNN_OPERATIONGRAPH_ENGINE_COUNT, 1, 1},
	{CUDNN_ENGINECFG_WORKSPACE, 1, 0},
	{CUDNN_ENGINECFG_SHARED_MEMORY, 1, 0},
	{CUDNN_PLAN_WORKSPACE, 1, 0},
	{CUDNN_ENGINE_INDEX, 1, 0},
	{CUDNN_KNOB_MAXIMUM, 1, 0},
	{CUDNN_KNOB_MINIMUM, 1, 0},
	{CUDNN_KNOB_STRIDE, 1, 1},
};

static struct cudnn_descriptor *descriptor(void *p)
{
	struct cudnn_descriptor *d = p;

	return (uintptr_t)p > 4096 && d->magic == MAGIC ? d : NULL;
}

static const struct attribute *find(const struct cudnn_descriptor *d, int name)
{
	for (const struct attribute *a = d->attributes; a; a = a->next)
		if (a->name == name)
			return a;
	return NULL;
}

static void release(struct cudnn_descriptor *d);

static struct cudnn_descriptor *held(const struct attribute *a, int64_t i)
{
	void *p;

	if (a->type != CUDNN_TYPE_DESCRIPTOR || i >= a->count)
		return NULL;
	memcpy(&p, a->value + i * (int64_t)sizeof(p), sizeof(p));
	return descriptor(p);
}

static void attribute_free(struct attribute *a)
{
	for (int64_t i = 0; i < a->count && a->type == CUDNN_TYPE_DESCRIPTOR; i++)
		release(held(a, i));
	free(a);
}

static void release(struct cudnn_descriptor *d)
{
	struct attribute *a;

	if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL))
		return;
	while ((a = d->attributes)) {
		d->attributes = a->next;
		attribute_free(a);
	}
	d->magic = 0;
	free(d);
}

static void drop(struct cudnn_descriptor *d, int name)
{
	for (struct attribute **at = &d->attributes; *at; at = &(*at)->next)
		if ((*at)->name == name) {
			struct attribute *gone = *at;

			*at = gone->next;
			attribute_free(gone);
			return;
		}
}

static int put(struct cudnn_descriptor *d, int name, int type, int64_t count, const void *value)
{
	size_t bytes = (size_t)count * type_bytes[type];
	struct attribute *a;

	if (bytes > MAX_VALUE_BYTES)
		return CUDNN_BAD_PARAM;
	a = malloc(sizeof(*a) + bytes);
	if (!a)
		return CUDNN_ALLOC_FAILED;
	a->name = name;
	a->type = type;
	a->count = count;
	a->bytes = bytes;
	if (bytes)
		memcpy(a->value, value, bytes);
	for (int64_t i = 0; i < count && type == CUDNN_TYPE_DESCRIPTOR; i++) {
		struct cudnn_descriptor *other = held(a, i);

		if (other)
			__atomic_add_fetch(&other->refs, 1, __ATOMIC_RELAXED);
	}
	drop(d, name);
	a->next = d->attributes;
	d->attributes = a;
	return CUDNN_OK;
}

SIM_API int cudnnBackendCreateDescriptor(int type, void **ret)
{
	struct cudnn_descriptor *d;

	if (!ret)
		return CUDNN_BAD_PARAM_NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return CUDNN_ALLOC_FAILED;
	d->magic = MAGIC;
	d->type = type;
	d->refs = 1;
	*ret = d;
	return CUDNN_OK;
}

SIM_API int cudnnBackendDestroyDescriptor(void *p)
{
	struct cudnn_descriptor *d = descriptor(p);

	if (!d)
		return CUDNN_BAD_PARAM;
	release(d);
	return CUDNN_OK;
}

/* A plan's text names the plan, which from then on stays: another one can be made from it. */
static int write_plan(struct cudnn_descriptor *d, int64_t wanted, int64_t *count, void *out)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"plan\":\"%llx\"}",
			 (unsigned long long)(uintptr_t)d);

	if (count)
		*count = n;
	if (!out || wanted <= 0)
		return CUDNN_OK;
	__atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
	memcpy(out, text, (size_t)(wanted < n ? wanted : n));
	return CUDNN_OK;
}

static int read_plan(struct cudnn_descriptor *d, int64_t count, const void *values)
{
	static const char begin[] = "{\"plan\":\"";
	const struct cudnn_descriptor *from;
	const struct attribute *config;
	char text[64] = "";

	if (!count)
		return CUDNN_OK;
	if (count < (int64_t)sizeof(begin) || count >= (int64_t)sizeof(text))
		return CUDNN_BAD_PARAM;
	memcpy(text, values, (size_t)count);
	if (strncmp(text, begin, sizeof(begin) - 1) != 0)
		return CUDNN_BAD_PARAM;
	from = descriptor((void *)(uintptr_t)strtoull(text + sizeof(begin) - 1, NULL, 16));
	config = from ? find(from, CUDNN_PLAN_CONFIG) : NULL;
	return config ? put(d, CUDNN_PLAN_CONFIG, CUDNN_TYPE_DESCRIPTOR, 1, config->value)
		      : CUDNN_BAD_PARAM;
}

SIM_API int cudnnBackendSetAttribute(void *p, int name, int type, int64_t count, const void *values)
{
	struct cudnn_descriptor *d = descriptor(p);

	if (!d || (count && !values))
		return CUDNN_BAD_PARAM_NULL;
	if (type < 0 || type >= TYPES || count < 0 || count > (int64_t)MAX_VALUE_BYTES)
		return CUDNN_BAD_PARAM;
	if (name == CUDNN_PLAN_TEXT)
		return read_plan(d, count, values);
	return put(d, name, type, count, values);
}

SIM_API int cudnnBackendFinalize(void *p)
{
	struct cudnn_descriptor *d = descriptor(p);

	if (!d)
		return CUDNN_BAD_PARAM;
	d->finalized = 1;
	return CUDNN_OK;
}

/* The caller brings descriptors; the first one becomes the answer. */
static int fill_result(struct cudnn_descriptor *heuristic, int64_t wanted, int64_t *count,
		       void **out)
{
	const struct attribute *graph = find(heuristic, CUDNN_ENGINEHEUR_GRAPH);
	struct cudnn_descriptor *cfg;

	if (count)
		*count = 1;
	if (wanted < 1 || !out)
		return CUDNN_OK;
	cfg = descriptor(out[0]);
	if (!cfg)
		return CUDNN_BAD_PARAM;
	cfg->finalized = 1;
	return graph ? put(cfg, CUDNN_ENGINE_GRAPH, CUDNN_TYPE_DESCRIPTOR, 1, graph->value)
		     : CUDNN_OK;
}

/* A descriptor asked for into one that the caller made: its attributes are copied. */
static int copy_into(const struct attribute *a, void **out)
{
	struct cudnn_descriptor *from, *to = descriptor(out[0]);
	void *p;

	memcpy(&p, a->value, sizeof(p));
	from = descriptor(p);
	if (!from)
		return CUDNN_BAD_PARAM;
	if (!to || to == from) {
		out[0] = from;
		return CUDNN_OK;
	}
	for (const struct attribute *x = from->attributes; x; x = x->next) {
		int err = put(to, x->name, x->type, x->count, x->value);

		if (err != CUDNN_OK)
			return err;
	}
	to->finalized = from->finalized;
	return CUDNN_OK;
}

static int get_set(const struct attribute *a, int type, int64_t wanted, int64_t *count, void *out)
{
	int64_t n = a->count < wanted ? a->count : wanted;

	if (count)
		*count = a->count;
	if (!out || n <= 0)
		return CUDNN_OK;
	if (type == CUDNN_TYPE_DESCRIPTOR && a->type == type && n == 1)
		return copy_into(a, out);
	memcpy(out, a->value, (size_t)n * type_bytes[a->type]);
	return CUDNN_OK;
}

SIM_API int cudnnBackendGetAttribute(void *p, int name, int type, int64_t wanted, int64_t *count,
				     void *out)
{
	struct cudnn_descriptor *d = descriptor(p);
	const struct attribute *a;

	if (!d || type < 0 || type >= TYPES || wanted < 0)
		return CUDNN_BAD_PARAM;
	if (name == CUDNN_ENGINEHEUR_RESULTS)
		return fill_result(d, wanted, count, out);
	if (name == CUDNN_PLAN_TEXT)
		return write_plan(d, wanted, count, out);
	a = find(d, name);
	if (a)
		return get_set(a, type, wanted, count, out);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (answers[i].name == name) {
			if (count)
				*count = answers[i].count;
			if (out && wanted > 0)
				memcpy(out, &answers[i].value, type_bytes[type] < 8 ? 4 : 8);
			return CUDNN_OK;
		}
	/* An engine or configuration asked for one level up: the same object will do, it carries the graph. */
	if (count)
		*count = type == CUDNN_TYPE_DESCRIPTOR &&
			 (name == CUDNN_ENGINECFG_ENGINE || name == CUDNN_PLAN_CONFIG);
	return CUDNN_OK;
}

/* ---- from a plan to what it computes ---- */
static struct cudnn_descriptor *follow(const struct cudnn_descriptor *d, int name)
{
	const struct attribute *a = d ? find(d, name) : NULL;
	void *p;

	if (!a || a->type != CUDNN_TYPE_DESCRIPTOR || a->count < 1)
		return NULL;
	memcpy(&p, a->value, sizeof(p));
	return descriptor(p);
}

static const struct cudnn_descriptor *graph_of(const struct cudnn_descriptor *plan)
{
	struct cudnn_descriptor *cfg = follow(plan, CUDNN_PLAN_CONFIG), *engine;

	if (!cfg)
		return NULL;
	engine = follow(cfg, CUDNN_ENGINECFG_ENGINE);
	return follow(engine ? engine : cfg, CUDNN_ENGINE_GRAPH);
}

static void dims_of(const struct cudnn_descriptor *op, int name, struct cudnn_dims *ret)
{
	struct cudnn_descriptor *tensor = follow(op, name);
	const struct attribute *a = tensor ? find(tensor, CUDNN_TENSOR_DIMENSIONS) : NULL;
	const struct attribute *t = tensor ? find(tensor, CUDNN_TENSOR_DATA_TYPE) : NULL;

	memset(ret, 0, sizeof(*ret));
	if (a && a->count > 0 && a->count <= 8 && a->type == CUDNN_TYPE_INT64) {
		ret->n = (int)a->count;
		memcpy(ret->dim, a->value, a->bytes);
	}
	if (t && t->bytes == 4)
		memcpy(&ret->type, t->value, 4);
}

SIM_API int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
	struct sim_lib_handle *h = sim_lib_handle(handle);
	const struct cudnn_descriptor *p = descriptor(plan), *graph;
	struct cudnn_graph g = {0};
	const struct attribute *ops;

	if (!h || !p || !descriptor(pack))
		return CUDNN_BAD_PARAM;
	graph = graph_of(p);
	ops = graph ? find(graph, CUDNN_OPERATIONGRAPH_OPS) : NULL;
	for (int64_t i = 0; ops && ops->type == CUDNN_TYPE_DESCRIPTOR && i < ops->count; i++) {
		struct cudnn_operation op = {0};
		struct cudnn_descriptor *d;
		void *at;

		memcpy(&at, ops->value + i * 8, sizeof(at));
		d = descriptor(at);
		if (!d)
			continue;
		op.type = d->type;
		for (int k = 0; k < 3; k++)
			if (cudnn_operand(d->type, k))
				dims_of(d, cudnn_operand(d->type, k), &op.operand[k]);
		cudnn_graph_add(&g, &op);
	}
	return cudnn_graph_launch(&g, h->stream) ? CUDNN_EXECUTION_FAILED : CUDNN_OK;
}
