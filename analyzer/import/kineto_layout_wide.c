/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_layout_read.c for x86-64-v4 (module.mk); called only where the processor is one. */
#define WT_KINETO_LAYOUT_READ wt_kineto_layout_read_wide
#include "import/kineto_layout_read.c"
