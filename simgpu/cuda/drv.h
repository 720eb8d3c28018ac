/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's objects and what its files know of each other. Public handles are pointers to these structs. Their
 * memory is never given back to libc, so that a stale handle is an error and not a crash.
 *
 * Lock: sim_lock guards contexts, streams, events, graphs; the memory table has a lock of its own (drv_memory.c),
 * taken after it. Functions marked (locked) want sim_lock held.
 */
#ifndef SIM_DRV_H
#define SIM_DRV_H

#include "sim_calls.h"

#include "simgpu/core/sim_call.h"
#include "simgpu/core/sim_lane.h"
#include "simgpu/core/sim_model.h"
#include "simgpu/core/sim_pages.h"

#define DRV_MAX_DEVICES 64
#define DRV_LIMITS	16

enum drv_type {
	DRV_CTX = 0x51ac0001,
	DRV_STREAM,
	DRV_EVENT,
	DRV_MODULE,
	DRV_FUNC,
	DRV_LIBRARY,
	DRV_GRAPH,
	DRV_NODE,
	DRV_EXEC,
	DRV_POOL,
	DRV_PHYSICAL,
	DRV_USER_OBJECT,
	DRV_TYPES
};

/* First member of every object. */
struct drv_head {
	enum drv_type type; /* 0 = freed */
	void *next_free;
};
void *drv_new(enum drv_type type, size_t bytes); /* zeroed; bytes is fixed for a type */
void drv_free(void *object);
static inline bool drv_is(const void *object, enum drv_type type)
{
	return (uintptr_t)object > 4096 && ((const struct drv_head *)object)->type == type;
}

struct CUstream_st {
	struct drv_head head;
	CUcontext ctx;
	struct sim_lane *lane; /* own, or the context's legacy lane */
	struct sim_lane own;
	struct CUstream_st *next, **link; /* of the context */
	unsigned int flags;
	int priority;
	bool dead; /* destroyed, work under way */
	uint64_t unique;
	/* capture (drv_capture.c) */
	struct drv_capture *capture;
	CUgraphNode *deps; /* what the next captured node follows */
	size_t n_deps;
	struct CUstream_st *next_captured;
};

struct CUctx_st {
	struct drv_head head;
	struct sim_space space;
	CUdevice device;
	bool primary;
	unsigned int refs; /* of a primary context */
	unsigned int flags, api_version;
	unsigned long long unique;
	struct CUstream_st legacy;
	struct CUstream_st *streams;
	struct CUmod_st *modules;
	uint64_t peers; /* devices with peer access enabled */
	size_t limits[DRV_LIMITS];
	unsigned int captures; /* open in global mode */
};

struct CUevent_st {
	struct drv_head head;
	CUcontext ctx;
	unsigned int flags;
	bool recorded;
	struct sim_point at;
	struct drv_capture *capture; /* recorded in a capture: what a waiting stream follows */
	uint64_t capture_id;
	CUgraphNode *deps;
	size_t n_deps;
	struct drv_shared *shared; /* of an interprocess event, else NULL */
};

/* A kernel of a module, of a library, or brought by sim_export. CUkernel and CUfunction handles are both this. */
struct CUfunc_st {
	struct drv_head head;
	const char *name;
	struct CUmod_st *module;
	struct CUlib_st *library;
	const struct sim_kernel *sim;
	uint32_t fill;		 /* a fill of a framework: bytes of an element; 0 = none */
	bool gather, conversion; /* fill their output with zeroes (drv_fill.c) */
	struct sim_kernel_model model;
	unsigned int regs, static_smem, local_bytes, max_threads;
	int max_dyn_smem, carveout;
	struct CUfunc_st *next;
};

/* A variable of an image. Its memory is made when it is first asked for. */
struct drv_global {
	const char *name;
	CUdeviceptr address; /* 0 = not made */
	size_t bytes;
	struct drv_global *next;
};

/* The image of a module or library. */
struct drv_image {
	struct CUfunc_st *funcs;
	bool complete; /* funcs and globals are all there are: other names are unknown */
	struct drv_global *globals;
};

struct CUmod_st {
	struct drv_head head;
	CUcontext ctx;
	struct drv_image *image;
	struct CUlib_st *library; /* made by cuLibraryGetModule */
	struct CUmod_st *next;
};

struct CUlib_st {
	struct drv_head head;
	struct drv_image *image;
	struct CUmod_st *modules;
};

