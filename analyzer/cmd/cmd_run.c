// SPDX-License-Identifier: Apache-2.0
/*
 * warptap run: records a command and its children. Sets the environment, runs the command in the foreground with its
 * input, output and signals untouched, and ends as it ended: same exit code, or by the same signal.
 *
 * The agent must be the first library preloaded (two interposers of dlsym compose only in that order), but for the
 * address sanitizer's runtime, which refuses to be second.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/rank_list.h"
#include "cmd/cmd.h"
#include "cmd/run_sim.h"
#include "cmd/places.h"
#include "cmd/say.h"
#include "recover/recover.h"

#define EXIT_CANNOT_RUN 126 /* as env(1) and the shells have it */
#define EXIT_NOT_FOUND	127

static const char usage_text[] =
	"usage: warptap run [-o DIR] [--level LEVEL] [--budget PERCENT] [--window-every SPAN\n"
	"                   --window-for SPAN] [--ranks LIST] [--redact]\n"
	"                   [--sim DEVICE[,scenario=FILE][,devices=N][,preload]] [-q] [--] "
	"COMMAND...\n"
	"\n"
	"Records COMMAND and its children, one trace for each process that uses CUDA. See man\n"
	"warptap-run.\n"
	"\n"
	"  -o DIR               where the traces go (default: warptap-<time>)\n"
	"  --level LEVEL        trace (default), api, count or off\n"
	"  --budget PERCENT     what recording may cost (default 1; 0: no limit)\n"
	"  --window-every SPAN  only in windows: one so often (10m, 500steps, 1000collectives),\n"
	"  --window-for SPAN    and each so long; count between them\n"
	"  --ranks LIST         the ranks that open windows: 0,8-15, or a share of them, 25%\n"
	"  --redact             no names of programs, hosts, kernels and marks, no paths, no "
	"environment\n"
	"  --sim DEVICE         puts the simulated CUDA under it (a100, h100, h200, b200); the "
	"truth\n"
	"                       goes to DIR too\n"
	"  -q                   say nothing but errors\n";

/* Options that are settings of the agent: a variable of the command's, checked by the agent's own parser. */
enum { SET_LEVEL, SET_BUDGET, SET_EVERY, SET_FOR, SET_RANKS, SETTINGS };
static const struct {
	const char *option, *variable, *expected;
} settings[SETTINGS] = {
	[SET_LEVEL] = {"--level", "WARPTAP_LEVEL", "trace, api, count or off"},
	[SET_BUDGET] = {"--budget", "WARPTAP_BUDGET", "percent, 0 to 100"},
	[SET_EVERY] = {"--window-every", "WARPTAP_WINDOW_EVERY",
		       "500ms, 10s, 5m, 1h, 100steps or 1000collectives"},
	[SET_FOR] = {"--window-for", "WARPTAP_WINDOW_FOR",
		     "500ms, 10s, 5m, 1h, 100steps or 1000collectives"},
	[SET_RANKS] = {"--ranks", "WARPTAP_RANKS", "0,8-15 or 25%"},
};

struct options {
	const char *dir, *sim, *setting[SETTINGS];
	int quiet, redact;
	char **command;
};

struct run {
	char dir[PATH_MAX];   /* absolute */
	char agent[PATH_MAX]; /* libwarptap.so */
	char sim_lib[PATH_MAX];
	int made_dir;
	struct timespec start;
};

static volatile sig_atomic_t child_pid;

/* ---- arguments ---- */

/* Where an option's value belongs; NULL: no such option. */
static const char **value_of(struct options *o, const char *name)
{
	if (!strcmp(name, "-o"))
		return &o->dir;
	if (!strcmp(name, "--sim"))
		return &o->sim;
	for (size_t i = 0; i < SETTINGS; i++)
		if (!strcmp(name, settings[i].option))
			return &o->setting[i];
	return NULL;
}

static int wrong_use(const char *what, const char *which)
{
	wt_say(stderr, "warptap run: %s%s%s\n%s", what, which ? " " : "", which ? which : "",
	       usage_text);
	return WT_EXIT_USAGE;
}

