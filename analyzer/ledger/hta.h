/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same trace by the rules of HolisticTraceAnalysis (HTA) 0.5.0, with its rounding of nanoseconds off and the last
 * profiler step kept: another sweep, since its rules differ from the ledger's in what counts. Rules: from its source.
 *
 *  - A file is one rank; all its devices are one, streams are told apart by their number alone.
 *  - Device time is every row with a stream, synchronisation rows and operators that carry a stream included.
 *  - By name: ^nccl.*Kernel is communication, ^Memcpy, ^Memset and ^dma are memory, names with Sync or Memcpy in them
 *    are neither; all others compute, multimem all-reduces and event waits included.
 *  - With two or more profiler steps, device rows whose launch started after the last step, or is not in the file, are
 *    left out; their time is idle. A row launched by n calls of one correlation counts n times.
 *  - temporal breakdown: kernel = last end - first start, idle = that without the union of all rows, compute = union of
 *    the compute rows, non_compute = the rest.
 *  - idle breakdown, per stream: the gap before a row is host wait if its launch started after the row before it ended,
 *    else kernel wait if it is shorter than 30 us, else other. Gaps of rows that overlap are negative and are added as
 *    they are. A row whose launch is not in the file has the file's first event for one: HTA marks it with index 0.
 *  - overlap = time in which communication and compute run together / union of communication.
 *
 * Unions are of integer nanoseconds. Gaps are computed as HTA does, in doubles of microseconds, which hold today's time
 * to a quarter of one: a gap changes its category by that, and a sum of thousands is off by half a microsecond.
 * Of rows of one stream that start together, HTA's order is that of its sorting library, this view's is by end.
 */
#ifndef WT_HTA_H
#define WT_HTA_H

#include "timeline/timeline.h"

enum wt_hta_idle { WT_HTA_HOST_WAIT, WT_HTA_KERNEL_WAIT, WT_HTA_OTHER, WT_HTA_IDLES };
extern const char *const wt_hta_idle_names[WT_HTA_IDLES];

struct wt_hta_stream {
	int64_t stream;
	int64_t rows[WT_HTA_IDLES]; /* HTA prints a line for a category that has any */
	int64_t ns[WT_HTA_IDLES];
};
struct wt_hta_rank {
	uint32_t input;			/* index into inputs */
	int32_t rank;			/* -1 = not known */
	int64_t rows, asides, left_out; /* asides: of rows, those that are no device work */
	int64_t idle_ns, compute_ns, non_compute_ns, kernel_ns;
	int64_t comm_ns, overlap_ns;
	struct wt_hta_stream *streams; /* by number */
	size_t nstreams;
};
struct wt_hta {
	struct wt_hta_rank *ranks; /* inputs with device rows, in their order */
	size_t nranks;
};

/* The timeline should have been built with wt_builder_keep_asides(). 0 or -WT_E_NOMEM. */
int wt_hta_build(struct wt_hta **ret, const struct wt_timeline *tl);
void wt_hta_free(struct wt_hta *h);

#endif
