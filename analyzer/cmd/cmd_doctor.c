// SPDX-License-Identifier: Apache-2.0
/*
 * warptap doctor: can this machine, this container and this command be recorded, at which level, and if not, why? One
 * line a finding, one screen. The driver and CUPTI are asked in a child, which may crash or hang without harm; the
 * command is looked at, not run.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sandbox.h"
#include "cmd/agents.h"
#include "cmd/cmd.h"
#include "cmd/places.h"
#include "cmd/say.h"

#define PROBE_S	   30
#define AGENTS_MAX 256

static const char usage_text[] =
	"usage: warptap doctor [--sim] [-o DIR] [--] [COMMAND...]\n"
	"\n"
	"Says whether this machine and COMMAND can be recorded, at which level, and why not\n"
	"at a better one. COMMAND is looked at and not run. See man warptap-doctor.\n"
	"\n"
	"  --sim    as under 'warptap run --sim'\n"
	"  -o DIR   where the traces would go (default: the current directory)\n";

enum grade { GOOD, NOTE, BAD };

static struct {
	int level; /* best that is possible: 0 none, 2 api, 3 trace */
	int notes;
} verdict = {.level = 3};

static void __attribute__((format(printf, 3, 4)))
say(enum grade g, const char *topic, const char *fmt, ...)
{
	static const char *const marks[] = {"ok  ", "note", "NO  "};
	va_list ap;

	printf("  %s  %-10s ", marks[g], topic);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	verdict.notes += g == NOTE;
}

static void limit(int level)
{
	if (verdict.level > level)
		verdict.level = level;
}

/* ---- driver and CUPTI, asked in a child ---- */

struct probe {
	int has_driver, driver_version, init, devices;
	char device[128], driver_path[256];
	int has_cupti, fine; /* fine: single calls can be selected (12.6) */
	unsigned cupti_version;
	char cupti_path[256];
};

static void path_of(void *lib, char *out, size_t n)
{
	struct link_map *map = NULL;

	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
		snprintf(out, n, "%s", map->l_name);
}

static void *open_part(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	if (!*dir)
		return dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

static void ask_driver(const char *dir, struct probe *p)
{
	void *lib = open_part(dir, "libcuda.so.1");
	int (*init)(unsigned), (*version)(int *), (*count)(int *), (*get)(int *, int),
		(*name)(char *, int, int);
	int dev;

	if (!lib)
		return;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&version = dlsym(lib, "cuDriverGetVersion");
	*(void **)&count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&get = dlsym(lib, "cuDeviceGet");
	*(void **)&name = dlsym(lib, "cuDeviceGetName");
	p->has_driver = 1;
	path_of(lib, p->driver_path, sizeof(p->driver_path));
	if (!init || !version || !count || !get || !name) {
		p->init = -1;
		return;
	}
	version(&p->driver_version);
	p->init = init(0);
	if (!p->init && !count(&p->devices) && p->devices && !get(&dev, 0))
		name(p->device, sizeof(p->device), dev);
}

static void ask_cupti(const char *dir, struct probe *p)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
	int (*version)(unsigned *);
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !lib; i++)
		lib = open_part(dir, names[i]);
	if (!lib)
		return;
	p->has_cupti = 1;
	path_of(lib, p->cupti_path, sizeof(p->cupti_path));
	p->fine = dlsym(lib, "cuptiActivityEnableRuntimeApi") &&
		  dlsym(lib, "cuptiActivityEnableDriverApi");
	*(void **)&version = dlsym(lib, "cuptiGetVersion");
	if (version)
		version(&p->cupti_version);
}

