// SPDX-License-Identifier: Apache-2.0
/* shared: libfakecudnn.so */
/* A cuDNN that does nothing, for what a hook adds to it. A descriptor is a number. */
#include <stdint.h>

int cudnnBackendCreateDescriptor(int type, void **d);
int cudnnBackendCreateDescriptor(int type, void **d)
{
	static uintptr_t last = 4096;

	*d = (void *)(last += 64);
	return 0;
}

int cudnnBackendDestroyDescriptor(void *d);
int cudnnBackendDestroyDescriptor(void *d)
{
	return 0;
}

int cudnnBackendSetAttribute(void *d, int name, int type, int64_t n, const void *values);
int cudnnBackendSetAttribute(void *d, int name, int type, int64_t n, const void *values)
{
	return 0;
}

int cudnnBackendGetAttribute(void *d, int name, int type, int64_t room, int64_t *n, void *values);
int cudnnBackendGetAttribute(void *d, int name, int type, int64_t room, int64_t *n, void *values)
{
	return 0;
}

int cudnnBackendExecute(void *h, void *plan, void *pack);
int cudnnBackendExecute(void *h, void *plan, void *pack)
{
	return 0;
}
