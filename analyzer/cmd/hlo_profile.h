/* SPDX-License-Identifier: Apache-2.0 */
/* What XLA's instructions are, from a profile of the same programs: of what it measured nothing is taken. */
#ifndef WT_HLO_PROFILE_H
#define WT_HLO_PROFILE_H

struct wt_builder;

/* Adds the instructions of an .xplane.pb, or of those in a folder. 0; 1 after saying why not. */
int wt_cmd_hlo(const char *path, int quiet, struct wt_builder *b);
/* The same of the last profile that jax.profiler wrote into a folder of traces; a note says so. None is no error. */
void wt_cmd_hlo_beside(const char *folder, struct wt_builder *b);

#endif
