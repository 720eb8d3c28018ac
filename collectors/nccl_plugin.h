/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's profiler plugin ABI, versions 1 (NCCL 2.23) to 6 (2.29): our own declarations, like agent/nccl_types.h, of
 * what we read. NCCL looks for ncclProfiler_v6, _v5, ... in what NCCL_PROFILER_PLUGIN names and takes the first;
 * STATIC_PLUGIN means the process itself, hence a preloaded library. test_nccl_plugin.c holds the layouts against
 * the offsets of the real headers.
 *
 * Rows of op WT_ID_NCCL_EVENT (nccl_plugin.c writes, agent/pack_nccl.c reads), by `status`:
 *   PLAN    stream = number of the plan in this process, object = elements, raw[0] = NCCL's number of the operation
 *           on the communicator (by function), raw[1] = op | algorithm << 8 | protocol << 16 | channels << 24 |
 *           warps << 32, raw[2] = peer + 1 of a send or receive
 *   PROXY   one operation of the proxy thread, start and duration its own; stream = plan, object = bytes, raw[0] =
 *           channel | send << 8 | steps << 16 | (peer + 1) << 32, raw[1] = wait for the GPU | for the peer << 32,
 *           raw[2] = for the network | for the flush << 32, in units of 64 ticks
 *   KERNEL  the kernel's work on one channel; stream = plan, object and raw[0] = start and end on the device's
 *           globaltimer (ns, a clock of its own; 0 = not said), raw[1] = channel
 *   LOST    object = events that found no room
 */
#ifndef WT_NCCL_PLUGIN_H
#define WT_NCCL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define WT_NCCL_PLAN   1
#define WT_NCCL_PROXY  2
#define WT_NCCL_KERNEL 3
#define WT_NCCL_LOST   4

/* Event types, a bit each; ours only. */
#define WT_PROF_COLL	   2u
#define WT_PROF_P2P	   4u
#define WT_PROF_PROXY_OP   8u
#define WT_PROF_PROXY_STEP 16u
#define WT_PROF_KERNEL	   64u /* from v3 on */
/* States of proxy steps and kernels; before v4 there is neither of the last two. */
#define WT_PROF_SEND_GPU_WAIT	8
#define WT_PROF_SEND_WAIT	9
#define WT_PROF_RECV_WAIT	10
#define WT_PROF_RECV_FLUSH_WAIT 11
#define WT_PROF_RECV_GPU_WAIT	12
#define WT_PROF_SEND_PEER_WAIT	20
#define WT_PROF_KERNEL_STOP	22

/* One descriptor per version: a head, and a union of what each event says. */
#define WT_PROF_DESCR(v_, type_, ...)                                                              \
	struct wt_prof_descr_v##v_ {                                                               \
		type_ type;                                                                        \
		void *parent;                                                                      \
		int rank;                                                                          \
		union {                                                                            \
			__VA_ARGS__                                                                \
			struct {                                                                   \
				int pid;                                                           \
				uint8_t channel;                                                   \
				int peer, steps, chunk_bytes, is_send;                             \
			} proxy_op;                                                                \
			struct {                                                                   \
				int step;                                                          \
			} proxy_step;                                                              \
		} u;                                                                               \
	};
#define WT_PROF_BUFFERS                                                                            \
	const void *send;                                                                          \
	void *recv;                                                                                \
	size_t count;                                                                              \
	int root;
#define WT_PROF_KERNEL_V4                                                                          \
	struct {                                                                                   \
		uint8_t channel;                                                                   \
		uint64_t timer;                                                                    \
	} kernel;

WT_PROF_DESCR(
	1, uint8_t,
	struct {
		const char *name;
		uint64_t comm, seq;
		uint8_t func;
		WT_PROF_BUFFERS
		uint8_t datatype;
		uint32_t op;
		size_t traffic;
		uint8_t channels, warps, algo, proto;
		int is_collnet, is_nvls;
	} coll;
	struct {
		const char *name;
		uint64_t comm;
		uint8_t func;
		void *buff;
		uint8_t datatype;
		size_t count;
		int peer;
	} p2p;)

