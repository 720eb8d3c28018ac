/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_fault.h. Written under cuInit's lock, read-only afterwards. Every number is checked there, none later. */
#include "simgpu/core/sim_fault.h"

#include "simgpu/core/sim_base.h"
#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_scenario.h"
#include "simgpu/core/sim_truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINKS 32
#define ANY	  (-1)

struct slow_link {
	int64_t a, b, milli; /* b = ANY: all links of a */
};

static struct {
	uint64_t memory_bytes;
	struct {
		int64_t from_ns, until_ns, milli, device; /* milli 1000 = off */
	} throttle;
	struct {
		int64_t skew_ns, drift_ppb, origin_ns;
	} clock;
	struct slow_link link[MAX_LINKS];
	size_t n_links;
	int64_t hang, hang_rank;
	int64_t zero_from, zero_to, zero_every; /* 0 = off; every 1 = all from zero_from on */
	int64_t hold_every, hold_ns;		/* 0 = off */
} fault = {.throttle.milli = 1000};

struct reader {
	char *err;
	size_t n;
};

static int bad(struct reader *r, const char *key, const char *value, const char *expected)
{
	snprintf(r->err, r->n, "scenario: %s = %s: expected %s", key, value, expected);
	return -1;
}

/* Splits "left SEP right" in place; NULL where there is no SEP. */
static char *cut_at(char *text, char sep)
{
	char *p = strchr(text, sep);

	if (p)
		*p++ = 0;
	return p;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && strchr(" \t", end[-1]);)
		*--end = 0;
	return s;
}

/* The part of "0:x, 2:y" that is for this rank, without its "2:"; a part without a rank is for all. NULL = none. */
static char *for_rank(char *list, int64_t rank, int *ret_bad)
{
	char *ret = NULL, *part;

	*ret_bad = 0;
	while ((part = strsep(&list, ","))) {
		char *value = cut_at(part, ':');
		int64_t r;
		if (!value) {
			ret = trim(part);
		} else if (sim_parse_int(trim(part), 0, INT32_MAX, &r)) {
			*ret_bad = 1;
		} else if (r == rank || (rank < 0 && !r)) {
			ret = trim(value);
		}
	}
	return ret;
}

static int load_memory(struct reader *r, const struct sim_device_type *device)
{
	static const struct {
		const char *unit;
		int64_t bytes;
	} units[] = {{"GiB", 1ll << 30},
		     {"MiB", 1 << 20},
		     {"KiB", 1 << 10},
		     {"GB", 1000000000},
		     {"MB", 1000000}};
	const char *v = sim_scenario_get("device.memory");
	char number[32];
	size_t n;
	int64_t milli;

	fault.memory_bytes = device->memory_bytes;
	if (!v)
		return 0;
	n = strspn(v, "0123456789.");
	for (size_t i = 0; n && n < sizeof(number) && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(v + n + strspn(v + n, " "), units[i].unit))
			continue;
		memcpy(number, v, n);
		number[n] = 0;
		if (sim_parse_milli(number, &milli) || milli <= 0 || milli > 1 << 30)
			break;
		fault.memory_bytes = (uint64_t)((__int128)milli * units[i].bytes / 1000);
		if (fault.memory_bytes > device->memory_bytes)
			fault.memory_bytes = device->memory_bytes;
		return 0;
	}
	return bad(r, "device.memory", v, "a size such as 8GiB, 500MiB, 8.5GB");
}

static int get_ns(struct reader *r, const char *key, int64_t fallback, int64_t *ret)
{
	const char *v = sim_scenario_get(key);

	*ret = fallback;
	return v && sim_parse_ns(v, ret)
		       ? bad(r, key, v, "a duration such as 500ns, 10us, 2.5ms, 1s")
		       : 0;
}

