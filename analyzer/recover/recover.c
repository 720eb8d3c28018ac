/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery, in order (recover.h):
 *
 *   the box is read; its delivered CUPTI buffers become a list of device records
 *   the trace is read: rows it has, device records of the list it has, ids it gave out
 *   the new trace: the old one up to its last frame, byte for byte; the packets of that frame, which may be torn; then
 *   one more segment with what only the box has, its losses, the last counts, End
 *
 * A buffer counts as lost that CUPTI had not handed back: what is in it may be half a record.
 */
#define _GNU_SOURCE
#include "recover/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "collectors/cupti_record.h"
#include "recover/resume.h"

#define KIND(k_)  WARPTAP__V1__COUNT_KIND__COUNT_KIND_##k_
#define STATE(s_) WARPTAP__V1__COUNT_STATE__COUNT_STATE_##s_

struct job {
	struct wt_box_image box;
	struct wt_scan scan;
	struct wt_pack pack;
	WT_VEC(struct wt_scan_device) devices;
	WT_VEC(const struct wt_chunk *) chunks;
	struct wt_recovered *ret;
	int no_memory;
};

/* ---- the box ---- */

static void take_record(void *arg, const struct wt_dev_rec *r)
{
	struct job *j = arg;
	struct wt_scan_device *d = wt_vec_add(&j->devices);

	if (!d) {
		j->no_memory = 1;
		return;
	}
	d->rec = *r;
	if (r->kind != WT_DEV_KERNEL || !r->u.kernel.name)
		return;
	d->rec.u.kernel.name = wt_box_image_at(&j->box, (uint64_t)r->u.kernel.name);
}

static void take_buffers(struct job *j)
{
	static const uint32_t delivered[] = {WT_BUFFER_READ, WT_BUFFER_DONE};
	uint32_t valid;
	uint8_t *buf;

	for (size_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < WT_IMAGE_BUFFERS(&j->box); i++)
			if ((buf = wt_box_image_buffer(&j->box, i, delivered[k], &valid)))
				wt_cupti_buffer(buf, valid, take_record, j);
	for (uint32_t i = 0; i < WT_IMAGE_BUFFERS(&j->box); i++)
		j->ret->open_buffers +=
			wt_box_image_buffer(&j->box, i, WT_BUFFER_LENT, &valid) != NULL;
	j->ret->unread_bytes = wt_stubs_unread();
}

