/* SPDX-License-Identifier: Apache-2.0 */
/* See model.h. */
#include "bounds/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/work.h"

#define MOST 1e18 /* of any number: products of a few stay far from infinity */

static const struct {
	const char *name;
	size_t offset;
	double least;
} keys[] = {
#define WT_MODEL_KEY(name_, least_, meaning_) {#name_, offsetof(struct wt_model, name_), least_},
#include "bounds/model_keys.def"
#undef WT_MODEL_KEY
};

static const struct {
	const char *name, *shape;
} presets[] = {
#define WT_MODEL(name_, shape_) {name_, shape_},
#include "bounds/models.def"
#undef WT_MODEL
};

static int is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

static int set_dtype(struct wt_model *m, const char *value, size_t n, struct wt_diag *diag)
{
	for (int t = 1; t < WT_DTYPES; t++) {
		if (is_word(value, n, wt_dtype_name((enum wt_dtype)t))) {
			m->dtype = (enum wt_dtype)t;
			return 0;
		}
	}
	return wt_fail(diag, WT_E_CORRUPT, -1,
		       "dtype '%.*s' is none of fp32, tf32, bf16, fp16, fp8 ...",
		       (int)(n < 20 ? n : 20), value);
}

static int set_key(struct wt_model *m, const char *key, size_t nkey, const char *value, size_t n,
		   struct wt_diag *diag)
{
	char text[32], *end;
	double v;

	if (is_word(key, nkey, "dtype"))
		return set_dtype(m, value, n, diag);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!is_word(key, nkey, keys[i].name))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)(n < 31 ? n : 31), value);
		v = strtod(text, &end);
		if (!n || *end || n > 31 || !(v >= keys[i].least) || !(v <= MOST))
			return wt_fail(diag, WT_E_CORRUPT, -1, "%s: '%s' is no number from %g on",
				       keys[i].name, text, keys[i].least);
		memcpy((char *)m + keys[i].offset, &v, sizeof(v));
		return 0;
	}
	return wt_fail(diag, WT_E_CORRUPT, -1,
		       "'%.*s' is no property of a model; see warptap-report(1)",
		       (int)(nkey < 40 ? nkey : 40), key);
}

static size_t trimmed(const char **s, size_t n)
{
	while (n && (**s == ' ' || **s == '\t' || **s == '\r')) {
		++*s;
		n--;
	}
	while (n && ((*s)[n - 1] == ' ' || (*s)[n - 1] == '\t' || (*s)[n - 1] == '\r'))
		n--;
	return n;
}

static int parse(struct wt_model *m, const char *text, size_t n, int may_be_preset,
		 struct wt_diag *diag);

static int parse_item(struct wt_model *m, const char *item, size_t n, int first,
		      struct wt_diag *diag)
{
	const char *eq = memchr(item, '=', n), *value = eq ? eq + 1 : NULL;
	size_t nkey, nvalue;

	for (size_t i = 0; first && !eq && i < sizeof(presets) / sizeof(presets[0]); i++)
		if (is_word(item, n, presets[i].name))
			return parse(m, presets[i].shape, strlen(presets[i].shape), 0, diag);
	if (!eq)
		return wt_fail(diag, WT_E_CORRUPT, -1,
			       "'%.*s': the name of a model (%s, ...) or key=value "
			       "is expected",
			       (int)(n < 40 ? n : 40), item, presets[0].name);
	nkey = trimmed(&item, (size_t)(eq - item));
	nvalue = trimmed(&value, n - (size_t)(value - item));
	return set_key(m, item, nkey, value, nvalue, diag);
}

static int parse(struct wt_model *m, const char *text, size_t n, int may_be_preset,
		 struct wt_diag *diag)
{
	int first = may_be_preset, err = 0;

	while (n && !err) {
		size_t line = 0, item;
		const char *at = text;

		while (line < n && text[line] != '\n' && text[line] != ',')
			line++;
		if (at[0] == '#') { /* to the end of the line, commas included */
			const char *end = memchr(text, '\n', n);

			line = end ? (size_t)(end - text) : n;
		} else {
			item = trimmed(&at, line);
			if (item)
				err = parse_item(m, at, item, first, diag);
			first = first && !item;
		}
		line += line < n;
		text += line;
		n -= line;
	}
	return err;
}

/* What follows from the rest; an error names what is missing. */
static int complete(struct wt_model *m, struct wt_diag *diag)
{
	m->kv_heads = m->kv_heads > 0 ? m->kv_heads : m->heads;
	if (!(m->head_dim > 0) && m->heads > 0)
		m->head_dim = m->hidden / m->heads;
	m->v_dim = m->v_dim > 0 ? m->v_dim : m->head_dim;
	if (m->experts > 0 && !(m->active > 0))
		return wt_fail(diag, WT_E_CORRUPT, -1, "a mixture of experts needs active=N");
	if (m->params > 0)
		return 0; /* attention is counted as far as its shape is known */
	if (!(m->layers > 0) || !(m->hidden > 0) || !(m->heads > 0) || !(m->ffn > 0) ||
	    !(m->vocab > 0) || !(m->seq > 0))
		return wt_fail(
			diag, WT_E_CORRUPT, -1,
			"a model needs layers, hidden, heads, ffn, vocab and seq, or params");
	return 0;
}

int wt_model_parse(struct wt_model *ret, const char *text, size_t n, struct wt_diag *diag)
{
	struct wt_model m;
	int err;

	memset(&m, 0, sizeof(m));
	m.causal = 1;
	err = parse(&m, text, n, 1, diag);
	err = err ? err : complete(&m, diag);
	if (!err)
		*ret = m;
	return err;
}

static double layer_params(const struct wt_model *m)
{
	double attention =
		m->hidden * (m->heads * m->head_dim + m->kv_heads * (m->head_dim + m->v_dim) +
			     m->heads * m->v_dim);
	double mlp = (m->gated > 0 ? 3 : 2) * m->hidden * m->ffn;

	if (m->experts > 0)
		mlp = mlp * m->active + m->hidden * m->experts;
	return attention + mlp;
}

double wt_model_params(const struct wt_model *m)
{
	return m->params > 0 ? m->params : m->layers * layer_params(m) + m->hidden * m->vocab;
}

/* Attention's forward FLOPs of a token. */
static double attention(const struct wt_model *m)
{
	return m->layers * 2 * m->seq * m->heads * (m->head_dim + m->v_dim) *
	       (m->causal > 0 ? 0.5 : 1);
}

double wt_model_flops(const struct wt_model *m)
{
	return 3 * (2 * wt_model_params(m) + attention(m));
}

double wt_model_hardware_flops(const struct wt_model *m)
{
	double layers = fmax(wt_model_params(m) - m->hidden * m->vocab, 0);
	double again = m->recompute >= 2   ? 2 * layers + attention(m)
		       : m->recompute >= 1 ? attention(m)
					   : 0;

	return wt_model_flops(m) + again;
}

const char *wt_model_form(const struct wt_model *m)
{
	return m->causal > 0
		       ? "3 x (2N + L x 2sH(d_qk + d_v) / 2): attention causal, counted by half"
		       : "3 x (2N + L x 2sH(d_qk + d_v)): attention counted in full";
}

const char *wt_model_recompute(const struct wt_model *m)
{
	return m->recompute >= 2 ? "full" : m->recompute >= 1 ? "selective" : "none";
}
