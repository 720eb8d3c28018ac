/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of cuDNN's graph API, and what a plan made of them computes. A plan says nothing of its sizes; they are
 * in the tensors it was once made from, which are destroyed long before it is executed. So what is set is kept:
 *
 *   tensor       type, sizes, whether it lies in memory at all
 *   operation    a copy of each tensor it is given
 *   graph        the sum of its operations (dnn_graph.c); engines, configurations, heuristics and plans get it from
 *                the descriptor they are given, or are asked for into
 *   plan's text  a plan that is written out and made anew from that text is the same one
 *
 * One table of the process, under a spin lock with a bounded wait (a job's signal handler may come here while its own
 * thread holds it). A descriptor lives until it is destroyed; more than there is room for are not known, which is
 * told (TROUBLE_WHAT_DESCRIPTORS), and a plan that is not known has a row without sizes.
 * Sizes that lie on the device alone (padding, ragged tensors) make a plan's only "at most".
 */
#define _GNU_SOURCE
#include "collectors/dnn.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/arena.h"
#include "agent/hook_table.h"
#include "agent/real.h"
#include "agent/trouble.h"
#include "collectors/dnn_graph.h"

#define BUCKETS	   65536u
#define SLOTS_MAX  262144u
#define OPS_MAX	   32768u
#define ARENA_MAX  (64u << 20) /* of address space; memory is used as descriptors come */
#define GRAPH_OPS  512
#define TEXTS	   1024u
#define SPINS	   2000
#define NAPS	   20
#define GIVE_UP	   16 /* waits in vain: a child of fork may have a lock that nobody will open */
#define PACK_AGAIN 0x7fffu /* not a type of cuDNN's: a variant pack that brings other sizes */

struct slot {
	uint64_t handle;
	struct slot *next; /* of the bucket, or of the free ones */
	uint32_t type;
	union {
		struct wt_dnn_tensor tensor;
		int32_t mode; /* of a pointwise operation */
		struct wt_dnn_op *op;
		struct wt_dnn_work work; /* of graph, engine, configuration, heuristic, plan */
	} u;
};

struct text {
	uint64_t hash;
	struct wt_dnn_work work;
};

static struct {
	atomic_flag lock;
	int open; /* -1: no memory */
	struct wt_arena arena;
	struct slot **heads, *free;
	struct wt_dnn_op *free_ops;
	uint32_t slots, ops, ntexts;
	struct text *texts; /* of the plans written out last */
} dnn = {.lock = ATOMIC_FLAG_INIT};

static int lost(void)
{
	WT_TROUBLE(DESCRIPTORS, 0);
	return 0;
}

static int lock(void)
{
	static _Atomic unsigned in_vain;
	struct timespec nap = {.tv_nsec = 50000};

	if (atomic_load_explicit(&in_vain, memory_order_relaxed) >= GIVE_UP)
		return lost();
	for (int i = 0; i < SPINS; i++)
		if (!atomic_flag_test_and_set_explicit(&dnn.lock, memory_order_acquire))
			return 1;
	for (int i = 0; i < NAPS; i++) {
		int saved = errno;

		syscall(SYS_nanosleep, &nap, NULL); /* not libc's: that is a cancellation point */
		errno = saved;
		if (!atomic_flag_test_and_set_explicit(&dnn.lock, memory_order_acquire))
			return 1;
	}
	atomic_fetch_add_explicit(&in_vain, 1, memory_order_relaxed);
	return lost();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&dnn.lock, memory_order_release);
}

/* Under the lock. */
static int is_open(void)
{
	int saved = errno;

	if (!dnn.open) {
		dnn.open = wt_arena_open(&dnn.arena, ARENA_MAX) ? -1 : 1;
		if (dnn.open > 0)
			dnn.heads = wt_arena_get(&dnn.arena, BUCKETS * sizeof(*dnn.heads));
		if (!dnn.heads)
			dnn.open = -1;
	}
	errno = saved;
	return dnn.open > 0;
}

static struct slot **place_of(const void *handle)
{
	uint64_t h = (uint64_t)handle;
	struct slot **at = &dnn.heads[(h * 0x9E3779B97F4A7C15ull >> 40) % BUCKETS];

	while (*at && (*at)->handle != h)
		at = &(*at)->next;
	return at;
}

static struct slot *find(const void *handle)
{
	return dnn.open > 0 ? *place_of(handle) : NULL;
}

