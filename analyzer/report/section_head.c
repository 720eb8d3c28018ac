/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first lines: at what level the recording was made, how much of what happened it covers, what it cost; then what
 * bounds the job. Facts (busy, exposed, idle) come before causes, and estimates are called estimates.
 */
#include <inttypes.h>
#include <string.h>

#include "axes/axes.h"
#include "report/section.h"

#define HARDLY 20 /* records in less than one of so many parts of the window */

/* Processes that recorded and launched nothing: a launcher of ranks, which only looked at its devices. */
static size_t idle_processes(const struct wt_report *r)
{
	size_t n = 0;

	for (size_t p = 0; p < r->tl->nprocesses; p++) {
		uint64_t counted = 0;
		int streams = 0;

		for (size_t i = 0; i < r->tl->ncounts; i++)
			if (r->tl->counts[i].process == p)
				counted += r->tl->counts[i].counted + r->tl->counts[i].outside;
		for (size_t i = 0; i < r->tl->nstreams; i++)
			streams |= r->tl->streams[i].process == p;
		n += r->tl->processes[p].level >= 1 && !streams && !counted;
	}
	return n;
}

static void level_text(const struct wt_report *r, struct wt_strbuf *out)
{
	static const char *const names[] = {"off", "count", "api", "trace"};
	int seen[5] = {0};
	size_t idle = idle_processes(r);

	wt_strbuf_adds(out, "level     ");
	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		int level = r->tl->processes[i].level;

		seen[level >= 0 && level <= 3 ? level : 4] = 1;
	}
	for (int i = 0, n = 0; i < 5; i++)
		if (seen[i])
			wt_strbuf_addf(out, "%s%s", n++ ? ", " : "",
				       i < 4 ? names[i] : "another tool's recording");
	if (!r->tl->nprocesses)
		wt_strbuf_adds(out, "no process in the file");
	wt_strbuf_addf(out, "; %zu file%s", r->tl->ninputs, r->tl->ninputs == 1 ? "" : "s");
	if (idle && idle < r->tl->nprocesses)
		wt_strbuf_addf(out, " (%zu of a process that gave its devices nothing to do)",
			       idle);
	wt_strbuf_addf(out, ", %zu device%s\n", r->ledger->ndevices,
		       r->ledger->ndevices == 1 ? "" : "s");
}

uint64_t wt_counted_all(const struct wt_report *r)
{
	uint64_t n = 0;

	for (int k = 0; k < WT_COUNT_COLLECTIVE; k++)
		n += r->counts[k].counted;
	return n;
}

static void coverage_text(const struct wt_report *r, struct wt_strbuf *out)
{
	uint64_t kernels = 0, without = 0, outside = 0, counted = wt_counted_all(r);
	size_t cut = 0;

	for (int k = 0; k < WT_COUNT_COLLECTIVE; k++)
		outside += r->counts[k].outside;
	for (size_t i = 0; i < r->tl->nprocesses; i++)
		cut += r->tl->processes[i].level >= 0 && !r->tl->processes[i].ended;
	wt_strbuf_adds(out, "coverage  ");
	if (r->share >= 0) {
		counted -= r->in_flight;
		wt_strbuf_addf(out, "%.4f %% of %" PRIu64 " counted operations%s have their record",
			       100 * r->share, counted, r->in_flight ? " that ended" : "");
		if (r->missing || r->in_flight)
			wt_strbuf_addf(out,
				       "; %" PRIu64 " missing, %" PRIu64 " in flight at the end",
				       r->missing, r->in_flight);
		if (outside)
			wt_strbuf_addf(out, "; %" PRIu64 " more while nothing was collected",
				       outside);
	} else {
		for (size_t d = 0; d < r->ledger->ndevices; d++) {
			kernels += r->ledger->devices[d].kernels.count;
			without += r->ledger->devices[d].kernels.without_launch;
		}
		wt_strbuf_adds(out, !r->counted[WT_COUNT_LAUNCH]
					    ? "not known: the file counts nothing"
				    : counted ? "calls counted, device activity not recorded"
					      : "nothing to record: no operation was launched");
		if (without)
			wt_strbuf_addf(out,
				       "; %" PRIu64 " of %" PRIu64 " kernels have no launch record",
				       without, kernels);
	}
	if (cut)
		wt_strbuf_addf(out, "; %zu of %zu processes cut: their ends are not in it", cut,
			       r->tl->nprocesses);
	wt_strbuf_addc(out, '\n');
}

