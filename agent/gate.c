// SPDX-License-Identifier: Apache-2.0
/*
 * The gates: everything in this process that asks for a function of the driver, NCCL, cuBLAS, cuDNN or CUPTI by name.
 * dlsym and dlvsym are interposed; cuGetProcAddress and _v2 are wrapped like any driver call. Any thread, load time
 * included.
 *
 *   RTLD_NEXT, _DEFAULT passed on by a jump, so that the caller's own address decides what is meant. Compiled as a
 *                       call it would be ours, and other preloads would find themselves
 *   a library's handle  a wrapper if the answer is the real function of that name
 *                       Both: where our export is all there is, the answer is "no", as it was without us
 *   cuGetProcAddress    one name has several ABIs: the wrapper is chosen by the address the driver gave, else by
 *                       (name, version, flags); anything else goes out as it came and is counted as escaped
 *
 * cuGetExportTable is never touched: integrity checks and tools' callbacks live behind it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "book.h"
#include "gate.h"
#include "lifecycle.h"
#include "real.h"
#include "wrap.h"

#define WT_EXPORTED   __attribute__((visibility("default")))
#define KNOWN_VERSION 13000 /* the lists know every ABI up to this CUDA version */

/* ---- which wrapper ---- */

static void *wrapper(uint32_t id)
{
	static void *const *const wrappers[] = {
		[WT_LIB_CUDA] = wt_wrappers_cuda,     [WT_LIB_NCCL] = wt_wrappers_nccl,
		[WT_LIB_CUBLAS] = wt_wrappers_cublas, [WT_LIB_CUBLASLT] = wt_wrappers_cublas,
		[WT_LIB_CUDNN] = wt_wrappers_cudnn,   [WT_LIB_CUPTI] = wt_wrappers_cupti};

	return wrappers[wt_hooks[id].library][id];
}

/*
 * p is what the caller's own look-up gave for our hook `id`. Another library's function of the same name (trampolines,
 * another tool's wrapper reached by its own handle) is left alone: it comes to us by itself when it is called.
 */
static void *by_name(uint32_t id, void *handle, void *p)
{
	void *real = wt_real(id);

	if (p == wrapper(id))
		return p;
	if (wt_hooks[id].library == WT_LIB_CUDA)
		/* In libcuda's handle but not libcuda's: a tool between us and it, whose function is our real one. */
		return p == real || handle == wt_cuda_handle() ? wrapper(id) : p;
	if (!real) {
		atomic_store(&wt_slot[id], p);
		real = p;
	}
	if (p == real)
		return wrapper(id);
	/* A second NCCL or CUPTI in this process: a wrapper has one real function. */
	if (wt_hooks[id].library != WT_LIB_CUDNN || !wt_real_is_inner(p))
		wt_hook_escaped(id);
	return p;
}

/* Our own export was found: is there a real one? Returns 0 where the caller would have found nothing without us. */
static int has_real(uint32_t id)
{
	if (wt_real(id))
		return 1;
	wt_next_dlsym(RTLD_NEXT,
		      wt_hooks[id].name); /* fails, and leaves the message the caller expects */
	return 0;
}

struct route {
	void *p;
	uintptr_t done; /* 0: pass on, by a jump */
};
struct route wt_gate_dlsym(void *handle, const char *name);
struct route wt_gate_dlvsym(void *handle, const char *name, const char *version);

/* These two mean the caller's scopes: its own address decides, if the real one is there at all. */
static int is_scope(const void *handle)
{
	return handle == RTLD_NEXT || handle == RTLD_DEFAULT;
}

static uint32_t wanted(const char *name)
{
	if (!name || (!wt_begins(name, "cu") && !wt_begins(name, "nccl")))
		return 0;
	return wt_hook_find(name);
}

static struct route route(uint32_t id, void *handle, void *p)
{
	struct route r = {p, 1};
	int saved = errno;

	if (p && wt_is_ours(p))
		r.p = has_real(id) ? p : NULL;
	else if (p && wt_agent_is_on())
		r.p = by_name(id, handle, p);
	errno = saved;
	return r;
}

/* Called by the trampolines below, before anything else. */
struct route wt_gate_dlsym(void *handle, const char *name)
{
	struct route pass = {NULL, 0};
	uint32_t id;

