/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When windows of level trace open and close: by command, or by the schedule of WARPTAP_WINDOW_EVERY and
 * WARPTAP_WINDOW_FOR on the ranks of WARPTAP_RANKS. Control thread only.
 *
 * Scheduled windows counted in steps or collectives open at every multiple of the period, so on all ranks at the same
 * place; window number = multiple. Those counted in time open when CLOCK_REALTIME passes a multiple of the period: on
 * all hosts together as far as their clocks agree. One window is open at a time.
 */
#ifndef WT_WINDOWS_H
#define WT_WINDOWS_H

#include <stdint.h>

#include "proto/control_msg.h"

void wt_windows_start(int rank);
/* Opens and closes what is due. Returns when it is due next, CLOCK_MONOTONIC ns; INT64_MAX = when woken. */
int64_t wt_windows_tick(int64_t now_ns);
/* START, WINDOW, STOP of the control socket. NULL, or what is wrong. */
const char *wt_windows_command(const struct wt_ctl_request *r);
/* The open window costs too much: it ends now. */
void wt_windows_give_up(uint32_t reason);
uint64_t wt_windows_opened(void); /* how many so far */
int wt_windows_is_open(void);
int wt_windows_waits(void); /* a window has been asked for and is not open yet */

#endif
