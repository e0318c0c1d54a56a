#include "base/arena.h"
#include "base/flags.h"
#include "trainer/commands.h"
#include "trainer/inputs/file_data.h"

static struct flag_values values;

static const struct flag rows[] = {
    { "data_format", FLAG_TEXT, &values.data_format, "",
      .help = "format of the files, one of those that `pstrain --help` lists; the default is "
              "detected from a file's name or first bytes" },
    { "column_names", FLAG_TEXT, &values.column_names, "",
      .help = "names of the columns of CSV and TSV files without a header" },
    { "na_value", FLAG_TEXT, &values.na_value, "",
      .help = "text of a field of CSV and TSV files without a value, such as NA; an empty field "
              "has none either" },
    { "label_column", FLAG_TEXT, &values.label_column, "",
      .help = "column whose texts are listed as its classes, in ascending order" },
    { "help", FLAG_BOOL, &values.help, "false", .help = "print this text" },
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
    struct arena *arena = arena_create(0);
    struct status status = command_line_fault(
        file_data_print_schema(&values, (const char *const *)(argv + 1), files_count, arena));
    arena_destroy(arena);
    return status;
}