static int by_row(const void *pa, const void *pb)
{
	const struct wt_chunk *a = *(const struct wt_chunk *const *)pa;
	const struct wt_chunk *b = *(const struct wt_chunk *const *)pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

static void take_chunks(struct job *j)
{
	for (uint32_t i = 0; i < WT_IMAGE_CHUNKS(&j->box); i++) {
		const struct wt_chunk *c = wt_box_image_chunk(&j->box, i), **to;

		if (!c)
			continue;
		to = wt_vec_add(&j->chunks);
		if (to)
			*to = c;
		else
			j->no_memory = 1;
	}
	if (j->chunks.n)
		qsort(j->chunks.p, j->chunks.n, sizeof(j->chunks.p[0]), by_row);
}

static int read_inputs(struct job *j, const char *ring, const char *trace, struct wt_diag *diag)
{
	static const Warptap__V1__Header none = WARPTAP__V1__HEADER__INIT;
	static const struct wt_clock_row epoch;
	int r = wt_box_image_open(&j->box, ring, diag);

	if (r)
		return r;
	j->ret->pid = j->box.head->pid;
	j->ret->lost_rows = j->box.head->lost_rows;
	wt_stubs_set(&none, &epoch, j->box.head);
	take_buffers(j);
	take_chunks(j);
	if (j->no_memory || wt_scan_index(&j->scan, j->devices.p, (uint32_t)j->devices.n))
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	r = wt_scan_read(&j->scan, trace, diag);
	if (r)
		return r;
	if (memcmp(j->scan.file_id, j->box.head->file_id, sizeof(j->scan.file_id)) != 0)
		return wt_fail(diag, WT_E_FORMAT, 0,
			       "%s is not the trace this black box belongs to", trace);
	if (!j->scan.end && j->scan.damaged)
		return wt_fail(diag, WT_E_CORRUPT, j->scan.damage_offset,
			       "%s is damaged before its end (%s): not changed", trace,
			       j->scan.damage_text);
	return 0;
}

/* ---- the old trace ---- */

static int copy_file(struct wt_sink *to, const char *path, uint64_t bytes, uint32_t *ret_frame,
		     int *ret_segment, struct wt_diag *diag)
{
	static uint8_t buf[1 << 20];
	uint8_t marker[WT_FRAME_MARKER_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	uint64_t at = 0;

	if (fd < 0)
		return wt_fail(diag, WT_E_IO, -1, "%s: %s", path, strerror(errno));
	while (!r && at < bytes) {
		size_t most = bytes - at < sizeof(buf) ? (size_t)(bytes - at) : sizeof(buf);
		ssize_t k = pread(fd, buf, most, (off_t)at);

		if (k <= 0)
			r = wt_fail(diag, WT_E_IO, (int64_t)at, "%s: %s", path,
				    k ? strerror(errno) : "became shorter");
		else if (wt_sink_write(to, buf, (size_t)k))
			r = wt_fail(diag, WT_E_IO, (int64_t)at, "cannot write: %s",
				    strerror(to->sys_errno));
		at += k > 0 ? (uint64_t)k : 0;
	}
	if (!r && pread(fd, marker, sizeof(marker), (off_t)bytes) != (ssize_t)sizeof(marker))
		r = wt_fail(diag, WT_E_IO, (int64_t)bytes, "%s: became shorter", path);
	close(fd);
	if (r)
		return r;
	memcpy(ret_frame, marker + 28, sizeof(*ret_frame));
	*ret_segment = marker[32] & 1;
	return 0;
}

static int put_packet(void *arg, const uint8_t *bytes, size_t n)
{
	struct wt_pack *p = arg;

	return wt_frame_writer_packet(p->frame, bytes, n);
}

/* Opens `out` and brings the pack to the end of the old trace. */
static int begin(struct job *j, const char *trace, const char *out, struct wt_diag *diag)
{
	struct wt_pack *p = &j->pack;
	size_t size = wt_frame_writer_size(1);
	uint32_t frame = 0;
	int segment = 0, r;

	r = wt_resume_registry(&j->box);
	if (!r)
		r = wt_pack_open(p, out, 0);
	if (r)
		return wt_fail(diag, r == -WT_E_NOMEM ? WT_E_NOMEM : WT_E_IO, -1,
			       "cannot write %s: %s", out,
			       p->sink.sys_errno ? strerror(p->sink.sys_errno) : "out of memory");
	if (wt_resume_pack(p, &j->box, &j->scan))
		return wt_fail(diag, WT_E_NOMEM, -1, "more names than a trace can have: damaged");
	r = copy_file(&p->sink, trace, j->scan.frame_offset, &frame, &segment, diag);
	if (r)
		return r;
	p->frame = wt_frame_writer_init(p->frame, size, 1, p->file_id, wt_sink_write, &p->sink);
	wt_frame_writer_resume(p->frame, frame, segment);
	r = wt_scan_last_frame(&j->scan, trace, put_packet, p, diag);
	return r ? wt_fail(diag, WT_E_IO, -1, "cannot write %s: %s", out,
			   strerror(p->sink.sys_errno))
		 : 0;
}

/* ---- what only the box has ---- */

static int has_state(const struct wt_scan *s, uint64_t tsc)
{
	for (size_t i = s->states.n; i; i--)
		if (s->states.p[i - 1] == tsc)
			return 1;
	return 0;
}

static int by_number(const void *pa, const void *pb)
{
	uint64_t a = ((const struct wt_box_state *)pa)->n, b = ((const struct wt_box_state *)pb)->n;

	return (a > b) - (a < b);
}

/* Changes of level, windows and decisions: noted, and not written yet. */
static void put_states(struct job *j)
{
	struct wt_box_state all[WT_BOX_STATES];

	memcpy(all, j->box.head->states, sizeof(all));
	qsort(all, WT_BOX_STATES, sizeof(all[0]), by_number);
	wt_pack_begin(&j->pack);
	for (size_t i = 0; i < WT_BOX_STATES; i++) {
		Warptap__V1__State m = WARPTAP__V1__STATE__INIT;

		all[i].holder[WT_BOX_HOLDER_MAX - 1] = '\0';
		if (!all[i].n || has_state(&j->scan, all[i].tsc))
			continue;
		wt_pack_state(&j->pack, &all[i], &m);
		wt_pack_emit(&j->pack, WARPTAP__V1__PACKET__BODY_STATE, &m, 0);
	}
}

static int is_said(const void *arg, uint64_t ring, uint64_t seq)
{
	uint32_t at;

	return wt_map_get(&((const struct job *)arg)->scan.said, wt_scan_call(ring, seq), &at);
}

/* Rows are said before what tells collectives, marks and NCCL's events among them: the job may have died between. */
static void put_details(struct job *j, const struct wt_chunk *c, uint64_t from, uint64_t to)
{
	for (uint64_t seq = from; seq < to; seq++) {
		uint32_t i = (uint32_t)(seq - c->first_seq);

		if (wt_pack_is_collective(&j->pack, &c->rec[i]) && !is_said(j, c->ring, seq))
			wt_pack_collective(&j->pack, c, i);
	}
	if (from < to)
		wt_pack_events(&j->pack, c, (uint32_t)(from - c->first_seq),
			       (uint32_t)(to - c->first_seq), is_said, j);
}

static void put_rows(struct job *j)
{
	struct wt_pack *p = &j->pack;
	uint64_t ring = 0, done = 0; /* rows of it below are in */

	for (uint32_t i = 0; i < j->box.rings; i++) {
		const struct wt_ring *r = wt_box_image_ring(&j->box, i);

		if (r && r->id)
			wt_thread_of(p, r->id, r->tid, r->pthread);
	}
	for (size_t i = 0; i < j->chunks.n; i++) {
		const struct wt_chunk *c = j->chunks.p[i];
		uint64_t end = c->first_seq + c->used, from = c->first_seq, to;

		if (c->ring != ring)
			done = 0;
		ring = c->ring;
		if (done > from)
			from = done;
		j->ret->present += from < end ? end - from : 0;
		for (uint64_t had = from; had < end; had = to) {
			int lacks = wt_scan_lacks(&j->scan, ring, &from, &to, end);

			put_details(j, c, had, lacks ? from : end);
			if (!lacks)
				break;
			wt_pack_calls(p, c, (uint32_t)(from - c->first_seq),
				      (uint32_t)(to - c->first_seq));
			j->ret->rows += to - from;
			j->ret->present -= to - from;
			wt_pack_flush(p);
			from = to;
		}
		if (end > done)
			done = end;
	}
	wt_pack_begin(p);
	wt_pack_collectives(p);
}

static void put_records(struct job *j)
{
	for (size_t i = 0; i < j->devices.n; i++) {
		const struct wt_scan_device *d = &j->devices.p[i];

		if (d->present)
			continue;
		wt_pack_begin(&j->pack);
		wt_pack_device(&j->pack, &d->rec);
		j->ret->records++;
		j->ret->unnamed += d->rec.kind == WT_DEV_KERNEL && !d->rec.u.kernel.name;
	}
	wt_pack_device_end(&j->pack);
}

static void put_loss(struct wt_pack *p, int where, uint64_t n)
{
	Warptap__V1__Loss m = WARPTAP__V1__LOSS__INIT;

	if (!n)
		return;
	m.where = (Warptap__V1__LossWhere)where;
	m.n = n;
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_LOSS, &m, 0);
}

/* ---- the last counts ---- */

#define ROWS_MAX (WT_COUNT_CONTEXTS * WT_COUNT_SLOTS * WT_COUNT_STATES + 4096)
static struct {
	uint32_t context[ROWS_MAX], kind[ROWS_MAX], state[ROWS_MAX];
	uint64_t n[ROWS_MAX];
	size_t used;
} rows;

static void add_count(uint32_t context, uint32_t kind, uint32_t state, uint64_t n)
{
	if (!n)
		return;
	for (size_t i = 0; i < rows.used; i++) {
		if (rows.context[i] != context || rows.kind[i] != kind || rows.state[i] != state)
			continue;
		rows.n[i] += n;
		return;
	}
	if (rows.used == ROWS_MAX)
		return;
	rows.context[rows.used] = context;
	rows.kind[rows.used] = kind;
	rows.state[rows.used] = state;
	rows.n[rows.used++] = n;
}

/* What the rings count themselves: their sums replace what the trace said last. */
static int is_of_rings(uint32_t kind, uint32_t state)
{
	return state == STATE(DONE) || state == STATE(CAPTURED) || state == STATE(FAILED) ||
	       state == STATE(SOFT) || state == STATE(UNROWED) ||
	       (state == STATE(DROPPED_AGENT) && kind == KIND(NONE));
}

static void sum_rings(struct job *j)
{
	static const uint32_t states[WT_COUNT_STATES] = {
		STATE(DONE), STATE(CAPTURED), STATE(FAILED), STATE(SOFT), STATE(UNROWED)};
	/* The last slot stands for one context only while no more than that many were made. */
	int many = wt_reg_count(WT_REG_CONTEXT) >= WT_COUNT_CONTEXTS;
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < j->box.rings; i++) {
		const struct wt_ring *r = wt_box_image_ring(&j->box, i);

		if (!r)
			continue;
		dropped += r->dropped;
		for (uint32_t c = 0; c < WT_COUNT_CONTEXTS; c++)
			for (uint32_t k = 0; k < WT_COUNT_SLOTS; k++)
				for (uint32_t s = 0; s < WT_COUNT_STATES; s++)
					add_count(many && c == WT_COUNT_CONTEXTS - 1 ? 0 : c, k,
						  states[s], r->counts[c][k][s]);
	}
	add_count(0, KIND(NONE), STATE(DROPPED_AGENT), dropped);
	if (dropped > j->scan.said_dropped)
		put_loss(&j->pack, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_POOL_EMPTY,
			 dropped - j->scan.said_dropped);
}

