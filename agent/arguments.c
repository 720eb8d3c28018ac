// SPDX-License-Identifier: Apache-2.0
/*
 * Which functions have an argument that is read, and the reading; see arguments.h. Books are kept by hooks of any
 * thread: a slot is taken by its handle, published last. Whether the parameter is where it should be is asked of the
 * driver at the first launch, since asking of a kernel that is not loaded might load it.
 */
#define _GNU_SOURCE
#include "arguments.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "real_calls.h"
#include "record.h"
#include "registry.h"

#define SLOTS	  64u
#define TAKEN	  1u /* instead of a handle: being written */
#define EXTRA_MAX 4  /* pairs of a launch's `extra`; the driver knows two */

enum { UNKNOWN, RIGHT, WRONG };

static const struct {
	const char *one, *other;
	uint32_t parameter;
} rows[] = {
#define WT_ARGUMENT(one_, other_, parameter_) {one_, other_, parameter_},
#include "arguments.def"
#undef WT_ARGUMENT
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct slot {
	_Atomic uint64_t handle;
	_Atomic uint8_t row, is_kernel, state;
	_Atomic uint32_t offset; /* among the parameters; UINT32_MAX = not known */
} slots[SLOTS];

uint8_t wt_argument_filter[256];

static struct slot *slot_of(uint64_t handle)
{
	for (uint32_t i = 0; handle > TAKEN && i < SLOTS; i++)
		if (atomic_load_explicit(&slots[i].handle, memory_order_acquire) == handle)
			return &slots[i];
	return NULL;
}

static struct slot *take(void)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&slots[i].handle, &none, TAKEN))
			return &slots[i];
	}
	return NULL;
}

static void keep(uint64_t handle, uint8_t row, int is_kernel)
{
	struct slot *s = take();

	if (!s)
		return;
	atomic_store(&s->row, row);
	atomic_store(&s->is_kernel, (uint8_t)is_kernel);
	atomic_store(&s->state, UNKNOWN);
	atomic_store_explicit(&s->handle, handle, memory_order_release);
	__atomic_store_n(&wt_argument_filter[(uint32_t)handle * 0x9E3779B1u >> 24], 1,
			 __ATOMIC_RELAXED);
}

void wt_argument_learn(const void *function, const char *name, int is_kernel)
{
	uint64_t handle = (uint64_t)function;
	struct slot *s = wt_argument_maybe(handle) ? slot_of(handle) : NULL;
	uint8_t row = 0;

	while (row < ROWS &&
	       !(name && strstr(name, rows[row].one) && strstr(name, rows[row].other)))
		row++;
	if (s && row < ROWS && atomic_load(&s->row) == row)
		return;
	if (s) /* another function got the handle of one that ended unseen */
		atomic_store(&s->handle, 0);
	if (row < ROWS && handle > TAKEN)
		keep(handle, row, is_kernel);
}

void wt_argument_learn_function(const void *function, const void *kernel)
{
	struct slot *of = slot_of((uint64_t)kernel), *s = slot_of((uint64_t)function);

	if (of && !s && (uint64_t)function > TAKEN)
		keep((uint64_t)function, atomic_load(&of->row), 0);
	else if (!of && s)
		atomic_store(&s->handle, 0);
}

void wt_argument_forget(void)
{
	struct wt_reg_entry e;

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t handle = atomic_load_explicit(&slots[i].handle, memory_order_acquire);

		if (handle > TAKEN && !wt_reg_find(WT_REG_FUNCTION, handle, UINT64_MAX, &e))
			atomic_compare_exchange_strong(&slots[i].handle, &handle, 0);
	}
}

/* By name alone where the driver cannot say (before CUDA 12.4). */
static int ask(struct slot *s)
{
	uint64_t handle = atomic_load(&s->handle);
	uint32_t parameter = rows[atomic_load(&s->row)].parameter;
	size_t offset = 0, size = 0;
	CUresult r = atomic_load(&s->is_kernel)
			     ? WT_REAL_CALL(cuKernelGetParamInfo, (CUkernel)handle, parameter,
					    &offset, &size)
			     : WT_REAL_CALL(cuFuncGetParamInfo, (CUfunction)handle, parameter,
					    &offset, &size);
	int state = RIGHT;

	if (r == CUDA_ERROR_NOT_SUPPORTED)
		offset = parameter ? UINT32_MAX : 0;
	else if (r != CUDA_SUCCESS || size != sizeof(uint32_t))
		state = WRONG;
	atomic_store(&s->offset, (uint32_t)offset);
	atomic_store(&s->state, (uint8_t)state);
	return state;
}

/* Where the parameter lies in what the launch was given; NULL = it was not, or in a way that is not known. */
static const void *find(const struct slot *s, void **params, void **extra)
{
	const char *buffer = NULL;
	size_t bytes = 0, offset = atomic_load(&s->offset);

	if (params)
		return params[rows[atomic_load(&s->row)].parameter];
	for (int i = 0; extra && i < EXTRA_MAX && extra[0] != CU_LAUNCH_PARAM_END;
	     i++, extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			memcpy(&bytes, extra[1], sizeof(bytes));
	}
	return buffer && offset < bytes && bytes - offset >= sizeof(uint32_t) ? buffer + offset
									      : NULL;
}

void wt_argument_read(struct wt_rec *rec, void **params, void **extra)
{
	int saved = errno, state = WRONG;
	struct slot *s = slot_of(rec->object);
	const void *at;
	int32_t n = 0;

	if (s)
		state = atomic_load(&s->state);
	if (state == UNKNOWN)
		state = ask(s);
	at = state == RIGHT ? find(s, params, extra) : NULL;
	if (at)
		memcpy(&n, at, sizeof(n));
	/* It takes the place of the shared memory, which is none. */
	if (n > 0 && !rec->u.launch.smem) {
		rec->u.launch.smem = (uint32_t)n;
		rec->u.launch.attrs |= WT_LAUNCH_BYTES;
	}
	errno = saved;
}
