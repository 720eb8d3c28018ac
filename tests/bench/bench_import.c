// SPDX-License-Identifier: Apache-2.0
/*
 * What a command takes: bench_import TIMES COMMAND... prints the least CPU seconds and the most resident bytes of so
 * many runs. A program of its own because a child's most resident memory begins with that of who started it, and
 * Python alone has 10 MB: what that said of a report of a small file was Python's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* 0, or 1 if the command did not end with 0. */
static int run(char **command, double *ret_s, long *ret_kib)
{
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (!pid) {
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(nowhere, STDOUT_FILENO);
		execv(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 1;
	*ret_s = seconds(&used.ru_utime) + seconds(&used.ru_stime);
	*ret_kib = used.ru_maxrss;
	return status != 0;
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	double best_s = 1e9, s = 0;
	long most_kib = 0, kib = 0;

	if (times < 1) {
		fputs("usage: bench_import TIMES COMMAND...\n", stderr);
		return 2;
	}
	for (int i = 0; i < times; i++) {
		if (run(argv + 2, &s, &kib)) {
			fprintf(stderr, "bench_import: %s failed\n", argv[2]);
			return 1;
		}
		best_s = s < best_s ? s : best_s;
		most_kib = kib > most_kib ? kib : most_kib;
	}
	printf("%.6f %ld\n", best_s, most_kib * 1024);
	return 0;
}
