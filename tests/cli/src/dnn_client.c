// SPDX-License-Identifier: Apache-2.0
/* link: cuda */
/*
 * Calls of cuDNN, all found by dlsym in the library that is opened; our own declarations, since the simulated one
 * brings no headers. Prints a line for each call that a recorder must have: work, multiply-adds, bytes read and
 * written, types, flags.
 *   dnn_client calls          a convolution and its backward passes, attention in both forms, masks, a normalisation,
 *                             sizes that the device has, calls that fail, the older entry points
 *   dnn_client threads N      N threads, each making, executing and destroying plans of its own
 *   dnn_client many N         N descriptors alive at once
 *   dnn_client fork | exit    a plan executed in a child of fork, in a handler of exit
 *   dnn_client descriptors F  tensors of the library F, which need no kernel
 *   dnn_client second F       opens a second cuDNN, F, and executes with the first
 *   dnn_client missing        no library of cuDNN: dlsym says no
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *handle;
int cuInit(unsigned flags);
int cuCtxCreate_v2(handle *ctx, unsigned flags, int device);

static int (*create)(int type, handle *d);
static int (*destroy)(handle d);
static int (*finalize)(handle d);
static int (*set)(handle d, int name, int type, int64_t count, const void *values);
static int (*get)(handle d, int name, int type, int64_t room, int64_t *count, void *values);
static int (*execute)(handle h, handle plan, handle pack);
static void *library;
static handle dnn;

enum { FLOAT = 0, HALF = 2, INT32 = 4, BF16 = 9, FP8 = 12 };
enum { ENGINE = 2, CONFIG, HEURISTIC, PLAN, GRAPH = 15, PACK, TENSOR };
enum { VIRTUAL = 1, BY_VALUE = 2, RAGGED = 4 };

#define MUST(call_)                                                                                \
	do {                                                                                       \
		int rc_ = (call_);                                                                 \
		if (rc_) {                                                                         \
			fprintf(stderr, "%s: %d\n", #call_, rc_);                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void *symbol(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return p;
}

static void open_library(const char *file)
{
	library = dlopen(file, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	create = (__typeof__(create))symbol("cudnnBackendCreateDescriptor");
	destroy = (__typeof__(destroy))symbol("cudnnBackendDestroyDescriptor");
	finalize = (__typeof__(finalize))symbol("cudnnBackendFinalize");
	set = (__typeof__(set))symbol("cudnnBackendSetAttribute");
	get = (__typeof__(get))symbol("cudnnBackendGetAttribute");
	execute = (__typeof__(execute))symbol("cudnnBackendExecute");
}

static handle descriptor(int type)
{
	handle d = NULL;

	MUST(create(type, &d));
	return d;
}

static handle tensor(int64_t uid, int type, int how, int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t dims[4] = {a, b, c, d}, strides[4] = {b * c * d, c * d, d, 1};
	handle t = descriptor(TENSOR);
	uint8_t yes = 1;
	int32_t dtype = type;

	MUST(set(t, 901, 1, 1, &dtype));
	MUST(set(t, 902, 3, 4, dims));
	MUST(set(t, 903, 3, 4, strides));
	MUST(set(t, 906, 3, 1, &uid));
	MUST(set(t, 900, 3, 1, &(int64_t){16}));
	if (how & VIRTUAL)
		MUST(set(t, 907, 2, 1, &yes));
	if (how & BY_VALUE)
		MUST(set(t, 908, 2, 1, &yes));
	if (how & RAGGED)
		MUST(set(t, 913, 15, 1, &(handle){t}));
	MUST(finalize(t));
	return t;
}

static void give(handle to, int name, handle what)
{
	MUST(set(to, name, 15, 1, &what));
}

static handle operation(int type, int na, handle a, int nb, handle b, int nc, handle c)
{
	handle op = descriptor(type);

	give(op, na, a);
	if (b)
		give(op, nb, b);
	give(op, nc, c);
	return op;
}

static handle pointwise(int mode, handle x, handle b, handle y)
{
	handle desc = descriptor(0), op;

	MUST(set(desc, 0, 14, 1, &(int32_t){mode}));
	MUST(finalize(desc));
	op = operation(13, 751, x, 752, b, 753, y);
	give(op, 750, desc);
	MUST(finalize(op));
	destroy(desc);
	return op;
}

/* A plan of these operations, by way of a heuristic; everything it was made of is gone. */
static handle planned(handle *ops, int n)
{
	handle graph = descriptor(GRAPH), heuristic = descriptor(HEURISTIC),
	       config = descriptor(CONFIG), plan = descriptor(PLAN);
	int64_t found = 0;

	MUST(set(graph, 801, 15, n, ops));
	MUST(finalize(graph));
	give(heuristic, 201, graph);
	MUST(finalize(heuristic));
	MUST(get(heuristic, 202, 15, 1, &found, &config));
	give(plan, 401, config);
	MUST(finalize(plan));
	for (int i = 0; i < n; i++)
		destroy(ops[i]);
	destroy(graph);
	destroy(heuristic);
	destroy(config);
	return plan;
}

