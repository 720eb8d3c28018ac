/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command: a table of subcommands (cmd/commands.def) and nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/aside.h"
#include "base/rows.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "import/importer.h"

struct command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
};
static const struct command commands[] = {
#define WT_COMMAND(name_, help_) {#name_, help_, wt_cmd_##name_},
#include "cmd/commands.def"
#undef WT_COMMAND
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void usage(FILE *out)
{
	fputs("usage: warptap COMMAND [ARGUMENTS]\n\n", out);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\n'warptap COMMAND --help' explains a command; so does man warptap-COMMAND.\n", out);
}

int wt_cmd_version(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		puts("usage: warptap version\n\nPrints the version.");
		return WT_EXIT_OK;
	}
	if (argc > 1) {
		wt_say_line(stderr, "warptap version: unexpected argument '%s'", argv[1]);
		return WT_EXIT_USAGE;
	}
	puts("warptap " WT_VERSION);
	return WT_EXIT_OK;
}

int wt_cmd_help(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find(argv[1]) : NULL;

	if (argc > 1 && !c) {
		wt_say_line(stderr, "warptap help: no command '%s'", argv[1]);
		return WT_EXIT_USAGE;
	}
	if (c && c->run != wt_cmd_help)
		return c->run(2, (char *[]){argv[1], "--help", NULL});
	usage(stdout);
	return WT_EXIT_OK;
}

int main(int argc, char **argv)
{
	const struct command *c;
	int rc;

	wt_rows_begin();
	if (argc < 2) {
		usage(stderr);
		return WT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		argv[1] = "help";
	if (!strcmp(argv[1], "--version"))
		argv[1] = "version";
	c = find(argv[1]);
	if (!c) {
		wt_say_line(stderr, "warptap: no command '%s'; 'warptap help' lists them", argv[1]);
		return WT_EXIT_USAGE;
	}
	wt_import_instead = wt_aside;
	rc = c->run(argc - 1, argv + 1);
	/* A full disk or a closed pipe must not look like success. */
	if (fflush(stdout) || ferror(stdout)) {
		perror("warptap: standard output");
		return WT_EXIT_FAILED;
	}
	return rc;
}
