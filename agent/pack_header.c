/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Header packet that opens each segment: process, host, rank, devices, settings, environment.
 *
 * Captured once, on the job's thread inside cuInit: the environment (walking `environ` beside another thread's setenv
 * is the hazard every getenv has; once is enough), and the devices, through the driver's own entry points. Versions of
 * libraries are asked at each segment, since NCCL usually comes later; only libraries that are loaded are asked, and
 * only on the writer thread: the job may be inside cudart, under its locks, when it calls cuInit.
 * The list of variables is closed (warptap-trace.5): a trace must be fit to be passed on.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/pack.h"
#include "agent/proc_text.h"
#include "agent/real_calls.h"
#include "agent/trouble.h"

#define AGENT_VERSION "0.1.0"
#define PAIRS_MAX     128
#define TEXT_BYTES    (64u << 10)
#define VALUE_MAX     2048
#define DEVICES_MAX   64

struct pair {
	const char *key, *value;
};
struct pairs {
	struct pair at[PAIRS_MAX];
	size_t n;
};

static struct {
	char text[TEXT_BYTES]; /* keys and values of both lists */
	size_t used;
	struct pairs settings, environment;
	size_t captured; /* environment rows that do not change: the variables */
	size_t captured_text;
	int32_t rank, world;
	char host[256], program[256];
	uint8_t boot_id[16];
	Warptap__V1__Device device[DEVICES_MAX];
	uint8_t uuid[DEVICES_MAX][2][16];
	char name[DEVICES_MAX][256];
	int devices; /* -1 = not asked yet */
} head = {.rank = -1, .devices = -1};

static const char *keep(const char *s)
{
	size_t n = strnlen(s, VALUE_MAX);
	char *at = head.text + head.used;

	if (n + 1 > TEXT_BYTES - head.used)
		return NULL;
	memcpy(at, s, n);
	at[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)at[i] >= 0x80) /* protobuf text is UTF-8; here ASCII is enough */
			at[i] = '?';
	head.used += n + 1;
	return at;
}

static void add(struct pairs *to, const char *key, const char *value)
{
	const char *k, *v;

	if (to->n == PAIRS_MAX || !(k = keep(key)) || !(v = keep(value)))
		return;
	to->at[to->n++] = (struct pair){k, v};
}

/* The variables that go into the trace; '*' ends a prefix. */
static const char *const allowed[] = {
	"NCCL_*",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_ALLOC_CONF",
	"TORCH_NCCL_*",
	"XLA_FLAGS",
	"VLLM_*",
	"RANK",
	"WORLD_SIZE",
	"LOCAL_RANK",
	"OMP_NUM_THREADS",
};

static int is_allowed(const char *name)
{
	if (strstr(name, "KEY") || strstr(name, "TOKEN") || strstr(name, "SECRET"))
		return 0;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		size_t n = strlen(allowed[i]);

		if (allowed[i][n - 1] == '*' ? strncmp(name, allowed[i], n - 1) == 0
					     : strcmp(name, allowed[i]) == 0)
			return 1;
	}
	return 0;
}

/* First of these variables that is a whole number. */
static int32_t number_of(const char *const *names, int32_t none)
{
	for (; *names; names++) {
		const char *s = secure_getenv(*names);
		char *end;
		long v;

		if (!s || !isdigit((unsigned char)*s))
			continue;
		v = strtol(s, &end, 10);
		if (*end == '\0' && v >= 0 && v <= 1 << 24)
			return (int32_t)v;
	}
	return none;
}

static void setting(void *arg, const char *name, const char *value)
{
	size_t n = strlen(name);

	if (!strcmp(name, "WARPTAP_REDACT_KEY"))
		return; /* whoever has it can try names out */
	if (wt_config.redact && (strchr(value, '/') || (n > 4 && !strcmp(name + n - 4, "_DIR"))))
		return;
	add(&head.settings, name, value);
}

