// SPDX-License-Identifier: Apache-2.0
/*
 * Where the real functions are. Our own dlsym is in the way of everybody's, ours included, so libc's is dug out of
 * its symbol table by hand (no dl* call can be trusted before that), and the next one in line asked of it: two tools
 * that each jump straight to libc would cut each other off.
 *
 * libcuda is looked up by soname with RTLD_NOLOAD: its own handle sees its own symbols, while the global scope may
 * hold another library's trampolines of the same names. NCCL and cuBLAS can lie anywhere: next in the global scope,
 * else in the loaded object that has it.
 *
 * wt_real_init() may run before anything else in the process, libraries that replace libc's functions included: it
 * calls none of those.
 */
#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "hook_table.h"
#include "proto/wt_err.h"

void *(*wt_next_dlsym)(void *handle, const char *name);
void *(*wt_next_dlvsym)(void *handle, const char *name, const char *version);

/* ---- libc's dlsym, by hand ---- */

struct elf_view {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const char *soname;
	ElfW(Addr) base;
};

static int elf_view(struct elf_view *v, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;
	ElfW(Addr) soname = 0;

	*v = (struct elf_view){.base = info->dlpi_addr};
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			v->symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			v->strings = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			v->gnu_hash = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_val;
	}
	/* The vdso keeps unrelocated addresses here, and is not what we look for. */
	if (!v->symbols || !v->strings || !v->gnu_hash || !soname ||
	    (ElfW(Addr))v->strings < info->dlpi_addr)
		return 0;
	v->soname = v->strings + soname;
	return 1;
}

static void *elf_find(const struct elf_view *v, const char *name)
{
	uint32_t buckets = v->gnu_hash[0], first = v->gnu_hash[1], bloom = v->gnu_hash[2];
	const uint32_t *bucket = v->gnu_hash + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t h = 5381, i;

	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	i = buckets ? bucket[h % buckets] : 0;
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t c = chain[i - first];

		if ((c | 1) == (h | 1) && v->symbols[i].st_shndx != SHN_UNDEF &&
		    wt_same(v->strings + v->symbols[i].st_name, name))
			return (void *)(v->base + v->symbols[i].st_value);
		if (c & 1)
			return NULL;
	}
}

struct libc_dl {
	void *(*dlsym)(void *, const char *);
	void *(*dlvsym)(void *, const char *, const char *);
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libc_dl *found = arg;
	struct elf_view v;

	if (!elf_view(&v, info))
		return 0;
	/* Since glibc 2.34 in libc itself, before that in libdl; musl has them under this name too. */
	if (!wt_begins(v.soname, "libc.") && !wt_begins(v.soname, "libdl."))
		return 0;
	if (!found->dlsym)
		found->dlsym = elf_find(&v, "dlsym");
	if (!found->dlvsym)
		found->dlvsym = elf_find(&v, "dlvsym");
	return found->dlsym && found->dlvsym;
}

int wt_real_init(void)
{
	struct libc_dl libc = {NULL, NULL};
	void *next, *vnext;

	if (__atomic_load_n(&wt_next_dlsym, __ATOMIC_ACQUIRE))
		return 0;
	dl_iterate_phdr(find_libc, &libc);
	if (!libc.dlsym || !libc.dlvsym)
		return -WT_E_NOENT;
	/* Called from here, RTLD_NEXT is "after us": whoever interposes behind us stays in the chain. */
	next = libc.dlsym(RTLD_NEXT, "dlsym");
	vnext = libc.dlsym(RTLD_NEXT, "dlvsym");
	__atomic_store_n(&wt_next_dlvsym, vnext ? (__typeof__(wt_next_dlvsym))vnext : libc.dlvsym,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&wt_next_dlsym, next ? (__typeof__(wt_next_dlsym))next : libc.dlsym,
			 __ATOMIC_RELEASE);
	return 0;
}

void *wt_quiet_dlsym(void *handle, const char *name)
{
	void *p = wt_next_dlsym ? wt_next_dlsym(handle, name) : NULL;

	if (!p)
		dlerror(); /* the job's next dlerror() must not speak of our question */
	return p;
}

