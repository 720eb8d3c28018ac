// SPDX-License-Identifier: Apache-2.0
/*
 * train2's command line and its processes. The parent never calls CUDA: it makes one pipe, through which rank 0 hands
 * the NCCL id to the others, executes itself once per rank with RANK, LOCAL_RANK and WORLD_SIZE set as torchrun sets
 * them, and waits.
 */
#include "train2_ranks.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	size_t field;
	int first, min, max, multiple;
	const char *help; // NULL = for this program's own use
} table[] = {
	{"--ranks", offsetof(struct options, ranks), 2, 1, TRAIN2_MAX_RANKS, 1,
	 "processes, one per GPU"},
	{"--steps", offsetof(struct options, steps), 60, 1, 1000000, 1, "training steps"},
	{"--late-rank", offsetof(struct options, late_rank), -1, -1, TRAIN2_MAX_RANKS - 1, 1,
	 "this rank sleeps before each step"},
	{"--late-us", offsetof(struct options, late_us), 500, 0, 1000000, 1,
	 "so many microseconds"},
	{"--batch", offsetof(struct options, batch), 4, 1, 256, 1, "sequences per rank"},
	{"--seq", offsetof(struct options, seq), 256, 64, 8192, 64, "tokens per sequence"},
	{"--hidden", offsetof(struct options, hidden), 1024, 64, 8192, 64, "width"},
	{"--layers", offsetof(struct options, layers), 4, 1, 64, 1, "layers"},
	{"--rank", offsetof(struct options, rank), -1, 0, TRAIN2_MAX_RANKS - 1, 1, NULL},
	{"--id-read", offsetof(struct options, id_read), -1, 0, 1 << 20, 1, NULL},
	{"--id-write", offsetof(struct options, id_write), -1, 0, 1 << 20, 1, NULL},
};
#define N_OPTIONS (sizeof(table) / sizeof(table[0]))

static int *slot(struct options *o, size_t i)
{
	return (int *)((char *)o + table[i].field);
}

static void usage(FILE *to, int code)
{
	fprintf(to, "usage: train2 [OPTION N]...\n");
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (table[i].help)
			fprintf(to, "  %-12s %s (%d)\n", table[i].name, table[i].help,
				table[i].first);
	exit(code);
}

void parse_options(struct options *o, int argc, char **argv)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		*slot(o, i) = table[i].first;
	for (int a = 1; a < argc; a += 2) {
		size_t i = 0;
		char *end = NULL;

		if (!strcmp(argv[a], "--help"))
			usage(stdout, 0);
		while (i < N_OPTIONS && strcmp(argv[a], table[i].name))
			i++;
		const long value = i < N_OPTIONS && argv[a + 1] ? strtol(argv[a + 1], &end, 10) : 0;

		if (!end || end == argv[a + 1] || *end || value < table[i].min ||
		    value > table[i].max || value % table[i].multiple) {
			if (i < N_OPTIONS)
				fprintf(stderr,
					"train2: %s wants a number from %d to %d, a multiple of "
					"%d\n",
					argv[a], table[i].min, table[i].max, table[i].multiple);
			else
				fprintf(stderr, "train2: unknown option %s\n", argv[a]);
			usage(stderr, 2);
		}
		*slot(o, i) = (int)value;
	}
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

// In the child. The last value of a repeated option holds, so the user's own arguments go first.
static void exec_rank(const struct options *o, char **argv, int rank, const int *id_pipe)
{
	char number[3][16];
	char *args[64];
	int n = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM); // a launcher that is killed leaves no ranks behind
	while (argv[n] && n < 48)
		args[n] = argv[n], n++;
	snprintf(number[0], sizeof(number[0]), "%d", rank);
	snprintf(number[1], sizeof(number[1]), "%d", id_pipe[0]);
	snprintf(number[2], sizeof(number[2]), "%d", id_pipe[1]);
	const char *own[] = {"--rank", number[0], "--id-read", number[1], "--id-write", number[2]};

	for (size_t i = 0; i < 6; i++)
		args[n++] = (char *)own[i];
	args[n] = NULL;
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	set_number("WORLD_SIZE", o->ranks);
	execv("/proc/self/exe", args);
	fprintf(stderr, "train2: cannot execute itself: %s\n", strerror(errno));
	_exit(127);
}

int run_ranks(const struct options *o, char **argv)
{
	pid_t pid[TRAIN2_MAX_RANKS];
	int id_pipe[2], status, code = 0;

	if (pipe(id_pipe)) {
		perror("train2: pipe");
		return 1;
	}
	for (int r = 0; r < o->ranks; r++) {
		pid[r] = fork();
		if (pid[r] == 0)
			exec_rank(o, argv, r, id_pipe);
		if (pid[r] < 0)
			perror("train2: fork"), code = 1;
	}
	close(id_pipe[0]);
	close(id_pipe[1]);
	for (int left = o->ranks; left > 0 && !code; left--) {
		const pid_t done = waitpid(-1, &status, 0);

		if (done < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			code = 1;
		for (int r = 0; r < o->ranks; r++)
			if (pid[r] == done)
				pid[r] = -1;
	}
	for (int r = 0; r < o->ranks; r++)
		if (code && pid[r] > 0)
			kill(pid[r], SIGTERM), waitpid(pid[r], NULL, 0);
	if (code)
		fprintf(stderr, "train2: a rank failed\n");
	return code;
}
