/* SPDX-License-Identifier: Apache-2.0 */
/* See kineto_names.h. */
#define _GNU_SOURCE /* memmem */
#include "import/kineto_names.h"

#include <string.h>

#include "timeline/timeline.h"

#define COUNT(a_) (sizeof(a_) / sizeof(*(a_)))

static const struct {
	const char *text;
	uint8_t n, cat;
} categories[] = {
#define CAT(text_, cat_)                                                                           \
	{                                                                                          \
		text_, sizeof(text_) - 1, WT_KINETO_##cat_                                         \
	}
	CAT("kernel", KERNEL),
	CAT("Kernel", KERNEL),
	CAT("gpu_memcpy", COPY),
	CAT("Memcpy", COPY),
	CAT("gpu_memset", MEMSET),
	CAT("Memset", MEMSET),
	CAT("cuda_runtime", CALL),
	CAT("cuda_driver", CALL),
	CAT("Runtime", CALL),
	CAT("Driver", CALL),
	CAT("hip_runtime", CALL),
	CAT("hip_driver", CALL),
	CAT("xpu_runtime", CALL),
	CAT("xpu_driver", CALL),
	CAT("mtia_runtime", CALL),
	CAT("privateuse1_runtime", CALL),
	CAT("privateuse1_driver", CALL),
	CAT("user_annotation", RANGE),
	CAT("overhead", RANGE),
	CAT("cpu_op", OPERATOR),
	CAT("Operator", OPERATOR),
	CAT("python_function", FRAME),
	/* Chrome's own category of metadata events. */
	CAT("__metadata", UNSEEN),
#undef CAT
};

enum wt_kineto_cat wt_kineto_category(const char *s, size_t n)
{
	for (size_t i = 0; i < COUNT(categories); i++)
		if (categories[i].n == n && !memcmp(categories[i].text, s, n))
			return categories[i].cat;
	return WT_KINETO_IGNORED;
}

static int contains(const char *s, size_t n, const char *word)
{
	return memmem(s, n, word, strlen(word)) != NULL;
}

uint8_t wt_kineto_copy_kind(const char *s, size_t n, uint8_t *ret_flags)
{
	static const struct {
		const char *text;
		uint8_t kind;
	} kinds[] = {
		{"HtoD", WT_COPY_H2D},	       {"DtoH", WT_COPY_D2H},
		{"DtoD", WT_COPY_D2D},	       {"PtoP", WT_COPY_P2P},
		{"HtoH", WT_COPY_H2H},	       {"HostToDevice", WT_COPY_H2D},
		{"DeviceToHost", WT_COPY_D2H}, {"DeviceToDevice", WT_COPY_D2D},
		{"PeerToPeer", WT_COPY_P2P},   {"HostToHost", WT_COPY_H2H},
	};

	if (contains(s, n, "Pageable"))
		*ret_flags |= WT_OP_PAGEABLE;
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (contains(s, n, kinds[i].text))
			return kinds[i].kind;
	return WT_COPY_OTHER;
}

uint8_t wt_kineto_collective(const char *s, size_t n)
{
	/* The first match counts: "reduce" and "gather" are part of longer words. */
	static const struct {
		const char *text;
		uint8_t op;
	} ops[] = {
		{"allreduce", WT_COLL_ALL_REDUCE},
		{"allgather", WT_COLL_ALL_GATHER},
		{"reducescatter", WT_COLL_REDUCE_SCATTER},
		{"alltoall", WT_COLL_ALL_TO_ALL},
		{"broadcast", WT_COLL_BROADCAST},
		{"send", WT_COLL_SEND},
		{"recv", WT_COLL_RECV},
		{"gather", WT_COLL_GATHER},
		{"scatter", WT_COLL_SCATTER},
		{"reduce", WT_COLL_REDUCE},
	};
	char plain[64];
	size_t m = 0;

	for (size_t i = 0; i < n && m < sizeof(plain); i++)
		if (s[i] != '_' && s[i] != '-')
			plain[m++] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 0x20 : s[i]);
	for (size_t i = 0; i < COUNT(ops); i++)
		if (contains(plain, m, ops[i].text))
			return ops[i].op;
	return WT_COLL_NONE;
}

