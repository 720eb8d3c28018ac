// SPDX-License-Identifier: Apache-2.0
/*
 * warptap run --sim: what the command is given so that it takes the simulated device for one. All of it happens in the
 * child, before exec: variables, and for JAX, which looks for a file below /dev before it asks any library, a /dev of
 * the command's own. Rejected: a user namespace where the right is missing; files of others would seem nobody's, and
 * programs that care (ssh) would fail.
 */
#define _GNU_SOURCE
#include "cmd/run_sim.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/say.h"

#define XLA_FLAGS_MOST 65536 /* bytes of a file */

/* ---- variables ---- */

int wt_run_prepend(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *both = NULL;
	int r;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&both, "%s:%s", value, old) < 0)
		return -1;
	r = setenv(name, both, 1);
	free(both);
	return r;
}

/*
 * Before libraries that a program finds by its own path (NVIDIA's wheels, by an RPATH): the first one loaded with a
 * soname is the one that all others get. The agent comes before these.
 */
static int preload_sim(const char *dir)
{
	char pattern[PATH_MAX + 16];
	glob_t found;
	int r;

	snprintf(pattern, sizeof(pattern), "%s/lib*.so.*", dir);
	if (glob(pattern, 0, NULL, &found))
		return -1;
	r = found.gl_pathc ? 0 : -1;
	for (size_t i = 0; i < found.gl_pathc && !r; i++)
		r = wt_run_prepend("LD_PRELOAD", found.gl_pathv[i]);
	globfree(&found);
	return r;
}

/* XLA compiles with a toolkit's ptxas and nvlink and looks there and on PATH; it wants libdevice too. */
static int has_toolkit(void)
{
	static const char *const parts[] = {"bin/ptxas", "bin/nvlink",
					    "nvvm/libdevice/libdevice.10.bc"};
	char path[128];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "/usr/local/cuda/%s", parts[i]);
		if (access(path, R_OK))
			return 0;
	}
	return 1;
}

/*
 * XLA's flags as they are now: a value that does not begin with a dash names a file that has them. NULL: it cannot be
 * read, which XLA will say.
 */
static char *xla_flags(void)
{
	const char *value = getenv("XLA_FLAGS");
	char *text;
	ssize_t n;
	int fd;

	if (!value || value[strspn(value, " \t\r\n")] == '-' || !value[strspn(value, " \t\r\n")])
		return strdup(value ? value : "");
	fd = open(value, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	text = fd < 0 ? NULL : calloc(1, XLA_FLAGS_MOST + 1);
	n = text ? read(fd, text, XLA_FLAGS_MOST) : -1;
	if (fd >= 0)
		close(fd);
	if (n >= 0 && n < XLA_FLAGS_MOST)
		return text;
	free(text);
	return NULL;
}

/*
 * Where there is no toolkit, the stand-in beside the simulated libraries; whoever names another one keeps it. First of
 * the flags: XLA stops at what is none.
 */
static int compiler_tools(const char *lib)
{
	const char *quote = strpbrk(lib, " \t") ? "\"" : "";
	char *old, *all = NULL;
	int r;

	if (has_toolkit())
		return 0;
	old = xla_flags();
	if (!old || strstr(old, "--xla_gpu_cuda_data_dir")) {
		free(old);
		return 0;
	}
	r = asprintf(&all, "--xla_gpu_cuda_data_dir=%s%s/../toolkit%s%s%s", quote, lib, quote,
		     *old ? " " : "", old) < 0
		    ? -1
		    : setenv("XLA_FLAGS", all, 1);
	free(all);
	free(old);
	return r;
}

/* ---- /dev ---- */

static int has_device_file(void)
{
	return !access("/dev/nvidia0", F_OK) || !access("/dev/nvidiactl", F_OK) ||
	       !access("/dev/dxg", F_OK);
}

static int make_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : close(fd);
}

/* An entry of /dev in the new one: links are copied, all else is the old one, by a bind mount. */
static int show(const char *dir, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX], target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (snprintf(from, sizeof(from), "/dev/%s", name) >= (int)sizeof(from) ||
	    snprintf(to, sizeof(to), "%s/%s", dir, name) >= (int)sizeof(to))
		return -1;
	if (lstat(from, &st))
		return 0; /* gone since */
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, target, sizeof(target) - 1);
		if (n < 0)
			return 0;
		target[n] = 0;
		return symlink(target, to);
	}
	if (S_ISDIR(st.st_mode) ? mkdir(to, st.st_mode & 07777) : make_empty(to))
		return -1;
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

