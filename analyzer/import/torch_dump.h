/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's dumps mean: from plain values to rows. Each 0, -WT_E_FORMAT or -WT_E_NOMEM. */
#ifndef WT_TORCH_DUMP_H
#define WT_TORCH_DUMP_H

#include "import/values.h"
#include "timeline/builder.h"

/*
 * The NCCL flight recorder: collectives, members of process groups, and where this rank stood on each. A dump does not
 * say whose it is: the rank is the one member that all its groups share, else the number that ends the file's name.
 */
int wt_flight_read(const struct wt_values *v, const char *path, struct wt_builder *b,
		   uint32_t input, struct wt_diag *diag);
/* torch.cuda.memory: what was reserved and used, per device, as notes. */
int wt_snapshot_read(const struct wt_values *v, struct wt_builder *b, uint32_t input,
		     struct wt_diag *diag);

#endif
