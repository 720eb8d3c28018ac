/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine's annotation says about an iteration. vLLM:
 * execute_context_<requests>(<tokens>)_generation_<requests>(<tokens>), where tokens may be followed by more, or be
 * sums over requests: (sq<new>sk<all>sqsq<new squared>sqsk<new times all>). SGLang: step[EXTEND bs=<requests>
 * toks=<tokens>], step[DECODE bs=<requests>].
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"

#define MOST_SUM (INT64_C(1) << 53)

/* The number behind `word`, -1 = not there, or more than `most`. */
static int64_t number_up_to(const char *name, const char *word, int64_t most)
{
	const char *at = strstr(name, word);
	char *end;
	long long n;

	if (!at)
		return -1;
	at += strlen(word);
	n = strtoll(at, &end, 10);
	return end == at || n < 0 || n > most ? -1 : n;
}

static int64_t number_after(const char *name, const char *word)
{
	return number_up_to(name, word, INT32_MAX);
}

/* "context_2(8192)", "context_9(sq8155sk8430...)": requests and new tokens. */
static void part(const char *name, const char *word, int64_t *ret_requests, int64_t *ret_tokens)
{
	const char *at = strstr(name, word);

	*ret_requests = number_after(name, word);
	*ret_tokens = -1;
	at = at ? strchr(at, '(') : NULL;
	if (at)
		*ret_tokens = number_after(at, strncmp(at, "(sq", 3) ? "(" : "(sq");
}

static void of_sglang(const char *name, struct wt_batch *b)
{
	int64_t requests = number_after(name, "bs="), tokens = number_after(name, "toks=");

	b->requests = requests;
	if (!strncmp(name + 5, "EXTEND", 6)) {
		b->context_requests = requests;
		b->tokens = b->context_tokens = tokens;
		b->generation_requests = b->generation_tokens = 0;
	} else if (!strncmp(name + 5, "DECODE", 6)) {
		b->context_requests = b->context_tokens = 0;
		b->generation_requests = requests;
		/* A token each, but where it guesses ahead: then it says how many. */
		b->tokens = b->generation_tokens = tokens >= 0 ? tokens : requests;
	} else {
		b->tokens = tokens;
	}
}

static int64_t sum(int64_t x, int64_t y)
{
	return x < 0 || y < 0 ? -1 : x + y;
}

/* What the requests of a part attend to, added. */
static void add_sums(const char *name, const char *word, struct wt_batch *b)
{
	const char *at = strstr(name, word);

	at = at ? strchr(at, '(') : NULL;
	if (!at || strncmp(at, "(sq", 3))
		at = "";
	b->kv_tokens = sum(b->kv_tokens, number_up_to(at, "sk", MOST_SUM));
	b->squares = sum(b->squares, number_up_to(at, "sqsq", MOST_SUM));
	b->pairs = sum(b->pairs, number_up_to(at, "sqsk", MOST_SUM));
}

int wt_batch_of_name(const char *name, struct wt_batch *ret)
{
	*ret = wt_batch_unknown;
	if (!strncmp(name, "step[", 5)) {
		of_sglang(name, ret);
	} else {
		part(name, "context_", &ret->context_requests, &ret->context_tokens);
		part(name, "generation_", &ret->generation_requests, &ret->generation_tokens);
		ret->tokens = sum(ret->context_tokens, ret->generation_tokens);
		ret->requests = sum(ret->context_requests, ret->generation_requests);
		ret->kv_tokens = ret->squares = ret->pairs = 0;
		add_sums(name, "context_", ret);
		add_sums(name, "generation_", ret);
	}
	if (ret->requests < 0)
		return 0;
	ret->source = WT_BATCH_ANNOTATED;
	ret->grade = 2;
	return 1;
}

enum wt_phase wt_engine_phase(const char *name)
{
	struct wt_batch b;

	if (!wt_batch_of_name(name, &b))
		return WT_PHASE_UNKNOWN;
	if (!strncmp(name, "step[MIXED", 10))
		return WT_PHASE_MIXED;
	if (b.context_requests > 0)
		return b.generation_requests > 0 ? WT_PHASE_MIXED : WT_PHASE_PREFILL;
	return b.generation_requests > 0 ? WT_PHASE_DECODE : WT_PHASE_UNKNOWN;
}
