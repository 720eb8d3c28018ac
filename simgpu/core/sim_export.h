/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one private door of the simulated driver. libcudart, libnccl and libcupti of simgpu get this table with
 * cuGetExportTable(&table, &SIM_EXPORT_UUID), as NVIDIA's libraries get theirs. Everything else they do goes through
 * the public driver API, so that an interposer sees what it would see in life.
 *
 * Times are integer ns of CLOCK_REALTIME. Functions are thread safe. Callbacks marked "device thread" run on the one
 * thread per process that resolves the timeline; they must not call the driver API.
 */
#ifndef SIM_EXPORT_H
#define SIM_EXPORT_H

#include <cuda.h>
#include <stdint.h>

#define SIM_EXPORT_UUID_BYTES                                                                      \
	"simgpu-export-1" /* 15 characters and the NUL: the 16 bytes of the CUuuid */
#define SIM_EXPORT_VERSION 1

enum sim_domain { SIM_DRIVER = 0, SIM_RUNTIME = 1 };
enum sim_op_kind { SIM_OP_KERNEL = 1, SIM_OP_MEMCPY, SIM_OP_MEMSET };

/* A finished device operation, as CUPTI is told of it and as the truth lists it. */
struct sim_op {
	enum sim_op_kind kind;
	uint32_t device, context,
		stream; /* CUPTI-style ids: context 1.., stream 7 = the default stream */
	uint32_t correlation;
	uint32_t graph;	     /* graph id, 0 = none */
	uint64_t graph_node; /* 0 = none */
	int64_t submit_ns, start_ns, end_ns;
	const char *name; /* kernel name, mangled; lives for ever */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t static_smem, dyn_smem, regs, local_bytes;
	uint64_t bytes;
	uint32_t copy_kind;	     /* CUpti_ActivityMemcpyKind */
	uint32_t src_kind, dst_kind; /* CUpti_ActivityMemoryKind */
	uint32_t peer_device;	     /* of a peer copy, else == device */
	uint32_t value;		     /* memset */
	uint32_t tid;		     /* kernel thread id of the launching thread */
	const char *tag; /* "" or what a library says of it: "allreduce comm=... seq=..." */
};

/* An API call that ended; only the outermost call of a thread is reported (a runtime call hides its driver calls). */
struct sim_api {
	enum sim_domain domain;
	uint32_t cbid;
	uint32_t correlation;
	int64_t start_ns, end_ns;
	uint32_t thread_word; /* truncated pthread_self() */
	int32_t result;
};

/* An API call as it begins and as it ends, for whoever watches. */
struct sim_watched_call {
	enum sim_domain domain;
	uint32_t cbid, correlation;
	const void *params; /* the driver's cuX_params; NULL in the runtime's domain */
	int32_t *result;    /* NULL: it begins */
	CUcontext context;
	uint64_t data; /* the watcher's own, kept from begin to end */
};
struct sim_watch {
	void *arg;
	/* The calling thread, inside the call: calls made here are watched too, and must not wait for the device. */
	void (*call)(void *arg, struct sim_watched_call *c);
};

struct sim_sink {
	void *arg;
	void (*op)(void *arg, const struct sim_op *op); /* device thread, in order of completion */
	void (*api)(void *arg, const struct sim_api *api); /* calling thread, after the call */
	void (*context_end)(void *arg,
			    uint32_t context); /* context destroyed or reset; calling thread */
};

/* A kernel that a library brings: launched like any other, through the public API, by the CUfunction it gets. */
struct sim_launch {
	const struct sim_kernel *kernel;
	const void *param; /* copy of the first param_bytes of kernelParams[0] */
	uint32_t grid[3], block[3], dyn_smem;
	uint32_t device;
};
struct sim_kernel {
	const char *name;
	uint32_t param_bytes; /* at most 256 */
	uint32_t static_smem, regs;
	void *arg;
	/* How long it runs, before scenario overrides; called inside the launch. */
	int64_t (*duration_ns)(void *arg, const struct sim_launch *l);
	/* NULL, or a rendezvous with other devices or processes (all three, device thread):                         */
	/* the operation could start at start_ns as far as this device is concerned; the clock has reached it and    */
	/* what ends before is complete, its data in place                                                           */
	void (*arrive)(void *arg, const struct sim_launch *l, int64_t start_ns,
		       int64_t duration_ns);
	/* 1 and *ret_end_ns once every participant has arrived; 0 = not yet; < 0 = failed (context gets an error)   */
	int (*poll)(void *arg, const struct sim_launch *l, int64_t *ret_end_ns);
	/* the operation is over: move data now, before anything that depends on it                                  */
	void (*finish)(void *arg, const struct sim_launch *l);
	/* text for sim_op.tag, written at arrive time; NULL = none                                                  */
	void (*tag)(void *arg, const struct sim_launch *l, char *buf, uint64_t n);
};

