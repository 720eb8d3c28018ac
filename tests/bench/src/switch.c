// SPDX-License-Identifier: Apache-2.0
/*
 * A switch between a job and the agent, to compare blocks with and without its hooks within one process. Preloaded
 * before libwarptap.so: each entry that the agent wraps is here a jump through a slot, however a client came by it (the
 * linker, dlsym, cuGetProcAddress), and switch_to() sets all slots, between blocks of the job's work. Code, memory and
 * threads of the process stay what they are; what changes is where the jumps go:
 *
 *   WITH     to the agent's wrapper
 *   WITHOUT  to the function that the agent's wrapper would call
 *   COUNTED  to the wrapper again, each call counted here first: what the agent's own counters are held against
 *
 * Whoever asks by name gets what the agent answers if that is no wrapper of its own. Entries are looked up when they
 * are asked for, or at their first call; one that has no real function ends the process, and so does one with two.
 * The job's threads; switched by one of them while the others call nothing. For measurements alone: it prints and
 * aborts.
 */
#ifdef __x86_64__
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/hook_forms.h"

#define SHOWN __attribute__((visibility("default")))

enum mode { WITH, WITHOUT, COUNTED };
enum library { CUDA, NCCL, CUBLAS, CUBLASLT, CUDNN, CUPTI };
enum form { HOOK, LAUNCH, OUT, BOOK, ANY, POLL, GEMM, OWN, TAKES, SEEN };

struct entry {
	const char *name;
	void *here; /* the jump that clients get */
	uint8_t library, form;
};

/* ---- the jumps ---- */

/*
 * Each has its slot, in the order of the lists, and its way to switch_seen(), by which slots are filled first.
 * Arguments in registers and on the stack stay as they are.
 */
#define JUMP(n_)                                                                                   \
	__asm__(".pushsection .text\n.p2align 4\n.globl " #n_ "\n.type " #n_ ", @function\n" #n_   \
		":\n	endbr64\n	jmp *switch_slot_" #n_ "(%rip)\n.size " #n_ ", . - " #n_   \
		"\n.p2align 4\nswitch_seen_" #n_ ":\n	lea switch_slot_" #n_                      \
		"(%rip), %r11\n	jmp switch_seen_any\n.popsection\n"                                \
		".pushsection switch_slots,\"aw\"\nswitch_slot_" #n_ ":	.quad switch_seen_" #n_    \
		"\n.popsection\n.pushsection switch_stubs,\"aw\"\n	.quad switch_seen_" #n_    \
		"\n.popsection\n");
__asm__(".pushsection .text\n"
	"switch_seen_any:\n"
	"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n"
	"	push %r8\n	push %r9\n	push %rax\n	push %rbp\n"
	"	mov %rsp, %rbp\n	sub $128, %rsp\n	and $-16, %rsp\n"
	"	movups %xmm0, 0(%rsp)\n	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n	movups %xmm7, 112(%rsp)\n"
	"	mov %r11, %rdi\n	mov 64(%rbp), %rsi\n"
	"	call switch_seen\n	mov %rax, %r11\n"
	"	movups 0(%rsp), %xmm0\n	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n	movups 112(%rsp), %xmm7\n"
	"	mov %rbp, %rsp\n	pop %rbp\n	pop %rax\n	pop %r9\n"
	"	pop %r8\n	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n"
	"	jmp *%r11\n"
	/* As the agent's own gate: a jump on, so that RTLD_NEXT means the caller's. */
	".globl dlsym\n.type dlsym, @function\n"
	"dlsym:\n	endbr64\n	push %rdi\n	push %rsi\n	sub $8, %rsp\n"
	"	call switch_dlsym\n	add $8, %rsp\n	pop %rsi\n	pop %rdi\n"
	"	test %rdx, %rdx\n	jz 1f\n	ret\n"
	"1:	mov agent_dlsym(%rip), %r11\n	jmp *%r11\n"
	".popsection\n");

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) JUMP(n_)
#include WT_HOOKS_CUDA
#include WT_HOOKS_NCCL
#include WT_HOOKS_CUBLAS
#include WT_HOOKS_CUDNN
#include WT_HOOKS_CUPTI
#undef WT_ROW

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) void n_(void) SHOWN;
#include WT_HOOKS_CUDA
#include WT_HOOKS_NCCL
#include WT_HOOKS_CUBLAS
#include WT_HOOKS_CUDNN
#include WT_HOOKS_CUPTI
#undef WT_ROW