struct CUmemPoolHandle_st {
	struct drv_head head;
	CUdevice device;
	uint64_t used, used_high, threshold;
	uint64_t reserved, reserved_high; /* what the pool would hold back, see drv_pool.c */
	int reuse[4];
};

/* ---- what can be put on a stream or into a graph ---- */
struct drv_copy {
	char *dst;
	const char *src;
	size_t width, height, depth; /* bytes, rows, slices */
	size_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint8_t kind, src_kind, dst_kind; /* CUPTI's numbers */
	uint8_t path, pageable;
	uint32_t peer_device;
	void *staged; /* freed with the operation */
};

/* CUPTI's numbers of copy and memory kinds. */
enum {
	DRV_COPY_HTOD = 1,
	DRV_COPY_DTOH = 2,
	DRV_COPY_DTOD = 8,
	DRV_COPY_HTOH = 9,
	DRV_COPY_PTOP = 10
};
enum { DRV_KIND_PAGEABLE = 1, DRV_KIND_PINNED = 2, DRV_KIND_DEVICE = 3, DRV_KIND_MANAGED = 5 };

struct drv_memset {
	char *dst;
	size_t width, height, pitch; /* elements, rows, bytes */
	uint32_t value, element;
	uint8_t dst_kind;
};

/* Parameters of PyTorch's fill (drv_fill.c), copied out of the launch. */
struct drv_fill {
	int32_t n;	/* elements */
	uint32_t bytes; /* of an element */
	unsigned char value[8];
	uint64_t data;
};

struct drv_kernel {
	struct CUfunc_st *f;
	uint32_t grid[3], block[3], cluster[3], dyn_smem;
	const void *param; /* first bytes of kernelParams[0] of a sim_kernel; own copy in a node */
	void **raw;	   /* kernelParams as given, for a node's GetParams */
	struct drv_fill fill; /* of such a kernel: where param points to */
};

struct drv_task {
	CUgraphNodeType type;
	union {
		struct drv_kernel kernel;
		struct drv_copy copy;
		struct drv_memset memset;
		CUDA_HOST_NODE_PARAMS_v1 host;
		CUevent event;
		CUgraph child;
	};
};

/* ---- drv_context.c ---- */
struct drv_device {
	struct CUctx_st *primary;
	unsigned int primary_flags;
	struct CUmemPoolHandle_st *pool, *current_pool;
	unsigned char uuid[16];
};
extern struct drv_device drv_devices[DRV_MAX_DEVICES];
CUcontext drv_current(void); /* NULL = none */
CUresult
drv_context(CUcontext *ret); /* current one, or CUDA_ERROR_INVALID_CONTEXT, or its sticky error */
CUresult drv_wait(struct sim_point *p); /* (locked) waits and clears p */
/* ---- drv_stream.c ---- */
CUresult drv_stream(CUstream handle,
		    struct CUstream_st **ret); /* resolves NULL, legacy and per-thread */
void drv_stream_init_legacy(CUcontext ctx);
void drv_stream_destroy(struct CUstream_st *s); /* (locked) */
/* ---- drv_issue.c: tasks become operations ---- */
CUresult drv_issue(struct CUstream_st *s, const struct drv_task *t);
/* The same, and waits for it. */
CUresult drv_issue_wait(struct CUstream_st *s, const struct drv_task *t);
struct sim_work *drv_work(const struct drv_task *t, int64_t duration_ns,
			  uint32_t device);			       /* (locked) */
int64_t drv_kernel_base_ns(const struct drv_task *t, uint32_t device); /* < 0: the model decides */
int64_t drv_duration(const struct drv_task *t, int64_t base_ns, uint32_t device, uint64_t key,
		     uint64_t number);
extern const struct sim_behaviour drv_host_behaviour;
uint32_t drv_thread_id(void);
/* ---- drv_host.c: host functions on their own thread ---- */
struct drv_host_call {
	CUhostFn fn;
	CUstreamCallback callback; /* instead of fn */
	CUstream stream;
	void *arg;
	struct sim_work *work;
	struct drv_host_call *next;
};
/* ---- drv_memory.c ---- */
enum drv_memory_kind {
	DRV_MEM_NONE,
	DRV_MEM_DEVICE,
	DRV_MEM_PINNED,
	DRV_MEM_MANAGED,
	DRV_MEM_REGISTERED
};
/*
 * Memory that can lie at several addresses or in several processes: what cuMemCreate makes, and what IPC shares. Pages
 * of a file; the handle of the API is the pointer. Guarded by the lock of the memory table.
 */
