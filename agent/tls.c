// SPDX-License-Identifier: Apache-2.0
/*
 * The words every hook reads first. Apart from everything else, so that unit tests can link parts of the agent
 * without its constructor.
 */
#include "tls.h"

#include <stddef.h>

#include "agent.h"

__thread struct wt_tls wt_tls __attribute__((tls_model("initial-exec")));

/* Until the constructor has a MADV_WIPEONFORK page, and for ever where the kernel refuses one: inert. */
static struct wt_words never = {.alive = 1};
struct wt_words *wt_words = &never;
_Atomic uint32_t *wt_level_word = &never.level;

void wt_silence_enter(void)
{
	struct wt_tls *t = &wt_tls;

	if (t->row)
		t->put_by = t->row;
	t->row = NULL;
	t->busy += WT_BUSY_SILENT;
}

void wt_silence_leave(void)
{
	struct wt_tls *t = &wt_tls;

	t->busy -= WT_BUSY_SILENT;
	if (t->busy || !t->context || !t->put_by)
		return;
	t->row = t->put_by;
	t->put_by = NULL;
}
