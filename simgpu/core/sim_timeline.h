/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: operations, what they wait for, when they start and end. Times are integers; nothing measured enters
 * after `submit`:
 *
 *     start = max(ends of everything it waits for, submit + latency, end of the hold)      end = start + duration
 *
 * so an operation is settled (start and end known) the moment it is submitted, unless something before it is open: a
 * rendezvous with other processes, a host function, a wait for a value. Then it waits and is settled when that closes.
 * Completion (data moves, the sink and the truth are told) happens on the device thread once the clock has passed the
 * end, in order of end times.
 *
 * One lock, sim_lock, guards all of it. Functions want it held unless they say otherwise. Behaviours and sinks run
 * without it, on the device thread.
 */
#ifndef SIM_TIMELINE_H
#define SIM_TIMELINE_H

#include "simgpu/core/sim_base.h"
#include "simgpu/core/sim_export.h"

#include <pthread.h>

struct sim_work;
struct sim_lane;
struct sim_space;

/* What an operation does besides taking time. NULL slots = nothing. */
struct sim_behaviour {
	/*
	 * Open: the end is not start + duration but what poll or sim_work_close says. start is called when the clock
	 * has reached the start and all that ends before it is complete, its data moved.
	 */
	bool open;
	void (*start)(struct sim_work *w);
	/* 1: *ret_end_ns is the end. 0: ask again. < 0: it failed, its context gets an error. */
	int (*poll)(struct sim_work *w, int64_t *ret_end_ns);
	void (*finish)(struct sim_work *w);  /* moves data, after the end */
	void (*release)(struct sim_work *w); /* frees arg */
};

enum sim_work_state { SIM_NEW, SIM_WAITING, SIM_OPEN, SIM_SETTLED, SIM_DONE };

struct sim_work {
	struct sim_op op; /* kind 0: a marker that nobody is told of */
	const struct sim_behaviour *behaviour;
	void *arg;
	struct sim_lane *lane;
	int64_t duration_ns, latency_ns;
	int64_t floor_ns; /* what is known of the ends it waits for */
	uint64_t number;  /* order of submission */
	uint32_t waits;	  /* open operations it waits for */
	uint32_t refs;
	enum sim_work_state state;
	struct sim_edge *followers;
	struct sim_work *next; /* of the one list it is on */
};

/* A moment on the timeline: known, or the end of an open operation. Copy with sim_point_copy only. */
struct sim_point {
	int64_t ns;
	struct sim_work *open; /* holds a reference */
};

extern pthread_mutex_t sim_lock;
void sim_enter(void);
void sim_leave(void);

struct sim_work *sim_work_new(void); /* zeroed; number drawn: create in dependency order */
void sim_work_after(struct sim_work *w, struct sim_point *p);
void sim_work_submit(struct sim_work *w, int64_t submit_ns); /* gives the reference away */
void sim_work_unref(struct sim_work *w);
/* Ends an open operation that has no poll. Any thread. */
void sim_work_close(struct sim_work *w, int64_t end_ns);

void sim_point_set(struct sim_point *p,
		   struct sim_work *w); /* p = the end of w, which is submitted */
void sim_point_copy(struct sim_point *to, struct sim_point *from);
void sim_point_join(struct sim_point *into, struct sim_point *other); /* the later of the two */
void sim_point_clear(struct sim_point *p);
void sim_point_at_least(struct sim_point *p, int64_t ns);
/* The end of the hold, or the submission itself: nothing of the device is earlier. */
int64_t sim_earliest(int64_t submit_ns);

/* All that ends at p is complete, as seen at now. */
bool sim_point_done(struct sim_point *p, int64_t now_ns);
/* Sleeps until it is. The lock is given up meanwhile; p must stay where it is. False: the process is ending. */
bool sim_point_wait(struct sim_point *p);

/* One round of the device thread, at `now`; tests call it without a thread. True if anything happened. */
bool sim_step(int64_t now_ns);
/* Starts the device thread, once. Without the lock. */
void sim_engine_start(void);
/* Blocks until all whose end is <= the present clock has been completed. Without the lock. */
void sim_drain(void);
/* No more completions; waiters return. Waits at most limit_ns for what is due. Without the lock. */
void sim_engine_close(int64_t limit_ns);
/* Told of an open operation that failed, on the device thread, lock held. */
extern void (*sim_work_failed)(struct sim_work *w);
/* Wakes the device thread if it sleeps past what has to be done. */
void sim_kick(void);
/* Waits for any completion; the lock is given up meanwhile. False: the process is ending. */
bool sim_wait_progress(void);

#endif
