/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuInit and the end of the process, versions, error names, cuGetProcAddress.
 *
 * A forked child of an initialised process gets CUDA_ERROR_NOT_INITIALIZED from everything, cuInit included, as with
 * the real driver: the page that says "alive" is wiped by the kernel, for a raw fork too. The exit handler is
 * registered here and not in a constructor, so that handlers registered after cuInit run before the driver goes.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_fault.h"
#include "simgpu/core/sim_scenario.h"
#include "simgpu/core/sim_truth.h"
#include "simgpu/cuda/proc_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised; /* in this process or a parent */
static CUresult init_result;

static void at_exit(void)
{
	if (!*sim_alive)
		return;
	sim_torn_down = true; /* first: not alive and not torn down means forked */
	*sim_alive = 0;
	/* What has ended by now gets its row; what is in flight dies with the process. Bounded: exit must not hang. */
	sim_engine_close(200000000);
	drv_memory_end();
	sim_truth_note("end", "exit");
}

static CUresult complain(const char *err)
{
	sim_complain("%s", err);
	return CUDA_ERROR_INVALID_VALUE;
}

static void note_devices(void)
{
	for (int i = 0; i < sim_settings.device_count; i++) {
		char hex[33];
		sim_device_uuid(i, drv_devices[i].uuid);
		for (int k = 0; k < 16; k++)
			snprintf(hex + 2 * k, 3, "%02x", drv_devices[i].uuid[k]);
		sim_truth_note("device", "%d %s %s", i, hex, sim_settings.device->name);
	}
}

static CUresult start(void)
{
	char err[512];
	int *page;

	if (sim_scenario_load(getenv("SIMGPU_SCENARIO"), err, sizeof(err)) ||
	    sim_model_load(err, sizeof(err)) || sim_call_load_failures(err, sizeof(err)) ||
	    sim_truth_open(getenv("SIMGPU_TRUTH"), err, sizeof(err)))
		return complain(err);
	if (!sim_settings.device_count)
		return CUDA_ERROR_NO_DEVICE;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK))
		return complain("cannot map a page that a fork wipes");
	sim_truth_calls = sim_scenario_get("truth.calls") && getenv("SIMGPU_TRUTH") &&
			  !strcmp(sim_scenario_get("truth.calls"), "1");
	note_devices();
	sim_fault_note();
	atexit(at_exit);
	*page = 1;
	sim_alive = page;
	return CUDA_SUCCESS;
}

CUresult sim_cuInit(unsigned int flags)
{
	CUresult r;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	/* Before any lock: in a forked child its owner may not exist. */
	if (initialised && init_result == CUDA_SUCCESS && !*sim_alive)
		return sim_torn_down ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&init_lock);
	if (!initialised) {
		init_result = start();
		initialised = true;
	}
	r = init_result;
	pthread_mutex_unlock(&init_lock);
	return r;
}

CUresult sim_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define E(code_, text_)                                                                            \
	{                                                                                          \
		code_, #code_, text_                                                               \
	}
	E(CUDA_SUCCESS, "no error"),
	E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	E(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
	E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
	E(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
	E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
	  "peer access is not supported between these two devices"),
	E(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	E(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
	E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	E(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
	E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
	E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	E(CUDA_ERROR_NOT_READY, "device not ready"),
	E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
	E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
	E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	E(CUDA_ERROR_ASSERT, "device-side assert triggered"),
	E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	  "part or all of the requested memory range is already mapped"),
	E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
	  "pointer does not correspond to a registered memory region"),
	E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
	E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	  "operation not permitted when stream is capturing"),
	E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	  "operation failed due to a previous error during capture"),
	E(CUDA_ERROR_STREAM_CAPTURE_MERGE,
	  "operation would result in a merge of separate capture sequences"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
	  "capture was not ended in the same stream as it began"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
	E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
	  "dependency created on uncaptured work in another stream"),
	E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	  "operation would make the legacy stream depend on a capturing blocking stream"),
	E(CUDA_ERROR_CAPTURED_EVENT,
	  "operation not permitted on an event last recorded in a capturing stream"),
	E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
	  "attempt to terminate a thread-local capture sequence from another thread"),
	E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed because it "
						"included changes which violated constraints"),
	E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster misconfiguration"),
	E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

static CUresult error_field(CUresult error, const char **ret, bool name)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error) {
			*ret = name ? errors[i].name : errors[i].text;
			return CUDA_SUCCESS;
		}
	*ret = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorName(CUresult error, const char **name)
{
	return error_field(error, name, true);
}

CUresult sim_cuGetErrorString(CUresult error, const char **text)
{
	return error_field(error, text, false);
}

/* First row of a name, by bisection. */
static unsigned int first_row(const char *name)
{
	unsigned int lo = 0, hi = sim_n_procs;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		if (strcmp(sim_procs[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static CUdriverProcAddressQueryResult find(const char *name, int version, bool per_thread,
					   void **ret)
{
	bool known = false;

	*ret = NULL;
	/* Rows of a name: legacy first, each group by version; the last that fits wins, per-thread over legacy. */
	for (unsigned int i = first_row(name); i < sim_n_procs && !strcmp(sim_procs[i].name, name);
	     i++) {
		known = true;
		if (sim_procs[i].version <= version && (per_thread || !sim_procs[i].per_thread))
			*ret = sim_procs[i].address;
	}
	return *ret    ? CU_GET_PROC_ADDRESS_SUCCESS
	       : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
		       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

CUresult sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult st;

	if (!symbol || !pfn || version > CUDA_VERSION || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	st = find(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, pfn);
	if (status)
		*status = st;
	return CUDA_SUCCESS;
}

/* The form of CUDA 11.3: no status, so that a name not found is an error. */
CUresult sim_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult st;
	CUresult r = sim_cuGetProcAddress_v2(symbol, pfn, version, flags, &st);

	return r == CUDA_SUCCESS && st != CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_ERROR_NOT_FOUND : r;
}

CUresult sim_cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = memcmp(id->bytes, SIM_EXPORT_UUID_BYTES, 16) ? NULL : drv_export_table();
	return *table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