	if (wt_real_init())
		return (struct route){NULL, 1};
	id = wanted(name);
	if (!id)
		return pass;
	/* Every cuBLAS has a runtime of its own, which asks for the driver here before it makes a handle. */
	wt_real_blas_twins();
	if (is_scope(handle))
		return has_real(id) ? pass : (struct route){NULL, 1};
	return route(id, handle, wt_next_dlsym(handle, name));
}

struct route wt_gate_dlvsym(void *handle, const char *name, const char *version)
{
	struct route pass = {NULL, 0};
	uint32_t id;

	if (wt_real_init())
		return (struct route){NULL, 1};
	id = wanted(name);
	if (!id || is_scope(handle)) /* our exports have no version: they are not found */
		return pass;
	return route(id, handle, wt_next_dlvsym(handle, name, version));
}

/*
 * dlsym and dlvsym themselves. In assembly because a compiler may, or at -O0 will not, turn the last call into a
 * jump, and RTLD_NEXT depends on it. The struct comes back in two registers.
 */
#if defined(__x86_64__)
#define GATE(name_, gate_, next_)                                                                  \
	__asm__(".pushsection .text\n"                                                             \
		".globl " name_ "\n"                                                               \
		".type " name_ ", @function\n" name_ ":\n"                                         \
		"	.cfi_startproc\n"                                                                \
		"	endbr64\n"                                                                       \
		"	push %rdi\n	.cfi_adjust_cfa_offset 8\n"                                          \
		"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"                                          \
		"	push %rdx\n	.cfi_adjust_cfa_offset 8\n"                                          \
		"	call " gate_ "\n"                                                          \
		"	test %rdx, %rdx\n"                                                               \
		"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"                                          \
		"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"                                          \
		"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"                                          \
		"	jz 1f\n"                                                                         \
		"	ret\n"                                                                           \
		"1:	mov " next_ "(%rip), %r11\n"                                               \
		"	jmp *%r11\n"                                                                     \
		"	.cfi_endproc\n"                                                                  \
		".size " name_ ", . - " name_ "\n"                                                 \
		".popsection\n")
#elif defined(__aarch64__)
#define GATE(name_, gate_, next_)                                                                  \
	__asm__(".pushsection .text\n"                                                             \
		".globl " name_ "\n"                                                               \
		".type " name_ ", %function\n" name_ ":\n"                                         \
		"	.cfi_startproc\n"                                                                \
		"	stp x29, x30, [sp, #-48]!\n	.cfi_adjust_cfa_offset 48\n"                         \
		"	.cfi_offset 29, -48\n	.cfi_offset 30, -40\n"                                     \
		"	mov x29, sp\n"                                                                   \
		"	stp x0, x1, [sp, #16]\n"                                                         \
		"	str x2, [sp, #32]\n"                                                             \
		"	bl " gate_ "\n"                                                            \
		"	cbnz x1, 1f\n"                                                                   \
		"	ldp x0, x1, [sp, #16]\n"                                                         \
		"	ldr x2, [sp, #32]\n"                                                             \
		"	ldp x29, x30, [sp], #48\n"                                                       \
		"	adrp x16, " next_ "\n"                                                     \
		"	ldr x16, [x16, #:lo12:" next_ "]\n"                                        \
		"	br x16\n"                                                                        \
		"1:	ldp x29, x30, [sp], #48\n"                                                     \
		"	ret\n"                                                                           \
		"	.cfi_endproc\n"                                                                  \
		".size " name_ ", . - " name_ "\n"                                                 \
		".popsection\n")
#else
#error "the gates need a trampoline for this processor"
#endif
GATE("dlsym", "wt_gate_dlsym", "wt_next_dlsym");
GATE("dlvsym", "wt_gate_dlvsym", "wt_next_dlvsym");

/* ---- cuGetProcAddress ---- */

static int same_base(uint32_t id, const char *symbol)
{
	size_t n = wt_hooks[id].base_len;

	return !strncmp(wt_hooks[id].name, symbol, n) && !symbol[n];
}

/* Two ABI names may share one address; then either wrapper is right, the namesake reads better in the trace. */
static uint32_t by_address(const char *symbol, const void *p)
{
	uint32_t found = 0;

	for (uint32_t id = 1; id < WT_ID_END; id++) {
		if (atomic_load_explicit(&wt_slot[id], memory_order_relaxed) != p ||
		    wt_hooks[id].library != WT_LIB_CUDA)
			continue;
		if (same_base(id, symbol))
			return id;
		if (!found)
			found = id;
	}
	return found;
}

