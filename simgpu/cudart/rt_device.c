/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, versions, limits, peers, IPC handles: the part of the runtime that asks the driver and repeats the answer.
 * Any thread; no state but the thread's device (rt_self) and the primary contexts (rt_init.c).
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

cudaError_t rt_cudaDriverGetVersion(int *driverVersion)
{
	return RT_ERR(DRV(cuDriverGetVersion)(driverVersion));
}

cudaError_t rt_cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return cudaErrorInvalidValue;
	*runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t rt_cudaGetDeviceCount(int *count)
{
	int n = 0;

	if (!count)
		return cudaErrorInvalidValue;
	*count = 0;
	RT_TRY(DRV(cuDeviceGetCount)(&n));
	*count = n;
	return n ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t rt_cudaGetDevice(int *device)
{
	CUcontext ctx = NULL;
	CUdevice dev;

	if (!device)
		return cudaErrorInvalidValue;
	*device = rt_self.device;
	if (DRV(cuCtxGetCurrent)(&ctx) == CUDA_SUCCESS && ctx &&
	    DRV(cuCtxGetDevice)(&dev) == CUDA_SUCCESS)
		*device = dev;
	return cudaSuccess;
}

cudaError_t rt_cudaSetDevice(int device)
{
	CUcontext ctx;
	int n = 0;

	RT_TRY(DRV(cuDeviceGetCount)(&n));
	if (device < 0 || device >= n)
		return cudaErrorInvalidDevice;
	/* Since CUDA 12 this creates the primary context at once. */
	RT_TRY(rt_primary(device, &ctx));
	RT_TRY(DRV(cuCtxSetCurrent)(ctx));
	rt_self.device = device;
	return cudaSuccess;
}

cudaError_t rt_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	CUcontext ctx;

	if (flags & cudaInitDeviceFlagsAreValid)
		RT_TRY(DRV(cuDevicePrimaryCtxSetFlags)(device, deviceFlags));
	return rt_primary(device, &ctx);
}

cudaError_t rt_cudaSetDeviceFlags(unsigned int flags)
{
	return RT_ERR(DRV(cuDevicePrimaryCtxSetFlags)(rt_self.device,
						      flags & ~(unsigned)cudaDeviceMapHost));
}

cudaError_t rt_cudaGetDeviceFlags(unsigned int *flags)
{
	int active;

	if (!flags)
		return cudaErrorInvalidValue;
	RT_TRY(DRV(cuDevicePrimaryCtxGetState)(rt_self.device, flags, &active));
	*flags |= cudaDeviceMapHost;
	return cudaSuccess;
}

cudaError_t rt_cudaSetValidDevices(int *device_arr, int len)
{
	if (len < 0 || (len && !device_arr))
		return cudaErrorInvalidValue;
	if (len)
		rt_self.device = device_arr[0];
	return cudaSuccess;
}

cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	if (!device || !prop)
		return cudaErrorInvalidValue;
	*device = 0;
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	return RT_ERR(DRV(cuDeviceGetAttribute)(value, (CUdevice_attribute)attr, device));
}

/* Fields of cudaDeviceProp that are a device attribute each. */
#define INT_FIELD(field, attr)                                                                     \
	{                                                                                          \
		offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attr, 0              \
	}
#define SIZE_FIELD(field, attr)                                                                    \
	{                                                                                          \
		offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attr, 1              \
	}
