/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that asks what CUDA it has, as optional back ends do, and forks raw: its output must not depend on whether
 * the agent is preloaded. It asks before any library of CUDA is loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void ask(void *handle, const char *from, const char *name)
{
	const char *e;
	void *p;

	dlerror();
	p = dlsym(handle, name);
	e = dlerror();
	printf("%s %s: %s, %s\n", from, name, p ? "found" : "none",
	       e ? (strstr(e, name) ? "says so" : e) : "no error");
}

int main(void)
{
	static const char *const libs[] = {"libcuda.so.1", "libnone.so.1"};
	static const char *const names[] = {
		"cuInit",	 "cuLaunchKernel", "cuGetProcAddress_v2",
		"ncclAllReduce", "cudaMalloc",	   "no_such_thing"};
	int status;
	pid_t pid;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(RTLD_DEFAULT, "default", names[i]);
		ask(dlopen(NULL, RTLD_NOW), "program", names[i]);
		ask(RTLD_NEXT, "next", names[i]);
	}
	ask(RTLD_DEFAULT, "default", "puts");
	/* Last: once a library is loaded, though nobody else could find it, our names for it are real. */
	for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]); i++)
		printf("%s: %s\n", libs[i], dlopen(libs[i], RTLD_NOW) ? "there" : "missing");
	fflush(stdout);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		printf("raw child\n");
		fflush(stdout);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 5;
}
