/*
 * savedmodel: looks into a SavedModel and runs it from the command line.
 * Exit status: 0 done, 1 it failed, 2 the command line is wrong.
 */
#include <stdio.h>
#include <string.h>

#include "exporter/commands.h"

static const struct command {
    const char *name;
    struct status (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    { "show", command_show, "print signatures, variables and ops" },
    { "run", command_run, "run a signature and print its outputs" },
};

struct status tags_of(const char *tag_set, struct arena *arena, struct savedmodel_options *options)
{
    size_t size = strlen(tag_set);
    const char **tags = ARENA_ARRAY(arena, const char *, size + 1);
    char *rest = arena_strdup(arena, tag_set), *tag;
    int count = 0;
    while ((tag = strsep(&rest, ",")) != NULL) {
        if (tag[0] != '\0')
            tags[count++] = tag;
    }
    options->tags = tags;
    options->tags_count = count;
    return status_ok();
}

static void print_usage(FILE *out)
{
    fputs("usage: savedmodel COMMAND [flags] DIR\n\ncommands\n", out);
    for (size_t i = 0; i < COUNT(commands); i++)
        fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].help);
    fputs("\n`savedmodel COMMAND --help` lists a command's flags; `savedmodel --version` prints "
          "the version.\n",
          out);
}

/* The command line is wrong: what exit status 2 stands for. */
static bool is_usage_error(struct status status)
{
    return strncmp(status.message, "unknown argument", 16) == 0 ||
           strncmp(status.message, "--", 2) == 0 || strncmp(status.message, "`savedmodel", 11) == 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("savedmodel " SLIPWAY_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        struct status status = commands[i].run(argc - 1, argv + 1);
        if (status_is_ok(status))
            return 0;
        fprintf(stderr, "savedmodel: %s\n", status.message);
        return is_usage_error(status) ? 2 : 1;
    }
    if (name[0] != '\0')
        fprintf(stderr, "savedmodel: unknown command '%s'\n", name);
    print_usage(stderr);
    return 2;
}
