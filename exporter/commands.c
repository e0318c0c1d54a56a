#include "exporter/commands.h"

#include <string.h>

#include "base/file.h"
#include "savedmodel/format.h"

struct common_options common_options;

const char *const *common_tags(struct arena *arena, int *count)
{
    const char **tags = ARENA_ARRAY(arena, const char *, strlen(common_options.tag_set) + 1);
    char *rest = arena_strdup(arena, common_options.tag_set), *tag;
    *count = 0;
    while ((tag = strsep(&rest, ",")) != NULL) {
        if (tag[0] != '\0')
            tags[(*count)++] = tag;
    }
    return tags;
}

struct status run_on_model(const struct flag_set *flags, int argc, char **argv, model_function *run)
{
    int positional;
    TRY(command_line_fault(flags_parse(flags, argc, argv, &positional)));
    if (common_options.help) {
        flags_print_help(flags, stdout);
        return status_ok();
    }
    if (positional != 1)
        return command_usage("`savedmodel %s` takes one directory, %d given", argv[0], positional);

    const char *directory = file_path_of_uri(argv[1]);
    struct arena *arena = arena_create(0);
    struct savedmodel_options options = { 0 };
    struct savedmodel *model;
    options.tags = common_tags(arena, &options.tags_count);
    struct status status = savedmodel_load(directory, &options, &model);
    if (status_is_ok(status)) {
        status = run(model, arena);
        savedmodel_destroy(model);
    } else {
        status = savedmodel_hint_version(status, directory);
    }
    arena_destroy(arena);
    return status;
}
