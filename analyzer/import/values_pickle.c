/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python pickles, protocols 0 to 5, as far as they hold plain values (see values.h). A pickle is a program for a stack
 * machine; this machine has no instruction that names a class, calls anything, or looks outside the file: those end
 * it with the offset and the name that was asked for. The meaning of the instructions is that of Python's own
 * pickletools.
 */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/decimal.h"
#include "import/values_impl.h"

struct machine {
	struct wt_values *v;
	const uint8_t *p;
	size_t n, at;
	uint32_t *stack;
	size_t depth;
	struct wt_map memo;
	uint32_t memo_next;
	uint32_t none, truth[2], mark;
	uint32_t small[256]; /* integers; 0 = not made yet */
	struct wt_diag *diag;
	size_t op_at;
};

typedef int (*instruction)(struct machine *m, unsigned arg);

static int fail(struct machine *m, enum wt_err err, const char *what)
{
	return wt_fail(m->diag, err, (int64_t)m->op_at, "a pickle %s", what);
}

static int fail_limit(struct machine *m)
{
	return fail(m, WT_E_LIMIT, "with more values than its size allows");
}

static int push(struct machine *m, uint32_t id)
{
	if (!id)
		return fail_limit(m);
	m->stack[m->depth++] =
		id; /* an instruction has a byte at least and pushes one value: it fits */
	return 0;
}

static int need(struct machine *m, size_t n)
{
	if (m->depth < n)
		return fail(m, WT_E_CORRUPT, "takes more from its stack than is there");
	for (size_t i = m->depth - n; i < m->depth; i++)
		if (m->stack[i] == m->mark)
			return fail(m, WT_E_CORRUPT, "takes a mark for a value");
	return 0;
}

/* How many values lie above the topmost mark; -1 if there is none. */
static long above_mark(const struct machine *m)
{
	for (size_t i = m->depth; i--;)
		if (m->stack[i] == m->mark)
			return (long)(m->depth - i - 1);
	return -1;
}

static int have(struct machine *m, uint64_t n)
{
	return n <= m->n - m->at ? 0 : fail(m, WT_E_TRUNCATED, "ends inside a value");
}

static uint64_t le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* ---- values ---- */

static int op_none(struct machine *m, unsigned arg)
{
	return push(m, m->none);
}

static int op_bool(struct machine *m, unsigned arg)
{
	return push(m, m->truth[arg]);
}

static int push_int(struct machine *m, int64_t i)
{
	if (i < 0 || i > 255)
		return push(m, wt_values_add_int(m->v, i));
	if (!m->small[i])
		m->small[i] = wt_values_add_int(m->v, i);
	return push(m, m->small[i]);
}

/* arg: bytes; 4 are signed, fewer are not. */
static int op_binint(struct machine *m, unsigned arg)
{
	uint64_t i;

	if (have(m, arg))
		return -WT_E_TRUNCATED;
	i = le(m->p + m->at, arg);
	m->at += arg;
	return push_int(m, arg == 4 ? (int32_t)(uint32_t)i : (int64_t)i);
}

/* arg: bytes of the length. More than 64 bits are no number we know: kept as text of those bytes. */
static int op_long(struct machine *m, unsigned arg)
{
	uint64_t n, i;
	size_t at;

	if (have(m, arg))
		return -WT_E_TRUNCATED;
	n = le(m->p + m->at, arg);
	m->at += arg;
	if (have(m, n))
		return -WT_E_TRUNCATED;
	at = m->at;
	m->at += n;
	if (n > 9 || (n == 9 && m->p[at + 8]))
		return push(m, wt_values_add_text(m->v, at, (size_t)n));
	i = le(m->p + at, (unsigned)(n > 8 ? 8 : n));
	if (n && n < 8 && m->p[at + n - 1] & 0x80)
		i |= ~UINT64_C(0) << 8 * n;
	return push_int(m, (int64_t)i);
}

/* Up to the end of the line: [at, at + *ret_n). */
static int line(struct machine *m, size_t *ret_at, size_t *ret_n)
{
	const uint8_t *end = memchr(m->p + m->at, '\n', m->n - m->at);

	if (!end) {
		fail(m, WT_E_TRUNCATED, "ends inside a line");
		return -WT_E_TRUNCATED;
	}
	*ret_at = m->at;
	*ret_n = (size_t)(end - m->p) - m->at;
	m->at += *ret_n + 1;
	return 0;
}

