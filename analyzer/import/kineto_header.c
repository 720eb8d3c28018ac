/* SPDX-License-Identifier: Apache-2.0 */
/* See kineto_header.h. Values of an unexpected kind are skipped: a header may lack anything. */
#include "import/kineto_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/kineto_event.h"
#include "proto/wt_err.h"

#define MAX_DEVICES 1024u /* of one header; further ones are skipped */

static int is(struct wt_json_text key, const char *word)
{
	return key.n == strlen(word) && !memcmp(key.s, word, key.n);
}

static int read_device_key(struct wt_kineto_header *h, struct wt_kineto_device *d,
			   struct wt_json *js, struct wt_json_text key, uint32_t cc[2])
{
	struct wt_json_text t;
	uint64_t v = 0;
	int rc;

	if (is(key, "name")) {
		rc = wt_json_peek(js);
		if (rc != WT_JSON_STRING)
			return rc < 0 ? rc : wt_json_skip(js);
		rc = wt_json_string(js, &t);
		if (!rc)
			d->name = wt_builder_string(h->b, t.s, t.n);
		return rc;
	}
	if (is(key, "id")) {
		rc = wt_kineto_integer(js, &v);
		d->id = rc > 0 ? (int64_t)v : d->id;
	} else if (is(key, "totalGlobalMem")) {
		rc = wt_kineto_integer(js, &v);
		d->memory_bytes = v;
	} else if (is(key, "numSms") || is(key, "multiProcessorCount")) {
		rc = wt_kineto_integer(js, &v);
		d->sm_count = v <= UINT32_MAX ? (uint32_t)v : 0;
	} else if (is(key, "computeMajor") || is(key, "major")) {
		rc = wt_kineto_integer(js, &v);
		cc[0] = v < 1000 ? (uint32_t)v : 0;
	} else if (is(key, "computeMinor") || is(key, "minor")) {
		rc = wt_kineto_integer(js, &v);
		cc[1] = v < 10 ? (uint32_t)v : 0;
	} else {
		rc = wt_json_skip(js);
	}
	return rc < 0 ? rc : 0;
}

static int read_device(struct wt_kineto_header *h, struct wt_json *js)
{
	struct wt_kineto_device d = {.id = (int64_t)h->ndevices};
	uint32_t cc[2] = {0, 0};
	struct wt_json_text key;
	int rc = wt_json_peek(js);

	if (rc != WT_JSON_OBJECT)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_enter_object(js);
	if (rc)
		return rc;
	while ((rc = wt_json_key(js, &key)) > 0) {
		rc = read_device_key(h, &d, js, key, cc);
		if (rc < 0)
			return rc;
	}
	if (rc < 0 || h->ndevices >= MAX_DEVICES)
		return rc;
	d.cc = 10 * cc[0] + cc[1];
	if (h->ndevices == h->devices_room) {
		size_t room = h->devices_room ? h->devices_room * 2 : 8;
		struct wt_kineto_device *devices = realloc(h->devices, room * sizeof(*devices));

		if (!devices)
			return -WT_E_NOMEM;
		h->devices = devices;
		h->devices_room = room;
	}
	h->devices[h->ndevices++] = d;
	return 0;
}

static int read_devices(struct wt_kineto_header *h, struct wt_json *js)
{
	int rc = wt_json_peek(js);

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_enter_array(js);
	while (!rc && (rc = wt_json_item(js)) > 0)
		rc = read_device(h, js);
	return rc;
}

/* A version or the like: its text goes to the environment. */
static int read_environment(struct wt_kineto_header *h, struct wt_json *js, const char *key)
{
	int kind = wt_json_peek(js), rc;
	struct wt_json_text t;
	char value[128];

	if (kind != WT_JSON_STRING && kind != WT_JSON_NUMBER)
		return kind < 0 ? kind : wt_json_skip(js);
	rc = kind == WT_JSON_STRING ? wt_json_string(js, &t) : wt_json_number(js, &t);
	if (rc)
		return rc;
	t.n = t.n < sizeof(value) ? t.n : sizeof(value) - 1;
	memcpy(value, t.s, t.n);
	value[t.n] = '\0';
	wt_builder_environment(h->b, h->process, key, value);
	return 0;
}

