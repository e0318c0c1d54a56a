#include "savedmodel/save.h"

#include <stdlib.h>

#include "base/file.h"
#include "savedmodel/new_directory.h"
#include "savedmodel/save_graph.h"
#include "savedmodel/save_proto.h"
#include "storage/bundle_writer.h"

/* ---- the bundle ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct saved_variable *const *)a)->name,
                  (*(const struct saved_variable *const *)b)->name);
}

static struct status write_variable(struct bundle_writer *writer,
                                    const struct saved_variable *variable,
                                    struct value_source *source)
{
    struct bytes chunk;
    TRY(bundle_writer_begin(writer, variable->name, variable->dtype, &variable->shape));
    TRY(source->begin(source, variable->name));
    for (;;) {
        TRY(source->next(source, &chunk));
        if (chunk.size == 0)
            return bundle_writer_end(writer); /* checks the size */
        TRY(bundle_writer_append(writer, chunk.data, chunk.size));
    }
}

static struct status write_variables(const char *directory, const struct saved_model *model,
                                     struct value_source *source, struct arena *arena)
{
    size_t count = (size_t)model->variables_count;
    struct status status;
    struct bundle_writer *writer = NULL;
    const struct saved_variable **order = ARENA_ARRAY(arena, const struct saved_variable *, count);
    for (size_t i = 0; i < count; i++)
        order[i] = &model->variables[i];
    /* as TensorFlow's savers do */
    qsort(order, count, sizeof(struct saved_variable *), compare_names);

    TRY(file_make_directories(arena_printf(arena, "%s/variables", directory)));
    TRY(bundle_writer_open(arena_printf(arena, "%s/variables/variables", directory), &writer));
    for (size_t i = 0; i < count; i++)
        TRY_OR(fail, status_in(write_variable(writer, order[i], source), "variable '%s'",
                               order[i]->name));
    return bundle_writer_commit(writer);

fail:
    bundle_writer_abandon(writer);
    return status;
}

/* ---- the directory ---- */

static struct status write_assets(const char *directory, const struct saved_model *model,
                                  struct arena *arena)
{
    for (int i = 0; i < model->assets_count; i++) {
        const char *path =
            arena_printf(arena, "%s/assets/%s", directory, model->assets[i].filename);
        TRY(file_make_directories(file_parent(arena, path)));
        TRY(file_write(path, model->assets[i].content));
    }
    return status_ok();
}

static struct status write_all(const char *directory, const struct saved_model *model,
                               struct value_source *source, struct arena *arena)
{
    struct save_names names;
    bool has_variables = model->variables_count > 0;
    TRY(file_make_directories(directory));
    if (has_variables) {
        TRY(save_graph_add(model->graph, model->variables, model->variables_count, &names));
        TRY(write_variables(directory, model, source, arena));
    }
    TRY(write_assets(directory, model, arena));
    struct bytes message = save_model_bytes(model, has_variables ? &names : NULL, arena);
    TRY(file_write(arena_printf(arena, "%s/saved_model.pb", directory), message));
    return file_sync_directory(directory);
}

struct export_files {
    const struct saved_model *model;
    struct value_source *source;
};

static struct status fill_directory(const char *directory, void *context, struct arena *arena)
{
    const struct export_files *files = context;
    return write_all(directory, files->model, files->source, arena);
}

struct status savedmodel_write(const char *directory, const struct saved_model *model,
                               struct value_source *source)
{
    struct export_files files = { model, source };
    return new_directory_write(directory, false, fill_directory, &files);
}

struct status savedmodel_write_again(const char *directory, const struct saved_model *model,
                                     struct value_source *source)
{
    struct export_files files = { model, source };
    return new_directory_write(directory, true, fill_directory, &files);
}

struct status savedmodel_check_target(const char *directory)
{
    return new_directory_check(directory);
}
