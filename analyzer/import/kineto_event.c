/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kineto_event.h. Most events of a file are of no interest (Python frames, operators, flows: four of five), so the
 * first word that says so ends the work: the rest of the object is skipped by the scanner's inner loop. Kineto writes
 * ph, cat and name first, but nothing here depends on it.
 *
 * Values of an unexpected kind (null, a list where a number should be) are skipped, not errors: only bad JSON is.
 */
#define _GNU_SOURCE /* memmem */
#include "import/kineto_event.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strtab.h"
#include "import/decimal.h"
#include "import/kineto_event_impl.h"
#include "import/kineto_layout.h"
#include "import/kineto_sites.h"
#include "import/kineto_work.h"
#include "proto/wt_err.h"

#define COUNT(a_)    (sizeof(a_) / sizeof(*(a_)))
#define STEP_PREFIX  "ProfilerStep#"
#define LONGEST_SITE 255

#define FIELD(key_, kind_, member_, flag_)                                                         \
	{                                                                                          \
		key_, sizeof(key_) - 1, WT_KINETO_F_##kind_,                                       \
			offsetof(struct wt_kineto_event, member_), flag_                           \
	}
static const struct wt_kineto_field fields[] = {
	FIELD("device", U64, device, WT_KINETO_HAS_DEVICE),
	FIELD("stream", U64, stream, WT_KINETO_HAS_STREAM),
	FIELD("correlation", U64, correlation, 0),
	FIELD("bytes", U64, bytes, 0),
	FIELD("External id", U64, external, 0),
	FIELD("external id", U64, external, 0),
	FIELD("Input Dims", DIMS, in, 0),
	FIELD("Input dims", DIMS, in, 0),
	FIELD("Input type", TYPES, in, 0),
	FIELD("Concrete Inputs", CONCRETE, yes, WT_KINETO_HAS_CONCRETE),
	FIELD("grid", VEC3, grid, 0),
	FIELD("block", VEC3, block, 0),
	FIELD("registers per thread", U32, regs, 0),
	FIELD("shared memory", U32, smem, 0),
	FIELD("graph node id", U64, graph_node, 0),
	FIELD("kind", COPY_KIND, copy_kind, 0),
	FIELD("name", OBJECT_NAME, arg_name, 0),
	FIELD("Collective name", COLLECTIVE, coll_op, WT_KINETO_HAS_COLLECTIVE),
	FIELD("In msg nelems", U64, in_elements, 0),
	FIELD("Out msg nelems", U64, out_elements, 0),
	FIELD("Group size", U32, group_size, 0),
	FIELD("dtype", DTYPE, dtype, 0),
	FIELD("Seq", U64, seq, WT_KINETO_HAS_SEQ),
	FIELD("Rank", U64, rank, WT_KINETO_HAS_RANK),
	FIELD("Process Group Name", GROUP, comm, 0),
	FIELD("Process Group Description", GROUP_DESC, comm, 0),
	FIELD("Src Rank", U64, src, WT_KINETO_HAS_SRC),
	FIELD("Dst Rank", U64, dst, WT_KINETO_HAS_DST),
	FIELD("Device Type", U64, memory_type, WT_KINETO_HAS_MEMORY),
	FIELD("Device Id", U64, memory_device, 0),
	FIELD("Total Allocated", U64, total_allocated, 0),
	FIELD("Total Reserved", U64, total_reserved, 0),
	FIELD("Process Group Ranks", GROUP_RANKS, comm, 0),
	FIELD("Call stack", STACK, site, 0),
	FIELD("Call Stack", STACK, site, 0),
	FIELD("stack", STACK, site, 0),
};
#undef FIELD

static unsigned key_slot(const char *s, size_t n)
{
	return ((unsigned)n * 31 + (unsigned char)s[0] + (unsigned char)s[n - 1] * 7u) %
	       WT_KINETO_SLOTS;
}

struct wt_kineto_parser *wt_kineto_parser_new(struct wt_json *js)
{
	struct wt_kineto_parser *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->js = js;
	ps->layout = wt_kineto_layout_new();
	ps->sites = wt_kineto_sites_new();
	if (!ps->layout || !ps->sites) {
		wt_kineto_parser_free(ps);
		return NULL;
	}
	for (size_t i = 0; i < COUNT(fields); i++) {
		unsigned at = key_slot(fields[i].key, fields[i].n);

		while (ps->slots[at])
			at = (at + 1) % WT_KINETO_SLOTS;
		ps->slots[at] = (uint8_t)(i + 1);
	}
	wt_json_keep(js, ps->texts, COUNT(ps->texts));
	return ps;
}