static void put_counts(struct job *j)
{
	const Warptap__V1__Counts *old = j->scan.counts ? j->scan.counts->counts : NULL;
	Warptap__V1__Counts m = WARPTAP__V1__COUNTS__INIT;
	const struct wt_pack *p = &j->pack;
	uint64_t(*since)[2] = j->scan.since;

	rows.used = 0;
	for (size_t i = 0; old && i < old->n_n; i++) {
		uint32_t context = i < old->n_context ? old->context[i] : 0;
		uint32_t kind = i < old->n_kind ? old->kind[i] : 0;
		uint32_t state = i < old->n_state ? old->state[i] : 0;

		if (!is_of_rings(kind, state))
			add_count(context, kind, state, old->n[i]);
	}
	sum_rings(j);
	add_count(0, KIND(KERNEL_RECORD), STATE(RECEIVED), since[WT_SCAN_KERNEL][0] + p->kernels);
	add_count(0, KIND(KERNEL_RECORD), STATE(UNTIMED),
		  since[WT_SCAN_KERNEL][1] + p->kernels_untimed);
	add_count(0, KIND(API_RECORD), STATE(RECEIVED), since[WT_SCAN_API][0] + p->apis);
	add_count(0, KIND(COPY), STATE(RECEIVED), since[WT_SCAN_COPY][0] + p->copies);
	add_count(0, KIND(COPY), STATE(UNTIMED), since[WT_SCAN_COPY][1] + p->copies_untimed);
	add_count(0, KIND(MEMSET), STATE(RECEIVED), since[WT_SCAN_MEMSET][0] + p->memsets);
	add_count(0, KIND(MEMSET), STATE(UNTIMED), since[WT_SCAN_MEMSET][1] + p->memsets_untimed);
	add_count(0, KIND(GRAPH_LAUNCH), STATE(RECEIVED), since[WT_SCAN_GRAPH][0] + p->graphs);
	m.tsc = old && old->n_n ? j->scan.counts->counts->tsc : j->scan.clock.tsc;
	m.context = rows.context;
	m.kind = rows.kind;
	m.state = rows.state;
	m.n = rows.n;
	m.n_context = m.n_kind = m.n_state = m.n_n = rows.used;
	wt_pack_emit(&j->pack, WARPTAP__V1__PACKET__BODY_COUNTS, &m, 0);
}

