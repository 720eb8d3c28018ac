/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of an iteration's rounded number of tokens there are: graphs are made for a few numbers of tokens, and grids
 * inside and between them say those. Two things that come before the first layer tell the true one.
 */
#include "axes/axes_impl.h"

/* Copies that have to agree on the number of tokens; and where it is that of requests, too. */
#define AGREE	  2
#define ALL_AGREE 4

/*
 * The host copies the tokens' ids, positions and places in the cache, 4 or 8 bytes each, so some copies agree; the next
 * smaller graph is no less than half as large. Numbers of requests are copied as well, so that as many tokens as
 * requests take more agreement. (vLLM's second runner has them made on the device and copies other things.)
 */
int64_t wt_tokens_copied(const uint64_t *copied, size_t ncopied, int64_t requests, int64_t rounded)
{
	int64_t best = -1;
	size_t most = 0;

	for (size_t i = 0; i < 2 * ncopied; i++) {
		uint64_t each = i % 2 ? 8 : 4, n = copied[i / 2] / each;
		size_t agree = 0, least = (int64_t)n == requests ? ALL_AGREE : AGREE;

		if (copied[i / 2] % each || (int64_t)n < requests || (int64_t)n > rounded ||
		    2 * n <= (uint64_t)rounded)
			continue;
		for (size_t k = 0; k < ncopied; k++)
			agree += copied[k] == 4 * n || copied[k] == 8 * n;
		if (agree >= least && agree > most) {
			best = (int64_t)n;
			most = agree;
		}
	}
	return best;
}

/*
 * vLLM's second runner marks a byte for each token: so many that are one, and behind them, where there are any, so many
 * that are padding. Together they are the rounded number; anything else was filled for another reason.
 */
int64_t wt_tokens_filled(const uint64_t *filled, size_t nfilled, int64_t requests, int64_t rounded)
{
	uint64_t all = (uint64_t)rounded;
	int64_t found = -1;

	for (size_t i = 0; i < nfilled && rounded > 0 && requests > 0; i++) {
		if (filled[i] > all || filled[i] < (uint64_t)requests)
			continue;
		if (i + 1 < nfilled && filled[i + 1] && filled[i + 1] == all - filled[i])
			return (int64_t)filled[i];
		if (filled[i] == all)
			found = rounded;
	}
	return found;
}