/* ---- libraries ---- */

void *wt_cuda_handle(void)
{
	static _Atomic(void *) handle;
	void *h = atomic_load_explicit(&handle, memory_order_relaxed);

	if (h)
		return h;
	h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (h)
		atomic_store_explicit(&handle, h,
				      memory_order_relaxed); /* keeps it loaded, like the job */
	else
		dlerror();
	return h;
}

struct nth {
	int left;
	char name[1024];
	int found;
};

static int nth_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth *n = arg;

	if (n->left-- > 0)
		return 0;
	snprintf(n->name, sizeof(n->name), "%s", info->dlpi_name ? info->dlpi_name : "");
	n->found = 1;
	return 1;
}

/* Names are copied out first: calling dlopen under dl_iterate_phdr's lock asks for trouble. */
static void *find_loaded(const char *symbol, const char *file_prefix)
{
	for (int i = 0;; i++) {
		struct nth n = {.left = i};
		const char *base;
		void *h, *p;

		dl_iterate_phdr(nth_object, &n);
		if (!n.found)
			return NULL;
		base = strrchr(n.name, '/');
		base = base ? base + 1 : n.name;
		if (!*base || strncmp(base, file_prefix, strlen(file_prefix)))
			continue;
		h = dlopen(n.name, RTLD_LAZY | RTLD_NOLOAD);
		if (!h) {
			dlerror();
			continue;
		}
		p = wt_quiet_dlsym(h, symbol);
		dlclose(h); /* the job holds it */
		if (p && !wt_is_ours(p))
			return p;
	}
}

static void *find_linked(const char *name, const char *file_prefix)
{
	void *p = wt_quiet_dlsym(RTLD_NEXT, name);

	if (!p)
		p = find_loaded(name, file_prefix);
	if (!p)
		p = find_loaded(name, "");
	return p;
}

static void *find_nccl(const char *name)
{
	return find_linked(name, "libnccl");
}

static void *find_cublas(const char *name)
{
	return find_linked(name, "libcublas");
}

/* The libraries behind it export some of its functions too: it comes first. */
static void *find_cudnn(const char *name)
{
	void *p = wt_quiet_dlsym(RTLD_NEXT, name);

	if (!p)
		p = find_loaded(name, "libcudnn.so");
	return p ? p : find_linked(name, "libcudnn");
}

int wt_real_is_inner(const void *p)
{
	const char *base;
	Dl_info info;

	if (!dladdr(p, &info) || !info.dli_fname)
		return 0;
	base = strrchr(info.dli_fname, '/');
	return wt_begins(base ? base + 1 : info.dli_fname, "libcudnn_");
}

int wt_blas_twins, wt_dnn_twins;

struct twins {
	int blas, lt, dnn;
};

static int count_libraries(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct twins *c = arg;
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	base = base ? base + 1 : info->dlpi_name ? info->dlpi_name : "";
	if (wt_begins(base, "libcublasLt"))
		c->lt++;
	else if (wt_begins(base, "libcublas"))
		c->blas++;
	else if (wt_begins(base, "libcudnn.so"))
		c->dnn++;
	return 0;
}

static int loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

static void look_for_twins(void)
{
	static _Atomic(unsigned long long) seen;
	unsigned long long before = atomic_load_explicit(&seen, memory_order_relaxed), now = before;
	struct twins c = {0, 0, 0};

	dl_iterate_phdr(loads, &now);
	if (now == before)
		return;
	dl_iterate_phdr(count_libraries, &c);
	atomic_store_explicit(&seen, now, memory_order_relaxed);
	if (c.blas > 1 || c.lt > 1)
		__atomic_store_n(&wt_blas_twins, 1, __ATOMIC_RELAXED);
	if (c.dnn > 1)
		__atomic_store_n(&wt_dnn_twins, 1, __ATOMIC_RELAXED);
}

int wt_real_blas_twins(void)
{
	if (!__atomic_load_n(&wt_blas_twins, __ATOMIC_RELAXED))
		look_for_twins();
	return __atomic_load_n(&wt_blas_twins, __ATOMIC_RELAXED);
}

