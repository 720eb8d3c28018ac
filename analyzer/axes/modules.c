/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of the model a kernel belongs to: the nn.Module ranges its launch lies in, or the path a compiler gives
 * its instruction. Backward's kernels are launched by autograd, outside of modules: theirs is not known.
 */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/strtab.h"

#define DEPTH	   64
#define MODULE_TAG "nn.Module: "

/* Names of the ranges from the outside in. *found is 0 where there is none. */
static uint32_t path_of_range(struct wt_axes *a, int32_t at, struct wt_strbuf *text)
{
	const struct wt_ranges *x = &a->ranges;
	const char *names[DEPTH];
	size_t n = 0;

	for (; at >= 0 && n < DEPTH; at = x->parent[at]) {
		const char *name = wt_timeline_string(x->tl, x->tl->ranges[x->order[at]].name);

		if (x->kind[x->order[at]] != WT_RANGE_MODULE)
			continue;
		if (!strncmp(name, MODULE_TAG, sizeof(MODULE_TAG) - 1))
			name += sizeof(MODULE_TAG) - 1;
		names[n++] = name;
	}
	text->n = 0;
	while (n--)
		wt_strbuf_addf(text, "%s%s", text->n ? " / " : "", names[n]);
	return wt_strings_add(a->texts, wt_strbuf_text(text), text->n);
}

int32_t wt_module_at(const struct wt_axes *a, const struct wt_call *c)
{
	const struct wt_ranges *x = &a->ranges;
	size_t lo = x->first[c->thread], hi = x->first[c->thread + 1];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->tl->ranges[x->order[mid]].start_ns <= c->start_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == x->first[c->thread])
		return -1;
	for (int32_t i = (int32_t)lo - 1; i >= 0; i = x->parent[i])
		if (x->kind[x->order[i]] == WT_RANGE_MODULE &&
		    x->tl->ranges[x->order[i]].end_ns > c->start_ns)
			return i;
	return -1;
}

uint32_t wt_module_compiled(const struct wt_axes *a, const struct wt_op *op)
{
	const struct wt_timeline *tl = a->ledger->tl;
	uint32_t path = op->instruction ? tl->instructions[op->instruction].path : 0;
	const char *text = wt_timeline_string(tl, path);

	if (path)
		return wt_strings_add(a->texts, text, strlen(text));
	path = wt_hlo_path(a, op);
	return path ? path : wt_xla_path(a, op);
}

static uint32_t path_of(struct wt_axes *a, const struct wt_op *op, struct wt_map *known,
			struct wt_strbuf *text)
{
	const struct wt_timeline *tl = a->ledger->tl;
	uint32_t *slot, path = wt_module_compiled(a, op);
	int32_t at;
	int isnew;

	if (path)
		return path;
	if (op->call < 0 || !(a->ranges.kinds & WT_KIND_BIT(MODULE)))
		return 0;
	at = wt_module_at(a, &tl->calls[op->call]);
	slot = at < 0 ? NULL : wt_map_slot(known, (uint64_t)at, 0, &isnew);
	if (slot && isnew)
		*slot = path_of_range(a, at, text);
	return slot ? *slot : 0;
}

static int by_time(const void *pa, const void *pb, void *arg)
{
	const struct wt_axes *a = arg;
	const struct wt_module *x = pa, *y = pb;

	if (x->kernel_ns != y->kernel_ns)
		return x->kernel_ns > y->kernel_ns ? -1 : 1;
	return strcmp(wt_axes_text(a, x->path), wt_axes_text(a, y->path));
}

static struct wt_module *module_of(struct wt_axes *a, struct wt_map *rows, uint32_t path)
{
	int isnew;
	uint32_t *slot = wt_map_slot(rows, path, (uint32_t)a->nmodules, &isnew);

	if (slot && isnew) {
		struct wt_module *grown = a->modules;

		if (!(a->nmodules & (a->nmodules - 1)))
			grown = realloc(a->modules,
					(a->nmodules ? a->nmodules * 2 : 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		a->modules = grown;
		a->modules[a->nmodules++] = (struct wt_module){.path = path};
	}
	return slot ? &a->modules[*slot] : NULL;
}

int wt_modules_find(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;
	struct wt_map known = {.count = 0}, rows = {.count = 0};
	struct wt_strbuf text = {.n = 0};
	int err = 0;

	for (size_t i = 0; !err && i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		struct wt_module *m;
		uint32_t path;

		if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED)
			continue;
		path = path_of(a, op, &known, &text);
		if (!path) {
			a->module_unknown_ns += op->end_ns - op->start_ns;
			continue;
		}
		m = module_of(a, &rows, path);
		if (!m) {
			err = -WT_E_NOMEM;
			break;
		}
		m->kernels++;
		m->kernel_ns += op->end_ns - op->start_ns;
	}
	if (text.failed || wt_strings_failed(a->texts))
		err = -WT_E_NOMEM;
	wt_strbuf_release(&text);
	wt_map_release(&known);
	wt_map_release(&rows);
	if (!err && a->nmodules)
		qsort_r(a->modules, a->nmodules, sizeof(*a->modules), by_time, a);
	return err;
}

const char *wt_axes_text(const struct wt_axes *a, uint32_t id)
{
	return wt_strings_get(a->texts, id);
}
