/*
 * commands: what the `savedmodel` command can do: one row of the table in main.c each.
 */
#ifndef EXPORTER_COMMANDS_H
#define EXPORTER_COMMANDS_H

#include "base/flags.h"
#include "savedmodel/load.h"

/* The tag set of --tag_set, "serve" by default. */
struct status tags_of(const char *tag_set, struct arena *arena, struct savedmodel_options *options);

/* Each parses its own flags (argv[0] is the command's name), prints to stdout and returns the first
 * failure. */
struct status command_show(int argc, char **argv);
struct status command_run(int argc, char **argv);

/* Tables of flags, for --help. */
extern const struct flag_set show_flags, run_flags;

#endif
