/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's reader of CUPTI records on a buffer of some release (tests/cli/cupti-versions.sh):
 *   cupti_read RECORDS LIBRARY|- VERSION SIZE...    in words as cupti_layout's
 * Stepping is the library's own; with "-", by the sizes.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti_api.h"
#include "collectors/cupti_record.h"

#define U (unsigned long long)

static uint32_t version;
static size_t size[64], sizes;
static uint8_t *buffer;

static CUptiResult by_size(uint8_t *buf, size_t valid, CUpti_Activity **rec)
{
	size_t at = 0, i = 0;

	while (*rec && i < sizes && buf + at <= (uint8_t *)*rec)
		at += size[i++];
	if (at >= valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*rec = (CUpti_Activity *)(buf + at);
	return CUPTI_SUCCESS;
}

static CUptiResult get_version(uint32_t *ret)
{
	*ret = version;
	return CUPTI_SUCCESS;
}

static void tell(void *arg, const struct wt_dev_rec *r)
{
	switch (r->kind) {
	case WT_DEV_API:
		printf("api cbid %u runtime %d thread %x start %llu end %llu correlation %u\n",
		       r->u.api.cbid, r->u.api.runtime, r->u.api.thread_word, U r->start, U r->end,
		       r->correlation);
		break;
	case WT_DEV_KERNEL:
		printf("kernel name %llx start %llu end %llu device %u context %u stream %u grid "
		       "%u %u %u block %u %u %u smem %u %u local %u correlation %u node %llx "
		       "graph %u cluster %u %u %u regs %u launched %u\n",
		       U(uintptr_t) r->u.kernel.name, U r->start, U r->end, r->device, r->context,
		       r->stream, r->u.kernel.grid[0], r->u.kernel.grid[1], r->u.kernel.grid[2],
		       r->u.kernel.block[0], r->u.kernel.block[1], r->u.kernel.block[2],
		       r->u.kernel.static_smem, r->u.kernel.dyn_smem, r->u.kernel.local_bytes,
		       r->correlation, U r->graph_node, r->graph, r->u.kernel.cluster & 255,
		       r->u.kernel.cluster >> 8 & 255, r->u.kernel.cluster >> 16, r->u.kernel.regs,
		       (r->flags & WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_DEVICE_LAUNCHED) != 0);
		break;
	case WT_DEV_COPY:
		printf("copy kind %u bytes %llu start %llu end %llu device %u context %u stream %u "
		       "correlation %u node %llx graph %u from %u to %u peer %u\n",
		       r->u.copy.kind, U r->u.copy.bytes, U r->start, U r->end, r->device,
		       r->context, r->stream, r->correlation, U r->graph_node, r->graph,
		       r->u.copy.src_mem, r->u.copy.dst_mem, r->u.copy.peer_device);
		break;
	case WT_DEV_GRAPH:
		printf("graph %u start %llu end %llu device %u context %u stream %u correlation "
		       "%u\n",
		       r->graph, U r->start, U r->end, r->device, r->context, r->stream,
		       r->correlation);
		break;
	default:
		printf("overhead %u thread %x start %llu end %llu\n", r->u.overhead.kind,
		       r->u.overhead.thread_word, U r->start, U r->end);
	}
}

int main(int argc, char **argv)
{
	FILE *in = argc > 4 ? fopen(argv[1], "rb") : NULL;
	size_t valid = 0;
	uint64_t other;
	void *lib;

	if (!in)
		return 2;
	version = (uint32_t)strtoul(argv[3], NULL, 10);
	for (int i = 4; i < argc && sizes < 64; i++)
		valid += size[sizes++] = strtoul(argv[i], NULL, 10);
	/* To the byte: a sanitizer sees whoever reads on. */
	buffer = malloc(valid);
	if (!buffer || fread(buffer, 1, valid, in) != valid)
		return 2;
	fclose(in);
	wt_cupti.cuptiGetVersion = get_version;
	wt_cupti.cuptiActivityGetNextRecord = by_size;
	if (strcmp(argv[2], "-") != 0) {
		lib = dlopen(argv[2], RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		*(void **)&wt_cupti.cuptiActivityGetNextRecord =
			dlsym(lib, "cuptiActivityGetNextRecord");
	}
	other = wt_cupti_buffer(buffer, valid, tell, NULL);
	if (other)
		printf("%llu others\n", U other);
	free(buffer);
	return 0;
}
