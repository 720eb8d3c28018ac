/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent networks of cuDNN: where each weight lies in the weight space. Callers copy their parameters there, so the
 * places must be real: all matrices, by pseudo layer and gate, then all biases. The passes launch one kernel each by
 * launches.tsv. A descriptor is its caller's to guard.
 */
#include <stdlib.h>
#include <string.h>

#include "simgpu/libs/cudnn_graph.h"
#include "simgpu/libs/lib_stub.h"

#define MODE_LSTM     2
#define MODE_GRU      3
#define NO_BIAS	      0
#define BIDIRECTIONAL 1

int cudnnSetTensorNdDescriptor(void *desc, int type, int n, const int *dim, const int *stride);

struct rnn {
	int mode, bias, directions, type;
	int64_t input, hidden, projection, layers;
};

SIM_API int cudnnCreateRNNDescriptor(struct rnn **ret)
{
	if (!ret)
		return CUDNN_BAD_PARAM_NULL;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? CUDNN_OK : CUDNN_ALLOC_FAILED;
}

SIM_API int cudnnDestroyRNNDescriptor(struct rnn *r)
{
	free(r);
	return CUDNN_OK;
}

SIM_API int cudnnSetRNNDescriptor_v8(struct rnn *r, int algo, int mode, int bias, int direction,
				     int input_mode, int type, int precision, int math, int input,
				     int hidden, int projection, int layers, void *dropout,
				     unsigned int flags)
{
	if (!r || input < 0 || hidden < 1 || projection < 0 || layers < 1 || layers > 1 << 16 ||
	    mode < 0 || mode > MODE_GRU)
		return CUDNN_BAD_PARAM;
	*r = (struct rnn){
		.mode = mode,
		.bias = bias,
		.directions = direction == BIDIRECTIONAL ? 2 : 1,
		.type = type,
		.input = input,
		.hidden = hidden,
		.projection = mode == MODE_LSTM && projection != hidden ? projection : 0,
		.layers = layers,
	};
	return CUDNN_OK;
}

/* Gates of one kind: half of the linear layers work on the input, half on the state; one more projects. */
static int gates(const struct rnn *r)
{
	return r->mode == MODE_LSTM ? 4 : r->mode == MODE_GRU ? 3 : 1;
}

static int linears(const struct rnn *r)
{
	return 2 * gates(r) + (r->projection ? 1 : 0);
}

static int64_t state(const struct rnn *r)
{
	return r->projection ? r->projection : r->hidden;
}

static void matrix_of(const struct rnn *r, int64_t pseudo, int linear, int64_t *rows, int64_t *cols)
{
	int64_t in = pseudo < r->directions ? r->input : state(r) * r->directions;

	*rows = linear == 2 * gates(r) ? r->projection : r->hidden;
	*cols = linear == 2 * gates(r) ? r->hidden : linear < gates(r) ? in : state(r);
}

/* Elements of all matrices before this one; with pseudo = the number of pseudo layers: of all. */
static int64_t matrix_place(const struct rnn *r, int64_t pseudo, int linear)
{
	int64_t at = 0, rows, cols;

	for (int64_t p = 0; p <= pseudo; p++)
		for (int i = 0; i < (p < pseudo ? linears(r) : linear); i++) {
			matrix_of(r, p, i, &rows, &cols);
			at += rows * cols;
		}
	return at;
}

static int64_t pseudo_layers(const struct rnn *r)
{
	return r->layers * r->directions;
}

SIM_API int cudnnGetRNNWeightSpaceSize(void *handle, const struct rnn *r, size_t *ret)
{
	int64_t elements;

	if (!r || !ret || !r->layers)
		return CUDNN_BAD_PARAM;
	elements = matrix_place(r, pseudo_layers(r), 0);
	if (r->bias != NO_BIAS)
		elements += pseudo_layers(r) * 2 * gates(r) * r->hidden;
	*ret = (size_t)elements * cudnn_type_bytes(r->type);
	return CUDNN_OK;
}

static void put_desc(void *desc, int type, int64_t rows, int64_t cols)
{
	const int dim[3] = {1, (int)rows, (int)cols},
		  stride[3] = {(int)(rows * cols), (int)cols, 1};

	cudnnSetTensorNdDescriptor(desc, type, 3, dim, stride);
}

SIM_API int cudnnGetRNNWeightParams(void *handle, const struct rnn *r, int pseudo,
				    size_t space_bytes, const void *space, int linear, void *mdesc,
				    void **maddr, void *bdesc, void **baddr)
{
	int64_t rows, cols, at;
	size_t element;

	if (!r || pseudo < 0 || pseudo >= pseudo_layers(r) || linear < 0 || linear > 2 * gates(r))
		return CUDNN_BAD_PARAM;
	if (maddr)
		*maddr = NULL;
	if (baddr)
		*baddr = NULL;
	if (linear >= linears(r))
		return CUDNN_OK; /* no projection: no such weight */
	element = cudnn_type_bytes(r->type);
	matrix_of(r, pseudo, linear, &rows, &cols);
	if (maddr) {
		put_desc(mdesc, r->type, rows, cols);
		*maddr = (char *)space + (size_t)matrix_place(r, pseudo, linear) * element;
	}
	if (!baddr || r->bias == NO_BIAS || linear == 2 * gates(r))
		return CUDNN_OK;
	at = matrix_place(r, pseudo_layers(r), 0) +
	     ((int64_t)pseudo * 2 * gates(r) + linear) * r->hidden;
	put_desc(bdesc, r->type, r->hidden, 1);
	*baddr = (char *)space + (size_t)at * element;
	return CUDNN_OK;
}