static int load_throttle(struct reader *r)
{
	const char *v = sim_scenario_get("throttle.factor");
	int64_t now = sim_now_ns();

	fault.throttle.milli = 1000;
	if (v && (sim_parse_milli(v, &fault.throttle.milli) || fault.throttle.milli <= 0 ||
		  fault.throttle.milli > 1000000))
		return bad(r, "throttle.factor", v, "a number above 0 and up to 1000");
	if (get_ns(r, "throttle.from", 0, &fault.throttle.from_ns) ||
	    get_ns(r, "throttle.until", SIM_NEVER - now, &fault.throttle.until_ns))
		return -1;
	/* Counted from cuInit. */
	fault.throttle.from_ns += now;
	fault.throttle.until_ns += now;
	v = sim_scenario_get("throttle.device");
	fault.throttle.device = ANY;
	if (v && sim_parse_int(v, 0, 63, &fault.throttle.device))
		return bad(r, "throttle.device", v, "a device index");
	return 0;
}

/* "+3ms", "-250us" */
static int parse_signed_ns(const char *text, int64_t *ret)
{
	int minus = *text == '-', rc = sim_parse_ns(text + (*text == '+' || minus), ret);

	if (minus && !rc)
		*ret = -*ret;
	return rc;
}

/* "50ppm", "-2.5ppm" in 1e-9. */
static int parse_ppm(const char *text, int64_t *ret_ppb)
{
	int minus = *text == '-';
	const char *p = text + (*text == '+' || minus);
	size_t n = strspn(p, "0123456789.");
	char number[32];

	if (!n || n >= sizeof(number) || strcmp(p + n + strspn(p + n, " "), "ppm"))
		return -1;
	memcpy(number, p, n);
	number[n] = 0;
	if (sim_parse_milli(number, ret_ppb) || *ret_ppb > 100000000)
		return -1;
	if (minus)
		*ret_ppb = -*ret_ppb;
	return 0;
}

static int load_clock(struct reader *r, int64_t rank)
{
	const char *skew = sim_scenario_get("clock.skew"), *drift = sim_scenario_get("clock.drift");
	char text[256], *mine;
	int wrong;

	memset(&fault.clock, 0, sizeof(fault.clock));
	fault.clock.origin_ns = sim_now_ns();
	if (skew) {
		snprintf(text, sizeof(text), "%s", skew);
		mine = for_rank(text, rank, &wrong);
		if (wrong || (mine && parse_signed_ns(mine, &fault.clock.skew_ns)))
			return bad(r, "clock.skew", skew, "rank:time, ... as 1:+3ms, 2:-250us");
	}
	if (drift) {
		snprintf(text, sizeof(text), "%s", drift);
		mine = for_rank(text, rank, &wrong);
		if (wrong || (mine && parse_ppm(mine, &fault.clock.drift_ppb)))
			return bad(r, "clock.drift", drift, "rank:drift, ... as 1:50ppm, 2:-8ppm");
	}
	return 0;
}

/* "1:3" = all that rank 1 takes part in lasts three times as long; "0-1:4" = what goes between 0 and 1. */
static int load_links(struct reader *r)
{
	const char *v = sim_scenario_get("nccl.slow");
	char text[512], *list = text, *part;

	fault.n_links = 0;
	if (!v)
		return 0;
	snprintf(text, sizeof(text), "%s", v);
	while ((part = strsep(&list, ","))) {
		char *factor = cut_at(part, ':'), *b = cut_at(part, '-');
		struct slow_link l = {.b = ANY};
		if (fault.n_links == MAX_LINKS || !factor || !*trim(factor) ||
		    sim_parse_int(trim(part), 0, INT32_MAX, &l.a) ||
		    (b && (sim_parse_int(trim(b), 0, INT32_MAX, &l.b) || l.a == l.b)) ||
		    sim_parse_milli(trim(factor), &l.milli) || l.milli <= 0 || l.milli > 1000000)
			return bad(r, "nccl.slow", v,
				   "rank:factor or rank-rank:factor, ... as 1:3, 0-2:1.5");
		fault.link[fault.n_links++] = l;
	}
	return 0;
}

static int load_hang(struct reader *r)
{
	const char *v = sim_scenario_get("nccl.hang");
	char text[64], *rank;

	fault.hang = 0;
	fault.hang_rank = ANY;
	if (!v)
		return 0;
	snprintf(text, sizeof(text), "%s", v);
	rank = cut_at(text, ':');
	if (sim_parse_int(trim(text), 1, INT64_MAX, &fault.hang) ||
	    (rank && sim_parse_int(trim(rank), 0, INT32_MAX, &fault.hang_rank)))
		return bad(r, "nccl.hang", v, "number or number:rank, as 20 or 20:1");
	return 0;
}

