/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warptap devices: the device table (bounds/parts.h), whole or for names as drivers give them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/parts.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "report/json_out.h"

static const char usage_text[] =
	"usage: warptap devices [NAME...] [--memory BYTES] [--json]\n"
	"\n"
	"Prints what devices can do at most, and where each number was read. NAME is a device as "
	"its\n"
	"driver calls it (\"NVIDIA H100 80GB HBM3\"); without one, all are listed. See man\n"
	"warptap-devices.\n"
	"\n"
	"  --memory BYTES   decides between parts of one name\n"
	"  --json           as JSON (schema warptap.devices/1)\n";

/* 989.4, 2450, 0.5: as many digits as the number has. */
static void add_number(struct wt_strbuf *out, double v)
{
	wt_strbuf_addf(out, "%.12g", v);
}

static void print_brief(struct wt_strbuf *out, const struct wt_device_part *p)
{
	static const enum wt_part_cell shown[] = {
		WT_PART_UNITS,	WT_PART_FP32_TF, WT_PART_TF32_TF, WT_PART_BF16_TF, WT_PART_FP16_TF,
		WT_PART_FP8_TF, WT_PART_FP4_TF,	 WT_PART_MEM_GBS, WT_PART_L2_MIB,
	};
	const char *comma = ": ";

	wt_strbuf_addf(out, "%s", p->name);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		enum wt_part_cell c = shown[i];

		if (p->cells[c].status == WT_CELL_NONE)
			continue;
		wt_strbuf_addf(out, "%s%s ", comma, wt_cell_names[c]);
		add_number(out, p->cells[c].value);
		if (p->cells[c].status == WT_CELL_RECALLED)
			wt_strbuf_adds(out, " (unverified)");
		comma = ", ";
	}
	wt_strbuf_addc(out, '\n');
}

static void print_full(struct wt_strbuf *out, const struct wt_device_part *p)
{
	wt_strbuf_addf(out, "%s", p->name);
	if (*p->chip)
		wt_strbuf_addf(out, " (%s %s)", p->vendor, p->chip);
	wt_strbuf_addc(out, '\n');
	for (int c = 0; c < WT_PART_CELLS; c++) {
		if (p->cells[c].status == WT_CELL_NONE)
			continue;
		wt_strbuf_addf(out, "  %-21s", wt_cell_names[c]);
		add_number(out, p->cells[c].value);
		wt_strbuf_addf(out, "%s%s  %s", *wt_cell_units[c] ? " " : "", wt_cell_units[c],
			       wt_cell_meanings[c]);
		if (p->cells[c].status == WT_CELL_RECALLED)
			wt_strbuf_adds(out, " [unverified]");
		else if (p->cells[c].status != WT_CELL_NOMINAL)
			wt_strbuf_addf(out, " [%s, %s]", wt_cell_status_names[p->cells[c].status],
				       p->cells[c].source);
		if (*p->cells[c].remark)
			wt_strbuf_addf(out, " %s", p->cells[c].remark);
		wt_strbuf_addc(out, '\n');
	}
	if (*p->between)
		wt_strbuf_addf(out, "  peaks lie between those of %s\n", p->between);
	if (*p->note)
		wt_strbuf_addf(out, "  note: %s\n", p->note);
}

static void print_json(struct wt_jout *j, const struct wt_device_part *p)
{
	wt_jout_open(j, NULL, '{');
	wt_jout_string(j, "device", p->name);
	wt_jout_string(j, "name_regex", p->pattern);
	wt_jout_string(j, "also_regex", *p->also ? p->also : NULL);
	wt_jout_string(j, "peaks_between", *p->between ? p->between : NULL);
	wt_jout_string(j, "vendor", p->vendor);
	wt_jout_string(j, "chip", *p->chip ? p->chip : NULL);
	wt_jout_string(j, "cc", *p->cc ? p->cc : NULL);
	wt_jout_string(j, "mem_type", *p->mem_type ? p->mem_type : NULL);
	wt_jout_string(j, "pcie", *p->pcie ? p->pcie : NULL);
	wt_jout_string(j, "note", *p->note ? p->note : NULL);
	wt_jout_open(j, "cells", '{');
	for (int c = 0; c < WT_PART_CELLS; c++) {
		if (p->cells[c].status == WT_CELL_NONE)
			continue;
		wt_jout_open(j, wt_cell_names[c], '{');
		wt_jout_double(j, "value", p->cells[c].value);
		wt_jout_string(j, "unit", wt_cell_units[c]);
		wt_jout_string(j, "status", wt_cell_status_names[p->cells[c].status]);
		wt_jout_string(j, "source", *p->cells[c].source ? p->cells[c].source : NULL);
		wt_jout_string(j, "remark", *p->cells[c].remark ? p->cells[c].remark : NULL);
		wt_jout_bool(j, "unverified", p->cells[c].status == WT_CELL_RECALLED);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, '}');
	wt_jout_close(j, '}');
}

