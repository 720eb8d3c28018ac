/* SPDX-License-Identifier: Apache-2.0 */
/* See named.h. */
#include "bounds/named.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/work.h"

#define NORM_FLOPS 8 /* an element, about: bytes decide */

struct norm_row {
	const char *word;
	uint8_t reads, writes;
};
struct attention_row {
	const char *word, *traits;
	uint8_t kind;
	int8_t tile;
	uint8_t heads, sequences; /* axes of the grid */
};
static const struct norm_row norms[] = {
#define WT_NAMED_NORM(word_, reads_, writes_) {word_, reads_, writes_},
#define WT_NAMED_ATTENTION(word_, kind_, traits_, tile_, h_, b_)
#include "bounds/named.def"
#undef WT_NAMED_NORM
#undef WT_NAMED_ATTENTION
};
static const struct attention_row attentions[] = {
#define WT_NAMED_NORM(word_, reads_, writes_)
#define WT_NAMED_ATTENTION(word_, kind_, traits_, tile_, h_, b_)                                   \
	{word_, traits_, WT_WORK_##kind_, tile_, h_, b_},
#include "bounds/named.def"
#undef WT_NAMED_NORM
#undef WT_NAMED_ATTENTION
};

static const struct norm_row *norm_of(const char *name)
{
	for (size_t i = 0; i < sizeof(norms) / sizeof(norms[0]); i++)
		if (strstr(name, norms[i].word))
			return &norms[i];
	return NULL;
}

static const struct attention_row *attention_of(const char *name)
{
	for (size_t i = 0; i < sizeof(attentions) / sizeof(attentions[0]); i++)
		if (strstr(name, attentions[i].word))
			return &attentions[i];
	return NULL;
}

int wt_named_is(const char *name)
{
	return norm_of(name) || attention_of(name);
}

static int is_whole(double v)
{
	return v >= 1 && v < 1e9 && v == floor(v);
}

static int norm(const struct norm_row *row, const struct wt_shape *s, const struct wt_model *m,
		struct wt_work *w)
{
	uint64_t elements = (uint64_t)s->grid[0] * (uint64_t)m->hidden;

	if (!is_whole(m->hidden) || !s->grid[0] || s->grid[1] > 1 || s->grid[2] > 1)
		return 0;
	w->kind = WT_WORK_STREAM;
	w->m = row->reads * elements;
	w->n = row->writes * elements;
	w->k = NORM_FLOPS;
	return 1;
}

/* The n-th number of a list "128, 64x32"; 0 = there is none. */
static unsigned long number(const char *at, int n)
{
	char *end;
	unsigned long v = strtoul(at, &end, 10);

	for (; n > 0 && end != at; n--) {
		at = end + strspn(end, ", x");
		v = strtoul(at, &end, 10);
	}
	return end == at ? 0 : v;
}

/* FlashAttention's flags behind its traits: dropout, causal, local. 1, 0; -1: a window, or no flags. */
static int flash_is_causal(const char *at)
{
	int depth = 0, flags[3];

	for (; *at && (*at != '>' || depth); at++)
		depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
	for (int i = 0; i < 3; i++) {
		if (*at != (i ? ',' : '>'))
			return -1;
		at += 1 + strspn(at + 1, ", ");
		flags[i] = !strncmp(at, "true", 4);
		if (!flags[i] && strncmp(at, "false", 5) != 0)
			return -1;
		at += flags[i] ? 4 : 5;
	}
	return flags[2] ? -1 : flags[1];
}

static int attention(const struct attention_row *row, const char *name, const struct wt_shape *s,
		     const struct wt_model *m, struct wt_work *w)
{
	const char *traits = strstr(name, row->traits);
	unsigned long depth = 0, tile = 1;
	int flash = !strncmp(row->word, "flash", 5), causal = m->causal > 0;
	uint64_t seq = (uint64_t)m->seq, heads = s->grid[row->heads];

	if (!traits || !is_whole(m->seq) || !is_whole(m->heads) || !is_whole(m->kv_heads) ||
	    !is_whole(m->head_dim) || !is_whole(m->v_dim))
		return 0;
	traits += strlen(row->traits);
	if (flash) {
		depth = number(traits, 0);
		causal = flash_is_causal(traits);
		/* Heads are padded to the next size there is a kernel for: at most 32 more. */
		if (causal < 0 || (double)depth < m->head_dim || (double)depth >= m->head_dim + 33)
			return 0;
	}
	if (row->tile >= 0) {
		tile = number(traits, row->tile);
		if (!tile || (seq + tile - 1) / tile != s->grid[0])
			return 0;
	}
	/* Tensor parallel: a part of the heads. */
	if (!heads || (uint64_t)m->heads % heads || !s->grid[row->sequences])
		return 0;
	w->kind = row->kind;
	w->m = w->n = seq;
	w->k = (uint64_t)m->head_dim;
	w->kv = (uint32_t)m->v_dim;
	w->batch = heads * s->grid[row->sequences];
	w->group = (uint32_t)(m->heads / m->kv_heads);
	w->flags = causal ? WT_WORK_CAUSAL : 0;
	return 1;
}

int wt_named_work(const char *name, const struct wt_shape *shape, const struct wt_model *m,
		  struct wt_work *ret)
{
	const struct norm_row *n = norm_of(name);
	const struct attention_row *a = n ? NULL : attention_of(name);
	struct wt_work w = {.source = WT_WORK_BY_NAME};

	w.a = w.b = w.out = w.math = (uint8_t)wt_dtype_of_name(name);
	if (w.a == WT_DTYPE_UNKNOWN)
		return 0;
	if (n ? !norm(n, shape, m, &w) : !a || !attention(a, name, shape, m, &w))
		return 0;
	*ret = w;
	return 1;
}
