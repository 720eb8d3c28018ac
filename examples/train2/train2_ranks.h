/* SPDX-License-Identifier: Apache-2.0 */
/* Options of train2, and the one call that turns one process into a parent that waits and one process per rank. */
#ifndef TRAIN2_RANKS_H
#define TRAIN2_RANKS_H

#define TRAIN2_MAX_RANKS 8

struct options {
	int ranks, steps;
	int late_rank, late_us; /* that rank sleeps so long before each step; -1 = nobody */
	int batch, seq, hidden, layers;
	int rank, id_read, id_write; /* of a rank's own process; -1 in the parent */
};

/* Exits with a usage line and 2 on anything it does not know. */
void parse_options(struct options *o, int argc, char **argv);

/*
 * Starts the ranks, each a fresh execution of this program, before anything touches CUDA (a CUDA context does not
 * survive a fork). Waits; when one fails the others are ended, since they would wait for it for ever. The exit code.
 */
int run_ranks(const struct options *o, char **argv);
#endif