static int load_zeroed(struct reader *r)
{
	const char *v = sim_scenario_get("cupti.zero_timestamps");
	char text[64], *plus, *to;

	fault.zero_every = 0;
	fault.zero_to = INT64_MAX;
	if (!v)
		return 0;
	snprintf(text, sizeof(text), "%s", v);
	plus = strchr(text, '+');
	if (plus && !plus[1])
		*plus = 0;
	to = cut_at(text, '-');
	if (sim_parse_int(text, 1, INT64_MAX, &fault.zero_from) ||
	    (to && sim_parse_int(to, fault.zero_from, INT64_MAX, &fault.zero_to)))
		return bad(
			r, "cupti.zero_timestamps", v,
			"a number: 5 = every 5th, 5+ = from the 5th on, 5-9 = the 5th to the 9th");
	fault.zero_every = plus || to ? 1 : fault.zero_from;
	return 0;
}

static int load_hold(struct reader *r)
{
	const char *v = sim_scenario_get("cupti.hold");
	char text[64], *time;

	fault.hold_every = 0;
	if (!v)
		return 0;
	snprintf(text, sizeof(text), "%s", v);
	time = cut_at(text, ':');
	if (!time || sim_parse_int(trim(text), 1, INT64_MAX, &fault.hold_every) ||
	    sim_parse_ns(trim(time), &fault.hold_ns))
		return bad(r, "cupti.hold", v, "number:time, as 200:20ms");
	return 0;
}

int sim_fault_load(int64_t rank, const struct sim_device_type *device, char *err, size_t n)
{
	struct reader r = {err, n};

	if (load_memory(&r, device) || load_throttle(&r) || load_clock(&r, rank) ||
	    load_links(&r) || load_hang(&r) || load_zeroed(&r) || load_hold(&r))
		return -1;
	return 0;
}

uint64_t sim_fault_memory_bytes(void)
{
	return fault.memory_bytes;
}

int64_t sim_fault_throttle(int64_t ns, uint32_t device, int64_t submit_ns)
{
	if (fault.throttle.milli == 1000 || submit_ns < fault.throttle.from_ns ||
	    submit_ns >= fault.throttle.until_ns ||
	    (fault.throttle.device != ANY && fault.throttle.device != device))
		return ns;
	ns = (int64_t)((__int128)ns * fault.throttle.milli / 1000);
	return ns < 1 ? 1 : ns;
}

int64_t sim_fault_device_clock(int64_t ns)
{
	return ns + fault.clock.skew_ns +
	       (int64_t)((__int128)(ns - fault.clock.origin_ns) * fault.clock.drift_ppb /
			 1000000000);
}

void sim_fault_note(void)
{
	if (fault.clock.skew_ns || fault.clock.drift_ppb)
		sim_truth_note("device_clock", "skew_ns=%lld drift_ppb=%lld origin_ns=%lld",
			       (long long)fault.clock.skew_ns, (long long)fault.clock.drift_ppb,
			       (long long)fault.clock.origin_ns);
}

int64_t sim_fault_link_milli(int64_t a, int64_t b)
{
	int64_t ret = 1000;

	for (size_t i = 0; i < fault.n_links; i++) {
		const struct slow_link *l = &fault.link[i];
		bool hit = l->b == ANY ? l->a == a || (b >= 0 && l->a == b)
				       : (l->a == a && l->b == b) || (l->a == b && l->b == a);
		if (hit && l->milli > ret)
			ret = l->milli;
	}
	return ret;
}

int64_t sim_fault_hang(int64_t rank)
{
	return fault.hang_rank == ANY || fault.hang_rank == rank ? fault.hang : 0;
}

int64_t sim_fault_hold_ns(int64_t number)
{
	return fault.hold_every && number % fault.hold_every == 0 ? fault.hold_ns : 0;
}

bool sim_fault_zeroed(int64_t number)
{
	return fault.zero_every && number >= fault.zero_from && number <= fault.zero_to &&
	       number % fault.zero_every == 0;
}
