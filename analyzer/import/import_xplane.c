/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XPlane files (jax.profiler, TensorFlow, XProf; .xplane.pb) -> timeline. A plane is read into memory, the file is not:
 * memory is that of the largest plane, and of the rows.
 *
 * A file is one process. Planes are told by their names: /device:GPU:N (records of CUPTI or ROCm on lines named after
 * streams; lines derived from them are no records), /device:TPU:N (modules and operations), /host:CPU and the like
 * (threads), /host:metadata (programs). Times count from profile_start_time where the file says so.
 *
 * Damage: a message that cannot be read is skipped and counted, the next one begins where its length says. A cut file
 * ends in a plane whose tables are gone, since protobuf writes them behind the events: such operations keep their times
 * and streams, not their names. A file that went through a conversion to text has lost its lengths and is refused.
 */
#include "import/import_xplane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/xspace.h"

/* ---- what the parts share ---- */

int wt_xp_times(struct wt_xp *xp, const struct wt_xevent *e, int64_t *ret_start_ns,
		int64_t *ret_end_ns)
{
	if (e->bad_time) {
		xp->untimed++;
		return 0;
	}
	/* Division rounds towards zero; times before zero do not occur but in damaged files. */
	*ret_start_ns = e->start_ps / 1000;
	*ret_end_ns = e->end_ps / 1000;
	return 1;
}

uint32_t wt_xp_string(struct wt_xp *xp, struct wt_xtext text)
{
	return wt_builder_string(xp->b, text.s, text.n);
}

uint32_t wt_xp_symbol(struct wt_xp *xp, struct wt_xtext name)
{
	char text[512];
	size_t n = name.n < sizeof(text) ? name.n : sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = name.s[i] == '.' || name.s[i] == '-' ? '_' : name.s[i];
	return wt_builder_string(xp->b, text, n);
}

void wt_xp_step(struct wt_xp *xp, struct wt_xsteps *steps, const struct wt_xstep *step)
{
	if (steps->n == steps->room) {
		size_t room = steps->room ? steps->room * 2 : 32;
		struct wt_xstep *rows = realloc(steps->rows, room * sizeof(*rows));

		if (!rows) {
			xp->error = -WT_E_NOMEM;
			return;
		}
		steps->rows = rows;
		steps->room = room;
	}
	steps->rows[steps->n++] = *step;
}

/* The number at the end of a text: "7", "train 7"; else -1. */
static int64_t last_number(struct wt_xtext t)
{
	size_t at = t.n;
	int64_t value = 0;

	while (at && t.s[at - 1] >= '0' && t.s[at - 1] <= '9')
		at--;
	if (at == t.n || t.n - at > 18)
		return -1;
	for (; at < t.n; at++)
		value = value * 10 + (t.s[at] - '0');
	return value;
}

void wt_xp_step_line(struct wt_xp *xp, struct wt_xplane *x, const struct wt_xline *line)
{
	struct wt_wire w = wt_wire_of(line->body, line->n);
	struct wt_xevent e;

	while (wt_xline_next(x, line, &w, &e, xp->stats)) {
		struct wt_xtext name = wt_xstats_text(xp->stats, WT_XSTAT_STEP_NAME),
				of_meta = {"", 0};
		struct wt_xstep step = {.step = -1};

		if (e.aggregated || !wt_xp_times(xp, &e, &step.start_ns, &step.end_ns))
			continue;
		if (e.meta >= 0)
			wt_xmeta_read(x, &x->metas[e.meta], &of_meta, NULL, NULL);
		name = name.n ? name : of_meta;
		step.step = xp->stats->seen & WT_XSTAT_BIT(STEP_NUM)
				    ? (int64_t)wt_xstats_integer(xp->stats, WT_XSTAT_STEP_NUM)
				    : last_number(name);
		if (step.step < 0)
			step.step = (int64_t)xp->device_steps.n;
		step.name = wt_xp_string(xp, name);
		step.thread = wt_builder_thread(xp->b, xp->process, 0);
		wt_xp_step(xp, &xp->device_steps, &step);
	}
}

uint64_t wt_xp_flow(const struct wt_xstats *s, enum wt_xstat type, enum wt_xstat id)
{
	uint64_t key = wt_mix64(wt_xstats_integer(s, type) + 1) ^ wt_xstats_integer(s, id);

	return s->seen >> id & 1 ? key : 0;
}

/* ---- planes ---- */

/* "/device:GPU:4" -> 4; -1 if that is not all of the name. */
static int64_t ordinal_of(struct wt_xtext name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (name.n <= n || memcmp(name.s, prefix, n))
		return -1;
	for (size_t i = n; i < name.n; i++)
		if (name.s[i] < '0' || name.s[i] > '9')
			return -1;
	return last_number(name);
}

