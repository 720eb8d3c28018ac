/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What training a token of a transformer is worth, for MFU and HFU.
 *
 *   FLOP a token = 3 x [2 N + L x 2 s H (d_qk + d_v) x 1/2]       the 1/2 where attention is causal
 *   N            = L x (projections of attention + MLP, active experts and router) + logits head, no embedding look-up
 *
 * Backward is twice the forward. Hardware FLOPs add what is computed again: of selective recomputation the attention's
 * forward, of full recomputation the layers' forward. The form without the 1/2 (PaLM's) is 4 to 7 % higher for usual
 * shapes, so whoever prints a number prints the form too: wt_model_form().
 *
 * A model is said as "key=value,key=value", a line each where it comes from a file (# begins a remark), or by a name
 * of models.def, which may stand first. Pure functions.
 */
#ifndef WT_MODEL_H
#define WT_MODEL_H

#include <stddef.h>

#include "proto/wt_err.h"
#include "timeline/timeline.h"

struct wt_model {
#define WT_MODEL_KEY(name_, least_, meaning_) double name_;
#include "bounds/model_keys.def"
#undef WT_MODEL_KEY
	enum wt_dtype
		dtype; /* of the peak to compare with; UNKNOWN: the one most FLOPs are multiplied in */
};

/* 0, or -WT_E_CORRUPT with what was wrong and what was expected in diag. Fills in what follows from the rest. */
int wt_model_parse(struct wt_model *ret, const char *text, size_t n, struct wt_diag *diag);
double wt_model_params(const struct wt_model *m); /* N above */
double wt_model_flops(const struct wt_model *m);  /* FLOP of a token */
double wt_model_hardware_flops(const struct wt_model *m);
const char *wt_model_form(const struct wt_model *m);
const char *wt_model_recompute(const struct wt_model *m); /* "none" ... */

#endif
