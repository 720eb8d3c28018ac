/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of cuDNN's ABI that our wrappers pass through: our own declarations, so that the agent builds without its
 * headers and never depends on its version. test_cudnn_types.c holds them against the real headers where they are.
 */
#ifndef WT_CUDNN_TYPES_H
#define WT_CUDNN_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned int wt_dnn_status; /* cudnnStatus_t */

#ifndef DNN_HANDLE		 /* a test puts the real types here */
#define DNN_HANDLE	void *	 /* cudnnHandle_t */
#define DNN_DESC	void *	 /* cudnnBackendDescriptor_t */
#define DNN_DESC_TYPE	unsigned /* cudnnBackendDescriptorType_t */
#define DNN_ATTR	unsigned /* cudnnBackendAttributeName_t */
#define DNN_ATTR_TYPE	unsigned /* cudnnBackendAttributeType_t */
#define DNN_TENSOR	void *	 /* cudnnTensorDescriptor_t */
#define DNN_FILTER	void *	 /* cudnnFilterDescriptor_t */
#define DNN_CONV	void *	 /* cudnnConvolutionDescriptor_t */
#define DNN_ACTIVATION	void *	 /* cudnnActivationDescriptor_t */
#define DNN_FWD_ALGO	unsigned /* cudnnConvolutionFwdAlgo_t */
#define DNN_DATA_ALGO	unsigned /* cudnnConvolutionBwdDataAlgo_t */
#define DNN_FILTER_ALGO unsigned /* cudnnConvolutionBwdFilterAlgo_t */
#define DNN_BN_MODE	unsigned /* cudnnBatchNormMode_t */
#define DNN_BN_OPS	unsigned /* cudnnBatchNormOps_t */
#endif

#define WT_DNN_NOT_SUPPORTED 3000u
#define WT_DNN_DIMS_MAX	     8

enum { /* cudnnBackendDescriptorType_t, those whose contents are looked at */
       WT_DNN_POINTWISE = 0,
       WT_DNN_ENGINE = 2,
       WT_DNN_ENGINECFG = 3,
       WT_DNN_ENGINEHEUR = 4,
       WT_DNN_PLAN = 5,
       WT_DNN_OP_CONV_FORWARD = 10,
       WT_DNN_OP_CONV_WEIGHTS = 11,
       WT_DNN_OP_CONV_DATA = 12,
       WT_DNN_OP_POINTWISE = 13,
       WT_DNN_OP_STATS = 14,
       WT_DNN_GRAPH = 15,
       WT_DNN_TENSOR = 17,
       WT_DNN_OP_MATMUL = 19,
       WT_DNN_OP_BN_STATS = 20,
       WT_DNN_OP_REDUCTION = 22,
       WT_DNN_OP_BN_WEIGHTS = 23,
       WT_DNN_OP_RESAMPLE = 25,
       WT_DNN_OP_RESAMPLE_BACKWARD = 26,
       WT_DNN_OP_CONCAT = 27,
       WT_DNN_OP_SIGNAL = 28,
       WT_DNN_OP_NORM = 29,
       WT_DNN_OP_NORM_BACKWARD = 30,
       WT_DNN_OP_RESHAPE = 31,
       WT_DNN_OP_RANDOM = 33,
       WT_DNN_OP_PAGED_LOAD = 35,
       WT_DNN_OP_QUANTIZE = 36,
       WT_DNN_OP_DEQUANTIZE = 37,
       WT_DNN_OP_EXPAND_BAND = 39,
       WT_DNN_OP_CONTRACT_BAND = 40,
       WT_DNN_OP_ATTENTION = 41,
       WT_DNN_OP_GROUPED_MATMUL = 42,
       WT_DNN_OP_ATTENTION_BACKWARD = 43,
       WT_DNN_OP_MASK = 44, /* by rows and columns, within attention */
       WT_DNN_OP_SOFTMAX = 45
};
enum { /* cudnnBackendAttributeName_t */
       WT_DNN_POINTWISE_MODE = 0,
       WT_DNN_HEUR_GRAPH = 201,
       WT_DNN_CFG_ENGINE = 300,
       WT_DNN_PLAN_CFG = 401,
       WT_DNN_PLAN_TEXT = 405,
       WT_DNN_POINTWISE_DESC = 750,
       WT_DNN_GRAPH_OPS = 801,
       WT_DNN_TENSOR_TYPE = 901,
       WT_DNN_TENSOR_DIMS = 902,
       WT_DNN_TENSOR_STRIDES = 903,
       WT_DNN_TENSOR_UID = 906,
       WT_DNN_TENSOR_VIRTUAL = 907,
       WT_DNN_TENSOR_BY_VALUE = 908,
       WT_DNN_TENSOR_RAGGED = 913,
       WT_DNN_PACK = 1000,
       WT_DNN_PACK_OVERRIDES = 1010, /* and the two after it */
       WT_DNN_PACK_OVERRIDES_END = 1012,
       WT_DNN_ENGINE_GRAPH = 1300
};
enum { /* cudnnBackendAttributeType_t */
       WT_DNN_IS_TYPE = 1,
       WT_DNN_IS_BOOLEAN = 2,
       WT_DNN_IS_INT64 = 3,
       WT_DNN_IS_POINTWISE_MODE = 14,
       WT_DNN_IS_DESCRIPTOR = 15,
       WT_DNN_IS_TEXT = 24
};
enum { /* cudnnPointwiseMode_t */
       WT_DNN_ADD = 0,
       WT_DNN_SUB = 9,
       WT_DNN_CMP_GT = 302,
       WT_DNN_CMP_LE = 305,
       WT_DNN_GEN_INDEX = 501
};

#endif
