/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported functions that the generator cannot write: those that return no error, must not change the last error, or
 * are reached by compiled code alone (registration, the <<<>>> configuration). Compiled twice, as the generated file
 * is: exported for libcudart.so.13, hidden for the static archive.
 */
#include "simgpu/cudart/rt.h"

#include <cupti_runtime_cbid.h>
#include <stdio.h>
#include <stdlib.h>

#define CBID(name) CUPTI_RUNTIME_TRACE_CBID_##name

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, void *tid, void *bid,
			    void *bDim, void *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
		       const char *deviceName, int ext, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
			      const char *deviceName, int ext, size_t size, int constant,
			      int global);
void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, void *hostVar,
			   size_t size);
void __cudaRegisterUnifiedTable(void **fatCubinHandle, void *table);
char __cudaInitModule(void **fatCubinHandle);
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       void *stream);
int __cudaGetProcAddress(void);

void **__cudaRegisterFatBinary(void *fatCubin)
{
	return rt_register_fat(fatCubin);
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
	rt_unregister_fat(fatCubinHandle);
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, void *tid, void *bid,
			    void *bDim, void *gDim, int *wSize)
{
	rt_register_function(fatCubinHandle, hostFun, deviceName);
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
		       const char *deviceName, int ext, size_t size, int constant, int global)
{
	rt_register_var(fatCubinHandle, hostVar, deviceName, size);
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
			      const char *deviceName, int ext, size_t size, int constant,
			      int global)
{
	rt_register_var(fatCubinHandle, hostVarPtrAddress, deviceName, size);
}

void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, void *hostVar,
			   size_t size)
{
	rt_register_var(fatCubinHandle, hostVar, deviceName, size);
}

void __cudaRegisterUnifiedTable(void **fatCubinHandle, void *table)
{
	static unsigned char once;

	sim_stub_used(&once, "cudart", "__cudaRegisterUnifiedTable");
}

char __cudaInitModule(void **fatCubinHandle)
{
	return 1;
}

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream)
{
	struct rt_thread *t = &rt_self;

	if (t->configs == sizeof(t->config) / sizeof(t->config[0]))
		return 1;
	t->config[t->configs++] =
		(struct rt_config){gridDim, blockDim, sharedMem, (cudaStream_t)stream};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       void *stream)
{
	struct rt_thread *t = &rt_self;
	const struct rt_config *c;

	if (!t->configs)
		return t->last_error = cudaErrorMissingConfiguration;
	c = &t->config[--t->configs];
	*gridDim = c->grid;
	*blockDim = c->block;
	*sharedMem = c->smem;
	*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

int __cudaGetProcAddress(void)
{
	RT_STUB(0, "__cudaGetProcAddress");
}

static cudaError_t take_last_error(uint32_t cbid, int reset)
{
	cudaError_t err = rt_self.last_error;

	/* Asks for no driver: a program may clear the error before anything was ever loaded. */
	if (rt_sim)
		rt_sim->api_enter(SIM_RUNTIME, cbid);
	if (reset)
		rt_self.last_error = cudaSuccess;
	if (rt_sim)
		rt_sim->api_exit(SIM_RUNTIME, cbid, err);
	return err;
}

cudaError_t cudaGetLastError(void)
{
	return take_last_error(CBID(cudaGetLastError_v3020), 1);
}

cudaError_t cudaPeekAtLastError(void)
{
	return take_last_error(CBID(cudaPeekAtLastError_v3020), 0);
}

static const struct {
	int value;
	const char *name;
} errors[] = {
#include "rt_errors.inc"
};

/* Texts that programs print and people search for; the others are made from the name. */
static const struct {
	int value;
	const char *text;
} texts[] = {
	{cudaSuccess, "no error"},
	{cudaErrorInvalidValue, "invalid argument"},
	{cudaErrorMemoryAllocation, "out of memory"},
	{cudaErrorInitializationError, "initialization error"},
	{cudaErrorCudartUnloading, "driver shutting down"},
	{cudaErrorInsufficientDriver,
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{cudaErrorNoDevice, "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "invalid device ordinal"},
	{cudaErrorInvalidResourceHandle, "invalid resource handle"},
	{cudaErrorNotReady, "device not ready"},
	{cudaErrorIllegalAddress, "an illegal memory access was encountered"},
	{cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
	{cudaErrorLaunchFailure, "unspecified launch failure"},
	{cudaErrorNotSupported, "operation not supported"},
	{cudaErrorUnknown, "unknown error"},
};

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].value == (int)error)
			return errors[i].name;
	return "unrecognized error code";
}

/* cudaErrorInvalidDeviceFunction -> "invalid device function". */
static void words_of(const char *name, char *buf, size_t n)
{
	size_t at = 0;

	if (!strncmp(name, "cudaError", 9))
		name += 9;
	for (const char *c = name; *c && at + 2 < n; c++) {
		int upper = *c >= 'A' && *c <= 'Z';

		if (upper && c > name && !(c[-1] >= 'A' && c[-1] <= 'Z'))
			buf[at++] = ' ';
		buf[at++] = upper ? *c - 'A' + 'a' : *c;
	}
	buf[at] = 0;
}

const char *cudaGetErrorString(cudaError_t error)
{
	/* One buffer per error, filled once with what never changes: a race writes the same bytes. */
	static char made[sizeof(errors) / sizeof(errors[0])][80];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].value == (int)error)
			return texts[i].text;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].value == (int)error) {
			words_of(errors[i].name, made[i], sizeof(made[i]));
			return made[i];
		}
	}
	return "unrecognized error code";
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

cudaError_t cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
	/* The private tables of NVIDIA's own libraries: nothing to give. */
	if (ppExportTable)
		*ppExportTable = NULL;
	RT_STUB(0, "cudaGetExportTable");
}
