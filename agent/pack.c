/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets, frames and segments of the trace file (pack.h).
 *
 * A packet is packed into one buffer, checked against the room on disk together with all that is still inside the
 * compressor, and only then given to the framing: when the disk or the cap is reached the file ends with whole packets
 * and there is room left to say so. From then on rows are counted (lost_rows), not written.
 *
 * Segments roll in wt_pack_begin() only, never inside a batch: the ids of a batch are said in the batch's own segment.
 */
#include "agent/pack.h"

#include <string.h>
#include <sys/random.h>

#include "agent/agent.h"
#include "agent/box.h"
#include "collectors/cupti_activity.h"
#include "collectors/manners.h"

#define LEVEL 1 /* level 3 saves 2-4 % and costs half as much again */
/* A batch may still follow the check: leave it room below the limits of the format. */
#define SEGMENT_RAW (WT_SEGMENT_RAW_MAX - (2u << 20))
#define SEGMENT_NS  (WT_SEGMENT_MAX_NS - 2000000000ll)
#define FRAME_NS    (WT_FRAME_MAX_NS - 2000000000ll)
/* zstd may expand what it cannot compress, and frames have markers and checksums. */
#define SLACK(n) ((n) / 64 + 1024)

int wt_pack_any(const void *column, size_t n, size_t bytes)
{
	const uint8_t *p = column;

	for (size_t i = 0; i < n * bytes; i += 4) {
		uint32_t w;

		memcpy(&w, p + i, 4);
		if (w)
			return 1;
	}
	return 0;
}

static int columns_open(struct wt_pack *p)
{
	size_t wide = WT_BATCH_ROWS * sizeof(uint64_t), narrow = WT_BATCH_ROWS * sizeof(uint32_t);

	for (size_t i = 0; i < WT_COLUMNS; i++) {
		if (!(p->wide[i] = wt_arena_get(&p->mem, wide)) ||
		    !(p->narrow[i] = wt_arena_get(&p->mem, narrow)))
			return -WT_E_NOMEM;
	}
	for (size_t i = 0; i < sizeof(p->table_wide) / sizeof(p->table_wide[0]); i++)
		if (!(p->table_wide[i] = wt_arena_get(&p->mem, wide)))
			return -WT_E_NOMEM;
	for (size_t i = 0; i < sizeof(p->table_narrow) / sizeof(p->table_narrow[0]); i++)
		if (!(p->table_narrow[i] = wt_arena_get(&p->mem, narrow)))
			return -WT_E_NOMEM;
	p->texts = wt_arena_get(&p->mem, WT_BATCH_ROWS * sizeof(char *));
	p->coll = wt_arena_get(&p->mem, WT_BATCH_ROWS * sizeof(*p->coll));
	p->packet = wt_arena_get(&p->mem, WT_PACKET_MAX);
	p->mark = wt_arena_get(&p->mem, WT_BATCH_ROWS * sizeof(*p->mark));
	p->nccl = wt_arena_get(&p->mem, WT_BATCH_ROWS * sizeof(*p->nccl));
	return p->texts && p->coll && p->mark && p->nccl && p->packet ? 0 : -WT_E_NOMEM;
}

int wt_pack_open(struct wt_pack *p, const char *path, uint64_t cap_bytes)
{
	size_t frame_bytes = wt_frame_writer_size(LEVEL);
	void *frame_mem;
	int r;

	memset(p, 0, sizeof(*p));
	p->sink.file.fd = -1;
	r = wt_arena_open(&p->mem, 32u << 20);
	if (r == 0)
		r = columns_open(p);
	if (r == 0)
		r = wt_tables_open(p);
	if (r)
		return r;
	if (getrandom(p->file_id, sizeof(p->file_id), GRND_NONBLOCK) != sizeof(p->file_id)) {
		uint64_t t[2] = {wt_tsc(), (uint64_t)wt_clock_mono_ns()};

		memcpy(p->file_id, t, sizeof(t)); /* early boot: two clocks tell files apart too */
	}
	r = wt_sink_open(&p->sink, path, cap_bytes);
	if (r)
		return r;
	frame_mem = wt_arena_get(&p->mem, frame_bytes);
	if (frame_mem)
		p->frame = wt_frame_writer_init(frame_mem, frame_bytes, LEVEL, p->file_id,
						wt_sink_write, &p->sink);
	if (!p->frame)
		return -WT_E_NOMEM;
	wt_ops_open(p);
	return 0;
}

