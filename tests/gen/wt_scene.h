/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small job written as a trace, with what is wrong in it chosen by the caller: for unit tests, the golden file, bad
 * files and fuzz seeds. The same scene gives the same packets. Everything is laid out call by call first (struct
 * wt_scene_call), then written as the agent would write it, one block a step; the calls are the truth tests compare
 * with.
 */
#ifndef WT_SCENE_H
#define WT_SCENE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "trace.pb-c.h"

#define SC_HZ	  2500000000ull
#define SC_TSC0	  7000000000000ull
#define SC_REAL0  1700000000000000000ull
#define SC_MONO0  500000000000ull
#define SC_MOST	  65536
#define SC_STREAM 2 /* agent's ids: 1 = default stream (CUPTI 7), 2 = side stream (CUPTI 13) */

enum sc_op { /* ids of the file's Ops */
	     SC_LAUNCH = 1,
	     SC_COPY,
	     SC_MEMSET,
	     SC_GRAPH,
	     SC_CTX_SYNC,
	     SC_STREAM_SYNC,
	     SC_ALL_REDUCE,
	     SC_GROUP_END,
	     SC_ALLOC,
	     SC_EVENT_CREATE, /* from here on: of scenes with events */
	     SC_EVENT_RECORD,
	     SC_STREAM_WAIT,
	     SC_EVENT_SYNC,
	     SC_EVENT_QUERY,
	     SC_STREAM_QUERY,
	     SC_SYNC_COPY,
	     SC_OPS
};

struct wt_scene_call {
	uint64_t start_ns, dur_ns; /* of the call, from the start of the scene */
	uint64_t op_start_ns, op_dur_ns;
	uint64_t seq, correlation; /* correlation 0 = makes no API record */
	uint32_t op, stream, function, shape, thread, parent, status, flags, records;
	uint32_t step;
	uint64_t bytes;
	uint8_t lose_row, lose_api, lose_record, untimed;
};

struct wt_scene {
	/* What the caller chooses. */
	uint32_t steps, kernels; /* kernels a step */
	uint32_t functions;	 /* how many different ones, 0 = as many as kernels */
	int no_api;		 /* no API records */
	int no_device;		 /* level api: nothing from CUPTI */
	int cut;		 /* killed: no End, the last frame stays open */
	int no_sync;		 /* steps do not end in cuCtxSynchronize */
	int graphs, threads,
		collectives; /* with graph launches; with a second thread; with all-reduces */
	uint32_t lose_from,
		lose_to; /* calls whose API and device records are lost, as if in one buffer */
	uint32_t rows_from, rows_to; /* calls whose host row is lost */
	uint32_t in_flight;	     /* calls at the end whose records have not come */
	int every;		     /* also the packets that no call of the scene makes */
	int marks;		     /* each step is marked, see sc_write_marks() */
	int counters;		     /* kernels have hardware counters, see sc_write_counters() */
	int events;		     /* events and queries are among the calls: made by the test */
	int siblings;		     /* an all-reduce allocates behind its launch */
	uint32_t pause_from, pause_to; /* steps in which collection stood back; 0 = it never did */
	uint32_t
		edge; /* calls before the end of that whose records came: kinds come on one by one */
	int foreign;  /* from then on, device records are on a clock that counts ticks */
	int step_clock;	     /* REALTIME is set forward by a second in the middle */
	int32_t rank, world; /* world: 0 = two, if there is a rank */
	uint8_t device;	     /* of the job: 0, 1, ... */
	uint64_t pid;	     /* 0: 4242 */
	uint64_t skew_ns;    /* of REALTIME */
	/* What it is. */
	struct wt_scene_call *call;
	uint32_t n;
	uint64_t now_ns, correlation, packets, seq[3], tail[4]; /* per thread; per stream */
	struct wt_frame_writer *writer;
	uint8_t *out;
	size_t n_out, room;
	uint64_t lost_api, lost_records;
	int came_back;
};

static inline uint64_t sc_tsc(uint64_t ns)
{
	return SC_TSC0 + ns / 2 * 5;
}

/* REALTIME at a moment of the scene. */
static inline uint64_t sc_real(const struct wt_scene *s, uint64_t ns)
{
	return SC_REAL0 + s->skew_ns + ns +
	       (s->step_clock && ns >= s->now_ns / 2 ? 1000000000u : 0);
}

/* The clock of a call's device records: ticks, after the pause of a scene that says so. */
static inline uint64_t sc_device(const struct wt_scene *s, const struct wt_scene_call *c,
				 uint64_t ns)
{
	return s->foreign && c->step >= s->pause_from ? sc_tsc(ns) : sc_real(s, ns);
}

static inline struct wt_scene_call *sc_call(struct wt_scene *s, uint32_t op, uint32_t thread,
					    uint64_t dur_ns)
{
	struct wt_scene_call *c = &s->call[s->n++];

	memset(c, 0, sizeof(*c));
	c->op = op;
	c->thread = thread;
	c->start_ns = s->now_ns;
	c->dur_ns = dur_ns;
	c->seq = ++s->seq[thread];
	c->correlation = ++s->correlation;
	s->now_ns += dur_ns + 700;
	return c;
}