static const struct entry entries[] = {
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) {#n_, (void *)n_, l_, form_},
#include WT_HOOKS_CUDA
#include WT_HOOKS_NCCL
#include WT_HOOKS_CUBLAS
#include WT_HOOKS_CUDNN
#include WT_HOOKS_CUPTI
#undef WT_ROW
};
#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

extern void *slots[ENTRIES] __asm__("__start_switch_slots");
extern void *stubs[ENTRIES] __asm__("__start_switch_stubs");

static struct {
	void *wrapper, *real;
	_Atomic uint64_t calls;
} to[ENTRIES];
static enum mode mode = WITH;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static __attribute__((noreturn)) void die(const char *what, const char *name)
{
	fprintf(stderr, "switch: %s: %s\n", name, what);
	abort();
}

/* ---- who is behind us ---- */

__attribute__((used)) void *(*agent_dlsym)(void *, const char *);
static void *(*libc_dlsym)(void *, const char *);
static void *agent_handle;

static void *open_loaded(const char *path)
{
	void *h = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (!h)
		dlerror();
	return h;
}

static void find_agent(void)
{
	void *libc;
	Dl_info info;

	if (agent_dlsym)
		return;
	libc = open_loaded("libc.so.6");
	libc_dlsym = libc ? (__typeof__(libc_dlsym))dlvsym(libc, "dlsym", "GLIBC_2.34") : NULL;
	if (!libc_dlsym)
		die("not in libc.so.6", "dlsym");
	agent_dlsym = (__typeof__(agent_dlsym))libc_dlsym(RTLD_NEXT, "dlsym");
	if (!agent_dlsym || !dladdr((void *)agent_dlsym, &info) ||
	    !strstr(info.dli_fname, "libwarptap"))
		die("is to be preloaded after this library", "libwarptap.so");
	agent_handle = open_loaded(info.dli_fname);
	if (!agent_handle)
		die("cannot be opened", info.dli_fname);
}

static void point(size_t i)
{
	if (to[i].wrapper && to[i].real)
		slots[i] = mode == WITH ? to[i].wrapper : mode == WITHOUT ? to[i].real : stubs[i];
}

static void *wrapper_of(size_t i)
{
	if (!to[i].wrapper)
		to[i].wrapper = libc_dlsym(agent_handle, entries[i].name);
	if (!to[i].wrapper)
		die("not exported by the agent", entries[i].name);
	return to[i].wrapper;
}

static void set_real(size_t i, void *real)
{
	pthread_mutex_lock(&lock);
	if (!real || (to[i].real && to[i].real != real))
		die(real ? "two functions of that name" : "no such function", entries[i].name);
	wrapper_of(i);
	to[i].real = real;
	point(i);
	pthread_mutex_unlock(&lock);
}

/* Bound by the linker and called for the first time: the loaded library of that kind which has it. */
static void find_real(size_t i)
{
	static const char *const prefix[] = {
		[CUDA] = "libcuda.so",	    [NCCL] = "libnccl",	     [CUBLAS] = "libcublas",
		[CUBLASLT] = "libcublasLt", [CUDNN] = "libcudnn.so", [CUPTI] = "libcupti"};
	void *p = NULL;

	for (struct link_map *m = _r_debug.r_map; m && !p; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/');
		const char *base = slash ? slash + 1 : m->l_name;
		void *h;

		if (strncmp(base, prefix[entries[i].library], strlen(prefix[entries[i].library])) !=
		    0)
			continue;
		h = open_loaded(m->l_name);
		p = h ? libc_dlsym(h, entries[i].name) : NULL;
		if (!p)
			dlerror();
	}
	set_real(i, p);
}

/* A launch that these libraries make is the agent's to see, a product that they make for another is not. */
static int inside_library(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname &&
	       (strstr(info.dli_fname, "libcublas") || strstr(info.dli_fname, "libcudnn"));
}

/* Called by a slot that is empty or counts. Returns where to go on. */
__attribute__((used)) void *switch_seen(void **slot, const void *caller);
void *switch_seen(void **slot, const void *caller)
{
	size_t i = (size_t)(slot - slots);

	if (!to[i].real) {
		find_agent();
		find_real(i);
	}
	if (mode == WITHOUT)
		return to[i].real;
	if (mode == COUNTED && (entries[i].form != GEMM || !inside_library(caller)))
		to[i].calls++;
	return to[i].wrapper;
}

/* ---- those who ask by name ---- */

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < ENTRIES && strcmp(entries[i].name, name) != 0)
		i++;
	return i;
}

