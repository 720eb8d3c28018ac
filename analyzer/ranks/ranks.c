/* SPDX-License-Identifier: Apache-2.0 */
/* See ranks.h: the stages in their order. */
#include "ranks/ranks.h"

#include <stdlib.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

static int build(struct wt_ranks *r, struct wt_ledger *l)
{
	int err = wt_ranks_collect(r);

	err = err ? err : wt_ranks_clocks(r);
	err = err ? err : wt_ranks_families(r, l);
	err = err ? err : wt_ranks_waits(r);
	err = err ? err : wt_ranks_p2p(r);
	err = err ? err : wt_ranks_groups(r);
	err = err ? err : wt_ranks_cut(r, l);
	err = err ? err : wt_ranks_blame(r, l);
	return err ? err : wt_ranks_steps(r, NULL, 0);
}

int wt_ranks_build(struct wt_ranks **ret, struct wt_ledger *l, struct wt_diag *diag)
{
	struct wt_ranks *r = calloc(1, sizeof(*r));
	int err = -WT_E_NOMEM;

	if (r) {
		r->tl = l->tl;
		err = build(r, l);
	}
	if (err) {
		wt_ranks_free(r);
		return wt_fail(
			diag, -err, -1,
			err == -WT_E_NOMEM
				? "out of memory"
				: "internal error: the leaves of a device do not sum to its window "
				  "after its communication was split");
	}
	*ret = r;
	return 0;
}

void wt_ranks_free(struct wt_ranks *r)
{
	if (!r)
		return;
	wt_map_release(&r->seat_of);
	wt_matches_release(&r->matches);
	wt_matches_release(&r->families);
	free(r->seats);
	free(r->parts);
	free(r->family_ops);
	free(r->clocks);
	free(r->comms);
	free(r->comm_of);
	free(r->blames);
	free(r->waits);
	free(r->steps);
	free(r->stragglers);
	free(r);
}
