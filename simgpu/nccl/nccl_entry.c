/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of NCCL 2.28: arguments are checked here, the work is noted for the group. Every function is pncclX, and
 * ncclX is a weak alias of it, so that a tool may take over the one and call the other. Any host thread.
 * What is not simulated answers ncclInvalidUsage and is logged once.
 */
#define _GNU_SOURCE /* getrandom */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "simgpu/nccl/nccl_sim.h"

#include "simgpu/cudart/rt.h"
#include "simgpu/cudart/sim_stub.h"

#define ABORT_LIMIT_MS 300

#define EXPORT __attribute__((visibility("default")))

static __thread char last_error[512];

ncclResult_t nccl_fail(ncclResult_t rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	sim_log_line("nccl error %d: %s", (int)rc, last_error);
	return rc;
}

ncclResult_t nccl_cuda(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return ncclSuccess;
	return nccl_fail(ncclUnhandledCudaError, "%s: %s", what, cudaGetErrorString(err));
}

/* "10us" -> ns; a number without a unit is ns. */
static int64_t parse_ns(const char *s, int64_t other)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v;

	if (!s)
		return other;
	v = strtod(s, &end);
	if (end == s || v < 0 || v > 1e15)
		return other;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit))
			return (int64_t)(v * units[i].ns + 0.5);
	return (int64_t)v;
}

#define SMALL_BYTES                                                                                \
	(1u << 20) /* what is as large as this moves no data unless the scenario says full */

static struct nccl_settings settings;

static void read_settings(void)
{
	const struct sim_export *sim = sim_rt_export();
	const char *bw = sim ? sim->scenario("nccl.busbw_gbs") : NULL;
	const char *data = sim ? sim->scenario("nccl.collective_data") : NULL;
	const char *alpha = sim ? sim->scenario("nccl.alpha") : NULL;

	settings.from_scenario = alpha || bw || !sim ||
				 sim->bytes < offsetof(struct sim_export, collective_ns) +
						      sizeof(sim->collective_ns);
	settings.alpha_ns = parse_ns(alpha, 10000);
	settings.busbw_gbs = bw ? strtod(bw, NULL) : 0;
	if (!(settings.busbw_gbs > 0))
		settings.busbw_gbs = 300;
	settings.data_limit = data && !strcmp(data, "full")   ? SIZE_MAX
			      : data && !strcmp(data, "none") ? 0
							      : SMALL_BYTES - 1;
}

const struct nccl_settings *nccl_settings(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_settings);
	return &settings;
}

static ncclResult_t check_comm(const struct ncclComm *c)
{
	return nccl_comm_ok(c)
		       ? ncclSuccess
		       : nccl_fail(ncclInvalidArgument, "not a communicator: %p", (const void *)c);
}

#define TRY(expr)                                                                                  \
	do {                                                                                       \
		ncclResult_t try_ = (expr);                                                        \
		if (try_ != ncclSuccess)                                                           \
			return try_;                                                               \
	} while (0)

#define STUB(name)                                                                                 \
	static unsigned char once_;                                                                \
	sim_stub_used(&once_, "nccl", name);                                                       \
	return nccl_fail(ncclInvalidUsage, "%s is not simulated", name)

/* ---- memory, version, ids ---- */

EXPORT ncclResult_t pncclMemAlloc(void **ptr, size_t size)
{
	return nccl_cuda(cudaMalloc(ptr, size), "cudaMalloc");
}

EXPORT ncclResult_t pncclMemFree(void *ptr)
{
	return nccl_cuda(cudaFree(ptr), "cudaFree");
}

