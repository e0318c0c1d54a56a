#include "savedmodel/convert.h"

#include "base/file.h"
#include "proto/meta_graph.pb-c.h"
#include "savedmodel/meta_proto.h"
#include "savedmodel/new_directory.h"
#include "savedmodel/save_proto.h"
#include "savedmodel/save_variables.h"
#include "storage/bundle.h"

/* ---- variables ---- */

/* The values of a checkpoint, one tensor at a time. */
struct checkpoint_source {
    struct value_source source; /* first: the functions cast */
    const struct bundle *bundle;
    struct tensor value;
    bool given;
};

static struct status source_begin(struct value_source *source, const char *name)
{
    struct checkpoint_source *checkpoint = (struct checkpoint_source *)source;
    tensor_release(&checkpoint->value);
    checkpoint->value = (struct tensor){ 0 };
    checkpoint->given = false;
    return bundle_read(checkpoint->bundle, name, &checkpoint->value);
}

static struct status source_next(struct value_source *source, struct bytes *chunk)
{
    struct checkpoint_source *checkpoint = (struct checkpoint_source *)source;
    const struct tensor *value = &checkpoint->value;
    size_t size = value->dtype == DT_STRING ? (size_t)value->size * sizeof(struct bytes)
                                            : tensor_bytes(value);
    *chunk = (struct bytes){ value->data, checkpoint->given ? 0 : size };
    checkpoint->given = true;
    return status_ok();
}

static struct status write_entries(const struct bundle *bundle, enum savedmodel_format format,
                                   const char *directory, struct arena *arena)
{
    size_t count = bundle_count(bundle);
    struct saved_variable *variables = ARENA_ARRAY(arena, struct saved_variable, count);
    struct checkpoint_source checkpoint = { .source = { source_begin, source_next },
                                            .bundle = bundle };
    for (size_t i = 0; i < count; i++) {
        const struct bundle_entry *entry = bundle_at(bundle, i);
        variables[i] = (struct saved_variable){ .name = entry->name,
                                                .dtype = entry->dtype,
                                                .shape = entry->shape };
    }
    struct status status =
        save_variables(directory, format, variables, (int)count, &checkpoint.source);
    tensor_release(&checkpoint.value);
    return status;
}

/* ---- the directory ---- */

struct conversion {
    const struct savedmodel_conversion *wanted;
    enum savedmodel_format format; /* of the original */
    Tensorflow__MetaGraphDef *meta;
};

/* A SavedModel may name a saver and have no checkpoint: its loaders then restore nothing. Those of
 * a session_bundle fail, unless it names none. */
static struct status copy_variables(const struct conversion *conversion, const char *directory,
                                    struct arena *arena)
{
    struct bundle *bundle;
    const char *prefix =
        savedmodel_variables_prefix(conversion->wanted->from, conversion->format, arena);
    if (conversion->meta->saver_def == NULL)
        return status_ok();
    if (conversion->format == FORMAT_SAVED_MODEL &&
        !file_exists(arena_printf(arena, "%s.index", prefix))) {
        conversion->meta->saver_def = NULL;
        return status_ok();
    }
    TRY(bundle_open(prefix, &bundle));
    struct status status = write_entries(bundle, conversion->wanted->format, directory, arena);
    bundle_close(bundle);
    return status;
}

static struct status copy_file(const char *from, const char *to)
{
    struct buffer content = { 0 };
    struct status status = file_read(from, 0, &content);
    if (status_is_ok(status))
        status = file_write(to, (struct bytes){ content.data, content.size });
    buffer_finish(&content);
    return status;
}

#define DEPTH_MAX 32 /* links may lead in circles */

/* Copies a directory of files, if there is one. */
static struct status copy_tree(const char *from, const char *to, int depth, struct arena *arena)
{
    struct file_list entries;
    if (!file_is_directory(from))
        return status_ok();
    if (depth == DEPTH_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is more than %d directories deep", from,
                            DEPTH_MAX);
    TRY(file_list(from, arena, &entries));
    TRY(file_make_directories(to));
    for (size_t i = 0; i < entries.count; i++) {
        const char *source = file_join(arena, from, entries.names[i]);
        const char *target = file_join(arena, to, entries.names[i]);
        TRY(file_is_directory(source) ? copy_tree(source, target, depth + 1, arena)
                                      : copy_file(source, target));
    }
    return file_sync_directory(to);
}

static struct status fill(const char *directory, void *context, struct arena *arena)
{
    static const char *const trees[] = { "assets", "assets.extra" };
    const struct conversion *conversion = context;
    enum savedmodel_format format = conversion->wanted->format;
    struct bytes message;

    TRY(file_make_directories(directory));
    TRY(copy_variables(conversion, directory, arena));
    for (size_t i = 0; i < COUNT(trees); i++)
        TRY(copy_tree(file_join(arena, conversion->wanted->from, trees[i]),
                      file_join(arena, directory, trees[i]), 0, arena));
    TRY(save_meta_bytes(conversion->meta, format, arena, &message));
    TRY(file_write(file_join(arena, directory, savedmodel_format_file(format)), message));
    return file_sync_directory(directory);
}

static struct status convert(const struct savedmodel_conversion *wanted, struct buffer *file,
                             struct arena *scratch)
{
    struct conversion conversion = { .wanted = wanted };
    const struct model_file *kind;
    TRY(savedmodel_read_file(wanted->from, &kind, file));
    if (kind->format == wanted->format)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is a %s already", wanted->from,
                            savedmodel_format_name(kind->format));
    conversion.format = kind->format;
    TRY(status_in(meta_choose((struct bytes){ file->data, file->size }, kind, wanted->tags,
                              wanted->tags_count, scratch, &conversion.meta),
                  "'%s/%s'", wanted->from, kind->name));
    return new_directory_write(wanted->to, false, fill, &conversion);
}

struct status savedmodel_convert(const struct savedmodel_conversion *conversion)
{
    struct arena *scratch = arena_create(0);
    struct buffer file = { 0 };
    struct status status = status_keep(scratch, convert(conversion, &file, scratch));
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message); /* its text lives in the arena */
    buffer_finish(&file);
    arena_destroy(scratch);
    return status;
}