uint32_t wt_kineto_dtype(const char *s, size_t n, uint32_t *ret_bytes)
{
	/* The numbers of ncclDataType_t; what NCCL sends as another type has that type's. */
	static const struct {
		const char *text;
		uint8_t code, bytes;
	} types[] = {
		{"Char", 0, 1},		{"Byte", 1, 1},		  {"Bool", 1, 1},
		{"Int", 2, 4},		{"Long", 4, 8},		  {"Half", 6, 2},
		{"Float", 7, 4},	{"Double", 8, 8},	  {"BFloat16", 9, 2},
		{"Short", 9, 2},	{"Float8_e4m3", 10, 1},	  {"Float8_e5m2", 11, 1},
		{"ComplexFloat", 7, 8}, {"ComplexDouble", 8, 16},
	};
	size_t best = COUNT(types);

	*ret_bytes = 0;
	for (size_t i = 0; i < COUNT(types); i++) {
		size_t m = strlen(types[i].text);

		/* Float8_e4m3fn, Float8_e5m2fnuz: variants share the number. */
		if (m == n || (m < n && !strncmp(types[i].text, "Float8", 6)))
			if (!memcmp(types[i].text, s, m))
				best = i;
	}
	if (best == COUNT(types))
		return UINT32_MAX;
	*ret_bytes = types[best].bytes;
	return types[best].code;
}

/* Past the last `mark` of a path; the mark has a slash at its place `slash`. */
static void drop_folder(const char **s, size_t *n, const char *mark, size_t m, size_t slash)
{
	for (size_t i = *n; i > slash; i--) {
		size_t from = i - 1 - slash;

		if ((*s)[i - 1] != '/' || *n - from < m || memcmp(*s + from, mark, m))
			continue;
		*s += from + m;
		*n -= from + m;
		return;
	}
}

/* As memmem, which needs longer to begin than a frame is long. */
static int holds(const char *s, size_t n, const char *word, size_t m)
{
	const char *at = s, *end = s + n;

	while ((size_t)(end - at) >= m && (at = memchr(at, *word, (size_t)(end - at) - m + 1))) {
		if (!memcmp(at, word, m))
			return 1;
		at++;
	}
	return 0;
}

#define DROP(s_, n_, mark_, slash_) drop_folder(s_, n_, mark_, sizeof(mark_) - 1, slash_)
#define HOLDS(s_, n_, word_)	    holds(s_, n_, word_, sizeof(word_) - 1)

/* A frame of Python's or the framework's own machinery. */
static int is_other(const char *s, size_t n)
{
#define BEGINS(word_) (n >= sizeof(word_) - 1 && !memcmp(s, word_, sizeof(word_) - 1))
	return BEGINS("torch/") || BEGINS("triton/") || BEGINS("contextlib.py(") ||
	       BEGINS("functools.py(") || BEGINS("threading.py(") || BEGINS("runpy.py(") ||
	       BEGINS("importlib/") || BEGINS("multiprocessing/");
#undef BEGINS
}

int wt_kineto_site(const char **s, size_t *n)
{
	/* "<built-in method matmul ...>", "<frozen runpy>(198): ...", "nn.Module: Linear_0"; most names end here. */
	if (!*n || **s == '<' || (*n > 6 && !memcmp(*s, "torch/", 6)))
		return 0;
	if (**s == '/') {
		DROP(s, n, "-packages/", 9); /* site-, dist- */
		DROP(s, n, "/lib/python3", 0);
		if (*n && **s == '.') { /* of its version */
			const char *at = memchr(*s, '/', *n);

			*n -= at ? (size_t)(at + 1 - *s) : 0;
			*s = at ? at + 1 : *s;
		}
	}
	return !is_other(*s, *n) && HOLDS(*s, *n, "): ") && !HOLDS(*s, *n, "/torchinductor_");
}

int wt_kineto_stack_site(const char *s, size_t n, const char **ret, size_t *ret_n)
{
	while (n) {
		size_t m = 0;

		const char *end = memchr(s, ';', n), *line;

		m = end ? (size_t)(end - s) : n;
		line = memchr(s, '\n', m);
		m = line ? (size_t)(line - s) : m;
		*ret = s;
		*ret_n = m;
		while (*ret_n && **ret == ' ') {
			++*ret;
			--*ret_n;
		}
		if (wt_kineto_site(ret, ret_n))
			return 1;
		m += m < n;
		s += m;
		n -= m;
	}
	return 0;
}