/* 0, or an exit code to return with. */
static int parse(int argc, char **argv, struct options *ret)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char **value = value_of(ret, argv[i]);

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "-q") || !strcmp(argv[i], "--quiet")) {
			ret->quiet = 1;
		} else if (!strcmp(argv[i], "--redact")) {
			ret->redact = 1;
		} else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage_text, stdout);
			return -1;
		} else if (!value) {
			return wrong_use("unknown option", argv[i]);
		} else if (i + 1 >= argc) {
			return wrong_use("a value is missing after", argv[i]);
		} else {
			*value = argv[++i];
		}
	}
	ret->command = argv + i;
	return i < argc ? 0 : wrong_use("no command to run", NULL);
}

/* The agent would keep its default and say so in a log that nobody reads before the job is over. */
static int check_settings(const struct options *opt)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *v = opt->setting[i];

		if (!v || (*v && !wt_config_set(settings[i].variable, v) &&
			   (i != SET_RANKS || wt_rank_is_in(v, 0) >= 0)))
			continue;
		wt_say_line(stderr, "warptap run: %s %s: expected %s", settings[i].option, v,
			    settings[i].expected);
		return WT_EXIT_USAGE;
	}
	if ((opt->setting[SET_EVERY] && !opt->setting[SET_FOR] && !getenv("WARPTAP_WINDOW_FOR")) ||
	    (opt->setting[SET_FOR] && !opt->setting[SET_EVERY] && !getenv("WARPTAP_WINDOW_EVERY")))
		return wrong_use("a window needs both --window-every and --window-for", NULL);
	return 0;
}

/* ---- places ---- */

static int make_dir(struct run *run, const char *wanted)
{
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	struct stat st;
	char *path = NULL;

	if (!wanted) {
		localtime_r(&now, &tm);
		strftime(name, sizeof(name), "warptap-%Y%m%d-%H%M%S", &tm);
		wanted = name;
	}
	/* The folders above it too; what exists is fine. */
	path = strdup(wanted);
	for (char *p = path ? path + 1 : NULL; p && *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		mkdir(path, 0777);
		*p = '/';
	}
	free(path);
	run->made_dir = !mkdir(wanted, 0777);
	if (!run->made_dir && errno != EEXIST) {
		wt_say_line(stderr, "warptap run: cannot make %s: %s", wanted, strerror(errno));
		return WT_EXIT_FAILED;
	}
	if (!run->made_dir && (stat(wanted, &st) || !S_ISDIR(st.st_mode))) {
		wt_say_line(stderr, "warptap run: %s is there and is not a folder", wanted);
		return WT_EXIT_FAILED;
	}
	if (!realpath(wanted, run->dir) || access(run->dir, W_OK | X_OK)) {
		wt_say_line(stderr, "warptap run: cannot write to %s: %s", wanted, strerror(errno));
		return WT_EXIT_FAILED;
	}
	return 0;
}

static int find_parts(struct run *run, const struct options *opt)
{
	if (wt_place_find(run->agent, "libwarptap.so")) {
		wt_say_line(stderr,
			    "warptap run: libwarptap.so is neither beside this program nor in "
			    "../lib/warptap: "
			    "build or install it");
		return WT_EXIT_FAILED;
	}
	if (strpbrk(run->agent, ": ")) { /* what separates the entries of LD_PRELOAD */
		wt_say_line(stderr,
			    "warptap run: %s: the loader takes no path with a space or colon",
			    run->agent);
		return WT_EXIT_FAILED;
	}
	if (opt->sim && wt_place_find(run->sim_lib, "simgpu/lib")) {
		wt_say_line(stderr,
			    "warptap run: --sim: the simulated libraries are neither beside "
			    "this program nor in "
			    "../lib/warptap/simgpu");
		return WT_EXIT_FAILED;
	}
	return 0;
}

/* ---- environment ---- */

/* The first entry of LD_PRELOAD, if it is a sanitizer's runtime, stays first. */
static int preload(const char *agent)
{
	const char *old = getenv("LD_PRELOAD");
	size_t n = old ? strcspn(old, ": ") : 0;
	char *text = NULL;
	int r;

	if (!n || (!memmem(old, n, "libasan", 7) && !memmem(old, n, "libclang_rt.asan", 16)))
		return wt_run_prepend("LD_PRELOAD", agent);
	if (asprintf(&text, "%.*s:%s%s%s", (int)n, old, agent, old[n] ? ":" : "",
		     old[n] ? old + n + 1 : "") < 0)
		return -1;
	r = setenv("LD_PRELOAD", text, 1);
	free(text);
	return r;
}

