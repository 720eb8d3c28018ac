/* SPDX-License-Identifier: Apache-2.0 */
/* The private door of sim_export.h: what the simulated runtime, NCCL and CUPTI get beside the public API. */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_fault.h"
#include "simgpu/core/sim_roofline.h"
#include "simgpu/core/sim_scenario.h"
#include "simgpu/core/sim_truth.h"

/* The runtime call this thread is in, while somebody watches. */
static __thread struct sim_watched runtime_call;

static void api_enter(enum sim_domain domain, uint32_t cbid)
{
	if (sim_bracket.depth++ == 0)
		sim_bracket_open();
	if (sim_watching() && !runtime_call.watch)
		sim_watch_begin(&runtime_call, domain, cbid, NULL);
}

static void api_exit(enum sim_domain domain, uint32_t cbid, int32_t result)
{
	if (__builtin_expect(runtime_call.watch != NULL, 0) && runtime_call.call.cbid == cbid)
		sim_watch_end(&runtime_call, &result);
	if (--sim_bracket.depth == 0 && sim_bracket.start_ns)
		sim_bracket_close(domain, cbid, result);
}

static void set_watch(const struct sim_watch *watch)
{
	atomic_store(&sim_watch, watch);
}

static int64_t now_ns(void)
{
	return sim_now_ns();
}

static int forked(void)
{
	return !*sim_alive && !sim_torn_down;
}

static void drain(void)
{
	/* In a forked child, and after the end, there is nobody who would deliver. */
	if (*sim_alive)
		sim_drain();
}

static CUresult context_id(CUcontext ctx, uint32_t *ret)
{
	if (!ctx)
		ctx = drv_current();
	if (!drv_is(ctx, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = ctx->space.id;
	return CUDA_SUCCESS;
}

static uint64_t graph_id(enum sim_graph_object what, const void *handle)
{
	switch (what) {
	case SIM_OBJECT_GRAPH:
		return drv_is(handle, DRV_GRAPH) ? ((CUgraph)(uintptr_t)handle)->id : 0;
	case SIM_OBJECT_NODE:
		return drv_is(handle, DRV_NODE) ? ((CUgraphNode)(uintptr_t)handle)->id : 0;
	default:
		return drv_exec_id(handle);
	}
}

static CUresult stream_id(CUcontext ctx, CUstream stream, uint32_t *ret)
{
	struct CUstream_st *s;
	CUresult r;

	if ((uintptr_t)stream <= 1 && drv_is(ctx, DRV_CTX)) {
		*ret = ctx->space.legacy.id;
		return CUDA_SUCCESS;
	}
	r = drv_stream(stream, &s);
	if (r == CUDA_SUCCESS)
		*ret = s->lane->id;
	return r;
}

static CUresult kernel_create(CUfunction *ret, const struct sim_kernel *kernel)
{
	struct sim_kernel *copy;
	struct CUfunc_st *f;

	if (!ret || !kernel || !kernel->name || kernel->param_bytes > 256 ||
	    (kernel->poll && !kernel->arrive))
		return CUDA_ERROR_INVALID_VALUE;
	if (!*sim_alive)
		return CUDA_ERROR_NOT_INITIALIZED; /* the model is not loaded */
	copy = sim_alloc(sizeof(*copy));
	*copy = *kernel;
	f = drv_func_new(kernel->name);
	copy->name = f->name;
	f->sim = copy;
	f->fill = 0;
	f->gather = f->conversion = false;
	if (kernel->regs)
		f->regs = kernel->regs;
	f->static_smem = kernel->static_smem;
	*ret = f;
	return CUDA_SUCCESS;
}

static void truth_note(const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sim_truth_vnote(key, fmt, ap);
	va_end(ap);
}

static int current_device(void)
{
	CUcontext c = drv_current();

	return drv_is(c, DRV_CTX) ? c->device : -1;
}

/* All simulated devices of a process are of one type. */
static int64_t roofline_ns(const struct sim_cost *cost, int device)
{
	return sim_roofline_ns(cost, sim_settings.device);
}

static int64_t collective_ns(enum sim_collective op, int ranks, uint64_t bytes, int device)
{
	return sim_collective_ns(op, ranks, bytes, sim_settings.device);
}

static int64_t fault(enum sim_fault_kind what, int64_t a, int64_t b)
{
	return what == SIM_FAULT_LINK_MILLI ? sim_fault_link_milli(a, b)
	       : what == SIM_FAULT_HANG	    ? sim_fault_hang(a)
	       : what == SIM_FAULT_HOLD_NS  ? sim_fault_hold_ns(a)
					    : sim_fault_zeroed(a);
}

const void *drv_export_table(void)
{
	static const struct sim_export table = {
		.version = SIM_EXPORT_VERSION,
		.bytes = sizeof(table),
		.api_enter = api_enter,
		.api_exit = api_exit,
		.set_sink = sim_sink_replace,
		.now_ns = now_ns,
		.drain = drain,
		.context_id = context_id,
		.stream_id = stream_id,
		.kernel_create = kernel_create,
		.scenario = sim_scenario_get,
		.truth_note = truth_note,
		.current_device = current_device,
		.roofline_ns = roofline_ns,
		.collective_ns = collective_ns,
		.touch = drv_touch,
		.rank = sim_model_rank,
		.device_clock_ns = sim_fault_device_clock,
		.fault = fault,
		.set_watch = set_watch,
		.forked = forked,
		.graph_id = graph_id,
		.failure = sim_call_failure,
	};

	return &table;
}
