/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the memory of layouts: kineto_layout.c fills it, kineto_layout_read.c reads by it. */
#ifndef WT_KINETO_LAYOUT_IMPL_H
#define WT_KINETO_LAYOUT_IMPL_H

#include "base/region.h"
#include "import/kineto_event_impl.h"
#include "import/kineto_layout.h"

#define MAX_STEPS  512
#define SHORT_TEXT 48u

enum value { V_END, V_SKIP, V_NAME, V_TS, V_DUR, V_PID, V_TID, V_U64, V_U32, V_VEC3, V_FIELD };

/* What every comparison and every value needs is in one cache line. */
struct step {
	uint8_t text[SHORT_TEXT]; /* the beginning, padded */
	struct step *next;	  /* what can follow */
	uint16_t n;
	uint8_t value;
	uint8_t depth;	/* of the value */
	uint8_t enters; /* arguments begin in the text */
	uint8_t says;	/* ph or cat is in the text */
	uint8_t has_cat, cat;

	struct step *other;		     /* what can come instead */
	const uint8_t *more;		     /* the text's rest, padded */
	const struct wt_kineto_field *field; /* of V_U64, V_U32, V_VEC3, V_FIELD */
	struct wt_json_text key;
	struct step *guess; /* of an event's end: how the next one began the last time */
	char ph;	    /* 0 = not in the text */
} __attribute__((aligned(64)));

struct wt_kineto_layout {
	struct step *first;
	int (*read)(struct wt_kineto_parser *ps);
	struct step *last; /* the end of the event before this one; NULL: not known */
	struct wt_region texts;
	unsigned nsteps, learned;
	struct step steps[MAX_STEPS];
};

/* wt_kineto_layout_read(), for any processor and for those with 64-byte vectors. */
int wt_kineto_layout_read_any(struct wt_kineto_parser *ps);
int wt_kineto_layout_read_wide(struct wt_kineto_parser *ps);

#endif