/* The newest ABI of that name not newer than asked, with the twin that the flags mean. */
static uint32_t by_version(const char *symbol, uint32_t version, cuuint64_t flags)
{
	int twin = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	uint32_t found[2] = {0, 0};

	if (version > KNOWN_VERSION)
		return 0;
	for (uint32_t id = 1; id < WT_ID_END; id++) {
		const struct wt_hook *h = &wt_hooks[id];
		uint32_t best = found[h->pt];

		if (h->library == WT_LIB_CUDA && same_base(id, symbol) && h->since <= version &&
		    (!best || wt_hooks[best].since < h->since))
			found[h->pt] = id;
	}
	/* From 12.0 this name means WithFlags, an ABI of another name: only the address can tell. */
	if (!strcmp(symbol, "cuGraphInstantiate") && version >= 12000)
		return 0;
	return twin && found[1] ? found[1] : found[0];
}

static void *pick(const char *symbol, void *p, uint32_t version, cuuint64_t flags)
{
	uint32_t id, family = 0;

	if (!wt_agent_is_on() || !*symbol || wt_real_init())
		return p;
	wt_real_all_cuda();
	for (uint32_t i = 1; i < WT_ID_END && !family; i++)
		if (wt_hooks[i].library == WT_LIB_CUDA && same_base(i, symbol))
			family = i;
	if (!family)
		return p;
	id = by_address(symbol, p);
	if (!id)
		id = by_version(symbol, version, flags);
	if (!id) {
		wt_hook_escaped(family);
		return p;
	}
	if (!atomic_load_explicit(&wt_slot[id], memory_order_relaxed))
		atomic_store_explicit(&wt_slot[id], p, memory_order_relaxed);
	return wrapper(id);
}

static void replace(CUresult r, const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	int saved = errno;

	if (r == CUDA_SUCCESS && symbol && pfn && *pfn)
		*pfn = pick(symbol, *pfn, (uint32_t)version, flags);
	errno = saved;
}

CUresult hook_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult (*real)(const char *, void **, int, cuuint64_t) =
		(__typeof__(real))wt_real(WT_ID_cuGetProcAddress);
	CUresult r;

	if (!real)
		return WT_MISSING_CUDA;
	r = real(symbol, pfn, version, flags);
	replace(r, symbol, pfn, version, flags);
	return r;
}
WT_EXPORT(CUDA, cuGetProcAddress, (const char *symbol, void **pfn, int version, cuuint64_t flags))

CUresult hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *status)
{
	CUresult (*real)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
		(__typeof__(real))wt_real(WT_ID_cuGetProcAddress_v2);
	CUresult r;

	if (!real)
		return WT_MISSING_CUDA;
	r = real(symbol, pfn, version, flags, status);
	replace(r, symbol, pfn, version, flags);
	return r;
}
WT_EXPORT(CUDA, cuGetProcAddress_v2,
	  (const char *symbol, void **pfn, int version, cuuint64_t flags,
	   CUdriverProcAddressQueryResult *status))

/* ---- the way out ---- */

/*
 * exit() runs our handler; these do not. `noreturn` calls of forked children come here too: wt_agent_exit() knows.
 * They are allowed in signal handlers and in children of a raw fork, where the dynamic linker's lock may be held for
 * ever: the next in line was looked up at load.
 */
static void (*next_exit)(int), (*next_Exit)(int);

static __attribute__((constructor)) void load(void)
{
	int saved = errno;

	if (wt_real_init())
		return;
	next_exit = (__typeof__(next_exit))wt_quiet_dlsym(RTLD_NEXT, "_exit");
	next_Exit = (__typeof__(next_Exit))wt_quiet_dlsym(RTLD_NEXT, "_Exit");
	errno = saved;
}

static __attribute__((noreturn)) void leave(int status, void (*next)(int))
{
	wt_agent_exit();
	if (next)
		next(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* lint: allow _exit: its own definition */
void _exit(int status) WT_EXPORTED;
/* lint: allow _exit: as above */
void _exit(int status)
{
	leave(status, next_exit);
}

/* lint: allow _Exit: as above */
void _Exit(int status) WT_EXPORTED;
/* lint: allow _Exit: as above */
void _Exit(int status)
{
	leave(status, next_Exit);
}