static int op_int_line(struct machine *m, unsigned arg)
{
	size_t at, n;
	int64_t i;
	int err = line(m, &at, &n);

	if (err)
		return err;
	if (n == 2 && m->p[at] == '0' && (m->p[at + 1] == '0' || m->p[at + 1] == '1'))
		return push(m, m->truth[m->p[at + 1] - '0']);
	if (n && m->p[at + n - 1] == 'L')
		n--;
	if (wt_decimal_i64((const char *)m->p + at, n, &i))
		return push(m, wt_values_add_text(m->v, at, n));
	return push_int(m, i);
}

static int op_float_line(struct machine *m, unsigned arg)
{
	size_t at, n;
	uint32_t id;
	int err = line(m, &at, &n);

	if (err)
		return err;
	id = wt_values_add_text(m->v, at, n);
	if (id) {
		m->v->rows[id].kind = WT_VALUE_REAL;
		m->v->rows[id].has_text = 1;
	}
	return push(m, id);
}

static int op_float(struct machine *m, unsigned arg)
{
	uint64_t bits;
	uint32_t id;

	if (have(m, 8))
		return -WT_E_TRUNCATED;
	memcpy(&bits, m->p + m->at, 8);
	bits = be64toh(bits);
	m->at += 8;
	id = wt_values_add(m->v, WT_VALUE_REAL);
	if (id)
		memcpy(&m->v->rows[id].u.real, &bits, 8);
	return push(m, id);
}

/* arg: bytes of the length. */
static int op_text(struct machine *m, unsigned arg)
{
	uint64_t n;
	size_t at;

	if (have(m, arg))
		return -WT_E_TRUNCATED;
	n = le(m->p + m->at, arg);
	m->at += arg;
	if (have(m, n))
		return -WT_E_TRUNCATED;
	at = m->at;
	m->at += n;
	return push(m, wt_values_add_text(m->v, at, (size_t)n));
}

/* Protocol 0; a text in quotes (arg 1) loses them, escapes stay as they are. */
static int op_text_line(struct machine *m, unsigned arg)
{
	size_t at, n;
	int err = line(m, &at, &n);

	if (err)
		return err;
	if (arg && n >= 2 && (m->p[at] == '\'' || m->p[at] == '"') &&
	    m->p[at + n - 1] == m->p[at]) {
		at++;
		n -= 2;
	}
	return push(m, wt_values_add_text(m->v, at, n));
}

/* ---- lists and maps ---- */

static int op_empty(struct machine *m, unsigned arg)
{
	return push(m, wt_values_add(m->v, (uint8_t)arg));
}

static int append(struct machine *m, uint32_t to, size_t n, unsigned kind)
{
	if (m->v->rows[to].kind != kind)
		return fail(m, WT_E_CORRUPT, "appends to what is no list or map");
	if (kind == WT_VALUE_MAP && n % 2)
		return fail(m, WT_E_CORRUPT, "has a key without a value");
	if (wt_values_append(m->v, to, &m->stack[m->depth - n], n))
		return fail_limit(m);
	m->depth -= n;
	return 0;
}

/* All above the mark become a new list or map. */
static int op_collect(struct machine *m, unsigned arg)
{
	long n = above_mark(m);
	uint32_t id = wt_values_add(m->v, (uint8_t)arg);
	int err;

	if (n < 0)
		return fail(m, WT_E_CORRUPT, "collects without a mark");
	if (!id)
		return fail_limit(m);
	err = append(m, id, (size_t)n, arg);
	if (err)
		return err;
	m->depth--; /* the mark */
	return push(m, id);
}

/* The topmost `arg` values become a tuple. */
static int op_tuple(struct machine *m, unsigned arg)
{
	int err = need(m, arg);
	uint32_t id = wt_values_add(m->v, WT_VALUE_LIST);

	if (err)
		return err;
	if (!id)
		return fail_limit(m);
	err = append(m, id, arg, WT_VALUE_LIST);
	return err ? err : push(m, id);
}

/* Everything above the mark goes into the list or map below it. */
static int op_extend(struct machine *m, unsigned arg)
{
	long n = above_mark(m);
	int err;

	if (n < 0 || m->depth < (size_t)n + 2 || m->stack[m->depth - (size_t)n - 2] == m->mark)
		return fail(m, WT_E_CORRUPT, "appends without a list or a mark");
	err = append(m, m->stack[m->depth - (size_t)n - 2], (size_t)n, arg);
	if (!err)
		m->depth--;
	return err;
}

static int op_append(struct machine *m, unsigned arg)
{
	size_t n = arg == WT_VALUE_MAP ? 2 : 1;
	int err = need(m, n + 1);

	return err ? err : append(m, m->stack[m->depth - n - 1], n, arg);
}

