// SPDX-License-Identifier: Apache-2.0
/*
 * libiberty's demangler, held on a short leash: a name of a few hundred bytes can stand for gigabytes (each
 * substitution may double what was there), and names come from files. Its callback form allocates nothing on the heap,
 * so leaving from inside the callback when there is enough text is safe.
 */
#include "base/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#define LONGEST 4096 /* of a mangled name; the demangler's stack grows with it */

struct leash {
	jmp_buf enough;
	char *out;
	size_t n, room;
};

static void take(const char *text, size_t n, void *arg)
{
	struct leash *l = arg;
	size_t left = l->room - 1 - l->n;

	memcpy(l->out + l->n, text, n < left ? n : left);
	l->n += n < left ? n : left;
	if (l->n == l->room - 1)
		longjmp(l->enough, 1);
}

static void remove_all(char *text, const char *what)
{
	size_t n = strlen(what);

	for (char *p = text; (p = strstr(p, what));)
		memmove(p, p + n, strlen(p + n) + 1);
}

/* Where the parameters of a name that ends with them begin. */
static size_t before_parameters(const char *name)
{
	size_t n = strlen(name), at = n;
	int depth = 0;

	if (!n || name[n - 1] != ')')
		return n;
	while (at--) {
		depth += name[at] == ')';
		depth -= name[at] == '(';
		if (!depth)
			return at;
	}
	return n;
}

const char *wt_plain(const char *name, char *out, size_t room)
{
	const char *type = strncmp(name, "std::enable_if<", 15) ? NULL : strstr(name, "::type ");
	const char *from = !strncmp(name, "void ", 5)  ? name + 5
			   : type		       ? type + 7
			   : !strncmp(name, "nccl", 4) ? name
						       : NULL;
	size_t n = from ? before_parameters(from) : 0;

	if (!n || room < 2)
		return name;
	n = n < room - 1 ? n : room - 1;
	memcpy(out, from, n);
	out[n] = 0;
	remove_all(out, "(anonymous namespace)::");
	remove_all(out, "<unnamed>::");
	remove_all(out, "at::native::");
	return *out ? out : name;
}

const char *wt_demangle(const char *name, char *out, size_t room)
{
	struct leash l = {.out = out, .room = room};
	volatile int ok = 1; /* lives over the jump */

	if (room < 2 || strncmp(name, "_Z", 2) || strnlen(name, LONGEST) == LONGEST)
		return name;
	if (!setjmp(l.enough))
		ok = cplus_demangle_v3_callback(name, DMGL_ANSI, take, &l);
	if (!ok || !l.n)
		return name;
	out[l.n] = 0;
	remove_all(out, "(anonymous namespace)::");
	remove_all(out, "at::native::");
	return out;
}
