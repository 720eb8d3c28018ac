/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a path to a filled builder: open, find the format by the first bytes, read, say what was damaged. The table of
 * formats is importers.def.
 */
#include "import/importer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WT_IMPORTER(name_) extern const struct wt_importer wt_importer_##name_;
#include "import/importers.def"
#undef WT_IMPORTER

static const struct wt_importer *const importers[] = {
#define WT_IMPORTER(name_) &wt_importer_##name_,
#include "import/importers.def"
#undef WT_IMPORTER
};
#define COUNT(a_) (sizeof(a_) / sizeof(*(a_)))

const struct wt_importer *wt_importer_find(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < COUNT(importers); i++)
		if (importers[i]->probe(head, n))
			return importers[i];
	return NULL;
}

const char *wt_importer_formats(void)
{
	static char text[512];
	size_t n = 0;

	if (text[0])
		return text;
	for (size_t i = 0; i < COUNT(importers) && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
				      importers[i]->human);
	return text;
}

struct likeness {
	const char *magic, *name;
	size_t n;
	const char *instead; /* what to do; %s = the path. NULL: nothing can be said */
};

/* What the first bytes look like: for whoever gave us the wrong file. */
static const struct likeness *looks_like(const uint8_t *head, size_t n)
{
	static const struct likeness known[] = {
		{"NVIDIA Tegra Profiler Report", "an Nsight Systems report", 28,
		 "expected its export: `nsys export --type sqlite %s`"},
		{"\x28\xb5\x2f\xfd", "zstd data that is no trace of ours", 4,
		 "expected what is in it: `zstd -d %s`"},
		{"\x1f\x8b", "gzip data", 2, NULL},
		{"PK\x03\x04", "a zip archive", 4, "expected what is in it: `unzip %s`"},
		{"\xfd\x37zXZ", "xz data", 5, "expected what is in it: `xz -dk %s`"},
		{"BZh", "bzip2 data", 3, "expected what is in it: `bzip2 -dk %s`"},
		{"\xff\xfe", "UTF-16 text", 2,
		 "expected UTF-8: `iconv -f UTF-16 -t UTF-8 %s >OTHER`"},
		{"\xfe\xff", "UTF-16 text", 2,
		 "expected UTF-8: `iconv -f UTF-16 -t UTF-8 %s >OTHER`"},
		{"\x7f"
		 "ELF",
		 "a program or library", 4, NULL},
		{"version http", "a Git LFS pointer", 12,
		 "expected what `git lfs pull` fetches for %s"},
	};
	static const struct likeness tar = {"", "a tar archive", 0,
					    "expected what is in it: `tar -xf %s`"};
	static const struct likeness binary = {"", "binary data", 0, NULL},
				     text = {"", "text", 0, NULL};

	for (size_t i = 0; i < COUNT(known); i++)
		if (n >= known[i].n && !memcmp(head, known[i].magic, known[i].n))
			return &known[i];
	if (n > 262 && !memcmp(head + 257, "ustar", 5))
		return &tar;
	for (size_t i = 0; i < n && i < 4096; i++)
		if ((head[i] < ' ' && !strchr("\t\n\v\f\r\033", head[i])) || !head[i])
			return &binary;
	return &text;
}

static int refuse(struct wt_source *src, const uint8_t *head, size_t n, struct wt_diag *diag)
{
	const struct wt_diag *fault = wt_source_fault(src);
	const struct likeness *like = looks_like(head, n);
	char what[300] = "";

	if (n && like->instead) {
		snprintf(what, sizeof(what), like->instead, wt_source_path(src));
		return wt_fail(diag, WT_E_FORMAT, 0, "found %s, %s", like->name, what);
	}
	if (n)
		return wt_fail(diag, WT_E_FORMAT, 0, "not a trace: expected a %s, found %s",
			       wt_importer_formats(), like->name);
	if (fault->text[0])
		return wt_fail(diag, WT_E_FORMAT, fault->offset,
			       "nothing readable: %.200s; expected a %s", fault->text,
			       wt_importer_formats());
	return wt_fail(diag, WT_E_FORMAT, 0, "an empty file: expected a %s", wt_importer_formats());
}

static void set_path(struct wt_diag *diag, const char *path)
{
	strncpy(diag->path, path, sizeof(diag->path) - 1);
	diag->path[sizeof(diag->path) - 1] = '\0';
}

const char *(*wt_import_instead)(const char *path, char name[32], int *ret_fd);

static int open_source(struct wt_source **ret, const char *path, struct wt_diag *diag)
{
	const char *other = path;
	char name[32];
	int fd = -1, rc;

	if (wt_import_instead)
		other = wt_import_instead(path, name, &fd);
	rc = wt_source_open(ret, other, diag);
	if (fd >= 0)
		close(fd);
	return rc;
}

int wt_import_file(const char *path, struct wt_builder *b, struct wt_diag *diag)
{
	const struct wt_importer *importer;
	struct wt_diag own = {.offset = -1};
	struct wt_source *src;
	const uint8_t *head;
	uint32_t input;
	size_t n;
	int rc = open_source(&src, path, &own);

	if (rc)
		goto out;
	head = wt_source_head(src, &n);
	importer = wt_importer_find(head, n);
	if (!importer) {
		rc = refuse(src, head, n, &own);
		wt_source_close(src);
		goto out;
	}
	input = wt_builder_input(b, path, importer->name);
	rc = importer->read(src, b, input, &own);
	if (rc == -WT_E_TRUNCATED || rc == -WT_E_CORRUPT) {
		uint32_t text = wt_builder_cstring(b, own.text);
		struct wt_input *in = wt_builder_input_at(b, input);

		/* An importer that says nothing else has stopped there; one that went on has said what it lost. */
		if (!in->damaged && own.offset >= 0 && wt_source_size(src) > own.offset)
			in->lost_bytes = (uint64_t)(wt_source_size(src) - own.offset);
		in->damaged = 1;
		in->damage_offset = own.offset;
		in->damage_text = text;
	}
	if (wt_source_trailing_bytes(src) && (!rc || rc == -WT_E_TRUNCATED || rc == -WT_E_CORRUPT))
		wt_builder_note(b, "%s: %lld bytes behind the gzip data were ignored", path,
				(long long)wt_source_trailing_bytes(src));
	wt_source_close(src);
out:
	if (rc && diag) {
		set_path(&own, path);
		*diag = own;
	}
	return rc;
}
