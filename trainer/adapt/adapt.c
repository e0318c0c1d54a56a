#include "trainer/adapt/adapt.h"

#include <stdlib.h>

#include "base/arena.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "trainer/adapt/summary.h"

#define ROWS_AT_ONCE 1024

struct adapt_pass {
    struct layers_model *model;
    struct arena *arena;
    struct layers_graph built;
    struct resources *resources;
    struct plan *plan;
    struct run *run;
    struct summary **summaries; /* one for each layer */
    int summaries_count;
    struct endpoint *fetches; /* several for a layer that is called several times */
    int *summary_of;          /* of each fetch */
    int fetches_count;
    struct tensor *feeds, *values;
};

static struct status build_whole(const struct layers_model *model, struct arena *arena,
                                 struct layers_graph *out)
{
    const struct layers_options options = { .mode = LAYERS_SERVE };

    return layers_build(model, &options, arena, out);
}

bool adapt_needed(const struct layers_model *model)
{
    struct arena *arena = arena_create(0);
    struct layers_graph built;

    bool built_well = status_is_ok(build_whole(model, arena, &built)); /* as when it was parsed */
    bool needed = built_well && built.adapting_count > 0;
    if (built_well)
        graph_finish(built.graph);
    arena_destroy(arena);
    return needed;
}

/* ---- layers that can be adapted now ---- */

static bool is_of_layer(const struct node *node, const char *layer)
{
    size_t size = strlen(layer);

    return strncmp(node->name, layer, size) == 0 && node->name[size] == '/';
}

/* Does the node depend on a layer without a state, other than `self`? (Its own nodes cast its
 * input.) */
static bool depends(const struct layers_graph *built, const char *self, const struct node *node,
                    struct map *seen)
{
    if (map_get_text(seen, node->name) != NULL)
        return false;
    map_put_text(seen, node->name, seen);
    for (int i = 0; i < built->adapting_count; i++)
        if (strcmp(built->adapting[i].layer, self) != 0 &&
            is_of_layer(node, built->adapting[i].layer))
            return true;
    for (int i = 0; i < node->inputs_count; i++)
        if (depends(built, self, node->inputs[i].node, seen))
            return true;
    return false;
}

static bool is_ready(const struct layers_graph *built, const struct layers_adapting *adapting)
{
    struct map seen = { 0 };
    bool ready = true;

    for (int i = 0; i < built->adapting_count && ready; i++)
        if (strcmp(built->adapting[i].layer, adapting->layer) == 0)
            ready = !depends(built, adapting->layer, built->adapting[i].values.node, &seen);
    map_finish(&seen);
    return ready;
}

static int find_summary(struct adapt_pass *pass, const struct layers_adapting *adapting)
{
    for (int i = 0; i < pass->summaries_count; i++)
        if (strcmp(pass->summaries[i]->how.layer, adapting->layer) == 0)
            return i;
    pass->summaries[pass->summaries_count] = summary_create(adapting);
    return pass->summaries_count++;
}

static void choose_layers(struct adapt_pass *pass)
{
    const struct layers_graph *built = &pass->built;
    int count = built->adapting_count;

    pass->summaries = ARENA_ARRAY(pass->arena, struct summary *, count);
    pass->fetches = ARENA_ARRAY(pass->arena, struct endpoint, count);
    pass->summary_of = ARENA_ARRAY(pass->arena, int, count);
    pass->values = ARENA_ARRAY(pass->arena, struct tensor, count);
    pass->feeds = ARENA_ARRAY(pass->arena, struct tensor, pass->model->inputs_count);
    for (int i = 0; i < count; i++) {
        if (!is_ready(built, &built->adapting[i]))
            continue;
        pass->summary_of[pass->fetches_count] = find_summary(pass, &built->adapting[i]);
        pass->fetches[pass->fetches_count++] = built->adapting[i].values;
    }
}

/* ---- the pass ---- */

