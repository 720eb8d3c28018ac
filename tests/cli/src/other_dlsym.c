/* shared: libother_dlsym.so */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another tool that interposes dlsym, as they do: jumps straight to libc's, and hands out a wrapper of its own for
 * cuLaunchKernel. Behind ours both must see the launches.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int launches;
static __typeof__(&cuLaunchKernel) real_launch;

static CUresult their_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			     unsigned int bx, unsigned int by, unsigned int bz, unsigned int smem,
			     CUstream s, void **p, void **e)
{
	launches++;
	return real_launch(f, gx, gy, gz, bx, by, bz, smem, s, p, e);
}

void *dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);
	void *p;

	if (!real)
		real = (__typeof__(real))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (!real)
		real = (__typeof__(real))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
	p = real(handle, name);
	if (p && handle != RTLD_NEXT && handle != RTLD_DEFAULT && !strcmp(name, "cuLaunchKernel")) {
		real_launch = (__typeof__(real_launch))p;
		return (void *)their_launch;
	}
	return p;
}

__attribute__((destructor)) static void tell(void)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "their launches: %d\n", launches);

	if (launches && write(2, text, (size_t)n) < 0)
		return;
}
