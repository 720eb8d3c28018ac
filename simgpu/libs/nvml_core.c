/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvidia-ml.so.1: what there is, without touching the driver. As in life it works in a process that never called
 * cuInit, and never makes one a CUDA process; the devices come from the same table and switches as the driver's.
 * Utilisation and memory of other processes are not known here: idle and free. Any thread.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_model.h"
#include "simgpu/core/sim_scenario.h"
#include "simgpu/libs/lib_stub.h"

enum nvml_status {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9
};
#define DRIVER_VERSION "580.65.06"
#define CUDA_VERSION   13000
#define MAX_DEVICES    64

struct nvml_device {
	int index;
};
static struct nvml_device devices[MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int refs, loaded;

/* Public structs of the API, laid out as its documentation gives them. */
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
struct nvml_utilization {
	unsigned int gpu, memory;
};
struct nvml_pci {
	char legacy_id[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char id[32];
};

struct nvml_field {
	unsigned int id, scope;
	long long timestamp_us, latency_us;
	int value_type, status;
	unsigned long long value;
};

static int load(void)
{
	char err[256];

	if (!loaded)
		loaded = sim_scenario_load(getenv("SIMGPU_SCENARIO"), err, sizeof(err)) ||
					 sim_model_load(err, sizeof(err))
				 ? -1
				 : 1;
	for (int i = 0; i < MAX_DEVICES; i++)
		devices[i].index = i;
	return loaded > 0 ? NVML_OK : NVML_DRIVER_NOT_LOADED;
}

SIM_API int nvmlInitWithFlags(unsigned int flags)
{
	int r;

	pthread_mutex_lock(&lock);
	r = load();
	if (r == NVML_OK)
		refs++;
	pthread_mutex_unlock(&lock);
	return r;
}

SIM_API int nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

SIM_API int nvmlInit(void)
{
	return nvmlInitWithFlags(0);
}

SIM_API int nvmlShutdown(void)
{
	int r = NVML_UNINITIALIZED;

	pthread_mutex_lock(&lock);
	if (refs > 0) {
		refs--;
		r = NVML_OK;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- the system ---- */
static int text(const char *s, char *buf, unsigned int n)
{
	if (!buf)
		return NVML_INVALID_ARGUMENT;
	if (strlen(s) >= n)
		return NVML_INSUFFICIENT_SIZE;
	memcpy(buf, s, strlen(s) + 1);
	return NVML_OK;
}

SIM_API int nvmlSystemGetDriverVersion(char *buf, unsigned int n)
{
	return text(DRIVER_VERSION, buf, n);
}

SIM_API int nvmlSystemGetNVMLVersion(char *buf, unsigned int n)
{
	return text("13." DRIVER_VERSION, buf, n);
}

SIM_API int nvmlSystemGetCudaDriverVersion(int *ret)
{
	if (!ret)
		return NVML_INVALID_ARGUMENT;
	*ret = CUDA_VERSION;
	return NVML_OK;
}

SIM_API int nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
	return nvmlSystemGetCudaDriverVersion(ret);
}

/* ---- devices ---- */
static int count(void)
{
	return refs > 0 ? sim_settings.device_count : 0;
}

/* NULL unless it is a device of ours and the library is in use. */
static const struct sim_device_type *device(const struct nvml_device *d)
{
	return d >= devices && d < devices + count() ? sim_settings.device : NULL;
}

SIM_API int nvmlDeviceGetCount_v2(unsigned int *ret)
{
	if (!refs)
		return NVML_UNINITIALIZED;
	if (!ret)
		return NVML_INVALID_ARGUMENT;
	*ret = (unsigned int)count();
	return NVML_OK;
}

SIM_API int nvmlDeviceGetCount(unsigned int *ret)
{
	return nvmlDeviceGetCount_v2(ret);
}

SIM_API int nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct nvml_device **ret)
{
	if (!refs)
		return NVML_UNINITIALIZED;
	if (!ret || index >= (unsigned int)count())
		return NVML_INVALID_ARGUMENT;
	*ret = &devices[index];
	return NVML_OK;
}

SIM_API int nvmlDeviceGetHandleByIndex(unsigned int index, struct nvml_device **ret)
{
	return nvmlDeviceGetHandleByIndex_v2(index, ret);
}

static void uuid_text(int index, char buf[48])
{
	unsigned char u[16];
	int at = snprintf(buf, 48, "GPU-");

	sim_device_uuid(index, u);
	for (int i = 0; i < 16; i++)
		at += snprintf(buf + at, 48 - (size_t)at, "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static void pci_of(int index, struct nvml_pci *p)
{
	memset(p, 0, sizeof(*p));
	p->bus = (unsigned int)(0x17 + index) & 0xff; /* as the driver numbers them */
	p->device_id = 0x233010de;
	snprintf(p->legacy_id, sizeof(p->legacy_id), "0000:%02X:00.0", p->bus);
	snprintf(p->id, sizeof(p->id), "00000000:%02X:00.0", p->bus);
}

SIM_API int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **ret)
{
	char mine[48];

	if (!uuid || !ret)
		return NVML_INVALID_ARGUMENT;
	for (int i = 0; i < count(); i++) {
		uuid_text(i, mine);
		if (!strcmp(mine, uuid)) {
			*ret = &devices[i];
			return NVML_OK;
		}
	}
	return NVML_NOT_FOUND;
}

SIM_API int nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct nvml_device **ret)
{
	unsigned int domain, bus;

	if (!id || !ret || sscanf(id, "%x:%x", &domain, &bus) != 2)
		return NVML_INVALID_ARGUMENT;
	for (int i = 0; i < count(); i++) {
		struct nvml_pci p;

		pci_of(i, &p);
		if (!domain && p.bus == bus) {
			*ret = &devices[i];
			return NVML_OK;
		}
	}
	return NVML_NOT_FOUND;
}

SIM_API int nvmlDeviceGetName(struct nvml_device *d, char *buf, unsigned int n)
{
	const struct sim_device_type *t = device(d);

	return t ? text(t->name, buf, n) : NVML_INVALID_ARGUMENT;
}

SIM_API int nvmlDeviceGetUUID(struct nvml_device *d, char *buf, unsigned int n)
{
	char mine[48];

	if (!device(d))
		return NVML_INVALID_ARGUMENT;
	uuid_text(d->index, mine);
	return text(mine, buf, n);
}

SIM_API int nvmlDeviceGetIndex(struct nvml_device *d, unsigned int *ret)
{
	if (!device(d) || !ret)
		return NVML_INVALID_ARGUMENT;
	*ret = (unsigned int)d->index;
	return NVML_OK;
}

SIM_API int nvmlDeviceGetMinorNumber(struct nvml_device *d, unsigned int *ret)
{
	return nvmlDeviceGetIndex(d, ret);
}

SIM_API int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, struct nvml_pci *ret)
{
	if (!device(d) || !ret)
		return NVML_INVALID_ARGUMENT;
	pci_of(d->index, ret);
	return NVML_OK;
}

SIM_API int nvmlDeviceGetCudaComputeCapability(struct nvml_device *d, int *major, int *minor)
{
	const struct sim_device_type *t = device(d);

	if (!t || !major || !minor)
		return NVML_INVALID_ARGUMENT;
	*major = (int)t->cc_major;
	*minor = (int)t->cc_minor;
	return NVML_OK;
}

SIM_API int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *ret)
{
	const struct sim_device_type *t = device(d);

	if (!t || !ret)
		return NVML_INVALID_ARGUMENT;
	*ret = (struct nvml_memory){.total = t->memory_bytes, .free = t->memory_bytes};
	return NVML_OK;
}

