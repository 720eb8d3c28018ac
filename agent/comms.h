/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL communicators into the registry. A communicator is named across ranks by a key that every rank can make alone:
 *
 *   init      hash of the unique id (all ids, if several)
 *   init all  hash of host, process and a counter: all its ranks are here
 *   split     hash of the parent's key, how many splits the parent has seen, and the color
 *
 * Inside a group, NCCL fills in the handle only when the group ends: such communicators wait in a short list.
 */
#ifndef WT_COMMS_H
#define WT_COMMS_H

#include <stdint.h>

#include "nccl_types.h"
#include "record.h"

void wt_comm_new(struct wt_rec *rec, wt_nccl_comm *comm, const struct wt_nccl_id *ids, int n_ids,
		 int rank, int nranks);
void wt_comm_new_all(wt_nccl_comm *comms, int n, const int *devices);
void wt_comm_split(wt_nccl_comm parent, int color, wt_nccl_comm *comm);
/* After ncclGroupEnd, whatever it returned. */
void wt_comm_end(wt_nccl_comm comm); /* destroyed or aborted */
void wt_comm_group_end(struct wt_rec *rec, int status);
/* Next sequence number of a collective on this communicator; one we never saw made is asked who it is. */
uint64_t wt_comm_next(wt_nccl_comm comm);

#endif
