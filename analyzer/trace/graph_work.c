// SPDX-License-Identifier: Apache-2.0
/*
 * Matrix products replayed from graphs. A replay's kernels have no call of cuBLAS around them; the launches that were
 * captured have. Neither the file nor CUPTI says which node came from which launch, so the list of captured launches
 * is laid beside the kernels of a replay, in the order of their nodes' ids:
 *
 *   all shapes and names agree      each kernel has the product of its launch; of the kernels of one product the
 *                                   longest has the work, as outside of graphs. A name that the launch does not know
 *                                   agrees if it is the same for all launches of that function
 *   they do not                     a kernel has one only where every launch of its name and shape was the same product
 *
 * Ids of nodes are taken to grow in the order of creation; where they do not, the first rule fails and nothing is
 * guessed. An executable graph that was updated, or made after more than one capture, has no list.
 */
#include <string.h>

#include "trace/trace.h"

struct captured {
	uint64_t tsc, signature;
	uint32_t row, parent, exec; /* exec: of an instantiation, its index; else WT_NO_INDEX */
	uint32_t work, head;	    /* head: the first launch of the same product */
	uint64_t function, shape;   /* of the kernel in the last replay that agreed */
	uint8_t begins;		    /* cuStreamBeginCapture */
};
struct list {
	uint64_t exec;
	uint32_t first, n, made, agreed;
};
struct node {
	uint64_t id;
	uint32_t record;
};
struct graphs {
	struct wt_trace *t;
	WT_VEC(struct captured) events, launches;
	WT_VEC(struct list) lists;
	WT_VEC(struct node) nodes; /* of one replay */
	WT_VEC(uint32_t) longest;  /* of one replay, per launch: record + 1 */
	struct wt_map list_of;	   /* exec -> list */
};

static const char *call_name(const struct wt_trace *t, const struct wt_row *r)
{
	uint32_t op;

	return wt_map_get(&t->op_ids, r->op, &op)
		       ? wt_builder_get(t->b, wt_trace_string(t, t->ops.p[op].name))
		       : NULL;
}

static int starts(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

static int by_time(const void *a, const void *b)
{
	const struct captured *x = a, *y = b;

	return x->tsc != y->tsc ? (x->tsc < y->tsc ? -1 : 1)
				: (x->row > y->row) - (x->row < y->row);
}

static int by_id(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Launches that were captured, begins of captures, and what makes or changes executable graphs, in time's order. */
static int find_events(struct graphs *g)
{
	struct wt_trace *t = g->t;

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];
		int launch = r->kind == WT_PB(COUNT_KIND, LAUNCH) &&
			     r->flags & WT_PB(CALL_FLAG, CAPTURED);
		const char *name = r->kind == WT_PB(COUNT_KIND, GRAPH) ? call_name(t, r) : NULL;
		int begins = starts(name, "cuStreamBeginCapture");
		int makes = starts(name, "cuGraphInstantiate") || starts(name, "cuGraphExecUpdate");
		struct captured *c;

		if (r->status || (!launch && !begins && !makes))
			continue;
		c = wt_vec_add(&g->events);
		if (!c)
			return -WT_E_NOMEM;
		c->tsc = r->start_tsc;
		c->row = (uint32_t)i;
		c->exec = makes ? (uint32_t)i : WT_NO_INDEX;
		c->begins = (uint8_t)begins;
		c->parent = launch ? r->parent : WT_NO_INDEX;
		c->signature = launch ? wt_trace_launch_signature(t, r->object, r->shape) : 0;
	}
	if (g->events.n)
		qsort(g->events.p, g->events.n, sizeof(*g->events.p), by_time);
	return 0;
}

static int add_launch(struct graphs *g, const struct captured *c, uint32_t first)
{
	uint32_t at = (uint32_t)g->launches.n;
	struct captured *l = wt_vec_add(&g->launches);

	if (!l)
		return -WT_E_NOMEM;
	*l = *c;
	l->head = at;
	/* Launches of one call follow each other but for other threads' between them: a few steps back are enough. */
	for (uint32_t i = at; i > first && i + 8 > at && l->parent != WT_NO_INDEX; i--)
		if (g->launches.p[i - 1].parent == l->parent)
			l->head = g->launches.p[i - 1].head;
	l->work = wt_trace_product_work(g->t, l->parent);
	return 0;
}

static int add_list(struct graphs *g, uint64_t exec, uint32_t first, int sure)
{
	struct list *l;
	uint32_t at;

	if (!exec)
		return 0;
	if (wt_map_get(&g->list_of, exec,
		       &at)) { /* made twice: which replay ran which is not known */
		g->lists.p[at].made++;
		return 0;
	}
	at = (uint32_t)g->lists.n;
	l = wt_vec_add(&g->lists);
	if (!l || wt_map_put(&g->list_of, exec, at))
		return -WT_E_NOMEM;
	*l = (struct list){.exec = exec, .first = first, .made = 1};
	l->n = sure ? (uint32_t)g->launches.n - first : 0;
	return 0;
}

static int find_lists(struct graphs *g)
{
	uint32_t first = 0;
	int over = 1, sure = 1,
	    err = 0; /* over: an executable graph was made of what stands in the list */

	for (size_t i = 0; i < g->events.n && !err; i++) {
		const struct captured *c = &g->events.p[i];

		if (c->exec != WT_NO_INDEX) {
			err = add_list(g, g->t->rows.p[c->row].object, first, sure);
			over = 1;
			continue;
		}
		if (over || c->begins) {
			sure = over || first == g->launches.n;
			over = 0;
			first = (uint32_t)g->launches.n;
		}
		if (!c->begins)
			err = add_launch(g, c, first);
	}
	return err;
}