/* Fills the tables of layers that have their vocabulary. */
static struct status fill_tables(struct adapt_pass *pass)
{
    const struct flatten_request request = { .targets = &pass->built.init, .targets_count = 1 };
    struct plan *plan;

    if (pass->built.init == NULL)
        return status_ok();
    TRY(plan_create(pass->built.graph, &request, pass->resources, NULL, NULL, &plan));
    struct status held = status_hold(plan_run(plan, pass->run, NULL, NULL));
    plan_destroy(plan);
    return status_resume(held);
}

static struct status prepare(struct adapt_pass *pass)
{
    TRY(build_whole(pass->model, pass->arena, &pass->built));
    choose_layers(pass);
    TRY(fill_tables(pass));
    if (pass->fetches_count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "layer '%s' cannot be adapted: its input depends on its own state",
                            pass->built.adapting[0].layer);
    const struct flatten_request request = { .feeds = pass->built.inputs,
                                             .feeds_count = pass->model->inputs_count,
                                             .fetches = pass->fetches,
                                             .fetches_count = pass->fetches_count };
    return plan_create(pass->built.graph, &request, pass->resources, NULL, NULL, &pass->plan);
}

struct status adapt_begin(struct layers_model *model, struct adapt_pass **out)
{
    struct adapt_pass *pass = zalloc(sizeof *pass);

    *pass = (struct adapt_pass){ .model = model,
                                 .arena = arena_create(0),
                                 .resources = resources_create(),
                                 .run = run_create(0) };
    struct status held = status_hold(prepare(pass));
    if (!status_is_ok(held))
        adapt_destroy(pass);
    else
        *out = pass;
    return status_resume(held);
}

void adapt_destroy(struct adapt_pass *pass)
{
    if (pass == NULL)
        return;
    for (int i = 0; i < pass->summaries_count; i++)
        summary_destroy(pass->summaries[i]);
    plan_destroy(pass->plan);
    run_destroy(pass->run);
    resources_destroy(pass->resources);
    if (pass->built.graph != NULL)
        graph_finish(pass->built.graph);
    arena_destroy(pass->arena);
    free(pass);
}

/* ---- rows ---- */

static struct status find_columns(const struct adapt_pass *pass, const struct data_split *split,
                                  int *columns)
{
    const struct layers_model *model = pass->model;

    for (int i = 0; i < model->inputs_count; i++) {
        const char *name = model->inputs_count == 1 ? "x" : model->inputs[i].name;
        columns[i] = data_split_column(split, name);
        if (columns[i] >= 0 && model->inputs[i].layout == TENSOR_DENSE &&
            split->columns[columns[i]].spec.layout == TENSOR_RAGGED)
            return status_error(STATUS_UNIMPLEMENTED,
                                "a layer that adapts to the data would count the padding of the "
                                "lists of the input '%s': give the state of each such layer in the "
                                "description, such as the mean and variance of a Normalization",
                                model->inputs[i].name);
        if (columns[i] < 0 || split->columns[columns[i]].spec.layout != TENSOR_DENSE)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the data have no dense column for the model's input '%s'", name);
    }
    return status_ok();
}

static struct status summarise_batch(struct adapt_pass *pass, const struct batch *batch,
                                     const int *columns)
{
    struct status status = status_ok();

    for (int i = 0; i < pass->model->inputs_count; i++) {
        const struct tensor *values = &batch->columns[columns[i]].values;
        struct shape shape = pass->model->inputs[i].shape;
        shape.dims[0] = batch->rows;
        pass->feeds[i] = tensor_borrow(values->dtype, &shape, values->data);
    }
    TRY(plan_run(pass->plan, pass->run, pass->feeds, pass->values));
    for (int i = 0; i < pass->fetches_count; i++) {
        if (status_is_ok(status))
            status = summary_add(pass->summaries[pass->summary_of[i]], &pass->values[i]);
        tensor_release(&pass->values[i]);
    }
    run_reset(pass->run);
    return status;
}

