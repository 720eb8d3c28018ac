/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collective does to data: each rank puts its contribution into its region of the shared file, then takes what
 * its result needs from the others'. Device thread only. Narrow floats are reduced in float and rounded once at the
 * end; the order of the sum is the order of ranks on every rank, so that all get the same bits.
 */
#include "simgpu/nccl/nccl_sim.h"

#include <math.h>
#include <string.h>

static const struct {
	uint8_t bytes, reducible;
	const char *name;
} types[ncclNumTypes] = {
	[ncclInt8] = {1, 1, "i8"},	     [ncclUint8] = {1, 1, "u8"},
	[ncclInt32] = {4, 1, "i32"},	     [ncclUint32] = {4, 1, "u32"},
	[ncclInt64] = {8, 1, "i64"},	     [ncclUint64] = {8, 1, "u64"},
	[ncclFloat16] = {2, 1, "f16"},	     [ncclFloat32] = {4, 1, "f32"},
	[ncclFloat64] = {8, 1, "f64"},	     [ncclBfloat16] = {2, 1, "bf16"},
	[ncclFloat8e4m3] = {1, 0, "f8e4m3"}, [ncclFloat8e5m2] = {1, 0, "f8e5m2"},
};

size_t nccl_type_bytes(ncclDataType_t t)
{
	return (unsigned)t < ncclNumTypes ? types[t].bytes : 0;
}

const char *nccl_type_name(ncclDataType_t t)
{
	return (unsigned)t < ncclNumTypes ? types[t].name : "?";
}

int nccl_can_reduce(ncclDataType_t t)
{
	return (unsigned)t < ncclNumTypes && types[t].reducible;
}

static float from_bf16(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint16_t to_bf16(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40); /* stays a NaN */
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_f16(uint16_t h)
{
	int exponent = h >> 10 & 31;
	float mantissa = (float)(h & 0x3ff), f;

	if (exponent == 31)
		f = mantissa != 0 ? NAN : INFINITY;
	else if (exponent)
		f = ldexpf(mantissa + 1024, exponent - 25);
	else
		f = ldexpf(mantissa, -24);
	return h & 0x8000 ? -f : f;
}

static uint16_t to_f16(float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	int exponent;
	float a = fabsf(f);

	if (isnan(f))
		return sign | 0x7e00;
	if (a >= 65520.0f)
		return sign | 0x7c00;
	if (a < 6.103515625e-05f) /* subnormal: steps of 2^-24; rintf rounds to even */
		return sign | (uint16_t)rintf(ldexpf(a, 24));
	frexpf(a, &exponent);
	/* 11 significant bits; rounding up to 2048 carries into the exponent by itself. */
	return sign | (uint16_t)(((exponent + 13) << 10) + (int)rintf(ldexpf(a, 11 - exponent)));
}

/* acc (op)= v for n elements of one type, and the last step of an average. */
#define REDUCER(name, type, wide, load, store)                                                     \
	static void reduce_##name(void *out, char *const *in, int nranks, size_t n,                \
				  ncclRedOp_t op)                                                  \
	{                                                                                          \
		for (size_t i = 0; i < n; i++) {                                                   \
			wide acc = load(((const type *)(const void *)in[0])[i]);                   \
			for (int r = 1; r < nranks; r++) {                                         \
				wide v = load(((const type *)(const void *)in[r])[i]);             \
				switch (op) {                                                      \
				case ncclProd:                                                     \
					acc = (wide)(acc * v);                                     \
					break;                                                     \
				case ncclMax:                                                      \
					acc = v > acc ? v : acc;                                   \
					break;                                                     \
				case ncclMin:                                                      \
					acc = v < acc ? v : acc;                                   \
					break;                                                     \
				default:                                                           \
					acc = (wide)(acc + v);                                     \
				}                                                                  \
			}                                                                          \
			if (op == ncclAvg)                                                         \
				acc = (wide)(acc / (wide)nranks);                                  \
			((type *)out)[i] = store(acc);                                             \
		}                                                                                  \
	}
#define PLAIN(x) (x)
/* Signed integers wrap around as the device's do. */
#define WRAP8(x)  ((int8_t)(x))
#define WRAP32(x) ((int32_t)(x))
#define WRAP64(x) ((int64_t)(x))
REDUCER(u8, uint8_t, uint8_t, PLAIN, PLAIN)
REDUCER(u32, uint32_t, uint32_t, PLAIN, PLAIN)
REDUCER(u64, uint64_t, uint64_t, PLAIN, PLAIN)
REDUCER(i8, int8_t, int32_t, PLAIN, WRAP8)
REDUCER(i32, int32_t, int64_t, PLAIN, WRAP32)
REDUCER(i64, int64_t, __int128, PLAIN, WRAP64)
REDUCER(f32, float, float, PLAIN, PLAIN)
REDUCER(f64, double, double, PLAIN, PLAIN)
REDUCER(f16, uint16_t, float, from_f16, to_f16)
REDUCER(bf16, uint16_t, float, from_bf16, to_bf16)

