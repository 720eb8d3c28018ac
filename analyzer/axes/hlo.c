/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of XLA's instructions for a trace that does not say them, from a profile of the same programs (--hlo): of a
 * graph launch, the program is the one that has an instruction for each of its kernels, by the kernels' names (dots as
 * underscores). Kernels that no program knows (a library's) do not count. Single launches are not told: names such as
 * loop_add_fusion occur in many programs.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"
#include "base/strtab.h"
#include "timeline/keyset.h"

#define PROGRAMS_MOST 32 /* bits of a set; those of more are not looked at */

struct wt_hlo {
	struct wt_keyset keys; /* (number of the program, symbol) */
	uint32_t *paths;       /* texts, parallel to keys */
	size_t room;
	struct wt_map programs; /* string -> number */
	struct wt_map symbols;	/* symbol -> set of programs */
	struct wt_map calls;	/* graph launch -> set of programs */
};

static int keep(struct wt_axes *a, const struct wt_instruction *in)
{
	struct wt_hlo *x = a->hlo;
	const char *name = wt_timeline_string(a->ledger->tl, in->name),
		   *path = wt_timeline_string(a->ledger->tl, in->path);
	uint32_t symbol = wt_xla_symbol(a, name, strlen(name)), *program, *set;
	int isnew;
	int64_t i;

	program = wt_map_slot(&x->programs, in->program, (uint32_t)x->programs.count, &isnew);
	if (!program)
		return -WT_E_NOMEM;
	if (*program >= PROGRAMS_MOST)
		return 0;
	set = wt_map_slot(&x->symbols, symbol, 0, &isnew);
	i = wt_keyset_add(&x->keys, (uint64_t[]){*program, symbol}, &isnew);
	if (!set || i < 0)
		return -WT_E_NOMEM;
	*set |= 1u << *program;
	if ((size_t)i >= x->room) {
		size_t room = x->room ? x->room * 2 : 256;
		uint32_t *paths = realloc(x->paths, room * sizeof(*paths));

		if (!paths)
			return -WT_E_NOMEM;
		x->paths = paths;
		x->room = room;
	}
	x->paths[i] = wt_strings_add(a->texts, path, strlen(path));
	return 0;
}

static int is_node(const struct wt_op *op)
{
	return op->kind == WT_OP_KERNEL && op->call >= 0 && op->flags & WT_OP_GRAPH_NODE &&
	       !op->instruction;
}

static uint32_t own_symbol(const struct wt_axes *a, const struct wt_op *op)
{
	const char *name = wt_timeline_string(a->ledger->tl, op->name);

	return wt_xla_symbol(a, name, strlen(name));
}

int wt_hlo_init(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;
	int err = 0, isnew;

	for (size_t i = 1; !err && i < tl->ninstructions; i++) {
		const struct wt_instruction *in = &tl->instructions[i];

		if (!in->path || !in->program || !in->name)
			continue;
		if (!a->hlo) {
			a->hlo = calloc(1, sizeof(*a->hlo));
			if (!a->hlo)
				return -WT_E_NOMEM;
			a->hlo->keys.words = 2;
		}
		err = keep(a, in);
	}
	for (size_t i = 0; a->hlo && !err && i < tl->nops; i++) {
		uint32_t set, *of_call;

		if (!is_node(&tl->ops[i]) ||
		    !wt_map_get(&a->hlo->symbols, own_symbol(a, &tl->ops[i]), &set))
			continue;
		of_call =
			wt_map_slot(&a->hlo->calls, (uint64_t)tl->ops[i].call, UINT32_MAX, &isnew);
		if (of_call)
			*of_call &= set;
		else
			err = -WT_E_NOMEM;
	}
	return err;
}

void wt_hlo_free(struct wt_axes *a)
{
	if (!a->hlo)
		return;
	wt_keyset_release(&a->hlo->keys);
	wt_map_release(&a->hlo->programs);
	wt_map_release(&a->hlo->symbols);
	wt_map_release(&a->hlo->calls);
	free(a->hlo->paths);
	free(a->hlo);
}

/* Of several programs that it can be: the path that all of them give, else none. */
uint32_t wt_hlo_path(const struct wt_axes *a, const struct wt_op *op)
{
	uint32_t set, symbol, known, path = 0;

	if (!a->hlo || !is_node(op) || !wt_map_get(&a->hlo->calls, (uint64_t)op->call, &set))
		return 0;
	symbol = own_symbol(a, op);
	if (!wt_map_get(&a->hlo->symbols, symbol, &known))
		return 0;
	for (set &= known; set; set &= set - 1) {
		uint64_t program = (uint64_t)__builtin_ctz(set);
		int isnew;
		int64_t i = wt_keyset_add(&a->hlo->keys, (uint64_t[]){program, symbol}, &isnew);

		if (i < 0 || isnew || (path && path != a->hlo->paths[i]))
			return 0;
		path = a->hlo->paths[i];
	}
	return path;
}