static inline void sc_work(struct wt_scene *s, struct wt_scene_call *c, uint32_t stream,
			   uint64_t dur_ns)
{
	uint64_t start = c->start_ns + c->dur_ns + 1500;

	if (start < s->tail[stream])
		start = s->tail[stream];
	c->stream = stream;
	c->op_start_ns = start;
	c->op_dur_ns = dur_ns;
	c->records = 1;
	s->tail[stream] = start + dur_ns;
}

static inline void sc_launch(struct wt_scene *s, uint32_t thread, uint32_t stream,
			     uint32_t function)
{
	struct wt_scene_call *c = sc_call(s, SC_LAUNCH, thread, 1800);

	c->function = 1 + function;
	c->shape = 1 + function % 3;
	sc_work(s, c, stream, 2000 + 100 * (function % 7));
}

/* An all-reduce: its kernel is launched inside the call; NCCL's call itself is no CUDA API call. */
static inline void sc_all_reduce(struct wt_scene *s, uint64_t bytes)
{
	uint64_t start = s->now_ns;
	struct wt_scene_call *c;

	s->now_ns += 900;
	c = sc_call(s, SC_LAUNCH, 1, 1600);
	c->function = 100;
	c->shape = 1;
	c->flags = WARPTAP__V1__CALL_FLAG__CALL_FLAG_IN_NCCL;
	sc_work(s, c, SC_STREAM, 9000);
	if (s->siblings) {
		c = sc_call(s, SC_ALLOC, 1, 300);
		c->flags = WARPTAP__V1__CALL_FLAG__CALL_FLAG_IN_NCCL;
		c->correlation = 0;
		s->correlation--;
	}
	c = sc_call(s, SC_ALL_REDUCE, 1, 0);
	c->start_ns = start;
	c->dur_ns = s->now_ns - start;
	c->correlation = 0;
	s->correlation--;
	c->stream = SC_STREAM;
	c->bytes = bytes;
}

static inline void sc_step(struct wt_scene *s, uint32_t step)
{
	uint32_t functions = s->functions ? s->functions : s->kernels, first = s->n;
	struct wt_scene_call *c;

	c = sc_call(s, SC_COPY, 1, 2500);
	c->bytes = 1u << 20;
	sc_work(s, c, SC_STREAM, 21000);
	for (uint32_t i = 0; i < s->kernels; i++) {
		sc_launch(s, s->threads && i % 5 == 4 ? 2 : 1, 1, i % functions);
		if (i % 4 == 0)
			s->correlation += 2; /* calls nobody asked for */
		if (s->collectives && i % 8 == 7)
			sc_all_reduce(s, 4096u * (i + 1));
	}
	if (step == 0) { /* a capture: the launch succeeds and runs nothing */
		c = sc_call(s, SC_LAUNCH, 1, 900);
		c->function = 1;
		c->shape = 1;
		c->stream = 1;
		c->flags = WARPTAP__V1__CALL_FLAG__CALL_FLAG_CAPTURED;
	}
	if (step == 1) { /* a launch that fails */
		c = sc_call(s, SC_LAUNCH, 1, 900);
		c->function = 2;
		c->shape = 2;
		c->stream = 1;
		c->status = 1;
	}
	if (s->graphs && step % 2 == 1) {
		c = sc_call(s, SC_GRAPH, 1, 4000);
		sc_work(s, c, 1, 3000);
		c->records = 3;
		s->tail[1] += 2 * 3500;
	}
	c = sc_call(s, SC_MEMSET, 1, 1500);
	c->bytes = 4096;
	sc_work(s, c, 1, 1000);
	if (!s->no_sync) {
		c = sc_call(s, SC_CTX_SYNC, 1, 2000);
		for (int i = 1; i < 3; i++)
			if (s->tail[i] + 3000 > c->start_ns + c->dur_ns)
				c->dur_ns = s->tail[i] + 3000 - c->start_ns;
		s->now_ns = c->start_ns + c->dur_ns + 5000;
	}
	for (uint32_t i = first; i < s->n; i++)
		s->call[i].step = step;
}

static inline int sc_paused(const struct wt_scene *s, const struct wt_scene_call *c)
{
	return s->pause_to && c->step >= s->pause_from && c->step < s->pause_to;
}

static inline void sc_lose(struct wt_scene *s)
{
	uint32_t back = 0;

	while (s->pause_to && back < s->n && s->call[back].step < s->pause_to)
		back++;
	for (uint32_t i = 0; i < s->n; i++) {
		struct wt_scene_call *c = &s->call[i];

		if (i >= s->lose_from && i < s->lose_to)
			c->lose_api = c->lose_record = 1;
		if (i >= s->rows_from && i < s->rows_to)
			c->lose_row = 1;
		if (sc_paused(s, c) && i + s->edge < back)
			c->lose_api = c->lose_record = 1;
		if (i + s->in_flight >= s->n)
			c->lose_api = c->lose_record = 1;
		if (s->no_device)
			c->lose_api = c->lose_record = 1;
		if (s->no_api)
			c->lose_api = 1;
		if (i >= s->lose_from && i < s->lose_to) {
			s->lost_records += c->records;
			s->lost_api += c->correlation && c->records;
		}
	}
}

/* ---- writing ---- */