/* ---- the stack and the memo ---- */

static int op_mark(struct machine *m, unsigned arg)
{
	return push(m, m->mark);
}

static int op_pop(struct machine *m, unsigned arg)
{
	if (!m->depth)
		return fail(m, WT_E_CORRUPT, "takes more from its stack than is there");
	m->depth--;
	return 0;
}

static int op_pop_mark(struct machine *m, unsigned arg)
{
	long n = above_mark(m);

	if (n < 0)
		return fail(m, WT_E_CORRUPT, "drops to a mark that is not there");
	m->depth -= (size_t)n + 1;
	return 0;
}

static int op_dup(struct machine *m, unsigned arg)
{
	int err = need(m, 1);

	return err ? err : push(m, m->stack[m->depth - 1]);
}

/* arg: bytes of the index; 0 = it stands in a line, 99 = the next one. */
static int memo_index(struct machine *m, unsigned arg, uint64_t *ret)
{
	size_t at, n;

	if (!arg) {
		if (line(m, &at, &n))
			return -WT_E_TRUNCATED;
		return wt_decimal_u64((const char *)m->p + at, n, ret)
			       ? fail(m, WT_E_CORRUPT, "has no number where a memo stands")
			       : 0;
	}
	if (arg == 99) {
		*ret = m->memo_next;
		return 0;
	}
	if (have(m, arg))
		return -WT_E_TRUNCATED;
	*ret = le(m->p + m->at, arg);
	m->at += arg;
	return 0;
}

static int op_put(struct machine *m, unsigned arg)
{
	uint64_t i;
	int err = need(m, 1);

	err = err ? err : memo_index(m, arg, &i);
	if (err)
		return err;
	/* A slot of the memo is larger than what asks for it; what is remembered is a text or a list, as a rule. */
	if (m->memo.count > m->n / 4 + 4096)
		return fail_limit(m);
	if (wt_map_put(&m->memo, i, m->stack[m->depth - 1]))
		return fail(m, WT_E_NOMEM, "needs more memory than there is");
	m->memo_next = (uint32_t)m->memo.count;
	return 0;
}

static int op_get(struct machine *m, unsigned arg)
{
	uint32_t id;
	uint64_t i;
	int err = memo_index(m, arg, &i);

	if (err)
		return err;
	if (!wt_map_get(&m->memo, i, &id))
		return fail(m, WT_E_CORRUPT, "recalls what it never remembered");
	return push(m, id);
}

static int op_skip(struct machine *m, unsigned arg)
{
	if (have(m, arg))
		return -WT_E_TRUNCATED;
	m->at += arg;
	return 0;
}

/* Two lines, or two texts on the stack, or a number: whatever it is, it is not run. */
static int op_refuse(struct machine *m, unsigned arg)
{
	const char *text[2] = {"", ""};
	size_t n[2] = {0, 0}, at;

	if (arg == 2)
		for (int i = 0; i < 2 && !line(m, &at, &n[i]); i++)
			text[i] = (const char *)m->p + at;
	else if (arg == 1 && m->depth >= 2)
		for (int i = 0; i < 2; i++)
			text[i] = wt_value_text(m->v, m->stack[m->depth - 2 + (size_t)i], &n[i]);
	if (!text[0] || !text[1] || !n[1])
		return fail(m, WT_E_FORMAT,
			    "that makes objects of classes: expected plain values alone, nothing "
			    "of it was run");
	return wt_fail(m->diag, WT_E_FORMAT, (int64_t)m->op_at,
		       "a pickle that asks for %.*s.%.*s: expected plain values alone, nothing of "
		       "it was run",
		       (int)(n[0] < 80 ? n[0] : 80), text[0], (int)(n[1] < 80 ? n[1] : 80),
		       text[1]);
}

