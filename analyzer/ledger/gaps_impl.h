/* SPDX-License-Identifier: Apache-2.0 */
/* What gaps.c and copies.c share: the indices over one timeline. */
#ifndef WT_GAPS_IMPL_H
#define WT_GAPS_IMPL_H

#include "ledger/gaps.h"
#include "ledger/host.h"
#include "ledger/ranges.h"

struct span {
	int64_t start_ns, end_ns;
	int32_t call;
	uint8_t leaf, grade;
};
struct spans {
	struct span *rows;
	size_t n, room;
	int failed;
};
struct wt_gaps {
	const struct wt_timeline *tl;
	struct wt_host calls;
	struct wt_ranges ranges;
	struct spans host, found, left, rest; /* scratch of one gap */
};

#endif