static int sc_sink(void *arg, const void *bytes, size_t n)
{
	struct wt_scene *s = arg;

	if (s->n_out + n > s->room) {
		s->room = (s->n_out + n) * 2;
		s->out = realloc(s->out, s->room);
		if (!s->out)
			return -WT_E_IO;
	}
	memcpy(s->out + s->n_out, bytes, n);
	s->n_out += n;
	return 0;
}

static inline void sc_emit(struct wt_scene *s, Warptap__V1__Packet__BodyCase body, void *message)
{
	static uint8_t buf[WT_PACKET_MAX];
	Warptap__V1__Packet p = WARPTAP__V1__PACKET__INIT;

	p.seq = ++s->packets;
	p.body_case = body;
	p.header = message; /* all bodies are pointers in one union */
	if (warptap__v1__packet__get_packed_size(&p) > sizeof(buf) ||
	    wt_frame_writer_packet(s->writer, buf, warptap__v1__packet__pack(&p, buf)))
		abort();
}
#define SC_EMIT(s_, body_, m_) sc_emit(s_, WARPTAP__V1__PACKET__BODY_##body_, m_)
/* A column on the stack: values as a list. */
#define SC_COL(m_, col_, type_, ...)                                                               \
	do {                                                                                       \
		static type_ col_v_[] = {__VA_ARGS__};                                             \
		(m_).col_ = col_v_;                                                                \
		(m_).n_##col_ = sizeof(col_v_) / sizeof(col_v_[0]);                                \
	} while (0)

static const char *const sc_names[] = {
	"cuLaunchKernel",
	"cuMemcpyHtoDAsync_v2",
	"cuMemsetD8Async",
	"cuGraphLaunch",
	"cuCtxSynchronize",
	"cuStreamSynchronize",
	"ncclAllReduce",
	"ncclGroupEnd",
	"cuMemAlloc_v2",
	"python3",
	"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	"loader",
};
#define SC_NAMES     (sizeof(sc_names) / sizeof(sc_names[0]))
#define SC_NCCL_NAME 11
#define SC_KERNEL_AT 64 /* string id of kernel 0's name */
#define SC_KERNELS   32

static inline void sc_write_header(struct wt_scene *s, uint64_t segment)
{
	static uint8_t id[16] = "golden-file-0001", boot[16] = "boot-id-of-tests",
		       uuid[16] = "GPU-uuid-of-sim0";
	Warptap__V1__Header m = WARPTAP__V1__HEADER__INIT;
	Warptap__V1__Device d = WARPTAP__V1__DEVICE__INIT, *devices[] = {&d};
	Warptap__V1__Header__SettingsEntry set = WARPTAP__V1__HEADER__SETTINGS_ENTRY__INIT,
					   *sets[] = {&set};
	Warptap__V1__Header__EnvironmentEntry env[2] =
		{WARPTAP__V1__HEADER__ENVIRONMENT_ENTRY__INIT,
		 WARPTAP__V1__HEADER__ENVIRONMENT_ENTRY__INIT},
					      *envs[] = {&env[0], &env[1]};

	m.minor = 1;
	m.file_id = (ProtobufCBinaryData){16, id};
	m.boot_id = (ProtobufCBinaryData){16, boot};
	m.segment = segment;
	m.pid = s->pid ? s->pid : 4242;
	m.host = (char *)"testhost";
	m.agent_version = (char *)"0.1.0";
	m.rank = s->rank;
	m.world = s->rank < 0 ? 0 : s->world ? s->world : 2;
	m.tsc_hz = SC_HZ;
	m.program = (char *)"train";
	d.name = (char *)"NVIDIA H100 80GB HBM3";
	uuid[15] = (uint8_t)('0' + s->device);
	d.uuid = (ProtobufCBinaryData){16, uuid};
	d.sm_count = 132;
	d.cc = 90;
	d.memory_bytes = 80ull << 30;
	m.devices = devices;
	m.n_devices = 1;
	set.key = (char *)"WARPTAP_LEVEL";
	set.value = (char *)(s->no_device ? "api" : "trace");
	m.settings = sets;
	m.n_settings = 1;
	env[0].key = (char *)"driver";
	env[0].value = (char *)"13000";
	env[1].key = (char *)"NCCL_ALGO";
	env[1].value = (char *)"Ring";
	m.environment = envs;
	m.n_environment = 2;
	SC_EMIT(s, HEADER, &m);
}

