/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Kineto file says outside its events: devices, rank, versions. It may stand before or after them, so it is
 * collected first and applied at the end.
 */
#ifndef WT_KINETO_HEADER_H
#define WT_KINETO_HEADER_H

#include "import/json_scan.h"
#include "timeline/builder.h"

struct wt_kineto_device {
	int64_t id;
	uint32_t name; /* builder's string */
	uint32_t sm_count, cc;
	uint64_t memory_bytes;
};

struct wt_kineto_header {
	struct wt_builder *b;
	uint16_t process;
	int64_t rank, world; /* -1, 0 = not said */
	uint32_t host;	     /* builder's string */
	int64_t base_ns;     /* times are relative to it; 0 = they are not */
	struct wt_kineto_device *devices;
	size_t ndevices, devices_room;
	int recognised; /* a key that only such files have was there */
};

/* The value of a top-level key: reads what it knows, skips the rest. 0 or an error. */
int wt_kineto_header_key(struct wt_kineto_header *h, struct wt_json *js, struct wt_json_text key);
/* Gives rank, host and properties to the input, the process and its devices. */
void wt_kineto_header_apply(const struct wt_kineto_header *h, uint32_t input,
			    const uint16_t *devices, size_t n);
void wt_kineto_header_release(struct wt_kineto_header *h);

/* Where `rank` stands in "[0, 4, 8]"; UINT32_MAX if it does not. */
uint32_t wt_kineto_rank_in(const char *list, int64_t rank);

#endif
