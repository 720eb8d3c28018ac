/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three kernels of a framework that do anything. PyTorch's contiguous fill does what it says: serving engines make
 * numbers with it that the host reads back (vLLM: how many tokens each request got), and wait for ever where they stay
 * zero. Its parameters are the count, the value and where to. Zeroes give pages back, as memsets do; another value for
 * more than MOST bytes is left out, since it would touch them all.
 *
 * PyTorch's gather of 8-byte elements, with which vLLM picks the tokens it sampled, gives zeroes: token id 0 each time,
 * where it would be whatever the memory held before. Its parameters are the count and a closure: a calculator of
 * offsets for up to 25 dimensions, of which only those in use are written, the rest is what lay on the stack; behind it
 * where the indices, the output and the source are, each with its numbers.
 *
 * PyTorch's conversion to 4-byte integers gives zeroes as well: vLLM's first model runner has the most likely token
 * converted and copied to the host. Its parameters are the count, nothing, and where to and from.
 */
#include "simgpu/cuda/drv.h"

#include <string.h>

#define MOST (16u << 20)
/* Words of a gather's closure: the calculator's are before them. */
#define CLOSURE_FIRST 76
#define CLOSURE_END   83

/* The size of an element by the mangled name of its type; 0 = not filled. */
static uint32_t element_of(const char *name)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} types[] = {{"b", 1},		{"h", 1}, {"a", 1}, {"s", 2},
		     {"t", 2},		{"i", 4}, {"j", 4}, {"f", 4},
		     {"l", 8},		{"m", 8}, {"d", 8}, {"N3c108BFloat16E", 2},
		     {"N3c104HalfE", 2}};
	const char *at = strstr(name, "FillFunctorI");

	if (!at || !strstr(name, "vectorized_elementwise_kernel"))
		return 0;
	at += strlen("FillFunctorI");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].type);

		if (!strncmp(at, types[i].type, n) && at[n] == 'E')
			return types[i].bytes;
	}
	return 0;
}

static bool is_gather(const char *name)
{
	return strstr(name, "_scatter_gather_elementwise_kernel") &&
	       strstr(name, "_scatter_gather_internal_kernelILb0ENS0_10OpaqueTypeILi8E");
}

static bool is_conversion(const char *name)
{
	return strstr(name, "unrolled_elementwise_kernel") &&
	       strstr(name, "direct_copy_kernel_cuda") && strstr(name, "EUliE_St5arrayIPcLm2EE");
}

/* The second of the three device addresses behind the calculator of a gather; 0 = they are not three. */
static uint64_t gathered_to(const void *closure)
{
	uint64_t word, found[3];
	size_t n = 0;

	for (size_t i = CLOSURE_FIRST; i < CLOSURE_END && n < 3; i++) {
		struct sim_span s;

		memcpy(&word, (const char *)closure + i * sizeof(word), sizeof(word));
		drv_span((const void *)word, &s);
		if (s.pages && s.device)
			found[n++] = word;
	}
	return n == 3 ? found[1] : 0;
}

/* All of it is memory that this process has on the device. */
static bool is_device(const unsigned char *p, uint64_t bytes)
{
	while (bytes) {
		struct sim_span s;

		drv_span(p, &s);
		if (!s.pages || !s.device || !s.left)
			return false;
		if (s.left >= bytes)
			return true;
		p += s.left;
		bytes -= s.left;
	}
	return true;
}

static void run(void *arg, const struct sim_launch *l)
{
	const struct drv_fill *fill = l->param;
	unsigned char *to = (unsigned char *)fill->data;
	uint64_t bytes = fill->n > 0 ? (uint64_t)fill->n * fill->bytes : 0;
	unsigned char any = 0;

	if (!bytes || !is_device(to, bytes))
		return;
	for (uint32_t i = 0; i < fill->bytes; i++)
		any |= fill->value[i];
	if (!any) {
		sim_pages_zero(drv_span, to, bytes);
		return;
	}
	if (bytes > MOST)
		return;
	drv_touch(to, bytes);
	for (uint64_t i = 0; i < bytes; i += fill->bytes)
		memcpy(to + i, fill->value, fill->bytes);
}

static const struct sim_kernel fill_kernel = {
	.name = "fill", .param_bytes = sizeof(struct drv_fill), .finish = run};

void drv_fill_init(struct CUfunc_st *f)
{
	f->gather = is_gather(f->name);
	f->conversion = is_conversion(f->name);
	f->fill = f->gather ? 8 : f->conversion ? 4 : element_of(f->name);
	if (f->fill)
		f->sim = &fill_kernel;
}

bool drv_kernel_param(struct drv_kernel *k, void *const *params)
{
	struct drv_fill *fill = &k->fill;

	if (!k->f->sim || !k->f->sim->param_bytes)
		return true;
	if (!k->f->fill) {
		k->param = params ? params[0] : NULL;
		return k->param != NULL;
	}
	*fill = (struct drv_fill){.bytes = k->f->fill};
	if (k->f->gather && params && params[0] && params[1]) {
		memcpy(&fill->n, params[0], sizeof(fill->n));
		fill->data = gathered_to(params[1]);
	} else if (!k->f->gather && params && params[0] && params[1] && params[2]) {
		memcpy(&fill->n, params[0], sizeof(fill->n));
		if (!k->f->conversion)
			memcpy(fill->value, params[1], fill->bytes);
		memcpy(&fill->data, params[2], sizeof(fill->data));
	}
	k->param = fill;
	return true;
}

CUresult drv_fill_param(const struct CUfunc_st *f, size_t i, size_t *offset, size_t *bytes)
{
	size_t value =
		f->fill > sizeof(int) ? f->fill : sizeof(int); /* the count, and what aligns it */
	const struct {
		size_t offset, bytes;
	} of[] = {{0, sizeof(int)}, {value, f->fill}, {(value + f->fill + 7) & ~(size_t)7, 8}};

	if (!f->fill || f->gather || f->conversion)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (i >= sizeof(of) / sizeof(of[0]))
		return CUDA_ERROR_INVALID_VALUE;
	*offset = of[i].offset;
	if (bytes)
		*bytes = of[i].bytes;
	return CUDA_SUCCESS;
}
