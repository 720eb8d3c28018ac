/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plane of an XPlane file, in memory: lines of events, and the tables that give events and stats their names. The
 * tables lie behind the lines, so they are indexed first. Nothing is copied: everything points into the plane's bytes.
 *
 * Times: an event starts line.timestamp_ns * 1000 + offset_ps after the epoch of the file, in picoseconds.
 */
#ifndef WT_XPLANE_H
#define WT_XPLANE_H

#include "base/map.h"
#include "import/wire.h"

enum wt_xstat {
	WT_XSTAT_OTHER,
#define WT_XSTAT(key_, name_) WT_XSTAT_##key_,
#include "import/xstats.def"
#undef WT_XSTAT
	WT_XSTATS
};
_Static_assert(WT_XSTATS <= 64, "a mask of stats is 64 bits");
#define WT_XSTAT_BIT(key_) (UINT64_C(1) << WT_XSTAT_##key_)

struct wt_xtext {
	const char *s; /* not terminated */
	size_t n;
};

/* The value of a stat. A reference to another name is followed: it is a text. */
struct wt_xvalue {
	enum { WT_XVALUE_INTEGER, WT_XVALUE_DOUBLE, WT_XVALUE_TEXT } kind;
	uint64_t u; /* negative ones in two's complement */
	double d;
	struct wt_xtext text;
};
struct wt_xstats {     /* those of xstats.def that are there */
	uint64_t seen; /* WT_XSTAT_BIT */
	struct wt_xvalue value[WT_XSTATS];
};

/* What events of one kind share. */
struct wt_xmeta {
	const uint8_t *body; /* XEventMetadata */
	uint32_t n;
	uint32_t name;	      /* for the importer: builder's string ... */
	uint32_t instruction; /* ... and instruction */
	uint8_t state;	      /* ... and what it made of it; 0 = not looked at */
	uint8_t kind, copy_kind, flags;
};
struct wt_xline {
	const uint8_t *body;
	size_t n;
	int64_t id, timestamp_ns;
	struct wt_xtext name; /* display name if it has no other */
};
struct wt_xevent {
	int64_t start_ps, end_ps;
	int32_t meta; /* index into metas, -1 = not in the file */
	uint8_t bad_time, aggregated;
};

struct wt_xplane {
	const uint8_t *body;
	size_t n;
	struct wt_xtext name;
	struct wt_xline *lines;
	size_t nlines, lines_room;
	struct wt_xmeta *metas;
	size_t nmetas, metas_room;
	struct wt_map meta_of; /* id -> index */
	struct wt_xname {
		const uint8_t *s;
		uint32_t n;
		uint8_t key; /* enum wt_xstat */
	} * names;
	size_t nnames, names_room;
	struct wt_map name_of;
	struct wt_xstats stats; /* of the plane */
	uint64_t faults;	/* messages that could not be read */
	int64_t first_fault;	/* offset into body, -1 = none */
	int cut; /* the plane ends too early: a fault at its end is the file's, not its own */
};

/* Indexes the plane. 0 or -WT_E_NOMEM; damage is counted in x->faults. `cut`: the file ended inside it. */
int wt_xplane_open(struct wt_xplane *x, const uint8_t *bytes, size_t n, int cut);
void wt_xplane_release(struct wt_xplane *x);

/* The next event of a line, `w` starting as its body: 1, or 0 at its end. *stats gets the event's stats. */
int wt_xline_next(struct wt_xplane *x, const struct wt_xline *line, struct wt_wire *w,
		  struct wt_xevent *ret, struct wt_xstats *stats);

/* Name, display name and stats of an event's kind; any may be NULL. */
void wt_xmeta_read(struct wt_xplane *x, const struct wt_xmeta *m, struct wt_xtext *name,
		   struct wt_xtext *display, struct wt_xstats *stats);

/* The text of a stat, {"", 0} if it is not there or no text; its integer, 0 likewise (decimal text is read). */
struct wt_xtext wt_xstats_text(const struct wt_xstats *s, enum wt_xstat key);
uint64_t wt_xstats_integer(const struct wt_xstats *s, enum wt_xstat key);
double wt_xstats_double(const struct wt_xstats *s, enum wt_xstat key);

static inline int wt_xtext_starts(struct wt_xtext t, const char *prefix)
{
	return t.n >= __builtin_strlen(prefix) &&
	       !__builtin_memcmp(t.s, prefix, __builtin_strlen(prefix));
}
static inline int wt_xtext_is(struct wt_xtext t, const char *s)
{
	return t.n == __builtin_strlen(s) && !__builtin_memcmp(t.s, s, t.n);
}

#endif
