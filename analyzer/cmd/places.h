/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of an installation lie: beside this program (a build tree), or where install puts them. */
#ifndef WT_PLACES_H
#define WT_PLACES_H

/* Absolute path of a part ("libwarptap.so", "simgpu/lib") into out[PATH_MAX]. 0, -1 = not there. */
int wt_place_find(char *out, const char *part);

#endif
