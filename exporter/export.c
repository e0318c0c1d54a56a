#include "exporter/export.h"

#include "base/file.h"

#define VERSION_MAX (INT64_MAX - 1)

int64_t export_next_version(const char *base)
{
    struct arena *arena = arena_create(0);
    struct file_list list = { 0 };
    int64_t last = 0;

    if (status_is_ok(file_list(base, arena, &list)))
        for (size_t i = 0; i < list.count; i++) {
            int64_t version;
            if (savedmodel_parse_version(list.names[i], &version) && version <= VERSION_MAX &&
                version > last)
                last = version;
        }
    arena_destroy(arena);
    return last + 1;
}

char *export_version_path(const char *base, int64_t version, enum savedmodel_format format,
                          struct arena *arena)
{
    int digits = format == FORMAT_SESSION_BUNDLE ? 8 : 1; /* as TensorFlow's exporter */
    return file_join(arena, base, arena_printf(arena, "%0*lld", digits, (long long)version));
}

struct status export_check_target(const char *directory)
{
    return status_in(savedmodel_check_target(directory), "export to '%s'", directory);
}

static struct status export_recipe(const struct export_request *request,
                                   struct value_source *source)
{
    struct arena *arena = arena_create(0);
    struct serving_graph serving = { 0 };
    struct status status;

    TRY_OR(done, request->recipe->build(request->recipe, arena, &serving));
    struct saved_variable *variables =
        ARENA_ARRAY(arena, struct saved_variable, serving.variables_count);
    for (int i = 0; i < serving.variables_count; i++) {
        const struct training_variable *variable = &serving.variables[i];
        variables[i] = (struct saved_variable){ variable->name, variable->dtype, variable->shape,
                                                variable->update == UPDATE_GRADIENT };
    }
    struct saved_model model = {
        .format = request->format,
        .graph = serving.graph,
        .signatures = serving.signatures,
        .signatures_count = serving.signatures_count,
        .variables = variables,
        .variables_count = serving.variables_count,
        .init_op = serving.init_op,
        .compile_config = request->compile_config,
    };
    TRY_OR(done, request->again ? savedmodel_write_again(request->directory, &model, source)
                                : savedmodel_write(request->directory, &model, source));
done:
    status = status_in(status, "export to '%s'", request->directory); /* it may lie in the arena */
    graph_finish(serving.graph);
    arena_destroy(arena);
    return status;
}

struct status export_model(const struct export_request *request, struct value_source *source)
{
    if (request->original == NULL)
        return export_recipe(request, source);
    return status_in(trainable_write(request->original, request->directory, request->again,
                                     request->compile_config, source),
                     "export to '%s'", request->directory);
}
