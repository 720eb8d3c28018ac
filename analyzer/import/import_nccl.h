/* SPDX-License-Identifier: Apache-2.0 */
/* The NCCL records importer, for tests and fuzzing; see importer.h. */
#ifndef WT_IMPORT_NCCL_H
#define WT_IMPORT_NCCL_H

#include "import/importer.h"

int wt_nccl_read(struct wt_source *src, struct wt_builder *b, uint32_t input, struct wt_diag *diag);

#endif
