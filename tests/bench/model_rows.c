/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The duration model of simgpu on a pipe: one row in, one line of ns out. For scripts/fit-model --check.
 *   cost DEVICE KIND DTYPE FLOPS BYTES
 *   coll DEVICE OP RANKS BYTES
 * With the argument `modules` it prints the SIM_MODULE rows it was built with instead.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_roofline.h"

static const char *const kinds[SIM_COST_KINDS] = {
	[SIM_COST_OTHER] = "other",	    [SIM_COST_GEMM] = "gemm",
	[SIM_COST_ATTENTION] = "attention", [SIM_COST_ELEMENTWISE] = "elementwise",
	[SIM_COST_NORM] = "norm",	    [SIM_COST_COPY] = "copy",
};
static const char *const dtypes[SIM_DTYPES] = {
	[SIM_DTYPE_ANY] = "any",   [SIM_DTYPE_FP64] = "fp64", [SIM_DTYPE_FP32] = "fp32",
	[SIM_DTYPE_TF32] = "tf32", [SIM_DTYPE_BF16] = "bf16", [SIM_DTYPE_FP16] = "fp16",
	[SIM_DTYPE_FP8] = "fp8",   [SIM_DTYPE_FP4] = "fp4",   [SIM_DTYPE_INT8] = "int8",
};
static const char *const ops[SIM_COLLECTIVES] = {
	[SIM_ALL_REDUCE] = "all_reduce",
	[SIM_ALL_GATHER] = "all_gather",
	[SIM_REDUCE_SCATTER] = "reduce_scatter",
	[SIM_ALL_TO_ALL] = "all_to_all",
	[SIM_BROADCAST] = "broadcast",
	[SIM_REDUCE] = "reduce",
	[SIM_GATHER] = "gather",
	[SIM_SCATTER] = "scatter",
	[SIM_SEND_RECV] = "send",
};

static int find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static void print_modules(void)
{
#define SIM_PEAK(dev, gbs, fp64, fp32, tf32, bf16, fp8, fp4, int8)
#define SIM_LIKE(dev, other)
#define SIM_EFF(dev, kind, dtype, floor, compute, memory, ramp, small)
#define SIM_COLL(dev, op, ranks, cut1, cut2, a1, b1, a2, b2, a3, b3)
#define SIM_MODULE(dev, kind, dtype, floor, memory)                                                \
	printf("%s %s %s %d %g\n", #dev, #kind, #dtype, floor, memory);
#include "simgpu/core/efficiency.def"
}

int main(int argc, char **argv)
{
	char line[256], what[8], device[16], name[16], type[16];
	uint64_t flops, bytes;
	int ranks;

	if (argc > 1 && !strcmp(argv[1], "modules")) {
		print_modules();
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		int64_t ns = -1;

		if (sscanf(line, "%7s %15s", what, device) != 2 || !sim_device_type(device))
			break;
		if (!strcmp(what, "cost") && sscanf(line, "%*s %*s %15s %15s %" SCNu64 " %" SCNu64,
						    name, type, &flops, &bytes) == 4) {
			int kind = find(kinds, SIM_COST_KINDS, name),
			    dtype = find(dtypes, SIM_DTYPES, type);
			struct sim_cost c = {.flops = flops, .bytes = bytes};

			if (kind < 0 || dtype < 0)
				break;
			c.kind = (enum sim_cost_kind)kind;
			c.dtype = (enum sim_dtype)dtype;
			ns = sim_roofline_ns(&c, sim_device_type(device));
		} else if (!strcmp(what, "coll") &&
			   sscanf(line, "%*s %*s %15s %d %" SCNu64, name, &ranks, &bytes) == 3) {
			int op = find(ops, SIM_COLLECTIVES, name);

			if (op < 0)
				break;
			ns = sim_collective_ns((enum sim_collective)op, ranks, bytes,
					       sim_device_type(device));
		}
		if (ns < 0)
			break;
		printf("%" PRId64 "\n", ns);
	}
	if (feof(stdin))
		return 0;
	fprintf(stderr, "model_rows: not a row: %s", line);
	return 1;
}
