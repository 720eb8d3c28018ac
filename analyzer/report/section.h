/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sections share: the declarations of sections.def and a few ways to print numbers.
 */
#ifndef WT_SECTION_H
#define WT_SECTION_H

#include "report/json_out.h"
#include "report/report.h"

typedef void wt_text_section(const struct wt_report *r, struct wt_strbuf *out);
typedef void wt_json_section(const struct wt_report *r, struct wt_jout *j);

wt_text_section wt_head_text, wt_headline_text, wt_inputs_text, wt_devices_text, wt_evidence_text,
	wt_ranks_text, wt_kernels_text, wt_precision_text, wt_model_text, wt_collectives_text,
	wt_completeness_text, wt_notes_text, wt_hta_text;
wt_json_section wt_inputs_json, wt_devices_json, wt_rollup_json, wt_ranks_json, wt_kernels_json,
	wt_precision_json, wt_model_json, wt_collectives_json, wt_steps_json, wt_completeness_json,
	wt_cost_json, wt_environment_json, wt_opportunities_json, wt_notes_json, wt_hta_json;
wt_text_section wt_progress_text, wt_memory_text, wt_counters_text;
wt_json_section wt_progress_json, wt_memory_json, wt_counters_json;
wt_text_section wt_axes_text_section, wt_win_text, wt_requests_text, wt_audit_text, wt_startup_text;
wt_json_section wt_phases_json, wt_modules_json, wt_requests_json, wt_audit_json, wt_startup_json;

/* The format in which most product FLOPs are multiplied. */
enum wt_dtype wt_main_dtype(const struct wt_tally *t);
/* What NCCL's profiler plugin said of a row of collectives (plans.c). */
void wt_plans_add(struct wt_coll_row *row, const struct wt_collective *c);
void wt_plans_json(const struct wt_coll_row *row, struct wt_jout *j); /* keys of the open object */
void wt_plans_text(const struct wt_coll_row *row, struct wt_strbuf *out);

/* Fills r->notes. 0, or -1 when memory runs out. */
int wt_notes_collect(struct wt_report *r);

void wt_text_heading(const struct wt_report *r, struct wt_strbuf *out, const char *title);
void wt_text_ns(struct wt_strbuf *out, int64_t ns, int width); /* 1,234,567, right-aligned */
void wt_text_span(struct wt_strbuf *out, int64_t ns);	       /* 1.235 ms */
void wt_text_percent(struct wt_strbuf *out, int64_t part, int64_t of); /* 12.3 % */
void wt_text_column(struct wt_strbuf *out, int64_t part, int64_t of);  /* the same, five wide */
const char *wt_bound_name(enum wt_bound bound);			       /* NULL: unknown */
const char *wt_grade_name(int grade);
const char *wt_count_name(int kind);
/* Operations that were counted, calls of collectives (which launch them) aside. */
uint64_t wt_counted_all(const struct wt_report *r);
/* "rank 1 has not called #21 on ...": where a job stands, what to look at first. 0 = nothing is written. */
int wt_text_standstill(const struct wt_progress *p, struct wt_strbuf *out);
/* Where a model is given: tokens a second and MFU (against the higher peak, a verified one), 0 = not known. */
void wt_model_rate(const struct wt_report *r, double *ret_tokens_s, double *ret_mfu);
/* The five states of an account and what communication they hide, as keys of the open object. */
void wt_sweep_json(const struct wt_account *a, struct wt_jout *j);
/* "rank 0 device 1 (NVIDIA H100)". */
void wt_text_device(const struct wt_report *r, struct wt_strbuf *out, uint16_t device);
/* "rank 3", or "process 4711" where ranks are not known; of a seat (ranks.h). */
void wt_text_seat(const struct wt_report *r, struct wt_strbuf *out, uint32_t seat);
/* The grade of most of a leaf's seconds on a device, 0 if it has none. */
int wt_leaf_grade(const struct wt_ledger_device *d, enum wt_leaf leaf);

/* attention.c: of a serving engine's iterations, steps [from, to); 0: not known. */
struct wt_attention {
	int64_t iterations, kernel_ns;
	double flops, bytes; /* bytes 0: the format is not known */
	enum wt_dtype dtype;
};
int wt_attention_of(const struct wt_report *r, size_t from, size_t to, struct wt_attention *ret);
void wt_attention_json(const struct wt_report *r, size_t from, size_t to, struct wt_jout *j);
void wt_attention_text(const struct wt_report *r, size_t from, size_t to, struct wt_strbuf *out);

#endif