/*
 * Newer files count from the start of the profile, which the task's plane tells: it puts hosts on one clock. Files with
 * a line that begins later than half of that since the epoch count from the epoch already.
 */
static void set_base(struct wt_xp *xp, uint64_t start_ns)
{
	if (start_ns && start_ns < INT64_MAX / 2 && xp->last_line_ns < (int64_t)(start_ns / 2))
		wt_builder_input_at(xp->b, xp->input)->base_ns = (int64_t)start_ns;
}

static void task_plane(struct wt_xp *xp, const struct wt_xplane *x)
{
	static const struct {
		enum wt_xstat key;
		const char *name;
	} times[] = {{WT_XSTAT_PROFILE_START, "profile_start_time"},
		     {WT_XSTAT_PROFILE_STOP, "profile_stop_time"}};
	char text[32];

	xp->start_ns = wt_xstats_integer(&x->stats, WT_XSTAT_PROFILE_START);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		uint64_t ns = wt_xstats_integer(&x->stats, times[i].key);

		snprintf(text, sizeof(text), "%" PRIu64, ns);
		if (ns)
			wt_builder_environment(xp->b, xp->process, times[i].name, text);
	}
}

static void plane(struct wt_xp *xp, struct wt_xplane *x)
{
	int64_t gpu = ordinal_of(x->name, "/device:GPU:"),
		tpu = ordinal_of(x->name, "/device:TPU:");

	for (size_t i = 0; i < x->nlines; i++)
		if (x->lines[i].timestamp_ns > xp->last_line_ns)
			xp->last_line_ns = x->lines[i].timestamp_ns;
	if (gpu >= 0)
		wt_xp_gpu(xp, x, gpu);
	else if (tpu >= 0)
		wt_xp_tpu(xp, x, tpu);
	else if (wt_xtext_starts(x->name, "/device:TPU:"))
		xp->sparse_planes++;
	else if (wt_xtext_is(x->name, "/host:metadata"))
		wt_xp_programs(xp, x);
	else if (wt_xtext_is(x->name, "Task Environment"))
		task_plane(xp, x);
	else if (wt_xtext_is(x->name, "/host:CPU") || wt_xtext_is(x->name, "/host:CUPTI") ||
		 wt_xtext_is(x->name, "/host:ROCTRACER"))
		wt_xp_host(xp, x);
}

/* ---- the file ---- */

struct damage {
	uint64_t faults;
	int64_t offset; /* of the first; -1 */
};

static void field(struct wt_xp *xp, const struct wt_xspace *xs, const struct wt_wire_field *f,
		  struct damage *ret)
{
	struct wt_xtext text = {(const char *)f->bytes, f->n < 256 ? f->n : 256};
	struct wt_xplane x;

	switch (f->number) {
	case WT_XSPACE_PLANE:
		if (wt_xplane_open(&x, f->bytes, f->n, xs->error != 0))
			xp->error = -WT_E_NOMEM;
		else
			plane(xp, &x);
		if (x.faults && !ret->faults)
			ret->offset = xs->field_offset + x.first_fault;
		ret->faults += x.faults;
		wt_xplane_release(&x);
		break;
	case WT_XSPACE_HOST:
		wt_builder_process_at(xp->b, xp->process)->host = wt_xp_string(xp, text);
		break;
	case WT_XSPACE_ERROR:
	case WT_XSPACE_WARNING:
		wt_builder_note(xp->b, "the profiler that wrote the file says: %.*s", (int)text.n,
				text.s);
		break;
	default:
		break;
	}
}

static int by_step(const void *pa, const void *pb)
{
	const struct wt_xstep *a = pa, *b = pb;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Each device has a line of steps. Those of one number that overlap are one, from the first start to the last end. */
static void join_steps(struct wt_xsteps *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->rows, s->n, sizeof(*s->rows), by_step);
	for (size_t i = 0; i < s->n; i++) {
		struct wt_xstep *last = n ? &s->rows[n - 1] : NULL;

		if (!last || last->step != s->rows[i].step || s->rows[i].start_ns >= last->end_ns)
			s->rows[n++] = s->rows[i];
		else if (s->rows[i].end_ns > last->end_ns)
			last->end_ns = s->rows[i].end_ns;
	}
	s->n = n;
}

