/*
 * modelclient: asks a model server from the command line.
 * Exit status: 0 answered, 1 it failed, 2 the command line is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "clients/commands.h"

static const struct command {
    const char *name;
    command_function *run;
    const char *help;
} commands[] = {
    { "predict", command_predict, "tensors in, tensors out" },
    { "classify", command_classify, "examples in, labels and scores out" },
    { "regress", command_regress, "examples in, a value for each out" },
    { "metadata", command_metadata, "the model's signatures" },
    { "status", command_status, "the model's versions and how they are" },
};

static void print_usage(FILE *out)
{
    fputs("usage: modelclient COMMAND [flags]\n\ncommands\n", out);
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\n`modelclient COMMAND --help` lists a command's flags; `modelclient --version` prints "
          "the version.\n",
          out);
}

int main(int argc, char **argv)
{
    file_claim_standard();
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("modelclient " SLIPWAY_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COUNT(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return command_main(argc - 1, argv + 1, commands[i].run);
    if (name[0] != '\0')
        fprintf(stderr, "modelclient: unknown command '%s'\n", name);
    print_usage(stderr);
    return EXIT_USAGE;
}