static inline void sc_write_tables(struct wt_scene *s)
{
	static char text[SC_KERNELS][96], *list[SC_KERNELS];
	Warptap__V1__Strings strings = WARPTAP__V1__STRINGS__INIT;
	Warptap__V1__Ops ops = WARPTAP__V1__OPS__INIT;
	Warptap__V1__Functions functions = WARPTAP__V1__FUNCTIONS__INIT;
	Warptap__V1__Shapes shapes = WARPTAP__V1__SHAPES__INIT;
	Warptap__V1__Contexts contexts = WARPTAP__V1__CONTEXTS__INIT;
	Warptap__V1__Streams streams = WARPTAP__V1__STREAMS__INIT;
	Warptap__V1__Threads threads = WARPTAP__V1__THREADS__INIT;
	static uint64_t ids[SC_KERNELS + 1], names[SC_KERNELS + 1];

	strings.first_id = 1;
	strings.text = (char **)(uintptr_t)sc_names;
	strings.n_text = SC_NAMES;
	SC_EMIT(s, STRINGS, &strings);
	for (uint32_t i = 0; i < SC_KERNELS; i++) {
		snprintf(text[i], sizeof(text[i]), "_Z6kernelILi%uEEvPfS0_m", i);
		list[i] = text[i];
		ids[i] = i + 1;
		names[i] = SC_KERNEL_AT + i;
	}
	ids[SC_KERNELS] = 100;
	names[SC_KERNELS] = SC_NCCL_NAME;
	strings.first_id = SC_KERNEL_AT;
	strings.text = list;
	strings.n_text = SC_KERNELS;
	SC_EMIT(s, STRINGS, &strings);
	SC_COL(ops, id, uint64_t, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	SC_COL(ops, name, uint64_t, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	SC_COL(ops, kind, uint32_t, 1, 3, 4, 2, 10, 10, 5, 15, 11);
	SC_EMIT(s, OPS, &ops);
	functions.id = ids;
	functions.name = names;
	functions.n_id = functions.n_name = SC_KERNELS + 1;
	SC_EMIT(s, FUNCTIONS, &functions);
	SC_COL(shapes, id, uint64_t, 1, 2, 3);
	SC_COL(shapes, gx, uint32_t, 132, 264, 8);
	SC_COL(shapes, gy, uint32_t, 1, 2, 1);
	SC_COL(shapes, gz, uint32_t, 1, 1, 1);
	SC_COL(shapes, bx, uint32_t, 128, 256, 1024);
	SC_COL(shapes, by, uint32_t, 1, 1, 1);
	SC_COL(shapes, bz, uint32_t, 1, 1, 1);
	SC_COL(shapes, dyn_smem, uint32_t, 0, 0, 49152);
	SC_EMIT(s, SHAPES, &shapes);
	SC_COL(contexts, id, uint32_t, 1);
	SC_COL(contexts, cupti_id, uint32_t, 1);
	SC_COL(contexts, device, uint32_t, 0);
	SC_EMIT(s, CONTEXTS, &contexts);
	SC_COL(streams, id, uint64_t, 1, 2);
	SC_COL(streams, handle, uint64_t, 0, 0x7f0011223344);
	SC_COL(streams, cupti_id, uint32_t, 0, 13);
	SC_COL(streams, context, uint32_t, 1, 1);
	SC_EMIT(s, STREAMS, &streams);
	SC_COL(threads, id, uint64_t, 1, 2);
	SC_COL(threads, tid, uint64_t, 4242, 4250);
	SC_COL(threads, pthread, uint64_t, 0x7ffff7d8a740, 0x7fffe7d8b640);
	SC_COL(threads, name, uint64_t, 10, 12);
	SC_EMIT(s, THREADS, &threads);
}

static inline void sc_write_event_ops(struct wt_scene *s)
{
	static const char *const names[] = {
		"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize",
		"cuEventQuery",	 "cuStreamQuery", "cuMemcpyDtoH_v2"};
	Warptap__V1__Strings strings = WARPTAP__V1__STRINGS__INIT;
	Warptap__V1__Ops ops = WARPTAP__V1__OPS__INIT;

	strings.first_id = 40;
	strings.text = (char **)(uintptr_t)names;
	strings.n_text = sizeof(names) / sizeof(names[0]);
	SC_EMIT(s, STRINGS, &strings);
	SC_COL(ops, id, uint64_t, 10, 11, 12, 13, 14, 15, 16);
	SC_COL(ops, name, uint64_t, 40, 41, 42, 43, 44, 45, 46);
	SC_COL(ops, kind, uint32_t, 7, 7, 8, 10, 7, 7, 3);
	SC_EMIT(s, OPS, &ops);
}

static inline void sc_write_comms(struct wt_scene *s)
{
	static uint8_t key[16] = "communicator-key";
	static ProtobufCBinaryData keys[] = {{16, key}};
	Warptap__V1__Comms m = WARPTAP__V1__COMMS__INIT;
	Warptap__V1__Graphs g = WARPTAP__V1__GRAPHS__INIT;

	SC_COL(m, id, uint64_t, 1);
	m.key = keys;
	m.n_key = 1;
	SC_COL(m, rank, uint32_t, 0);
	m.rank[0] = s->rank >= 0 ? (uint32_t)s->rank : 0;
	SC_COL(m, nranks, uint32_t, 2);
	m.nranks[0] = s->world ? (uint32_t)s->world : 2;
	SC_EMIT(s, COMMS, &m);
	g.exec = 1;
	g.revision = 1;
	g.complete = 1;
	SC_COL(g, kind, uint32_t, 1, 1, 1);
	SC_COL(g, enabled, protobuf_c_boolean, 1, 1, 1);
	SC_EMIT(s, GRAPHS, &g);
}

static inline void sc_write_clock(struct wt_scene *s, uint64_t ns)
{
	Warptap__V1__Clocks m = WARPTAP__V1__CLOCKS__INIT;
	uint64_t tsc = sc_tsc(ns), mono = SC_MONO0 + ns, real = sc_real(s, ns);
	uint32_t error = 25;

	m.tsc = &tsc;
	m.monotonic_ns = &mono;
	m.realtime_ns = &real;
	m.error_ns = &error;
	m.n_tsc = m.n_monotonic_ns = m.n_realtime_ns = m.n_error_ns = 1;
	if (s->foreign) {
		m.device = &tsc;
		m.n_device = 1;
	}
	SC_EMIT(s, CLOCKS, &m);
}

static inline void sc_write_state(struct wt_scene *s, uint64_t ns, uint32_t level, int cupti,
				  int reason)
{
	Warptap__V1__State m = WARPTAP__V1__STATE__INIT;

	m.tsc = sc_tsc(ns);
	m.level = level;
	m.cupti = (Warptap__V1__CuptiState)cupti;
	m.reason = (Warptap__V1__StateReason)reason;
	m.kinds = 7;
	m.device_ns = sc_real(s, ns);
	if (s->foreign && s->came_back) {
		m.device_ns = sc_tsc(ns);
		m.clock = WARPTAP__V1__DEVICE_CLOCK__DEVICE_CLOCK_FOREIGN;
	}
	SC_EMIT(s, STATE, &m);
}

/* Rows of one thread in [from, to); rows of a call are written when it returns, so the order is the calls' own. */
static inline void sc_write_rows(struct wt_scene *s, uint32_t thread, uint32_t from, uint32_t to)
{
	static int64_t start[SC_MOST];
	static uint64_t dur[SC_MOST], op[SC_MOST], stream[SC_MOST], object[SC_MOST], shape[SC_MOST],
		bytes[SC_MOST];
	static uint32_t context[SC_MOST], flags[SC_MOST];
	static int32_t status[SC_MOST];
	uint32_t i = from;

	while (i < to) {
		Warptap__V1__HostCalls m = WARPTAP__V1__HOST_CALLS__INIT;
		uint64_t last = 0;
		size_t n = 0;

		for (; i < to; i++) {
			const struct wt_scene_call *c = &s->call[i];

			if (c->thread != thread)
				continue;
			if (c->lose_row || n == 1000) {
				if (n)
					break;
				continue;
			}
			if (!n)
				m.first_seq = c->seq;
			start[n] = (int64_t)(sc_tsc(c->start_ns) - last);
			dur[n] = c->dur_ns / 2 * 5;
			last = sc_tsc(c->start_ns) + dur[n];
			op[n] = c->op;
			stream[n] = c->stream;
			object[n] = c->function ? c->function
						: c->op == SC_GRAPH || c->op == SC_ALL_REDUCE;
			shape[n] = c->shape;
			bytes[n] = c->bytes;
			context[n] = 1;
			flags[n] = c->flags;
			status[n] = (int32_t)c->status;
			n++;
		}
		if (!n)
			break;
		m.thread = m.ring = thread;
		m.start_gap = start;
		m.dur = dur;
		m.op = op;
		m.stream = stream;
		m.object = object;
		m.shape = shape;
		m.bytes = bytes;
		m.context = context;
		m.flags = flags;
		m.status = status;
		m.n_start_gap = m.n_dur = m.n_op = m.n_stream = m.n_object = m.n_shape = m.n_bytes =
			m.n_context = m.n_flags = m.n_status = n;
		SC_EMIT(s, CALLS, &m);
	}
}

static inline uint32_t sc_cbid(const struct wt_scene_call *c, int *ret_runtime)
{
	/* the second thread uses the driver API itself; the first one goes through the runtime */
	static const uint32_t runtime[] = {0, 211, 41, 51, 311}, driver[] = {0, 307, 277, 216, 514};

	*ret_runtime = c->thread == 1;
	return c->op <= SC_GRAPH ? (*ret_runtime ? runtime : driver)[c->op] : 0;
}

static inline void sc_write_api(struct wt_scene *s, uint32_t thread, uint32_t from, uint32_t to)
{
	static int64_t correlation[SC_MOST];
	static uint32_t cbid[SC_MOST];
	static protobuf_c_boolean runtime[SC_MOST];
	Warptap__V1__ApiRecords m = WARPTAP__V1__API_RECORDS__INIT;
	const struct wt_scene_call *first = NULL;
	uint64_t last = 0;
	size_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct wt_scene_call *c = &s->call[i];
		int is_runtime;
		uint32_t id = sc_cbid(c, &is_runtime);

		if (c->thread != thread || c->lose_api || !id || !c->correlation)
			continue;
		correlation[n] = (int64_t)(c->correlation - last);
		if (!n)
			first = c;
		last = c->correlation;
		cbid[n] = id;
		runtime[n++] = is_runtime;
	}
	if (!n)
		return;
	m.thread_word = thread == 1 ? 0xf7d8a740u : 0xe7d8b640u;
	if (s->pause_to) {
		m.first_ns = sc_device(s, first, first->start_ns + 100);
		m.first_dur = sc_device(s, first, first->start_ns + first->dur_ns) - m.first_ns;
	}
	m.correlation_d = correlation;
	m.cbid = cbid;
	m.runtime = runtime;
	m.n_correlation_d = m.n_cbid = m.n_runtime = n;
	SC_EMIT(s, API, &m);
}

struct sc_columns {
	int64_t start[SC_MOST], correlation[SC_MOST];
	uint64_t dur[SC_MOST], what[SC_MOST], shape[SC_MOST], node[SC_MOST];
	uint32_t stream[SC_MOST], kind[SC_MOST], graph[SC_MOST], flags[SC_MOST], src[SC_MOST],
		dst[SC_MOST];
	uint64_t last_end, last_correlation;
	size_t n;
};

static inline void sc_record(struct wt_scene *s, struct sc_columns *k,
			     const struct wt_scene_call *c, uint32_t i)
{
	uint64_t start = sc_device(s, c, c->op_start_ns + i * 3500);
	uint64_t dur = sc_device(s, c, c->op_start_ns + i * 3500 + c->op_dur_ns) - start;
	size_t n = k->n++;

	k->start[n] = (int64_t)(start - k->last_end);
	k->last_end = start + dur;
	k->correlation[n] = (int64_t)(c->correlation - k->last_correlation);
	k->last_correlation = c->correlation;
	k->dur[n] = dur;
	k->stream[n] = c->stream == SC_STREAM ? 13 : 7;
	k->kind[n] = c->op == SC_MEMSET ? 100 : 1;
	k->what[n] = c->op == SC_LAUNCH ? c->function : c->op == SC_GRAPH ? 1 + i : c->bytes;
	k->shape[n] = c->shape ? c->shape : 1;
	k->graph[n] = c->op == SC_GRAPH ? 5 : 0;
	k->node[n] = c->op == SC_GRAPH ? (5ull << 32) + i + 1 : 0;
	k->flags[n] = c->untimed ? WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED : 0;
	k->src[n] = c->op == SC_MEMSET ? 0 : 2;
	k->dst[n] = 3;
}

/* Kernels of function i: the matrix pipe busy for i %, memory for 90 - i %; every fourth counted in twice the time. */
static inline void sc_write_counters(struct wt_scene *s, struct sc_columns *k, uint64_t *functions)
{
	static uint32_t sm[SC_MOST], tensor[SC_MOST], dram[SC_MOST], other[SC_MOST];
	static uint64_t pass[SC_MOST];
	Warptap__V1__Counters c = WARPTAP__V1__COUNTERS__INIT;

	for (size_t i = 0; i < k->n; i++) {
		uint32_t percent = (uint32_t)functions[i] % 90;

		sm[i] = 100 * percent / 2 + 1;
		tensor[i] = 100 * percent + 1;
		dram[i] = 100 * (90 - percent) + 1;
		other[i] = 1;
		pass[i] = i % 4 ? 0 : 2 * k->dur[i];
	}
	c.correlation_d = k->correlation;
	c.graph_node = k->node;
	c.sm = sm;
	c.tensor = tensor;
	c.dram = dram;
	c.l2 = c.l1 = other;
	c.pass_ns = pass;
	c.n_correlation_d = c.n_graph_node = c.n_sm = c.n_tensor = c.n_dram = c.n_l2 = c.n_l1 =
		c.n_pass_ns = k->n;
	SC_EMIT(s, COUNTERS, &c);
}

static inline void sc_write_records(struct wt_scene *s, uint32_t from, uint32_t to)
{
	static struct sc_columns kernels, copies;
	Warptap__V1__Kernels k = WARPTAP__V1__KERNELS__INIT;
	Warptap__V1__Copies c = WARPTAP__V1__COPIES__INIT;

	memset(&kernels, 0, sizeof(kernels));
	memset(&copies, 0, sizeof(copies));
	for (uint32_t i = from; i < to; i++)
		for (uint32_t r = 0; r < s->call[i].records && !s->call[i].lose_record; r++)
			sc_record(s,
				  s->call[i].op == SC_LAUNCH || s->call[i].op == SC_GRAPH ? &kernels
											  : &copies,
				  &s->call[i], r);
	k.context = c.context = 1;
	k.start_gap = kernels.start;
	k.dur = kernels.dur;
	k.function = kernels.what;
	k.shape = kernels.shape;
	k.stream = kernels.stream;
	k.correlation_d = kernels.correlation;
	k.graph = kernels.graph;
	k.graph_node = kernels.node;
	k.flags = kernels.flags;
	k.n_start_gap = k.n_dur = k.n_function = k.n_shape = k.n_stream = k.n_correlation_d =
		k.n_graph = k.n_graph_node = k.n_flags = kernels.n;
	if (kernels.n)
		SC_EMIT(s, KERNELS, &k);
	if (kernels.n && s->counters)
		sc_write_counters(s, &kernels, kernels.what);
	c.start_gap = copies.start;
	c.dur = copies.dur;
	c.kind = copies.kind;
	c.bytes = copies.what;
	c.stream = copies.stream;
	c.correlation_d = copies.correlation;
	c.src_mem = copies.src;
	c.dst_mem = copies.dst;
	c.n_start_gap = c.n_dur = c.n_kind = c.n_bytes = c.n_stream = c.n_correlation_d =
		c.n_src_mem = c.n_dst_mem = copies.n;
	if (copies.n)
		SC_EMIT(s, COPIES, &c);
}

static inline void sc_write_collectives(struct wt_scene *s, uint32_t from, uint32_t to,
					uint64_t *seq)
{
	static int64_t seq_d[SC_MOST];
	static uint64_t count[SC_MOST], stream[SC_MOST], thread[SC_MOST], ring[SC_MOST],
		call[SC_MOST];
	static uint32_t op[SC_MOST], dtype[SC_MOST];
	Warptap__V1__Collectives m = WARPTAP__V1__COLLECTIVES__INIT;
	size_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct wt_scene_call *c = &s->call[i];

		if (c->op != SC_ALL_REDUCE || c->lose_row)
			continue;
		++*seq;
		seq_d[n] = n ? 1 : (int64_t)*seq;
		op[n] = 1;
		count[n] = c->bytes / 4;
		dtype[n] = 7;
		stream[n] = SC_STREAM;
		thread[n] = ring[n] = 1;
		call[n++] = c->seq;
	}
	if (!n)
		return;
	m.comm = 1;
	m.seq_d = seq_d;
	m.op = op;
	m.count = count;
	m.dtype = dtype;
	m.stream = stream;
	m.thread = thread;
	m.ring = ring;
	m.call_seq = call;
	m.n_seq_d = m.n_op = m.n_count = m.n_dtype = m.n_stream = m.n_thread = m.n_ring =
		m.n_call_seq = n;
	SC_EMIT(s, COLLECTIVES, &m);
}

