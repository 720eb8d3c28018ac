/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks take part: WARPTAP_RANKS. */
#ifndef WT_RANK_LIST_H
#define WT_RANK_LIST_H

#include <stdint.h>

/* `list` is "" (all), "0,8-15", or a share of them, "25%", chosen by a hash of the number. 1, 0; -1: not understood. */
int wt_rank_is_in(const char *list, int64_t rank);

#endif
