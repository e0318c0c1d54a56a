/* Model descriptions. If one parses, the target builds its graph in every mode, which may fail. */
#include <stddef.h>
#include <stdint.h>

#include "layers/layers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void build_all(const struct layers_model *model, struct arena *arena)
{
    struct layers_serving serving;

    for (int mode = LAYERS_TRAIN; mode <= LAYERS_SERVE; mode++) {
        const struct layers_options options = { .mode = (enum layers_mode)mode, .batch = mode };
        struct layers_graph built;
        if (status_is_ok(layers_build(model, &options, arena, &built)))
            graph_finish(built.graph);
    }
    if (status_is_ok(layers_build_serving(model, NULL, arena, &serving)))
        graph_finish(serving.graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct status status = layers_parse((struct bytes){ (const char *)data, size }, arena, &model);

    /* The serving graph names each class; a million names are slow, which is no fault. */
    if (status_is_ok(status) &&
        (model->outputs[0].shape.rank != 2 || model->outputs[0].shape.dims[1] < 10000))
        build_all(model, arena);
    arena_destroy(arena);
    return 0;
}