EXPORT ncclResult_t pncclGetVersion(int *version)
{
	if (!version)
		return nccl_fail(ncclInvalidArgument, "version is NULL");
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclGetUniqueId(ncclUniqueId *uniqueId)
{
	static const char magic[8] = "simnccl";

	if (!uniqueId)
		return nccl_fail(ncclInvalidArgument, "uniqueId is NULL");
	memset(uniqueId, 0, sizeof(*uniqueId));
	memcpy(uniqueId->internal, magic, sizeof(magic));
	if (getrandom(uniqueId->internal + 8, 16, 0) != 16)
		return nccl_fail(ncclSystemError, "getrandom: %s", strerror(errno));
	return ncclSuccess;
}

/* ---- communicators ---- */

EXPORT ncclResult_t pncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId,
					    int rank, ncclConfig_t *config)
{
	if (!comm)
		return nccl_fail(ncclInvalidArgument, "comm is NULL");
	if (config && config->magic != 0xcafebeef)
		return nccl_fail(ncclInvalidArgument,
				 "config was not made by NCCL_CONFIG_INITIALIZER");
	return nccl_init_later(comm, &commId, nranks, rank);
}

EXPORT ncclResult_t pncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
	return pncclCommInitRankConfig(comm, nranks, commId, rank, NULL);
}

EXPORT ncclResult_t pncclCommInitRankScalable(ncclComm_t *newcomm, int nranks, int myrank, int nId,
					      ncclUniqueId *commIds, ncclConfig_t *config)
{
	if (nId < 1 || !commIds)
		return nccl_fail(ncclInvalidArgument, "no unique id");
	return pncclCommInitRankConfig(newcomm, nranks, commIds[0], myrank, config);
}

EXPORT ncclResult_t pncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
	ncclResult_t rc = ncclSuccess;
	int old, devices = 0;
	ncclUniqueId id;

	if (!comm || ndev < 1)
		return nccl_fail(ncclInvalidArgument, "%d devices", ndev);
	TRY(nccl_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount"));
	for (int i = 0; i < ndev; i++) {
		int d = devlist ? devlist[i] : i;

		if (d < 0 || d >= devices)
			return nccl_fail(ncclInvalidArgument, "device %d of %d", d, devices);
		for (int k = 0; devlist && k < i; k++)
			if (devlist[k] == d)
				return nccl_fail(ncclInvalidUsage, "device %d twice", d);
	}
	TRY(pncclGetUniqueId(&id));
	TRY(nccl_cuda(cudaGetDevice(&old), "cudaGetDevice"));
	nccl_group_start();
	for (int i = 0; i < ndev && rc == ncclSuccess; i++) {
		rc = nccl_cuda(cudaSetDevice(devlist ? devlist[i] : i), "cudaSetDevice");
		if (rc == ncclSuccess)
			rc = nccl_init_later(&comm[i], &id, ndev, i);
	}
	cudaSetDevice(old);
	if (rc == ncclSuccess)
		return nccl_group_end();
	nccl_group_end();
	return rc;
}

EXPORT ncclResult_t pncclCommFinalize(ncclComm_t comm)
{
	TRY(check_comm(comm));
	return nccl_comm_drain(comm);
}

