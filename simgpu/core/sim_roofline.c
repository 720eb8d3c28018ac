/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_roofline.h. The tables are built by the compiler from efficiency.def: [device][kind][dtype], an entry with
 * memory 0 is absent, index 0 of each is "any". Doubles throughout: no product of sizes can overflow, and 53 bits are
 * a nanosecond in a hundred days.
 */
#include "simgpu/core/sim_roofline.h"

#include "simgpu/core/sim_devices.h"

#include <stddef.h>
#include <string.h>

#define MAX_NS 86400e9 /* a day */

enum roof_device { DEV_any, DEV_a100, DEV_h100, DEV_h200, DEV_b200, DEVS };
static const char *const device_keys[DEVS] = {
	[DEV_a100] = "a100", [DEV_h100] = "h100", [DEV_h200] = "h200", [DEV_b200] = "b200"};

struct peak {
	double gbs; /* = bytes per ns */
	double tflops[SIM_DTYPES];
};
struct eff {
	double floor_ns, compute, memory, ramp_ns, small;
};
struct coll {
	double cut[2];
	struct {
		double alpha_ns, gbs;
	} part[3];
};

/* What efficiency.def calls things. */
#define KIND_other	    SIM_COST_OTHER
#define KIND_gemm	    SIM_COST_GEMM
#define KIND_attention	    SIM_COST_ATTENTION
#define KIND_elementwise    SIM_COST_ELEMENTWISE
#define KIND_norm	    SIM_COST_NORM
#define KIND_copy	    SIM_COST_COPY
#define DTYPE_any	    SIM_DTYPE_ANY
#define DTYPE_fp32	    SIM_DTYPE_FP32
#define DTYPE_bf16	    SIM_DTYPE_BF16
#define DTYPE_fp8	    SIM_DTYPE_FP8
#define DTYPE_fp4	    SIM_DTYPE_FP4
#define COLL_all_reduce	    SIM_ALL_REDUCE
#define COLL_all_gather	    SIM_ALL_GATHER
#define COLL_reduce_scatter SIM_REDUCE_SCATTER
#define COLL_all_to_all	    SIM_ALL_TO_ALL
#define RANKS_2		    0
#define RANKS_4		    1
#define RANKS_8		    2

#define SIM_PEAK(dev, gbs_, fp64, fp32, tf32, bf16, fp8, fp4, int8)
#define SIM_LIKE(dev, other)
#define SIM_EFF(dev, kind, dtype, floor, compute, memory, ramp, small)
#define SIM_MODULE(dev, kind, dtype, floor, memory)
#define SIM_COLL(dev, op, ranks, cut1, cut2, a1, b1, a2, b2, a3, b3)