static void run(handle plan)
{
	handle pack = descriptor(PACK);
	int64_t uids[2] = {1, 2};
	void *pointers[2] = {NULL, NULL};

	MUST(set(pack, 1000, 3, 2, uids));
	MUST(set(pack, 1001, 6, 2, pointers));
	MUST(finalize(pack));
	MUST(execute(dnn, plan, pack));
	destroy(pack);
}

static void run_once(handle *ops, int n)
{
	handle plan = planned(ops, n);

	run(plan);
	destroy(plan);
}

/* Of x [n, c, hw, hw] with w [k, c / groups, 3, 3]: kinds 0 forward, 1 data, 2 weights. */
static handle convolution(int kind, int type, int64_t n, int64_t c, int64_t k, int64_t hw,
			  int64_t groups)
{
	static const int types[3] = {10, 12, 11}, names[3] = {703, 709, 715};
	handle w = tensor(1, type, 0, k, c / groups, 3, 3), x = tensor(2, type, 0, n, c, hw, hw),
	       y = tensor(3, type, 0, n, k, hw, hw), op;

	op = operation(types[kind], names[kind], w, names[kind] + 1, x, names[kind] + 2, y);
	MUST(finalize(op));
	destroy(w);
	destroy(x);
	destroy(y);
	return op;
}

static void convolutions(void)
{
	handle op = convolution(0, BF16, 8, 32, 64, 56, 1);

	/* 8 x 64 x 56 x 56 outputs, 32 x 3 x 3 each */
	puts("work 1 462422016 1642496 3211264 14 14 14 0");
	run_once(&op, 1);
	op = convolution(1, HALF, 2, 16, 32, 8, 4);
	puts("work 2 147456 10496 4096 2 2 2 0");
	run_once(&op, 1);
	op = convolution(2, FLOAT, 2, 16, 32, 8, 1);
	puts("work 3 589824 24576 18432 0 0 0 0");
	run_once(&op, 1);
}

/* Convolution, bias and activation in one kernel: what is between them is in no memory. */
static void fused(void)
{
	handle y = tensor(3, BF16, VIRTUAL, 2, 32, 8, 8), z = tensor(5, BF16, VIRTUAL, 2, 32, 8, 8),
	       out = tensor(6, BF16, 0, 2, 32, 8, 8), bias = tensor(4, BF16, 0, 1, 32, 1, 1);
	handle ops[3] = {operation(10, 703, tensor(1, BF16, 0, 32, 16, 3, 3), 704,
				   tensor(2, BF16, 0, 2, 16, 8, 8), 705, y),
			 pointwise(0, y, bias, z), pointwise(100, z, NULL, out)};

	printf("work 1 589824 %d 8192 14 14 14 0\n", 9216 + 4096 + 64);
	run_once(ops, 3);
}

/* Two heads, 64 x 64 scores, as two products with a softmax between them. mask: 0 none, 1 causal, 2 padding. */
static void attention_in_parts(int mask)
{
	handle q = tensor(1, HALF, 0, 1, 2, 64, 16), k = tensor(2, HALF, 0, 1, 2, 16, 64),
	       s = tensor(4, FLOAT, VIRTUAL, 1, 2, 64, 64),
	       row = tensor(10, INT32, VIRTUAL, 1, 2, 64, 64),
	       column = tensor(11, INT32, VIRTUAL, 1, 2, 64, 64),
	       length = tensor(12, INT32, 0, 1, 1, 1, 1),
	       masked = tensor(13, FLOAT, VIRTUAL, 1, 2, 64, 64),
	       p = tensor(5, HALF, VIRTUAL, 1, 2, 64, 64);
	handle ops[7] = {operation(19, 1520, q, 1521, k, 1522, s)};
	int n = 1;

	if (mask) {
		ops[n++] = pointwise(501, s, NULL, row);
		ops[n++] = pointwise(501, s, NULL, column);
		ops[n++] = mask == 1 ? pointwise(303, row, column, masked)
				     : pointwise(304, column, length, masked);
	}
	ops[n++] = pointwise(13, mask ? masked : s, NULL, p);
	ops[n++] = operation(19, 1520, p, 1521, tensor(3, HALF, 0, 1, 2, 64, 16), 1522,
			     tensor(6, HALF, 0, 1, 2, 64, 16));
	printf("work 5 %d %d 4096 2 2 0 %d\n", mask == 1 ? 131072 : 262144,
	       12288 + (mask == 2 ? 4 : 0),
	       mask == 1   ? 16
	       : mask == 2 ? 32
			   : 0);
	run_once(ops, n);
}

