#include "savedmodel/save.h"

#include "base/file.h"
#include "savedmodel/new_directory.h"
#include "savedmodel/save_graph.h"
#include "savedmodel/save_proto.h"
#include "savedmodel/save_variables.h"

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

struct status savedmodel_write_compile_config(const char *directory, struct bytes compile_config,
                                              struct arena *arena)
{
    const char *extra = file_join(arena, directory, SAVEDMODEL_EXTRA_DIRECTORY);

    TRY(file_make_directories(extra));
    TRY(file_write(file_join(arena, extra, SAVEDMODEL_COMPILE_CONFIG_FILE), compile_config));
    return file_sync_directory(extra);
}

/* Completes the first dimensions that only the source knows, also in the graph. */
static struct status complete_shapes(const struct saved_model *model, struct value_source *source,
                                     struct arena *arena, struct saved_variable **out)
{
    struct graph *graph = model->graph;
    struct saved_variable *variables =
        ARENA_ARRAY(arena, struct saved_variable, model->variables_count);

    for (int i = 0; i < model->variables_count; i++) {
        struct shape *shape = &variables[i].shape;
        struct endpoint handle;
        variables[i] = model->variables[i];
        if (shape->rank < 1 || shape->dims[0] >= 0)
            continue;
        if (source->count_rows == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "variable '%s' has shape %s, and its source has no count of rows",
                                variables[i].name, shape_text(shape));
        TRY(source->count_rows(source, variables[i].name, &shape->dims[0]));
        TRY(graph_endpoint(graph, variables[i].name, &handle));
        struct shape *kept = ARENA_NEW(graph->arena, struct shape);
        *kept = *shape;
        const struct attr attr = attr_shape("shape", kept);
        node_set_attr(graph, handle.node, &attr);
    }
    *out = variables;
    return status_ok();
}

static struct status write_all(const char *directory, const struct saved_model *model,
                               struct value_source *source, struct arena *arena)
{
    struct save_names names;
    bool has_variables = model->variables_count > 0;
    TRY(file_make_directories(directory));
    if (has_variables) {
        struct saved_variable *variables;
        TRY(complete_shapes(model, source, arena, &variables));
        TRY(save_graph_add(model->graph, model->format, variables, model->variables_count, &names));
        TRY(save_variables(directory, model->format, variables, model->variables_count, source));
    }
    TRY(write_assets(directory, model, arena));
    if (model->compile_config.size > 0 && model->format == FORMAT_SAVED_MODEL)
        TRY(savedmodel_write_compile_config(directory, model->compile_config, arena));
    struct bytes message;
    TRY(save_model_bytes(model, has_variables ? &names : NULL, arena, &message));
    TRY(file_write(file_join(arena, directory, savedmodel_format_file(model->format)), message));
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