static void broken(struct wt_pack *p)
{
	if (p->stopped != WT_PACK_BROKEN)
		wt_log("trace: cannot write: error %d after %llu bytes; counting goes on",
		       p->sink.sys_errno, (unsigned long long)p->sink.pos);
	p->stopped = WT_PACK_BROKEN;
}

/* Packs and hands over; the reserve counts as room with `tail`. */
static int give(struct wt_pack *p, int body, void *message, int tail)
{
	Warptap__V1__Packet packet = WARPTAP__V1__PACKET__INIT;
	uint64_t may_take;
	size_t n;

	packet.seq = p->seq + 1;
	packet.body_case = (Warptap__V1__Packet__BodyCase)body;
	packet.header = message; /* every member of the union is a pointer to its message */
	n = protobuf_c_message_get_packed_size(&packet.base);
	if (n > WT_PACKET_MAX - WT_PACKET_CHECK_BYTES) {
		p->lost_packets++;
		return -WT_E_LIMIT;
	}
	may_take = p->unflushed + n + SLACK(p->unflushed + n);
	if (!wt_sink_room(&p->sink, may_take, tail))
		return -WT_E_NOMEM;
	protobuf_c_message_pack(&packet.base, p->packet);
	if (wt_frame_writer_packet(p->frame, p->packet, n) != 0) {
		broken(p);
		return -WT_E_IO;
	}
	p->seq++;
	p->segment_raw += n;
	p->unflushed += n + WT_PACKET_CHECK_BYTES + 8;
	return 0;
}

/* No room for rows any more: says so out of the reserve, at once, since the job may be killed before its end. */
static void full(struct wt_pack *p)
{
	Warptap__V1__Loss m = WARPTAP__V1__LOSS__INIT;

	wt_log("trace: no room (error %d) after %llu bytes; counting goes on", p->sink.sys_errno,
	       (unsigned long long)p->sink.pos);
	p->stopped = WT_PACK_FULL;
	m.where = WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_DISK;
	if (give(p, WARPTAP__V1__PACKET__BODY_LOSS, &m, 1) == 0 &&
	    wt_frame_writer_flush(p->frame) != 0)
		broken(p);
	p->unflushed = 0;
}

int wt_pack_emit(struct wt_pack *p, int body, void *message, uint64_t rows)
{
	int r = p->stopped ? -WT_E_IO : give(p, body, message, 0);

	if (r == -WT_E_NOMEM)
		full(p);
	if (r)
		p->lost_rows += rows;
	return r;
}

int wt_pack_emit_last(struct wt_pack *p, int body, void *message)
{
	return p->stopped == WT_PACK_BROKEN ? -WT_E_IO : give(p, body, message, 1);
}

int wt_pack_flush(struct wt_pack *p)
{
	if (p->stopped)
		return -WT_E_IO;
	if (p->unflushed && wt_frame_writer_flush(p->frame) != 0) {
		broken(p);
		return -WT_E_IO;
	}
	p->unflushed = 0;
	return 0;
}

/*
 * Where another tool has given CUPTI a clock of its own, device times are on that: a second moment, seen by it too.
 * Its wall clocks are the first row's, moved by the ticks between the two.
 */
static int foreign_row(const struct wt_pack *p, const struct wt_clock_row *by,
		       struct wt_clock_row *ret, uint64_t *ret_device)
{
	uint64_t best = UINT64_MAX, ns;

	if (!wt_manners_clock_is_foreign())
		return 0;
	for (int i = 0; i < 4; i++) {
		uint64_t a = wt_tsc(), device = wt_cupti_timestamp(), b = wt_tsc();

		if (!device)
			return 0; /* not ours to ask */
		if (b - a >= best)
			continue;
		best = b - a;
		*ret_device = device;
		ret->tsc = a + best / 2;
	}
	ns = wt_clock_ticks_to_ns(&p->clock, ret->tsc - by->tsc);
	ret->monotonic_ns = by->monotonic_ns + ns;
	ret->realtime_ns = by->realtime_ns + ns;
	ret->error_ns = by->error_ns + (uint32_t)wt_clock_ticks_to_ns(&p->clock, best / 2) + 1;
	return 1;
}

