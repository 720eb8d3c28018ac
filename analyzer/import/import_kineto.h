/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kineto importer's door for tests, which choose the window its text is read in.
 */
#ifndef WT_IMPORT_KINETO_H
#define WT_IMPORT_KINETO_H

#include "import/importer.h"

extern const struct wt_importer wt_importer_kineto;

/* As wt_importer_kineto.read; window_bytes 0 = the usual size. */
int wt_kineto_read(struct wt_source *src, struct wt_builder *b, uint32_t input, size_t window_bytes,
		   struct wt_diag *diag);
/* The same without kineto_layout.h: nothing but time may differ. */
int wt_kineto_read_plainly(struct wt_source *src, struct wt_builder *b, uint32_t input,
			   size_t window_bytes, struct wt_diag *diag);

#endif