static int read_distributed(struct wt_kineto_header *h, struct wt_json *js)
{
	struct wt_json_text key;
	uint64_t v;
	int rc = wt_json_peek(js);

	if (rc != WT_JSON_OBJECT)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_enter_object(js);
	if (rc)
		return rc;
	while ((rc = wt_json_key(js, &key)) > 0) {
		int is_rank = is(key, "rank");

		if (is_rank || is(key, "world_size")) {
			rc = wt_kineto_integer(js, &v);
			if (rc > 0 && v <= INT32_MAX)
				*(is_rank ? &h->rank : &h->world) = (int64_t)v;
		} else if (is(key, "nccl_version")) {
			rc = read_environment(h, js, "nccl_version");
		} else if (is(key, "backend")) {
			rc = read_environment(h, js, "distributed_backend");
		} else {
			rc = wt_json_skip(js);
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_host(struct wt_kineto_header *h, struct wt_json *js)
{
	struct wt_json_text t;
	int rc = wt_json_peek(js);

	if (rc != WT_JSON_STRING)
		return rc < 0 ? rc : wt_json_skip(js);
	rc = wt_json_string(js, &t);
	if (!rc)
		h->host = wt_builder_string(h->b, t.s, t.n);
	return rc;
}

/* All times of the file count from here. Also kept as text: it tells which release wrote the file. */
static int read_base(struct wt_kineto_header *h, struct wt_json *js)
{
	char text[32];
	uint64_t v;
	int rc = wt_kineto_integer(js, &v);

	if (rc > 0 && v <= INT64_MAX) {
		h->base_ns = (int64_t)v;
		snprintf(text, sizeof(text), "%lld", (long long)h->base_ns);
		wt_builder_environment(h->b, h->process, "baseTimeNanoseconds", text);
	}
	return rc < 0 ? rc : 0;
}

int wt_kineto_header_key(struct wt_kineto_header *h, struct wt_json *js, struct wt_json_text key)
{
	static const char *const environment[] = {
		"cuda_driver_version", "cuda_runtime_version", "cupti_version",
		"hip_driver_version",  "hip_runtime_version",  "roctracer_version",
	};

	for (size_t i = 0; i < sizeof(environment) / sizeof(*environment); i++)
		if (is(key, environment[i]))
			return read_environment(h, js, environment[i]);
	if (is(key, "deviceProperties") || is(key, "computeProperties")) {
		h->recognised = 1;
		return read_devices(h, js);
	}
	if (is(key, "distributedInfo")) {
		h->recognised = 1;
		return read_distributed(h, js);
	}
	if (is(key, "host_name"))
		return read_host(h, js);
	if (is(key, "baseTimeNanoseconds"))
		return read_base(h, js);
	if (is(key, "schemaVersion"))
		h->recognised = 1;
	return wt_json_skip(js);
}

/* The properties of a device: by its number, else any if all that are listed are alike (ROCm numbers differently). */
static const struct wt_kineto_device *properties(const struct wt_kineto_header *h, int64_t ordinal)
{
	for (size_t i = 0; i < h->ndevices; i++)
		if (h->devices[i].id == ordinal)
			return &h->devices[i];
	for (size_t i = 1; i < h->ndevices; i++)
		if (h->devices[i].name != h->devices[0].name ||
		    h->devices[i].sm_count != h->devices[0].sm_count)
			return NULL;
	return h->ndevices ? &h->devices[0] : NULL;
}

void wt_kineto_header_apply(const struct wt_kineto_header *h, uint32_t input,
			    const uint16_t *devices, size_t n)
{
	struct wt_process *p = wt_builder_process_at(h->b, h->process);

	p->rank = (int32_t)h->rank;
	p->world = (int32_t)h->world;
	p->host = h->host;
	wt_builder_input_at(h->b, input)->rank = (int32_t)h->rank;
	for (size_t i = 0; i < n; i++) {
		struct wt_device *d = wt_builder_device_at(h->b, devices[i]);
		const struct wt_kineto_device *from = properties(h, d->ordinal);

		d->rank = (int32_t)h->rank;
		if (!from)
			continue;
		d->name = from->name;
		d->sm_count = from->sm_count;
		d->cc = from->cc;
		d->memory_bytes = from->memory_bytes;
	}
}

void wt_kineto_header_release(struct wt_kineto_header *h)
{
	free(h->devices);
	h->devices = NULL;
	h->ndevices = h->devices_room = 0;
}

uint32_t wt_kineto_rank_in(const char *list, int64_t rank)
{
	uint32_t at = 0;

	if (rank < 0)
		return UINT32_MAX;
	while (*list) {
		int64_t v = 0;

		if (*list < '0' || *list > '9') {
			list++;
			continue;
		}
		for (; *list >= '0' && *list <= '9'; list++)
			v = v < INT32_MAX ? v * 10 + (*list - '0') : v;
		if (v == rank)
			return at;
		at++;
	}
	return UINT32_MAX;
}
