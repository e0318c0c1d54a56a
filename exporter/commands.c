#include "exporter/commands.h"

#include <string.h>

#include "base/file.h"

struct common_options common_options;

static void split_tags(struct arena *arena, struct savedmodel_options *options)
{
    const char **tags = ARENA_ARRAY(arena, const char *, strlen(common_options.tag_set) + 1);
    char *rest = arena_strdup(arena, common_options.tag_set), *tag;
    int count = 0;
    while ((tag = strsep(&rest, ",")) != NULL) {
        if (tag[0] != '\0')
            tags[count++] = tag;
    }
    options->tags = tags;
    options->tags_count = count;
}

/* If `directory` holds versions of a model instead of a model, names one of them. */
static struct status add_hint(struct status status, const char *directory, struct arena *arena)
{
    struct file_list entries;
    if (status.code != STATUS_NOT_FOUND || !status_is_ok(file_list(directory, arena, &entries)))
        return status;
    for (size_t i = entries.count; i-- > 0;) {
        const char *version = file_join(arena, directory, entries.names[i]);
        if (file_exists(file_join(arena, version, "saved_model.pb")))
            return status_error(status.code, "%s; did you mean '%s'?", status.message, version);
    }
    return status;
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

    struct arena *arena = arena_create(0);
    struct savedmodel_options options = { 0 };
    struct savedmodel *model;
    split_tags(arena, &options);
    struct status status = savedmodel_load(argv[1], &options, &model);
    if (status_is_ok(status)) {
        status = run(model, arena);
        savedmodel_destroy(model);
    } else {
        status = add_hint(status, argv[1], arena);
    }
    arena_destroy(arena);
    return status;
}
