#include "trainer/model.h"

#include <stdlib.h>

#include "base/random.h"
#include "runtime/resources.h"
#include "trainer/feeder.h"

static struct status make_plan(struct model *model, const struct training_pass *pass,
                               const struct endpoint *fetches, int fetches_count, struct plan **out)
{
    struct endpoint *feeds;
    struct flatten_request request = {
        .feeds_count = feeder_endpoints(model->graph, pass, model->arena, &feeds),
        .fetches = fetches,
        .fetches_count = fetches_count,
    };
    struct plan_options options = { 0 };

    request.feeds = feeds;
    return plan_create(pass->graph, &request, model->resources, NULL, &options, out);
}

static struct status make_step_plan(struct model *model)
{
    const struct training_graph *graph = model->graph;
    struct endpoint *fetches =
        ARENA_ARRAY(model->arena, struct endpoint, graph->variables_count + 1);
    int count = 0;

    fetches[count++] = graph->step.loss;
    for (int v = 0; v < graph->variables_count; v++)
        if (graph->variables[v].update != UPDATE_NONE)
            fetches[count++] = graph->step.updates[v];
    return make_plan(model, &graph->step, fetches, count, &model->step);
}

static struct status make_evaluation_plan(struct model *model)
{
    const struct training_graph *graph = model->graph;
    struct endpoint fetches[1 + EVALUATION_METRICS_MAX] = { graph->evaluation.loss };

    if (graph->metrics_count > EVALUATION_METRICS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "model '%s' has %d metrics; at most %d",
                            graph->name, graph->metrics_count, EVALUATION_METRICS_MAX);
    for (int m = 0; m < graph->metrics_count; m++)
        fetches[1 + m] = graph->evaluation.metrics[m];
    return make_plan(model, &graph->evaluation, fetches, 1 + graph->metrics_count,
                     &model->evaluation);
}

static void list_variables(struct model *model)
{
    const struct training_graph *graph = model->graph;

    model->variables_count = graph->variables_count;
    model->variables = ARENA_ARRAY(model->arena, struct placed_variable, graph->variables_count);
    for (int v = 0; v < graph->variables_count; v++) {
        const struct training_variable *variable = &graph->variables[v];
        model->variables[v] =
            (struct placed_variable){ .name = variable->name,
                                      .dtype = variable->dtype,
                                      .shape = variable->shape,
                                      .trainable = variable->update == UPDATE_GRADIENT };
    }
}

struct status model_create(const struct training_graph *graph, struct model **out)
{
    struct status status;
    struct model *model = zalloc(sizeof *model);

    model->arena = arena_create(0);
    model->graph = graph;
    model->resources = resources_create();
    list_variables(model);
    TRY_OR(fail, make_step_plan(model));
    TRY_OR(fail, make_evaluation_plan(model));
    *out = model;
    return status_ok();

fail:
    model_destroy(model);
    return status;
}

void model_destroy(struct model *model)
{
    if (model == NULL)
        return;
    plan_destroy(model->step);
    plan_destroy(model->evaluation);
    resources_destroy(model->resources);
    arena_destroy(model->arena);
    free(model);
}

const void *const *model_first_values(const struct model *model, uint64_t seed, struct arena *arena)
{
    const void **values = ARENA_ARRAY(arena, const void *, model->variables_count);
    struct random seeds;

    random_init(&seeds, seed, 1);
    for (int v = 0; v < model->variables_count; v++) {
        const struct training_variable *variable = &model->graph->variables[v];
        void *out =
            arena_array(arena, dtype_size(variable->dtype), (size_t)shape_size(&variable->shape));
        variable->fill(variable, random_u64(&seeds), out);
        values[v] = out;
    }
    return values;
}
