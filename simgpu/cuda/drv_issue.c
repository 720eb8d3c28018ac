/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks become operations: launched on a stream, or captured into a graph. Everything asynchronous passes here.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_fault.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_PARAM 256
#define STAGE_MAX                                                                                  \
	65536 /* pageable sources up to this are copied away at once, larger ones make the call wait */

/* A launch of a kernel that a library brought. */
struct sim_run {
	struct sim_launch l;
	const struct sim_kernel *kernel;
	_Alignas(16) unsigned char param[MAX_PARAM];
	char tag[256];
};

uint32_t drv_thread_id(void)
{
	static __thread uint32_t tid __attribute__((tls_model("initial-exec")));

	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static void kernel_start(struct sim_work *w)
{
	struct sim_run *k = w->arg;

	if (k->kernel->tag) {
		k->kernel->tag(k->kernel->arg, &k->l, k->tag, sizeof(k->tag));
		w->op.tag = k->tag;
	}
	if (k->kernel->arrive)
		k->kernel->arrive(k->kernel->arg, &k->l, w->op.start_ns, w->duration_ns);
}

static int kernel_poll(struct sim_work *w, int64_t *ret_end_ns)
{
	struct sim_run *k = w->arg;

	return k->kernel->poll(k->kernel->arg, &k->l, ret_end_ns);
}

static void kernel_finish(struct sim_work *w)
{
	struct sim_run *k = w->arg;

	if (!k->kernel->poll && k->kernel->tag) {
		k->kernel->tag(k->kernel->arg, &k->l, k->tag, sizeof(k->tag));
		w->op.tag = k->tag;
	}
	if (k->kernel->finish) {
		drv_data_enter();
		k->kernel->finish(k->kernel->arg, &k->l);
		drv_data_leave();
	}
}

static void arg_release(struct sim_work *w)
{
	free(w->arg);
}

static const struct sim_behaviour rendezvous = {.open = true,

						.start = kernel_start,
						.poll = kernel_poll,
						.finish = kernel_finish,
						.release = arg_release};
static const struct sim_behaviour library_kernel = {.finish = kernel_finish,
						    .release = arg_release};

static void copy_finish(struct sim_work *w)
{
	drv_data_enter();
	drv_copy_run(w->arg);
	drv_data_leave();
}

static void copy_release(struct sim_work *w)
{
	free(((struct drv_copy *)w->arg)->staged);
	free(w->arg);
}
static const struct sim_behaviour copy_behaviour = {.finish = copy_finish, .release = copy_release};

static void memset_finish(struct sim_work *w)
{
	drv_data_enter();
	drv_memset_run(w->arg);
	drv_data_leave();
}
static const struct sim_behaviour memset_behaviour = {.finish = memset_finish,
						      .release = arg_release};

static void describe(struct sim_launch *l, const struct drv_kernel *k, const void *param,
		     uint32_t device)
{
	memcpy(l->grid, k->grid, sizeof(l->grid));
	memcpy(l->block, k->block, sizeof(l->block));
	l->kernel = k->f->sim;
	l->param = param;
	l->dyn_smem = k->dyn_smem;
	l->device = device;
}

int64_t drv_kernel_base_ns(const struct drv_task *t, uint32_t device)
{
	const struct sim_kernel *sim =
		t->type == CU_GRAPH_NODE_TYPE_KERNEL ? t->kernel.f->sim : NULL;
	struct sim_launch l;

	if (!sim || !sim->duration_ns)
		return -1;
	describe(&l, &t->kernel, t->kernel.param, device);
	return sim->duration_ns(sim->arg, &l);
}

static double threads_of(const struct drv_kernel *k)
{
	double n = 1;

	for (int i = 0; i < 3; i++)
		n *= (double)k->grid[i] * k->block[i];
	return n;
}

int64_t drv_duration(const struct drv_task *t, int64_t base_ns, uint32_t device, uint64_t key,
		     uint64_t number)
{
	switch (t->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		const struct CUfunc_st *f = t->kernel.f;
		struct sim_kernel_model m = f->model;
		int64_t ns;

		if (base_ns < 0)
			sim_model_widen(&m, threads_of(&t->kernel));
		ns = sim_model_kernel_ns(&m, base_ns, f->sim && f->sim->poll, device, key, number);
		/* A rendezvous is bound by the link, not by the device's clock. */
		return f->sim && f->sim->poll ? ns : sim_fault_throttle(ns, device, sim_now_ns());
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sim_model_copy_ns(t->copy.path, t->copy.pageable,
					 t->copy.width * t->copy.height * t->copy.depth);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sim_model_memset_ns(t->memset.width * t->memset.element * t->memset.height);
	default:
		return 0;
	}
}

static void work_kernel(struct sim_work *w, const struct drv_kernel *k, uint32_t device)
{
	struct sim_op *op = &w->op;

	op->kind = SIM_OP_KERNEL;
	op->name = k->f->name;
	memcpy(op->grid, k->grid, sizeof(op->grid));
	memcpy(op->block, k->block, sizeof(op->block));
	memcpy(op->cluster, k->cluster, sizeof(op->cluster));
	op->dyn_smem = k->dyn_smem;
	op->static_smem = k->f->static_smem;
	op->regs = k->f->regs;
	op->local_bytes = k->f->local_bytes;
	if (k->f->sim) {
		struct sim_run *run = sim_alloc(sizeof(*run));
		run->kernel = k->f->sim;
		if (k->param)
			memcpy(run->param, k->param, run->kernel->param_bytes);
		describe(&run->l, k, run->param, device);
		w->arg = run;
		w->behaviour = run->kernel->poll ? &rendezvous : &library_kernel;
	}
}

static void *copy_of(const void *p, size_t n)
{
	return memcpy(sim_alloc(n), p, n);
}

struct sim_work *drv_work(const struct drv_task *t, int64_t duration_ns, uint32_t device)
{
	struct sim_work *w = sim_work_new();
	struct sim_op *op = &w->op;

	w->duration_ns = duration_ns;
	w->latency_ns = sim_settings.launch_latency_ns;
	op->correlation = sim_bracket.correlation;
	op->tid = drv_thread_id();
	switch (t->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		work_kernel(w, &t->kernel, device);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		op->kind = SIM_OP_MEMCPY;
		op->bytes = t->copy.width * t->copy.height * t->copy.depth;
		op->copy_kind = t->copy.kind;
		op->src_kind = t->copy.src_kind;
		op->dst_kind = t->copy.dst_kind;
		op->peer_device = t->copy.kind == DRV_COPY_PTOP ? t->copy.peer_device : device;
		w->arg = copy_of(&t->copy, sizeof(t->copy));
		w->behaviour = &copy_behaviour;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		op->kind = SIM_OP_MEMSET;
		op->bytes = t->memset.width * t->memset.element * t->memset.height;
		op->value = t->memset.value;
		op->dst_kind = t->memset.dst_kind;
		w->arg = copy_of(&t->memset, sizeof(t->memset));
		w->behaviour = &memset_behaviour;
		break;
	case CU_GRAPH_NODE_TYPE_HOST: {
		struct drv_host_call *c = sim_alloc(sizeof(*c));
		c->fn = t->host.fn;
		c->arg = t->host.userData;
		w->arg = c;
		w->behaviour = &drv_host_behaviour;
		break;
	}
	default: /* a marker */
		w->latency_ns = 0;
		break;
	}
	return w;
}

/* (locked) */
static void launch(struct CUstream_st *s, const struct drv_task *t, int64_t base_ns)
{
	struct sim_lane *l = s->lane;
	uint32_t device = l->space->device;
	uint64_t key = (uint64_t)l->space->id << 32 | l->id;
	struct sim_work *w;

	sim_lane_throttle(l);
	w = drv_work(t, drv_duration(t, base_ns, device, key, l->launched++), device);
	sim_lane_submit(l, w, sim_now_ns());
}

static CUresult issue(struct CUstream_st *s, const struct drv_task *t, bool wait)
{
	struct sim_point p = {0};
	int64_t base_ns = drv_kernel_base_ns(t, (uint32_t)s->ctx->device);
	CUresult r;

	sim_enter();
	if (drv_capturing(s)) {
		r = wait ? drv_capture_forbid(s) : drv_capture_add(s, t, NULL);
	} else if ((r = drv_capture_legacy(s)) == CUDA_SUCCESS) {
		launch(s, t, base_ns);
		if (wait) {
			sim_point_copy(&p, &s->lane->tail);
			r = drv_wait(&p);
		}
	}
	sim_leave();
	return r;
}

/*
 * Pageable host memory may be changed or unmapped as soon as the call returns. A small source is copied away, a large
 * one and every pageable target make the call wait, as the real driver's staging does.
 */
static CUresult issue_pageable(struct CUstream_st *s, const struct drv_task *t)
{
	const struct drv_copy *c = &t->copy;
	size_t bytes = c->width * c->height * c->depth;
	struct drv_task staged = *t;
	struct drv_copy flat = *c;
	CUresult r;
	bool capturing;

	sim_enter();
	capturing = drv_capturing(s);
	sim_leave();
	if (capturing)
		return issue(s, t, false);
	if (c->dst_kind == DRV_KIND_PAGEABLE || bytes > STAGE_MAX)
		return issue(s, t, true);
	flat.dst = sim_alloc(bytes);
	flat.dst_pitch = c->width;
	flat.dst_slice = c->width * c->height;
	drv_copy_run(&flat);
	staged.copy.src = flat.dst;
	staged.copy.src_pitch = flat.dst_pitch;
	staged.copy.src_slice = flat.dst_slice;
	staged.copy.staged = flat.dst;
	r = issue(s, &staged, false);
	if (r != CUDA_SUCCESS)
		free(flat.dst); /* else the operation owns it */
	return r;
}

CUresult drv_issue(struct CUstream_st *s, const struct drv_task *t)
{
	if (t->type == CU_GRAPH_NODE_TYPE_MEMCPY && t->copy.pageable)
		return issue_pageable(s, t);
	return issue(s, t, false);
}

CUresult drv_issue_wait(struct CUstream_st *s, const struct drv_task *t)
{
	return issue(s, t, true);
}
