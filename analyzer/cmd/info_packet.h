/* SPDX-License-Identifier: Apache-2.0 */
/* Any message of trace.proto as text and in numbers, by its own descriptors: a new field needs no code here. */
#ifndef WT_INFO_PACKET_H
#define WT_INFO_PACKET_H

#include <stdio.h>

#include "trace.pb-c.h"

/* The body's name and message; NULL, "none" or "unknown" if this build knows none. */
const ProtobufCMessage *wt_info_body(const Warptap__V1__Packet *p, const char **ret_name);
/* The longest column; 1 for a message without columns. */
size_t wt_info_rows(const ProtobufCMessage *m);
/* Scalars on the open line, then a line a column, each at most `width` characters. */
void wt_info_print(FILE *out, const ProtobufCMessage *m, size_t width);

#endif
