/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap info: what a file is and holds. Any format: what the importer makes of it. A warptap trace also: its
 * packets by type, frames, segments, bytes per event, damage; with --packets each packet.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/source.h"
#include "cmd/aside.h"
#include "cmd/cmd.h"
#include "cmd/info_packet.h"
#include "cmd/say.h"
#include "import/importer.h"
#include "proto/frame.h"
#include "trace/convert.h"

#define WIDTH 160
#define TYPES 48 /* field numbers of Packet's bodies are below */

static const char usage_text[] =
	"usage: warptap info PATH... [--packets]\n"
	"\n"
	"What each file is and holds. See man warptap-info.\n"
	"\n"
	"  --packets    print every packet of a warptap trace\n"
	"  --any-ratio  read gzip that inflates to more than 200 times its "
	"size\n";

struct type_sum {
	char name[32];
	uint64_t packets, rows, bytes;
};

struct content {
	struct type_sum type[TYPES];
	uint64_t packets, raw_bytes, frames, segments, bad, seq_last, seq_lost;
	Warptap__V1__Packet *header, *end; /* the newest of each */
	struct wt_frame_damage damage;
	int rc;
	int64_t size;
};

static long read_source(void *arg, void *buf, size_t n)
{
	return wt_source_read(arg, buf, n);
}

static void keep(Warptap__V1__Packet **slot, Warptap__V1__Packet *p)
{
	if (*slot)
		warptap__v1__packet__free_unpacked(*slot, NULL);
	*slot = p;
}

static void take_packet(struct content *c, const uint8_t *bytes, size_t n, uint64_t offset,
			int print)
{
	Warptap__V1__Packet *p = warptap__v1__packet__unpack(NULL, n, bytes);
	const ProtobufCMessage *body;
	const char *name;
	struct type_sum *t;

	c->packets++;
	c->raw_bytes += n;
	if (!p) {
		c->bad++;
		if (print)
			wt_say(stdout, "@%" PRIu64 " not a Packet (%zu bytes)\n", offset, n);
		return;
	}
	if (p->seq > c->seq_last) {
		c->seq_lost += p->seq - c->seq_last - 1;
		c->seq_last = p->seq;
	}
	body = wt_info_body(p, &name);
	t = &c->type[p->body_case < TYPES ? p->body_case : 0];
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->packets++;
	t->rows += body ? wt_info_rows(body) : 0;
	t->bytes += n;
	if (print) {
		wt_say(stdout, "@%" PRIu64 " #%" PRIu64 " %s", offset, p->seq, name);
		if (body)
			wt_info_print(stdout, body, WIDTH);
		else
			wt_say(stdout, "\n");
	}
	if (p->body_case == WARPTAP__V1__PACKET__BODY_HEADER) {
		c->segments++;
		keep(&c->header, p);
	} else if (p->body_case == WARPTAP__V1__PACKET__BODY_END) {
		keep(&c->end, p);
	} else {
		warptap__v1__packet__free_unpacked(p, NULL);
	}
}

static int read_packets(const char *path, struct content *c, int print, struct wt_diag *diag)
{
	struct wt_frame_reader *r;
	struct wt_source *src;
	const uint8_t *bytes;
	uint64_t offset, last = UINT64_MAX;
	size_t n;
	char name[WT_ASIDE_NAME];
	int fd, rc = wt_source_open(&src, wt_aside(path, name, &fd), diag);

	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	rc = wt_frame_reader_open(&r, read_source, src, diag);
	if (rc) {
		wt_source_close(src);
		return rc;
	}
	while ((c->rc = wt_frame_reader_next(r, &bytes, &n, &offset)) == 1) {
		c->frames += offset != last;
		last = offset;
		take_packet(c, bytes, n, offset, print);
	}
	c->damage = *wt_frame_reader_damage(r);
	c->size = wt_source_disk_offset(src);
	wt_frame_reader_free(r);
	wt_source_close(src);
	return 0;
}

