/* shared: libclock_back.so */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded behind the agent: from BACK_AFTER_MS on the system's clock is an hour slow for the agent, as if somebody
 * had set it. For the agent alone: the simulated device lives by this clock too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static _Atomic long long begin_ms;
	int r = (int)syscall(SYS_clock_gettime, clock, t);
	const char *after = getenv("BACK_AFTER_MS");
	long long now_ms, none = 0;
	Dl_info who;

	if (r || clock != CLOCK_REALTIME || !after)
		return r;
	now_ms = (long long)t->tv_sec * 1000 + t->tv_nsec / 1000000;
	__atomic_compare_exchange_n((long long *)&begin_ms, &none, now_ms, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	if (now_ms - begin_ms >= atoll(after) && dladdr(__builtin_return_address(0), &who) &&
	    who.dli_fname && strstr(who.dli_fname, "libwarptap.so"))
		t->tv_sec -= 3600;
	return 0;
}
