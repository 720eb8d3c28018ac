/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records of NCCL Inspector and of profiler plugins to rows. One host process may drive several ranks, so each
 * (process, rank) of a communicator that joins the whole job is a process of the timeline.
 */
#ifndef WT_NCCL_LINES_H
#define WT_NCCL_LINES_H

#include "base/map.h"
#include "import/values.h"
#include "timeline/builder.h"

struct wt_nccl_seat { /* a rank of a communicator in a process */
	uint64_t comm;
	uint32_t rank, nranks;
	uint16_t process;
	int64_t called, finished; /* highest numbers; -1 */
};
struct wt_nccl_coll {	   /* when the host put it on its way */
	int64_t called_ns; /* INT64_MIN = not said */
	int32_t collective;
	uint16_t process;
};
struct wt_nccl_launch {
	int64_t start_ns;
	uint16_t process;
};
struct wt_nccl_kernel {
	struct wt_op op;
	uint64_t gpu;
	int64_t launch_ns; /* INT64_MAX = not known */
};

struct wt_nccl {
	struct wt_builder *b;
	uint32_t input;
	uint64_t known;						      /* records understood */
	struct wt_map seats, processes, gpus, colls, calls, launches; /* indices; gpu -> process */
	struct wt_nccl_seat *seat;
	size_t nseat, seat_room;
	struct wt_nccl_coll *coll;
	size_t ncoll, coll_room;
	struct wt_nccl_launch *launch;
	size_t nlaunch, launch_room;
	struct wt_nccl_kernel *kernel;
	size_t nkernel, kernel_room;
};

struct wt_nccl *wt_nccl_new(struct wt_builder *b, uint32_t input); /* NULL: no memory */
void wt_nccl_free(struct wt_nccl *k);
/* One record; unknown ones are passed over. 0 or -WT_E_NOMEM. */
int wt_nccl_object(struct wt_nccl *k, const struct wt_values *v);
/* Kernels find their collectives, ranks their standing. 0 or -WT_E_NOMEM. */
int wt_nccl_finish(struct wt_nccl *k);

#endif
