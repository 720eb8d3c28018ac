/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook's front door for calls with many arguments. A wrapper compiled from C puts arguments that lie on the stack
 * there once more, even where it does nothing but pass the call on; this one looks at the level and jumps, with stack
 * and registers as they came. Level api and above, the first call of an entry point and a second library of the same
 * kind go on to record_X, again by a jump: the return address there is the caller's.
 *
 *   hook_X   hidden, what the gates hand out
 *   X        exported, the same address
 *
 * Any of the job's threads. Scratch registers only: those a linker's veneer may use too.
 */
#ifndef WT_STUB_H
#define WT_STUB_H

#include "agent.h"
#include "hook_table.h"
#include "real.h"
#include "tls.h"

#define WT_STUB_BEGIN(n_, function_)                                                               \
	".pushsection .text\n"                                                                     \
	".p2align 4\n"                                                                             \
	".globl hook_" n_ "\n"                                                                     \
	".hidden hook_" n_ "\n"                                                                    \
	".globl " n_ "\n"                                                                          \
	".type hook_" n_ ", " function_ "\n"                                                       \
	".type " n_ ", " function_ "\n"                                                            \
	"hook_" n_ ":\n" n_ ":\n"                                                                  \
	"	.cfi_startproc\n"
#define WT_STUB_END(n_)                                                                            \
	"	.cfi_endproc\n"                                                                          \
	".size hook_" n_ ", . - hook_" n_ "\n"                                                     \
	".size " n_ ", . - " n_ "\n"                                                               \
	".popsection\n"

#if defined(__x86_64__)
#define WT_STUB_TEXT(n_)                                                                           \
	WT_STUB_BEGIN(n_, "@function")                                                             \
	"	endbr64\n"                                                                               \
	"	mov wt_words(%rip), %r11\n"                                                              \
	"	cmpl $3, (%r11)\n"                                                                       \
	"	jae 1f\n"                                                                                \
	"	cmpl $0, wt_blas_twins(%rip)\n"                                                          \
	"	jne 1f\n"                                                                                \
	"	mov wt_slot_" n_ "(%rip), %r11\n"                                                  \
	"	test %r11, %r11\n"                                                                       \
	"	jz 1f\n"                                                                                 \
	"	jmp *%r11\n"                                                                             \
	"1:	jmp record_" n_ "\n" WT_STUB_END(n_)
#elif defined(__aarch64__)
#define WT_STUB_TEXT(n_)                                                                           \
	WT_STUB_BEGIN(n_, "%function")                                                             \
	"	hint #34\n" /* bti c */                                                            \
	"	adrp x16, wt_words\n"                                                                    \
	"	ldr x16, [x16, #:lo12:wt_words]\n"                                                       \
	"	ldr w16, [x16]\n"                                                                        \
	"	cmp w16, #3\n"                                                                           \
	"	b.hs 1f\n"                                                                               \
	"	adrp x16, wt_blas_twins\n"                                                               \
	"	ldr w16, [x16, #:lo12:wt_blas_twins]\n"                                                  \
	"	cbnz w16, 1f\n"                                                                          \
	"	adrp x16, wt_slot_" n_ "\n"                                                        \
	"	ldr x16, [x16, #:lo12:wt_slot_" n_ "]\n"                                           \
	"	cbz x16, 1f\n"                                                                           \
	"	br x16\n"                                                                                \
	"1:	b record_" n_ "\n" WT_STUB_END(n_)
#else
#error "hooks of many arguments need a stub for this processor"
#endif

#define WT_STUB(n_) __asm__(".hidden wt_slot_" #n_ "\n" WT_STUB_TEXT(#n_));
_Static_assert(WT_LEVEL_API == 3, "a constant of the stubs");

#endif
