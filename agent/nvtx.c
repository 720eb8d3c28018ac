// SPDX-License-Identifier: Apache-2.0
/*
 * Ranges of unmodified jobs: NVTX, the annotations that frameworks and engines already have in them. Each library that
 * uses NVTX looks, at its first call, for the library that NVTX_INJECTION64_PATH names and calls its
 * InitializeInjectionNvtx2. `warptap run` names this library there, unless another tool is named already or
 * WARPTAP_NVTX is 0; what is annotated then becomes marks (marks.c). Job threads; never fails a caller.
 *
 * The interface is NVTX 3's (nvtx3/nvtxDetail/nvtxTypes.h); what is used of it stands here, and a test builds against
 * the real header. Domains are not kept apart: a thread's ranges nest whatever their domain.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent.h"
#include "config.h"
#include "lifecycle.h"
#include "marks.h"

#define NVTX_ETID_CALLBACKS   1u
#define NVTX_MODULE_CORE      1
#define NVTX_MODULE_CORE2     5
#define NVTX_MESSAGE_ASCII    1
#define NVTX_MESSAGE_REGISTER 3
#define KIND_RANGE	      1u
#define NAMES_BYTES	      (1024u << 10) /* of registered strings; pages come as they fill */

struct nvtx_attributes { /* nvtxEventAttributes_v2 */
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};
typedef void (*nvtx_fn)(void);
struct nvtx_callbacks { /* NvtxExportTableCallbacks */
	size_t size;
	int (*get_table)(int module, nvtx_fn ***ret_table, unsigned int *ret_size);
};

static char names[NAMES_BYTES];
static _Atomic size_t names_used;
/* Beyond the ids that jobs choose themselves with wt_range_start(). */
static _Atomic uint64_t next_id = UINT64_C(1) << 48;

/* Wide text is not converted: such a range has no name. */
static const char *message_of(const struct nvtx_attributes *a)
{
	if (!a || a->size < sizeof(*a))
		return NULL;
	if (a->message_type == NVTX_MESSAGE_ASCII || a->message_type == NVTX_MESSAGE_REGISTER)
		return a->message;
	return NULL;
}

static int push_text(const char *text)
{
	warptap_mark(1, KIND_RANGE, 0, text);
	return 0;
}

static int push_wide(const void *text)
{
	return push_text(NULL);
}

static int push_event(const struct nvtx_attributes *a)
{
	return push_text(message_of(a));
}

static int pop(void)
{
	warptap_mark(2, 0, 0, NULL);
	return 0;
}

static uint64_t start_text(const char *text)
{
	uint64_t id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);

	warptap_mark(3, KIND_RANGE, (int64_t)id, text);
	return id;
}

static uint64_t start_wide(const void *text)
{
	return start_text(NULL);
}

static uint64_t start_event(const struct nvtx_attributes *a)
{
	return start_text(message_of(a));
}

static void end(uint64_t id)
{
	warptap_mark(4, KIND_RANGE, (int64_t)id, NULL);
}

static int push_in(const void *domain, const struct nvtx_attributes *a)
{
	return push_event(a);
}

static int pop_in(const void *domain)
{
	return pop();
}

static uint64_t start_in(const void *domain, const struct nvtx_attributes *a)
{
	return start_event(a);
}

static void end_in(const void *domain, uint64_t id)
{
	end(id);
}

/* A handle is the text itself, kept for ever; "" when there is no more room. */
static const void *register_text(const void *domain, const char *text)
{
	/* XLA's compiler names each of its passes over each program: thousands of names for one thing. */
	static const char pass[] = "XlaPass";
	size_t n = text ? strlen(text) + 1 : 1, at;

	if (text && !strncmp(text, pass, sizeof(pass) - 1))
		return pass;
	if (n > NAMES_BYTES)
		return "";
	at = atomic_fetch_add(&names_used, n);
	if (at > NAMES_BYTES - n) {
		atomic_store(&names_used, NAMES_BYTES);
		return "";
	}
	if (n > 1)
		memcpy(names + at, text, n);
	return names + at;
}

/*
 * A domain that is NULL is one without a tool. XLA asks: where its own has none, its annotations go to its own profiler
 * (jax.profiler) alone, else to NVTX alone. So it gets one only if somebody wants that.
 */
static const void *create(const char *name)
{
	return wt_config.xla && name && !strcmp(name, "TSL") ? register_text(NULL, name) : NULL;
}

struct row {
	uint8_t id; /* NvtxCallbackIdCore, NvtxCallbackIdCore2 */
	nvtx_fn fn;
};
#define FN(fn_) ((nvtx_fn)(void (*)(void))(fn_))
static const struct row core[] = {
	{4, FN(start_event)}, {5, FN(start_text)}, {6, FN(start_wide)}, {7, FN(end)},
	{8, FN(push_event)},  {9, FN(push_text)},  {10, FN(push_wide)}, {11, FN(pop)},
};
static const struct row core2[] = {
	{2, FN(start_in)}, {3, FN(end_in)},	    {4, FN(push_in)},
	{5, FN(pop_in)},   {10, FN(register_text)}, {12, FN(create)},
};

static void attach(const struct nvtx_callbacks *c, int module, const struct row *rows, size_t n)
{
	nvtx_fn **table = NULL;
	unsigned int size = 0;

	if (!c->get_table(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < n; i++)
		if (rows[i].id < size && table[rows[i].id])
			*table[rows[i].id] = rows[i].fn;
}

/* Called by each library's NVTX; 0: it does without. */
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id));
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id))
{
	const struct nvtx_callbacks *c;

	if (!get_export_table || !wt_agent_load() || !wt_config.nvtx)
		return 0;
	c = get_export_table(NVTX_ETID_CALLBACKS);
	if (!c || c->size < sizeof(*c) || !c->get_table)
		return 0;
	attach(c, NVTX_MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
	attach(c, NVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}
