/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: every input format ends here, everything after it (ledger, report, export) reads nothing else.
 * Arrays of fixed-size rows, indices instead of pointers, int64 ns on one clock for device and host. It does not know
 * any file format. Built by builder.h, then immutable.
 *
 * Names are ids into one string table; id 0 is "". Index -1 means "none".
 */
#ifndef WT_TIMELINE_H
#define WT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

/* What a device did. One row per record; 64 bytes. */
enum wt_op_kind { WT_OP_KERNEL = 1, WT_OP_COPY, WT_OP_MEMSET, WT_OP_GRAPH };
enum wt_copy_kind {
	WT_COPY_OTHER,
	WT_COPY_H2D,
	WT_COPY_D2H,
	WT_COPY_D2D,
	WT_COPY_P2P,
	WT_COPY_H2H
};
#define WT_OP_UNTIMED	 1u /* received without usable times: owns no time */
#define WT_OP_PAGEABLE	 2u /* copy from or to pageable host memory */
#define WT_OP_GRAPH_NODE 4u /* ran as a node of a graph: shares its launch with others */
#define WT_OP_AMBIGUOUS                                                                            \
	8u /* beside a hole: its launch could be any of equal neighbours, so call is -1 */
#define WT_OP_INPUT 16u /* a copy that fetches input data for the model (infeed of a TPU) */

struct wt_op {
	int64_t start_ns, end_ns; /* [start, end) */
	uint64_t correlation;	  /* unique in its process only; 0 = none */
	uint64_t bytes; /* copies, memsets; fills, where their arguments say it; 0 = not known */
	uint32_t name;
	uint32_t stream;    /* index into streams */
	uint32_t shape;	    /* index into shapes; 0 = not known */
	int32_t call;	    /* index into calls: who launched it; -1 = no launch record */
	int32_t collective; /* index into collectives; -1 */
	uint16_t device;    /* index into devices */
	uint16_t process;   /* index into processes */
	uint8_t kind;	    /* enum wt_op_kind */
	uint8_t copy_kind;  /* enum wt_copy_kind */
	uint8_t flags;	    /* WT_OP_* */
	uint8_t reserved;
	uint32_t instruction; /* index into instructions; 0 = not known */
};

/*
 * What a compiler (XLA) says about an operation: one row per instruction of a compiled program, shared by all its
 * executions. (path, category, shapes) stays the same from one compilation to the next; name and program do not.
 */
struct wt_instruction {
	uint32_t path; /* where in the model: "jit(step)/layer_3/attn/dot_general"; 0 = not known */
	uint32_t category; /* of the compiler: "convolution fusion", "all-reduce" */
	uint32_t shapes;   /* of the results, without layouts: "f32[8,128]" */
	uint32_t name;	   /* in its program: "fusion.42" */
	uint32_t program;  /* "jit_step" */
	uint8_t by_category; /* 1: no kernels on this device; what an operation is, its category says, not its name */
	uint64_t flops,
		bytes; /* of one execution by the compiler's cost model, bytes moved; 0 = not known */
};

struct wt_shape {
	uint32_t grid[3], block[3];
	uint32_t static_smem, dyn_smem, regs;
	uint32_t local_bytes; /* of a thread: stack and spilled registers; 0 = none, or not known */
	uint32_t max_threads; /* of a block, by the function's bounds; 0 = not known */
	uint32_t work;	      /* index into works: what it was asked to compute; 0 = not known */
};

/* Number formats. */
enum wt_dtype {
	WT_DTYPE_UNKNOWN,
	WT_DTYPE_FP64,
	WT_DTYPE_FP32,
	WT_DTYPE_TF32, /* of operands in fp32: how they are multiplied */
	WT_DTYPE_BF16,
	WT_DTYPE_FP16,
	WT_DTYPE_FP8,
	WT_DTYPE_FP6,
	WT_DTYPE_FP4,
	WT_DTYPE_INT8,
	WT_DTYPE_INT32,
	WT_DTYPE_INT64,
	WT_DTYPES
};

/*
 * What a kernel was asked to compute, by the arguments of the library call or the shapes of the framework's operator;
 * bounds/work.h makes FLOPs and bytes of it. Of a call's kernels, the longest has it: a call is counted once.
 */
