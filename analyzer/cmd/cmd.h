/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share: their declarations (commands.def) and exit codes. Only files of cmd/ print.
 */
#ifndef WT_CMD_H
#define WT_CMD_H

#define WT_VERSION "0.1.0"

enum wt_exit {
	WT_EXIT_OK = 0,
	WT_EXIT_FAILED = 1,
	WT_EXIT_USAGE = 2,
	WT_EXIT_DAMAGED = 3, /* the input was damaged; what was there was reported */
	WT_EXIT_GATE = 4,
};

#define WT_COMMAND(name_, help_) int wt_cmd_##name_(int argc, char **argv);
#include "cmd/commands.def"
#undef WT_COMMAND

#endif
