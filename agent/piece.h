/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of 64 KiB of the black box that hold what rows name: the registry's entries and texts, and the names CUPTI's
 * records point to. Taken once, never given back, and part of the black-box format (warptap-trace.5): recovery reads
 * them from the file of a job that is gone.
 */
#ifndef WT_PIECE_H
#define WT_PIECE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "registry.h"

#define WT_PIECE_BYTES 65536u
#define WT_PIECE_MAGIC 0x43505457u /* "WTPC" */
#define WT_PIECE_NODES ((WT_PIECE_BYTES - sizeof(struct wt_piece)) / sizeof(struct wt_reg_node))
#define WT_PIECE_SLOTS ((WT_PIECE_BYTES - sizeof(struct wt_piece)) / sizeof(struct wt_address))

enum wt_piece_what { /* below: enum wt_reg_kind */
		     WT_PIECE_NAMES = WT_REG_KINDS,
		     WT_PIECE_ADDRESSES,
		     WT_PIECE_KINDS
};

struct wt_piece { /* its first line; a piece without its magic was never taken */
	uint32_t magic;
	uint32_t what; /* enum wt_reg_kind: nodes; or enum wt_piece_what */
	uint32_t
		index; /* among those: nodes index * WT_PIECE_NODES + 1 and on; texts at index * WT_PIECE_BYTES */
	uint32_t pad[13];
};

#define WT_REG_WORDS (sizeof(struct wt_reg_entry) / sizeof(uint64_t))

struct wt_reg_node {
	_Atomic uint32_t version; /* odd while words change */
	_Atomic uint32_t chain;	  /* newest entry of the bucket's next handle, id; 0 = end */
	uint32_t older;		  /* who had this handle before, id; 0 = nobody */
	uint32_t jump;		  /* one further back, id; of the first: itself */
	uint32_t lives;		  /* how many had this handle before */
	uint32_t sibling;	  /* functions: next of the same module, id */
	_Atomic uint32_t first;	  /* modules: newest function, id */
	uint32_t said;		  /* the trace's id of it, 0 = none yet (writer only) */
	_Atomic uint64_t word[WT_REG_WORDS];
};

struct wt_reg_text { /* at multiples of 8; hash 0 = end of the piece */
	uint32_t hash, len;
	char text[];
};

struct wt_address { /* where a kernel's name stood in the job's memory, and what it was */
	uint64_t address;
	uint32_t text;	 /* offset in the name store */
	uint32_t string; /* the trace's id */
};

#define WT_ADDRESS_PROBES 4u /* slots tried for an address, from the first one on */
static inline uint32_t wt_address_slot(uint64_t address)
{
	return (uint32_t)(address >> 3 ^ address >> 15);
}

static inline struct wt_reg_node *wt_piece_node(uint8_t *piece, uint32_t id)
{
	return (struct wt_reg_node *)(piece + sizeof(struct wt_piece)) + (id - 1) % WT_PIECE_NODES;
}

static inline struct wt_reg_text *wt_piece_text(uint8_t *piece, uint32_t offset)
{
	return (struct wt_reg_text *)(piece + offset % WT_PIECE_BYTES -
				      offsetof(struct wt_reg_text, text));
}

/* A zeroed piece for this, or NULL: none in reserve (the writer makes more). Any thread, no lock. */
uint8_t *wt_box_piece(uint32_t what, uint32_t index);

#endif