/* What a library's kernel has to do; sim_roofline.h says what it makes of it. */
enum sim_cost_kind {
	SIM_COST_OTHER,
	SIM_COST_GEMM,
	SIM_COST_ATTENTION,
	SIM_COST_ELEMENTWISE,
	SIM_COST_NORM, /* reductions and softmax too */
	SIM_COST_COPY,
	SIM_COST_KINDS
};
enum sim_dtype {
	SIM_DTYPE_ANY,
	SIM_DTYPE_FP64,
	SIM_DTYPE_FP32,
	SIM_DTYPE_TF32,
	SIM_DTYPE_BF16,
	SIM_DTYPE_FP16,
	SIM_DTYPE_FP8,
	SIM_DTYPE_FP4,
	SIM_DTYPE_INT8,
	SIM_DTYPES
};
struct sim_cost {
	enum sim_cost_kind kind;
	enum sim_dtype dtype; /* that it computes in */
	uint64_t flops,
		bytes; /* read and written once; both 0 in a GEMM: taken from m, n, k, batch */
	uint64_t m, n, k, batch; /* of a GEMM, or 0; batch 0 = 1 */
};
enum sim_collective {
	SIM_ALL_REDUCE,
	SIM_ALL_GATHER,
	SIM_REDUCE_SCATTER,
	SIM_ALL_TO_ALL,
	SIM_BROADCAST,
	SIM_REDUCE,
	SIM_GATHER,
	SIM_SCATTER,
	SIM_SEND_RECV,
	SIM_COLLECTIVES
};

/* Faults that the driver's friends act out. */
enum sim_fault_kind {
	SIM_FAULT_LINK_MILLI, /* factor in 1/1000 between ranks a and b; b = -1: of whatever a takes part in */
	SIM_FAULT_HANG,	  /* number of the operation of rank a that never completes; 0 = none */
	SIM_FAULT_ZEROED, /* 1: the a-th kernel record has no times */
	SIM_FAULT_HOLD_NS /* how long the a-th API record keeps its thread */
};

enum sim_graph_object { SIM_OBJECT_GRAPH, SIM_OBJECT_EXEC, SIM_OBJECT_NODE };

struct sim_export {
	uint32_t version; /* SIM_EXPORT_VERSION */
	uint32_t bytes;	  /* sizeof this struct in the driver that gave it */
	/* Brackets a runtime API call; nested enters are silent. Cheap when no sink is set. */
	void (*api_enter)(enum sim_domain domain, uint32_t cbid);
	void (*api_exit)(enum sim_domain domain, uint32_t cbid, int32_t result);
	void (*set_sink)(
		const struct sim_sink
			*sink); /* copied; NULL = none. Returns when no callback is running. */
	int64_t (*now_ns)(void);
	/* Delivers to the sink every operation whose end has passed; returns then. Does not wait for work. */
	void (*drain)(void);
	CUresult (*context_id)(CUcontext ctx, uint32_t *ret);
	CUresult (*stream_id)(CUcontext ctx, CUstream stream, uint32_t *ret);
	CUresult (*kernel_create)(
		CUfunction *ret,
		const struct sim_kernel *kernel); /* copied; for the process's life */
	/* Scenario value by "section.key" ("cupti.lose_buffer"); NULL if unset. Lives for ever. */
	const char *(*scenario)(const char *key);
	/* Adds a row of kind `note` to the truth: key and one line of value. */
	void (*truth_note)(const char *key, const char *fmt, ...);
	/* Device index of the current context, -1 = none. */
	int (*current_device)(void);
	/* From here on: in tables of at least that many `bytes`. No scenario, no jitter: for sim_kernel.duration_ns. */
	int64_t (*roofline_ns)(const struct sim_cost *cost, int device);
	/* bytes: of the whole message, as nccl-tests counts it (what is gathered or scattered; what one rank sends). */
	int64_t (*collective_ns)(enum sim_collective op, int ranks, uint64_t bytes, int device);
	/* A kernel's finish is about to write [p, p + bytes) of device memory: what was never told reads zero. */
	void (*touch)(const void *p, uint64_t bytes);
	/* RANK of this process, or what stands in for it; -1 = unknown. */
	int64_t (*rank)(void);
	/* The device's clock as the scenario skews it, from the simulator's. Only what CUPTI shows is on it. */
	int64_t (*device_clock_ns)(int64_t ns);
	/* What the scenario's faults say, see the enum. */
	int64_t (*fault)(enum sim_fault_kind what, int64_t a, int64_t b);
	/* From here on every API call, nested ones too, is told twice. Not copied: lives for ever. NULL = none. */
	void (*set_watch)(const struct sim_watch *watch);
	/* 1 in a forked child of the process that initialised: its locks may be held by threads that do not exist. */
	int (*forked)(void);
	/* The number of a graph, an executable or a node, as records have it; 0: the handle is none. */
	uint64_t (*graph_id)(enum sim_graph_object what, const void *handle);
	/* What the scenario's [fail] has this call of CUPTI's answer, counting the calls; 0: it is to go on. */
	int (*failure)(const char *call);
};

#endif