/* cuGetProcAddress itself goes to the agent at all times; what it answers is one of its wrappers, or nobody's. */
static void *here_for(void *answer, void *real)
{
	for (size_t i = 0; i < ENTRIES && answer != real; i++)
		if (entries[i].library == CUDA && answer == wrapper_of(i)) {
			set_real(i, real);
			return entries[i].here;
		}
	return answer;
}

typedef int get_proc(const char *, void **, int, uint64_t, void *);

static int ask_proc(const char *gate, const char *symbol, void **pfn, int version, uint64_t flags,
		    void *status)
{
	size_t i = find(gate);
	void *real = NULL, *answer = NULL;
	int r;

	find_agent();
	if (!to[i].real)
		find_real(i);
	r = ((get_proc *)to[i].wrapper)(symbol, pfn ? &answer : NULL, version, flags, status);
	if (!r && pfn && answer && !((get_proc *)to[i].real)(symbol, &real, version, flags, status))
		answer = here_for(answer, real);
	if (pfn)
		*pfn = answer;
	return r;
}

static int ask_proc_1(const char *symbol, void **pfn, int version, uint64_t flags)
{
	return ask_proc("cuGetProcAddress", symbol, pfn, version, flags, NULL);
}

static int ask_proc_2(const char *symbol, void **pfn, int version, uint64_t flags, void *status)
{
	return ask_proc("cuGetProcAddress_v2", symbol, pfn, version, flags, status);
}

struct route {
	void *p;
	uintptr_t done; /* 0: to the agent's dlsym, by a jump */
};
__attribute__((used)) struct route switch_dlsym(void *handle, const char *name);
struct route switch_dlsym(void *handle, const char *name)
{
	size_t i;
	void *p;

	find_agent();
	if (!name || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return (struct route){NULL, 0};
	i = find(name);
	if (i == ENTRIES)
		return (struct route){NULL, 0};
	p = agent_dlsym(handle, name);
	if (!p || p != wrapper_of(i))
		return (struct route){p, 1};
	if (!strcmp(name, "cuGetProcAddress"))
		return (struct route){(void *)ask_proc_1, 1};
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return (struct route){(void *)ask_proc_2, 1};
	set_real(i, libc_dlsym(handle, name));
	return (struct route){entries[i].here, 1};
}

/* ---- the agent's threads ---- */

#define THREADS 16
static _Atomic int threads[THREADS], n_threads;

struct start {
	void *(*run)(void *);
	void *arg;
};

static void *run_noted(void *arg)
{
	struct start s = *(struct start *)arg;
	int n = n_threads++;

	free(arg);
	if (n < THREADS)
		threads[n] = (int)syscall(SYS_gettid);
	return s.run(s.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
		   void *arg) SHOWN;
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *s;
	Dl_info info;

	find_agent();
	next = (__typeof__(next))libc_dlsym(RTLD_NEXT, "pthread_create");
	if (!dladdr(__builtin_return_address(0), &info) || !strstr(info.dli_fname, "libwarptap"))
		return next(thread, attr, run, arg);
	s = malloc(sizeof(*s));
	*s = (struct start){run, arg};
	return next(thread, attr, run_noted, s);
}

/* ---- for the job ---- */

void switch_to(int mode) SHOWN;
void switch_to(int to_mode)
{
	pthread_mutex_lock(&lock);
	mode = (enum mode)to_mode;
	for (size_t i = 0; i < ENTRIES; i++)
		point(i);
	pthread_mutex_unlock(&lock);
}

/* What is asked of CUPTI, and said of cuDNN's descriptors, the agent looks at and does not count. */
static int is_counted(const struct entry *e)
{
	return e->form != OWN && e->library != CUPTI && (e->library != CUDNN || e->form == GEMM);
}

/* Calls while COUNTED: of products and the like that nobody but the job asked for, or of all the rest. */
uint64_t switch_calls(int products) SHOWN;
uint64_t switch_calls(int products)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ENTRIES; i++)
		if (is_counted(&entries[i]) && (entries[i].form == GEMM) == products)
			sum += to[i].calls;
	return sum;
}

/* CPU time of the agent's threads. */
uint64_t switch_agent_ns(void) SHOWN;
uint64_t switch_agent_ns(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < n_threads && i < THREADS; i++) {
		struct timespec t;
		clockid_t clock =
			(clockid_t)(~(unsigned)threads[i] << 3 | 6); /* a thread's, by its id */

		if (threads[i] && !clock_gettime(clock, &t))
			sum += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	}
	return sum;
}
#else
extern int switch_is_for_x86_64;
#endif