void wt_header_capture(void)
{
	static const char *const ranks[] = {"RANK",	    "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					    "SLURM_PROCID", "LOCAL_RANK",	    NULL};
	static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "SLURM_NTASKS", NULL};

	wt_config_each(setting, NULL);
	for (char **e = environ; e && *e; e++) {
		char name[128];
		const char *eq = strchr(*e, '=');

		if (!eq || (size_t)(eq - *e) >= sizeof(name))
			continue;
		memcpy(name, *e, (size_t)(eq - *e));
		name[eq - *e] = '\0';
		if (is_allowed(name) && !wt_config.redact)
			add(&head.environment, name, eq + 1);
	}
	head.captured = head.environment.n;
	head.captured_text = head.used;
	head.rank = number_of(ranks, -1);
	head.world = number_of(worlds, 0);
}

int wt_header_rank(void)
{
	return head.rank;
}

static void read_process(void)
{
	char text[512];
	ssize_t n;

	if (gethostname(head.host, sizeof(head.host) - 1) != 0) {
		WT_TROUBLE(PROCESS, errno);
		head.host[0] = '\0';
	}
	if (wt_config.redact)
		head.host[0] = '\0';
	n = readlink("/proc/self/exe", text, sizeof(text) - 1);
	if (n <= 0) {
		WT_TROUBLE(PROCESS, errno);
	} else if (!wt_config.redact) {
		const char *base;

		text[n] = '\0';
		base = strrchr(text, '/');
		base = base ? base + 1 : text;
		memcpy(head.program, base, strnlen(base, sizeof(head.program) - 1));
	}
	for (char *s = head.program; *s; s++)
		if ((unsigned char)*s >= 0x80)
			*s = '?';
	if (wt_proc_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0)
		WT_TROUBLE(PROCESS, errno);
	for (size_t i = 0, digits = 0; text[i] && digits < 32; i++) {
		const char *hex = "0123456789abcdef", *at = strchr(hex, text[i]);

		if (!at)
			continue;
		head.boot_id[digits / 2] =
			(uint8_t)(head.boot_id[digits / 2] << 4 | (uint8_t)(at - hex));
		digits++;
	}
}

