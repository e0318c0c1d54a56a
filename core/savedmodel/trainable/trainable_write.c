/* trainable_write: the SavedModel with new values. */
#include "base/file.h"
#include "savedmodel/bundle_source.h"
#include "savedmodel/copy_tree.h"
#include "savedmodel/new_directory.h"
#include "savedmodel/save_variables.h"
#include "savedmodel/trainable/trainable_internal.h"

/* The values of the original checkpoint, except for the trained variables. */
struct mixed_source {
    struct value_source source; /* first: the functions cast */
    const struct trainable *trainable;
    struct bytes compile_config;
    struct bundle_source original;
    struct value_source *trained;
    struct value_source *current;
};

static struct status mixed_begin(struct value_source *source, const char *key)
{
    struct mixed_source *mixed = (struct mixed_source *)source;
    const struct trainable_variable *variable = map_get_text(&mixed->trainable->by_key, key);
    bool is_new = variable != NULL && variable->is_trained;

    mixed->current = is_new ? mixed->trained : &mixed->original.source;
    return mixed->current->begin(mixed->current, is_new ? variable->name : key);
}

static struct status mixed_next(struct value_source *source, struct bytes *chunk)
{
    struct mixed_source *mixed = (struct mixed_source *)source;

    return mixed->current->next(mixed->current, chunk);
}

static struct status write_values(const char *directory, struct mixed_source *mixed,
                                  struct arena *arena)
{
    const struct bundle *bundle = mixed->trainable->bundle;
    size_t count = bundle_count(bundle);
    struct saved_variable *variables = ARENA_ARRAY(arena, struct saved_variable, count);

    for (size_t i = 0; i < count; i++) {
        const struct bundle_entry *entry = bundle_at(bundle, i);
        variables[i] = (struct saved_variable){ .name = entry->name,
                                                .dtype = entry->dtype,
                                                .shape = entry->shape };
    }
    return save_variables(directory, FORMAT_SAVED_MODEL, variables, (int)count, &mixed->source);
}

static struct status copy_others(const char *from, const char *to, struct arena *arena)
{
    struct file_list entries;

    TRY(file_list(from, arena, &entries));
    for (size_t i = 0; i < entries.count; i++) {
        const char *name = entries.names[i];
        const char *source = file_join(arena, from, name), *target = file_join(arena, to, name);
        if (strcmp(name, "variables") == 0 || strcmp(name, "fingerprint.pb") == 0)
            continue;
        TRY(file_is_directory(source) ? copy_tree(source, target, arena)
                                      : copy_file(source, target));
    }
    return status_ok();
}

static struct status fill(const char *directory, void *context, struct arena *arena)
{
    struct mixed_source *mixed = context;

    TRY(file_make_directories(directory));
    TRY(write_values(directory, mixed, arena));
    TRY(copy_others(mixed->trainable->directory, directory, arena));
    if (mixed->compile_config.size > 0)
        TRY(savedmodel_write_compile_config(directory, mixed->compile_config, arena));
    return file_sync_directory(directory);
}

struct status trainable_write(const struct trainable *trainable, const char *directory, bool again,
                              struct bytes compile_config, struct value_source *source)
{
    struct mixed_source mixed = { .source = { mixed_begin, mixed_next },
                                  .trainable = trainable,
                                  .compile_config = compile_config,
                                  .trained = source };

    bundle_source_init(&mixed.original, trainable->bundle);
    struct status status = new_directory_write(directory, again, fill, &mixed);
    bundle_source_finish(&mixed.original);
    return status;
}
