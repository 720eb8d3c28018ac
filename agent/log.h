/* SPDX-License-Identifier: Apache-2.0 */
/* Where wt_log() of agent.h writes. */
#ifndef WT_LOG_H
#define WT_LOG_H

/* From now on lines go to <dir>/<stem>.log; earlier ones are appended to it first. Once. */
void wt_log_open(const char *dir, const char *stem);

#endif