static void *from_arena(size_t bytes, uint32_t *count, uint32_t most)
{
	int saved = errno;
	void *p = *count < most ? wt_arena_get(&dnn.arena, bytes) : NULL;

	errno = saved;
	if (p)
		++*count;
	else
		lost();
	return p;
}

static struct slot *new_slot(void)
{
	struct slot *s = dnn.free;

	if (!s)
		return from_arena(sizeof(*s), &dnn.slots, SLOTS_MAX);
	dnn.free = s->next;
	memset(s, 0, sizeof(*s));
	return s;
}

static struct wt_dnn_op *new_op(void)
{
	struct wt_dnn_op *op = dnn.free_ops;

	if (!op)
		return from_arena(sizeof(*op), &dnn.ops, OPS_MAX);
	dnn.free_ops = op->next;
	memset(op, 0, sizeof(*op));
	return op;
}

static void drop(const void *handle)
{
	struct slot **at = place_of(handle), *s = *at;

	if (!s)
		return;
	*at = s->next;
	if (wt_dnn_is_op(s->type) && s->u.op) {
		s->u.op->next = dnn.free_ops;
		dnn.free_ops = s->u.op;
	}
	s->next = dnn.free;
	dnn.free = s;
}

static int is_kept(unsigned type)
{
	return type == WT_DNN_TENSOR || type == WT_DNN_POINTWISE || type == WT_DNN_GRAPH ||
	       (type >= WT_DNN_ENGINE && type <= WT_DNN_PLAN) || type == PACK_AGAIN ||
	       wt_dnn_is_op(type);
}

static struct slot *add(unsigned type, const void *handle)
{
	struct slot *s, **at = place_of(handle);

	if (*at) /* destroyed without us */
		drop(handle);
	s = new_slot();
	if (!s)
		return NULL;
	s->handle = (uint64_t)handle;
	s->type = type;
	if (wt_dnn_is_op(type)) {
		s->u.op = new_op();
		if (s->u.op)
			s->u.op->type = type;
	}
	at = place_of(handle);
	*at = s;
	return s;
}

void wt_dnn_made(unsigned type, void *const *descriptor)
{
	if (!descriptor || !*descriptor || !is_kept(type) || !lock())
		return;
	if (is_open())
		add(type, *descriptor);
	else
		lost();
	unlock();
}

void wt_dnn_gone(const void *descriptor)
{
	if (!descriptor || !lock())
		return;
	if (dnn.open > 0)
		drop(descriptor);
	unlock();
}

/* ---- attributes ---- */

static int one_boolean(unsigned type, int64_t count, const void *values)
{
	return type == WT_DNN_IS_BOOLEAN && count == 1 && *(const uint8_t *)values;
}

static void set_tensor(struct wt_dnn_tensor *t, unsigned name, unsigned type, int64_t count,
		       const void *values)
{
	int many = type == WT_DNN_IS_INT64 && count <= WT_DNN_DIMS_MAX;
	const int64_t *wide = values;

	switch (name) {
	case WT_DNN_TENSOR_TYPE:
		if (type == WT_DNN_IS_TYPE)
			t->type = (uint8_t)wt_dnn_type(*(const uint32_t *)values);
		break;
	case WT_DNN_TENSOR_DIMS:
		t->n = many ? (uint8_t)count : 0;
		for (int i = 0; i < t->n; i++)
			t->dim[i] = wide[i];
		break;
	case WT_DNN_TENSOR_STRIDES:
		t->broadcast = 0;
		for (int i = 0; many && i < count; i++)
			t->broadcast |= (uint8_t)(!wide[i] << i);
		break;
	case WT_DNN_TENSOR_UID:
		t->uid = type == WT_DNN_IS_INT64 ? wide[0] : 0;
		break;
	case WT_DNN_TENSOR_VIRTUAL:
		t->is_virtual = (uint8_t)one_boolean(type, count, values);
		break;
	case WT_DNN_TENSOR_BY_VALUE:
		t->by_value = (uint8_t)one_boolean(type, count, values);
		break;
	case WT_DNN_TENSOR_RAGGED:
		t->ragged = 1;
		break;
	default:
		break;
	}
}

static void set_op(struct wt_dnn_op *op, unsigned name, int64_t count, const void *const *values)
{
	for (int64_t i = 0; i < count; i++) {
		const struct slot *s = find(values[i]);

		if (s && s->type == WT_DNN_TENSOR)
			wt_dnn_op_add(op, name, &s->u.tensor);
		else if (s && s->type == WT_DNN_POINTWISE)
			op->mode = s->u.mode;
		else if (s && s->type == WT_DNN_GRAPH)
			wt_dnn_op_masked(op, &s->u.work);
	}
}

