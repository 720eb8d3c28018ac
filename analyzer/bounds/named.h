/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel computed by its name, its grid and the model's shape (--model), where nothing recorded says it: grids
 * of FlashAttention 2 and of PyTorch's memory-efficient attention are (blocks of queries or keys, heads, sequences),
 * those of normalisations are rows. An estimate, made only where grid and model agree. Pure function.
 */
#ifndef WT_NAMED_H
#define WT_NAMED_H

#include "bounds/model.h"
#include "timeline/timeline.h"

/* 1 if a kernel of that (demangled) name may have one. */
int wt_named_is(const char *name);
/* 0 = not known: *ret is left alone. */
int wt_named_work(const char *name, const struct wt_shape *shape, const struct wt_model *m,
		  struct wt_work *ret);

#endif