/*
 * A step's marks on thread 1: the step itself (open at the end of a cut scene's last), a range in it whose name comes
 * in two parts, and a request that the next step's marks end. The first step begins with a pop of nothing.
 */
#define SC_MARK_NAMES 9000
static inline void sc_write_marks(struct wt_scene *s, uint32_t step, uint64_t from_ns,
				  uint64_t to_ns)
{
	static char *text[] = {"step", "a range whose name ", "goes on behind the batch",
			       "request"};
	static const uint32_t what[] = {2, 1, 1, 5, 2, 4, 3, 2};
	static const uint32_t kind[] = {0, 2, 1, 0, 0, 11, 11, 0};
	static const uint64_t names[] = {0, 1, 2, 3, 0, 0, 4, 0};
	uint64_t call_seq[8], name[8], middle_ns = from_ns + (to_ns - from_ns) / 2, tsc = 0;
	int64_t tsc_d[8], value[8];
	uint64_t at_ns[8] = {from_ns,	from_ns,   from_ns,   from_ns,
			     middle_ns, middle_ns, middle_ns, to_ns};
	int last = s->cut && step + 1 == s->steps;
	size_t first = step ? 1 : 0, n = 0;
	Warptap__V1__Strings strings = WARPTAP__V1__STRINGS__INIT;
	Warptap__V1__Marks m = WARPTAP__V1__MARKS__INIT;

	strings.first_id = SC_MARK_NAMES;
	strings.text = text;
	strings.n_text = 4;
	if (!step)
		SC_EMIT(s, STRINGS, &strings);
	for (size_t i = first; i < 8u - (last ? 1 : 0); i++, n++) {
		call_seq[n] = n ? 1 : 100000 + step * 8 + i;
		tsc_d[n] = (int64_t)(sc_tsc(at_ns[i]) - tsc);
		tsc = sc_tsc(at_ns[i]);
		name[n] = names[i] ? SC_MARK_NAMES + names[i] - 1 : 0;
		value[n] = what[i] == 4 ? (int64_t)step - 1 : kind[i] > 1 ? (int64_t)step : 0;
	}
	m.thread = 1;
	m.ring = 1;
	m.call_seq_d = call_seq;
	m.tsc_d = tsc_d;
	m.what = (uint32_t *)(uintptr_t)(what + first);
	m.kind = (uint32_t *)(uintptr_t)(kind + first);
	m.value = value;
	m.name = name;
	m.n_call_seq_d = m.n_tsc_d = m.n_what = m.n_kind = m.n_value = m.n_name = n;
	SC_EMIT(s, MARKS, &m);
}