int wt_real_dnn_twins(void)
{
	if (!__atomic_load_n(&wt_dnn_twins, __ATOMIC_RELAXED))
		look_for_twins();
	return __atomic_load_n(&wt_dnn_twins, __ATOMIC_RELAXED);
}

void *wt_real_of_caller(uint32_t id, const void *caller)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *h, *p = NULL;

	if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name &&
	    *map->l_name) {
		h = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (h) {
			p = wt_quiet_dlsym(h, wt_hooks[id].name);
			dlclose(h); /* it is running: somebody holds it */
		} else {
			dlerror();
		}
	}
	/* The program itself, or a caller that got our wrapper from a gate. */
	return p && !wt_is_ours(p) ? p : wt_real(id);
}

static _Atomic(void *) cupti_handle;

void wt_real_cupti_is(void *handle)
{
	atomic_store_explicit(&cupti_handle, handle, memory_order_release);
}

static void *find_cuda(const char *name)
{
	void *h = wt_cuda_handle();

	return h ? wt_quiet_dlsym(h, name) : NULL;
}

int wt_is_ours(const void *p)
{
	static _Atomic(const void *) base;
	const void *mine = atomic_load_explicit(&base, memory_order_relaxed);
	Dl_info info;

	if (!mine) {
		if (!dladdr((void *)wt_is_ours, &info))
			return 0;
		mine = info.dli_fbase;
		atomic_store_explicit(&base, mine, memory_order_relaxed);
	}
	return dladdr(p, &info) && info.dli_fbase == mine;
}

/*
 * The library the collector has loaded, once there is one; else as NCCL. Its own handle, and never RTLD_NEXT first: a
 * client's copy lies in a local scope as often as not.
 */
static void *find_cupti(const char *name)
{
	void *h = atomic_load_explicit(&cupti_handle, memory_order_acquire);
	void *p = h ? wt_quiet_dlsym(h, name) : NULL;

	if (h)
		return p;
	p = wt_quiet_dlsym(RTLD_NEXT, name);
	return p ? p : find_loaded(name, "libcupti");
}

static void *(*const finders[])(const char *) = {
	[WT_LIB_CUDA] = find_cuda,	 [WT_LIB_NCCL] = find_nccl,   [WT_LIB_CUBLAS] = find_cublas,
	[WT_LIB_CUBLASLT] = find_cublas, [WT_LIB_CUDNN] = find_cudnn, [WT_LIB_CUPTI] = find_cupti,
};

/*
 * We keep its address, and so does whoever got our wrapper from a gate: the library stays, though the job may close it.
 * Its own opening and closing goes on as before, only that it is not unmapped.
 */
static void *pinned(void *p)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *h;

	if (!p || !dladdr1(p, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_name ||
	    !*map->l_name)
		return p;
	h = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (h)
		dlclose(h);
	else
		dlerror();
	return p;
}

void *wt_real(uint32_t id)
{
	void *p = atomic_load_explicit(&wt_slot[id], memory_order_relaxed);

	if (p || wt_real_init())
		return p;
	p = finders[wt_hooks[id].library](wt_hooks[id].name);
	if (p && wt_is_ours(p))
		p = NULL; /* a handle whose scope begins with us: calling ourselves would never end */
	if (p)
		atomic_store_explicit(&wt_slot[id], pinned(p), memory_order_relaxed);
	return p;
}

void wt_real_all_cuda(void)
{
	static _Atomic int done;

	if (atomic_load(&done) || !wt_cuda_handle())
		return;
	for (uint32_t id = 1; id < WT_ID_END; id++)
		if (wt_hooks[id].library == WT_LIB_CUDA)
			wt_real(id);
	atomic_store(&done, 1);
}

void *wt_real_named(int library, const char *name)
{
	void *p = wt_real_init() ? NULL : finders[library](name);

	return p && !wt_is_ours(p) ? pinned(p) : NULL;
}

void *wt_real_cuda(const char *name)
{
	uint32_t id = wt_hook_find(name);

	if (id)
		return wt_real(id);
	return wt_real_init() ? NULL : find_cuda(name);
}