/* Steps as devices saw them, else as the host marked them. */
static void emit_steps(struct wt_xp *xp)
{
	const struct wt_xsteps *s = xp->device_steps.n ? &xp->device_steps : &xp->host_steps;

	join_steps(&xp->device_steps);
	for (size_t i = 0; i < s->n; i++)
		wt_builder_range(xp->b, &(struct wt_range){.start_ns = s->rows[i].start_ns,
							   .end_ns = s->rows[i].end_ns,
							   .name = s->rows[i].name,
							   .thread = s->rows[i].thread,
							   .step = s->rows[i].step,
							   .process = xp->process,
							   .kind = WT_RANGE_STEP,
							   .marked = 1,
							   .on_device = s == &xp->device_steps});
}

static void notes(struct wt_xp *xp)
{
	if (xp->nameless)
		wt_builder_note(
			xp->b,
			"%" PRIu64
			" device operations have lost their names: the file ends before the table "
			"of names",
			xp->nameless);
	if (xp->untimed)
		wt_builder_note(xp->b, "%" PRIu64 " events have no usable time and were left out",
				xp->untimed);
	if (xp->aggregated)
		wt_builder_note(xp->b,
				"%" PRIu64 " events are sums without times and were left out",
				xp->aggregated);
	if (xp->sparse_planes)
		wt_builder_note(xp->b,
				"%" PRIu64
				" planes of SparseCores are in the file and not in this account",
				xp->sparse_planes);
}

static int refuse_text(const uint8_t *head, size_t n, int64_t at, struct wt_diag *diag)
{
	uint64_t count = 0;

	for (size_t i = 0; i + 3 <= n; i++)
		count += !memcmp(head + i, "\xef\xbf\xbd", 3);
	return wt_fail(diag, WT_E_FORMAT, at,
		       "an XPlane file damaged by a conversion to text: bytes above 127 were "
		       "replaced by EF BF BD (%" PRIu64 " times in the first %zu bytes) and its "
		       "lengths are lost; copy the original again, as binary",
		       count, n);
}

static int outcome(const struct wt_xp *xp, const struct wt_xspace *xs, const struct damage *d,
		   struct wt_diag *diag)
{
	struct wt_input *in = wt_builder_input_at(xp->b, xp->input);

	if (xp->error)
		return wt_fail(diag, xp->error == -WT_E_LIMIT ? WT_E_LIMIT : WT_E_NOMEM, -1, "%s",
			       wt_strerror(xp->error));
	in->lost_events = d->faults;
	if (xs->error) {
		*diag = xs->diag;
		return xs->error;
	}
	if (d->faults)
		return wt_fail(diag, WT_E_CORRUPT, d->offset,
			       "expected protobuf messages of an XPlane: %" PRIu64
			       " could not be read, the first here",
			       d->faults);
	return 0;
}

static void release(struct wt_xp *xp)
{
	wt_xhlo_release(&xp->hlo);
	wt_keyset_release(&xp->instruction_keys);
	free(xp->pending);
	free(xp->device_steps.rows);
	free(xp->host_steps.rows);
	free(xp->stats);
	free(xp->meta_stats);
	free(xp);
}

static int read_xplane(struct wt_source *src, struct wt_builder *b, uint32_t input,
		       struct wt_diag *diag)
{
	struct damage damage = {.offset = -1};
	struct wt_xspace *xs;
	struct wt_xp *xp;
	struct wt_wire_field f;
	size_t n;
	const uint8_t *head = wt_source_head(src, &n);
	int64_t textual = wt_xspace_textual(head, n);
	int rc = -WT_E_NOMEM;

	if (textual >= 0)
		return refuse_text(head, n, textual, diag);
	xs = malloc(sizeof(*xs));
	xp = calloc(1, sizeof(*xp));
	if (xp) {
		xp->stats = calloc(1, sizeof(*xp->stats));
		xp->meta_stats = calloc(1, sizeof(*xp->meta_stats));
	}
	if (!xs || !xp || !xp->stats || !xp->meta_stats) {
		wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
		goto out;
	}
	xp->b = b;
	xp->input = input;
	xp->process = wt_builder_process(b, input, 0);
	xp->instruction_keys.words = 2;
	wt_xhlo_init(&xp->hlo, b);
	wt_xspace_init(xs, src);
	while (!xp->error && wt_xspace_next(xs, &f))
		field(xp, xs, &f, &damage);
	wt_xp_resolve(xp);
	emit_steps(xp);
	set_base(xp, xp->start_ns);
	notes(xp);
	rc = outcome(xp, xs, &damage, diag);
	wt_xspace_release(xs);
out:
	free(xs);
	if (xp)
		release(xp);
	return rc;
}

const struct wt_importer wt_importer_xplane = {
	.name = "xplane",
	.human = "XPlane profile",
	.probe = wt_xspace_probe,
	.read = read_xplane,
};
