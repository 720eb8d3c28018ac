/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: events of phase C, each with one value or several by name. What is kept of a series is what a report says
 * of it, not its samples. A process without device work or calls has its counters all the same; without a pid they are
 * the file's first process's.
 */
#include <stdlib.h>

#include "import/kineto_rows.h"

/* NULL: no memory, or k->samples_lost says so. */
static struct wt_kineto_counter *find(struct wt_kineto *k, uint16_t process, uint32_t name,
				      uint32_t series, int *ret_nomem)
{
	uint64_t key = wt_mix64((uint64_t)name << 32 | series) ^ process;
	struct wt_kineto_counter *c;
	int isnew;
	uint32_t *at;

	/* Two of one key would be a wrong row: the next key is tried. */
	for (;; key++) {
		at = wt_map_slot(&k->counter_index, key, 0, &isnew);
		if (!at) {
			*ret_nomem = 1;
			return NULL;
		}
		if (isnew)
			break;
		c = *at ? &k->counters[*at - 1] : NULL;
		if (!c)
			return NULL;
		if (c->row.process == process && c->row.name == name && c->row.series == series)
			return c;
	}
	if (k->ncounters == WT_KINETO_COUNTERS)
		return NULL;
	if (k->ncounters == k->counters_room) {
		size_t room = k->counters_room ? k->counters_room * 2 : 16;

		c = realloc(k->counters, room * sizeof(*c));
		if (!c) {
			*ret_nomem = 1;
			return NULL;
		}
		k->counters = c;
		k->counters_room = room;
	}
	c = &k->counters[k->ncounters++];
	*at = (uint32_t)k->ncounters;
	*c = (struct wt_kineto_counter){
		.row = {.name = name, .series = series, .process = process}};
	return c;
}

static void take(struct wt_kineto_counter *c, int64_t value, int64_t ts_ns)
{
	struct wt_counter *r = &c->row;

	if (!r->samples || value < r->min)
		r->min = value;
	if (!r->samples || value > r->max) {
		r->max = value;
		r->max_ns = ts_ns;
	}
	if (!r->samples || ts_ns >= c->last_ns) {
		r->last = value;
		c->last_ns = ts_ns;
	}
	c->sum += value;
	r->samples++;
}

int wt_kineto_count(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	uint16_t process;
	uint32_t name;
	int nomem = 0;

	if (!ev->nseries)
		return 0;
	if (!(ev->flags & WT_KINETO_HAS_TS) || ev->flags & WT_KINETO_BAD_TIME || !ev->name.n) {
		k->samples_lost += ev->nseries;
		return 0;
	}
	/* Never the one that makes a process the file's own: those of devices count too. */
	process = k->has_main && ev->flags & WT_KINETO_HAS_PID ? wt_kineto_process_of(k, ev)
							       : k->process;
	name = wt_builder_string(k->b, ev->name.s, ev->name.n);
	for (unsigned i = 0; i < ev->nseries && !nomem; i++) {
		const struct wt_kineto_series *s = &ev->series[i];
		struct wt_kineto_counter *c =
			find(k, process, name, wt_builder_cstring(k->b, s->key), &nomem);

		if (c)
			take(c, s->value, ev->ts_ns);
		else
			k->samples_lost++;
	}
	return nomem ? -WT_E_NOMEM : 0;
}

void wt_kineto_deliver_counters(struct wt_kineto *k)
{
	for (size_t i = 0; i < k->ncounters; i++) {
		struct wt_kineto_counter *c = &k->counters[i];

		c->row.mean = (int64_t)(c->sum / (__int128)c->row.samples);
		wt_builder_counter(k->b, &c->row);
	}
	if (k->samples_lost)
		wt_builder_note(
			k->b,
			"%s: %llu samples of counters are left out: without a time, or of more "
			"than %u counters",
			wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path),
			(unsigned long long)k->samples_lost, WT_KINETO_COUNTERS);
}
