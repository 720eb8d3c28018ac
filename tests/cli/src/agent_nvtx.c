/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job with NVTX's own annotations, built against the real header: pushed ranges (plain, wide, in a domain, by a
 * registered string), ranges that are started and ended. Exit 77 where there is no header.
 */
#if defined(__has_include) && __has_include(<nvtx3/nvToolsExt.h>)
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	nvtxEventAttributes_t a;
	nvtxDomainHandle_t domain;
	nvtxRangeId_t one, two;

	if (cuInit(0))
		return 3;
	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	domain = nvtxDomainCreateA("job");
	nvtxRangePushA("plain");
	nvtxRangePushW(L"wide");
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "event";
	nvtxRangePushEx(&a);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangePop();
	one = nvtxRangeStartA("one");
	two = nvtxDomainRangeStartEx(domain, &a);
	/* XLA's domain is there if somebody wants its annotations; other domains never are. */
	if (domain || !nvtxDomainCreateA("TSL") != !getenv("WARPTAP_XLA"))
		return 4;
	nvtxRangeEnd(one);
	nvtxDomainRangeEnd(domain, two);
	nvtxMarkA("a moment");
	nvtxDomainDestroy(domain);
	return one == two;
}
#else
int main(void)
{
	return 77;
}
#endif
