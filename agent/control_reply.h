/* SPDX-License-Identifier: Apache-2.0 */
/* What the control thread answers: "warptap/1 ok" and a line "key value" each, see warptap-attach(1). */
#ifndef WT_CONTROL_REPLY_H
#define WT_CONTROL_REPLY_H

#include <stddef.h>

void wt_control_reply_init(const char *trace_dir, const char *stem, int rank);
/* Bytes written; never more than room. */
size_t wt_control_status(char *out, size_t room);
size_t wt_control_error(char *out, size_t room, const char *text);

#endif
