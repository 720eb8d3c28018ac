/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lib_kernel.h. A kernel is made at its first launch and lives for ever; the table is a small open hash under a
 * lock that no launch holds.
 */
#include "simgpu/libs/lib_kernel.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define KERNELS	   4096 /* a power of two; beyond three quarters of it a launch is refused */
#define NAME_BYTES 256
#define UNKNOWN_NS 5000 /* under a driver that has no roofline */

struct kernel {
	char name[NAME_BYTES];
	CUfunction f;
	uint32_t dyn_smem;
};

static struct kernel *kernels[KERNELS];
static unsigned int n_kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t duration_ns(void *arg, const struct sim_launch *l)
{
	const struct sim_export *sim = sim_lib_driver();
	struct sim_cost cost;

	if (!sim ||
	    sim->bytes < offsetof(struct sim_export, roofline_ns) + sizeof(sim->roofline_ns) ||
	    !sim->roofline_ns)
		return UNKNOWN_NS;
	memcpy(&cost, l->param, sizeof(cost));
	return sim->roofline_ns(&cost, (int)l->device);
}

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

/* Holds the lock. */
static struct kernel *create(const struct sim_lib_work *w)
{
	const struct sim_export *sim = sim_lib_driver();
	static struct kernel room[KERNELS * 3 / 4];
	struct kernel *k;
	struct sim_kernel s = {
		.param_bytes = sizeof(struct sim_cost),
		.regs = w->regs,
		.duration_ns = duration_ns,
	};

	if (!sim || n_kernels >= KERNELS * 3 / 4)
		return NULL;
	k = &room[n_kernels];
	snprintf(k->name, sizeof(k->name), "%s", w->name);
	s.name = k->name;
	if (sim->kernel_create(&k->f, &s) != CUDA_SUCCESS)
		return NULL;
	n_kernels++;
	k->dyn_smem = w->dyn_smem;
	sim_lib_bind(k, k->f, (int)w->dyn_smem);
	return k;
}

static struct kernel *get(const struct sim_lib_work *w)
{
	struct kernel *k;
	uint32_t i = hash(w->name);

	pthread_mutex_lock(&lock);
	for (;; i++) {
		k = kernels[i % KERNELS];
		if (!k)
			k = kernels[i % KERNELS] = create(w);
		if (!k || !strncmp(k->name, w->name, NAME_BYTES - 1))
			break;
	}
	pthread_mutex_unlock(&lock);
	return k;
}

int sim_lib_launch(const struct sim_lib_work *w, void *stream)
{
	struct sim_cost cost = w->cost;
	void *args[] = {&cost};
	struct sim_lib_work shaped = *w;
	struct kernel *k = get(w);

	if (!k)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (shaped.dyn_smem > k->dyn_smem)
		shaped.dyn_smem = k->dyn_smem;
	return sim_lib_submit(k, k->f, &shaped, args, stream);
}

int sim_lib_launch_small(const char *name, double bytes, void *stream)
{
	struct sim_lib_work w = {
		.name = name,
		.grid = {bytes > 65536 ? 132 : 1, 1, 1},
		.block = {128, 1, 1},
		.regs = 32,
		.cost = {.kind = SIM_COST_OTHER, .bytes = (uint64_t)bytes},
	};

	return sim_lib_launch(&w, stream);
}

int sim_lib_attribute(CUdevice_attribute what)
{
	const struct sim_export *sim = sim_lib_driver();
	int device = sim ? sim->current_device() : -1;

	return sim ? sim_lib_device_attribute(what, device < 0 ? 0 : device) : 0;
}
