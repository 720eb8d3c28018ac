// SPDX-License-Identifier: Apache-2.0
/*
 * A switch between a job and the agent, to compare work with and without its hooks within one process, and within one
 * step of it. Preloaded before libwarptap.so: each entry that the agent wraps is here a jump through a table, however a
 * client came by it (the linker, dlsym, cuGetProcAddress), and one pointer says through which:
 *
 *   WITH     to the agent's wrapper
 *   WITHOUT  to the function that the agent's wrapper would call
 *   COUNTED  to the wrapper again, each call counted here first: what the agent's own counters are held against
 *
 * Each jump also counts down to the end of a segment, some calls long. There the time is taken and the next way is
 * drawn: segments come in couples, one with and one without, in an order drawn anew; in controls both are without.
 * Code, memory and threads of the process stay what they are; what changes is where the jumps go.
 *
 * Whoever asks by name gets what the agent answers if that is no wrapper of its own. Entries are looked up when they
 * are asked for, or at their first call; one that has no real function ends the process, and so does one with two.
 * The job's threads, of which one at a time calls anything. For measurements alone: it prints and aborts.
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
 * Each has its place in three tables of one layout, all of which lead to switch_seen() until the entry is known; that
 * of COUNTED does for ever. Arguments in registers and on the stack stay as they are.
 */
#define TABLE(table_, n_)                                                                          \
	".pushsection " #table_ ",\"aw\"\n" #table_ "_" #n_ ": .quad switch_seen_" #n_             \
	"\n.popsection\n"
#define CODE(n_)                                                                                   \
	".pushsection .text\n.p2align 4\n.globl " #n_ "\n.type " #n_ ", @function\n" #n_ ":\n"     \
	"endbr64; subq $1, switch_left(%rip); jz 2f\n"                                             \
	"1: mov switch_table(%rip), %r11\n"                                                        \
	"jmp *(switch_counted_" #n_ " - switch_counted_begin)(%r11)\n"                             \
	"2: lea 1b(%rip), %r11; jmp switch_turn_any\n.size " #n_ ", . - " #n_ "\n.p2align 4\n"     \
	"switch_seen_" #n_ ": lea switch_counted_" #n_ "(%rip), %r11; jmp switch_seen_any\n"       \
	".popsection\n"
#define JUMP(n_)                                                                                   \
	__asm__(TABLE(switch_with, n_) TABLE(switch_without, n_) TABLE(switch_counted, n_)         \
			CODE(n_));
/* Goes on where %r11 says after what_, which finds it below %rbp and the caller above. */
#define SAVED(what_)                                                                               \
	"push %rdi; push %rsi; push %rdx; push %rcx; push %r8\n"                                   \
	"push %r9; push %rax; push %rbp; push %r11\n"                                              \
	"mov %rsp, %rbp; sub $128, %rsp; and $-16, %rsp\n"                                         \
	"movups %xmm0, 0(%rsp); movups %xmm1, 16(%rsp)\n"                                          \
	"movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"                                         \
	"movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp)\n"                                         \
	"movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n" what_                                  \
	"movups 0(%rsp), %xmm0; movups 16(%rsp), %xmm1\n"                                          \
	"movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"                                         \
	"movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5\n"                                         \
	"movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"                                        \
	"mov %rbp, %rsp; pop %r11; pop %rbp; pop %rax; pop %r9\n"                                  \
	"pop %r8; pop %rcx; pop %rdx; pop %rsi; pop %rdi\n"                                        \
	"jmp *%r11\n"
#define LOOK_UP                                                                                    \
	"mov %r11, %rdi; mov 72(%rbp), %rsi; call switch_seen\n"                                   \
	"mov %rax, 0(%rbp)\n"