#define WT_PROF_P2P_V2                                                                             \
	struct {                                                                                   \
		const char *name;                                                                  \
		uint64_t comm;                                                                     \
		const char *func;                                                                  \
		void *buff;                                                                        \
		const char *datatype;                                                              \
		size_t count;                                                                      \
		int peer;                                                                          \
	} p2p;
WT_PROF_DESCR(
	2, uint8_t,
	struct {
		const char *name;
		uint64_t comm, seq;
		const char *func;
		WT_PROF_BUFFERS
		const char *datatype;
		size_t traffic;
		uint8_t channels, warps;
		const char *algo, *proto;
	} coll;
	WT_PROF_P2P_V2)

WT_PROF_DESCR(
	3, uint8_t,
	struct {
		const char *name;
		uint64_t comm, seq;
		const char *func;
		WT_PROF_BUFFERS
		const char *datatype;
		uint8_t channels, warps;
		const char *algo, *proto;
	} coll;
	WT_PROF_P2P_V2 struct { uint8_t channel; } kernel;)

WT_PROF_DESCR(
	4, uint8_t,
	struct {
		uint64_t seq;
		const char *func;
		WT_PROF_BUFFERS
		const char *datatype;
		uint8_t channels, warps;
		const char *algo, *proto;
	} coll;
	struct {
		const char *func;
		void *buff;
		const char *datatype;
		size_t count;
		int peer;
		uint8_t channels;
	} p2p;
	WT_PROF_KERNEL_V4)

/* v6 adds events of copy engines, which we do not ask for: all we read lies where v5 has it. */
WT_PROF_DESCR(
	5, uint64_t,
	struct {
		uint64_t seq;
		const char *func;
		WT_PROF_BUFFERS
		const char *datatype;
		uint8_t channels, warps;
		const char *algo, *proto;
		void *group;
	} coll;
	struct {
		const char *func;
		void *buff;
		const char *datatype;
		size_t count;
		int peer;
		uint8_t channels;
		void *group;
	} p2p;
	WT_PROF_KERNEL_V4)

/* What goes with a state: its first word is bytes (proxy step), or the globaltimer (kernel). */
union wt_prof_state {
	size_t bytes;
	uint64_t timer;
};

/* Six pointers in every version; only init and the descriptor change. */
#define WT_PROF_TABLE(v_, descr_, ...)                                                             \
	struct wt_prof_v##v_ {                                                                     \
		const char *name;                                                                  \
		unsigned (*init)(void **context, __VA_ARGS__);                                     \
		unsigned (*start)(void *context, void **handle, descr_ *descr);                    \
		unsigned (*stop)(void *handle);                                                    \
		unsigned (*state)(void *handle, int state, union wt_prof_state *args);             \
		unsigned (*finalize)(void *context);                                               \
	};
typedef void wt_prof_log(int level, unsigned long flags, const char *file, int line,
			 const char *fmt, ...);
WT_PROF_TABLE(1, struct wt_prof_descr_v1, int *mask)
WT_PROF_TABLE(2, struct wt_prof_descr_v2, int *mask)
WT_PROF_TABLE(3, struct wt_prof_descr_v3, int *mask)
WT_PROF_TABLE(4, struct wt_prof_descr_v4, int *mask, const char *name, uint64_t comm, int nodes,
	      int nranks, int rank, wt_prof_log *log)
WT_PROF_TABLE(5, struct wt_prof_descr_v5, uint64_t comm, int *mask, const char *name, int nodes,
	      int nranks, int rank, wt_prof_log *log)

extern const struct wt_prof_v1 ncclProfiler_v1;
extern const struct wt_prof_v2 ncclProfiler_v2;
extern const struct wt_prof_v3 ncclProfiler_v3;
extern const struct wt_prof_v4 ncclProfiler_v4;
extern const struct wt_prof_v5 ncclProfiler_v5, ncclProfiler_v6;

#endif