/* 0; else how the child ended, as wait says. */
static int probe(const char *dir, struct probe *ret)
{
	int pipe_fd[2], status = 0;
	ssize_t n;
	pid_t pid;

	fflush(NULL);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		struct probe p = {.has_driver = 0};
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		alarm(PROBE_S);
		ask_driver(dir, &p);
		if (p.has_driver && !p.init) /* without a driver CUPTI crashes */
			ask_cupti(dir, &p);
		n = write(pipe_fd[1], &p, sizeof(p));
		_exit(n != sizeof(p));
	}
	close(pipe_fd[1]);
	n = pid < 0 ? -1 : read(pipe_fd[0], ret, sizeof(*ret));
	close(pipe_fd[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return n == sizeof(*ret) ? 0 : status ? status : -1;
}

static void check_driver(const struct probe *p)
{
	if (!p->has_driver || p->init)
		limit(0);
	if (!p->has_driver)
		say(BAD, "driver",
		    "no libcuda.so.1: no NVIDIA driver here, or the container was not given it");
	else if (p->init)
		say(BAD, "driver", "%s: cuInit answers %d%s", p->driver_path, p->init,
		    p->init == 100 ? " (no device)" : "");
	else
		say(GOOD, "driver", "CUDA %d.%d, %d device%s, %s (%s)", p->driver_version / 1000,
		    p->driver_version % 1000 / 10, p->devices, p->devices == 1 ? "" : "s",
		    p->device, p->driver_path);
}

static void check_cupti(const struct probe *p)
{
	if (!p->has_driver || p->init)
		return;
	if (!p->has_cupti) {
		limit(2);
		say(BAD, "CUPTI",
		    "no libcupti.so.13, .12 or .11.8 on the library path: no device times. It "
		    "comes with the "
		    "CUDA toolkit (extras/CUPTI/lib64) and with PyTorch's wheels");
	} else if (!p->fine) {
		say(NOTE, "CUPTI",
		    "version %u (%s): before 12.6, calls and records are joined by order alone",
		    p->cupti_version, p->cupti_path);
	} else {
		say(GOOD, "CUPTI", "version %u (%s)", p->cupti_version, p->cupti_path);
	}
}

/* Hardware counters only; activity records need no permission. */
static void check_counters(void)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "r");
	char line[256];
	int admin = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RmProfilingAdminOnly:", 21))
			admin = (int)strtol(line + 21, NULL, 10);
	if (f)
		fclose(f);
	if (admin == 1 && geteuid())
		say(NOTE, "counters",
		    "for root only (RmProfilingAdminOnly 1): times are not concerned");
	else if (admin >= 0)
		say(GOOD, "counters", "allowed");
}

/* ---- the place ---- */

static int word_of_status(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int v = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = (int)strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return v;
}

/* As the agent looks before it starts: in a child, by making the calls. */
static void check_filter(void)
{
	const char *call = NULL;
	int not_here = wt_sandbox_look(&call);

	if (not_here == WT_SANDBOX_LIFE || not_here == WT_SANDBOX_LOG) {
		limit(0);
		say(BAD, "seccomp", "a filter of system calls kills for %s: nothing is recorded",
		    call ? call : "a call of ours");
	} else if (not_here) {
		say(NOTE, "seccomp",
		    "a filter of system calls kills for %s: recorded, but warptap attach reaches "
		    "nothing",
		    call ? call : "a call of ours");
	} else if (word_of_status("Seccomp:") == 2) {
		say(GOOD, "seccomp",
		    "a filter of system calls is in force, and kills for none of ours");
	}
}

static void check_place(const char *dir)
{
	struct statvfs fs;

	if (access(dir, W_OK | X_OK)) {
		limit(0);
		say(BAD, "directory", "%s: %s: traces need a place (-o DIR)", dir, strerror(errno));
	} else if (!statvfs(dir, &fs) && fs.f_bavail * fs.f_frsize < 256ull << 20) {
		say(NOTE, "directory",
		    "%s: %llu MiB are free: recording stops when it is full, counting goes on", dir,
		    (unsigned long long)(fs.f_bavail * fs.f_frsize >> 20));
	} else {
		say(GOOD, "directory", "%s can be written", dir);
	}
	if (!statvfs("/dev/shm", &fs) && fs.f_blocks * fs.f_frsize <= 64ull << 20)
		say(NOTE, "/dev/shm",
		    "%llu MiB, as containers have it: NCCL and data loaders want more; not used by "
		    "us",
		    (unsigned long long)(fs.f_blocks * fs.f_frsize >> 20));
	check_filter();
	if (word_of_status("NoNewPrivs:") == 1)
		say(GOOD, "privileges", "none can be gained here (no_new_privs): none is needed");
}