enum wt_work_kind {
	WT_WORK_NONE,
	WT_WORK_GEMM, /* batch times D[m,n] = A[m,k] B[k,n] */
	WT_WORK_GEMM_SUM, /* products of several sizes: m the sum of m*n*k, n elements read, k written */
	WT_WORK_ATTENTION, /* batch heads: m queries, n keys, k sizes of a query, kv of a value; forward */
	WT_WORK_ATTENTION_BACKWARD,
	WT_WORK_STREAM, /* m elements read, n written, k FLOPs an element: norms and the like */
	WT_WORK_SUMS,	/* m multiply-adds of products of whatever kind, n bytes read, k written */
};
enum wt_work_source {
	WT_WORK_BY_ARGUMENTS = 1, /* of the library's call */
	WT_WORK_BY_SHAPES,	  /* of the operator around the launch */
	WT_WORK_BY_NAME,	  /* of the kernel, its grid and the model: an estimate */
	WT_WORK_BY_DESCRIPTORS, /* of the library's call: of fp32 they do not say how it is multiplied */
};
#define WT_WORK_SHARED_A 1u /* one operand for the whole batch */
#define WT_WORK_SHARED_B 2u
#define WT_WORK_CAUSAL	 4u /* attention: each query sees the keys up to its own */
#define WT_WORK_COMPLEX	 8u /* four real products each */
struct wt_work {
	uint64_t m, n, k, batch;
	uint32_t kv;	  /* see ATTENTION; heads of keys and values are batch / group */
	uint32_t group;	  /* query heads that share keys and values; 0 and 1: none */
	uint32_t pass_ns; /* the kernel's time when its counters were read; 0 = its own */
	/* Hardware counters: share of the peak in 0.01 %, + 1; 0 = not measured. */
	uint16_t sm, tensor, dram, l2, l1;
	uint8_t kind, source, flags; /* enum wt_work_kind, wt_work_source, WT_WORK_* */
	uint8_t a, b, out;	     /* enum wt_dtype of operands and result */
	uint8_t math; /* enum wt_dtype in which it is multiplied: which peak counts */
	uint8_t reserved[3];
};

/* What the host did about it. */
enum wt_call_kind {
	WT_CALL_OTHER = 0,
	WT_CALL_LAUNCH,
	WT_CALL_GRAPH_LAUNCH,
	WT_CALL_COPY,
	WT_CALL_MEMSET,
	WT_CALL_SYNC, /* blocks the host until the device has done something: context, stream, event */
	WT_CALL_ALLOC,
	WT_CALL_FREE,
	WT_CALL_MODULE, /* module or library load, JIT, function look-up */
	WT_CALL_GRAPH,	/* capture, instantiate, update */
	WT_CALL_COLLECTIVE,
	WT_CALL_COMM, /* communicator set-up */
	WT_CALL_GEMM, /* a matrix product of a library: the launches inside have it as parent */
	WT_CALL_MARK, /* not a call: keeps the place of a mark, see ranges */
};
#define WT_CALL_CAPTURED 1u /* recorded into a graph: no device work of its own */
#define WT_CALL_BLOCKING 2u /* a copy that can wait for the device */
#define WT_CALL_FAILED	 4u

struct wt_call {
	int64_t start_ns, end_ns;
	uint64_t correlation; /* of the device work it made; 0 = none or not known */
	uint32_t name;
	uint32_t thread; /* index into threads */
	uint32_t stream; /* index into streams, UINT32_MAX = not known */
	int32_t parent;	 /* index into calls: the enclosing NCCL or library call; -1 */
	uint32_t status;
	uint16_t process;
	uint8_t kind;  /* enum wt_call_kind */
	uint8_t flags; /* WT_CALL_* */
};

/*
 * Named spans of the host: annotations of the job, of its framework, of its profiler. Numbers as MarkKind of
 * trace.proto. USER: the source says no more than the name; what names mean is range_names.def.
 */
enum wt_range_kind {
	WT_RANGE_USER = 1,
	WT_RANGE_STEP,
	WT_RANGE_FORWARD,
	WT_RANGE_BACKWARD,
	WT_RANGE_RECOMPUTE,
	WT_RANGE_OPTIMIZER,
	WT_RANGE_GRADIENT_COMM,
	WT_RANGE_EVALUATION,
	WT_RANGE_CHECKPOINT,
	WT_RANGE_INPUT,
	WT_RANGE_REQUEST,
	WT_RANGE_PREFILL,
	WT_RANGE_DECODE,
	WT_RANGE_NO_WORK,
	WT_RANGE_COMM_SETUP,
	WT_RANGE_OFFLOAD,
	/* Beyond the trace's numbers: by name alone. */
	WT_RANGE_MODULE,   /* nn.Module: the module path axis */
	WT_RANGE_PROFILER, /* the profiler held up some thread: buffers, instrumentation */
	WT_RANGE_LOADING,  /* the driver loaded or compiled code on some thread */
	WT_RANGE_OS, /* a call into the system's libraries (Nsight's OS runtime): waiting, reading */
	WT_RANGE_KINDS
};
struct wt_range {
	int64_t start_ns, end_ns;
	uint32_t name, thread;
	int64_t step; /* STEP: its number; REQUEST: its id */
	uint16_t process;
	uint8_t kind;	/* enum wt_range_kind */
	uint8_t marked; /* 1: the job says its kind (annotate.h); 0: from the name, if at all */
	/* STEP, 1: when the devices ran it, not when the host launched it (a TPU's line of steps) */
	uint8_t on_device;
};

