/*
 * commands: what the `savedmodel` command can do: one row of the table in main.c each.
 */
#ifndef EXPORTER_COMMANDS_H
#define EXPORTER_COMMANDS_H

#include "base/flags.h"
#include "savedmodel/load.h"

/* Flags of every command. */
struct common_options {
    const char *tag_set;
    bool help;
};

extern struct common_options common;

/* Each prints to stdout, and returns the first failure. */
struct status command_show(struct savedmodel *model, struct arena *arena);
struct status command_run(struct savedmodel *model, struct arena *arena);

extern const struct flag_set show_flags, run_flags;

/* Marks a failure as one of the command line: exit status 2. */
struct status command_usage(struct status status);

#endif