static void print_header(const struct content *c)
{
	const Warptap__V1__Header *h = c->header ? c->header->header : NULL;
	static const char prefix[] = "END_HOW_";
	const ProtobufCEnumValue *how;

	if (!h) {
		wt_say(stdout, "  job        not known: no header packet\n");
		return;
	}
	for (size_t i = 0; i < h->n_settings; i++) {
		if (strcmp(h->settings[i]->key, WT_CONVERTED_FROM))
			continue;
		wt_say(stdout, "  converted  from %s, format 1.%u; %s\n", h->settings[i]->value,
		       h->minor, c->end ? "whole" : "its end is missing");
		return;
	}
	wt_say(stdout, "  job        %s, pid %" PRIu64 " on %s",
	       h->program[0] ? h->program : "(no name)", h->pid,
	       h->host[0] ? h->host : "(no name)");
	if (h->rank >= 0)
		wt_say(stdout, ", rank %d of %d", h->rank, h->world);
	wt_say(stdout, "\n  recorder   warptap %s, format 1.%u\n", h->agent_version, h->minor);
	for (size_t i = 0; i < h->n_devices; i++)
		wt_say(stdout, "  device %-3u %s, %u SMs, compute capability %u.%u\n",
		       h->devices[i]->id, h->devices[i]->name, h->devices[i]->sm_count,
		       h->devices[i]->cc / 10, h->devices[i]->cc % 10);
	if (!c->end) {
		wt_say(stdout,
		       "  ended      no: the job was killed, replaced by exec, or still runs\n");
		return;
	}
	how = protobuf_c_enum_descriptor_get_value(&warptap__v1__end_how__descriptor,
						   (int)c->end->end->how);
	wt_say(stdout, "  ended      %s\n",
	       how && !strncmp(how->name, prefix, strlen(prefix)) ? how->name + strlen(prefix)
								  : "?");
}

static void print_content(const struct content *c)
{
	uint64_t device = c->type[WARPTAP__V1__PACKET__BODY_KERNELS].rows +
			  c->type[WARPTAP__V1__PACKET__BODY_COPIES].rows +
			  c->type[WARPTAP__V1__PACKET__BODY_GRAPH_RUNS].rows;

	print_header(c);
	wt_say(stdout,
	       "  size       %" PRId64 " bytes, %" PRIu64 " raw, %" PRIu64 " frames, %" PRIu64
	       " segments, %" PRIu64 " packets\n",
	       c->size, c->raw_bytes, c->frames, c->segments, c->packets);
	if (device)
		wt_say(stdout, "  bytes per device record, all in: %.2f\n",
		       (double)c->size / (double)device);
	wt_say(stdout, "\n  %-12s %10s %12s %12s %7s\n", "packets", "count", "rows", "raw bytes",
	       "share");
	for (size_t i = 0; i < TYPES; i++) {
		const struct type_sum *t = &c->type[i];

		if (t->packets)
			wt_say(stdout,
			       "  %-12s %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %6.1f%%\n",
			       t->name, t->packets, t->rows, t->bytes,
			       100.0 * (double)t->bytes / (double)c->raw_bytes);
	}
}

static void print_damage(const struct content *c)
{
	const struct wt_frame_damage *d = &c->damage;

	if (d->first_offset >= 0)
		wt_say(stdout, "\n  damage     at byte %" PRId64 ": %s\n", d->first_offset,
		       d->first_text);
	if (d->frames_lost || d->bytes_skipped)
		wt_say(stdout, "  lost       %" PRIu64 " frames, %" PRIu64 " bytes stepped over\n",
		       d->frames_lost, d->bytes_skipped);
	if (c->seq_lost || c->bad)
		wt_say(stdout,
		       "  lost       %" PRIu64 " packets missing by number, %" PRIu64
		       " malformed\n",
		       c->seq_lost, c->bad);
}