/*
 * Code of the job's own (not of its framework or the interpreter) that ran on a thread: of those around a launch, the
 * innermost is its call site.
 */
struct wt_frame {
	int64_t start_ns, end_ns;
	uint32_t name; /* "train.py(88): forward" */
	uint32_t thread;
	uint16_t process;
};

/*
 * A row of another tool's file that is neither work nor a call, yet counted by that tool: kept only when a view asks
 * for it (wt_builder_keep_asides), read by that view alone.
 */
struct wt_aside {
	int64_t start_ns, end_ns;
	int64_t stream; /* as the source numbers it; -1 = none */
	uint64_t correlation;
	uint32_t name;
	uint16_t process;
	uint8_t first; /* the file's first event, whatever it is */
};

enum wt_coll_op {
	WT_COLL_NONE,
	WT_COLL_ALL_REDUCE,
	WT_COLL_ALL_GATHER,
	WT_COLL_REDUCE_SCATTER,
	WT_COLL_BROADCAST,
	WT_COLL_REDUCE,
	WT_COLL_SEND,
	WT_COLL_RECV,
	WT_COLL_ALL_TO_ALL,
	WT_COLL_GATHER,
	WT_COLL_SCATTER,
};
#define WT_COLL_SEQ_COUNTED                                                                        \
	1u /* seq is the place in its file, not the job's own number: a late start shifts it */
/* How far it was when a dump was written; none of them = not said. */
#define WT_COLL_SCHEDULED 16u /* called by the host, not seen on the device */
#define WT_COLL_STARTED	  32u
#define WT_COLL_COMPLETED 64u
#define WT_COLL_PLANNED	  128u /* NCCL's plan is known: algorithm, protocol, channels */
struct wt_collective {
	uint64_t comm; /* hash of the communicator's key: equal on all ranks; 0 = not known */
	uint64_t seq;  /* on that communicator; sends and receives have none (0) */
	uint64_t count, bytes;
	uint32_t dtype, name; /* name: the operation as the source spells it */
	uint32_t nranks, rank;
	int32_t call; /* the host call; -1 */
	int32_t peer; /* root of a rooted operation, the other side of a send or receive, by rank in
			 the communicator; -1 = none or not known */
	int32_t lead; /* index into collectives: the one of its group whose kernels carry this one
			 too; itself where it has its own */
	uint32_t group; /* what the framework calls the communicator (Kineto's description of the
			   process group, NCCL's commName); 0 = not known */
	uint16_t process;
	uint8_t op;    /* enum wt_coll_op */
	uint8_t flags; /* WT_COLL_* */
	/* NCCL's plan, as trace.proto numbers it; 0 = not said. Channels are blocks of the kernel. */
	uint8_t algorithm, protocol, channels, warps;
	/* What NCCL's proxy threads did for it, summed over their operations; waits for the GPU, for room on the
	 * other side, and for the network. */
	uint32_t proxies;
	uint64_t proxy_bytes;
	int64_t proxy_ns, proxy_gpu_ns, proxy_peer_ns, proxy_net_ns;
	int64_t channel_ns; /* from the first channel's start to the last one's end; 0 = not known */
};

/* Who belongs to a communicator: `place` is the rank in it, `rank` the rank in the job. */
struct wt_member {
	uint64_t comm;
	int32_t place, rank;
};
/* Where a process stood on a communicator when its dump was written: numbers of the last collective; -1 = not known. */
struct wt_standing {
	uint64_t comm;
	int64_t enqueued, started,
		completed; /* called by the host, begun and ended on the device */
	uint32_t group;	   /* what the framework calls the communicator */
	uint16_t process;
	uint8_t p2p; /* sends and receives were among them: then ranks may differ */
};
/*
 * What a stream was told to wait for: what is put on it later starts after that. Of an event: what had been put on the
 * stream of its last recording until then.
 */