/* ---- all of it ---- */

static int finish(struct job *j, const char *out, struct wt_diag *diag)
{
	struct wt_pack *p = &j->pack;
	int fd, failed;

	put_states(j);
	put_rows(j);
	put_records(j);
	put_loss(p, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_OPEN_BUFFER, j->ret->open_buffers);
	put_loss(p, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_DISK, j->ret->lost_rows);
	put_counts(j);
	if (wt_pack_flush(p) || p->lost_rows || p->lost_packets)
		return wt_fail(diag, WT_E_IO, -1, "cannot write %s: %s", out,
			       strerror(p->sink.sys_errno));
	wt_pack_close(p, WARPTAP__V1__END_HOW__END_HOW_RECOVERED);
	fd = open(out, O_RDONLY | O_CLOEXEC);
	failed = p->stopped || fd < 0 || fsync(fd);
	if (fd >= 0)
		close(fd);
	return failed ? wt_fail(diag, WT_E_IO, -1, "cannot write %s: %s", out,
				strerror(p->sink.sys_errno ? p->sink.sys_errno : errno))
		      : 0;
}

int wt_recover(const char *ring, const char *trace, const char *out, struct wt_recovered *ret,
	       struct wt_diag *diag)
{
	struct job *j = calloc(1, sizeof(*j));
	struct wt_recovered none;
	int r, created = 0;