static void check_preload(const char *agent)
{
	const char *old = getenv("LD_PRELOAD");
	size_t n = old ? strcspn(old, ": ") : 0;

	if (!agent[0]) {
		limit(0);
		say(BAD, "agent",
		    "libwarptap.so is neither beside this program nor in ../lib/warptap");
		return;
	}
	say(GOOD, "agent", "%s", agent);
	if (!n)
		return;
	if (memmem(old, n, "libasan", 7))
		say(NOTE, "preload",
		    "the address sanitizer's runtime stays first; 'warptap run' goes second");
	else if (strstr(old, "libwarptap.so") && !memmem(old, n, "libwarptap.so", 13))
		say(NOTE, "preload",
		    "LD_PRELOAD has libwarptap.so, but not first: another library that wraps dlsym "
		    "hides "
		    "calls from it");
	else
		say(GOOD, "preload", "LD_PRELOAD is set (%.60s): 'warptap run' goes before it",
		    old);
}

/* ---- the command ---- */

/* As execvp would. 0, -1 = not found. */
static int find_command(const char *name, char *out)
{
	const char *path = getenv("PATH");
	char *copy, *rest, *dir;
	int r = -1;

	if (strchr(name, '/'))
		return realpath(name, out) && !access(out, X_OK) ? 0 : -1;
	copy = rest = strdup(path ? path : "/bin:/usr/bin");
	while (copy && r && (dir = strsep(&rest, ":"))) {
		char full[PATH_MAX];

		if (snprintf(full, sizeof(full), "%s/%s", *dir ? dir : ".", name) <
			    (int)sizeof(full) &&
		    !access(full, X_OK) && realpath(full, out))
			r = 0;
	}
	free(copy);
	return r;
}

/* 1 dynamic, 0 static, -1 no program we know; a script's interpreter goes to `next`. */
static int kind_of(const char *path, char *next, size_t n)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head = {.text = {0}};
	Elf64_Phdr ph;
	int fd = open(path, O_RDONLY | O_CLOEXEC), kind = -1;
	ssize_t got = fd < 0 ? -1 : read(fd, &head, sizeof(head) - 1);

	next[0] = 0;
	if (got > 2 && !memcmp(head.text, "#!", 2)) {
		char *at = head.text + 2 + strspn(head.text + 2, " \t");

		at[strcspn(at, " \t\n")] = 0;
		snprintf(next, n, "%s", at);
	} else if (got >= (ssize_t)sizeof(head.elf) && !memcmp(head.elf.e_ident, ELFMAG, SELFMAG) &&
		   head.elf.e_ident[EI_CLASS] == ELFCLASS64 && head.elf.e_phentsize == sizeof(ph)) {
		kind = 0;
		for (int i = 0; i < head.elf.e_phnum; i++)
			if (pread(fd, &ph, sizeof(ph),
				  (off_t)(head.elf.e_phoff + (Elf64_Off)i * sizeof(ph))) ==
				    (ssize_t)sizeof(ph) &&
			    ph.p_type == PT_INTERP)
				kind = 1;
	}
	if (fd >= 0)
		close(fd);
	return kind;
}

static void check_command(const char *name)
{
	char path[PATH_MAX], next[256];
	struct stat st;
	int kind = -1;

	if (find_command(name, path)) {
		limit(0);
		say(BAD, "command", "%s: not found", name);
		return;
	}
	if (!stat(path, &st) && st.st_mode & (S_ISUID | S_ISGID)) {
		limit(0);
		say(BAD, "command", "%s runs setuid: the loader preloads nothing into it", path);
		return;
	}
	for (int depth = 0; depth < 4; depth++) {
		kind = kind_of(path, next, sizeof(next));
		if (!next[0] || !realpath(next, path))
			break;
	}
	if (kind == 0) {
		limit(0);
		say(BAD, "command",
		    "%s is linked statically: nothing can be preloaded (its dynamic children can)",
		    path);
	} else if (kind < 0) {
		say(NOTE, "command", "%s: not a program of this machine's kind", path);
	} else {
		say(GOOD, "command",
		    "%s is linked dynamically; what it opens with RTLD_DEEPBIND or dlmopen is not "
		    "seen",
		    path);
	}
}

