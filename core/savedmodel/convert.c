#include "savedmodel/convert.h"

#include "base/file.h"
#include "proto/meta_graph.pb-c.h"
#include "savedmodel/bundle_source.h"
#include "savedmodel/copy_tree.h"
#include "savedmodel/meta_proto.h"
#include "savedmodel/new_directory.h"
#include "savedmodel/save_proto.h"
#include "savedmodel/save_variables.h"

/* ---- variables ---- */

static struct status write_entries(const struct bundle *bundle, enum savedmodel_format format,
                                   const char *directory, struct arena *arena)
{
    size_t count = bundle_count(bundle);
    struct saved_variable *variables = ARENA_ARRAY(arena, struct saved_variable, count);
    struct bundle_source checkpoint;
    bundle_source_init(&checkpoint, bundle);
    for (size_t i = 0; i < count; i++) {
        const struct bundle_entry *entry = bundle_at(bundle, i);
        variables[i] = (struct saved_variable){ .name = entry->name,
                                                .dtype = entry->dtype,
                                                .shape = entry->shape };
    }
    struct status status =
        save_variables(directory, format, variables, (int)count, &checkpoint.source);
    bundle_source_finish(&checkpoint);
    return status;
}

/* ---- the directory ---- */

struct conversion {
    const struct savedmodel_conversion *wanted;
    enum savedmodel_format format; /* of the original */
    Tensorflow__MetaGraphDef *meta;
};

/* A SavedModel may name a saver without having a checkpoint: its loaders then restore nothing.
 * Those of a session_bundle fail, unless it names no saver. */
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
                      file_join(arena, directory, trees[i]), arena));
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