static int find_nodes(struct graphs *g, const struct wt_group *group)
{
	int any = 0;

	g->nodes.n = 0;
	for (uint32_t i = 0; i < group->n; i++) {
		const struct wt_record *r = &g->t->records.p[group->first + i];
		struct node *n;

		if (r->kind != WT_OP_KERNEL || !r->node)
			continue;
		n = wt_vec_add(&g->nodes);
		if (!n)
			return -WT_E_NOMEM;
		n->id = r->node;
		n->record = group->first + i;
		any = 1;
	}
	if (any)
		qsort(g->nodes.p, g->nodes.n, sizeof(*g->nodes.p), by_id);
	return 0;
}

static const struct wt_record *node_record(const struct graphs *g, uint32_t i)
{
	return &g->t->records.p[g->nodes.p[i].record];
}

static uint64_t node_signature(const struct graphs *g, uint32_t i)
{
	return wt_trace_launch_signature(g->t, node_record(g, i)->function,
					 node_record(g, i)->shape);
}

/* 1, 0, or -WT_E_NOMEM. names: function of the launch -> of the kernel, where the launch does not know its name. */
static int agrees(struct graphs *g, const struct captured *c, uint32_t i, struct wt_map *names)
{
	const struct wt_record *r = node_record(g, i);
	uint64_t function = g->t->rows.p[c->row].object, shape = g->t->rows.p[c->row].shape, kernel;
	uint32_t name;

	if (c->signature)
		return c->signature == node_signature(g, i);
	kernel = wt_trace_shape_signature(g->t, r->shape);
	if (!kernel || kernel != wt_trace_shape_signature(g->t, shape) || r->function >> 32)
		return 0;
	if (wt_map_get(names, function, &name))
		return name == r->function;
	return wt_map_put(names, function, (uint32_t)r->function) ? -WT_E_NOMEM : 1;
}

/* 1, 0, or -WT_E_NOMEM. */
static int in_order(struct graphs *g, struct list *l)
{
	struct captured *c = &g->launches.p[l->first];
	struct wt_map names = {.slots = NULL};
	int same = l->agreed && g->nodes.n == l->n, good = 1;

	if (g->nodes.n != l->n)
		return 0;
	for (uint32_t i = 0; i < l->n && same; i++)
		same = node_record(g, i)->function == c[i].function &&
		       node_record(g, i)->shape == c[i].shape;
	if (same)
		return 1;
	for (uint32_t i = 0; i < l->n && good > 0; i++)
		good = agrees(g, &c[i], i, &names);
	wt_map_release(&names);
	if (good <= 0)
		return good;
	for (uint32_t i = 0; i < l->n; i++) {
		c[i].function = node_record(g, i)->function;
		c[i].shape = node_record(g, i)->shape;
	}
	return l->agreed = 1;
}

static int by_order(struct graphs *g, const struct list *l, uint32_t *works)
{
	g->longest.n = 0;
	for (uint32_t i = 0; i < l->n; i++)
		if (!wt_vec_add(&g->longest))
			return -WT_E_NOMEM;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t record = g->nodes.p[i].record;
		uint32_t *best = &g->longest.p[g->launches.p[l->first + i].head - l->first];

		if (!*best || g->t->records.p[*best - 1].dur_ns < g->t->records.p[record].dur_ns)
			*best = record + 1;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (g->longest.p[i])
			works[g->longest.p[i] - 1] = g->launches.p[l->first + i].work;
	return 0;
}

/* The one work of all launches of that name and shape; 0 = not one, or none. */
static uint32_t only_work(const struct graphs *g, const struct list *l, uint64_t signature)
{
	uint32_t work = 0, seen = 0;

	for (uint32_t i = l->first; signature && i < l->first + l->n; i++) {
		const struct captured *c = &g->launches.p[i];
		int several =
			c->head != i || (i + 1 < l->first + l->n && g->launches.p[i + 1].head == i);

		if (c->signature != signature)
			continue;
		if (several || (seen && c->work != work))
			return 0;
		work = c->work;
		seen = 1;
	}
	return work;
}

#define LOOKED_UP_MAX                                                                              \
	4096 /* launches: beyond, looking each node up in the list would take too long */

static int one_replay(struct graphs *g, const struct wt_group *group, uint32_t *works)
{
	struct list *l;
	uint32_t at;
	int order;

	if (group->class_ != WT_PB(COUNT_KIND, GRAPH_LAUNCH) || group->row == WT_NO_INDEX ||
	    group->ambiguous || !wt_map_get(&g->list_of, g->t->rows.p[group->row].object, &at))
		return 0;
	l = &g->lists.p[at];
	if (l->made != 1 || !l->n)
		return 0;
	if (find_nodes(g, group))
		return -WT_E_NOMEM;
	order = in_order(g, l);
	if (order)
		return order < 0 ? order : by_order(g, l, works);
	for (uint32_t i = 0; i < g->nodes.n && l->n <= LOOKED_UP_MAX; i++)
		works[g->nodes.p[i].record] = only_work(g, l, node_signature(g, i));
	return 0;
}

int wt_trace_graph_works(struct wt_trace *t, uint32_t *works)
{
	struct graphs g = {.t = t};
	int err = find_events(&g);

	err = err ? err : find_lists(&g);
	for (size_t i = 0; i < t->groups.n && !err && g.lists.n; i++)
		err = one_replay(&g, &t->groups.p[i], works);
	free(g.events.p);
	free(g.launches.p);
	free(g.lists.p);
	free(g.nodes.p);
	free(g.longest.p);
	wt_map_release(&g.list_of);
	return err;
}
