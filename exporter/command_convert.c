#include "exporter/commands.h"

#include <stdio.h>

#include "base/file.h"
#include "savedmodel/convert.h"

static struct {
    const char *to;
} options;

static const struct flag rows[] = {
    { "to", FLAG_TEXT, &options.to, "",
      .help = "the format of the copy; the default is the format that the original does not have",
      .choices = SAVEDMODEL_FORMAT_NAMES },
    COMMON_FLAGS,
};

static const struct flag_set flags = {
    "usage: savedmodel convert [flags] FROM TO\n\n"
    "Copies a model to a new directory in another format. session_bundle is TensorFlow's format\n"
    "before SavedModel, which version 1.15 removed:\n"
    "  savedmodel convert old/00000001 new/1\n"
    "  savedmodel convert model/1 legacy/00000001 --to session_bundle",
    rows, COUNT(rows)
};

static enum savedmodel_format choose_format(const char *from)
{
    const struct model_file *file = savedmodel_find_file(from);
    enum savedmodel_format format;
    if (savedmodel_format_find(options.to, &format))
        return format;
    return file != NULL && file->format == FORMAT_SAVED_MODEL ? FORMAT_SESSION_BUNDLE
                                                              : FORMAT_SAVED_MODEL;
}

static struct status convert(const char *from, const char *to, struct arena *arena)
{
    struct savedmodel_conversion conversion = { .from = from,
                                                .to = to,
                                                .format = choose_format(from) };
    conversion.tags = common_tags(arena, &conversion.tags_count);
    TRY(savedmodel_hint_version(savedmodel_convert(&conversion), from));
    printf("Wrote %s as a %s\n", to, savedmodel_format_name(conversion.format));
    return status_ok();
}

struct status command_convert(int argc, char **argv)
{
    int positional;
    TRY(command_line_fault(flags_parse(&flags, argc, argv, &positional)));
    if (common_options.help) {
        flags_print_help(&flags, stdout);
        return status_ok();
    }
    if (positional != 2)
        return command_usage("`savedmodel convert` takes two directories, FROM and TO; %d given",
                             positional);
    struct arena *arena = arena_create(0);
    struct status status = convert(file_path_of_uri(argv[1]), file_path_of_uri(argv[2]), arena);
    arena_destroy(arena);
    return status;
}