/* ---- what runs ---- */

static void check_running(void)
{
	static struct wt_agent_ref agents[AGENTS_MAX];
	struct wt_ctl_request status = {.verb = WT_CTL_STATUS};
	size_t n = wt_agents_find(0, agents, AGENTS_MAX);

	for (size_t i = 0; i < n; i++) {
		char reply[WT_CTL_REPLY_MAX + 1], level[32], cupti[32], cost[32], escaped[32];
		double share;

		if (wt_agent_ask(&agents[i], &status, reply, sizeof(reply)))
			continue;
		wt_agent_value(reply, "level", level, sizeof(level));
		wt_agent_value(reply, "cupti", cupti, sizeof(cupti));
		share = strtod(wt_agent_value(reply, "cost_ppm", cost, sizeof(cost)), NULL) / 10000;
		wt_agent_value(reply, "escaped", escaped, sizeof(escaped));
		if (*escaped && strcmp(escaped, "0") != 0)
			say(NOTE, "running",
			    "process %d has %s entry points that no hook knows: what it calls "
			    "there is not seen",
			    agents[i].pid, escaped);
		say(!strcmp(cupti, "yielded") || !strcmp(cupti, "failed") ? NOTE : GOOD, "running",
		    "process %d: level %s, CUPTI %s, costs %.2f %% of the time%s%d%s",
		    agents[i].pid, level, cupti, share, "; cheaper: warptap attach ", agents[i].pid,
		    strcmp(level, "count") ? " level count" : " level off");
	}
}

static int parse(int argc, char **argv, int *sim, const char **dir)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			fputs(usage_text, stdout);
			return -1;
		}
		if (!strcmp(argv[i], "--sim")) {
			*sim = 1;
		} else if (!strcmp(argv[i], "-o") && i + 1 < argc) {
			*dir = argv[++i];
		} else {
			wt_say(stderr, "warptap doctor: unknown option %s\n%s", argv[i],
			       usage_text);
			return -2;
		}
	}
	return i;
}

int wt_cmd_doctor(int argc, char **argv)
{
	static const char *const best[] = {
		"cannot be recorded", "",
		"can be recorded at level api: host calls, no device times",
		"can be recorded at level trace"};
	char agent[PATH_MAX] = "", lib[PATH_MAX] = "";
	const char *dir = ".";
	struct probe p = {.has_driver = 0};
	int sim = 0, at = parse(argc, argv, &sim, &dir), how;

	if (at < 0)
		return at == -1 ? WT_EXIT_OK : WT_EXIT_USAGE;
	if (wt_place_find(agent, "libwarptap.so"))
		agent[0] = 0;
	if (sim && wt_place_find(lib, "simgpu/lib")) {
		wt_say_line(stderr,
			    "warptap doctor: --sim: the simulated libraries are not installed");
		return WT_EXIT_FAILED;
	}
	puts("warptap doctor");
	check_preload(agent);
	how = probe(lib, &p);
	if (how) {
		limit(0);
		say(BAD, "driver", "asking it %s",
		    how > 0 && WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM
			    ? "took longer than 30 s"
			    : "ended the process that asked");
	} else {
		check_driver(&p);
		check_cupti(&p);
	}
	check_counters();
	check_place(dir);
	if (at < argc)
		check_command(argv[at]);
	check_running();
	printf("\n%s %s%s\n", at < argc ? argv[at] : "a CUDA program here", best[verdict.level],
	       verdict.notes && verdict.level ? "; see the notes" : "");
	if (verdict.level)
		printf("  to record it:  warptap run%s -- %s\n  cheaper:       warptap run%s "
		       "--level count -- %s\n",
		       sim ? " --sim h100" : "", at < argc ? argv[at] : "COMMAND",
		       sim ? " --sim h100" : "", at < argc ? argv[at] : "COMMAND");
	return verdict.level ? WT_EXIT_OK : WT_EXIT_FAILED;
}
