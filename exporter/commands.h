/*
 * commands: the commands of the program `savedmodel`, one file each (command_NAME.c), and their
 * common part: each takes flags and the directory of a model.
 */
#ifndef EXPORTER_COMMANDS_H
#define EXPORTER_COMMANDS_H

#include "base/command.h"
#include "base/flags.h"
#include "savedmodel/load.h"

command_function command_show, command_run, command_convert;

/* The flags that every command has; COMMON_FLAGS are their rows. */
struct common_options {
    const char *tag_set;
    bool help;
};
extern struct common_options common_options;

/* clang-format off */
#define COMMON_FLAGS \
    { "tag_set", FLAG_TEXT, &common_options.tag_set, "serve", \
      .help = "tags of the meta graph, separated by commas" }, \
    HELP_FLAG(&common_options.help)
/* clang-format on */

/* The tags of --tag_set, in `arena`. */
const char *const *common_tags(struct arena *arena, int *count);

/* Prints something about a model to stdout. */
typedef struct status model_function(struct savedmodel *model, struct arena *arena);

/* Parses the flags, loads the model of the one positional argument and passes it to `run`. */
struct status run_on_model(const struct flag_set *flags, int argc, char **argv,
                           model_function *run);

#endif