static struct status read_rows(struct adapt_pass *pass, struct batch_source *rows,
                               const int *columns, bool (*stopped)(void *context), void *context)
{
    for (;;) {
        struct batch batch;
        TRY(rows->next(rows, ROWS_AT_ONCE, &batch));
        if (batch.rows == 0)
            return status_ok();
        if (stopped(context))
            return status_error(STATUS_CANCELLED, "stopped");
        TRY(summarise_batch(pass, &batch, columns));
    }
}

struct status adapt_read(struct adapt_pass *pass, const struct data_split *split,
                         const struct batch_order *share, bool (*stopped)(void *context),
                         void *context)
{
    int *columns = ARENA_ARRAY(pass->arena, int, pass->model->inputs_count);
    struct batch_source *rows;

    TRY(find_columns(pass, split, columns));
    TRY(split->open(split, share, &rows));
    struct status held = status_hold(read_rows(pass, rows, columns, stopped, context));
    rows->destroy(rows);
    return status_resume(held);
}

/* ---- summaries and states ---- */

void adapt_write(struct adapt_pass *pass, struct buffer *out)
{
    struct example_builder builder = { 0 };

    for (int i = 0; i < pass->summaries_count; i++)
        summary_write(pass->summaries[i], &builder);
    struct bytes example = example_builder_end(&builder);
    buffer_append(out, example.data, example.size);
    example_builder_finish(&builder);
}

struct status adapt_merge(struct adapt_pass *pass, struct bytes summaries)
{
    for (int i = 0; i < pass->summaries_count; i++)
        TRY(summary_merge(pass->summaries[i], summaries));
    return status_ok();
}

struct status adapt_end(struct adapt_pass *pass, struct buffer *states)
{
    struct example_builder builder = { 0 };
    struct status status = status_ok();

    for (int i = 0; i < pass->summaries_count && status_is_ok(status); i++) {
        struct summary *summary = pass->summaries[i];
        struct layers_state *state = ARENA_NEW(pass->model->arena, struct layers_state);
        status = summary_finish(summary, pass->model->arena, state);
        if (!status_is_ok(status))
            break;
        state_write(&summary->how, state, &builder);
        layers_set_state(pass->model, summary->how.layer, state);
    }
    struct bytes example = example_builder_end(&builder);
    if (status_is_ok(status))
        buffer_append(states, example.data, example.size);
    example_builder_finish(&builder);
    return status_is_ok(status) ? layers_recheck(pass->model) : status;
}

/* Keeps bytes alive: a state of texts points into the bytes from which it was read. */
static struct bytes keep_bytes(struct layers_model *model, struct bytes bytes)
{
    return (struct bytes){ arena_memdup(model->arena, bytes.data, bytes.size), bytes.size };
}

static struct status load_state(struct layers_model *model, const struct layers_adapting *adapting,
                                struct bytes states)
{
    struct layers_state *state = ARENA_NEW(model->arena, struct layers_state);

    TRY(state_read(adapting, states, model->arena, state));
    layers_set_state(model, adapting->layer, state);
    return status_ok();
}

struct status adapt_take(struct adapt_pass *pass, struct bytes states)
{
    const struct bytes kept = keep_bytes(pass->model, states);

    for (int i = 0; i < pass->summaries_count; i++)
        TRY(load_state(pass->model, &pass->summaries[i]->how, kept));
    return layers_recheck(pass->model);
}

static struct status load_states(struct layers_model *model, const struct layers_graph *built,
                                 struct bytes states)
{
    const struct bytes kept = keep_bytes(model, states);

    for (int i = 0; i < built->adapting_count; i++)
        TRY(load_state(model, &built->adapting[i], kept));
    return layers_recheck(model);
}

struct status adapt_load(struct layers_model *model, struct bytes states)
{
    struct arena *arena = arena_create(0);
    struct layers_graph built;

    struct status status = build_whole(model, arena, &built);
    if (status_is_ok(status)) {
        status = load_states(model, &built, states);
        graph_finish(built.graph);
    }
    struct status held = status_hold(status);
    arena_destroy(arena);
    return status_resume(held);
}