static inline void sc_write_counts(struct wt_scene *s, uint32_t until, uint64_t ns)
{
	static const uint32_t kind_of[SC_OPS] = {0,  1, 3, 4, 2,  10, 10, 5, 15,
						 11, 7, 7, 8, 10, 7,  7,  3};
	static uint32_t context[16], kind[16], state[16];
	static uint64_t n[16];
	Warptap__V1__Counts m = WARPTAP__V1__COUNTS__INIT;
	size_t used = 0;

	for (uint32_t k = 1; k < 12; k++) {
		for (uint32_t st = 0; st < 3; st++) {
			uint64_t sum = 0;

			for (uint32_t i = 0; i < until; i++) {
				const struct wt_scene_call *c = &s->call[i];
				uint32_t is = c->status ? 2 : c->flags & 1 ? 1 : 0;

				sum += kind_of[c->op] == k && is == st;
			}
			if (!sum || used == 15)
				continue;
			context[used] = 1;
			kind[used] = k;
			state[used] = st;
			n[used++] = sum;
		}
	}
	if (s->lost_records) {
		context[used] = 1;
		kind[used] = 20;
		state[used] = 7;
		n[used++] = s->lost_records + s->lost_api;
	}
	m.tsc = sc_tsc(ns);
	m.context = context;
	m.kind = kind;
	m.state = state;
	m.n = n;
	m.n_context = m.n_kind = m.n_state = m.n_n = used;
	SC_EMIT(s, COUNTS, &m);
}

