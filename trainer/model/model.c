#include "trainer/model/model.h"

#include <stdlib.h>

#include "base/random.h"
#include "runtime/resources.h"
#include "trainer/inputs/feeder.h"

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
    struct endpoint *fetches = ARENA_ARRAY(model->arena, struct endpoint,
                                           graph->variables_count + 1 + graph->metrics_count);
    int count = 0;

    fetches[count++] = graph->step.loss;
    for (int v = 0; v < graph->variables_count; v++)
        if (graph->variables[v].update != UPDATE_NONE)
            fetches[count++] = graph->step.updates[v];
    for (int m = 0; m < graph->metrics_count && graph->step.metrics != NULL; m++)
        fetches[count++] = graph->step.metrics[m];
    return make_plan(model, &graph->step, fetches, count, &model->step);
}

/* Makes the plan that computes the ids of a pass's lookups, which needs no variable. */
static struct status make_ids_plan(struct model *model, const struct training_pass *pass,
                                   struct plan **out)
{
    struct endpoint *feeds, *ids = ARENA_ARRAY(model->arena, struct endpoint, pass->lookups_count);
    struct flatten_request request = {
        .feeds_count = feeder_data_endpoints(model->graph, pass, model->arena, &feeds),
        .fetches = ids,
        .fetches_count = pass->lookups_count,
    };
    struct plan_options options = { 0 };

    request.feeds = feeds;
    for (int i = 0; i < pass->lookups_count; i++)
        ids[i] = pass->lookups[i].ids;
    return pass->lookups_count == 0
               ? status_ok()
               : plan_create(pass->graph, &request, model->resources, NULL, &options, out);
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

static struct status make_ranking_plans(struct model *model)
{
    const struct training_graph *graph = model->graph;
    const struct endpoint fetches[] = { graph->candidates.vectors, graph->candidates.ids };

    if (graph->ranking.graph == NULL)
        return status_ok();
    TRY(make_ids_plan(model, &graph->ranking, &model->ranking_ids));
    return make_plan(model, &graph->ranking, fetches, graph->evaluation.candidates_count,
                     &model->ranking);
}

static struct status list_variables(struct model *model)
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
                                      .by_rows = variable->by_rows,
                                      .by_keys = variable->by_keys,
                                      .keys = variable->keys,
                                      .trainable = variable->update == UPDATE_GRADIENT,
                                      .averaged = variable->update == UPDATE_AVERAGE,
                                      .momentum = variable->momentum,
                                      .constraint = variable->constraint,
                                      .power_iterations = variable->power_iterations };
        if (variable->by_keys && variable->update != UPDATE_GRADIENT)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s' is a hash table without a gradient: no loss depends "
                                "on it",
                                variable->name);
        TRY(placed_variable_check(&model->variables[v]));
    }
    return status_ok();
}

/* Fills the tables of vocabularies, which all plans read. */
static struct status fill_tables(struct model *model)
{
    const struct training_pass *pass = &model->graph->step;
    struct node *init = pass->init;
    const struct flatten_request request = { .targets = &init, .targets_count = 1 };
    struct plan *plan;

    if (init == NULL)
        return status_ok();
    TRY(plan_create(pass->graph, &request, model->resources, NULL, NULL, &plan));
    struct run *run = run_create(0);
    struct status held = status_hold(plan_run(plan, run, NULL, NULL));
    run_destroy(run);
    plan_destroy(plan);
    return status_resume(held);
}

struct status model_create(const struct training_graph *graph, struct resources *resources,
                           struct model **out)
{
    struct status status;
    struct model *model = zalloc(sizeof *model);

    model->arena = arena_create(0);
    model->graph = graph;
    model->resources = resources != NULL ? resources : resources_create();
    TRY_OR(fail, list_variables(model));
    TRY_OR(fail, fill_tables(model));
    TRY_OR(fail, make_step_plan(model));
    TRY_OR(fail, make_evaluation_plan(model));
    TRY_OR(fail, make_ids_plan(model, &graph->step, &model->step_ids));
    TRY_OR(fail, make_ids_plan(model, &graph->evaluation, &model->evaluation_ids));
    TRY_OR(fail, make_ranking_plans(model));
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
    plan_destroy(model->step_ids);
    plan_destroy(model->evaluation_ids);
    plan_destroy(model->ranking);
    plan_destroy(model->ranking_ids);
    resources_destroy(model->resources);
    arena_destroy(model->arena);
    free(model);
}

/* Each variable has its own random stream. */
static uint64_t seed_of(uint64_t seed, int variable)
{
    struct random seeds;
    uint64_t own = 0;

    random_init(&seeds, seed, 1);
    for (int v = 0; v <= variable; v++)
        own = random_u64(&seeds);
    return own;
}

void model_seed_keys(struct model *model, uint64_t seed)
{
    for (int v = 0; v < model->variables_count; v++)
        if (!model->graph->variables[v].has_seed)
            model->variables[v].keys.seed = seed_of(seed, v);
}

struct status model_initial_values(const struct model *model, uint64_t seed, struct arena *arena,
                                   const void *const **out)
{
    const void **values = ARENA_ARRAY(arena, const void *, model->variables_count);

    for (int v = 0; v < model->variables_count; v++) {
        const struct training_variable *variable = &model->graph->variables[v];
        if (training_variable_is_sparse(variable))
            continue;
        void *value =
            arena_array(arena, dtype_size(variable->dtype), (size_t)shape_size(&variable->shape));
        TRY(status_in(variable->fill(variable, seed_of(seed, v), value), "variable '%s'",
                      variable->name));
        values[v] = value;
    }
    *out = values;
    return status_ok();
}

void model_fill_rows(const struct model *model, uint64_t seed, int variable, int64_t first_row,
                     int64_t rows_count, void *out)
{
    const struct training_variable *row = &model->graph->variables[variable];

    row->fill_rows(row, seed_of(seed, variable), first_row, rows_count, out);
}
