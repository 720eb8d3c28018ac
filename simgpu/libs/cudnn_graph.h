/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph of cuDNN computes, and the kernel it becomes. The numbers are those of NVIDIA's enumerators, of which a
 * build needs no header.
 */
#ifndef SIM_CUDNN_GRAPH_H
#define SIM_CUDNN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

enum cudnn_status {
	CUDNN_OK = 0,
	CUDNN_NOT_INITIALIZED = 1001,
	CUDNN_BAD_PARAM = 2000,
	CUDNN_BAD_PARAM_NULL = 2002,
	CUDNN_ALLOC_FAILED = 4003,
	CUDNN_EXECUTION_FAILED = 5000
};
enum cudnn_attribute {
	CUDNN_ENGINEHEUR_GRAPH = 201,
	CUDNN_ENGINEHEUR_RESULTS = 202,
	CUDNN_ENGINECFG_ENGINE = 300,
	CUDNN_ENGINECFG_WORKSPACE = 303,
	CUDNN_ENGINECFG_SHARED_MEMORY = 304,
	CUDNN_PLAN_CONFIG = 401,
	CUDNN_PLAN_WORKSPACE = 402,
	CUDNN_PLAN_TEXT = 405,
	CUDNN_CONV_FORWARD_W = 703,
	CUDNN_CONV_FORWARD_X = 704,
	CUDNN_CONV_FORWARD_Y = 705,
	CUDNN_CONV_BWD_DATA_W = 709,
	CUDNN_CONV_BWD_DATA_DX = 710,
	CUDNN_CONV_BWD_DATA_DY = 711,
	CUDNN_CONV_BWD_FILTER_DW = 715,
	CUDNN_CONV_BWD_FILTER_X = 716,
	CUDNN_CONV_BWD_FILTER_DY = 717,
	CUDNN_OPERATIONGRAPH_OPS = 801,
	CUDNN_OPERATIONGRAPH_ENGINE_COUNT = 802,
	CUDNN_TENSOR_DATA_TYPE = 901,
	CUDNN_TENSOR_DIMENSIONS = 902,
	CUDNN_KNOB_MAXIMUM = 1201,
	CUDNN_KNOB_MINIMUM = 1202,
	CUDNN_KNOB_STRIDE = 1203,
	CUDNN_ENGINE_GRAPH = 1300,
	CUDNN_ENGINE_INDEX = 1301,
	CUDNN_MATMUL_A = 1520,
	CUDNN_MATMUL_B = 1521,
	CUDNN_MATMUL_C = 1522,
	CUDNN_SDPA_FWD_Q = 2800,
	CUDNN_SDPA_FWD_K = 2801,
	CUDNN_SDPA_FWD_O = 2803,
	CUDNN_SDPA_BWD_Q = 2851,
	CUDNN_SDPA_BWD_K = 2852,
	CUDNN_SDPA_BWD_O = 2854
};
enum cudnn_attribute_type { CUDNN_TYPE_INT64 = 3, CUDNN_TYPE_DESCRIPTOR = 15 };
/* cudnnBackendDescriptorType_t of operations */
enum cudnn_operation_type {
	CUDNN_OP_CONV_FORWARD = 10,
	CUDNN_OP_CONV_BWD_FILTER = 11,
	CUDNN_OP_CONV_BWD_DATA = 12,
	CUDNN_OP_POINTWISE = 13,
	CUDNN_OP_MATMUL = 19,
	CUDNN_OP_REDUCTION = 22,
	CUDNN_OP_RESAMPLE_FWD = 25,
	CUDNN_OP_RESAMPLE_BWD = 26,
	CUDNN_OP_NORM_FORWARD = 29,
	CUDNN_OP_NORM_BACKWARD = 30,
	CUDNN_OP_SDPA_FWD = 41,
	CUDNN_OP_SDPA_BWD = 43
};

struct cudnn_dims {
	int n, type; /* cudnnDataType_t */
	int64_t dim[8];
};
/* Operands: convolution w, x, y; product a, b, c; attention q, k, o. */
struct cudnn_operation {
	int type;
	struct cudnn_dims operand[3];
};
struct cudnn_graph {
	int products, convolution, norm, attention, resample,
		pointwise;	/* counts, or the type seen */
	struct cudnn_dims q, k; /* of the first product or attention */
	double flops, bytes;
	int type; /* of the first operand that has one */
};

/* Attribute that holds operand `index` of an operation of this type; 0 = it has none. */
int cudnn_operand(int op_type, int index);
void cudnn_graph_add(struct cudnn_graph *g, const struct cudnn_operation *op);
/* 0 or a CUresult. */
int cudnn_graph_launch(const struct cudnn_graph *g, void *stream);
uint32_t cudnn_type_bytes(int type);

#endif
