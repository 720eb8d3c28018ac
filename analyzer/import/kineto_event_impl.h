/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the event reader, shared by kineto_event.c and kineto_layout.c alone. */
#ifndef WT_KINETO_EVENT_IMPL_H
#define WT_KINETO_EVENT_IMPL_H

#include "import/kineto_event.h"

#define WT_KINETO_SLOTS 128u
/* Arguments of so many operators are read in any case; of the others only if one of these had a stack. */
#define WT_KINETO_TRIED 64u

enum wt_kineto_field_kind {
	WT_KINETO_F_U64,
	WT_KINETO_F_U32,
	WT_KINETO_F_VEC3,
	WT_KINETO_F_OBJECT_NAME, /* args.name of metadata events */
	WT_KINETO_F_COPY_KIND,
	WT_KINETO_F_COLLECTIVE,
	WT_KINETO_F_DTYPE,
	WT_KINETO_F_GROUP,	 /* part of what names a process group */
	WT_KINETO_F_GROUP_DESC,	 /* that, and kept as text: what the framework calls it */
	WT_KINETO_F_GROUP_RANKS, /* that, and kept as text */
	WT_KINETO_F_STACK,
	WT_KINETO_F_DIMS, /* of operators: lists of sizes, types, values, one an input */
	WT_KINETO_F_TYPES,
	WT_KINETO_F_CONCRETE,
};
struct wt_kineto_field {
	const char *key;
	uint8_t n, kind;
	uint16_t offset;
	uint16_t flag;
};

struct wt_kineto_layout;
struct wt_kineto_sites;

struct wt_kineto_parser {
	struct wt_json *js;
	struct wt_json_text texts[2]; /* name, args.name: registered with the scanner */
	struct wt_kineto_event ev;
	uint64_t seen;
	uint64_t passed; /* events that nobody wants, read in one go before the one at hand */
	int keeps_asides;
	unsigned operators;		 /* read so far, up to WT_KINETO_TRIED */
	int has_stacks;			 /* one of them had a stack */
	uint8_t slots[WT_KINETO_SLOTS];	 /* hash of a key -> field + 1 */
	struct wt_kineto_layout *layout; /* NULL: not wanted */
	struct wt_kineto_sites *sites;
	uint8_t has_args; /* the event's arguments may differ from zero: it read some, or the one before */
	/* The event at hand. */
	uint8_t open;	      /* objects: 0 = not begun, 1, 2 = in its arguments */
	uint8_t unwanted;     /* what is left of it is skipped */
	uint8_t wants_args;   /* in its arguments: they are read, not skipped */
	uint8_t wants_inputs; /* the layout's: wt_kineto_wants_inputs() when they began */
};

/* What is known of an event before it is read. */
void wt_kineto_begin(struct wt_kineto_parser *ps);
/* The field of that name; NULL: none. */
const struct wt_kineto_field *wt_kineto_find_field(const struct wt_kineto_parser *ps,
						   struct wt_json_text key);
/* Its value comes next: not negative, or an error. */
int wt_kineto_read_field(struct wt_kineto_parser *ps, const struct wt_kineto_field *f);
/* Of a field between WT_KINETO_F_VEC3 and WT_KINETO_F_DIMS: the text that was its value. */
void wt_kineto_set_text(struct wt_kineto_parser *ps, const struct wt_kineto_field *f,
			struct wt_json_text t);
/* 1 if the lists of an operator's inputs say something of the event at hand. */
int wt_kineto_wants_inputs(const struct wt_kineto_parser *ps);
/* pid and tid by the text of a string or number: 1, or 0 if there is no number in it. */
int wt_kineto_id(struct wt_json_text t, int64_t *ret);
/* The value of a key of an event: 0, 1 after a word that can make the event unwanted, or an error. */
int wt_kineto_read_key(struct wt_kineto_parser *ps, struct wt_json_text key);
/* 1 if what has been read so far says that nobody wants this event. */
int wt_kineto_unwanted(const struct wt_kineto_parser *ps);
/* 1 if what has been read so far does not say that nobody wants its arguments. */
int wt_kineto_wants_args(const struct wt_kineto_parser *ps);

#endif