static const struct {
	instruction run;
	unsigned arg;
} instructions[256] = {
	[0x80] = {op_skip, 1}, /* PROTO */
	[0x95] = {op_skip, 8}, /* FRAME */
	['N'] = {op_none, 0},
	[0x88] = {op_bool, 1},
	[0x89] = {op_bool, 0},
	['J'] = {op_binint, 4},
	['K'] = {op_binint, 1},
	['M'] = {op_binint, 2},
	[0x8a] = {op_long, 1},
	[0x8b] = {op_long, 4},
	['I'] = {op_int_line, 0},
	['L'] = {op_int_line, 0},
	['F'] = {op_float_line, 0},
	['G'] = {op_float, 0},
	['S'] = {op_text_line, 1},
	['V'] = {op_text_line, 0},
	['T'] = {op_text, 4},
	['U'] = {op_text, 1},
	['X'] = {op_text, 4},
	[0x8c] = {op_text, 1},
	[0x8d] = {op_text, 8},
	['B'] = {op_text, 4},
	['C'] = {op_text, 1},
	[0x8e] = {op_text, 8},
	[0x96] = {op_text, 8},
	[']'] = {op_empty, WT_VALUE_LIST},
	[')'] = {op_empty, WT_VALUE_LIST},
	['}'] = {op_empty, WT_VALUE_MAP},
	[0x8f] = {op_empty, WT_VALUE_LIST},
	['l'] = {op_collect, WT_VALUE_LIST},
	['t'] = {op_collect, WT_VALUE_LIST},
	['d'] = {op_collect, WT_VALUE_MAP},
	[0x91] = {op_collect, WT_VALUE_LIST},
	[0x85] = {op_tuple, 1},
	[0x86] = {op_tuple, 2},
	[0x87] = {op_tuple, 3},
	['e'] = {op_extend, WT_VALUE_LIST},
	['u'] = {op_extend, WT_VALUE_MAP},
	[0x90] = {op_extend, WT_VALUE_LIST},
	['a'] = {op_append, WT_VALUE_LIST},
	['s'] = {op_append, WT_VALUE_MAP},
	['('] = {op_mark, 0},
	['0'] = {op_pop, 0},
	['1'] = {op_pop_mark, 0},
	['2'] = {op_dup, 0},
	['p'] = {op_put, 0},
	['q'] = {op_put, 1},
	['r'] = {op_put, 4},
	[0x94] = {op_put, 99},
	['g'] = {op_get, 0},
	['h'] = {op_get, 1},
	['j'] = {op_get, 4},
	['c'] = {op_refuse, 2},	 /* GLOBAL */
	['i'] = {op_refuse, 2},	 /* INST */
	[0x93] = {op_refuse, 1}, /* STACK_GLOBAL */
	['o'] = {op_refuse, 0},
	['R'] = {op_refuse, 0},
	['b'] = {op_refuse, 0},
	[0x81] = {op_refuse, 0},
	[0x92] = {op_refuse, 0},
	[0x82] = {op_refuse, 0},
	[0x83] = {op_refuse, 0},
	[0x84] = {op_refuse, 0},
	['P'] = {op_refuse, 0},
	['Q'] = {op_refuse, 0},
	[0x97] = {op_refuse, 0},
	[0x98] = {op_refuse, 0},
};

static int run(struct machine *m)
{
	m->none = wt_values_add(m->v, WT_VALUE_NONE);
	m->mark = wt_values_add(m->v, WT_VALUE_MARK);
	for (int i = 0; i < 2; i++) {
		m->truth[i] = wt_values_add(m->v, WT_VALUE_BOOL);
		m->v->rows[m->truth[i]].u.i = i;
	}
	for (;;) {
		uint8_t op;
		int err;

		m->op_at = m->at;
		if (m->at >= m->n)
			return fail(m, WT_E_TRUNCATED, "ends before its last instruction");
		op = m->p[m->at++];
		if (op == '.')
			break;
		if (!instructions[op].run)
			return fail(m, WT_E_CORRUPT, "has an instruction that does not exist");
		err = instructions[op].run(m, instructions[op].arg);
		if (err)
			return err;
	}
	if (m->depth != 1 || m->stack[0] == m->mark)
		return fail(m, WT_E_CORRUPT, "does not end with one value");
	m->v->root = m->stack[0];
	return 0;
}

int wt_values_read_pickle(struct wt_values **ret, struct wt_source *src, struct wt_diag *diag)
{
	struct machine *m = calloc(1, sizeof(*m));
	uint8_t *bytes = NULL;
	size_t n = 0;
	int err = m ? wt_values_slurp(src, &bytes, &n, diag)
		    : wt_fail(diag, WT_E_NOMEM, -1, "out of memory");

	if (err) {
		free(bytes);
		free(m);
		return err;
	}
	m->diag = diag;
	m->p = bytes;
	m->n = n;
	m->v = wt_values_new(n);
	m->stack = malloc((n + 1) * sizeof(*m->stack));
	if (m->v && m->stack) {
		m->v->bytes = bytes;
		m->v->nbytes = n;
		err = run(m);
	} else {
		err = wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
		if (!m->v)
			free(bytes);
		else
			m->v->bytes = bytes;
	}
	free(m->stack);
	wt_map_release(&m->memo);
	if (err)
		wt_values_free(m->v);
	else
		*ret = m->v;
	free(m);
	return err;
}
