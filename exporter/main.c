/* savedmodel: inspects a SavedModel, runs it from the command line, and converts it. */
#include "exporter/commands.h"

static const struct command commands[] = {
    { "show", command_show, "print signatures, variables and ops" },
    { "run", command_run, "run a signature and print its outputs" },
    { "convert", command_convert, "write a model in the other format: convert FROM TO" },
};

static const struct command_set set = {
    .program = "savedmodel",
    .arguments = "[flags] DIR",
    .purpose =
        "Inspects a SavedModel or session_bundle, runs it without a server, and converts it.",
    .rows = commands,
    .count = COUNT(commands),
};

int main(int argc, char **argv)
{
    return command_main(&set, argc, argv);
}
