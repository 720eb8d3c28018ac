/* SPDX-License-Identifier: Apache-2.0 */
/* The Nsight Systems SQLite importer over bytes in memory, for tests and fuzzing; see importer.h for the usual way. */
#ifndef WT_IMPORT_NSYS_H
#define WT_IMPORT_NSYS_H

#include "timeline/builder.h"

/* Returns as wt_importer.read does. The bytes must outlive the call. */
int wt_nsys_read_memory(const void *bytes, size_t n, struct wt_builder *b, uint32_t input,
			struct wt_diag *diag);

#endif
