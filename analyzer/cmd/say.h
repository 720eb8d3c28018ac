/* SPDX-License-Identifier: Apache-2.0 */
/* How commands print what holds text from files or from the command line: see base/visible.h. */
#ifndef WT_SAY_H
#define WT_SAY_H

#include <stdio.h>

/* As fprintf; line ends are printed, whoever wrote them. */
void wt_say(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One line, whatever is in it; its end is added. */
void wt_say_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A name, which has no line ends. */
void wt_say_name(FILE *to, const char *name);

#endif