/* The process itself is NCCL's profiler plugin, as ours is preloaded; one that the job names stays. */
/* The ranks and workers of this command are to agree on names; whoever starts several commands has set it already. */
static int set_redact_key(void)
{
	uint8_t random[16];
	char text[2 * sizeof(random) + 1];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -1;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	return setenv("WARPTAP_REDACT_KEY", text, 0);
}

static int set_profiler(void)
{
	const char *asked = getenv("WARPTAP_NCCL_PROFILER");

	return asked && *asked && strcmp(asked, "0")
		       ? setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 0)
		       : 0;
}

static int set_environment(const struct run *run, const struct options *opt)
{
	if (opt->sim) {
		int r = wt_run_sim(opt->sim, run->sim_lib, run->dir);

		if (r)
			return r;
	}
	for (size_t i = 0; i < SETTINGS; i++) {
		if (opt->setting[i] && setenv(settings[i].variable, opt->setting[i], 1)) {
			wt_say_line(stderr, "warptap run: %s", strerror(errno));
			return WT_EXIT_FAILED;
		}
	}
	if (opt->redact && (setenv("WARPTAP_REDACT", "1", 1) || set_redact_key())) {
		wt_say_line(stderr, "warptap run: %s", strerror(errno));
		return WT_EXIT_FAILED;
	}
	/* NVTX takes one tool; whoever is named already keeps it. */
	if (setenv("NVTX_INJECTION64_PATH", run->agent, 0) || setenv("WARPTAP_DIR", run->dir, 1) ||
	    set_profiler() || preload(run->agent)) {
		wt_say_line(stderr, "warptap run: %s", strerror(errno));
		return WT_EXIT_FAILED;
	}
	return 0;
}

/* ---- the command ---- */

static void pass_on(int sig)
{
	if (child_pid > 0)
		kill(child_pid, sig);
}

/*
 * What a terminal sends goes to the whole foreground group, the command included: only ignored here. What somebody
 * sends to us alone is meant for the command.
 */