typedef void (*reduce_fn)(void *out, char *const *in, int nranks, size_t n, ncclRedOp_t op);
static const reduce_fn reducers[ncclNumTypes] = {
	[ncclInt8] = reduce_i8,	      [ncclUint8] = reduce_u8,	  [ncclInt32] = reduce_i32,
	[ncclUint32] = reduce_u32,    [ncclInt64] = reduce_i64,	  [ncclUint64] = reduce_u64,
	[ncclFloat16] = reduce_f16,   [ncclFloat32] = reduce_f32, [ncclFloat64] = reduce_f64,
	[ncclBfloat16] = reduce_bf16,
};

static size_t one(const struct nccl_task *t)
{
	return t->count * nccl_type_bytes(t->type);
}

/* Parts of `count` elements: in a rank's contribution, and in the message that bandwidth counts. n = nranks. */
static const struct {
	uint8_t put_n, message_n;  /* 1 = one part per rank, 0 = one part */
	uint8_t root_only;	   /* only the root contributes */
	uint8_t factor_num_double; /* bus factor: 2(n-1)/n, else (n-1)/n, else 1 */
	uint8_t factor_frac;
} shapes[NCCL_FUNCS] = {
	[NCCL_ALL_REDUCE] = {0, 0, 0, 1, 1},	 [NCCL_ALL_GATHER] = {0, 1, 0, 0, 1},
	[NCCL_REDUCE_SCATTER] = {1, 1, 0, 0, 1}, [NCCL_BROADCAST] = {0, 0, 1, 0, 0},
	[NCCL_REDUCE] = {0, 0, 0, 0, 0},	 [NCCL_ALL_TO_ALL] = {1, 1, 0, 0, 1},
	[NCCL_GATHER] = {0, 1, 0, 0, 1},	 [NCCL_SCATTER] = {1, 1, 1, 0, 1},
	[NCCL_SEND] = {0, 0, 0, 0, 0},		 [NCCL_RECV] = {0, 0, 0, 0, 0},
};

uint64_t nccl_contribution(const struct nccl_task *t, int nranks)
{
	return one(t) * (shapes[t->func].put_n ? (uint64_t)nranks : 1);
}

uint64_t nccl_message(const struct nccl_task *t, int nranks)
{
	return one(t) * (shapes[t->func].message_n ? (uint64_t)nranks : 1);
}

double nccl_bus_factor(enum nccl_func f, int nranks)
{
	double frac = shapes[f].factor_frac ? (nranks - 1.0) / nranks : 1.0;

	return shapes[f].factor_num_double ? 2 * frac : frac;
}

void nccl_put(const struct nccl_task *t, char *region)
{
	if (t->func == NCCL_RECV || (shapes[t->func].root_only && t->comm->rank != t->root))
		return;
	memcpy(region, t->send, nccl_contribution(t, t->comm->nranks));
}

static void take_reduced(const struct nccl_task *t, char **in, size_t offset)
{
	for (int r = 0; r < t->comm->nranks; r++)
		in[r] += offset;
	reducers[t->type](t->recv, in, t->comm->nranks, t->count, t->op);
}

/* Receives one part from each rank, the part_of_rank-th of it. */
static void take_parts(const struct nccl_task *t, char *const *in, size_t part_offset)
{
	for (int r = 0; r < t->comm->nranks; r++)
		memcpy((char *)t->recv + (size_t)r * one(t), in[r] + part_offset, one(t));
}

void nccl_take(const struct nccl_task *t, uint64_t seq, size_t at)
{
	struct ncclComm *c = t->comm;
	char *in[NCCL_MAX_RANKS];
	int root = c->rank == t->root;

	for (int r = 0; r < c->nranks; r++)
		in[r] = nccl_region(c, r, seq) + at;
	switch (t->func) {
	case NCCL_ALL_REDUCE:
		take_reduced(t, in, 0);
		break;
	case NCCL_REDUCE:
		if (root)
			take_reduced(t, in, 0);
		break;
	case NCCL_REDUCE_SCATTER:
		take_reduced(t, in, (size_t)c->rank * one(t));
		break;
	case NCCL_ALL_GATHER:
		take_parts(t, in, 0);
		break;
	case NCCL_ALL_TO_ALL:
		take_parts(t, in, (size_t)c->rank * one(t));
		break;
	case NCCL_GATHER:
		if (root)
			take_parts(t, in, 0);
		break;
	case NCCL_BROADCAST:
		memcpy(t->recv, in[t->root], one(t));
		break;
	case NCCL_SCATTER:
		memcpy(t->recv, in[t->root] + (size_t)c->rank * one(t), one(t));
		break;
	default: /* send and receive have regions of their own */
		break;
	}
}
