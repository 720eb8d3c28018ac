/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable arrays of rows, for the trace reader alone. WT_VEC(type) declares one (all zero = empty); wt_vec_add gives
 * the place of a new, zeroed row, or NULL when memory runs out: the reader then stops with -WT_E_NOMEM.
 */
#ifndef WT_VEC_H
#define WT_VEC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WT_VEC(type_)                                                                              \
	struct {                                                                                   \
		type_ *p;                                                                          \
		size_t n, room;                                                                    \
	}

static inline void *wt_vec_grow(void *p, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 64;

	if (n < *room)
		return p;
	if (want > SIZE_MAX / size / 2)
		return NULL;
	p = realloc(p, want * size);
	if (p)
		*room = want;
	return p;
}

#define wt_vec_add(v_)                                                                             \
	({                                                                                         \
		__typeof__((v_)->p) vec_p_ =                                                       \
			wt_vec_grow((v_)->p, (v_)->n, &(v_)->room, sizeof(*(v_)->p));              \
		if (vec_p_) {                                                                      \
			(v_)->p = vec_p_;                                                          \
			vec_p_ += (v_)->n++;                                                       \
			memset(vec_p_, 0, sizeof(*vec_p_));                                        \
		}                                                                                  \
		vec_p_;                                                                            \
	})

#endif