static void set_signals(void)
{
	static const int forward[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_flags = SA_RESTART;
	sa.sa_handler = pass_on;
	for (size_t i = 0; i < sizeof(forward) / sizeof(forward[0]); i++) {
		struct sigaction old;

		/* nohup: what was ignored stays ignored, here and in the command. */
		if (!sigaction(forward[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(forward[i], &sa, NULL);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* Child: exec, or tell the parent why not. */
static _Noreturn void become(char **command, int tell, const sigset_t *mask)
{
	int e;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	e = errno;
	if (write(tell, &e, sizeof(e)) < 0)
		e = 0; /* the exit code still says it */
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Runs it; *ret_status as wait gives it. 0, or an exit code. */
static int execute(char **command, const struct run *run, const struct options *opt,
		   int *ret_status)
{
	void (*child_died)(int);
	sigset_t all, old;
	int tell[2], why = 0, r;
	pid_t pid;

	if (pipe2(tell, O_CLOEXEC)) {
		wt_say_line(stderr, "warptap run: %s", strerror(errno));
		return WT_EXIT_FAILED;
	}
	/* No signal may come between the fork and the handlers that know whom to pass it to. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* Ignored by who began us, it would take the command's exit code along; the command has it as it was. */
	child_died = signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (!pid) {
		if (child_died == SIG_IGN)
			signal(SIGCHLD, SIG_IGN);
		/* Only this process: our own environment must not preload into us, or into what we run later. */
		r = set_environment(run, opt);
		if (r) {
			why = -r; /* said already; the parent only has to end with it */
			r = write(tell[1], &why, sizeof(why)) < 0 ? WT_EXIT_FAILED : r;
			_exit(r);
		}
		become(command, tell[1], &old);
	}
	close(tell[1]);
	if (pid > 0) {
		child_pid = pid;
		set_signals();
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0 || read(tell[0], &why, sizeof(why)) < 0)
		why = errno;
	close(tell[0]);
	while (pid > 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	if (why > 0) {
		wt_say_line(stderr, "warptap run: cannot run %s: %s", command[0], strerror(why));
		return why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	return -why;
}

/* ---- afterwards ---- */

struct found {
	int traces, earlier, cut, logs;
	int error; /* of the folder itself */
};

static int ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* File times come from a clock that moves in ticks: they may lag behind ours by one. */
static int is_older(const struct timespec *file, const struct timespec *start)
{
	int64_t ns = ((int64_t)start->tv_sec - file->tv_sec) * 1000000000 + start->tv_nsec -
		     file->tv_nsec;

	return ns > 20000000;
}

/* A trace that was not closed, and whose black box lies in another folder. */
static int has_box_elsewhere(const char *dir, const char *name)
{
	char trace[PATH_MAX], ring[PATH_MAX];
	size_t n = strlen(dir);

	if (!ends_with(name, ".wt") ||
	    snprintf(trace, sizeof(trace), "%s/%s", dir, name) >= (int)sizeof(trace) ||
	    wt_recover_box_of(trace, ring, sizeof(ring)))
		return 0;
	return strncmp(ring, dir, n) != 0 || ring[n] != '/';
}

/* What this run left; the folder may have been there before. */
static struct found look(const struct run *run)
{
	struct found f = {.traces = 0};
	DIR *d = opendir(run->dir);
	struct dirent *e;

	f.error = d ? 0 : errno;
	while (d && (e = readdir(d))) {
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (is_older(&st.st_mtim, &run->start)) {
			f.earlier += ends_with(e->d_name, ".wt");
			continue;
		}
		f.traces += ends_with(e->d_name, ".wt");
		f.cut += ends_with(e->d_name, ".ring") || has_box_elsewhere(run->dir, e->d_name);
		f.logs += ends_with(e->d_name, ".log");
	}
	if (d)
		closedir(d);
	return f;
}

static void tell_end(const struct run *run, const struct options *opt, int status)
{
	struct found f = look(run);
	const char *shown = opt->dir ? opt->dir : strrchr(run->dir, '/') + 1;

	if (!f.traces && run->made_dir)
		rmdir(run->dir); /* only if nothing at all is in it */
	if (opt->quiet)
		return;
	if (f.error) {
		wt_say_line(stderr, "warptap: %s: %s: what was recorded there is not to be found",
			    shown, strerror(f.error));
		return;
	}
	if (!f.traces && !f.logs) {
		wt_say_line(stderr, "warptap: no process with the agent in it used CUDA: nothing "
				    "was recorded; one that is given another LD_PRELOAD, or an "
				    "environment of its own, has none");
		return;
	}
	if (!f.traces) {
		wt_say_line(stderr, "warptap: nothing was recorded: see %s/*.log", shown);
		return;
	}
	wt_say_line(stderr, "warptap: %d trace%s in %s", f.traces, f.traces > 1 ? "s" : "", shown);
	if (f.cut)
		wt_say_line(
			stderr,
			"warptap: %d trace%s not closed (killed, still running, or too little time "
			"at exit: WARPTAP_EXIT_MS); what is in there can be reported",
			f.cut, f.cut > 1 ? "s" : "");
	if (f.earlier)
		wt_say_line(stderr,
			    "warptap: %s also holds %d trace%s of an earlier run: a report of the "
			    "folder takes them as one job",
			    shown, f.earlier, f.earlier > 1 ? "s" : "");
	wt_say_line(stderr, "warptap: to see it: warptap report %s", shown);
}

/* Ends as the command ended: a shell sees the same signal, not a code that means it. */
static int end_like(int status)
{
	struct rlimit no_core = {0, 0};
	sigset_t its;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core); /* the command has left its own */
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&its);
	sigaddset(&its, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &its, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int wt_cmd_run(int argc, char **argv)
{
	static struct run run;
	struct options opt = {.dir = NULL};
	int r = parse(argc, argv, &opt), status = 0;

	if (r)
		return r < 0 ? WT_EXIT_OK : r;
	if ((r = check_settings(&opt)))
		return r;
	if ((r = find_parts(&run, &opt)) || (r = make_dir(&run, opt.dir)))
		return r;
	clock_gettime(CLOCK_REALTIME, &run.start);
	r = execute(opt.command, &run, &opt, &status);
	if (r) {
		if (run.made_dir)
			rmdir(run.dir);
		return r;
	}
	tell_end(&run, &opt, status);
	if (opt.sim && !opt.quiet)
		wt_run_sim_hint();
	return end_like(status);
}
