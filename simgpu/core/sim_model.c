/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_model.h. Loaded once under cuInit's lock, read-only afterwards. */
#include "simgpu/core/sim_model.h"

#include "simgpu/core/sim_base.h"
#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_fault.h"
#include "simgpu/core/sim_roofline.h"
#include "simgpu/core/sim_scenario.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DURATION_NS 86400000000000 /* a day */

struct sim_settings sim_settings;

struct pattern {
	regex_t re;
	struct sim_kernel_model model;
};

static struct {
	struct pattern *pattern;
	size_t n;
	/* straggler */
	int64_t slow_rank, slow_milli; /* factor in 1/1000; rank -1 = none */
	int64_t rank; /* of this process, -1 = unknown: the device index stands in */
	int64_t milli_gbs[SIM_PATHS];
} model;

static int64_t env_rank(void)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					    "SLURM_PROCID", "LOCAL_RANK"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);
		int64_t r;
		if (v && *v && !sim_parse_int(v, 0, INT32_MAX, &r))
			return r;
	}
	return -1;
}

static int get_ns(const char *key, int64_t fallback, int64_t *ret, char *err, size_t n)
{
	const char *v = sim_scenario_get(key);

	*ret = fallback;
	if (v && (sim_parse_ns(v, ret) || *ret > MAX_DURATION_NS)) {
		snprintf(err, n,
			 "scenario: %s = %s: expected a duration such as 500ns, 10us, 2.5ms, 1s",
			 key, v);
		return -1;
	}
	return 0;
}

static int get_int(const char *key, int64_t min, int64_t max, int64_t fallback, int64_t *ret,
		   char *err, size_t n)
{
	const char *v = sim_scenario_get(key);

	*ret = fallback;
	if (v && sim_parse_int(v, min, max, ret)) {
		snprintf(err, n, "scenario: %s = %s: expected a whole number from %lld to %lld",
			 key, v, (long long)min, (long long)max);
		return -1;
	}
	return 0;
}

static int get_milli(const char *key, int64_t fallback, int64_t *ret, char *err, size_t n)
{
	const char *v = sim_scenario_get(key);

	*ret = fallback;
	if (v && (sim_parse_milli(v, ret) || *ret <= 0)) {
		snprintf(err, n, "scenario: %s = %s: expected a number above 0", key, v);
		return -1;
	}
	return 0;
}

static int load_pattern(const struct sim_setting *s, struct pattern *p, char *err, size_t n)
{
	char value[64], *comma;
	int64_t jitter = 0;
	int rc;

	snprintf(value, sizeof(value), "%s", s->value);
	comma = strchr(value, ',');
	if (comma) {
		char *pct = strchr(comma, '%');
		if (pct)
			*pct = 0;
		*comma++ = 0;
		comma += strspn(comma, " ");
		for (char *e = value + strlen(value); e > value && e[-1] == ' ';)
			*--e = 0;
	}
	if (sim_parse_ns(value, &p->model.duration_ns) || p->model.duration_ns > MAX_DURATION_NS ||
	    (comma && sim_parse_int(comma, 0, 100, &jitter))) {
		snprintf(err, n,
			 "scenario line %d: \"%s\": expected a duration, or a duration and a "
			 "jitter: 10us, 5%%",
			 s->line, s->value);
		return -1;
	}
	p->model.jitter_pct = (int32_t)jitter;
	rc = regcomp(&p->re, s->key, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		char why[128];
		regerror(rc, &p->re, why, sizeof(why));
		snprintf(err, n,
			 "scenario line %d: \"%s\" is not an extended regular expression: %s",
			 s->line, s->key, why);
		return -1;
	}
	return 0;
}

static int load_patterns(char *err, size_t n)
{
	const struct sim_setting *s;
	size_t count = 0;

	while (model.n)
		regfree(&model.pattern[--model.n].re);
	free(model.pattern);
	for (s = NULL; (s = sim_scenario_next("kernel", s));)
		count++;
	model.pattern = sim_alloc(count * sizeof(*model.pattern));
	for (model.n = 0, s = NULL; (s = sim_scenario_next("kernel", s)); model.n++)
		if (load_pattern(s, &model.pattern[model.n], err, n))
			return -1;
	return 0;
}

static int load_device(char *err, size_t n)
{
	const char *env = getenv("SIMGPU_DEVICE"),
		   *key = env && *env ? env : sim_scenario_get("device.name");
	int64_t count;

	sim_settings.device = sim_device_type(key ? key : "h100");
	if (!sim_settings.device) {
		snprintf(err, n, "no device \"%s\"; known: %s", key, sim_device_keys());
		return -1;
	}
	if (get_int("device.count", 0, 64, 1, &count, err, n))
		return -1;
	env = getenv("SIMGPU_DEVICES");
	if (env && *env && sim_parse_int(env, 0, 64, &count)) {
		snprintf(err, n, "SIMGPU_DEVICES=%s: expected 0 to 64", env);
		return -1;
	}
	sim_settings.device_count = (int)count;
	return 0;
}

