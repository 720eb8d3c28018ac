/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names as people write them, for text. What is compared, counted or matched stays as the compiler wrote it. */
#ifndef WT_DEMANGLE_H
#define WT_DEMANGLE_H

#include <stddef.h>

/*
 * The name without parameters, return type and the namespaces that say nothing to a reader (anonymous ones, PyTorch's
 * at::native), cut at room - 1 bytes; `name` itself if it is
 * no mangled C++ name, or too long to be one that a compiler made. Any thread.
 */
const char *wt_demangle(const char *name, char *out, size_t room);
/* The same of a kernel's name that another tool demangled, with return type and parameters; `name` itself if not. */
const char *wt_plain(const char *name, char *out, size_t room);

#endif
