/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What did not work in the recorder, in words for the report: one line for each kind (Troubles of warptap-trace.5).
 * Unknown kinds, of a newer recorder, are told by number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

enum source {
	NONE,
	SYSTEM,
	NUMBER
}; /* what an error is: errno, or a number of CUPTI's or the driver's */

static const struct {
	const char *text;
	enum source source;
} kinds[] = {
#define KIND(what_, source_, text_) [WT_PB(TROUBLE_WHAT, what_)] = {text_, source_}
	KIND(CONTROL, SYSTEM, "the recorder could not be asked: its control socket failed"),
	KIND(BLACK_BOX, SYSTEM,
	     "no black box: of a process that is killed the last second is lost"),
	KIND(MEMORY, SYSTEM, "no memory for some names, contexts or streams: they are missing"),
	KIND(CUPTI, NUMBER, "CUPTI refused calls of the recorder's"),
	KIND(CUPTI_LIBRARY, NONE, "no libcupti that could be used"),
	KIND(DRIVER, NUMBER, "the driver refused questions of the recorder's"),
	KIND(PROCESS, SYSTEM, "of the machine or the process something could not be read"),
	KIND(LEFT_BEHIND, SYSTEM, "a file of the recorder's could not be removed"),
	KIND(LOG, SYSTEM, "lines of the recorder's log are lost"),
	KIND(UNTIMED, NONE, "CUPTI gave records without times: collection was begun anew"),
	KIND(DESCRIPTORS, NONE,
	     "of more descriptors of cuDNN than there is room for sizes are missing"),
#undef KIND
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

void wt_trace_load_troubles(struct wt_trace *t, const Warptap__V1__Troubles *m)
{
	size_t n = m->n_what;

	if (m->n_n != n || m->n_error != n) {
		t->malformed++;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned what = (unsigned)m->what[i] < WT_TROUBLES ? m->what[i] : WT_TROUBLES - 1;

		t->trouble[what].n = m->n[i];
		t->trouble[what].error = m->error[i];
	}
}

void wt_trace_note_troubles(struct wt_trace *t)
{
	for (unsigned i = 0; i < WT_TROUBLES; i++) {
		const char *text = i < KINDS ? kinds[i].text : NULL;
		enum source from = text ? kinds[i].source : NUMBER;
		int error = t->trouble[i].error;
		char why[80] = "";

		if (!t->trouble[i].n)
			continue;
		if (error && from == SYSTEM)
			snprintf(why, sizeof(why), ": %s", strerror(error));
		else if (error && from == NUMBER)
			snprintf(why, sizeof(why), ": error %d", error);
		wt_builder_note(t->b, "pid %" PRIu64 ": %s (%" PRIu64 " time%s%s)", t->pid,
				text ? text : "something failed that this program does not know",
				t->trouble[i].n, t->trouble[i].n == 1 ? "" : "s", why);
	}
}
