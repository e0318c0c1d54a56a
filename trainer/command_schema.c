#include "base/arena.h"
#include "base/flags.h"
#include "trainer/commands.h"
#include "trainer/inputs/file_data.h"

static struct flag_values values;
static struct schema_hints hints = { .lists = true };

static const struct flag rows[] = {
    { "data_format", FLAG_TEXT, &values.data_format, "",
      .help = "format of the files, one of those that `pstrain --help` lists; the default is "
              "detected from a file's name or first bytes" },
    { "column_names", FLAG_TEXT, &values.column_names, "", .help = COLUMN_NAMES_HELP },
    { "skip_lines", FLAG_INT32, &values.skip_lines, "0", .help = SKIP_LINES_HELP, .min = 0,
      .max = SKIP_LINES_MAX },
    { "na_value", FLAG_TEXT, &values.na_value, "", .help = NA_VALUE_HELP },
    { "label_column", FLAG_TEXT, &hints.label, "",
      .help = "column whose texts are listed as its classes, in ascending order" },
    { "weight_column", FLAG_TEXT, &values.weight_column, "",
      .help = "column of the rows' weights, which are not normalized; in libsvm and vw files, "
              "weight" },
    { "normalize", FLAG_BOOL, &hints.normalize, "false",
      .help = "add the mean and the standard deviation of the other columns of numbers, as of the "
              "first 1000 rows; needs --label_column" },
    { "hash_buckets", FLAG_INT64, &hints.hash_buckets, "0",
      .help = "give the other columns of texts this many hash_buckets each; needs --label_column",
      .min = 0, .max = INT32_MAX },
    HELP_FLAG(&values.help),
};

static const struct flag_set flags = {
    "usage: pstrain schema [flags] FILE...\n\n"
    "Prints a --schema that the first rows of the files suggest:\n"
    "  pstrain schema data/part-0.csv > schema.json",
    rows, COUNT(rows)
};

static struct status read_flags(int argc, char **argv, int *files_count)
{
    TRY(flags_parse(&flags, argc, argv, files_count));
    if (!values.help && (hints.normalize || hints.hash_buckets > 0) && *hints.label == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--%s needs --label_column, which keeps its values",
                            hints.normalize ? "normalize" : "hash_buckets");
    if (values.help || *files_count > 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "schema: give at least one file");
}

struct status command_schema(int argc, char **argv)
{
    int files_count;

    TRY(command_line_fault(read_flags(argc, argv, &files_count)));
    if (values.help) {
        flags_print_help(&flags, stdout);
        return status_ok();
    }
    hints.weight = *values.weight_column != '\0' ? values.weight_column : NULL;
    struct arena *arena = arena_create(0);
    struct status status = command_line_fault(file_data_print_schema(
        &values, &hints, (const char *const *)(argv + 1), files_count, arena));
    arena_destroy(arena);
    return status;
}