static const struct {
	size_t offset;
	CUdevice_attribute attr;
	int is_size;
} prop_fields[] = {
	SIZE_FIELD(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
	INT_FIELD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
	INT_FIELD(warpSize, WARP_SIZE),
	SIZE_FIELD(memPitch, MAX_PITCH),
	INT_FIELD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	INT_FIELD(maxThreadsDim[0], MAX_BLOCK_DIM_X),
	INT_FIELD(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
	INT_FIELD(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
	INT_FIELD(maxGridSize[0], MAX_GRID_DIM_X),
	INT_FIELD(maxGridSize[1], MAX_GRID_DIM_Y),
	INT_FIELD(maxGridSize[2], MAX_GRID_DIM_Z),
	SIZE_FIELD(totalConstMem, TOTAL_CONSTANT_MEMORY),
	INT_FIELD(major, COMPUTE_CAPABILITY_MAJOR),
	INT_FIELD(minor, COMPUTE_CAPABILITY_MINOR),
	SIZE_FIELD(textureAlignment, TEXTURE_ALIGNMENT),
	SIZE_FIELD(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
	INT_FIELD(multiProcessorCount, MULTIPROCESSOR_COUNT),
	INT_FIELD(integrated, INTEGRATED),
	INT_FIELD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
	INT_FIELD(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
	INT_FIELD(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
	INT_FIELD(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
	INT_FIELD(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
	INT_FIELD(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
	INT_FIELD(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
	SIZE_FIELD(surfaceAlignment, SURFACE_ALIGNMENT),
	INT_FIELD(concurrentKernels, CONCURRENT_KERNELS),
	INT_FIELD(ECCEnabled, ECC_ENABLED),
	INT_FIELD(pciBusID, PCI_BUS_ID),
	INT_FIELD(pciDeviceID, PCI_DEVICE_ID),
	INT_FIELD(pciDomainID, PCI_DOMAIN_ID),
	INT_FIELD(asyncEngineCount, ASYNC_ENGINE_COUNT),
	INT_FIELD(unifiedAddressing, UNIFIED_ADDRESSING),
	INT_FIELD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
	INT_FIELD(l2CacheSize, L2_CACHE_SIZE),
	INT_FIELD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
	INT_FIELD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
	INT_FIELD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
	INT_FIELD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
	INT_FIELD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
	SIZE_FIELD(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
	INT_FIELD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
	INT_FIELD(managedMemory, MANAGED_MEMORY),
	INT_FIELD(isMultiGpuBoard, MULTI_GPU_BOARD),
	INT_FIELD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
	INT_FIELD(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
	INT_FIELD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
	INT_FIELD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
	INT_FIELD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
	INT_FIELD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
	INT_FIELD(cooperativeLaunch, COOPERATIVE_LAUNCH),
	SIZE_FIELD(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	INT_FIELD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
	INT_FIELD(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
	SIZE_FIELD(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
	INT_FIELD(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
	INT_FIELD(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
	INT_FIELD(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
	INT_FIELD(ipcEventSupported, IPC_EVENT_SUPPORTED),
	INT_FIELD(clusterLaunch, CLUSTER_LAUNCH),
	INT_FIELD(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
	INT_FIELD(deviceNumaConfig, NUMA_CONFIG),
	INT_FIELD(deviceNumaId, NUMA_ID),
	INT_FIELD(hostNumaId, HOST_NUMA_ID),
};

cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	CUuuid uuid;
	int value;

	if (!prop)
		return cudaErrorInvalidValue;
	memset(prop, 0, sizeof(*prop));
	RT_TRY(DRV(cuDeviceGetName)(prop->name, sizeof(prop->name), device));
	RT_TRY(DRV(cuDeviceTotalMem)(&prop->totalGlobalMem, device));
	if (DRV(cuDeviceGetUuid)(&uuid, device) == CUDA_SUCCESS)
		memcpy(&prop->uuid, &uuid, sizeof(prop->uuid));
	for (size_t i = 0; i < sizeof(prop_fields) / sizeof(prop_fields[0]); i++) {
		void *at = (char *)prop + prop_fields[i].offset;

		/* An attribute the driver does not know leaves 0: "not supported" for all of these. */
		if (DRV(cuDeviceGetAttribute)(&value, prop_fields[i].attr, device) != CUDA_SUCCESS)
			continue;
		if (prop_fields[i].is_size)
			*(size_t *)at = (size_t)value;
		else
			*(int *)at = value;
	}
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceSynchronize(void)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxSynchronize)());
}

cudaError_t rt_cudaDeviceReset(void)
{
	int device;

	RT_TRY(rt_cudaGetDevice(&device));
	RT_TRY(DRV(cuDevicePrimaryCtxReset)(device));
	rt_forget_primary(device);
	/* The current context is a dead one now; the next call makes a new one. */
	DRV(cuCtxSetCurrent)(NULL);
	rt_self.device = device;
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxSetLimit)((CUlimit)limit, value));
}

cudaError_t rt_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxGetLimit)(pValue, (CUlimit)limit));
}

cudaError_t rt_cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxGetCacheConfig)((CUfunc_cache *)pCacheConfig));
}

cudaError_t rt_cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxSetCacheConfig)((CUfunc_cache)cacheConfig));
}

cudaError_t rt_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuCtxGetStreamPriorityRange)(leastPriority, greatestPriority));
}

cudaError_t rt_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
	return RT_ERR(DRV(cuDeviceGetPCIBusId)(pciBusId, len, device));
}

cudaError_t rt_cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	return RT_ERR(DRV(cuDeviceGetByPCIBusId)(device, pciBusId));
}

cudaError_t rt_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	return RT_ERR(DRV(cuDeviceCanAccessPeer)(canAccessPeer, device, peerDevice));
}

cudaError_t rt_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
					 int dstDevice)
{
	return RT_ERR(DRV(cuDeviceGetP2PAttribute)(value, (CUdevice_P2PAttribute)attr, srcDevice,
						   dstDevice));
}

cudaError_t rt_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	CUcontext peer;

	RT_TRY(rt_context());
	RT_TRY(rt_primary(peerDevice, &peer));
	return RT_ERR(DRV(cuCtxEnablePeerAccess)(peer, flags));
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int peerDevice)
{
	CUcontext peer;

	RT_TRY(rt_context());
	RT_TRY(rt_primary(peerDevice, &peer));
	return RT_ERR(DRV(cuCtxDisablePeerAccess)(peer));
}

cudaError_t rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuIpcGetMemHandle)((CUipcMemHandle *)handle, (CUdeviceptr)devPtr));
}

cudaError_t rt_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle h;

	RT_TRY(rt_context());
	memcpy(&h, &handle, sizeof(h));
	return RT_ERR(DRV(cuIpcOpenMemHandle)((CUdeviceptr *)devPtr, h, flags));
}

cudaError_t rt_cudaIpcCloseMemHandle(void *devPtr)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuIpcCloseMemHandle)((CUdeviceptr)devPtr));
}

cudaError_t rt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuIpcGetEventHandle)((CUipcEventHandle *)handle, event));
}

cudaError_t rt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle h;

	RT_TRY(rt_context());
	memcpy(&h, &handle, sizeof(h));
	return RT_ERR(DRV(cuIpcOpenEventHandle)(event, h));
}

static cudaError_t entry_point(const char *symbol, void **funcPtr, int version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult rc;

	if (!symbol || !funcPtr)
		return cudaErrorInvalidValue;
	if (flags == cudaEnableDefault && rt_self.ptsz)
		flags = cudaEnablePerThreadDefaultStream;
	rc = rt_proc_address(symbol, funcPtr, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	/* With a place for the status, a missing symbol is no error of the call. */
	if (rc == CUDA_ERROR_NOT_FOUND && status)
		return cudaSuccess;
	return RT_ERR(rc);
}

cudaError_t rt_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				       enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}

cudaError_t rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
						unsigned int cudaVersion, unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}

cudaError_t rt_cudaProfilerStart(void)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuProfilerStart)());
}

cudaError_t rt_cudaProfilerStop(void)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuProfilerStop)());
}