/* The same in one operation, four heads of queries to two of keys; causal by a graph of its own. */
static void attention_at_once(int causal)
{
	handle op = operation(41, 2800, tensor(1, FP8, 0, 1, 4, 64, 16), 2801,
			      tensor(2, FP8, 0, 1, 2, 128, 16), 2803,
			      tensor(4, FP8, 0, 1, 4, 64, 32)),
	       mask, graph;

	give(op, 2802, tensor(3, FP8, 0, 1, 2, 128, 32));
	if (causal) {
		mask = operation(44, 3000, tensor(7, FLOAT, VIRTUAL, 1, 4, 64, 128), 3004,
				 tensor(8, INT32, BY_VALUE, 1, 1, 1, 1), 3006,
				 tensor(9, FLOAT, VIRTUAL, 1, 4, 64, 128));
		graph = descriptor(GRAPH);
		MUST(set(graph, 801, 15, 1, &mask));
		MUST(finalize(graph));
		give(op, 2811, graph);
		destroy(graph);
		destroy(mask);
	}
	/* 4 heads x 64 x 128 scores x 48; the last query sees all keys */
	printf("work 5 %d 16384 8192 28 28 28 %d\n", causal ? 1572864 * 3 / 4 : 1572864,
	       causal ? 16 : 0);
	run_once(&op, 1);
	op = operation(43, 2851, tensor(1, HALF, 0, 1, 4, 64, 16), 2852,
		       tensor(2, HALF, RAGGED, 1, 2, 128, 16), 2859,
		       tensor(4, HALF, 0, 1, 4, 64, 16));
	give(op, 2853, tensor(3, HALF, 0, 1, 2, 128, 16));
	puts("work 6 2621440 24576 8192 2 2 2 32");
	run_once(&op, 1);
}

static void other_graphs(void)
{
	handle op = operation(29, 2002, tensor(1, BF16, 0, 64, 256, 1, 1), 2005,
			      tensor(2, FLOAT, 0, 1, 256, 1, 1), 2013,
			      tensor(3, BF16, 0, 64, 256, 1, 1)),
	       plan, pack = descriptor(PACK);

	puts("work 7 0 33792 32768 14 14 14 0");
	plan = planned(&op, 1);
	run(plan);
	/* A pack that brings sizes of its own: the plan's are not those of this execution. */
	MUST(set(pack, 1010, 3, 1, &(int64_t){1}));
	MUST(finalize(pack));
	puts("work 10 0 0 0 0 0 0 0");
	MUST(execute(dnn, plan, pack));
	destroy(pack);
	destroy(plan);
	if (!execute(dnn, NULL, NULL)) /* fails: a row that says so */
		exit(1);
	puts("work 10 0 0 0 0 0 0 0");
}

/* A plan made anew from the text of another, as XLA does with those it compiles. */
static void read_back(void)
{
	handle op = convolution(0, HALF, 1, 16, 16, 4, 1), first = planned(&op, 1),
	       plan = descriptor(PLAN);
	char text[8192];
	int64_t n = 0;

	MUST(get(first, 405, 24, sizeof(text), &n, text));
	MUST(set(plan, 405, 24, n, text));
	MUST(finalize(plan));
	destroy(first);
	puts("work 1 36864 5120 512 2 2 2 0");
	run(plan);
	destroy(plan);
}

