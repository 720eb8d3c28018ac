/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the XPlane importer share: import_xplane.c walks the file and gives each plane to xplane_gpu.c,
 * xplane_tpu.c or xplane_host.c; xplane_hlo.c keeps what compiled programs say of their instructions.
 */
#ifndef WT_IMPORT_XPLANE_H
#define WT_IMPORT_XPLANE_H

#include "import/importer.h"
#include "import/xplane.h"
#include "timeline/keyset.h"

extern const struct wt_importer wt_importer_xplane;

/* Programs (HloModule) found in the file; each is (program id, instruction) -> where it is in the model. */
struct wt_xhlo_row {
	uint32_t path, opcode, shapes; /* strings */
};
struct wt_xhlo {
	struct wt_builder *b;
	struct wt_keyset
		keys; /* (program id, string of the instruction's name, dots as underscores) */
	struct wt_xhlo_row *rows;
	size_t nrows, room;
	size_t nprograms;
	uint64_t faults;
	int error;
};

/* A step as a line or an annotation gives it. */
struct wt_xstep {
	int64_t start_ns, end_ns, step;
	uint32_t name, thread;
};
struct wt_xsteps {
	struct wt_xstep *rows;
	size_t n, room;
};

/* An instruction of a GPU program, whose path is known only when all planes have been read. */
struct wt_xpending {
	uint64_t program_id;
	uint32_t instruction; /* builder's index */
	uint32_t hlo_name;    /* string: the instruction's name, dots as underscores */
	uint32_t kernel;      /* string: the kernel's */
	uint32_t command_buffer;
	uint64_t executions;
};

struct wt_xp {
	struct wt_builder *b;
	uint32_t input;
	uint16_t process;
	struct wt_xhlo hlo;
	struct wt_xstats *stats, *meta_stats; /* scratch */
	struct wt_keyset instruction_keys;    /* (program id, hlo, kernel) -> pending */
	struct wt_xpending *pending;
	size_t npending, pending_room;
	struct wt_xsteps device_steps, host_steps;
	uint64_t start_ns;    /* profile_start_time; 0 = not said */
	int64_t last_line_ns; /* the latest of the lines' time stamps */
	uint64_t nameless;    /* device operations whose name the file no longer has */
	uint64_t untimed, aggregated, sparse_planes;
	int error; /* -WT_E_NOMEM, -WT_E_LIMIT */
};

/* One plane each. Faults are counted in the plane, errors of ours in xp->error. */
void wt_xp_gpu(struct wt_xp *xp, struct wt_xplane *x, int64_t ordinal);
void wt_xp_tpu(struct wt_xp *xp, struct wt_xplane *x, int64_t ordinal);
void wt_xp_host(struct wt_xp *xp, struct wt_xplane *x);
/* The plane of programs: adds them to xp->hlo. */
void wt_xp_programs(struct wt_xp *xp, struct wt_xplane *x);
/* When all planes are read: gives pending instructions their path, or notes that they cannot have one. */
void wt_xp_resolve(struct wt_xp *xp);

void wt_xhlo_init(struct wt_xhlo *h, struct wt_builder *b);
void wt_xhlo_release(struct wt_xhlo *h);
/* Reads an HloProto. */
void wt_xhlo_add(struct wt_xhlo *h, uint64_t program_id, const uint8_t *bytes, size_t n);
/* An empty row if it is not known, NULL when memory ran out. The name has underscores for dots. */
const struct wt_xhlo_row *wt_xhlo_find(struct wt_xhlo *h, uint64_t program_id, uint32_t name);

/* Start and end in ns: both are rounded down, so what touches goes on touching. 0 if the event has no usable time. */
int wt_xp_times(struct wt_xp *xp, const struct wt_xevent *e, int64_t *ret_start_ns,
		int64_t *ret_end_ns);
uint32_t wt_xp_string(struct wt_xp *xp, struct wt_xtext text);
/* As a kernel of that instruction is named: '.' and '-' become '_'. */
uint32_t wt_xp_symbol(struct wt_xp *xp, struct wt_xtext name);
void wt_xp_step(struct wt_xp *xp, struct wt_xsteps *steps, const struct wt_xstep *step);
/* A line of steps on a device. */
void wt_xp_step_line(struct wt_xp *xp, struct wt_xplane *x, const struct wt_xline *line);
/* The key under which a launch by the host and the module it started meet. */
uint64_t wt_xp_flow(const struct wt_xstats *s, enum wt_xstat type, enum wt_xstat id);

#endif