EXPORT ncclResult_t pncclCommDestroy(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	TRY(check_comm(comm));
	TRY(nccl_comm_drain(comm));
	nccl_comm_release(comm);
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommAbort(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	TRY(check_comm(comm));
	/* Kernels that wait look at the word and leave; then nothing uses the file. */
	__atomic_store_n(&comm->shared->aborted, 1, __ATOMIC_RELEASE);
	/* One that waits behind somebody else's hung kernel leaves when it gets there: its file has to stay for it. */
	if (nccl_comm_drained(comm, ABORT_LIMIT_MS))
		nccl_comm_release(comm);
	else
		comm->self = NULL;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags)
{
	STUB("ncclCommRevoke");
}

EXPORT ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
				   ncclConfig_t *config)
{
	TRY(check_comm(comm));
	if (!newcomm || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
		return nccl_fail(ncclInvalidArgument, "color %d", color);
	return nccl_split_later(comm, color, key, newcomm);
}

EXPORT ncclResult_t pncclCommShrink(ncclComm_t comm, int *excludeRanksList, int excludeRanksCount,
				    ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags)
{
	STUB("ncclCommShrink");
}

EXPORT const char *pncclGetErrorString(ncclResult_t result)
{
	static const char *const texts[] = {
		"no error",
		"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		"internal error - please report this issue to the NCCL developers",
		"invalid argument (run with NCCL_DEBUG=WARN for details)",
		"invalid usage (run with NCCL_DEBUG=WARN for details)",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
	};

	return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

EXPORT const char *pncclGetLastError(ncclComm_t comm)
{
	return last_error;
}

EXPORT ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
	TRY(check_comm(comm));
	if (!asyncError)
		return nccl_fail(ncclInvalidArgument, "asyncError is NULL");
	*asyncError = __atomic_load_n(&comm->shared->aborted, __ATOMIC_ACQUIRE) ? ncclRemoteError
										: comm->async_error;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommCount(const ncclComm_t comm, int *count)
{
	TRY(check_comm(comm));
	if (!count)
		return nccl_fail(ncclInvalidArgument, "count is NULL");
	*count = comm->nranks;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int *device)
{
	TRY(check_comm(comm));
	if (!device)
		return nccl_fail(ncclInvalidArgument, "device is NULL");
	*device = comm->device;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommUserRank(const ncclComm_t comm, int *rank)
{
	TRY(check_comm(comm));
	if (!rank)
		return nccl_fail(ncclInvalidArgument, "rank is NULL");
	*rank = comm->rank;
	return ncclSuccess;
}

/* Registration makes real transfers faster and changes nothing here. */
EXPORT ncclResult_t pncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle)
{
	TRY(check_comm(comm));
	if (!handle)
		return nccl_fail(ncclInvalidArgument, "handle is NULL");
	*handle = buff;
	return ncclSuccess;
}

EXPORT ncclResult_t pncclCommDeregister(const ncclComm_t comm, void *handle)
{
	return check_comm(comm);
}

EXPORT ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size,
					    ncclWindow_t *win, int winFlags)
{
	STUB("ncclCommWindowRegister");
}

EXPORT ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win)
{
	STUB("ncclCommWindowDeregister");
}

EXPORT ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar,
					      ncclDataType_t datatype,
					      ncclScalarResidence_t residence, ncclComm_t comm)
{
	STUB("ncclRedOpCreatePreMulSum");
}

EXPORT ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	STUB("ncclRedOpDestroy");
}

/* ---- operations ---- */

static int reduces(enum nccl_func f)
{
	return f == NCCL_ALL_REDUCE || f == NCCL_REDUCE || f == NCCL_REDUCE_SCATTER;
}

static ncclResult_t check_pointer(const void *p, const char *which)
{
	struct cudaPointerAttributes a;

	if (!p)
		return nccl_fail(ncclInvalidArgument, "%s is NULL", which);
	if (cudaPointerGetAttributes(&a, p) != cudaSuccess ||
	    a.type == cudaMemoryTypeUnregistered) {
		cudaGetLastError();
		return nccl_fail(ncclInvalidArgument, "%s %p is not memory of a device", which, p);
	}
	return ncclSuccess;
}

static ncclResult_t check_task(const struct nccl_task *t)
{
	int rank, root_only_sends = t->func == NCCL_BROADCAST || t->func == NCCL_SCATTER;
	int root_only_takes = t->func == NCCL_REDUCE || t->func == NCCL_GATHER;

	TRY(check_comm(t->comm));
	rank = t->comm->rank;
	if (!nccl_type_bytes(t->type))
		return nccl_fail(ncclInvalidArgument, "data type %d", (int)t->type);
	if (t->root < 0 || t->root >= t->comm->nranks)
		return nccl_fail(ncclInvalidArgument, "root or peer %d of %d ranks", t->root,
				 t->comm->nranks);
	if (t->count > SIZE_MAX / 8 / NCCL_MAX_RANKS)
		return nccl_fail(ncclInvalidArgument, "%zu elements", t->count);
	if (reduces(t->func)) {
		if ((unsigned)t->op >= ncclNumOps)
			return nccl_fail(ncclInvalidArgument, "operation %d", (int)t->op);
		if (!nccl_can_reduce(t->type))
			return nccl_fail(ncclInvalidArgument, "reductions of %s are not simulated",
					 nccl_type_name(t->type));
	}
	if (!t->count)
		return ncclSuccess;
	if (t->func != NCCL_RECV && (!root_only_sends || rank == t->root))
		TRY(check_pointer(t->send, "sendbuff"));
	if (t->func != NCCL_SEND && (!root_only_takes || rank == t->root))
		TRY(check_pointer(t->recv, "recvbuff"));
	return ncclSuccess;
}