static void set_graph(struct wt_dnn_work *work, int64_t count, const void *const *values)
{
	struct wt_dnn_sum sum;

	wt_dnn_sum_begin(&sum);
	for (int64_t i = 0; i < count; i++) {
		const struct slot *s = find(values[i]);

		if (!s || !wt_dnn_is_op(s->type) || !s->u.op || i >= GRAPH_OPS)
			sum.unknown = 1;
		else
			wt_dnn_sum_add(&sum, s->u.op);
	}
	wt_dnn_sum_end(&sum, work);
}

static uint64_t hash_of(const char *text, int64_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (n && !text[n - 1])
		n--;
	for (int64_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
	return n ? h : 0;
}

static void write_out(const struct wt_dnn_work *work, const char *text, int64_t n)
{
	uint64_t hash = hash_of(text, n);
	int saved = errno;

	if (!dnn.texts)
		dnn.texts = wt_arena_get(&dnn.arena, TEXTS * sizeof(*dnn.texts));
	errno = saved;
	for (uint32_t i = 0; dnn.texts && i < dnn.ntexts && i < TEXTS; i++)
		if (dnn.texts[i].hash == hash)
			return;
	if (dnn.texts && hash)
		dnn.texts[dnn.ntexts++ % TEXTS] = (struct text){hash, *work};
}

static void read_back(struct wt_dnn_work *work, const char *text, int64_t n)
{
	uint64_t hash = hash_of(text, n);

	for (uint32_t i = 0; hash && dnn.texts && i < dnn.ntexts && i < TEXTS; i++)
		if (dnn.texts[i].hash == hash)
			*work = dnn.texts[i].work;
}

static int has_work(unsigned type)
{
	return type == WT_DNN_GRAPH || (type >= WT_DNN_ENGINE && type <= WT_DNN_PLAN);
}

static void set(struct slot *s, unsigned name, unsigned type, int64_t count, const void *values)
{
	const void *const *handles = values;
	const struct slot *from;

	if (s->type == WT_DNN_TENSOR) {
		set_tensor(&s->u.tensor, name, type, count, values);
	} else if (s->type == WT_DNN_POINTWISE) {
		if (name == WT_DNN_POINTWISE_MODE && type == WT_DNN_IS_POINTWISE_MODE)
			s->u.mode = *(const int32_t *)values;
	} else if (s->type == WT_DNN_PLAN && name == WT_DNN_PLAN_TEXT) {
		if (type == WT_DNN_IS_TEXT)
			read_back(&s->u.work, values, count);
	} else if (type != WT_DNN_IS_DESCRIPTOR) {
		return;
	} else if (wt_dnn_is_op(s->type)) {
		if (s->u.op)
			set_op(s->u.op, name, count, handles);
	} else if (name == WT_DNN_GRAPH_OPS) {
		set_graph(&s->u.work, count, handles);
	} else if (name == WT_DNN_HEUR_GRAPH || name == WT_DNN_CFG_ENGINE ||
		   name == WT_DNN_PLAN_CFG || name == WT_DNN_ENGINE_GRAPH) {
		from = find(handles[0]);
		if (from && has_work(from->type))
			s->u.work = from->u.work;
	}
}

void wt_dnn_set(const void *descriptor, unsigned name, unsigned type, int64_t count,
		const void *values)
{
	struct slot *s;

	if (name >= WT_DNN_PACK &&
	    name < WT_DNN_PACK_OVERRIDES) /* pointers, for each execution anew */
		return;
	if (count <= 0 || !values || !lock())
		return;
	s = find(descriptor);
	/* Packs are many and short-lived: only one that brings sizes of its own is kept. */
	if (!s && name >= WT_DNN_PACK_OVERRIDES && name <= WT_DNN_PACK_OVERRIDES_END && is_open())
		add(PACK_AGAIN, descriptor);
	if (s)
		set(s, name, type, count, values);
	unlock();
}

void wt_dnn_got(const void *descriptor, unsigned name, unsigned type, int64_t room,
		const int64_t *count, const void *values)
{
	const void *const *handles = values;
	int64_t n = count && *count < room ? *count : room;
	const struct slot *from;
	struct slot *to;

	int text = name == WT_DNN_PLAN_TEXT && type == WT_DNN_IS_TEXT;

	if ((type != WT_DNN_IS_DESCRIPTOR && !text) || !values || n <= 0 || !lock())
		return;
	from = find(descriptor);
	if (text && from && from->type == WT_DNN_PLAN && from->u.work.known)
		write_out(&from->u.work, values, n);
	for (int64_t i = 0; !text && from && has_work(from->type) && i < n; i++) {
		to = find(handles[i]);
		if (to && to != from && has_work(to->type))
			to->u.work = from->u.work;
	}
	unlock();
}

/* ---- rows ---- */

static void fill(struct wt_rec *rec, const struct wt_dnn_work *w)
{
	rec->u.gemm.m = (uint32_t)w->macs;
	rec->u.gemm.n = (uint32_t)(w->macs >> 32);
	rec->u.gemm.k = (uint32_t)w->read;
	rec->u.gemm.batch = (uint32_t)(w->read >> 32);
	rec->object = w->written;
	rec->u.gemm.type_a = w->type_a;
	rec->u.gemm.type_b = w->type_b;
	rec->u.gemm.type_c = w->type_c;
	rec->u.gemm.work = w->kind;
	rec->u.gemm.epilogue = w->flags;
}

void wt_dnn_fill_plan(struct wt_rec *rec, const void *plan, const void *pack)
{
	struct wt_dnn_work unknown = {.kind = WT_DNN_UNKNOWN}, w = unknown;
	const struct slot *s, *other;

	if (lock()) {
		s = find(plan);
		other = find(pack);
		if (s && s->type == WT_DNN_PLAN && s->u.work.known &&
		    !(other && other->type == PACK_AGAIN))
			w = s->u.work;
		unlock();
	}
	fill(rec, &w);
}

typedef wt_dnn_status tensor_getter(const void *d, int room, unsigned *type, int *n, int *dims,
				    int *strides);
typedef wt_dnn_status filter_getter(const void *d, int room, unsigned *type, unsigned *format,
				    int *n, int *dims);

/* NULL = the library has none. Looked up once; errno is the job's. */
static void *getter(_Atomic(void *) *slot, const char *name)
{
	void *p = atomic_load_explicit(slot, memory_order_relaxed);

	if (!p) {
		int saved = errno;

		p = wt_real_named(WT_LIB_CUDNN, name);
		errno = saved;
		atomic_store_explicit(slot, p ? p : (void *)slot, memory_order_relaxed);
	}
	return p == (void *)slot ? NULL : p;
}

static int shape_of(int filter, const void *d, struct wt_dnn_tensor *ret)
{
	static _Atomic(void *) slots[2];
	int dims[WT_DNN_DIMS_MAX], strides[WT_DNN_DIMS_MAX], n = 0;
	unsigned type = 0, format;
	void *get = getter(&slots[filter],
			   filter ? "cudnnGetFilterNdDescriptor" : "cudnnGetTensorNdDescriptor");

	*ret = (struct wt_dnn_tensor){.n = 0};
	if (!get || !d)
		return 0;
	if (filter ? ((filter_getter *)get)(d, WT_DNN_DIMS_MAX, &type, &format, &n, dims)
		   : ((tensor_getter *)get)(d, WT_DNN_DIMS_MAX, &type, &n, dims, strides))
		return 0;
	if (n < 1 || n > WT_DNN_DIMS_MAX)
		return 0;
	ret->n = (uint8_t)n;
	ret->type = (uint8_t)wt_dnn_type(type);
	for (int i = 0; i < n; i++)
		ret->dim[i] = dims[i];
	return 1;
}

void wt_dnn_fill_conv(struct wt_rec *rec, unsigned kind, const void *w, const void *x,
		      const void *y)
{
	struct wt_dnn_work work = {.kind = WT_DNN_UNKNOWN};
	struct wt_dnn_tensor tw, tx, ty;

	if (shape_of(1, w, &tw) && shape_of(0, x, &tx) && shape_of(0, y, &ty))
		wt_dnn_convolution(kind, &tw, &tx, &ty, &work);
	fill(rec, &work);
}

void wt_dnn_fill_norm(struct wt_rec *rec, unsigned kind, const void *x, uint64_t read,
		      uint64_t written)
{
	struct wt_dnn_work work = {.kind = WT_DNN_UNKNOWN};
	struct wt_dnn_tensor t;

	if (shape_of(0, x, &t)) {
		work = (struct wt_dnn_work){.kind = (uint8_t)kind,
					    .type_a = t.type,
					    .type_b = t.type,
					    .type_c = t.type,
					    .read = read * wt_dnn_bytes(&t),
					    .written = written * wt_dnn_bytes(&t)};
	}
	fill(rec, &work);
}