SIM_API int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d, struct nvml_memory_v2 *ret)
{
	const struct sim_device_type *t = device(d);

	if (!t || !ret)
		return NVML_INVALID_ARGUMENT;
	*ret = (struct nvml_memory_v2){
		.version = ret->version, .total = t->memory_bytes, .free = t->memory_bytes};
	return NVML_OK;
}

SIM_API int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *ret)
{
	if (!device(d) || !ret)
		return NVML_INVALID_ARGUMENT;
	*ret = (struct nvml_utilization){0, 0};
	return NVML_OK;
}

/* Quantities that are one number per device. */
static int number(struct nvml_device *d, unsigned int value, unsigned int *ret)
{
	if (!device(d) || !ret)
		return NVML_INVALID_ARGUMENT;
	*ret = value;
	return NVML_OK;
}

/* Processes are not known here: none. */
static int no_processes(struct nvml_device *d, unsigned int *n)
{
	return number(d, 0, n);
}

SIM_API int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, unsigned int *n, void *out)
{
	return no_processes(d, n);
}

SIM_API int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *d, unsigned int *n,
						    void *out)
{
	return no_processes(d, n);
}

SIM_API int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *d, unsigned int *n,
						    void *out)
{
	return no_processes(d, n);
}

SIM_API int nvmlDeviceGetGraphicsRunningProcesses_v3(struct nvml_device *d, unsigned int *n,
						     void *out)
{
	return no_processes(d, n);
}

