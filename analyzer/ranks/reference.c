/* SPDX-License-Identifier: Apache-2.0 */
/* See reference.h. Between two measured sizes on a line in logarithms; beyond the largest at its bandwidth. */
#define _GNU_SOURCE /* strcasestr */
#include "ranks/reference.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "timeline/timeline.h"

#define NSIZES 8

static const int sizes_log2[NSIZES] = {9, 12, 15, 18, 21, 24, 27, 29};
static const struct {
	const char *device;
	double gbs; /* = bytes per ns */
	int sharp;
} links[] = {
#define WT_LINK(device_, gbs_, sharp_) {#device_, gbs_, sharp_},
#define WT_BUSBW(device_, op_, ranks_, ...)
#include "ranks/busbw.def"
#undef WT_LINK
#undef WT_BUSBW
};
static const struct {
	const char *device;
	uint8_t op;
	uint32_t nranks;
	double ns[NSIZES];
} measured[] = {
#define WT_LINK(device_, gbs_, sharp_)
#define WT_BUSBW(device_, op_, ranks_, ...) {#device_, WT_COLL_##op_, ranks_, {__VA_ARGS__}},
#include "ranks/busbw.def"
#undef WT_LINK
#undef WT_BUSBW
};
#define COUNT(a_) (sizeof(a_) / sizeof((a_)[0]))

static double interpolate(const double *ns, double bytes)
{
	double x = log2(bytes > 1 ? bytes : 1);
	int i = 1;

	if (x <= sizes_log2[0])
		return ns[0];
	if (x >= sizes_log2[NSIZES - 1])
		return ns[NSIZES - 1] * bytes / exp2(sizes_log2[NSIZES - 1]);
	while (x > sizes_log2[i])
		i++;
	x = (x - sizes_log2[i - 1]) / (sizes_log2[i] - sizes_log2[i - 1]);
	return exp2(log2(ns[i - 1]) + x * (log2(ns[i]) - log2(ns[i - 1])));
}

/* Bytes that each rank must send at least, as a part of the message. A switch that reduces halves an all-reduce's. */
static double factor(uint8_t op, uint32_t n, int sharp)
{
	switch (op) {
	case WT_COLL_ALL_REDUCE:
		return sharp && n > 2 ? 1 : 2.0 * (n - 1) / n;
	case WT_COLL_ALL_GATHER:
	case WT_COLL_REDUCE_SCATTER:
	case WT_COLL_ALL_TO_ALL:
		return (double)(n - 1) / n;
	default:
		return 0;
	}
}

int64_t wt_reference_ns(const char *device, uint8_t op, uint32_t nranks, uint64_t bytes,
			int64_t *ret_peak_ns)
{
	*ret_peak_ns = -1;
	/* The PCIe cards of these names have other links. */
	if (!bytes || nranks < 2 || bytes > INT64_MAX / 64 || strcasestr(device, "PCIe"))
		return -1;
	for (size_t i = 0; i < COUNT(links); i++)
		if (strstr(device, links[i].device) && factor(op, nranks, links[i].sharp) > 0)
			*ret_peak_ns = (int64_t)((double)bytes *
						 factor(op, nranks, links[i].sharp) / links[i].gbs);
	for (size_t i = 0; i < COUNT(measured); i++)
		if (measured[i].op == op && measured[i].nranks == nranks &&
		    strstr(device, measured[i].device))
			return llround(interpolate(measured[i].ns, (double)bytes));
	return -1;
}