static void older_calls(void)
{
	int (*tensor_new)(handle *) = (__typeof__(tensor_new))symbol("cudnnCreateTensorDescriptor");
	int (*filter_new)(handle *) = (__typeof__(filter_new))symbol("cudnnCreateFilterDescriptor");
	int (*tensor_set)(handle, int, int, const int *, const int *) =
		(__typeof__(tensor_set))symbol("cudnnSetTensorNdDescriptor");
	int (*filter_set)(handle, int, int, int, const int *) =
		(__typeof__(filter_set))symbol("cudnnSetFilterNdDescriptor");
	int (*forward)(handle, const void *, handle, const void *, handle, const void *, handle,
		       int, void *, size_t, const void *, handle, void *) =
		(__typeof__(forward))symbol("cudnnConvolutionForward");
	int (*weights)(handle, const void *, handle, const void *, handle, const void *, handle,
		       int, void *, size_t, const void *, handle, void *) =
		(__typeof__(weights))symbol("cudnnConvolutionBackwardFilter");
	int (*norm)(handle, int, const void *, const void *, handle, const void *, handle, void *,
		    handle, const void *, const void *, const void *, const void *, double) =
		(__typeof__(norm))symbol("cudnnBatchNormalizationForwardInference");
	const int xd[4] = {2, 16, 8, 8}, xs[4] = {1024, 64, 8, 1}, yd[4] = {2, 32, 8, 8},
		  ys[4] = {2048, 64, 8, 1}, wd[4] = {32, 16, 3, 3};
	handle x, y, w;
	float one = 1;

	MUST(tensor_new(&x) | tensor_new(&y) | filter_new(&w));
	MUST(tensor_set(x, HALF, 4, xd, xs) | tensor_set(y, HALF, 4, yd, ys) |
	     filter_set(w, HALF, 0, 4, wd));
	puts("work 1 589824 13312 8192 2 2 2 0");
	MUST(forward(dnn, &one, x, NULL, w, NULL, NULL, 0, NULL, 0, &one, y, NULL));
	puts("work 3 589824 12288 9216 2 2 2 0");
	MUST(weights(dnn, &one, x, NULL, y, NULL, NULL, 0, NULL, 0, &one, w, NULL));
	puts("work 7 0 4096 4096 2 2 2 0");
	MUST(norm(dnn, 1, &one, &one, x, NULL, x, NULL, x, NULL, NULL, NULL, NULL, 1e-5));
}

static void calls(void)
{
	convolutions();
	fused();
	for (int mask = 0; mask < 3; mask++)
		attention_in_parts(mask);
	attention_at_once(0);
	attention_at_once(1);
	other_graphs();
	read_back();
	older_calls();
}

static void *thread(void *arg)
{
	int64_t channels = 16 * (1 + (intptr_t)arg);

	for (int i = 0; i < 100; i++) {
		handle op = convolution(0, HALF, 1, channels, 8, 4, 1);

		run_once(&op, 1);
	}
	return NULL;
}

static void threads(int n)
{
	pthread_t t[64];

	for (int i = 0; i < n; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < n; i++) /* 8 x 4 x 4 outputs, channels x 3 x 3 each, 100 times */
		printf("work 1 %d 100 times\n", 128 * 9 * 16 * (1 + i));
}

static handle last;

static void at_exit(void)
{
	run(last);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int (*start)(handle *);
	handle ctx, op;

	if (!strcmp(what, "descriptors")) {
		MUST(cuInit(0));
		open_library(argv[2]);
		for (int i = 0; i < 1000; i++)
			destroy(tensor(i, BF16, 0, 8, 32, 56, 56));
		return 0;
	}
	if (!strcmp(what, "missing")) {
		puts(dlsym(RTLD_DEFAULT, "cudnnBackendExecute") ? "found" : "not found");
		return 0;
	}
	open_library("libcudnn.so.9");
	start = (__typeof__(start))symbol("cudnnCreate");
	if (!strcmp(what, "second") && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	MUST(cuInit(0));
	MUST(cuCtxCreate_v2(&ctx, 0, 0));
	MUST(start(&dnn));
	if (!strcmp(what, "calls"))
		calls();
	if (!strcmp(what, "threads"))
		threads(atoi(argv[2]));
	if (!strcmp(what, "second"))
		convolutions();
	for (int i = 0; !strcmp(what, "many") && i < atoi(argv[2]); i++)
		descriptor(TENSOR);
	op = convolution(0, BF16, 8, 32, 64, 56, 1);
	last = planned(&op, 1);
	run(last);
	if (!strcmp(what, "exit"))
		MUST(atexit(at_exit));
	if (!strcmp(what, "fork")) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			for (int i = 0; i < 1000; i++)
				destroy(tensor(i, BF16, 0, 8, 32, 56, 56));
			_exit(0);
		}
		return waitpid(pid, &status, 0) != pid || status;
	}
	return 0;
}