void wt_pack_clock(struct wt_pack *p)
{
	Warptap__V1__Clocks m = WARPTAP__V1__CLOCKS__INIT;
	struct wt_clock_row row[2] = {0};
	uint64_t tsc[2], mono[2], real[2], device[2] = {0};
	uint32_t error[2];
	protobuf_c_boolean stepped[2] = {0};
	size_t n;

	wt_clock_sample(&p->clock, &row[0]);
	n = 1 + (size_t)foreign_row(p, &row[0], &row[1], &device[1]);
	for (size_t i = 0; i < n; i++) {
		tsc[i] = row[i].tsc;
		mono[i] = row[i].monotonic_ns;
		real[i] = row[i].realtime_ns;
		error[i] = row[i].error_ns;
		stepped[i] = row[i].stepped;
	}
	m.tsc = tsc;
	m.monotonic_ns = mono;
	m.realtime_ns = real;
	m.error_ns = error;
	m.n_tsc = m.n_monotonic_ns = m.n_realtime_ns = m.n_error_ns = n;
	m.stepped = stepped;
	m.n_stepped = row[0].stepped ? n : 0;
	m.device = device;
	m.n_device = n > 1 ? n : 0;
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_CLOCKS, &m, 0);
}

/* Opens a segment: process, clocks, hooks. What else rows need is said before them. */
static void segment_open(struct wt_pack *p, int64_t now_ns)
{
	p->segment_raw = 0;
	p->segment_ns = p->frame_ns = now_ns;
	wt_header_emit(p, 0);
	wt_pack_clock(p);
	wt_say_ops(p);
	wt_pack_say(p);
}

void wt_pack_birth(struct wt_pack *p)
{
	wt_header_emit(p, 1);
	wt_pack_clock(p);
	wt_pack_flush(p);
}

void wt_pack_begin(struct wt_pack *p)
{
	int64_t now_ns = wt_clock_mono_ns();

	if (p->stopped)
		return;
	if (!p->segment_ns && !p->seq) {
		segment_open(p, now_ns);
	} else if (!p->segment_ns || p->segment_raw >= SEGMENT_RAW ||
		   now_ns - p->segment_ns >= SEGMENT_NS) {
		if (wt_frame_writer_end(p->frame, 1) != 0)
			broken(p);
		p->segment++;
		segment_open(p, now_ns);
	} else if (now_ns - p->frame_ns >= FRAME_NS) {
		if (wt_frame_writer_end(p->frame, 0) != 0)
			broken(p);
		p->frame_ns = now_ns;
	}
}

void wt_pack_state(struct wt_pack *p, const struct wt_box_state *s, Warptap__V1__State *ret)
{
	ret->tsc = s->tsc;
	ret->level = s->level;
	ret->cupti = (Warptap__V1__CuptiState)s->cupti;
	ret->reason = (Warptap__V1__StateReason)s->reason;
	ret->kinds = s->kinds;
	ret->device_ns = s->device_ns;
	ret->window = s->window;
	ret->cost_ppm = s->cost_ppm;
	ret->steps = s->steps;
	ret->step_ticks = s->step_ticks;
	ret->clock = (Warptap__V1__DeviceClock)s->clock;
	if (!s->holder[0])
		return;
	ret->holder = wt_string_id(p, s->holder);
	wt_table_use(&p->strings, (uint32_t)ret->holder, p->segment);
	wt_pack_say(p);
}

void wt_pack_close(struct wt_pack *p, int how)
{
	Warptap__V1__End m = WARPTAP__V1__END__INIT;

	m.how = (Warptap__V1__EndHow)how;
	m.packets = p->seq + 1;
	if (wt_pack_emit_last(p, WARPTAP__V1__PACKET__BODY_END, &m) == 0 &&
	    wt_frame_writer_end(p->frame, 0) != 0)
		broken(p);
	wt_sink_close(&p->sink);
}