/* nvmlClockType_t: graphics, SM, memory, video */
static unsigned int clock_mhz(int type)
{
	return (type == 2 ? sim_settings.device->memory_clock_khz
			  : sim_settings.device->clock_khz) /
	       1000;
}

SIM_API int nvmlDeviceGetClockInfo(struct nvml_device *d, int type, unsigned int *ret)
{
	return device(d) ? number(d, clock_mhz(type), ret) : NVML_INVALID_ARGUMENT;
}

SIM_API int nvmlDeviceGetMaxClockInfo(struct nvml_device *d, int type, unsigned int *ret)
{
	return nvmlDeviceGetClockInfo(d, type, ret);
}

SIM_API int nvmlDeviceGetTemperature(struct nvml_device *d, int sensor, unsigned int *ret)
{
	return number(d, 40, ret);
}

SIM_API int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 100000, ret);
}

SIM_API int nvmlDeviceGetPowerManagementLimit(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 700000, ret);
}

SIM_API int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 700000, ret);
}

SIM_API int nvmlDeviceGetPersistenceMode(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 1, ret);
}

SIM_API int nvmlDeviceGetNumGpuCores(struct nvml_device *d, unsigned int *ret)
{
	const struct sim_device_type *t = device(d);

	return t ? number(d, t->sm_count * 128, ret) : NVML_INVALID_ARGUMENT;
}

/* ---- links: PCIe as the generation of the device has it, x16; NVLink is counted, its speed is not known here ---- */
static unsigned int pcie_generation(void)
{
	return sim_settings.device->cc_major >= 9 ? 5 : 4;
}

SIM_API int nvmlDeviceGetCurrPcieLinkGeneration(struct nvml_device *d, unsigned int *ret)
{
	return device(d) ? number(d, pcie_generation(), ret) : NVML_INVALID_ARGUMENT;
}

SIM_API int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *d, unsigned int *ret)
{
	return nvmlDeviceGetCurrPcieLinkGeneration(d, ret);
}

SIM_API int nvmlDeviceGetCurrPcieLinkWidth(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 16, ret);
}

SIM_API int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *d, unsigned int *ret)
{
	return number(d, 16, ret);
}

/* Third generation: 12 links (A100); fourth and fifth: 18. */
static unsigned int nvlinks(void)
{
	return sim_settings.device->cc_major >= 9 ? 18 : 12;
}

SIM_API int nvmlDeviceGetNvLinkState(struct nvml_device *d, unsigned int link, unsigned int *ret)
{
	if (!device(d) || link >= nvlinks())
		return NVML_INVALID_ARGUMENT;
	return number(d, sim_settings.device_count > 1, ret);
}

/* All reach all, in each of the kinds that are asked for (read, write, NVLink, atomics): 0 = OK. */
SIM_API int nvmlDeviceGetP2PStatus(struct nvml_device *d, struct nvml_device *peer, int kind,
				   unsigned int *ret)
{
	if (!device(peer) || kind < 0)
		return NVML_INVALID_ARGUMENT;
	return number(d, 0, ret);
}

SIM_API int nvmlDeviceGetMigMode(struct nvml_device *d, unsigned int *ret,
				 unsigned int *ret_pending)
{
	int r = number(d, 0, ret);

	return r == NVML_OK ? number(d, 0, ret_pending) : r;
}

/* Each value answers for itself; of those known here there is one. */
SIM_API int nvmlDeviceGetFieldValues(struct nvml_device *d, int n, struct nvml_field *values)
{
	enum { FIELD_NVLINK_COUNT = 91, TYPE_UNSIGNED = 1 };

	if (!device(d) || n <= 0 || !values)
		return NVML_INVALID_ARGUMENT;
	for (int i = 0; i < n; i++) {
		values[i].timestamp_us = values[i].latency_us = 0;
		values[i].value_type = TYPE_UNSIGNED;
		values[i].value = nvlinks();
		values[i].status =
			values[i].id == FIELD_NVLINK_COUNT ? NVML_OK : NVML_NOT_SUPPORTED;
	}
	return NVML_OK;
}

SIM_API const char *nvmlErrorString(int status)
{
	static const char *const texts[] = {"Success",
					    "Uninitialized",
					    "Invalid Argument",
					    "Not Supported",
					    "Insufficient Permissions",
					    "Already Initialized",
					    "Not Found",
					    "Insufficient Size",
					    "Insufficient External Power",
					    "Driver Not Loaded"};

	return status >= 0 && status < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[status]
									       : "Unknown Error";
}
