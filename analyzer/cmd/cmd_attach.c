// SPDX-License-Identifier: Apache-2.0
/*
 * warptap attach: asks the agents of running processes, over their control sockets. Attaches to nothing in the sense of
 * a debugger: the agent has been in the process since it began.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/agents.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "proto/wt_err.h"

#define AGENTS_MAX 1024
#define AHEAD_PPM                                                                                  \
	20000 /* how far ahead of the fastest rank a common window is planned: 2 % of what it has done */
#define AHEAD_MIN 64

static const char usage_text[] =
	"usage: warptap attach PID|--all COMMAND\n"
	"\n"
	"Asks the agent in a running process, which 'warptap run' or the preloaded library has\n"
	"put there. See man warptap-attach.\n"
	"\n"
	"  status                      what is recorded, and what it costs\n"
	"  window --for 5s             records at level trace for so long, then goes back\n"
	"  window --collectives N      for N collectives of the largest communicator\n"
	"  window --steps N            for N steps, where the job marks them\n"
	"  start, stop                 a window without an end; the end of a window\n"
	"  snapshot                    what was recorded so far is in the file when this returns\n"
	"  level off|count|api|trace   what is recorded outside windows\n"
	"\n"
	"  --no-wait                   window: do not wait until it has closed\n";

struct options {
	int pid, all, no_wait;
	struct wt_ctl_request request;
	struct wt_span span;
};

static int usage(const char *what, const char *word)
{
	wt_say(stderr, "warptap attach: %s%s%s\n%s", what, word ? " " : "", word ? word : "",
	       usage_text);
	return WT_EXIT_USAGE;
}

static void put(struct wt_ctl_request *r, uint32_t key, uint32_t value)
{
	r->has |= 1u << key;
	r->value[key] = value;
}

static int take_level(struct wt_ctl_request *r, const char *text)
{
	static const char *const levels[] = {"off", "count", "api", "trace"};

	for (uint32_t i = 0; i < 4; i++)
		if (!strcmp(text, levels[i])) {
			put(r, WT_CTL_KEY_LEVEL, i + 1);
			return 0;
		}
	return -1;
}

static int take_span(struct options *o, const char *option, const char *text)
{
	static const char *const names[WT_SPAN_UNITS] = {"--for", "--steps", "--collectives"};
	static const uint32_t keys[WT_SPAN_UNITS] = {WT_CTL_KEY_FOR_MS, WT_CTL_KEY_STEPS,
						     WT_CTL_KEY_COLLECTIVES};
	char with_unit[64];

	for (uint32_t u = 0; u < WT_SPAN_UNITS; u++) {
		if (strcmp(option, names[u]) != 0)
			continue;
		snprintf(with_unit, sizeof(with_unit), "%.40s%s", text,
			 u == WT_SPAN_MS ? "" : names[u] + 2);
		if (wt_span_parse(with_unit, &o->span) || !o->span.n || o->span.unit != u)
			return -1;
		put(&o->request, keys[u], o->span.n);
		return 0;
	}
	return -1;
}

/* 0, -1 = help was asked for, or an exit code. */
static int parse(int argc, char **argv, struct options *o)
{
	int i = 1, verb = 0;

	for (; i < argc; i++) {
		const char *a = argv[i];

		if (!strcmp(a, "-h") || !strcmp(a, "--help"))
			return -1;
		if (!strcmp(a, "--all")) {
			o->all = 1;
		} else if (!strcmp(a, "--no-wait")) {
			o->no_wait = 1;
		} else if (a[0] == '-') {
			if (i + 1 >= argc)
				return usage("a value is missing after", a);
			if (take_span(o, a, argv[++i]))
				return usage("not understood:", a);
		} else if (!o->pid && !verb && a[0] >= '0' && a[0] <= '9') {
			char *end;
			long pid = strtol(a, &end, 10);

			if (*end || pid <= 0 || pid > 1 << 30)
				return usage("not a process id:", a);
			o->pid = (int)pid;
		} else if (!verb) {
			if (wt_ctl_verb_find(a, &o->request.verb))
				return usage("no such command:", a);
			verb = 1;
		} else if (o->request.verb != WT_CTL_LEVEL || take_level(&o->request, a)) {
			return usage("unexpected:", a);
		}
	}
	if (!verb || (!o->pid && !o->all) || (o->pid && o->all))
		return usage("needs a process id or --all, and a command", NULL);
	if (o->request.verb == WT_CTL_LEVEL && !o->request.has)
		return usage("level needs off, count, api or trace", NULL);
	if ((o->request.verb == WT_CTL_WINDOW) != !!o->span.n)
		return usage(o->span.n ? "only a window has a length"
				       : "a window needs --for, --steps or --collectives",
			     NULL);
	return 0;
}

/* ---- asking ---- */

/* 0 and a reply that says ok, else it is told on stderr. */
static int ask(const struct wt_agent_ref *a, const struct wt_ctl_request *r, char *reply,
	       size_t room)
{
	int err = wt_agent_ask(a, r, reply, room);
	const char *line;

	if (err == -WT_E_NOENT) {
		wt_say_line(stderr, "warptap attach: process %d has gone", a->pid);
		return -1;
	}
	if (err) {
		wt_say_line(stderr, "warptap attach: process %d does not answer: %s", a->pid,
			    strerror(errno));
		return -1;
	}
	if (!strncmp(reply, "warptap/1 ok\n", 13))
		return 0;
	line = strncmp(reply, "warptap/1 error ", 16) ? reply : reply + 16;
	wt_say_line(stderr, "warptap attach: process %d: %.*s", a->pid, (int)strcspn(line, "\n"),
		    line);
	return -1;
}

