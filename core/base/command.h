/*
 * command: the main function of a program that has commands, such as `savedmodel show`.
 *
 *     static const struct command commands[] = {
 *         { "show", command_show, "print signatures, variables and ops" },
 *     };
 *     static const struct command_set set = { .program = "savedmodel",
 *                                             .arguments = "[flags] DIR",
 *                                             .purpose = "Looks into a SavedModel.",
 *                                             .rows = commands,
 *                                             .count = COUNT(commands) };
 *
 *     int main(int argc, char **argv)
 *     {
 *         return command_main(&set, argc, argv);
 *     }
 *
 * Exit status: 0 the command succeeded, 1 it failed, 2 the command line is wrong; or the status set
 * by command_exit_with.
 *
 * A program that does its main work without a command, such as pstrain, sets `otherwise`.
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Runs a command. argv[0] is its name, flags and positional arguments follow. The command prints
 * its result to stdout and returns a failure instead of printing it. */
typedef struct status command_function(int argc, char **argv);

struct command {
    const char *name;
    command_function *run;
    const char *help; /* one line, for the list of commands */
};

struct command_set {
    const char *program;
    const char *arguments; /* what follows the command in the usage line */
    const char *purpose;   /* a sentence of --help; not needed with `otherwise` */
    const struct command *rows;
    size_t count;
    /* Runs if argv[1] is not the name of a command, and returns the exit status. NULL: a command
     * is required */
    int (*otherwise)(int argc, char **argv);
};

/* Runs the command that argv[1] names, or --help or --version; prints a failure to stderr. Returns
 * the exit status. */
int command_main(const struct command_set *set, int argc, char **argv);

/* The exit status of a program that has printed the text for --help or --version. Prints a
 * failure to stderr if writing to stdout failed. */
int command_printed(const char *program);

/* Prints a line for each command: its name and its help. */
void command_print_list(const struct command_set *set, FILE *out);

/**
 * Checks a word that `otherwise` would take as a directory: it must contain a slash, or the
 * directory must exist. A misspelt command is thus not mistaken for a new directory.
 *
 * Errors  INVALID_ARGUMENT lists the commands; the name of a command, which must come first
 */
struct status command_check_directory(const struct command_set *set, const char *word);

/* Sets the exit status of the running command, if it returns OK. For a command with more
 * outcomes than success and failure, which it has printed. */
void command_exit_with(int exit_status);

/* Marks a failure as one of the command line, or of a file named there: exit status 2. Returns
 * `status`, which may be OK. For the thread that runs the command. */
struct status command_line_fault(struct status status);
/* The same for a new failure with this text. */
struct status command_usage(const char *format, ...) PRINTF_LIKE(1, 2);
/* Was the last failure marked as one of the command line? */
bool command_line_is_wrong(void);

#endif
