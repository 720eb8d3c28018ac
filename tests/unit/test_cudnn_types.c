// SPDX-License-Identifier: Apache-2.0
/*
 * agent/cudnn_types.h, hooks_cudnn.def and collectors/dnn_ops.def against the real headers, where they are: values, and
 * for every hook that the header's function is of the type our list says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if __has_include(<cudnn_graph_v9.h>) && __has_include(<cudnn.h>)
#pragma GCC diagnostic ignored "-Wstrict-prototypes"	   /* theirs */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* we call none */
#include <cudnn.h>
#define DNN_HANDLE	cudnnHandle_t
#define DNN_DESC	cudnnBackendDescriptor_t
#define DNN_DESC_TYPE	cudnnBackendDescriptorType_t
#define DNN_ATTR	cudnnBackendAttributeName_t
#define DNN_ATTR_TYPE	cudnnBackendAttributeType_t
#define DNN_TENSOR	cudnnTensorDescriptor_t
#define DNN_FILTER	cudnnFilterDescriptor_t
#define DNN_CONV	cudnnConvolutionDescriptor_t
#define DNN_ACTIVATION	cudnnActivationDescriptor_t
#define DNN_FWD_ALGO	cudnnConvolutionFwdAlgo_t
#define DNN_DATA_ALGO	cudnnConvolutionBwdDataAlgo_t
#define DNN_FILTER_ALGO cudnnConvolutionBwdFilterAlgo_t
#define DNN_BN_MODE	cudnnBatchNormMode_t
#define DNN_BN_OPS	cudnnBatchNormOps_t
#include "agent/cudnn_types.h"
#include "agent/hook_forms.h"
#include "collectors/dnn_graph.h"

#define SAME(ours_, theirs_) assert_int_equal(WT_DNN_##ours_, CUDNN_##theirs_)

