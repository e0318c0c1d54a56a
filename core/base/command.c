#include "base/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text_print.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A program runs one command, in one thread. */
static bool line_is_wrong;
static int chosen_exit;

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

void command_exit_with(int exit_status)
{
    chosen_exit = exit_status;
}

static const struct command *find_command(const struct command_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->rows[i].name, name) == 0)
            return &set->rows[i];
    return NULL;
}

void command_print_list(const struct command_set *set, FILE *out)
{
    int width = 0;
    for (size_t i = 0; i < set->count; i++)
        if ((int)strlen(set->rows[i].name) > width)
            width = (int)strlen(set->rows[i].name);
    for (size_t i = 0; i < set->count; i++)
        fprintf(out, "  %-*s  %s\n", width, set->rows[i].name, set->rows[i].help);
}

struct status command_check_directory(const struct command_set *set, const char *word)
{
    struct buffer names = { 0 };

    if (find_command(set, word) != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s' comes first: %s %s [flags] (./%s is a directory)", word,
                            set->program, word, word);
    if (strchr(word, '/') != NULL || file_is_directory(word))
        return status_ok();
    for (size_t i = 0; i < set->count; i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", set->rows[i].name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "'%s' is none of the commands %.*s, and no directory of this name exists; "
                     "./%s is a new one",
                     word, (int)names.size, names.data, word);
    buffer_finish(&names);
    return status;
}

static void print_usage(const struct command_set *set, FILE *out)
{
    fprintf(out, "usage: %s COMMAND %s\n\n%s\n\ncommands:\n", set->program, set->arguments,
            set->purpose);
    command_print_list(set, out);
    fprintf(out,
            "\n`%s COMMAND --help` lists a command's flags; `%s --version` prints the version.\n",
            set->program, set->program);
}

/* The text may come from a server or a file. */
static void print_failure(const char *program, const char *message)
{
    struct buffer text = { 0 };
    text_print_lines(&text, bytes_of(message));
    fprintf(stderr, "%s: %.*s\n", program, (int)text.size, text.data);
    buffer_finish(&text);
}

int command_printed(const char *program)
{
    struct status status = file_flush_stdout();
    if (status_is_ok(status))
        return EXIT_DONE;
    print_failure(program, status.message);
    return EXIT_FAILED;
}

static int run_command(const struct command_set *set, const struct command *command, int argc,
                       char **argv)
{
    line_is_wrong = false;
    chosen_exit = EXIT_DONE;
    struct status status = command->run(argc, argv);
    if (status_is_ok(status))
        status = file_flush_stdout();
    if (status_is_ok(status))
        return chosen_exit;
    print_failure(set->program, status.message);
    return line_is_wrong ? EXIT_USAGE : EXIT_FAILED;
}

int command_main(const struct command_set *set, int argc, char **argv)
{
    file_prepare_process();
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command = find_command(set, name);
    if (command != NULL)
        return run_command(set, command, argc - 1, argv + 1);
    if (set->otherwise != NULL)
        return set->otherwise(argc, argv);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(set, stdout);
        return command_printed(set->program);
    }
    if (strcmp(name, "--version") == 0) {
        printf("%s %s\n", set->program, SLIPWAY_VERSION);
        return command_printed(set->program);
    }
    if (name[0] != '\0')
        fprintf(stderr, "%s: unknown command '%s'\n", set->program, name);
    print_usage(set, stderr);
    return EXIT_USAGE;
}