static void print_ops(const struct wt_timeline *tl)
{
	size_t n[4] = {0}, untimed = 0, graph = 0, unlaunched = 0;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];

		n[op->kind >= WT_OP_KERNEL && op->kind <= WT_OP_GRAPH ? op->kind - WT_OP_KERNEL
								      : 0]++;
		graph += (op->flags & WT_OP_GRAPH_NODE) != 0;
		unlaunched += op->call < 0;
		untimed += op->flags & WT_OP_UNTIMED;
		if (op->flags & WT_OP_UNTIMED)
			continue;
		first = op->start_ns < first ? op->start_ns : first;
		last = op->end_ns > last ? op->end_ns : last;
	}
	if (!tl->nops)
		return;
	wt_say(stdout,
	       "  operations %zu kernels, %zu copies, %zu memsets, %zu graph runs; %zu in graphs, "
	       "%zu without "
	       "a launch record, %zu without times\n",
	       n[0], n[1], n[2], n[3], graph, unlaunched, untimed);
	if (first < last)
		wt_say(stdout, "  device time %" PRId64 " to %" PRId64 " ns, %.3f s\n", first, last,
		       (double)(last - first) / 1e9);
}

static void print_processes(const struct wt_timeline *tl)
{
	for (size_t i = 0; i < tl->nprocesses; i++) {
		const struct wt_process *p = &tl->processes[i];

		if (p->rank < 0 && p->pid < 0)
			continue;
		wt_say(stdout, "  process    pid %" PRId64, p->pid);
		if (p->name) {
			wt_say(stdout, " ");
			wt_say_name(stdout, wt_timeline_string(tl, p->name));
		}
		if (p->rank >= 0 && p->world)
			wt_say(stdout, ", rank %d of %d", p->rank, p->world);
		else if (p->rank >= 0)
			wt_say(stdout, ", rank %d", p->rank);
		if (p->host) {
			wt_say(stdout, ", on ");
			wt_say_name(stdout, wt_timeline_string(tl, p->host));
		}
		wt_say(stdout, "\n");
	}
	for (size_t i = 0; i < tl->ndevices; i++) {
		const struct wt_device *d = &tl->devices[i];

		wt_say(stdout, "  device     %" PRId64 " ", d->ordinal);
		wt_say_name(stdout, d->name ? wt_timeline_string(tl, d->name) : "(no name)");
		if (d->sm_count)
			wt_say(stdout, ", %u SMs", d->sm_count);
		if (d->memory_bytes)
			wt_say(stdout, ", %.0f GiB", (double)d->memory_bytes / (1 << 30));
		wt_say(stdout, "\n");
	}
}

static void print_timeline(const struct wt_timeline *tl)
{
	size_t steps = 0;

	for (size_t i = 0; i < tl->nranges; i++)
		steps += tl->ranges[i].kind == WT_RANGE_STEP;
	wt_say(stdout,
	       "\n  timeline   %zu devices, %zu streams, %zu device operations, %zu host calls, "
	       "%zu collectives, %zu ranges (%zu steps)\n",
	       tl->ndevices, tl->nstreams, tl->nops, tl->ncalls, tl->ncollectives, tl->nranges,
	       steps);
	print_processes(tl);
	print_ops(tl);
	if (tl->nframes)
		wt_say(stdout, "  stacks     %zu frames of Python code\n", tl->nframes);
	if (tl->ncounters) {
		uint64_t samples = 0;

		for (size_t i = 0; i < tl->ncounters; i++)
			samples += tl->counters[i].samples;
		wt_say(stdout, "  counters   %zu, of %" PRIu64 " samples\n", tl->ncounters,
		       samples);
	}
	for (size_t i = 0; i < tl->ninputs; i++)
		if (tl->inputs[i].repairs || tl->inputs[i].lost_events)
			wt_say(stdout,
			       "  faults     %" PRIu64 " repaired, %" PRIu64 " events lost\n",
			       tl->inputs[i].repairs, tl->inputs[i].lost_events);
	for (size_t i = 0; i < tl->nnotes; i++)
		wt_say_line(stdout, "  note       %s", wt_timeline_string(tl, tl->notes[i]));
}

