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

/* What travels with a launch. */
struct param {
	struct sim_cost cost;
	uint64_t n_outs;
	struct sim_lib_out outs[SIM_LIB_OUTS];
};
_Static_assert(sizeof(struct param) <= 256, "the driver's limit");

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
	struct param p;

	if (!sim ||
	    sim->bytes < offsetof(struct sim_export, roofline_ns) + sizeof(sim->roofline_ns) ||
	    !sim->roofline_ns)
		return UNKNOWN_NS;
	memcpy(&p, l->param, sizeof(p));
	return sim->roofline_ns(&p.cost, (int)l->device);
}

/* Device thread. In its place on the stream: earlier copies into the same memory are over. */
static void finish(void *arg, const struct sim_launch *l)
{
	const struct sim_export *sim = sim_lib_driver();
	int can_touch = sim &&
			sim->bytes >= offsetof(struct sim_export, touch) + sizeof(sim->touch) &&
			sim->touch;
	struct param p;

	memcpy(&p, l->param, sizeof(p));
	for (uint64_t i = 0; i < p.n_outs && i < SIM_LIB_OUTS; i++) {
		if (can_touch)
			sim->touch(p.outs[i].p, p.outs[i].bytes);
		memset(p.outs[i].p, 0, p.outs[i].bytes);
	}
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
		.param_bytes = sizeof(struct param),
		.regs = w->regs,
		.duration_ns = duration_ns,
		.finish = finish,
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
	struct param param = {.cost = w->cost, .n_outs = w->n_outs};
	void *args[] = {&param};
	struct sim_lib_work shaped = *w;
	struct kernel *k = get(w);

	if (!k)
		return CUDA_ERROR_NOT_INITIALIZED;
	memcpy(param.outs, w->outs, sizeof(param.outs));
	if (shaped.dyn_smem > k->dyn_smem)
		shaped.dyn_smem = k->dyn_smem;
	return sim_lib_submit(k, k->f, &shaped, args, stream);
}

void sim_lib_small(struct sim_lib_work *w, const char *name, double bytes)
{
	*w = (struct sim_lib_work){
		.name = name,
		.grid = {bytes > 65536 ? 132 : 1, 1, 1},
		.block = {128, 1, 1},
		.regs = 32,
		.cost = {.kind = SIM_COST_OTHER, .bytes = (uint64_t)bytes},
	};
}

int sim_lib_launch_small(const char *name, double bytes, void *stream)
{
	struct sim_lib_work w;

	sim_lib_small(&w, name, bytes);
	return sim_lib_launch(&w, stream);
}

int sim_lib_attribute(CUdevice_attribute what)
{
	const struct sim_export *sim = sim_lib_driver();
	int device = sim ? sim->current_device() : -1;

	return sim ? sim_lib_device_attribute(what, device < 0 ? 0 : device) : 0;
}