static uint64_t number(const char *reply, const char *key)
{
	char text[64];

	return strtoull(wt_agent_value(reply, key, text, sizeof(text)), NULL, 10);
}

/* Several ranks, a window by count: it begins at the same number on all of them, a little ahead of the fastest. */
static void plan_common(struct options *o, const struct wt_agent_ref *agents, size_t n)
{
	const char *unit = o->span.unit == WT_SPAN_STEPS ? "steps" : "collectives";
	struct wt_ctl_request status = {.verb = WT_CTL_STATUS};
	char reply[WT_CTL_REPLY_MAX + 1];
	uint64_t most = 0, ahead;

	for (size_t i = 0; i < n; i++) {
		if (ask(&agents[i], &status, reply, sizeof(reply)))
			continue;
		if (number(reply, unit) > most)
			most = number(reply, unit);
	}
	ahead = most * AHEAD_PPM / 1000000;
	if (most && most + ahead + AHEAD_MIN <= UINT32_MAX)
		put(&o->request, WT_CTL_KEY_AT,
		    (uint32_t)(most + (ahead > AHEAD_MIN ? ahead : AHEAD_MIN)));
}

static void tell(const struct wt_agent_ref *a, uint32_t verb, const char *reply)
{
	char level[32], window[32], cupti[32], file[1400];

	if (verb == WT_CTL_STATUS) {
		wt_say(stdout, "%s", strchr(reply, '\n') + 1);
		return;
	}
	wt_agent_value(reply, "level", level, sizeof(level));
	wt_agent_value(reply, "window", window, sizeof(window));
	wt_agent_value(reply, "cupti", cupti, sizeof(cupti));
	wt_agent_value(reply, "file", file, sizeof(file));
	wt_say(stdout, "%d: %s, level %s", a->pid, wt_ctl_verb_name(verb), level);
	if (!strcmp(window, "open") || !strcmp(window, "waiting"))
		wt_say(stdout, ", window %s", window);
	if (!strcmp(cupti, "yielded") || !strcmp(cupti, "cool"))
		wt_say(stdout, " (another tool uses CUPTI: device records begin when it has left)");
	else if (!strcmp(cupti, "failed") || (!strcmp(cupti, "absent") && !strcmp(window, "open")))
		wt_say(stdout, " (no CUPTI: no device records, see the log)");
	wt_say(stdout, ", %s\n", file);
}

/* Until the window has closed, or the process is gone. */
static int wait_closed(const struct wt_agent_ref *a, char *reply, size_t room)
{
	struct wt_ctl_request status = {.verb = WT_CTL_STATUS},
			      snapshot = {.verb = WT_CTL_SNAPSHOT};
	struct timespec nap = {.tv_nsec = 50000000};
	char window[32];
	int err;

	for (;;) {
		nanosleep(&nap, NULL);
		err = wt_agent_ask(a, &status, reply, room);
		if (err == -WT_E_NOENT)
			return 1; /* it ended, and closed its file */
		if (err && errno != EAGAIN && errno != ECONNRESET)
			return -1;
		if (err)
			continue;
		wt_agent_value(reply, "window", window, sizeof(window));
		if (strcmp(window, "open") != 0 && strcmp(window, "waiting") != 0)
			return wt_agent_ask(a, &snapshot, reply, room) ? 1 : 0;
	}
}

int wt_cmd_attach(int argc, char **argv)
{
	static struct wt_agent_ref agents[AGENTS_MAX];
	static uint8_t asked[AGENTS_MAX];
	struct options o = {.pid = 0};
	char reply[WT_CTL_REPLY_MAX + 1];
	int r = parse(argc, argv, &o), failed = 0;
	size_t n;

	if (r) {
		if (r < 0)
			fputs(usage_text, stdout);
		return r < 0 ? WT_EXIT_OK : r;
	}
	n = wt_agents_find(o.pid, agents, AGENTS_MAX);
	if (!n && o.pid)
		wt_say_line(stderr,
			    "warptap attach: no agent answers in process %d: is it another user's, "
			    "without CUDA so far, "
			    "or not started by 'warptap run'?",
			    o.pid);
	else if (!n)
		wt_say_line(stderr, "warptap attach: no process of this user has an agent");
	if (!n)
		return WT_EXIT_FAILED;
	if (n > 1 && o.span.n && o.span.unit != WT_SPAN_MS)
		plan_common(&o, agents, n);
	for (size_t i = 0; i < n; i++) {
		asked[i] = !ask(&agents[i], &o.request, reply, sizeof(reply));
		failed += !asked[i];
		if (asked[i] && i && o.request.verb == WT_CTL_STATUS)
			putchar('\n');
		if (asked[i])
			tell(&agents[i], o.request.verb, reply);
	}
	fflush(stdout);
	for (size_t i = 0; i < n && o.request.verb == WT_CTL_WINDOW && !o.no_wait; i++) {
		if (!asked[i])
			continue;
		r = wait_closed(&agents[i], reply, sizeof(reply));
		if (r < 0)
			failed++;
		else
			wt_say(stdout, "%d: window closed%s\n", agents[i].pid,
			       r ? ", the process has ended" : "");
	}
	return failed ? WT_EXIT_FAILED : WT_EXIT_OK;
}
