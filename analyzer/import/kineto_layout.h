/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How events are laid out: a memory that makes the reading of the next one fast.
 *
 * Writers print events from a few templates, so between two values stands the same text again and again: punctuation,
 * white space, keys, and the words that say what an event is. The text before each value of an event that was read is
 * kept in a tree (a step a value); where the next event has the text of a known step, one comparison stands for all of
 * it, and the value behind it is read at once. What is not foreseen (another key, another order, a value that is not
 * plain, the window's end) is left to the ordinary reader, which goes on from there. So nothing depends on it but time:
 * the same events come out, and the same faults.
 */
#ifndef WT_KINETO_LAYOUT_H
#define WT_KINETO_LAYOUT_H

struct wt_kineto_layout;
struct wt_kineto_parser;

extern int wt_kineto_layout_narrow; /* for tests: 1 = new ones do without wide vectors */

/* NULL: no memory. */
struct wt_kineto_layout *wt_kineto_layout_new(void);
void wt_kineto_layout_free(struct wt_kineto_layout *l);
/*
 * Reads as much of the event that begins at the scanner's place as is foreseen. 1: all of it. 0: what is left begins
 * behind a value, in ps->open objects (0: nothing was read). Or the scanner's error.
 */
int wt_kineto_layout_read(struct wt_kineto_parser *ps);
/* The event that was just read, from the scanner's mark to its place, is remembered if it can be. */
void wt_kineto_layout_learn(struct wt_kineto_parser *ps);

#endif