struct drv_physical {
	struct drv_head head;
	enum drv_origin { DRV_CREATED, DRV_EXPORTED, DRV_OPENED, DRV_IMPORTED } origin;
	CUdevice device;
	size_t bytes;
	int fd; /* own file, or -1: a piece of the device's */
	uint64_t offset, inode;
	bool shared;	 /* other processes may write it */
	uint32_t refs;	 /* handles, or openings */
	uint32_t mapped; /* places */
	unsigned int handle_types;
	struct sim_pages pages;
};
struct drv_range {
	uintptr_t start;
	size_t bytes;
	enum drv_memory_kind kind;
	CUdevice device;
	uint32_t context; /* CUPTI-style id, and the handle */
	CUcontext ctx;
	unsigned int flags;
	uint64_t id;
	struct CUmemPoolHandle_st *pool;
	struct drv_physical *physical; /* NULL: private pages of the arena */
	const char *use;	       /* for the truth; NULL = not accounted */
	unsigned int access;	       /* CUmemAccess_flags of a mapping */
};
bool drv_range_of(uintptr_t address, struct drv_range *ret);
/* All of [address, address + bytes) is memory the device knows and may use: one range, or mappings side by side. */
bool drv_range_covers(uintptr_t address, size_t bytes);
/* use: "device", "async", "module" in the truth. */
CUresult drv_device_alloc(CUcontext ctx, CUdevice device, size_t bytes,
			  struct CUmemPoolHandle_st *pool, const char *use, CUdeviceptr *ret);
CUresult drv_release(uintptr_t address, enum drv_memory_kind kind);
/* The same, by an operation: whose thread it was and when it came to that. */
CUresult drv_release_at(uintptr_t address, enum drv_memory_kind kind, uint32_t tid, int64_t ns);
void drv_release_context(CUcontext ctx); /* everything it owns */
uint64_t drv_device_used(CUdevice device);
/* (memory locked) */
void drv_pool_took(struct CUmemPoolHandle_st *pool, uint64_t bytes);
void drv_pool_gave(struct CUmemPoolHandle_st *pool, uint64_t bytes);
void drv_memory_end(void); /* last words to the truth: the peaks */
/* Waits for everything under way in a context, as calls that free memory do. */
CUresult drv_settle(CUcontext ctx);
void drv_memory_lock(
	void); /* the table, for drv_vmm.c and drv_ipc.c: both want it in what follows */
