#include "trainer/commands.h"
#include "trainer/inputs/file_data.h"
#include "trainer/flags/hyperparameters.h"
#include "trainer/options/options.h"

static const char usage[] =
    "usage: pstrain schema [--data_format=FORMAT] [--column_names=NAME,...] FILE...\n\n"
    "Prints a --schema that the first rows of the files suggest.";

static struct status print_schema(struct arena *arena, int argc, char **argv)
{
    struct options options;
    const char *hyperparameters;
    int files;

    TRY(hyperparameters_insert(&train_flags, 0, &argc, &argv, arena, &hyperparameters));
    TRY(options_read_schema(argc, argv, &files, &options));
    if (options.flags.help) {
        const struct flag_set set = { usage, train_flags.rows, train_flags.count };
        flags_print_help(&set, stdout);
        return status_ok();
    }
    return file_data_print_schema(&options.flags, (const char *const *)(argv + 1), files, arena);
}

struct status command_schema(int argc, char **argv)
{
    struct arena *arena = arena_create(0);
    struct status status = command_line_fault(print_schema(arena, argc, argv));

    arena_destroy(arena);
    return status;
}