void wt_kineto_parser_keep_asides(struct wt_kineto_parser *ps)
{
	ps->keeps_asides = 1;
}

static int text_is(const struct wt_json_text *t, const char *word)
{
	return t->n == strlen(word) && !memcmp(t->s, word, t->n);
}

static int is_memory(char ph, const struct wt_json_text *name)
{
	return ph == 'i' && text_is(name, "[memory]");
}

int wt_kineto_is_memory(const struct wt_kineto_event *ev)
{
	return is_memory(ev->ph, &ev->name);
}

int wt_kineto_is_aside(const struct wt_kineto_event *ev)
{
	if (ev->ph != 'X' || !(ev->flags & WT_KINETO_HAS_DUR) || ev->cat == WT_KINETO_UNSEEN ||
	    (ev->cat > WT_KINETO_IGNORED && ev->cat != WT_KINETO_RANGE &&
	     ev->cat != WT_KINETO_OPERATOR && ev->cat != WT_KINETO_FRAME))
		return 0;
	return (ev->flags & WT_KINETO_HAS_STREAM && ev->stream != -1) ||
	       text_is(&ev->name, "Event Sync") || text_is(&ev->name, "Context Sync") ||
	       (ev->cat == WT_KINETO_IGNORED && ev->name.n &&
		memmem(ev->name.s, ev->name.n, STEP_PREFIX, sizeof(STEP_PREFIX) - 1));
}

void wt_kineto_parser_free(struct wt_kineto_parser *ps)
{
	if (!ps)
		return;
	wt_kineto_layout_free(ps->layout);
	wt_kineto_sites_free(ps->sites);
	free(ps);
}

void wt_kineto_parser_plain(struct wt_kineto_parser *ps)
{
	wt_kineto_layout_free(ps->layout);
	ps->layout = NULL;
}

uint64_t wt_kineto_seen(const struct wt_kineto_parser *ps)
{
	return ps->seen;
}

int wt_kineto_has_phase(const struct wt_kineto_parser *ps)
{
	return ps->ev.ph && ps->ev.ph != '?';
}

const struct wt_kineto_field *wt_kineto_find_field(const struct wt_kineto_parser *ps,
						   struct wt_json_text key)
{
	if (!key.n)
		return NULL;
	for (unsigned at = key_slot(key.s, key.n); ps->slots[at]; at = (at + 1) % WT_KINETO_SLOTS) {
		const struct wt_kineto_field *f = &fields[ps->slots[at] - 1];

		if (f->n == key.n && !memcmp(f->key, key.s, key.n))
			return f;
	}
	return NULL;
}

/* The text of a number or string: 1; 0 if it is neither (skipped); or an error. */
static int scalar(struct wt_json *js, struct wt_json_text *ret)
{
	int kind = wt_json_scalar(js, ret);

	return kind < 0 ? kind : kind == WT_JSON_STRING || kind == WT_JSON_NUMBER;
}

static int string(struct wt_json *js, struct wt_json_text *ret)
{
	int kind = wt_json_scalar(js, ret);

	return kind < 0 ? kind : kind == WT_JSON_STRING;
}

/* 1 if the text is an integer that fits, in any of the spellings seen: 7, "7", 7.0, -1. */
static int to_integer(struct wt_json_text t, uint64_t *ret)
{
	int64_t v;

	if (!wt_decimal_u64(t.s, t.n, ret))
		return 1;
	if (wt_decimal_i64(t.s, t.n, &v))
		return 0;
	*ret = (uint64_t)v;
	return 1;
}

int wt_kineto_integer(struct wt_json *js, uint64_t *ret)
{
	struct wt_json_text t;
	int rc = scalar(js, &t);

	return rc <= 0 ? rc : to_integer(t, ret);
}

static int read_vec3(struct wt_json *js, uint32_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	int rc = wt_json_peek(js);

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_enter_array(js);
	if (rc)
		return rc;
	while ((rc = wt_json_item(js)) > 0) {
		rc = wt_kineto_integer(js, &v);
		if (rc < 0)
			return rc;
		if (rc && i < 3 && v <= UINT32_MAX)
			ret[i] = (uint32_t)v;
		i++;
	}
	return rc;
}