static inline void sc_write_cost(struct wt_scene *s, uint64_t ns)
{
	Warptap__V1__Cost m = WARPTAP__V1__COST__INIT;

	m.tsc = sc_tsc(ns);
	m.hook_ns = 40 * s->n;
	m.hook_sampled = s->n / 64;
	m.writer_cpu_ns = 300000;
	m.cupti_ns = 50000;
	m.bytes_out = wt_frame_writer_out_bytes(s->writer);
	m.calls = s->n;
	SC_EMIT(s, COST, &m);
}

static inline void sc_write_every(struct wt_scene *s)
{
	Warptap__V1__Loss l = WARPTAP__V1__LOSS__INIT;
	Warptap__V1__GraphRuns g = WARPTAP__V1__GRAPH_RUNS__INIT;

	l.where = WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_POOL_EMPTY;
	l.n = 2;
	l.ring = 1;
	l.first_seq = 1000000;
	SC_EMIT(s, LOSS, &l);
	g.context = 1;
	SC_COL(g, start_gap, int64_t, (int64_t)(SC_REAL0 + 2000000));
	SC_COL(g, dur, uint64_t, 5000);
	SC_COL(g, graph, uint32_t, 9);
	SC_COL(g, stream, uint32_t, 7);
	SC_COL(g, correlation_d, int64_t, 900);
	SC_EMIT(s, GRAPH_RUNS, &g);
}