void drv_memory_unlock(void);
struct drv_range *drv_range_at(uintptr_t address); /* valid until the table changes */
/* First range at or above address, NULL = none. */
struct drv_range *drv_range_from(uintptr_t address);
void drv_range_insert(struct drv_range *r);
void drv_range_erase(struct drv_range *r);
/* Capacity and truth of physical memory, alone. False: no room. */
bool drv_account(CUdevice device, size_t bytes, const char *use, uint64_t address);
void drv_unaccount(CUdevice device, size_t bytes, const char *use, uint64_t address);
/* Makes [start, start + bytes) of the arena private pages again, reading zero. */
void drv_arena_map(uintptr_t start, size_t bytes);
/* ---- drv_pages.c: laziness ---- */
/* Held by whoever writes device memory on the device thread, and by a conversion that must not miss a write. */
void drv_data_enter(void);
void drv_data_leave(void);
void drv_span(const void *address, struct sim_span *ret);
void drv_touch(const void *address, uint64_t bytes);
/* ---- drv_vmm.c ---- */
/* A file of memory, named for what it is; -1 = the system refuses. */
int drv_memory_file(const char *use, CUdevice device, uint64_t bytes);
/* Puts bytes of the file at address. False: refused, nothing changed. */
bool drv_map_file(uintptr_t address, size_t bytes, int fd, uint64_t offset);
/* One place less; the last one frees it, if no handle is left. (memory locked) */
void drv_physical_unmapped(struct drv_physical *m);
/* ---- drv_ipc.c ---- */
CUresult drv_shared_event_make(struct CUevent_st *e);
void drv_shared_event_record(struct CUevent_st *e, struct CUstream_st *s); /* (locked) */
/* Was it last recorded by another process? Then these say how that stands. */
bool drv_shared_event_foreign(const struct CUevent_st *e);
bool drv_shared_event_done(const struct CUevent_st *e);
void drv_shared_event_wait(struct CUevent_st *e, struct CUstream_st *s); /* (locked) */
void drv_shared_event_free(struct CUevent_st *e);			 /* (locked) */
/* ---- drv_module.c ---- */
void drv_module_free(struct CUmod_st *m); /* (locked) */
struct CUfunc_st *drv_func_new(const char *name);
/* ---- drv_fill.c ---- */
void drv_fill_init(struct CUfunc_st *f);
/* Sets param by kernelParams, where the kernel does anything with them. False: they are missing. */
bool drv_kernel_param(struct drv_kernel *k, void *const *params);
/* Where a parameter of a fill lies and how large it is; bytes may be NULL. */
CUresult drv_fill_param(const struct CUfunc_st *f, size_t i, size_t *offset, size_t *bytes);
/* ---- drv_image.c ---- */
/* Kernels of a fat binary, cubin or PTX text. Accepts anything; `complete` says whether the names are all known. */
void drv_image_parse(struct drv_image *image, const void *data);
#define DRV_GLOBAL_BYTES 4096 /* of a variable whose size the image does not say */
struct drv_global *drv_image_global(struct drv_image *image, const char *name, size_t bytes);
/* ---- drv_capture.c (locked) ---- */
bool drv_capturing(struct CUstream_st *s);
CUresult drv_capture_add(struct CUstream_st *s, const struct drv_task *t, CUgraphNode *ret);
/* A call that may not happen while s is being captured: ends the capture as invalid. */
CUresult drv_capture_forbid(struct CUstream_st *s);
CUresult drv_capture_record(struct CUstream_st *s, struct CUevent_st *e);
CUresult drv_capture_wait(struct CUstream_st *s, struct CUevent_st *e);
/* The legacy stream may not be used while a blocking stream of its context is captured. */
CUresult drv_capture_legacy(struct CUstream_st *s);
void drv_capture_drop(struct CUstream_st *s); /* the stream goes away */
/* Calls such as cuMemAlloc are refused while a capture in global mode is open, unless the thread asked otherwise. */
bool drv_capture_refuses_unsafe(CUcontext ctx);
/* ---- drv_event.c (locked) ---- */
void drv_event_forget_capture(struct CUevent_st *e);
/* ---- drv_graph.c ---- */
struct CUgraphNode_st {
	struct drv_head head;
	CUgraph graph;
	struct drv_task task; /* kernel parameters point to param */
	CUgraphNode *deps;
	size_t n_deps;
	uint32_t index; /* in its graph */
	uint64_t id;
	_Alignas(16) unsigned char param[256]; /* a struct of the library's */
	void *params[3];
};
struct CUgraph_st {
	struct drv_head head;
	uint32_t id;
	CUgraphNode *nodes; /* in order of creation; index n is nodes[n] */
	size_t n, room;
	CUgraphNode owner; /* of a child graph */
};
uint32_t drv_graph_id(void); /* graphs and executables draw from one counter */
CUgraph drv_graph_new(void);
CUgraphNode drv_graph_add(CUgraph g, const struct drv_task *t, const CUgraphNode *deps,
			  size_t n_deps);
CUgraph drv_graph_clone(CUgraph g);
void drv_graph_free(CUgraph g);
void drv_node_set_task(CUgraphNode n, const struct drv_task *t);
/* ---- drv_user_object.c: a graph or executable holds user objects; drv_hold_run, without locks, destroys ---- */
void drv_hold_copy(const void *from, const void *to);
void drv_hold_drop(const void *holder);
void drv_hold_run(void);
/* ---- drv_graph_node.c: parameters to tasks, validated ---- */
CUresult drv_task_kernel(struct drv_task *t, const CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUresult drv_task_node(struct drv_task *t, const CUgraphNodeParams *p);
/* ---- drv_exec.c ---- */
uint32_t drv_exec_id(const void *handle); /* 0: it is none */
CUresult drv_exec_set(CUgraphExec e, CUgraphNode n, const struct drv_task *t);
/* ---- drv_copy.c ---- */
CUresult drv_task_memset(struct drv_task *t, const CUDA_MEMSET_NODE_PARAMS_v1 *p);
CUresult drv_task_copy3d(struct drv_task *t, const CUDA_MEMCPY3D_v2 *p);
void drv_copy_run(const struct drv_copy *c);
void drv_memset_run(const struct drv_memset *m);
/* ---- drv_launch.c ---- */
CUresult drv_check_launch(const struct drv_kernel *k);
/* ---- drv_export.c ---- */
const void *drv_export_table(void);

#endif