static void cost_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int64_t sum_ns = (r->hook_ns > 0 ? r->hook_ns : 0) +
			 (r->writer_cpu_ns > 0 ? r->writer_cpu_ns : 0) +
			 (r->cupti_ns > 0 ? r->cupti_ns : 0);

	wt_strbuf_adds(out, "cost      ");
	if (r->hook_ns < 0 && r->writer_cpu_ns < 0 && r->cupti_ns < 0) {
		wt_strbuf_adds(out, "not recorded\n");
		return;
	}
	wt_text_span(out, sum_ns);
	wt_strbuf_adds(out, " of CPU time (hooks ");
	wt_text_span(out, r->hook_ns > 0 ? r->hook_ns : 0);
	wt_strbuf_adds(out, ", writer ");
	wt_text_span(out, r->writer_cpu_ns > 0 ? r->writer_cpu_ns : 0);
	wt_strbuf_adds(out, ", CUPTI ");
	wt_text_span(out, r->cupti_ns > 0 ? r->cupti_ns : 0);
	wt_strbuf_addc(out, ')');
	if (r->recorded_ns)
		wt_strbuf_addf(out, " = %.3f %% of the time recorded",
			       100.0 * (double)sum_ns / (double)r->recorded_ns);
	if (r->bytes_out >= 0)
		wt_strbuf_addf(out, "; %" PRId64 " bytes written", r->bytes_out);
	wt_strbuf_addc(out, '\n');
}

void wt_head_text(const struct wt_report *r, struct wt_strbuf *out)
{
	level_text(r, out);
	coverage_text(r, out);
	cost_text(r, out);
}

/* The leaves that are not work done: largest first. Returns how many. */
static int opportunities(const struct wt_report *r, enum wt_leaf ret[WT_LEAVES])
{
	int n = 0;

	for (int i = WT_B1; i < WT_E5; i++) {
		int at = n;

		if (r->total.leaves_ns[i] <= (i == WT_E1 ? r->total.chosen_ns : 0))
			continue;
		for (; at && r->total.leaves_ns[ret[at - 1]] < r->total.leaves_ns[i]; at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
		n++;
	}
	return n;
}

static int grade_of(const struct wt_report *r, enum wt_leaf leaf)
{
	int64_t most_ns = -1;
	int grade = 0;

	for (size_t d = 0; d < r->ledger->ndevices; d++) {
		const struct wt_ledger_device *dev = &r->ledger->devices[d];

		if (dev->account.leaves_ns[leaf] > most_ns) {
			most_ns = dev->account.leaves_ns[leaf];
			grade = wt_leaf_grade(dev, leaf);
		}
	}
	return grade;
}

struct fact {
	const char *what;
	int64_t ns;
};

/*
 * What the shares are of: the start and the end of a process hold no device work, and say nothing about the rest; nor
 * does the time between windows of recording.
 */
static int64_t between_records_ns(const struct wt_report *r)
{
	int64_t ns = r->total.window_ns - r->total.leaves_ns[WT_E5] - r->total.chosen_ns;

	return ns > 0 ? ns : r->total.window_ns;
}

static void leaf_text(const struct wt_report *r, struct wt_strbuf *out, const char *what,
		      enum wt_leaf leaf)
{
	int64_t ns = r->total.leaves_ns[leaf];

	wt_strbuf_addf(out, "  %s: %s %s, ", what, wt_leaves[leaf].key, wt_leaves[leaf].title);
	wt_text_span(out, ns);
	wt_strbuf_adds(out, " = ");
	wt_text_percent(out, ns, between_records_ns(r));
	wt_strbuf_addf(out, " (%s): %s\n", wt_grade_name(grade_of(r, leaf)),
		       wt_leaves[leaf].meaning);
}

/* Whole steps, of the time that the first lines are of: what is not in them is start-up, partial steps and the end. */
static void steps_text(const struct wt_report *r, struct wt_strbuf *out)
{
	size_t n = wt_axes_whole_steps(r->axes);
	int64_t ns = 0;

	if (n < 2 || r->ledger->narrowed)
		return;
	for (size_t i = 0; i < r->axes->nsteps; i++)
		if (!r->axes->steps[i].partial)
			ns += r->axes->steps[i].end_ns - r->axes->steps[i].start_ns;
	if (ns >= between_records_ns(r)) {
		wt_strbuf_addf(out, "  all of that is %zu whole steps, see below\n", n);
		return;
	}
	wt_strbuf_adds(out, "  of that ");
	wt_text_span(out, ns);
	wt_strbuf_addf(out,
		       " are %zu whole steps, see below; the rest is start-up, partial steps and "
		       "the end\n",
		       n);
}

static void facts_text(const struct wt_report *r, const struct fact *facts, int n, int most,
		       struct wt_strbuf *out)
{
	const struct wt_account *t = &r->total;
	int64_t whole_ns = between_records_ns(r);
	int printed = 0;

	wt_strbuf_addf(out, "  mostly %s: of ", facts[most].what);
	wt_text_span(out, whole_ns);
	wt_strbuf_adds(out, " device time");
	if (whole_ns < t->window_ns) {
		wt_strbuf_adds(out, t->chosen_ns ? " in windows of recording ("
						 : " between the first and the last record (");
		wt_text_span(out, t->window_ns);
		wt_strbuf_adds(out, " with what is outside)");
	}
	wt_strbuf_addc(out, ',');
	for (int i = 0; i < n; i++) {
		if (!facts[i].ns && i != most)
			continue;
		wt_strbuf_adds(out, printed++ ? ", " : " ");
		wt_text_percent(out, facts[i].ns, whole_ns);
		wt_strbuf_addf(out, " %s", facts[i].what);
	}
	wt_strbuf_addc(out, '\n');
	steps_text(r, out);
}

/* What is more telling than any share: the job stands, or hardly used its devices. 1 = no advice follows. */
static int standstill_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int64_t used_ns = between_records_ns(r);

	struct wt_strbuf text = {.n = 0};
	int stands = r->progress && wt_text_standstill(r->progress, &text);

	if (stands)
		wt_strbuf_addf(out,
			       "  it stood when recording ended: %s; see \"Where communication "
			       "stands\"\n",
			       wt_strbuf_text(&text));
	wt_strbuf_release(&text);
	if (stands)
		return 1;
	if (used_ns < (r->total.window_ns - r->total.chosen_ns) / HARDLY) {
		wt_strbuf_adds(out, "  hardly used: all records of the devices lie within ");
		wt_text_span(out, used_ns);
		wt_strbuf_adds(out, " of the ");
		wt_text_span(out, r->total.window_ns);
		wt_strbuf_adds(out, " recorded\n");
		return 1;
	}
	return 0;
}