struct options {
	int json, nnames;
	uint64_t memory;
	char **names;
};

static int parse(int argc, char **argv, struct options *ret)
{
	ret->names = argv;
	for (int i = 1; i < argc; i++) {
		char *end = NULL;

		if (argv[i][0] != '-') {
			ret->names[ret->nnames++] = argv[i];
		} else if (!strcmp(argv[i], "--json")) {
			ret->json = 1;
		} else if (!strcmp(argv[i], "--memory") && i + 1 < argc) {
			ret->memory = strtoull(argv[++i], &end, 10);
			if (*end || end == argv[i]) {
				wt_say_line(stderr,
					    "warptap devices: --memory: '%s' is no number of bytes",
					    argv[i]);
				return WT_EXIT_USAGE;
			}
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(usage_text, stdout);
			return -1;
		} else {
			wt_say_line(stderr, "warptap devices: unknown option '%s'", argv[i]);
			return WT_EXIT_USAGE;
		}
	}
	return 0;
}

static void add_sources(struct wt_jout *j)
{
	wt_jout_open(j, "sources", '{');
	for (int i = 0; i < wt_npart_sources; i++)
		wt_jout_string(j, wt_part_sources[i].code, wt_part_sources[i].where);
	wt_jout_close(j, '}');
}

/* Names that no part has are said on stderr; the others are printed all the same. */
static int add_named(const struct options *opt, struct wt_strbuf *out, struct wt_jout *j)
{
	int rc = WT_EXIT_OK;

	for (int i = 0; i < opt->nnames; i++) {
		struct wt_part_match m;

		if (!wt_parts_find(opt->names[i], opt->memory, &m)) {
			wt_say_line(stderr,
				    "warptap devices: no device of the table is called '%s'",
				    opt->names[i]);
			rc = WT_EXIT_FAILED;
		}
		if (m.n > 1 && !opt->json)
			wt_strbuf_addf(out, "'%s' is the name of %d parts%s:\n", opt->names[i], m.n,
				       opt->memory ? "" : "; --memory decides between them");
		for (int k = 0; k < m.n; k++) {
			if (opt->json)
				print_json(j, m.part[k]);
			else
				print_full(out, m.part[k]);
		}
	}
	return rc;
}

int wt_cmd_devices(int argc, char **argv)
{
	struct options opt = {.nnames = 0};
	struct wt_strbuf out = {.n = 0};
	struct wt_jout j = {.out = &out, .fresh = 1};
	int rc = parse(argc, argv, &opt);

	if (rc)
		return rc < 0 ? WT_EXIT_OK : rc;
	if (opt.json) {
		wt_jout_open(&j, NULL, '{');
		wt_jout_string(&j, "schema", "warptap.devices/1");
		wt_jout_open(&j, "devices", '[');
	}
	if (opt.nnames)
		rc = add_named(&opt, &out, &j);
	for (int i = 0; !opt.nnames && i < wt_nparts; i++) {
		if (opt.json)
			print_json(&j, &wt_parts[i]);
		else
			print_brief(&out, &wt_parts[i]);
	}
	if (opt.json) {
		wt_jout_close(&j, ']');
		add_sources(&j);
		wt_jout_close(&j, '}');
		wt_strbuf_addc(&out, '\n');
	}
	if (out.failed) {
		fputs("warptap devices: out of memory\n", stderr);
		rc = WT_EXIT_FAILED;
	} else {
		fwrite(wt_strbuf_text(&out), 1, out.n, stdout);
	}
	wt_strbuf_release(&out);
	return rc;
}