#define TURN "mov 72(%rbp), %rdi; call switch_turn\n"
__asm__(".pushsection switch_counted,\"aw\"\nswitch_counted_begin:\n.popsection\n"
	".pushsection .text\n"
	"switch_seen_any:\n" SAVED(LOOK_UP) "switch_turn_any:\n" SAVED(TURN)
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

extern void *with[ENTRIES] __asm__("__start_switch_with");
extern void *without[ENTRIES] __asm__("__start_switch_without");
extern void *counted[ENTRIES] __asm__("__start_switch_counted");

__attribute__((visibility("hidden"), used)) void **switch_table = with;
__attribute__((visibility("hidden"), used)) uint64_t switch_left = UINT64_MAX; /* calls */

static struct {
	void *wrapper, *real;
	_Atomic uint64_t calls;
} to[ENTRIES];
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
	with[i] = to[i].wrapper;
	without[i] = to[i].real = real;
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

/* Of an entry that is not known yet, or counts. Returns where to go on. */
__attribute__((used)) void *switch_seen(void **place, const void *caller);
void *switch_seen(void **place, const void *caller)
{
	size_t i = (size_t)(place - counted);

	if (!to[i].real) {
		find_agent();
		find_real(i);
	}
	if (switch_table == without)
		return to[i].real;
	if (switch_table == counted && (entries[i].form != GEMM || !inside_library(caller)))
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

/* ---- segments ---- */

struct segment {
	uint64_t ns;
	uint64_t calls[3]; /* so far while COUNTED: enum counts */
	uint32_t of_step;  /* which of its step */
	uint32_t with;	   /* as drawn: in controls not so, and WITHOUT */
};

#define SEGMENTS (1u << 20)
static struct {
	struct segment *all;
	uint32_t n, of_step, with, draw;
	uint64_t length, since;
	enum mode mode; /* WITH: drawn; else all segments are of it */
} run;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * What is asked of CUPTI, and said of cuDNN's descriptors, the agent looks at and does not count. Products and the like
 * are counted at level api where nobody but the job asked for them; whether something is over, where it is.
 */
enum counts { CALLS, PRODUCTS, POLLS, KINDS_OF_COUNTS, NOT };
static enum counts counts_as(const struct entry *e)
{
	if (e->form == OWN || e->library == CUPTI || (e->library == CUDNN && e->form != GEMM))
		return NOT;
	return e->form == GEMM ? PRODUCTS : e->form == POLL ? POLLS : CALLS;
}

static uint64_t calls(enum counts what)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ENTRIES; i++)
		if (counts_as(&entries[i]) == what)
			sum += to[i].calls;
	return sum;
}

static void ends(uint64_t at)
{
	struct segment *s = &run.all[run.n++];

	if (run.n == SEGMENTS)
		die("segments at most", "1048576");
	*s = (struct segment){at - run.since, {0}, run.of_step++, run.with};
	for (int what = 0; run.mode == COUNTED && what < KINDS_OF_COUNTS; what++)
		s->calls[what] = calls((enum counts)what);
}

static void begins(void)
{
	if (run.n % 2 == 0) {
		run.draw ^= run.draw << 13; /* xorshift, Marsaglia 2003 */
		run.draw ^= run.draw >> 17;
		run.draw ^= run.draw << 5;
		run.with = run.draw >> 16 & 1;
	} else {
		run.with = !run.with;
	}
	switch_left = run.length;
	switch_table = run.mode == COUNTED	      ? counted
		       : run.mode == WITH && run.with ? with
						      : without;
	run.since = now();
}

/* Not within a library's call, all of which is to go the same way: at the next one then. */
__attribute__((visibility("hidden"), used)) void switch_turn(const void *caller);
void switch_turn(const void *caller)
{
	uint64_t at = now();

	if (inside_library(caller)) {
		switch_left = 1;
		return;
	}
	ends(at);
	begins();
}

/* ---- for the job ---- */

/* The segments from here on: so many calls long, of that mode (WITH: drawn). Those before are forgotten. */
void switch_run(int mode, uint64_t length, uint32_t seed) SHOWN;
void switch_run(int mode, uint64_t length, uint32_t seed)
{
	if (!run.all)
		run.all = calloc(SEGMENTS, sizeof(*run.all));
	if (!run.all)
		die("out of memory", "segments");
	run.n = 0;
	run.mode = (enum mode)mode;
	run.length = length;
	run.draw = seed * 2654435761u + 1;
}

/* Around each step. Behind it nothing goes through hooks. Returns how many calls its last segment had. */
void switch_step(void) SHOWN;
void switch_step(void)
{
	run.of_step = 0;
	begins();
}

uint64_t switch_step_ends(void) SHOWN;
uint64_t switch_step_ends(void)
{
	uint64_t had = run.length - switch_left;

	ends(now());
	switch_table = without;
	switch_left = UINT64_MAX;
	return had;
}

const struct segment *switch_segments(uint32_t *n) SHOWN;
const struct segment *switch_segments(uint32_t *n)
{
	*n = run.n;
	return run.all;
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
