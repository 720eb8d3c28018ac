/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the simulated CUPTI. The driver tells of finished operations and API calls (sim_sink); what is enabled
 * becomes records (sim_cupti_record.c) in the client's buffers (cupti_buffer.c), handed back when full or flushed.
 */
#ifndef SIM_CUPTI_H
#define SIM_CUPTI_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#include "simgpu/core/sim_export.h"

/* What a buffer held, for the truth when it is lost. */
struct cupti_counts {
	uint64_t kernel, copy, memset, api, other;
};
enum cupti_class {
	CUPTI_CLASS_KERNEL,
	CUPTI_CLASS_COPY,
	CUPTI_CLASS_MEMSET,
	CUPTI_CLASS_API,
	CUPTI_CLASS_OTHER
};

/* First in an entry point: the scenario may want it to fail. */
#define CUPTI_MAY_FAIL()                                                                           \
	do {                                                                                       \
		const struct sim_export *sim_ = cupti_sim();                                       \
		int r_ = sim_ ? sim_->failure(__func__) : 0;                                       \
		if (r_)                                                                            \
			return (CUptiResult)r_;                                                    \
	} while (0)

/* The driver's table once cuInit succeeded, else NULL. */
const struct sim_export *cupti_sim(void);
void *cupti_driver_symbol(const char *name);
/* What it says of itself, [cupti] version. */
uint32_t cupti_version(void);
/* How many there are; known once cupti_sim() found the driver. */
int cupti_devices(void);

/* Appends a record; hands full buffers back. Any thread, no lock of the caller may be held. */
void cupti_append(const void *record, size_t bytes, enum cupti_class cls);
/* Hands everything recorded so far back. */
void cupti_flush(void);
/* No kind is on any more. */
void cupti_all_off(void);
void cupti_set_callbacks(CUpti_BuffersCallbackRequestFunc request,
			 CUpti_BuffersCallbackCompleteFunc complete);
int cupti_has_callbacks(void);
/* Records dropped since the last call. */
size_t cupti_take_dropped(void);

/* The sink's functions, and the size of a record in a buffer (0 = unknown kind). */
void cupti_on_op(void *arg, const struct sim_op *op);
void cupti_on_api(void *arg, const struct sim_api *api);
size_t cupti_record_size(CUpti_ActivityKind kind);

/* Was the kind on at that moment, for this context? Times are the driver's clock. */
int cupti_was_on(CUpti_ActivityKind kind, uint32_t context, int64_t ns);
int cupti_api_on(enum sim_domain domain, uint32_t cbid, int64_t start_ns);
/* The driver's clock to the client's, if it registered one. */
uint64_t cupti_time(int64_t ns);
int64_t cupti_device_clock(int64_t ns);		      /* the driver's clock to the device's */
CUpti_TimestampCallbackFunc cupti_client_clock(void); /* NULL = none */
int cupti_system_thread_ids(void);
/* Records of the calling thread's external ids, for the call that just ended. */
void cupti_external_records(uint32_t correlation);

#endif
