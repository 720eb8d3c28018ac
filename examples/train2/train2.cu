// SPDX-License-Identifier: Apache-2.0
/*
 * A training job small enough to read: the step of a transformer on one or more GPUs, one process per GPU, as a
 * framework would queue it. It is there to be looked at with a profiler, so what costs time in real jobs is in it:
 *
 *   copy stream      the next step's input, pinned, behind this step
 *   compute stream   labels in, forward, loss, backward, optimizer, loss out, and the step's one blocking sync
 *   side stream      weight gradients, beside the next layer's backward
 *   comm stream      gradient all-reduce, one bucket a layer; the last buckets have nothing left to hide behind
 *   --late-rank      one rank's host sleeps before each step, and all others wait for it on the device
 *
 * A small all-reduce of known values before and after proves that the ranks really talked.
 */
#include "train2_kernels.h"
#include "train2_ranks.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#include "nccl_min.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

using bf16 = __nv_bfloat16;
static int my_rank;

#define CUDA(call)                                                                                 \
	do {                                                                                       \
		const cudaError_t e_ = (call);                                                     \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "train2 rank %d: %s: %s\n", my_rank, #call,                \
				cudaGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define NCCL(call)                                                                                 \
	do {                                                                                       \
		const ncclResult_t e_ = (call);                                                    \
		if (e_ != ncclSuccess) {                                                           \
			fprintf(stderr, "train2 rank %d: %s: %s\n", my_rank, #call,                \
				ncclGetErrorString(e_));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Parameters that are reduced and updated together: one bucket a layer, and one for the two ends. */
struct bucket {
	size_t n;
	bf16 *param, *grad;
	float *master, *m, *v;
	cudaEvent_t grad_ready;
};

/* What a layer keeps for its way back. Gradients have buffers of their own, so that both streams may run. */
struct layer {
	bf16 *x, *norm1, *qkv, *attn, *proj, *norm2, *fc1, *gelu;
	bf16 *d_out, *d_gelu, *d_fc1, *d_norm2, *d_proj, *d_attn, *d_qkv, *d_norm1;
	float *lse, *delta;
	cudaEvent_t bwd_done;
	struct bucket weights; /* qkv[3h,h], proj[h,h], fc1[4h,h], fc2[h,4h] */
};

struct job {
	struct options opt;
	struct shape shape;
	int rows, classes;
	cudaStream_t compute, side, comm, copy;
	cudaEvent_t input_ready[2], all_reduced, loss_done;
	ncclComm_t nccl;
	struct layer *layer;
	struct bucket ends; /* input projection[h,h], output projection[classes,h] */
	bf16 *input[2], *host_input[2], *last, *logits, *d_logits, *d_x;
	int *label, *host_label;
	float *loss, *host_loss;
};

static void *device_bytes(size_t bytes)
{
	void *p;

	CUDA(cudaMalloc(&p, bytes));
	return p;
}

static bf16 *device_bf16(size_t n)
{
	return (bf16 *)device_bytes(n * sizeof(bf16));
}

static float *device_f32_zero(cudaStream_t s, size_t n)
{
	float *p = (float *)device_bytes(n * sizeof(float));

	launch_zero(s, p, n);
	return p;
}

static cudaEvent_t new_event(void)
{
	cudaEvent_t e;

	CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	return e;
}

static void init_bucket(struct job *j, struct bucket *b, size_t n, unsigned seed)
{
	b->n = n;
	b->param = device_bf16(n);
	b->grad = device_bf16(n);
	b->master = (float *)device_bytes(n * sizeof(float));
	b->m = device_f32_zero(j->compute, n);
	b->v = device_f32_zero(j->compute, n);
	b->grad_ready = new_event();
	launch_fill(j->compute, b->param, n, 0.05f, seed);
}

static void init_layer(struct job *j, struct layer *l, unsigned seed)
{
	const size_t n = (size_t)j->rows * j->shape.hidden,
		     heads = (size_t)j->rows * j->shape.hidden / 64;
	bf16 **one[] = {&l->x,	   &l->norm1,	&l->attn,   &l->proj,	&l->norm2,
			&l->d_out, &l->d_norm2, &l->d_proj, &l->d_attn, &l->d_norm1};
	bf16 **four[] = {&l->fc1, &l->gelu, &l->d_gelu, &l->d_fc1};

	for (bf16 **p : one)
		*p = device_bf16(n);
	for (bf16 **p : four)
		*p = device_bf16(4 * n);
	l->qkv = device_bf16(3 * n);
	l->d_qkv = device_bf16(3 * n);
	l->lse = (float *)device_bytes(heads * sizeof(float));
	l->delta = (float *)device_bytes(heads * sizeof(float));
	l->bwd_done = new_event();
	init_bucket(j, &l->weights, (size_t)12 * j->shape.hidden * j->shape.hidden, seed);
}

/* Rank 0 makes the id and writes it once for each of the others. */
static void init_nccl(struct job *j)
{
	ncclUniqueId id;
	const struct options *o = &j->opt;

	if (my_rank == 0) {
		NCCL(ncclGetUniqueId(&id));
		for (int r = 1; r < o->ranks; r++)
			if (write(o->id_write, &id, sizeof(id)) != (ssize_t)sizeof(id))
				perror("train2: write id"), exit(1);
	}
	close(o->id_write);
	if (my_rank != 0 && read(o->id_read, &id, sizeof(id)) != (ssize_t)sizeof(id)) {
		fprintf(stderr, "train2 rank %d: rank 0 gave no id\n", my_rank);
		exit(1);
	}
	close(o->id_read);
	NCCL(ncclCommInitRank(&j->nccl, o->ranks, id, my_rank));
}

static void init_buffers(struct job *j)
{
	const size_t h = j->shape.hidden, n = j->rows * h;
	cudaStream_t *streams[] = {&j->compute, &j->side, &j->comm, &j->copy};

	for (cudaStream_t *s : streams)
		CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
	j->all_reduced = new_event();
	j->loss_done = new_event();
	for (int i = 0; i < 2; i++) {
		j->input_ready[i] = new_event();
		j->input[i] = device_bf16(n);
		CUDA(cudaMallocHost((void **)&j->host_input[i], n * sizeof(bf16)));
		for (size_t k = 0; k < n; k++)
			j->host_input[i][k] = __float2bfloat16(
				(float)(k * 2654435761u >> 20 & 255) / 128.f - 1.f);
	}
	j->last = device_bf16(n);
	j->d_x = device_bf16(n);
	j->logits = device_bf16((size_t)j->rows * j->classes);
	j->d_logits = device_bf16((size_t)j->rows * j->classes);
	j->label = (int *)device_bytes(j->rows * sizeof(int));
	j->loss = device_f32_zero(j->compute, 1);
	CUDA(cudaMallocHost((void **)&j->host_label, j->rows * sizeof(int)));
	CUDA(cudaMallocHost((void **)&j->host_loss, sizeof(float)));
	for (int i = 0; i < j->rows; i++)
		j->host_label[i] = (i * 7919 + my_rank) % j->classes;
	j->layer = (struct layer *)calloc(j->shape.layers, sizeof(*j->layer));
	if (!j->layer)
		perror("train2"), exit(1);
	for (int l = 0; l < j->shape.layers; l++)
		init_layer(j, &j->layer[l], l + 1);
	init_bucket(j, &j->ends, h * h + j->classes * h, 77);
}

static void forward(struct job *j, const bf16 *input)
{
	const int rows = j->rows, h = j->shape.hidden;
	cudaStream_t s = j->compute;
	const size_t hh = (size_t)h * h;

	launch_gemm(s, input, j->ends.param, j->layer[0].x, rows, h, h);
	for (int i = 0; i < j->shape.layers; i++) {
		struct layer *l = &j->layer[i];
		const bf16 *w = l->weights.param;

		launch_layer_norm(s, l->x, l->norm1, rows, h);
		launch_gemm(s, l->norm1, w, l->qkv, rows, 3 * h, h);
		launch_attention(s, l->qkv, l->attn, l->lse, &j->shape);
		launch_gemm(s, l->attn, w + 3 * hh, l->proj, rows, h, h);
		launch_layer_norm(s, l->proj, l->norm2, rows, h);
		launch_gemm(s, l->norm2, w + 4 * hh, l->fc1, rows, 4 * h, h);
		launch_gelu(s, l->fc1, l->gelu, (size_t)rows * 4 * h);
		launch_gemm(s, l->gelu, w + 8 * hh, i + 1 < j->shape.layers ? l[1].x : j->last,
			    rows, h, 4 * h);
	}
	launch_gemm(s, j->last, j->ends.param + hh, j->logits, rows, j->classes, h);
	launch_loss(s, j->logits, j->label, j->loss, j->d_logits, rows, j->classes);
}

static void all_reduce(struct job *j, struct bucket *b)
{
	CUDA(cudaStreamWaitEvent(j->comm, b->grad_ready, 0));
	NCCL(ncclAllReduce(b->grad, b->grad, b->n, ncclBfloat16, ncclSum, j->nccl, j->comm));
}

/* Gradients of the layer's input on the compute stream, of its weights on the side stream. */
static void backward_layer(struct job *j, struct layer *l, bf16 *d_x)
{
	const int rows = j->rows, h = j->shape.hidden;
	const size_t hh = (size_t)h * h;
	const bf16 *w = l->weights.param;
	bf16 *g = l->weights.grad;
	cudaStream_t s = j->compute;

	launch_gemm_dgrad(s, l->d_out, w + 8 * hh, l->d_gelu, rows, 4 * h, h);
	launch_gelu_bwd(s, l->fc1, l->d_gelu, l->d_fc1, (size_t)rows * 4 * h);
	launch_gemm_dgrad(s, l->d_fc1, w + 4 * hh, l->d_norm2, rows, h, 4 * h);
	launch_layer_norm_bwd(s, l->proj, l->d_norm2, l->d_proj, rows, h);
	launch_gemm_dgrad(s, l->d_proj, w + 3 * hh, l->d_attn, rows, h, h);
	launch_attention_bwd(s, l->qkv, l->attn, l->d_attn, l->lse, l->delta, l->d_qkv, &j->shape);
	launch_gemm_dgrad(s, l->d_qkv, w, l->d_norm1, rows, h, 3 * h);
	launch_layer_norm_bwd(s, l->x, l->d_norm1, d_x, rows, h);
	CUDA(cudaEventRecord(l->bwd_done, s));

	CUDA(cudaStreamWaitEvent(j->side, l->bwd_done, 0));
	launch_gemm_wgrad(j->side, l->d_qkv, l->norm1, g, 3 * h, h, rows);
	launch_gemm_wgrad(j->side, l->d_proj, l->attn, g + 3 * hh, h, h, rows);
	launch_gemm_wgrad(j->side, l->d_fc1, l->norm2, g + 4 * hh, 4 * h, h, rows);
	launch_gemm_wgrad(j->side, l->d_out, l->gelu, g + 8 * hh, h, 4 * h, rows);
	CUDA(cudaEventRecord(l->weights.grad_ready, j->side));
	all_reduce(j, &l->weights);
}

static void backward(struct job *j, const bf16 *input)
{
	const int rows = j->rows, h = j->shape.hidden, last = j->shape.layers - 1;
	const size_t hh = (size_t)h * h;

	launch_gemm_dgrad(j->compute, j->d_logits, j->ends.param + hh, j->layer[last].d_out, rows,
			  h, j->classes);
	launch_gemm_wgrad(j->compute, j->d_logits, j->last, j->ends.grad + hh, j->classes, h, rows);
	for (int i = last; i >= 0; i--)
		backward_layer(j, &j->layer[i], i ? j->layer[i - 1].d_out : j->d_x);
	launch_gemm_wgrad(j->compute, j->d_x, input, j->ends.grad, h, h, rows);
	CUDA(cudaEventRecord(j->ends.grad_ready, j->compute));
	all_reduce(j, &j->ends);
	CUDA(cudaEventRecord(j->all_reduced, j->comm));
}

static void update(struct job *j, int step)
{
	CUDA(cudaStreamWaitEvent(j->compute, j->all_reduced, 0));
	for (int i = 0; i <= j->shape.layers; i++) {
		struct bucket *b = i < j->shape.layers ? &j->layer[i].weights : &j->ends;

		launch_adam(j->compute, b->grad, b->master, b->m, b->v, b->param, b->n,
			    1.f / j->opt.ranks, step);
	}
}

/* The buffer is free: the step that read it ended with a sync. */
static void copy_input(struct job *j, int step)
{
	const int i = step & 1;

	CUDA(cudaMemcpyAsync(j->input[i], j->host_input[i],
			     (size_t)j->rows * j->shape.hidden * sizeof(bf16),
			     cudaMemcpyHostToDevice, j->copy));
	CUDA(cudaEventRecord(j->input_ready[i], j->copy));
}

static float train_step(struct job *j, int step)
{
	if (my_rank == j->opt.late_rank)
		usleep(j->opt.late_us);
	CUDA(cudaMemcpyAsync(j->label, j->host_label, j->rows * sizeof(int), cudaMemcpyHostToDevice,
			     j->compute));
	CUDA(cudaMemsetAsync(j->loss, 0, sizeof(float), j->compute));
	CUDA(cudaStreamWaitEvent(j->compute, j->input_ready[step & 1], 0));
	copy_input(j, step + 1);
	forward(j, j->input[step & 1]);
	backward(j, j->input[step & 1]);
	update(j, step + 1);
	CUDA(cudaMemcpyAsync(j->host_loss, j->loss, sizeof(float), cudaMemcpyDeviceToHost,
			     j->compute));
	CUDA(cudaStreamSynchronize(j->compute));
	CUDA(cudaGetLastError());
	return *j->host_loss;
}

/* Sums values that the host chose and compares: the one part of the run whose result is known beforehand. */
static void check_all_reduce(struct job *j, const char *when)
{
	enum { N = 4096 };
	static float send[N], got[N];
	float *on_device = (float *)device_bytes(sizeof(send));

	for (int i = 0; i < N; i++)
		send[i] = (float)(i % 61 + 1000 * my_rank);
	CUDA(cudaMemcpy(on_device, send, sizeof(send), cudaMemcpyHostToDevice));
	NCCL(ncclAllReduce(on_device, on_device, N, ncclFloat32, ncclSum, j->nccl, j->comm));
	CUDA(cudaStreamSynchronize(j->comm));
	CUDA(cudaMemcpy(got, on_device, sizeof(got), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(on_device));
	for (int i = 0; i < N; i++) {
		const float want = (float)(j->opt.ranks * (i % 61) +
					   1000 * j->opt.ranks * (j->opt.ranks - 1) / 2);

		if (got[i] != want) {
			fprintf(stderr,
				"train2 rank %d: all-reduce (%s): element %d is %g, not %g\n",
				my_rank, when, i, got[i], want);
			exit(1);
		}
	}
}

/* Parameters are drawn in bf16; the optimizer works on fp32 copies of them. */
static void init_masters(struct job *j)
{
	for (int i = 0; i <= j->shape.layers; i++) {
		struct bucket *b = i < j->shape.layers ? &j->layer[i].weights : &j->ends;

		launch_widen(j->compute, b->param, b->master, b->n);
	}
	CUDA(cudaStreamSynchronize(j->compute));
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int run_rank(const struct options *o)
{
	struct job j = {};
	cudaDeviceProp prop;
	int devices = 0;
	float loss = 0;

	my_rank = o->rank;
	j.opt = *o;
	j.shape = {o->batch, o->seq, o->hidden, o->layers};
	j.rows = o->batch * o->seq;
	j.classes = 4 * o->hidden;
	CUDA(cudaGetDeviceCount(&devices));
	CUDA(cudaSetDevice(my_rank % devices));
	CUDA(cudaGetDeviceProperties(&prop, my_rank % devices));
	init_nccl(&j);
	init_buffers(&j);
	init_masters(&j);
	check_all_reduce(&j, "start");
	copy_input(&j, 0);
	const double start = now_s();

	for (int step = 0; step < o->steps; step++)
		loss = train_step(&j, step);
	const double took = now_s() - start;

	CUDA(cudaDeviceSynchronize());
	check_all_reduce(&j, "end");
	NCCL(ncclCommDestroy(j.nccl));
	printf("train2 rank %d on %s: %d steps, %.2f ms a step, ", my_rank, prop.name, o->steps,
	       took * 1e3 / o->steps);
	if (loss != 0)
		printf("loss %.4f, ", loss);
	else /* exactly: kernels of the simulated device compute nothing */
		printf("no loss computed, ");
	printf("all-reduce checked at start and end\n");
	free(j.layer);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;

	parse_options(&o, argc, argv);
	return o.rank < 0 ? run_ranks(&o, argv) : run_rank(&o);
}