static void test_descriptors(void **state)
{
	SAME(NOT_SUPPORTED, STATUS_NOT_SUPPORTED);
	SAME(POINTWISE, BACKEND_POINTWISE_DESCRIPTOR);
	SAME(ENGINE, BACKEND_ENGINE_DESCRIPTOR);
	SAME(ENGINECFG, BACKEND_ENGINECFG_DESCRIPTOR);
	SAME(ENGINEHEUR, BACKEND_ENGINEHEUR_DESCRIPTOR);
	SAME(PLAN, BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	SAME(GRAPH, BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	SAME(TENSOR, BACKEND_TENSOR_DESCRIPTOR);
	SAME(OP_CONV_FORWARD, BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	SAME(OP_CONV_WEIGHTS, BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
	SAME(OP_CONV_DATA, BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
	SAME(OP_POINTWISE, BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	SAME(OP_STATS, BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
	SAME(OP_MATMUL, BACKEND_OPERATION_MATMUL_DESCRIPTOR);
	SAME(OP_BN_STATS, BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR);
	SAME(OP_REDUCTION, BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	SAME(OP_BN_WEIGHTS, BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
	SAME(OP_RESAMPLE, BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
	SAME(OP_RESAMPLE_BACKWARD, BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
	SAME(OP_CONCAT, BACKEND_OPERATION_CONCAT_DESCRIPTOR);
	SAME(OP_SIGNAL, BACKEND_OPERATION_SIGNAL_DESCRIPTOR);
	SAME(OP_NORM, BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
	SAME(OP_NORM_BACKWARD, BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
	SAME(OP_RESHAPE, BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
	SAME(OP_RANDOM, BACKEND_OPERATION_RNG_DESCRIPTOR);
}

static void test_attributes(void **state)
{
	SAME(POINTWISE_MODE, ATTR_POINTWISE_MODE);
	SAME(HEUR_GRAPH, ATTR_ENGINEHEUR_OPERATION_GRAPH);
	SAME(CFG_ENGINE, ATTR_ENGINECFG_ENGINE);
	SAME(PLAN_CFG, ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
	SAME(PLAN_TEXT, ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
	SAME(IS_TEXT, TYPE_CHAR);
	SAME(POINTWISE_DESC, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
	SAME(GRAPH_OPS, ATTR_OPERATIONGRAPH_OPS);
	SAME(TENSOR_TYPE, ATTR_TENSOR_DATA_TYPE);
	SAME(TENSOR_DIMS, ATTR_TENSOR_DIMENSIONS);
	SAME(TENSOR_STRIDES, ATTR_TENSOR_STRIDES);
	SAME(TENSOR_UID, ATTR_TENSOR_UNIQUE_ID);
	SAME(TENSOR_VIRTUAL, ATTR_TENSOR_IS_VIRTUAL);
	SAME(TENSOR_BY_VALUE, ATTR_TENSOR_IS_BY_VALUE);
	SAME(TENSOR_RAGGED, ATTR_TENSOR_RAGGED_OFFSET_DESC);
	SAME(PACK, ATTR_VARIANT_PACK_UNIQUE_IDS);
	SAME(ENGINE_GRAPH, ATTR_ENGINE_OPERATION_GRAPH);
	SAME(IS_TYPE, TYPE_DATA_TYPE);
	SAME(IS_BOOLEAN, TYPE_BOOLEAN);
	SAME(IS_INT64, TYPE_INT64);
	SAME(IS_POINTWISE_MODE, TYPE_POINTWISE_MODE);
	SAME(IS_DESCRIPTOR, TYPE_BACKEND_DESCRIPTOR);
	SAME(ADD, POINTWISE_ADD);
	SAME(SUB, POINTWISE_SUB);
	SAME(CMP_GT, POINTWISE_CMP_GT);
	SAME(CMP_LE, POINTWISE_CMP_LE);
	SAME(GEN_INDEX, POINTWISE_GEN_INDEX);
}

/* The attributes of dnn_ops.def by the header's names: those that decide what a plan computes. */
static void test_operands(void **state)
{
	static const struct {
		unsigned type, a, b, c;
	} want[] = {
		{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
		{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
		{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
		{CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
		 CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_ATTR_OPERATION_MATMUL_CDESC},
		{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
		 CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC},
		{CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
		 CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, 0, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC},
		{CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR,
		 CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, 0, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC},
		{CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
		 0, CUDNN_ATTR_OPERATION_REDUCTION_YDESC},
#if CUDNN_VERSION >= 91700
		{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,
		 CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC},
		{CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,
		 CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC},
#endif
	};
	static const struct {
		unsigned type, a, b, c;
	} ours[] = {
#define WT_DNN_OP(type_, kind_, rule_, a_, b_, c_) {WT_DNN_OP_##type_, a_, b_, c_},
#include "collectors/dnn_ops.def"
#undef WT_DNN_OP
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		size_t k = 0;

		while (k < sizeof(ours) / sizeof(ours[0]) && ours[k].type != want[i].type)
			k++;
		assert_true(k < sizeof(ours) / sizeof(ours[0]));
		assert_int_equal(ours[k].a, want[i].a);
		assert_int_equal(ours[k].b, want[i].b);
		assert_int_equal(ours[k].c, want[i].c);
	}
}

static void test_types(void **state)
{
	static const struct {
		cudnnDataType_t dnn;
		cudaDataType cuda;
	} same[] = {
		{CUDNN_DATA_FLOAT, CUDA_R_32F},	       {CUDNN_DATA_DOUBLE, CUDA_R_64F},
		{CUDNN_DATA_HALF, CUDA_R_16F},	       {CUDNN_DATA_INT8, CUDA_R_8I},
		{CUDNN_DATA_INT32, CUDA_R_32I},	       {CUDNN_DATA_UINT8, CUDA_R_8U},
		{CUDNN_DATA_BFLOAT16, CUDA_R_16BF},    {CUDNN_DATA_INT64, CUDA_R_64I},
		{CUDNN_DATA_FP8_E4M3, CUDA_R_8F_E4M3}, {CUDNN_DATA_FP8_E5M2, CUDA_R_8F_E5M2},
		{CUDNN_DATA_FP4_E2M1, CUDA_R_4F_E2M1},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(wt_dnn_type(same[i].dnn), same[i].cuda);
	assert_int_equal(wt_dnn_type(CUDNN_DATA_BOOLEAN), 255);
	assert_int_equal(wt_dnn_type(1000), 255);
}

static void test_prototypes(void **state)
{
	unsigned rows = 0;

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	rows++;                                                                                    \
	if (!__builtin_types_compatible_p(cudnnStatus_t(*) p_, __typeof__(&n_)))                   \
		fail_msg("%s is of another type", #n_);
#include "agent/hooks_cudnn.def"
#undef WT_ROW
	assert_true(rows > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors), cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_operands),    cmocka_unit_test(test_types),
		cmocka_unit_test(test_prototypes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("skip-ok: no headers of cuDNN on this machine");
	return 77;
}
#endif
