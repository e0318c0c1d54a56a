/*
 * flags: the command line of a program, as one table.
 *
 *     static struct { int32_t port; bool sync; const char *dir; } options;
 *     static const struct flag rows[] = {
 *         { "port", FLAG_INT32, &options.port, "8501", .help = "REST port", .max = 65535 },
 *         { "sync", FLAG_BOOL, &options.sync, "false", .help = "wait for all workers" },
 *         { "dir", FLAG_TEXT, &options.dir, "", .help = "where to write" },
 *     };
 *     static const struct flag_set flags = { "usage: program [flags] [DIR]", rows, COUNT(rows) };
 *
 * Accepted: --flag=value, --flag value, and for booleans --[no]flag, --no_flag and
 * --flag=true|false; -h for --help. A value that begins with -- needs the form --flag=value.
 * Arguments that do not begin with a dash are positional, and so is everything after a lone --.
 * If a flag is given twice, the last value counts; FLAG_TEXTS collects all of them.
 */
#ifndef BASE_FLAGS_H
#define BASE_FLAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum flag_type {
    FLAG_BOOL,   /* bool */
    FLAG_INT32,  /* int32_t */
    FLAG_INT64,  /* int64_t */
    FLAG_DOUBLE, /* double */
    FLAG_TEXT,   /* const char *: borrowed from argv or the table */
    FLAG_PATH,   /* the same, of a file or directory: file:///m is /m, as in TensorFlow */
    FLAG_TEXTS,  /* struct flag_texts: one text for each time the flag is given */
};

struct flag_texts {
    const char **values;
    size_t count;
};

struct flag {
    const char *name; /* without the dashes */
    enum flag_type type;
    void *target;
    const char *initial; /* the default, as typed; "" or NULL: false, 0, "" */
    const char *help;
    double min, max;     /* of a number, inclusive; both 0: no limits */
    const char *choices; /* the allowed words of a text, separated by spaces; NULL: any */
    const char *group;   /* a heading that --help prints above this row; NULL: none */
    bool filled;         /* a text that is given must not be empty, as "$UNSET" is */
    bool alone;          /* --help and --version: --nohelp and a default would say nothing */
    /* Its names in other programs, separated by spaces: the error about one of them names this
     * flag. NULL: none */
    const char *elsewhere;
};

/* The row of --help. */
#define HELP_FLAG(target)                                                                       \
    {                                                                                           \
        "help", FLAG_BOOL, (target), "false", .help = "print this text and exit", .alone = true \
    }

struct flag_set {
    const char *usage; /* the first lines of --help; NULL: they are printed already */
    const struct flag *rows;
    size_t count;
};

/**
 * Sets every target to its default, then to its value in argv. argv[0] is skipped; a program with
 * subcommands passes argc - 1, argv + 1. argv is reordered in place: on success argv[1 ..
 * *positional_count] are the positional arguments.
 *
 * Errors  of the first argument that is wrong; the others are set. NOT_FOUND "unknown argument:
 *         --x", with the flag that other programs call so, or the most similar one;
 *         INVALID_ARGUMENT a value that is missing, unreadable or out of range
 */
struct status flags_parse(const struct flag_set *set, int argc, char **argv, int *positional_count);

/* Does the flag have its default value, whether or not it was given? */
bool flag_is_default(const struct flag *flag);

/* NULL: no such row. */
const struct flag *flags_find(const struct flag_set *set, const char *name);

/* The rows of a group, from its heading to the next one. Empty: no such group. */
struct flag_set flags_group(const struct flag_set *set, const char *group);

/* Prints usage, then for each row its group, name, default and help. cmake/manual.sh and
 * cmake/completion.bash read what it prints. */
void flags_print_help(const struct flag_set *set, FILE *out);

#endif