/* 0, or the exit code that says what went wrong. */
static int print_any(const char *path, int skip_timeline)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	int rc = b ? wt_import_file(path, b, &diag) : -WT_E_NOMEM;
	int damaged = rc == -WT_E_TRUNCATED || rc == -WT_E_CORRUPT;

	if (rc && !damaged) {
		wt_builder_free(b);
		fflush(stdout);
		wt_say_line(stderr, "warptap info: %s: %s", path,
			    diag.text[0] ? diag.text : wt_strerror(rc));
		return WT_EXIT_FAILED;
	}
	if (wt_builder_finish(b, &tl, &diag)) {
		wt_say_line(stderr, "warptap info: %s: %s", path, diag.text);
		return WT_EXIT_FAILED;
	}
	if (!skip_timeline)
		print_timeline(tl);
	if (damaged && !skip_timeline)
		wt_say_line(stdout, "  damaged    %s", diag.text);
	wt_timeline_free(tl);
	return damaged ? WT_EXIT_DAMAGED : WT_EXIT_OK;
}

static const struct wt_importer *identify(const char *path)
{
	const struct wt_importer *importer = NULL;
	struct wt_source *src;
	const uint8_t *head;
	size_t n;

	if (wt_source_open(&src, path, NULL))
		return NULL;
	head = wt_source_head(src, &n);
	importer = wt_importer_find(head, n);
	wt_source_close(src);
	return importer;
}

static int info(const char *path, int packets)
{
	const struct wt_importer *importer = identify(path);
	struct wt_diag diag = {.offset = -1};
	struct content *c;
	int rc = 0;

	if (!importer || strcmp(importer->name, "warptap")) {
		if (importer)
			wt_say_line(stdout, "%s: %s", path, importer->human);
		/* without an importer the import says what is wrong */
		return print_any(path, 0);
	}
	c = calloc(1, sizeof(*c));
	if (!c || read_packets(path, c, packets, &diag)) {
		wt_say_line(stderr, "warptap info: %s: %s", path, c ? diag.text : "out of memory");
		free(c);
		return WT_EXIT_FAILED;
	}
	if (!packets) {
		wt_say_line(stdout, "%s: %s", path, importer->human);
		print_content(c);
		print_damage(c);
	}
	rc = print_any(path, packets);
	keep(&c->header, NULL);
	keep(&c->end, NULL);
	free(c);
	return rc;
}

int wt_cmd_info(int argc, char **argv)
{
	int packets = 0, files = 0, worst = 0, only_paths = 0;

	for (int pass = 0; pass < 2; pass++) {
		only_paths = 0;
		for (int i = 1; i < argc; i++) {
			const char *a = argv[i];

			if (!only_paths && !strcmp(a, "--")) {
				only_paths = 1;
			} else if (!only_paths && (!strcmp(a, "--help") || !strcmp(a, "-h"))) {
				fputs(usage_text, stdout);
				return WT_EXIT_OK;
			} else if (!only_paths && !strcmp(a, "--packets")) {
				packets = 1;
			} else if (!only_paths && !strcmp(a, "--any-ratio")) {
				wt_source_any_ratio();
			} else if (!only_paths && a[0] == '-' && a[1]) {
				wt_say_line(stderr, "warptap info: unknown option '%s'", a);
				return WT_EXIT_USAGE;
			} else if (pass == 0) {
				files++;
			} else {
				int rc = info(a, packets);

				/* one file that could not be used outweighs one that was damaged */
				if (rc == WT_EXIT_FAILED || !worst)
					worst = rc;
			}
		}
	}
	if (!files) {
		fputs("warptap info: no PATH given\n", stderr);
		fputs(usage_text, stderr);
		return WT_EXIT_USAGE;
	}
	return worst;
}
