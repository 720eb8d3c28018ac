/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback API: one subscriber, who is told when the driver and runtime calls it asked for begin and end, with
 * their correlation id, context, kernel name and, in the driver's domain, their parameters. Other domains (resources,
 * synchronisation, NVTX, state) can be enabled and stay silent.
 *
 * Callbacks run on the calling thread inside the call. Calls made in a callback are not told of. Switching takes a
 * lock; the path of a call reads flags only.
 */
#include "simgpu/cupti/cupti_sim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_CBIDS 2048
#define DOMAINS	  (CUPTI_CB_DOMAIN_STATE + 1)

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc fn;
	void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_Subscriber_st the_subscriber;
static CUpti_SubscriberHandle current; /* NULL or &the_subscriber */
static atomic_uchar wanted[DOMAINS][MAX_CBIDS];
static __thread int in_callback;

static const struct {
	uint32_t cbid;
	size_t function; /* where its CUfunction lies in the parameters */
} launches[] = {
	{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, offsetof(cuLaunchKernel_params, f)},
	{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, offsetof(cuLaunchKernel_ptsz_params, f)},
	{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, offsetof(cuLaunchKernelEx_params, f)},
	{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, offsetof(cuLaunchKernelEx_ptsz_params, f)},
	{CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
	 offsetof(cuLaunchCooperativeKernel_params, f)},
};

static const char *symbol_of(const struct sim_watched_call *c)
{
	CUresult (*get_name)(const char **, CUfunction) =
		(CUresult(*)(const char **, CUfunction))cupti_driver_symbol("cuFuncGetName");
	const char *name = NULL;
	CUfunction f;

	if (c->domain != SIM_DRIVER || !c->params || !get_name)
		return NULL;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		if (launches[i].cbid == c->cbid) {
			memcpy(&f, (const char *)c->params + launches[i].function, sizeof(f));
			return get_name(&name, f) == CUDA_SUCCESS ? name : NULL;
		}
	return NULL;
}

static void on_call(void *arg, struct sim_watched_call *c)
{
	CUpti_CallbackDomain domain =
		c->domain == SIM_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
	CUresult (*get_current)(CUcontext *) =
		(CUresult(*)(CUcontext *))cupti_driver_symbol("cuCtxGetCurrent");
	CUpti_CallbackData data = {0};
	const struct sim_export *sim = cupti_sim();
	CUpti_CallbackFunc fn = __atomic_load_n(&the_subscriber.fn, __ATOMIC_ACQUIRE);

	if (in_callback || !fn || c->cbid >= MAX_CBIDS ||
	    !atomic_load_explicit(&wanted[domain][c->cbid], memory_order_relaxed))
		return;
	in_callback = 1;
	if (!c->result && get_current)
		get_current(&c->context);
	data.callbackSite = c->result ? CUPTI_API_EXIT : CUPTI_API_ENTER;
	cuptiGetCallbackName(domain, c->cbid, &data.functionName);
	data.functionParams = c->params;
	data.functionReturnValue = c->result;
	data.symbolName = symbol_of(c);
	data.context = c->context;
	if (c->context && sim)
		sim->context_id(c->context, &data.contextUid);
	data.correlationData = &c->data;
	data.correlationId = c->correlation;
	fn(the_subscriber.arg, domain, c->cbid, &data);
	in_callback = 0;
}

/* Holds the lock. The driver tells of calls only while one is wanted. */
static void watch(const struct sim_export *sim)
{
	static const struct sim_watch on = {.call = on_call};
	int any = 0;

	for (int d = CUPTI_CB_DOMAIN_DRIVER_API; d <= CUPTI_CB_DOMAIN_RUNTIME_API && !any; d++)
		for (int i = 0; i < MAX_CBIDS && !any; i++)
			any = wanted[d][i];
	if (sim && sim->bytes >= offsetof(struct sim_export, set_watch) + sizeof(sim->set_watch))
		sim->set_watch(any ? &on : NULL);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc fn, void *arg)
{
	CUptiResult rc = CUPTI_SUCCESS;

	if (!ret)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!cupti_sim())
		return CUPTI_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	if (current) {
		rc = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	} else {
		the_subscriber.arg = arg;
		__atomic_store_n(&the_subscriber.fn, fn, __ATOMIC_RELEASE);
		*ret = current = &the_subscriber;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata)
{
	return subscribe(subscriber, callback, userdata);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *pParams)
{
	return subscribe(subscriber, callback, userdata);
}

/* Holds the lock. */
static CUptiResult check(CUpti_SubscriberHandle s, CUpti_CallbackDomain d)
{
	return s && s == current && d > CUPTI_CB_DOMAIN_INVALID && d < DOMAINS
		       ? CUPTI_SUCCESS
		       : CUPTI_ERROR_INVALID_PARAMETER;
}

/* Holds the lock. */
static void set_domain(CUpti_CallbackDomain d, int on)
{
	for (int i = 0; i < MAX_CBIDS; i++)
		atomic_store_explicit(&wanted[d][i], (unsigned char)on, memory_order_relaxed);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult rc;

	pthread_mutex_lock(&lock);
	rc = check(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	if (rc == CUPTI_SUCCESS) {
		for (int d = 1; d < DOMAINS; d++)
			set_domain((CUpti_CallbackDomain)d, 0);
		watch(cupti_sim());
		__atomic_store_n(&the_subscriber.fn, NULL, __ATOMIC_RELEASE);
		current = NULL;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult rc;

	if (cbid >= MAX_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	rc = check(subscriber, domain);
	if (rc == CUPTI_SUCCESS) {
		wanted[domain][cbid] = enable != 0;
		watch(cupti_sim());
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain)
{
	CUptiResult rc;

	pthread_mutex_lock(&lock);
	rc = check(subscriber, domain);
	if (rc == CUPTI_SUCCESS) {
		set_domain(domain, enable != 0);
		watch(cupti_sim());
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult rc;

	pthread_mutex_lock(&lock);
	rc = check(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	if (rc == CUPTI_SUCCESS) {
		for (int d = 1; d < DOMAINS; d++)
			set_domain((CUpti_CallbackDomain)d, enable != 0);
		watch(cupti_sim());
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult rc;

	if (!enable || cbid >= MAX_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	rc = check(subscriber, domain);
	if (rc == CUPTI_SUCCESS)
		*enable = wanted[domain][cbid];
	pthread_mutex_unlock(&lock);
	return rc;
}

CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
	static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API,
						 CUPTI_CB_DOMAIN_RUNTIME_API};

	if (!domainCount || !domainTable)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*domainCount = sizeof(domains) / sizeof(domains[0]);
	*domainTable = domains;
	return CUPTI_SUCCESS;
}

/* Detaches: nobody is subscribed and no kind is on afterwards, for any client of the process. It can start anew. */
CUptiResult cuptiFinalize(void)
{
	const struct sim_export *sim = cupti_sim();

	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	sim->truth_note("cupti_finalize", "1");
	if (current)
		cuptiUnsubscribe(current);
	cupti_flush();
	cupti_all_off();
	return CUPTI_SUCCESS;
}