static ncclResult_t operate(enum nccl_func func, const void *send, void *recv, size_t count,
			    ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
			    cudaStream_t stream)
{
	struct nccl_task t = {func, send, recv, count, type, op, root, comm, stream, NULL};

	TRY(check_task(&t));
	/* Nothing to move: NCCL launches nothing either. */
	return count ? nccl_enqueue(&t) : ncclSuccess;
}

EXPORT ncclResult_t pncclReduce(const void *sendbuff, void *recvbuff, size_t count,
				ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
				cudaStream_t stream)
{
	return operate(NCCL_REDUCE, sendbuff, recvbuff, count, datatype, op, root, comm, stream);
}

EXPORT ncclResult_t pncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root,
			       ncclComm_t comm, cudaStream_t stream)
{
	return operate(NCCL_BROADCAST, buff, buff, count, datatype, ncclSum, root, comm, stream);
}

EXPORT ncclResult_t pncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
				   ncclDataType_t datatype, int root, ncclComm_t comm,
				   cudaStream_t stream)
{
	return operate(NCCL_BROADCAST, sendbuff, recvbuff, count, datatype, ncclSum, root, comm,
		       stream);
}

EXPORT ncclResult_t pncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
				   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
				   cudaStream_t stream)
{
	return operate(NCCL_ALL_REDUCE, sendbuff, recvbuff, count, datatype, op, 0, comm, stream);
}

EXPORT ncclResult_t pncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
				       ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
				       cudaStream_t stream)
{
	return operate(NCCL_REDUCE_SCATTER, sendbuff, recvbuff, recvcount, datatype, op, 0, comm,
		       stream);
}

EXPORT ncclResult_t pncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
				   ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	return operate(NCCL_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, ncclSum, 0, comm,
		       stream);
}

EXPORT ncclResult_t pncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
				  ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	return operate(NCCL_ALL_TO_ALL, sendbuff, recvbuff, count, datatype, ncclSum, 0, comm,
		       stream);
}

EXPORT ncclResult_t pncclGather(const void *sendbuff, void *recvbuff, size_t count,
				ncclDataType_t datatype, int root, ncclComm_t comm,
				cudaStream_t stream)
{
	return operate(NCCL_GATHER, sendbuff, recvbuff, count, datatype, ncclSum, root, comm,
		       stream);
}

EXPORT ncclResult_t pncclScatter(const void *sendbuff, void *recvbuff, size_t count,
				 ncclDataType_t datatype, int root, ncclComm_t comm,
				 cudaStream_t stream)
{
	return operate(NCCL_SCATTER, sendbuff, recvbuff, count, datatype, ncclSum, root, comm,
		       stream);
}

EXPORT ncclResult_t pncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
			      ncclComm_t comm, cudaStream_t stream)
{
	return operate(NCCL_SEND, sendbuff, NULL, count, datatype, ncclSum, peer, comm, stream);
}

EXPORT ncclResult_t pncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
			      ncclComm_t comm, cudaStream_t stream)
{
	return operate(NCCL_RECV, NULL, recvbuff, count, datatype, ncclSum, peer, comm, stream);
}

/* ---- groups ---- */

EXPORT ncclResult_t pncclGroupStart(void)
{
	return nccl_group_start();
}

EXPORT ncclResult_t pncclGroupEnd(void)
{
	return nccl_group_end();
}

EXPORT ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
	STUB("ncclGroupSimulateEnd");
}

EXPORT void pncclResetDebugInit(void)
{
}

/* The weak names. */
#define WEAK_ALIAS(ret, name, params)                                                              \
	EXPORT ret nccl##name params __attribute__((weak, alias("pnccl" #name)));
NCCL_API_FUNCTIONS(WEAK_ALIAS)