	if (!j)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	j->ret = ret ? ret : &none;
	memset(j->ret, 0, sizeof(*j->ret));
	j->pack.sink.file.fd = -1;
	r = read_inputs(j, ring, trace, diag);
	if (!r && j->scan.end) {
		j->ret->already = 1;
		goto out;
	}
	if (!r) {
		r = begin(j, trace, out, diag);
		created = j->pack.sink.file.fd >= 0;
	}
	if (!r)
		r = finish(j, out, diag);
	wt_sink_close(&j->pack.sink);
	if (r && created)
		unlink(out);
	wt_resume_release(&j->pack);
out:
	wt_scan_release(&j->scan);
	wt_box_image_close(&j->box);
	free(j->devices.p);
	free(j->chunks.p);
	free(j);
	return r;
}

/* ---- which trace ---- */

int wt_recover_trace_of(const char *ring, char *ret, uint64_t bytes, struct wt_diag *diag)
{
	size_t n = strlen(ring);
	char named[WT_BOX_TRACE_MAX];
	int fd;

	if (n < 5 || strcmp(ring + n - 5, ".ring") != 0 || n >= bytes)
		return wt_fail(diag, WT_E_USAGE, -1,
			       "not the name of a black box: expected *.ring");
	snprintf(ret, bytes, "%.*s.wt", (int)(n - 5), ring);
	if (!access(ret, F_OK))
		return 0;
	fd = open(ring, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && pread(fd, named, sizeof(named), offsetof(struct wt_box_head, trace)) ==
			       (ssize_t)sizeof(named)) {
		close(fd);
		named[sizeof(named) - 1] = '\0';
		if (named[0] && strlen(named) < bytes && !access(named, F_OK)) {
			memcpy(ret, named, strlen(named) + 1);
			return 0;
		}
	} else if (fd >= 0) {
		close(fd);
	}
	return wt_fail(diag, WT_E_NOENT, -1, "no trace to complete: expected %s", ret);
}

int wt_recover_is_held(const char *ring)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(ring, O_RDONLY | O_CLOEXEC | O_NONBLOCK), held;

	if (fd < 0)
		return 0;
	held = !fcntl(fd, F_GETLK, &l) && l.l_type != F_UNLCK;
	close(fd);
	return held;
}