static int read_dims(struct wt_json *js, struct wt_kineto_tensor *t)
{
	uint64_t v = 0;
	int rc = wt_json_peek(js), n = 0;

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_enter_array(js);
	if (rc)
		return rc;
	while ((rc = wt_json_item(js)) > 0) {
		rc = wt_kineto_integer(js, &v);
		if (rc < 0)
			return rc;
		if (n < WT_KINETO_DIMS)
			t->dims[n] = rc ? v : 0;
		n++;
	}
	t->ndims = (uint8_t)(n <= WT_KINETO_DIMS ? n : 0);
	return rc;
}

static uint8_t element_type(struct wt_json_text t)
{
	static const struct {
		const char *name;
		uint8_t dtype;
	} types[] = {
		{"float", WT_DTYPE_FP32},
		{"double", WT_DTYPE_FP64},
		{"c10::BFloat16", WT_DTYPE_BF16},
		{"c10::Half", WT_DTYPE_FP16},
		{"c10::Float8_e4m3fn", WT_DTYPE_FP8},
		{"c10::Float8_e5m2", WT_DTYPE_FP8},
		{"signed char", WT_DTYPE_INT8},
		{"int", WT_DTYPE_INT32},
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if (text_is(&t, types[i].name))
			return types[i].dtype;
	return WT_DTYPE_UNKNOWN;
}

/* The lists of an operator, an item an input; those beyond the fourth matter for their truth alone. */
static int read_inputs(struct wt_kineto_parser *ps, const struct wt_kineto_field *f)
{
	struct wt_kineto_event *ev = &ps->ev;
	struct wt_json_text t;
	unsigned i = 0;
	int rc = wt_json_peek(ps->js);

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(ps->js);
	rc = wt_json_enter_array(ps->js);
	if (rc)
		return rc;
	for (; (rc = wt_json_item(ps->js)) > 0; i++) {
		if (f->kind == WT_KINETO_F_DIMS) {
			rc = i < WT_KINETO_TENSORS ? read_dims(ps->js, &ev->in[i])
						   : wt_json_skip(ps->js);
		} else {
			rc = string(ps->js, &t);
			if (rc > 0 && f->kind == WT_KINETO_F_TYPES && i < WT_KINETO_TENSORS)
				ev->in[i].dtype = element_type(t);
			if (rc > 0 && f->kind == WT_KINETO_F_CONCRETE && i < 32 &&
			    (text_is(&t, "True") || text_is(&t, "1")))
				ev->yes |= 1u << i;
		}
		if (rc < 0)
			return rc;
	}
	ev->flags |= f->flag;
	return rc;
}

void wt_kineto_set_text(struct wt_kineto_parser *ps, const struct wt_kineto_field *f,
			struct wt_json_text t)
{
	struct wt_kineto_event *ev = &ps->ev;
	uint8_t pageable = 0;

	switch (f->kind) {
	case WT_KINETO_F_OBJECT_NAME:
		ps->texts[1] = t;
		break;
	case WT_KINETO_F_COPY_KIND:
		ev->copy_kind = wt_kineto_copy_kind(t.s, t.n, &pageable);
		break;
	case WT_KINETO_F_COLLECTIVE:
		ev->coll_op = wt_kineto_collective(t.s, t.n);
		ev->flags |= f->flag;
		t.n = t.n < sizeof(ev->coll_name) ? t.n : sizeof(ev->coll_name) - 1;
		memcpy(ev->coll_name, t.s, t.n);
		ev->coll_name[t.n] = '\0';
		break;
	case WT_KINETO_F_STACK:
		ps->has_stacks |= t.n && ev->cat == WT_KINETO_OPERATOR;
		ev->site = wt_kineto_sites_of(ps->sites, t, 1);
		ev->site.n = ev->site.n < LONGEST_SITE ? ev->site.n : LONGEST_SITE;
		break;
	case WT_KINETO_F_DTYPE:
		ev->dtype = wt_kineto_dtype(t.s, t.n, &ev->dtype_bytes);
		break;
	default: /* WT_KINETO_F_GROUP*; a sum, because the three come in any order; the key says which is which */
		ev->comm += wt_hash_bytes(t.s, t.n, wt_hash_bytes(f->key, f->n, 0));
		if (f->kind == WT_KINETO_F_GROUP_DESC && t.n < sizeof(ev->group_desc)) {
			memcpy(ev->group_desc, t.s, t.n);
			ev->group_desc[t.n] = '\0';
		}
		if (f->kind == WT_KINETO_F_GROUP_RANKS && t.n < sizeof(ev->group_ranks)) {
			memcpy(ev->group_ranks, t.s, t.n);
			ev->group_ranks[t.n] = '\0';
		}
	}
}

int wt_kineto_read_field(struct wt_kineto_parser *ps, const struct wt_kineto_field *f)
{
	char *at = (char *)&ps->ev + f->offset;
	struct wt_json_text t;
	uint64_t v;
	int rc;

	if (f->kind == WT_KINETO_F_VEC3)
		return read_vec3(ps->js, (uint32_t *)at);
	if (f->kind >= WT_KINETO_F_DIMS)
		return wt_kineto_wants_inputs(ps) ? read_inputs(ps, f) : wt_json_skip(ps->js);
	if (f->kind > WT_KINETO_F_VEC3) {
		rc = string(ps->js, &t);
		if (rc > 0)
			wt_kineto_set_text(ps, f, t);
		return rc;
	}
	rc = wt_kineto_integer(ps->js, &v);
	if (rc <= 0)
		return rc;
	if (f->kind == WT_KINETO_F_U64)
		memcpy(at, &v, sizeof(v));
	else if (v <= UINT32_MAX)
		*(uint32_t *)at = (uint32_t)v;
	ps->ev.flags |= f->flag;
	return 0;
}

/* A value of a counter; its key would not outlive the reading of it. */
static int read_series(struct wt_kineto_parser *ps, struct wt_json_text key)
{
	struct wt_kineto_event *ev = &ps->ev;
	struct wt_kineto_series *s = &ev->series[ev->nseries];
	struct wt_json_text t;
	int rc;

	if (ev->nseries == WT_KINETO_SERIES)
		return wt_json_skip(ps->js);
	key.n = key.n < sizeof(s->key) ? key.n : sizeof(s->key) - 1;
	memcpy(s->key, key.s, key.n);
	s->key[key.n] = '\0';
	rc = scalar(ps->js, &t);
	if (rc > 0 && !wt_decimal_scaled(t.s, t.n, 6, &s->value))
		ev->nseries++;
	return rc;
}

/* The rest of an object of arguments. */
static int read_arguments(struct wt_kineto_parser *ps)
{
	struct wt_json_text key;
	int rc;

	while ((rc = wt_json_key(ps->js, &key)) > 0) {
		const struct wt_kineto_field *f =
			ps->ev.ph == 'C' ? NULL : wt_kineto_find_field(ps, key);

		/* Without a phase so far it may become a counter. */
		rc = f				      ? wt_kineto_read_field(ps, f)
		     : !ps->ev.ph || ps->ev.ph == 'C' ? read_series(ps, key)
						      : wt_json_skip(ps->js);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_args(struct wt_kineto_parser *ps)
{
	int rc = wt_json_peek(ps->js);

	if (rc != WT_JSON_OBJECT)
		return rc < 0 ? rc : wt_json_skip(ps->js);
	ps->has_args = 1;
	rc = wt_json_enter_object(ps->js);
	return rc ? rc : read_arguments(ps);
}

static int read_time(struct wt_kineto_parser *ps, int64_t *ret_ns, uint32_t flag)
{
	struct wt_json_text t;
	int rc = scalar(ps->js, &t);

	if (rc <= 0) { /* null, NaN: there is a time, and it is no use */
		ps->ev.flags |= WT_KINETO_BAD_TIME;
		return rc;
	}
	if (wt_decimal_us_to_ns(t.s, t.n, ret_ns))
		ps->ev.flags |= WT_KINETO_BAD_TIME;
	else
		ps->ev.flags |= flag;
	return 0;
}

int wt_kineto_id(struct wt_json_text t, int64_t *ret)
{
	uint64_t v = 0;
	size_t digits = 0;

	if (!to_integer(t, &v)) {
		while (digits < t.n && (unsigned char)(t.s[t.n - digits - 1] - '0') < 10)
			digits++;
		if (!digits || wt_decimal_u64(t.s + t.n - digits, digits, &v))
			return 0;
	}
	*ret = (int64_t)v;
	return 1;
}

/* pid and tid: 7, "7", "stream 7"; a word without a number is 0. */
static int read_id(struct wt_kineto_parser *ps, int64_t *ret, uint32_t flag)
{
	struct wt_json_text t;
	int rc = scalar(ps->js, &t);

	if (rc > 0 && wt_kineto_id(t, ret))
		ps->ev.flags |= flag;
	return rc < 0 ? rc : 0;
}

int wt_kineto_is_told(const struct wt_json_text *name)
{
	/* Compared as constants: this is asked of every operator. */
#define BEGINS(text_) (name->n >= sizeof(text_) - 1 && !memcmp(name->s, text_, sizeof(text_) - 1))
	return BEGINS("ProfilerStep#") || BEGINS("autograd::engine::evaluate_function") ||
	       BEGINS("Optimizer.") || BEGINS("enumerate(DataLoader)") || BEGINS("nn.Module: ");
#undef BEGINS
}

/* The first operators say whether their stacks are in the file. */
static int reads_stacks(const struct wt_kineto_parser *ps)
{
	return ps->operators < WT_KINETO_TRIED || ps->has_stacks;
}

int wt_kineto_unwanted(const struct wt_kineto_parser *ps)
{
	const struct wt_kineto_event *ev = &ps->ev;

	/* An instant may be one of memory; its name says. */
	if (ev->ph == 'i')
		return ps->texts[0].s && !is_memory(ev->ph, &ps->texts[0]);
	if (ev->ph == 'C')
		return 0;
	if (ev->ph && ev->ph != 'X' && ev->ph != 'M')
		return 1;
	if (ps->keeps_asides)
		return 0;
	if (ev->cat == WT_KINETO_IGNORED)
		return ev->ph || (ps->texts[0].s && !is_memory('i', &ps->texts[0]));
	if (!ps->texts[0].s || ev->cat < WT_KINETO_OPERATOR || wt_kineto_is_told(&ps->texts[0]))
		return 0;
	if (ev->cat == WT_KINETO_FRAME)
		return !wt_kineto_sites_of(ps->sites, ps->texts[0], 0).n;
	return !reads_stacks(ps) && !wt_kineto_is_shaped(&ps->texts[0]);
}

int wt_kineto_wants_inputs(const struct wt_kineto_parser *ps)
{
	return !ps->texts[0].s || wt_kineto_is_shaped(&ps->texts[0]);
}

int wt_kineto_wants_args(const struct wt_kineto_parser *ps)
{
	switch (ps->keeps_asides || ps->ev.ph == 'C' ? WT_KINETO_UNSEEN : ps->ev.cat) {
	case WT_KINETO_RANGE:
	case WT_KINETO_FRAME:
		return 0;
	case WT_KINETO_OPERATOR:
		return ps->texts[0].s && (reads_stacks(ps) || wt_kineto_is_shaped(&ps->texts[0]));
	default:
		return 1;
	}
}

int wt_kineto_read_key(struct wt_kineto_parser *ps, struct wt_json_text key)
{
	struct wt_kineto_event *ev = &ps->ev;
	struct wt_json_text t;
	int rc;

#define IS(text_) (key.n == sizeof(text_) - 1 && !memcmp(key.s, text_, sizeof(text_) - 1))
	if (IS("ph")) {
		rc = string(ps->js, &t);
		if (rc > 0)
			ev->ph = t.n == 1 ? t.s[0] : '?';
		ev->flags |= WT_KINETO_IS_EVENT;
		return rc;
	}
	if (IS("cat")) {
		rc = string(ps->js, &t);
		if (rc > 0)
			ev->cat = wt_kineto_category(t.s, t.n);
		ev->flags |= WT_KINETO_IS_EVENT;
		return rc;
	}
	if (IS("name")) {
		rc = string(ps->js, &t);
		if (rc > 0)
			ps->texts[0] = t;
		return rc;
	}
	if (IS("ts"))
		return read_time(ps, &ev->ts_ns, WT_KINETO_HAS_TS);
	if (IS("dur"))
		return read_time(ps, &ev->dur_ns, WT_KINETO_HAS_DUR);
	if (IS("pid"))
		return read_id(ps, &ev->pid, WT_KINETO_HAS_PID);
	if (IS("tid"))
		return read_id(ps, &ev->tid, 0);
	if (IS("args") && wt_kineto_wants_args(ps))
		return read_args(ps);
#undef IS
	return wt_json_skip(ps->js);
}

/* What the layout did not foresee of an event: all of it, as a rule nothing. */
static int read_rest(struct wt_kineto_parser *ps)
{
	struct wt_json_text key;
	int rc = 0;

	if (ps->unwanted)
		return wt_json_skip_rest(ps->js, ps->open);
	if (!ps->open)
		rc = wt_json_enter_object(ps->js);
	else if (ps->open == 2)
		rc = ps->wants_args ? read_arguments(ps) : wt_json_skip_rest(ps->js, 1);
	if (rc < 0)
		return rc;
	while ((rc = wt_json_key(ps->js, &key)) > 0) {
		rc = wt_kineto_read_key(ps, key);
		if (rc < 0)
			return rc;
		if (rc && wt_kineto_unwanted(ps)) {
			ps->unwanted = 1;
			return wt_json_skip_rest(ps->js, 1);
		}
	}
	return rc;
}

static int read_object(struct wt_kineto_parser *ps)
{
	int rc = ps->layout ? wt_kineto_layout_read(ps) : 0;

	if (rc)
		return rc < 0 ? rc : 0;
	rc = read_rest(ps);
	/* The names of a counter's values are its own. */
	if (!rc && ps->layout && ps->ev.ph != 'C')
		wt_kineto_layout_learn(ps);
	return rc;
}

/* By the library: for a size it knows the compiler puts a string instruction here, which takes thrice as long. */
static void clear(void *at, size_t n)
{
	__asm__("" : "+r"(n));
	memset(at, 0, n);
}

void wt_kineto_begin(struct wt_kineto_parser *ps)
{
	struct wt_kineto_event *ev = &ps->ev;

	wt_json_drop(ps->js);
	clear(ev, offsetof(struct wt_kineto_event, device));
	ev->site = (struct wt_json_text){NULL, 0};
	if (ps->has_args) {
		/* The long texts at the end need no clearing. */
		clear(&ev->device, offsetof(struct wt_kineto_event, coll_name) -
					   offsetof(struct wt_kineto_event, device));
		ev->coll_name[0] = ev->group_desc[0] = ev->group_ranks[0] = '\0';
		ev->nseries = 0;
		ps->has_args = 0;
	}
	ps->open = ps->unwanted = 0;
}

uint64_t wt_kineto_passed(struct wt_kineto_parser *ps)
{
	uint64_t passed = ps->passed;

	ps->passed = 0;
	return passed;
}

int wt_kineto_parse(struct wt_kineto_parser *ps, const struct wt_kineto_event **ret)
{
	struct wt_kineto_event *ev = &ps->ev;
	int rc = wt_json_peek(ps->js);

	if (rc != WT_JSON_OBJECT)
		return rc < 0 ? rc : wt_json_skip(ps->js);
	wt_kineto_begin(ps);
	rc = read_object(ps);
	if (ps->unwanted) {
		ps->seen++;
		return rc;
	}
	ps->seen += (ev->flags & WT_KINETO_IS_EVENT) != 0;
	if (rc < 0 || !ev->ph)
		return rc;
	ps->operators += ev->cat == WT_KINETO_OPERATOR && ps->operators < WT_KINETO_TRIED;
	ev->name = ps->texts[0];
	ev->arg_name = ps->texts[1];
	if (ev->cat == WT_KINETO_COPY && ev->name.n) {
		uint8_t kind = wt_kineto_copy_kind(ev->name.s, ev->name.n, &ev->copy_flags);

		ev->copy_kind = kind ? kind : ev->copy_kind;
	}
	if (ev->cat == WT_KINETO_FRAME)
		ev->site = wt_kineto_is_told(&ev->name)
				   ? (struct wt_json_text){NULL, 0}
				   : wt_kineto_sites_of(ps->sites, ev->name, 0);
	*ret = ev;
	if (ev->ph == 'i')
		return is_memory(ev->ph, &ev->name);
	return ev->ph == 'M' || ev->ph == 'C' || ev->cat > WT_KINETO_IGNORED ||
	       (ps->keeps_asides && (ps->seen == 1 || wt_kineto_is_aside(ev)));
}
