/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One importer per format, one line in importers.def each. The format is found by content, never by name.
 */
#ifndef WT_IMPORTER_H
#define WT_IMPORTER_H

#include "base/source.h"
#include "timeline/builder.h"

struct wt_importer {
	const char *name;  /* as printed by `info` and in the report: "warptap", "kineto" */
	const char *human; /* "warptap trace", "Kineto / Chrome JSON" */
	/* 1 if the first bytes (decoded) are this format. */
	int (*probe)(const uint8_t *head, size_t n);
	/*
	 * Several files may be read at once, on as many threads: nothing static is written.
	 * Reads the whole source into the builder under `input`. 0; -WT_E_TRUNCATED or -WT_E_CORRUPT after delivering
	 * what was there (the input is marked damaged, exit code 3); -WT_E_FORMAT and others: nothing usable (exit 1).
	 */
	int (*read)(struct wt_source *src, struct wt_builder *b, uint32_t input,
		    struct wt_diag *diag);
};

/* The importer for these bytes, NULL if none. */
const struct wt_importer *wt_importer_find(const uint8_t *head, size_t n);
/* All known formats, comma separated, for error messages. */
const char *wt_importer_formats(void);
/*
 * What to read instead of a path, if anything: set by a program that can complete a killed job's trace. Answers a path,
 * and in *ret_fd a descriptor to close once that is open, or -1.
 */
extern const char *(*wt_import_instead)(const char *path, char name[32], int *ret_fd);
/* Opens, probes and reads one file; adds the input, sets its damage fields. Returns as read() does. */
int wt_import_file(const char *path, struct wt_builder *b, struct wt_diag *diag);

#endif