#undef SIM_PEAK
#define SIM_PEAK(dev, gbs_, fp64, fp32, tf32, bf16, fp8, fp4, int8)                                \
	[DEV_##dev] = {.gbs = gbs_, .tflops = {bf16, fp64, fp32, tf32, bf16, bf16, fp8, fp4, int8}},
static const struct peak peaks[DEVS] = {
#include "simgpu/core/efficiency.def"
};
#undef SIM_PEAK
#define SIM_PEAK(dev, gbs_, fp64, fp32, tf32, bf16, fp8, fp4, int8)

#undef SIM_LIKE
#define SIM_LIKE(dev, other) [DEV_##dev] = DEV_##other,
static const enum roof_device like[DEVS] = {
#include "simgpu/core/efficiency.def"
};
#undef SIM_LIKE
#define SIM_LIKE(dev, other)

#undef SIM_EFF
#define SIM_EFF(dev, kind, dtype, floor, compute, memory, ramp, small)                             \
	[DEV_##dev][KIND_##kind][DTYPE_##dtype] = {floor, compute, memory, ramp, small},
static const struct eff effs[DEVS][SIM_COST_KINDS][SIM_DTYPES] = {
#include "simgpu/core/efficiency.def"
};
#undef SIM_EFF
#define SIM_EFF(dev, kind, dtype, floor, compute, memory, ramp, small)

#undef SIM_COLL
#define SIM_COLL(dev, op, ranks, cut1, cut2, a1, b1, a2, b2, a3, b3)                               \
	[DEV_##dev][COLL_##op][RANKS_##ranks] = {{cut1, cut2}, {{a1, b1}, {a2, b2}, {a3, b3}}},
static const struct coll colls[DEVS][4][3] = {
#include "simgpu/core/efficiency.def"
};

/* Whose rows a type without its own takes, and how wide an element is where only the shape is known. */
static const struct {
	enum sim_dtype like;
	double bytes;
} dtypes[SIM_DTYPES] = {
	[SIM_DTYPE_ANY] = {SIM_DTYPE_BF16, 2},	[SIM_DTYPE_FP64] = {SIM_DTYPE_FP32, 8},
	[SIM_DTYPE_FP32] = {SIM_DTYPE_BF16, 4}, [SIM_DTYPE_TF32] = {SIM_DTYPE_BF16, 4},
	[SIM_DTYPE_BF16] = {SIM_DTYPE_ANY, 2},	[SIM_DTYPE_FP16] = {SIM_DTYPE_BF16, 2},
	[SIM_DTYPE_FP8] = {SIM_DTYPE_BF16, 1},	[SIM_DTYPE_FP4] = {SIM_DTYPE_FP8, 0.5625},
	[SIM_DTYPE_INT8] = {SIM_DTYPE_FP8, 1},
};

/* Beyond a node: what one device's network port carries, and the latency of one more hop. Data sheets, not measured. */
static const struct {
	double gbs, hop_ns;
} network[DEVS] = {
	[DEV_any] = {50, 10000},  [DEV_a100] = {25, 12000}, [DEV_h100] = {50, 10000},
	[DEV_h200] = {50, 10000}, [DEV_b200] = {50, 10000},
};

static enum roof_device index_of(const struct sim_device_type *d)
{
	for (int i = DEV_any + 1; d && i < DEVS; i++)
		if (!strcmp(device_keys[i], d->key))
			return (enum roof_device)i;
	return DEV_h100; /* a device added to sim_devices.c and not here: what most people run */
}

static int64_t to_ns(double ns)
{
	return !(ns >= 1) ? 1 : ns > MAX_NS ? (int64_t)MAX_NS : (int64_t)(ns + 0.5);
}

/* The device's own row before that of its relative before that of any device; the dtype's before its relative's. */
static const struct eff *eff_of(enum roof_device dev, enum sim_cost_kind kind, enum sim_dtype dtype)
{
	const enum roof_device order[] = {dev, like[dev], DEV_any};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum sim_dtype t = dtype;

		for (;; t = dtypes[t].like) {
			const struct eff *e = &effs[order[i]][kind][t];

			if (e->memory > 0)
				return e;
			if (t == SIM_DTYPE_ANY || dtypes[t].like == SIM_DTYPE_ANY)
				break;
		}
		if (effs[order[i]][kind][SIM_DTYPE_ANY].memory > 0)
			return &effs[order[i]][kind][SIM_DTYPE_ANY];
	}
	return &effs[DEV_any][SIM_COST_OTHER][SIM_DTYPE_ANY];
}

static double peak_of(enum roof_device dev, enum sim_dtype dtype)
{
	while (!(peaks[dev].tflops[dtype] > 0))
		dtype = dtypes[dtype].like; /* emulated in the next wider type; ends at bf16 */
	return peaks[dev].tflops[dtype];
}

int64_t sim_roofline_ns(const struct sim_cost *c, const struct sim_device_type *device)
{
	enum roof_device dev = index_of(device);
	enum sim_cost_kind kind = (unsigned)c->kind < SIM_COST_KINDS ? c->kind : SIM_COST_OTHER;
	enum sim_dtype dtype =
		(unsigned)c->dtype < SIM_DTYPES && c->dtype ? c->dtype : SIM_DTYPE_BF16;
	const struct eff *e = eff_of(dev, kind, dtype);
	double flops = (double)c->flops, bytes = (double)c->bytes, compute, memory;

	if (kind == SIM_COST_GEMM && !c->flops && !c->bytes) {
		double m = (double)c->m, n = (double)c->n, k = (double)c->k,
		       batch = c->batch ? (double)c->batch : 1, width = dtypes[dtype].bytes;

		flops = 2 * m * n * k * batch;
		/* Narrow types accumulate into a wider result. */
		bytes = batch * (width * (m * k + k * n) + (width < 2 ? 2 : width) * m * n);
	}
	compute = flops / (1e3 * peak_of(dev, dtype)); /* TFLOP/s = 1000 FLOP per ns */
	memory = bytes / peaks[dev].gbs / e->memory;
	if (e->ramp_ns > 0 && compute / e->small < compute / e->compute + e->ramp_ns)
		compute /= e->small;
	else
		compute = compute / e->compute + e->ramp_ns;
	return to_ns(e->floor_ns + (compute > memory ? compute : memory));
}

/* A later segment never takes less than the one before it at their common end. */
static double segment_ns(const struct coll *c, double bytes)
{
	double ns = 0;

	for (int i = 0; i < 3; i++) {
		double at = i < 2 && bytes > c->cut[i] ? c->cut[i] : bytes, t;

		t = c->part[i].alpha_ns + (c->part[i].gbs > 0 ? at / c->part[i].gbs : 0);
		ns = t > ns ? t : ns;
		if (i < 2 && bytes < c->cut[i])
			break;
	}
	return ns;
}

/* In one node. Two and fewer, four, eight are measured. */
static double node_ns(const struct coll c[3], int ranks, double bytes)
{
	double low, high;

	if (ranks <= 2)
		return segment_ns(&c[0], bytes);
	low = segment_ns(&c[ranks > 4], bytes);
	high = segment_ns(&c[1 + (ranks > 4)], bytes);
	return ranks > 4 ? low + (high - low) * (ranks - 4) / 4
			 : low + (high - low) * (ranks - 2) / 2;
}

/*
 * How an operation is read off a measured one. of: whose rows. whole: the message passes every link as a whole, not
 * (n - 1)/n of it. pair: two ranks, see below. net: how often the message passes a node's ports,
 * times (nodes - 1)/nodes; all devices of the node share in that, or (alone) each carries its own.
 */
static const struct {
	uint8_t of, whole, pair, net, alone;
} ops[SIM_COLLECTIVES] = {
	[SIM_ALL_REDUCE] = {SIM_ALL_REDUCE, 0, 0, 2, 0},
	[SIM_ALL_GATHER] = {SIM_ALL_GATHER, 0, 0, 1, 0},
	[SIM_REDUCE_SCATTER] = {SIM_REDUCE_SCATTER, 0, 0, 1, 0},
	[SIM_ALL_TO_ALL] = {SIM_ALL_TO_ALL, 0, 0, 1, 1},
	[SIM_BROADCAST] = {SIM_ALL_GATHER, 1, 0, 1, 0},
	[SIM_REDUCE] = {SIM_REDUCE_SCATTER, 1, 0, 1, 0},
	[SIM_GATHER] = {SIM_ALL_TO_ALL, 0, 0, 1, 1},
	[SIM_SCATTER] = {SIM_ALL_TO_ALL, 0, 0, 1, 1},
	[SIM_SEND_RECV] = {SIM_ALL_TO_ALL, 0, 1, 0, 0},
};

int64_t sim_collective_ns(enum sim_collective op, int ranks, uint64_t bytes,
			  const struct sim_device_type *device)
{
	enum roof_device dev = index_of(device), from;
	double size = (double)bytes, ns;
	int local, nodes;

	if ((unsigned)op >= SIM_COLLECTIVES)
		op = SIM_ALL_REDUCE;
	if (ranks < 2)
		ranks = 2;
	/* An all-to-all of two sends half of its message and copies the other half; 1.5 fits A100 send and receive. */
	if (ops[op].pair) {
		ranks = 2;
		size *= 1.5;
	}
	local = ranks < SIM_RANKS_PER_NODE ? ranks : SIM_RANKS_PER_NODE;
	nodes = (int)(((int64_t)ranks + SIM_RANKS_PER_NODE - 1) / SIM_RANKS_PER_NODE);
	if (ops[op].whole)
		size = size * local / (local - 1);
	from = colls[dev][ops[op].of][0].cut[0] > 0 ? dev : like[dev];
	if (!(colls[from][ops[op].of][0].cut[0] > 0))
		from = DEV_h100;
	ns = node_ns(colls[from][ops[op].of], local, size);
	if (nodes > 1) {
		double wire = (double)bytes * ops[op].net * (nodes - 1) / nodes;
		int hops = 0;

		for (int64_t n = 1; n < nodes; n *= 2)
			hops++;
		ns += hops * ops[op].net * network[dev].hop_ns +
		      wire / (ops[op].alone ? 1 : SIM_RANKS_PER_NODE) / network[dev].gbs;
	}
	return to_ns(ns);
}

/*
 * First match wins: attention before the GEMM it is built of, norms before the reductions in them. thread_bytes: what a
 * thread of such a kernel reads and writes at its usual width, four elements of four bytes of each tensor: PyTorch's
 * vectorized kernels take four (a copy: two tensors; others: three, at a guess), its optimizer kernels 128 of seven
 * (chunks of 65,536 for 512 threads; Adam reads four and writes three). 0: the grid does not tell the work.
 */
static const struct family {
	const char *part;
	int64_t ns, thread_bytes;
} families[] = {
	{"flash", 10000, 0},
	{"fmha", 10000, 0},
	{"attention", 10000, 0},
	{"attn", 10000, 0},
	{"multi_tensor", 10000, 3584},
	{"adam", 10000, 0},
	{"layer_norm", 7000, 0},
	{"LayerNorm", 7000, 0},
	{"rms_norm", 7000, 0},
	{"GammaBeta", 7000, 0},
	{"oftmax", 7000, 0},
	{"OftMax", 7000, 0},
	{"oftMax", 7000, 0},
	{"nll_loss", 7000, 0},
	{"reduce_kernel", 7000, 0},
	{"triton_poi", 5000, 48},
	{"triton_per", 7000, 0},
	{"triton_red", 7000, 0},
	{"FillFunctor", 5000, 16},
	{"direct_copy", 5000, 32},
	{"elementwise", 5000, 48},
	{"CUDAFunctor", 5000, 48},
	{"gather", 6000, 0},
	{"scatter", 6000, 0},
	{"index", 6000, 0},
	{"CatArray", 6000, 0},
	{"copy_kernel", 5000, 32},
	{"dropout", 5000, 48},
	{"gelu", 5000, 48},
	{"silu", 5000, 48},
	{"rotary", 5000, 0},
	{"distribution", 5000, 16},
	{"embedding", 6000, 0},
};

static const struct family *family_of(const char *kernel_name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strstr(kernel_name, families[i].part))
			return &families[i];
	return NULL;
}

int64_t sim_family_ns(const char *kernel_name, int64_t fallback_ns)
{
	const struct family *f = family_of(kernel_name);

	return f ? f->ns : fallback_ns;
}

int64_t sim_family_thread_bytes(const char *kernel_name)
{
	const struct family *f = family_of(kernel_name);

	return f ? f->thread_bytes : 0;
}
