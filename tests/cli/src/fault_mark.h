/* SPDX-License-Identifier: Apache-2.0 */
/* What a job tells fault_calls: the system calls of this thread from here on are its own, or again whoever's. */
#ifndef WT_FAULT_MARK_H
#define WT_FAULT_MARK_H

#include <sys/syscall.h>
#include <unistd.h>

#define WT_FAULT_MARK 0x77617270

#define WT_MINE(on_) syscall(SYS_getpriority, WT_FAULT_MARK, (on_))

#endif