static inline void sc_write_end(struct wt_scene *s, uint64_t ns)
{
	Warptap__V1__End m = WARPTAP__V1__END__INIT;

	sc_write_state(s, ns, s->no_device ? 2 : 3, s->no_device ? 0 : 2, 1);
	sc_write_counts(s, s->n, ns);
	sc_write_cost(s, ns);
	m.how = WARPTAP__V1__END_HOW__END_HOW_EXIT;
	m.packets = s->packets + 1;
	SC_EMIT(s, END, &m);
}

/* Lays the scene out; call before changing single calls. Free with wt_scene_release. */
static inline void wt_scene_make(struct wt_scene *s)
{
	s->call = calloc(SC_MOST, sizeof(*s->call));
	if (!s->call)
		abort();
	s->now_ns = 3000000;
	s->correlation = 1200;
	for (uint32_t i = 0; i < s->steps; i++)
		sc_step(s, i);
	sc_lose(s);
}

/* Before a step's rows: collection stops or goes on. Returns the first call whose records are written with the step. */
static inline uint32_t sc_write_pause(struct wt_scene *s, uint32_t step, uint32_t first)
{
	uint64_t ns = s->call[first].start_ns - 20;

	if (!s->pause_to || (step != s->pause_from && step != s->pause_to))
		return first;
	if (step == s->pause_from) {
		sc_write_state(s, ns, 2, 3, 4);
		return first;
	}
	s->came_back = 1;
	sc_write_state(s, s->call[first - s->edge].start_ns - 20, 2, 1, 4);
	sc_write_state(s, ns, 3, 2, 4);
	return first - s->edge;
}

/* Writes it: out, n_out. */
static inline void wt_scene_write(struct wt_scene *s)
{
	size_t size = wt_frame_writer_size(1);
	void *mem = aligned_alloc(16, (size + 15) & ~(size_t)15);
	uint64_t seq = 0, last = 0;
	uint32_t i = 0;

	if (!mem)
		abort();
	s->writer =
		wt_frame_writer_init(mem, size, 1, (const uint8_t *)"golden-file-0001", sc_sink, s);
	sc_write_header(s, 0);
	sc_write_clock(s, 0);
	sc_write_state(s, 1000000, s->no_device ? 2 : 3, s->no_device ? 0 : 2, 0);
	sc_write_tables(s);
	if (s->events)
		sc_write_event_ops(s);
	sc_write_comms(s);
	for (uint32_t step = 0; step < s->steps; step++) {
		uint32_t first = i, from;

		while (i < s->n && s->call[i].step == step)
			i++;
		if (i > first)
			last = s->call[i - 1].start_ns + s->call[i - 1].dur_ns;
		from = sc_write_pause(s, step, first);
		for (uint32_t thread = 1; thread < 3; thread++) {
			sc_write_rows(s, thread, first, i);
			if (!sc_paused(s, &s->call[first]))
				sc_write_api(s, thread, from, i);
		}
		sc_write_collectives(s, first, i, &seq);
		if (!sc_paused(s, &s->call[first]))
			sc_write_records(s, from, i);
		if (s->marks && i > first)
			sc_write_marks(s, step, s->call[first].start_ns, last);
		sc_write_counts(s, i, last);
		sc_write_clock(s, last);
		wt_frame_writer_flush(s->writer);
		if (step % 64 == 63)
			wt_frame_writer_end(s->writer, 0);
	}
	if (s->every)
		sc_write_every(s);
	if (!s->cut) {
		sc_write_end(s, s->now_ns);
		wt_frame_writer_end(s->writer, 0);
	}
	s->writer = NULL;
	free(mem);
}

static inline void wt_scene_release(struct wt_scene *s)
{
	free(s->call);
	free(s->out);
	s->call = NULL;
	s->out = NULL;
}

#endif