static int load_bandwidths(char *err, size_t n)
{
	const struct sim_device_type *d = sim_settings.device;
	static const char *const keys[SIM_PATHS] = {"model.h2d_gbs", "model.d2h_gbs",
						    "model.d2d_gbs", "model.p2p_gbs", NULL};
	int64_t h2d;

	if (get_milli(keys[SIM_PATH_H2D], d->h2d_gbs * 1000, &h2d, err, n))
		return -1;
	{
		const int64_t fallback[SIM_PATHS] = {h2d, h2d, d->d2d_gbs * 1000, d->p2p_gbs * 1000,
						     10000};
		for (int i = 0; i < SIM_PATHS; i++) {
			model.milli_gbs[i] = fallback[i];
			if (keys[i] && get_milli(keys[i], fallback[i], &model.milli_gbs[i], err, n))
				return -1;
		}
	}
	return 0;
}

int sim_model_load(char *err, size_t n)
{
	int64_t seed, queue;

	if (load_device(err, n) || load_bandwidths(err, n) || load_patterns(err, n) ||
	    get_ns("device.hold", 0, &sim_settings.hold_ns, err, n) ||
	    get_ns("model.launch_latency", 3000, &sim_settings.launch_latency_ns, err, n) ||
	    get_ns("model.copy_latency", 1500, &sim_settings.copy_latency_ns, err, n) ||
	    get_ns("model.kernel", 10000, &sim_settings.kernel_ns, err, n) ||
	    get_int("model.seed", 0, INT64_MAX, 1, &seed, err, n) ||
	    get_int("model.queue", 1, 1 << 20, 1024, &queue, err, n) ||
	    get_int("straggler.rank", 0, INT32_MAX, -1, &model.slow_rank, err, n) ||
	    get_milli("straggler.factor", 1000, &model.slow_milli, err, n))
		return -1;
	model.rank = env_rank();
	if (sim_fault_load(model.rank, sim_settings.device, err, n))
		return -1;
	sim_settings.queue = (uint32_t)queue;
	sim_settings.seed = sim_mix((uint64_t)seed, (uint64_t)(model.rank + 1));
	return 0;
}

int64_t sim_model_rank(void)
{
	return model.rank;
}

struct sim_kernel_model sim_model_of(const char *name)
{
	for (size_t i = 0; i < model.n; i++)
		if (!regexec(&model.pattern[i].re, name, 0, NULL, 0))
			return model.pattern[i].model;
	return (struct sim_kernel_model){
		.duration_ns = -1,
		.jitter_pct = 5,
		/* What the scenario says of kernels in general goes before a guess from the name. */
		.default_ns = sim_scenario_get("model.kernel")
				      ? sim_settings.kernel_ns
				      : sim_family_ns(name, sim_settings.kernel_ns),
		.thread_bytes =
			sim_scenario_get("model.kernel") ? 0 : sim_family_thread_bytes(name)};
}

void sim_model_widen(struct sim_kernel_model *m, double threads)
{
	double bytes = threads * (double)m->thread_bytes;
	const struct sim_cost cost = {.kind = SIM_COST_ELEMENTWISE,
				      .bytes = bytes < 1e18 ? (uint64_t)bytes : (uint64_t)1e18};
	int64_t ns;

	if (!m->thread_bytes)
		return;
	ns = sim_roofline_ns(&cost, sim_settings.device);
	if (ns > m->default_ns)
		m->default_ns = ns;
}

int64_t sim_model_kernel_ns(const struct sim_kernel_model *m, int64_t base_ns, int rendezvous,
			    uint32_t device, uint64_t stream_key, uint64_t op_number)
{
	int64_t ns = m->duration_ns, rank = model.rank >= 0 ? model.rank : (int64_t)device, span;

	if (ns < 0 && base_ns >= 0) {
		ns = base_ns; /* the library that brings the kernel knows best, jitter included */
	} else {
		if (ns < 0)
			ns = m->default_ns ? m->default_ns : sim_settings.kernel_ns;
		span = ns / 100 * m->jitter_pct;
		if (span > 0) {
			uint64_t h = sim_mix(sim_mix(sim_settings.seed, stream_key), op_number);
			ns += (int64_t)(h % (uint64_t)(2 * span + 1)) - span;
		}
	}
	if (!rendezvous && rank == model.slow_rank && ns < MAX_DURATION_NS)
		ns = (int64_t)((__int128)ns * model.slow_milli / 1000);
	return ns < 1 ? 1 : ns;
}

int64_t sim_model_copy_ns(enum sim_copy_path path, int pageable, uint64_t bytes)
{
	int64_t milli = model.milli_gbs[path];

	/* Pageable memory passes a staging buffer: about a quarter of the link. GB/s = bytes/ns. */
	if (pageable && (path == SIM_PATH_H2D || path == SIM_PATH_D2H))
		milli = milli >= 4 ? milli / 4 : 1;
	return sim_settings.copy_latency_ns + (int64_t)((__int128)bytes * 1000 / milli);
}

int64_t sim_model_memset_ns(uint64_t bytes)
{
	/* Written once, not read: twice the rate of a device copy. */
	return sim_settings.copy_latency_ns +
	       (int64_t)((__int128)bytes * 500 / model.milli_gbs[SIM_PATH_D2D]);
}
