#include "base/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A program runs one command, in one thread. */
static bool line_is_wrong;

struct status command_line_fault(struct status status)
{
    line_is_wrong = !status_is_ok(status);
    return status;
}

struct status command_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    return command_line_fault(status);
}

bool command_line_is_wrong(void)
{
    return line_is_wrong;
}

static const struct command *find_command(const struct command_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->rows[i].name, name) == 0)
            return &set->rows[i];
    return NULL;
}

static void print_usage(const struct command_set *set, FILE *out)
{
    fprintf(out, "usage: %s COMMAND %s\n\ncommands\n", set->program, set->arguments);
    for (size_t i = 0; i < set->count; i++)
        fprintf(out, "  %-8s %s\n", set->rows[i].name, set->rows[i].help);
    fprintf(out,
            "\n`%s COMMAND --help` lists a command's flags; `%s --version` prints the version.\n",
            set->program, set->program);
}

static int run_command(const struct command_set *set, const struct command *command, int argc,
                       char **argv)
{
    line_is_wrong = false;
    struct status status = command->run(argc, argv);
    if (status_is_ok(status))
        status = file_flush_stdout();
    if (status_is_ok(status))
        return EXIT_DONE;
    fprintf(stderr, "%s: %s\n", set->program, status.message);
    return line_is_wrong ? EXIT_USAGE : EXIT_FAILED;
}

int command_main(const struct command_set *set, int argc, char **argv)
{
    file_claim_standard();
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(set, stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("%s %s\n", set->program, SLIPWAY_VERSION);
        return EXIT_DONE;
    }
    const struct command *command = find_command(set, name);
    if (command != NULL)
        return run_command(set, command, argc - 1, argv + 1);
    if (name[0] != '\0')
        fprintf(stderr, "%s: unknown command '%s'\n", set->program, name);
    print_usage(set, stderr);
    return EXIT_USAGE;
}