static int show_all(const char *dir)
{
	DIR *d = opendir("/dev");
	struct dirent *e;
	int r = d ? 0 : -1;

	while (!r && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = show(dir, e->d_name);
	if (d)
		closedir(d);
	return r;
}

/* A mount namespace of this process's own, whose /dev has what is there and an empty nvidiactl. */
static int private_dev(const char *dir)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/nvidiactl", dir);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("none", dir, "tmpfs", MS_NOSUID, "mode=755") || show_all(dir) || make_empty(path))
		return -1;
	return mount(dir, "/dev", NULL, MS_MOVE, NULL);
}

/* Half of it must not happen to the command: somebody else tries first. */
static int can_have_private_dev(const char *dir)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(private_dev(dir) ? 1 : 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* True: there is one already, or it could be made. In a child of this program only. */
static int device_files(void)
{
	char dir[] = "/tmp/warptap-dev-XXXXXX";
	int r = has_device_file();

	if (r || !mkdtemp(dir))
		return r;
	r = can_have_private_dev(dir) && !private_dev(dir);
	rmdir(dir);
	return r;
}

void wt_run_sim_hint(void)
{
	pid_t pid;
	int status = 0;

	if (has_device_file())
		return;
	pid = fork();
	if (!pid)
		_exit(!device_files());
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status))
		wt_say_line(stderr,
			    "warptap: JAX saw no GPU: it looks for /dev/nvidiactl, and a /dev of "
			    "its own takes root's rights: 'unshare -rm warptap run ...', or, "
			    "as root, 'touch /dev/nvidiactl'");
}

/* ---- the option ---- */

static int sim_option(const char *lib, char *word)
{
	char full[PATH_MAX];

	if (!strcmp(word, "preload"))
		return preload_sim(lib) ? WT_EXIT_FAILED : 0;

	if (!strncmp(word, "scenario=", 9)) {
		if (!realpath(word + 9, full) || access(full, R_OK)) {
			wt_say_line(stderr, "warptap run: scenario %s: %s", word + 9,
				    strerror(errno));
			return WT_EXIT_FAILED;
		}
		return setenv("SIMGPU_SCENARIO", full, 1) ? WT_EXIT_FAILED : 0;
	}
	if (!strncmp(word, "devices=", 8)) {
		char *end;
		long n = strtol(word + 8, &end, 10);

		if (n >= 1 && n <= 64 && !*end)
			return setenv("SIMGPU_DEVICES", word + 8, 1) ? WT_EXIT_FAILED : 0;
		wt_say_line(stderr,
			    "warptap run: --sim: devices=%s: expected a number from 1 to 64",
			    word + 8);
		return WT_EXIT_USAGE;
	}
	wt_say_line(stderr, "warptap run: --sim: %s: expected scenario=FILE, devices=N or preload",
		    word);
	return WT_EXIT_USAGE;
}

int wt_run_sim(const char *spec, const char *lib, const char *truth_dir)
{
	char *copy = strdup(spec), *rest = copy, *word = strsep(&rest, ",");
	int r = 0;

	if (!copy)
		return WT_EXIT_FAILED;
	for (char *p = word; *p; p++)
		if (!isalnum((unsigned char)*p))
			r = WT_EXIT_USAGE;
	if (!*word || r) {
		wt_say_line(stderr, "warptap run: --sim %s: expected a device, such as h100", spec);
		r = WT_EXIT_USAGE;
	}
	if (!r && (setenv("SIMGPU_DEVICE", word, 1) || setenv("SIMGPU_TRUTH", truth_dir, 1) ||
		   wt_run_prepend("LD_LIBRARY_PATH", lib)))
		r = WT_EXIT_FAILED;
	while (!r && (word = strsep(&rest, ",")))
		r = sim_option(lib, word);
	free(copy);
	if (!r && compiler_tools(lib))
		r = WT_EXIT_FAILED;
	if (!r)
		device_files();
	return r;
}