static void read_device(int i)
{
	CUresult (*get)(CUdevice *, int) = wt_real_cuda("cuDeviceGet");
	CUresult (*name)(char *, int, CUdevice) = wt_real_cuda("cuDeviceGetName");
	CUresult (*uuid)(CUuuid *, CUdevice) = wt_real_cuda("cuDeviceGetUuid");
	CUresult (*uuid2)(CUuuid *, CUdevice) = wt_real_cuda("cuDeviceGetUuid_v2");
	CUresult (*attr)(int *, CUdevice_attribute, CUdevice) =
		wt_real_cuda("cuDeviceGetAttribute");
	CUresult (*mem)(size_t *, CUdevice) = wt_real_cuda("cuDeviceTotalMem_v2");
	Warptap__V1__Device *d = &head.device[i];
	int major = 0, minor = 0, sms = 0;
	CUdevice dev = i;
	size_t bytes = 0;

	warptap__v1__device__init(d);
	d->id = (uint32_t)i;
	d->name = head.name[i];
	if (!get || !wt_answered(get(&dev, i)))
		return;
	if (name)
		wt_answered(name(head.name[i], sizeof(head.name[i]), dev));
	if (uuid && wt_answered(uuid((CUuuid *)head.uuid[i][0], dev)))
		d->uuid = (ProtobufCBinaryData){.len = 16, .data = head.uuid[i][0]};
	if (uuid2 && wt_answered(uuid2((CUuuid *)head.uuid[i][1], dev))) {
		ProtobufCBinaryData v2 = {.len = 16, .data = head.uuid[i][1]};

		/* The newer call names the MIG instance where there is one. */
		if (!d->uuid.len)
			d->uuid = v2;
		else if (memcmp(head.uuid[i][0], head.uuid[i][1], 16) != 0)
			d->mig_uuid = v2;
	}
	if (attr) {
		wt_answered(attr(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
		wt_answered(attr(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev));
		wt_answered(attr(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev));
	}
	d->sm_count = (uint32_t)sms;
	d->cc = (uint32_t)(10 * major + minor);
	if (mem && wt_answered(mem(&bytes, dev)))
		d->memory_bytes = bytes;
}

static void read_devices(void)
{
	CUresult (*count)(int *) = wt_real_cuda("cuDeviceGetCount");
	int n = 0;

	head.devices = 0;
	if (!count || !wt_answered(count(&n)) || n < 0)
		return;
	head.devices = n < DEVICES_MAX ? n : DEVICES_MAX;
	for (int i = 0; i < head.devices; i++)
		read_device(i);
}

/* A version that a loaded library tells by `int f(int *)`; libraries that are not loaded stay so. */
static void add_version(const char *key, const char *const *sonames, const char *symbol)
{
	for (; *sonames; sonames++) {
		void *lib = dlopen(*sonames, RTLD_LAZY | RTLD_NOLOAD);
		int (*ask)(int *);
		char text[32];
		int v = 0;

		if (!lib)
			continue;
		ask = (int (*)(int *))dlsym(lib, symbol);
		if (ask && ask(&v) == 0) {
			snprintf(text, sizeof(text), "%d", v);
			add(&head.environment, key, text);
		}
		dlclose(lib); /* only our count; the job holds its own */
		return;
	}
}

static void read_versions(void)
{
	static const char *const cudart[] = {"libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0", NULL};
	static const char *const nccl[] = {"libnccl.so.2", NULL};
	CUresult (*driver)(int *) = wt_real_cuda("cuDriverGetVersion");
	char text[32];
	int v = 0;

	head.environment.n = head.captured;
	head.used = head.captured_text;
	if (driver && wt_answered(driver(&v))) {
		snprintf(text, sizeof(text), "%d", v);
		add(&head.environment, "driver", text);
	}
	add_version("cuda_runtime", cudart, "cudaRuntimeGetVersion");
	add_version("nccl", nccl, "ncclGetVersion");
}

void wt_header_emit(struct wt_pack *p, int bare)
{
	static Warptap__V1__Header__SettingsEntry set[PAIRS_MAX], *sets[PAIRS_MAX];
	static Warptap__V1__Header__EnvironmentEntry env[PAIRS_MAX], *envs[PAIRS_MAX];
	static Warptap__V1__Device *devices[DEVICES_MAX];
	Warptap__V1__Header m = WARPTAP__V1__HEADER__INIT;

	if (head.devices < 0) {
		read_process();
		read_devices();
	}
	if (!bare)
		read_versions();
	for (size_t i = 0; i < head.settings.n; i++) {
		warptap__v1__header__settings_entry__init(&set[i]);
		set[i].key = (char *)(uintptr_t)head.settings.at[i].key;
		set[i].value = (char *)(uintptr_t)head.settings.at[i].value;
		sets[i] = &set[i];
	}
	for (size_t i = 0; i < head.environment.n; i++) {
		warptap__v1__header__environment_entry__init(&env[i]);
		env[i].key = (char *)(uintptr_t)head.environment.at[i].key;
		env[i].value = (char *)(uintptr_t)head.environment.at[i].value;
		envs[i] = &env[i];
	}
	for (int i = 0; i < head.devices; i++)
		devices[i] = &head.device[i];
	m.file_id = (ProtobufCBinaryData){.len = 16, .data = p->file_id};
	m.minor = 8;
	m.segment = p->segment;
	m.pid = (uint64_t)getpid();
	m.boot_id = (ProtobufCBinaryData){.len = 16, .data = head.boot_id};
	m.host = head.host;
	m.agent_version = (char *)(uintptr_t)AGENT_VERSION;
	m.rank = head.rank;
	m.world = head.world;
	m.tsc_hz = p->clock.tsc_hz;
	p->tick_shift = wt_tick_shift(p->clock.tsc_hz);
	m.n_devices = (size_t)head.devices;
	m.devices = devices;
	m.n_settings = head.settings.n;
	m.settings = sets;
	m.n_environment = head.environment.n;
	m.environment = envs;
	m.program = head.program;
	m.black_box = (char *)(uintptr_t)wt_box_kind();
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_HEADER, &m, 0);
}