enum wt_wait_kind { WT_WAIT_EVENT = 1, WT_WAIT_HOST_FUNCTION };
struct wt_wait {
	int32_t call;	/* index into calls: it says when, and on which stream */
	int32_t record; /* EVENT: the call that recorded the event last before that; -1 */
	uint16_t process;
	uint8_t kind; /* enum wt_wait_kind */
	uint8_t reserved;
};
/* What a source says of an allocator's memory on a device, in bytes; 0 = not said. */
struct wt_memory {
	int64_t device;				/* ordinal, as the source numbers it */
	uint64_t peak_allocated, peak_reserved; /* of the time the source covers */
	uint64_t allocated, reserved;		/* at its end */
	uint64_t events;			/* allocations and frees it tells of */
	uint64_t ooms;				/* times the allocator found no memory */
	uint16_t process;
	uint8_t source; /* enum wt_memory_source */
};
/*
 * A counter of a source ("ph":"C" of Chrome JSON), over the time of its file. Values in millionths. The mean is that of
 * the samples, whenever they were taken.
 */
struct wt_counter {
	int64_t min, max, mean, last;
	int64_t max_ns; /* when it was at its most, for the first time that was read */
	uint64_t samples;
	uint32_t name,
		series; /* series: one of several values of a name; 0 = it has no name of its own */
	uint16_t process;
};
enum wt_memory_source {
	WT_MEMORY_ROWS = 1, /* [memory] rows of Kineto */
	WT_MEMORY_SNAPSHOT, /* torch.cuda.memory */
};

#define WT_PID_OTHERS                                                                              \
	INT64_C(-2) /* all processes beyond what a timeline can tell apart: its calls launched nothing */
struct wt_process {
	uint32_t input; /* index into inputs */
	int64_t pid;
	int32_t rank;	     /* -1 = not known */
	int32_t world;	     /* 0 = not known */
	uint32_t name, host; /* host: its name, or WT_HOST_OF_EXPORT and a file */
	/* When collection ran, device clock; INT64_MIN/INT64_MAX where the file does not say. */
	int64_t collect_start_ns, collect_end_ns;
	int level; /* of a native trace: 0 off, 1 count, 2 api, 3 trace; -1 = another tool's file */
	int ended; /* native: 1 = the file has its End; 0 = cut or killed */
	/* Cost of recording, of a native trace; -1 = not known. */
	int64_t hook_ns, writer_cpu_ns, cupti_ns, bytes_out, recorded_calls;
	/*
	 * Steps with recording against steps of the same job without: by how much they took longer, in millionths, with
	 * the 95 % interval (trace/audit.c). pairs -1 = no step was marked beside a change of level; below
	 * WT_AUDIT_PAIRS the other numbers are 0.
	 */
	int64_t audit_pairs, audit_steps, audit_ppm, audit_low_ppm, audit_high_ppm;
	int64_t audit_budget_ppm; /* what recording was allowed to cost */
	int audit_level;	  /* of the steps without: 0 off, 1 count, 2 api */
	int begun; /* collection began: 0 = when is not known, 1 = with the process's use of CUDA, 2 = later */
};
#define WT_HOST_OF_EXPORT "the machine in " /* all its processes are in that file, on one clock */
#define WT_AUDIT_PAIRS	  30		    /* fewer say nothing */
struct wt_device {
	int64_t ordinal; /* as the source numbers it */
	uint32_t name;
	int32_t rank;	  /* of the process that uses it; -1 */
	uint8_t uuid[16]; /* zeros = not known */
	uint32_t sm_count, cc;
	uint64_t memory_bytes;
	uint64_t peak_flops,
		peak_bytes_per_s; /* dense and device memory, as the file says; 0 = not said */
	uint8_t shared;		  /* another, unobserved process used it too */
};
struct wt_stream {
	int64_t id; /* as the source numbers it */
	uint16_t device, process;
};
struct wt_thread {
	int64_t tid;
	uint32_t name;
	uint16_t process;
};

/* Time on one stream (or a whole device) for which records are known to be missing. Booked as E1. */
struct wt_hole {
	int64_t start_ns, end_ns;
	uint64_t missing; /* device operations known to be lost in it */
	uint32_t stream;  /* UINT32_MAX = the whole device */
	uint16_t device, process;
	uint8_t paused; /* nothing is lost: collection was off, calls of this time are counted outside; 2 = because
			   that was asked for (a schedule of windows, a command, the budget) */
	uint8_t in_flight; /* nothing is lost: the work had not finished when recording ended */
};