void wt_headline_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_account *t = &r->total;
	struct fact facts[] = {{"computing", wt_account_compute_ns(t)},
			       {"exposed communication", wt_account_comm_exposed_ns(t)},
			       {"exposed copies", wt_account_copy_exposed_ns(t)},
			       {"spinning", wt_account_spin_ns(t)},
			       {"idle", wt_account_idle_ns(t)},
			       {"without records", wt_account_none_ns(t) - wt_account_idle_ns(t)}};
	int64_t whole_ns = between_records_ns(r);
	enum wt_leaf leaves[WT_LEAVES], use = WT_A1;
	int n = opportunities(r, leaves), most = 0, stands;
	int n_facts = (int)(sizeof(facts) / sizeof(facts[0]));

	if (!t->window_ns)
		return;
	if (whole_ns < t->window_ns)
		facts[n_facts - 1].ns -= t->leaves_ns[WT_E5] + t->chosen_ns;
	for (int i = 1; i < n_facts; i++)
		if (facts[i].ns > facts[most].ns)
			most = i;
	for (int k = WT_A1; k <= WT_A6; k++)
		if (t->leaves_ns[k] > t->leaves_ns[use])
			use = k;
	wt_text_heading(r, out, "What bounds the job");
	stands = standstill_text(r, out);
	facts_text(r, facts, n_facts, most, out);
	/* Of whole steps, "what to win first" says it better: start-up is not in them. */
	if (stands || (wt_axes_whole_steps(r->axes) >= 2 && !r->ledger->narrowed))
		return;
	if (!most)
		leaf_text(r, out, "largest use", use);
	if (n && t->leaves_ns[leaves[0]] * 1000 >= whole_ns)
		leaf_text(r, out, leaves[0] < WT_E1 ? "largest loss" : "largest part not seen",
			  leaves[0]);
	/* Where next to nothing is lost, what is left to gain lies in the kernels. */
	if (n && (most || t->leaves_ns[leaves[0]] >= whole_ns / 10))
		use = leaves[0];
	else if (most)
		return; /* only the edges of the window are left */
	wt_strbuf_addf(out, "  do first%s: %s\n",
		       grade_of(r, use) == 1 ? ", if the estimate holds" : "",
		       wt_leaves[use].remedy);
}

void wt_rollup_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "rollup_ns", '{');
	for (int i = 0; i < WT_ROLLUPS; i++)
		wt_jout_int(j, wt_rollup_names[i], r->rollup_ns[i]);
	wt_jout_close(j, '}');
}
