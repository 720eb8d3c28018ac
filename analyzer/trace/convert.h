/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a timeline as a .wt file that gives the same timeline when it is read (warptap-trace.5, converted traces).
 */
#ifndef WT_CONVERT_H
#define WT_CONVERT_H

#include "proto/frame.h"
#include "timeline/timeline.h"

#define WT_CONVERTED_FROM "converted_from" /* key in Header.settings: the format of the originals */

/* 0, -WT_E_IO (the sink refused), -WT_E_NOMEM. */
int wt_convert(const struct wt_timeline *tl, wt_frame_sink *sink, void *arg);

#endif
