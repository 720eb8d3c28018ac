/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the agent does not work, counted, for the trace (Troubles packets): a failure that costs the trace something
 * is told there, whatever becomes of the log. Any thread, hooks included: two atomic words.
 */
#ifndef WT_TROUBLE_H
#define WT_TROUBLE_H

#include <stdint.h>

#include "trace.pb-c.h"

/* CONTROL, BLACK_BOX, ... of trace.proto; the first error of each is kept. */
#define WT_TROUBLE(what_, error_)                                                                  \
	wt_trouble(WARPTAP__V1__TROUBLE_WHAT__TROUBLE_WHAT_##what_, (error_))
#define WT_TROUBLES (WARPTAP__V1__TROUBLE_WHAT__TROUBLE_WHAT_DESCRIPTORS + 1)

void wt_trouble(unsigned what, int error);
/* How often, and the first error. */
uint32_t wt_trouble_read(unsigned what, int *ret_error);

#endif