/* The completeness identity of warptap-trace.5, per process, context and kind. */
enum wt_count_kind {
	WT_COUNT_LAUNCH,
	WT_COUNT_GRAPH_LAUNCH,
	WT_COUNT_COPY,
	WT_COUNT_MEMSET,
	WT_COUNT_COLLECTIVE,
	WT_COUNT_KINDS
};
struct wt_count {
	uint16_t process;
	uint16_t kind; /* enum wt_count_kind */
	uint32_t context;
	/* counted = timed + untimed + dropped_agent + dropped_cupti + missing + in_flight + device_error */
	uint64_t counted, timed, untimed, dropped_agent, dropped_cupti, missing, in_flight,
		device_error;
	/* Beside the identity. */
	uint64_t captured, failed, soft, extra;
	uint64_t outside; /* calls made while records were not collected, of any fate */
};

/* A file, as far as it could be read. */
struct wt_input {
	uint32_t path, format;
	int32_t rank; /* -1 */
	uint8_t damaged;
	int64_t damage_offset; /* -1 */
	uint32_t damage_text;
	uint64_t lost_packets, lost_bytes, lost_events;
	uint64_t repairs; /* faults of the text that took nothing away */
	int64_t base_ns;  /* was added to all times of the file; 0 = they are as it has them */
};

struct wt_timeline {
	struct wt_op *ops; /* sorted by (device, start, end descending) */
	size_t nops;
	size_t *device_first;  /* ndevices + 1 offsets into ops */
	struct wt_call *calls; /* sorted by (process, thread, start) */
	size_t ncalls;
	int correlates_once;	 /* no two calls of a process have one correlation; 0: not known */
	struct wt_range *ranges; /* sorted by start */
	size_t nranges;
	struct wt_frame *frames; /* as they came */
	size_t nframes;
	struct wt_aside *asides; /* sorted by start; none unless asked for */
	size_t nasides;
	struct wt_collective *collectives;
	size_t ncollectives;
	struct wt_member *members; /* as they came; each once */
	size_t nmembers;
	struct wt_standing *standings; /* as they came */
	size_t nstandings;
	struct wt_wait *waits; /* as they came */
	size_t nwaits;
	struct wt_memory *memories; /* as they came */
	size_t nmemories;
	struct wt_counter *counters; /* as they came */
	size_t ncounters;
	struct wt_hole *holes; /* sorted by (device, start) */
	size_t nholes;
	struct wt_count *counts;
	size_t ncounts;
	struct wt_process *processes;
	size_t nprocesses;
	struct wt_device *devices;
	size_t ndevices;
	struct wt_stream *streams;
	size_t nstreams;
	struct wt_thread *threads;
	size_t nthreads;
	struct wt_shape *shapes; /* shapes[0] is all zero */
	size_t nshapes;
	struct wt_work *works; /* works[0] is all zero */
	size_t nworks;
	struct wt_instruction *instructions; /* instructions[0] is all zero */
	size_t ninstructions;
	struct wt_input *inputs;
	size_t ninputs;
	uint32_t *notes; /* strings: what the reader of the report must know */
	size_t nnotes;
	struct wt_kv { /* fingerprint of the environment */
		uint32_t key, value;
		uint16_t process;
	} * environment;
	size_t nenvironment;
	struct wt_strings *strings;
};

const char *wt_timeline_string(const struct wt_timeline *tl, uint32_t id); /* never NULL */
/* The string that says what kind of work a kernel is: its name; where there are no kernels, the compiler's category. */
uint32_t wt_timeline_work_name(const struct wt_timeline *tl, const struct wt_op *op);
size_t wt_timeline_nstrings(const struct wt_timeline *tl);
void wt_timeline_free(struct wt_timeline *tl);

/*
 * What a range of that name is (range_names.def); WT_RANGE_USER if the name says nothing. *ret_number: of a step with a
 * number in its name, else -1.
 */
enum wt_range_kind wt_range_kind_by_name(const char *name, int64_t *ret_number);
/* The kind of a CUDA, HIP or driver call by its name (any suffix: _v2, _ptsz); one table for all formats. */
enum wt_call_kind wt_call_kind_by_name(const char *name);
/* 1 if a call of that name can block the host until the device is done (synchronise, plain cudaMemcpy ...). */
int wt_call_blocks_by_name(const char *name);

#endif
