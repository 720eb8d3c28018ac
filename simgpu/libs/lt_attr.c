/* SPDX-License-Identifier: Apache-2.0 */
/* See lt_attr.h. Sizes are those the documentation of cublasLtMatmulDescAttributes_t and its sisters gives. */
#include "simgpu/libs/lt_attr.h"

#include <string.h>

static const struct lt_row layout_rows[] = {
	{0, 4, 0},  {1, 4, 4},	{2, 8, 8},  {3, 8, 16}, {4, 8, 24},
	{5, 4, 32}, {8, 4, 36}, {6, 8, 40}, {7, 8, 48},
};
/* Integers first, then pointers and strides. */
static const struct lt_row matmul_rows[] = {
	{0, 4, 0},    {1, 4, 4},    {2, 4, 8},	  {3, 4, 12},	{4, 4, 16},   {5, 4, 20},
	{6, 4, 24},   {7, 4, 28},   {15, 4, 32},  {22, 4, 36},	{25, 1, 40},  {26, 4, 44},
	{31, 4, 48},  {32, 4, 52},  {33, 4, 56},  {34, 4, 60},	{35, 4, 64},  {37, 4, 68},
	{27, 4, 72},  {28, 4, 76},  {8, 8, 80},	  {10, 8, 88},	{11, 8, 96},  {12, 8, 104},
	{13, 8, 112}, {14, 8, 120}, {17, 8, 128}, {18, 8, 136}, {19, 8, 144}, {20, 8, 152},
	{21, 8, 160}, {23, 8, 168}, {24, 8, 176}, {29, 8, 184}, {30, 8, 192}, {36, 8, 200},
	{38, 8, 208},
};
static const struct lt_row preference_rows[] = {
	{0, 4, 0},  {3, 4, 4},	{1, 8, 8},  {5, 4, 16},	 {6, 4, 20},
	{7, 4, 24}, {8, 4, 28}, {9, 4, 32}, {12, 8, 40},
};
static const struct lt_row algo_rows[] = {
	{0, 4, 0},  {1, 4, 4},	{2, 4, 8},  {3, 4, 12}, {4, 4, 16},
	{5, 4, 20}, {6, 4, 24}, {7, 2, 28}, {8, 2, 30},
};
static const struct lt_row transform_rows[] = {
	{0, 4, 0},
	{1, 4, 4},
	{2, 4, 8},
	{3, 4, 12},
};

#define KIND(rows_, size_)                                                                         \
	{                                                                                          \
		.rows = rows_, .n_rows = sizeof(rows_) / sizeof(rows_[0]), .size = size_           \
	}
const struct lt_kind lt_layout_kind = KIND(layout_rows, 64);
const struct lt_kind lt_matmul_kind = KIND(matmul_rows, 256);
const struct lt_kind lt_preference_kind = KIND(preference_rows, 64);
const struct lt_kind lt_algo_kind = KIND(algo_rows, 64);
const struct lt_kind lt_transform_kind = KIND(transform_rows, 64);

static const struct lt_row *row_of(const struct lt_kind *kind, int attr)
{
	for (size_t i = 0; i < kind->n_rows; i++)
		if (kind->rows[i].attr == attr)
			return &kind->rows[i];
	return NULL;
}

int lt_attr_set(const struct lt_kind *kind, void *object, int attr, const void *buf, size_t bytes)
{
	const struct lt_row *r = row_of(kind, attr);

	if (!object || !buf)
		return LT_INVALID_VALUE;
	if (!r)
		return LT_NOT_SUPPORTED;
	/* Callers that hand an enum for a byte, or the other way round, are served: the low bytes count. */
	if (bytes < r->bytes)
		return LT_INVALID_VALUE;
	memcpy((char *)object + r->offset, buf, r->bytes);
	return LT_OK;
}

int lt_attr_get(const struct lt_kind *kind, const void *object, int attr, void *buf, size_t bytes,
		size_t *ret_written)
{
	const struct lt_row *r = row_of(kind, attr);

	if (!object)
		return LT_INVALID_VALUE;
	if (!r)
		return LT_NOT_SUPPORTED;
	if (ret_written)
		*ret_written = r->bytes;
	if (!buf)
		return bytes || !ret_written ? LT_INVALID_VALUE : LT_OK;
	if (bytes < r->bytes)
		return LT_INVALID_VALUE;
	memcpy(buf, (const char *)object + r->offset, r->bytes);
	return LT_OK;
}

int64_t lt_attr(const struct lt_kind *kind, const void *object, int attr)
{
	const struct lt_row *r = row_of(kind, attr);
	int64_t wide;
	int32_t narrow;

	if (!r || !object)
		return 0;
	if (r->bytes == 8) {
		memcpy(&wide, (const char *)object + r->offset, 8);
		return wide;
	}
	if (r->bytes < 4)
		return ((const unsigned char *)object)[r->offset];
	memcpy(&narrow, (const char *)object + r->offset, 4);
	return narrow;
}
