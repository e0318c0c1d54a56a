#include "exporter/export.h"

struct status export_check_target(const char *directory)
{
    return savedmodel_check_target(directory);
}

struct status export_model(const struct export_request *request, struct value_source *source)
{
    struct arena *arena = arena_create(0);
    struct layers_serving_options options = { .classes = request->classes,
                                              .classes_count = request->classes_count };
    struct layers_serving serving = { 0 };
    struct status status;

    TRY_OR(done, layers_build_serving(request->model, &options, arena, &serving));
    struct saved_variable *variables =
        ARENA_ARRAY(arena, struct saved_variable, serving.variables_count);
    for (int i = 0; i < serving.variables_count; i++) {
        const struct layers_variable *variable = &serving.variables[i];
        variables[i] = (struct saved_variable){ variable->name, variable->dtype, variable->shape,
                                                variable->trainable };
    }
    struct saved_model model = {
        .graph = serving.graph,
        .signatures = serving.signatures,
        .signatures_count = serving.signatures_count,
        .variables = variables,
        .variables_count = serving.variables_count,
        .init_op = serving.init_op,
    };
    TRY_OR(done, savedmodel_write(request->directory, &model, source));
done:
    graph_finish(serving.graph);
    arena_destroy(arena);
    return status_in(status, "export to '%s'", request->directory);
}
