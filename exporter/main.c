/*
 * savedmodel: looks into a SavedModel and runs it from the command line.
 * Exit status: 0 done, 1 it failed, 2 the command line is wrong.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "exporter/commands.h"

#define EXIT_USAGE 2

struct common_options common;

static const struct command {
    const char *name;
    struct status (*run)(struct savedmodel *model, struct arena *arena);
    const struct flag_set *flags;
    const char *help;
} commands[] = {
    { "show", command_show, &show_flags, "print signatures, variables and ops" },
    { "run", command_run, &run_flags, "run a signature and print its outputs" },
};

static bool is_usage;

struct status command_usage(struct status status)
{
    is_usage = !status_is_ok(status);
    return status;
}

static void split_tags(struct arena *arena, struct savedmodel_options *options)
{
    const char **tags = ARENA_ARRAY(arena, const char *, strlen(common.tag_set) + 1);
    char *rest = arena_strdup(arena, common.tag_set), *tag;
    int count = 0;
    while ((tag = strsep(&rest, ",")) != NULL) {
        if (tag[0] != '\0')
            tags[count++] = tag;
    }
    options->tags = tags;
    options->tags_count = count;
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

/* Where versions of a model lie is not where a model lies: names one of them. */
static struct status add_hint(struct status status, const char *directory, struct arena *arena)
{
    struct file_list entries;
    if (status.code != STATUS_NOT_FOUND ||
        !status_is_ok(file_list(directory, arena, &entries))) /* the first failure is told */
        return status;
    for (size_t i = entries.count; i-- > 0;) {
        const char *version = file_join(arena, directory, entries.names[i]);
        if (file_exists(file_join(arena, version, "saved_model.pb")))
            return status_error(status.code, "%s; did you mean '%s'?", status.message, version);
    }
    return status;
}

static struct status run(const struct command *command, int argc, char **argv)
{
    int positional;
    TRY(command_usage(flags_parse(command->flags, argc, argv, &positional)));
    if (common.help) {
        flags_print_help(command->flags, stdout);
        return status_ok();
    }
    if (positional != 1)
        return command_usage(status_error(STATUS_INVALID_ARGUMENT,
                                          "`savedmodel %s` takes one directory, %d given",
                                          command->name, positional));

    struct arena *arena = arena_create(0);
    struct savedmodel_options options = { 0 };
    struct savedmodel *model;
    split_tags(arena, &options);
    struct status status = savedmodel_load(argv[1], &options, &model);
    if (status_is_ok(status)) {
        status = command->run(model, arena);
        savedmodel_destroy(model);
    } else {
        status = add_hint(status, argv[1], arena);
    }
    arena_destroy(arena);
    return status;
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
        puts("savedmodel " SLIPWAY_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        struct status status = run(&commands[i], argc - 1, argv + 1);
        if (status_is_ok(status))
            status = file_flush_stdout();
        if (status_is_ok(status))
            return 0;
        fprintf(stderr, "savedmodel: %s\n", status.message);
        return is_usage ? EXIT_USAGE : 1;
    }
    if (name[0] != '\0')
        fprintf(stderr, "savedmodel: unknown command '%s'\n", name);
    print_usage(stderr);
    return EXIT_USAGE;
}
