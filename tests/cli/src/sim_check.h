/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder check with: one line and exit 1 at the first thing that is wrong. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Any call that answers a number: 0 is success. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		int rc_ = (int)(call);                                                             \
		if (rc_) {                                                                         \
			fprintf(stderr, "%s:%d: %s answered %d\n", __FILE__, __LINE__, #call,      \
				rc_);                                                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
