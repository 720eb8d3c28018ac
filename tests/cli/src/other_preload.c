/* shared: libother_preload.so */
/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's preload, in the usual way: a function of its own before the real one, found by RTLD_NEXT. */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int memsets, reads;

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int v, size_t n, CUstream s)
{
	static __typeof__(&cuMemsetD32Async) real;

	if (!real)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "cuMemsetD32Async");
	if (!real || real == cuMemsetD32Async)
		abort(); /* it found itself: RTLD_NEXT has lost its caller */
	memsets++;
	return real(dst, v, n, s);
}

int atoi(const char *s)
{
	static int (*real)(const char *);

	if (!real)
		real = (int (*)(const char *))dlsym(RTLD_NEXT, "atoi");
	if (!real || real == atoi)
		abort();
	reads++;
	return real(s);
}

__attribute__((destructor)) static void tell(void)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "other: %d memsets, %d\n", memsets, atoi("7"));

	if (getenv("OTHER_TELLS") && write(2, text, (size_t)n) < 0)
		abort();
}
