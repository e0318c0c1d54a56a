/* training_graph: the training graph of a description, and the recipe of its export. */
#include "graph/training_graph.h"
#include "graph/graph_proto.h"
#include "graph/order.h"
#include "layers/losses/weights.h"
#include "layers/metrics/ranking.h"

/* The names of the feeds of a model with one input and one output. */
#define ONLY_INPUT "x"
#define ONLY_LABEL "labels"

#define SAMPLE_WEIGHT "sample_weight"

static struct training_feed feed_of(const char *name, struct endpoint endpoint, enum feed_role role)
{
    struct training_feed feed = { .role = role,
                                  .spec = { .name = name,
                                            .dtype = endpoint_dtype(endpoint),
                                            .shape = *endpoint_shape(endpoint) } };

    feed.spec.shape.dims[0] = -1;
    return feed;
}

static struct training_feed input_feed(const struct layers_port *port, const char *name)
{
    struct training_feed feed = { .role = FEED_INPUT,
                                  .is_example = port->is_example,
                                  .raw = port->raw,
                                  .spec = { .name = name != NULL ? name : port->name,
                                            .layout = port->layout,
                                            .dtype = port->dtype,
                                            .shape = port->shape } };

    feed.spec.shape.dims[0] = -1;
    return feed;
}

/* The labels of a single output are called "labels"; those of several outputs have the outputs'
 * names. */
static struct training_feed label_feed(const struct layers_model *model,
                                       const struct layers_graph *built, int output)
{
    const struct layers_port *port = &model->outputs[output];
    struct training_feed feed = feed_of(model->outputs_count == 1 ? ONLY_LABEL : port->name,
                                        built->heads[output].labels, FEED_LABEL);

    if (model->targets[output].labels == LAYERS_CLASSES)
        feed.classes = port->shape.dims[port->shape.rank - 1];
    feed.takes_shares = feed.classes > 1 && loss_is_of_one_hot(model->targets[output].loss);
    feed.ignored_class = loss_ignored_class(model->targets[output].loss);
    feed.is_binary = model->targets[output].kind == LAYERS_BINARY;
    return feed;
}

/* The most feeds: inputs, labels and columns of the outputs that have a loss, weights. */
static int feeds_max(const struct layers_model *model)
{
    return model->inputs_count + 2 * model->outputs_count + 1;
}

static struct status list_feeds(const struct layers_model *model, const struct layers_graph *built,
                                bool weighted, struct arena *arena, struct training_graph *out)
{
    int inputs = model->inputs_count, count = 0;

    out->feeds = ARENA_ARRAY(arena, struct training_feed, feeds_max(model));
    for (int i = 0; i < inputs; i++)
        out->feeds[count++] =
            input_feed(&model->inputs[i], inputs == 1 && model->body == NULL ? ONLY_INPUT : NULL);
    for (int i = 0; i < model->outputs_count; i++) {
        if (built->heads[i].labels.node != NULL)
            out->feeds[count++] = label_feed(model, built, i);
        if (built->heads[i].column.node != NULL)
            out->feeds[count++] =
                feed_of(model->targets[i].column, built->heads[i].column, FEED_COLUMN);
    }
    if (weighted)
        out->feeds[count++] = (struct training_feed){
            .role = FEED_WEIGHT,
            .spec = { .name = SAMPLE_WEIGHT, .dtype = DT_FLOAT, .shape = weights_shape(model) }
        };
    out->feeds_count = count;
    for (int i = inputs; i < count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(out->feeds[i].spec.name, out->feeds[k].spec.name) == 0)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "two of the inputs, the outputs and the columns of losses of "
                                    "model '%s' have the name '%s', so that it is not known which "
                                    "one the data's column of that name is: rename one",
                                    model->name, out->feeds[i].spec.name);
    return status_ok();
}

static struct status fill_variable(const struct training_variable *variable, uint64_t seed,
                                   void *out)
{
    initializer_fill(variable->fill_context, &variable->shape, seed, out);
    return status_ok();
}

static void fill_rows(const struct training_variable *variable, uint64_t seed, int64_t first_row,
                      int64_t rows_count, void *out)
{
    initializer_fill_rows(variable->fill_context, &variable->shape, seed, first_row, rows_count,
                          out);
}

static bool keys_start_at_zero(const struct row_keys_spec *keys)
{
    return keys->initializer == KEY_CONSTANT && keys->a == 0;
}

static struct training_variable variable_of(const struct layers_variable *variable)
{
    return (struct training_variable){
        .name = variable->name,
        .dtype = variable->dtype,
        .shape = variable->shape,
        .update = variable->gradient.node != NULL  ? UPDATE_GRADIENT
                  : variable->average.node != NULL ? UPDATE_AVERAGE
                                                   : UPDATE_NONE,
        .momentum = variable->momentum,
        .constraint = variable->constraint,
        .power_iterations = variable->power_iterations,
        .by_rows = variable->by_rows,
        .by_keys = variable->by_keys,
        .keys = variable->keys,
        .has_seed = variable->has_seed,
        .fill = variable->by_keys ? NULL : fill_variable,
        .fill_rows = variable->by_rows ? fill_rows : NULL,
        .fill_context = &variable->initializer,
        .starts_at_zero = variable->by_keys ? keys_start_at_zero(&variable->keys)
                                            : initializer_is_zero(&variable->initializer),
    };
}

static void list_variables(const struct layers_graph *built, struct arena *arena,
                           struct training_graph *out)
{
    out->variables_count = built->variables_count;
    out->variables = ARENA_ARRAY(arena, struct training_variable, built->variables_count);
    for (int v = 0; v < built->variables_count; v++)
        out->variables[v] = variable_of(&built->variables[v]);
}

/* The input of the node that has the ids, if it only moves or converts them; otherwise -1. */
static int input_of_ids(const struct node *node)
{
    static const char *const moves[] = { "Cast",       "Identity", "Reshape",
                                         "ExpandDims", "Squeeze",  "StridedSlice" };

    for (size_t i = 0; i < COUNT(moves); i++)
        if (strcmp(node->op_name, moves[i]) == 0)
            return 0;
    return strcmp(node->op_name, "SelectV2") == 0 ? 2 : -1; /* a negative id counts from the end */
}

static void note_table_rows(struct training_graph *graph)
{
    const struct training_pass *pass = &graph->step;

    for (int i = 0; i < pass->lookups_count; i++) {
        const struct training_variable *table = &graph->variables[pass->lookups[i].variable];
        const struct node *node = pass->lookups[i].ids.node;
        while (input_of_ids(node) >= 0)
            node = node->inputs[input_of_ids(node)].node;
        for (int f = 0; f < graph->feeds_count && table->by_rows; f++) {
            struct training_feed *feed = &graph->feeds[f];
            if (pass->feeds[f].values.node != node || feed->role != FEED_INPUT)
                continue;
            if (feed->table_rows == 0 || table->shape.dims[0] < feed->table_rows)
                feed->table_rows = table->shape.dims[0];
        }
    }
}

static void list_metrics(const struct layers_model *model, struct arena *arena,
                         struct training_graph *out)
{
    struct training_metric *metrics =
        ARENA_ARRAY(arena, struct training_metric, model->metrics_count);

    for (int i = 0; i < model->metrics_count; i++)
        metrics[i] = metric_of(&model->metrics[i], &model->outputs[model->metrics[i].output].shape);
    out->metrics = metrics;
    out->metrics_count = model->metrics_count;
}

static struct training_pass pass_of(const struct layers_model *model,
                                    const struct layers_graph *built, struct arena *arena)
{
    int count = 0;
    struct training_pass pass = {
        .graph = built->graph,
        .feeds = ARENA_ARRAY(arena, struct feed_endpoints, feeds_max(model)),
        .values = ARENA_ARRAY(arena, struct endpoint, built->variables_count),
        .updates = ARENA_ARRAY(arena, struct endpoint, built->variables_count),
        .lookups = built->lookups,
        .lookups_count = built->lookups_count,
        .metrics = built->metrics,
        .random_seed = built->random_seed,
        .loss_scale = built->loss_scale,
        .init = built->init,
        .loss = built->loss,
    };

    for (int i = 0; i < model->inputs_count; i++)
        pass.feeds[count++] =
            (struct feed_endpoints){ .values = built->inputs[i],
                                     .ids = built->lists[i].ids,
                                     .row_splits = built->lists[i].row_splits,
                                     .indices = built->lists[i].indices,
                                     .sparse_shape = built->lists[i].sparse_shape };
    for (int i = 0; i < model->outputs_count; i++) {
        if (built->heads[i].labels.node != NULL)
            pass.feeds[count++].values = built->heads[i].labels;
        if (built->heads[i].column.node != NULL)
            pass.feeds[count++].values = built->heads[i].column;
    }
    pass.feeds[count].values = built->weights;
    for (int v = 0; v < built->variables_count; v++) {
        pass.values[v] = built->variables[v].value;
        pass.updates[v] = built->variables[v].gradient.node != NULL ? built->variables[v].gradient
                                                                    : built->variables[v].average;
    }
    return pass;
}

/* A set of nodes closed under inputs. */
struct needed_nodes {
    struct node **nodes;
    int count;
};

static struct status find_needed(const struct graph *graph, struct node *const *seeds, int count,
                                 struct arena *arena, struct needed_nodes *out)
{
    const struct order_request request = { .seeds = seeds, .seeds_count = count };

    return graph_order_some(graph, &request, arena, &out->nodes, &out->count);
}

static bool is_needed(const struct needed_nodes *needed, struct endpoint endpoint)
{
    for (int i = 0; i < needed->count; i++)
        if (endpoint.node != NULL && needed->nodes[i] == endpoint.node)
            return true;
    return false;
}

static bool feed_is_needed(const struct needed_nodes *needed, const struct feed_endpoints *feed)
{
    return is_needed(needed, feed->values) || is_needed(needed, feed->ids) ||
           is_needed(needed, feed->row_splits) || is_needed(needed, feed->indices) ||
           is_needed(needed, feed->sparse_shape);
}

/* Keeps only what the pass needs for its candidates. The ids of a lookup are found before its
 * rows, and the nodes after these do not lead to them. */
static struct status keep_needed(const struct candidate_ends *ends, int feeds_count,
                                 struct arena *arena, struct training_pass *pass)
{
    struct node **seeds = ARENA_ARRAY(arena, struct node *, pass->lookups_count + 2);
    struct row_lookup *lookups = ARENA_ARRAY(arena, struct row_lookup, pass->lookups_count + 1);
    struct feed_endpoints *feeds = ARENA_ARRAY(arena, struct feed_endpoints, feeds_count + 1);
    struct needed_nodes needed;
    int count = 0, kept = 0;

    seeds[count++] = ends->vectors.node;
    if (ends->ids.node != NULL)
        seeds[count++] = ends->ids.node;
    TRY(find_needed(pass->graph, seeds, count, arena, &needed));
    for (int i = 0; i < pass->lookups_count; i++)
        if (is_needed(&needed, pass->lookups[i].positions)) {
            seeds[count++] = pass->lookups[i].ids.node;
            lookups[kept++] = pass->lookups[i];
        }
    TRY(find_needed(pass->graph, seeds, count, arena, &needed));
    for (int f = 0; f < feeds_count; f++)
        if (feed_is_needed(&needed, &pass->feeds[f]))
            feeds[f] = pass->feeds[f];
    pass->feeds = feeds;
    pass->lookups = lookups;
    pass->lookups_count = kept;
    return status_ok();
}

/* Adds the ranking among all candidates: the feeds of the evaluation, and the pass that computes
 * the candidates. */
static struct status add_ranking(const struct layers_model *model,
                                 const struct layers_graph *evaluation, struct arena *arena,
                                 struct training_graph *out)
{
    const struct candidate_ends *ends = &evaluation->candidates;
    struct training_pass *pass = &out->evaluation;

    if (ends->vectors.node == NULL)
        return status_ok();
    out->candidates = *ends;
    out->ranking_metric = ranking_find(model, -1)->name;
    out->ranking = out->evaluation;
    out->ranking.loss = (struct endpoint){ 0 };
    out->ranking.metrics = NULL;
    pass->candidates[pass->candidates_count++] = ends->all_vectors;
    if (ends->ids.node != NULL)
        pass->candidates[pass->candidates_count++] = ends->all_ids;
    return keep_needed(ends, out->feeds_count, arena, &out->ranking);
}

/* Hashes the computation. Jobs may differ in the batch size and the reduction. */
static struct status take_hash(const struct layers_model *model, uint64_t *out)
{
    struct layers_options options = { .mode = LAYERS_TRAIN, .reduction = LAYERS_MEAN };
    struct arena *arena = arena_create(0);
    struct layers_graph built = { 0 };

    struct status status = layers_build(model, &options, arena, &built);
    if (status_is_ok(status))
        *out = graph_hash(built.graph);
    else /* the text is in the arena */
        status = status_error(status.code, "%s", status.message);
    graph_finish(built.graph);
    arena_destroy(arena);
    return status;
}

struct layers_recipe {
    struct export_recipe recipe; /* first */
    const struct layers_model *model;
    struct layers_serving_options options;
};

/* "mean squared error" for "mean_squared_error". */
static const char *words(const char *name, struct arena *arena)
{
    char *out = arena_strdup(arena, name);

    for (char *at = out; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    return out;
}

static struct status build_export(const struct export_recipe *base, struct arena *arena,
                                  struct serving_graph *out)
{
    const struct layers_recipe *recipe = (const struct layers_recipe *)base;
    struct layers_serving built;

    TRY(layers_build_serving(recipe->model, &recipe->options, arena, &built));
    struct training_variable *variables =
        ARENA_ARRAY(arena, struct training_variable, built.variables_count);
    for (int v = 0; v < built.variables_count; v++) {
        variables[v] = variable_of(&built.variables[v]);
        variables[v].update = built.variables[v].trainable ? UPDATE_GRADIENT : UPDATE_NONE;
    }
    *out = (struct serving_graph){ .graph = built.graph,
                                   .signatures = built.signatures,
                                   .signatures_count = built.signatures_count,
                                   .init_op = built.init_op,
                                   .variables = variables,
                                   .variables_count = built.variables_count };
    return status_ok();
}

const struct export_recipe *layers_export_recipe(const struct layers_model *model,
                                                 const struct layers_serving_options *options,
                                                 struct arena *arena)
{
    struct layers_recipe *recipe = ARENA_NEW(arena, struct layers_recipe);

    *recipe = (struct layers_recipe){ .recipe = { build_export }, .model = model };
    if (options != NULL)
        recipe->options = *options;
    return &recipe->recipe;
}

struct status layers_training_graph(const struct layers_model *model,
                                    const struct layers_training_options *options,
                                    struct arena *arena, struct training_graph *out)
{
    const struct layers_options training = { .mode = LAYERS_TRAIN,
                                             .reduction = options->reduction,
                                             .batch = options->batch,
                                             .weighted = options->weighted,
                                             .loss_scale = options->loss_scale,
                                             .feeds_loss_scale = options->feeds_loss_scale,
                                             .metrics = options->metrics };
    const struct layers_options evaluating = {
        .mode = LAYERS_EVAL,
        .reduction = options->reduction == LAYERS_WEIGHTED_MEAN ? LAYERS_WEIGHTED_MEAN : LAYERS_SUM,
        .weighted = options->evaluation_weighted
    };
    struct layers_graph *step = ARENA_NEW(arena, struct layers_graph),
                        *evaluation = ARENA_NEW(arena, struct layers_graph);
    struct training_graph graph = { .name = model->name };
    struct status status;

    if (options->metrics && ranking_find(model, -1) != NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "metric '%.100s' ranks among all candidates, which only an evaluation "
                            "does: leave out --train_metrics",
                            ranking_find(model, -1)->name);
    TRY(layers_build(model, &training, arena, step));
    graph.step = pass_of(model, step, arena);
    graph.step.batch = options->batch;
    graph.step.loss_is_sum = options->reduction == LAYERS_SUM;
    TRY_OR(fail, layers_build(model, &evaluating, arena, evaluation));
    graph.evaluation = pass_of(model, evaluation, arena);
    graph.evaluation.loss_is_sum = true;
    TRY_OR(fail, take_hash(model, &graph.hash));
    TRY_OR(fail, list_feeds(model, step, options->weighted || options->evaluation_weighted, arena,
                            &graph));
    TRY_OR(fail, add_ranking(model, evaluation, arena, &graph));
    list_variables(step, arena, &graph);
    note_table_rows(&graph);
    list_metrics(model, arena, &graph);
    bool regression = model->outputs_count == 1 && model->targets[0].kind == LAYERS_REGRESSION;
    graph.loss_name = regression ? words(model->targets[0].loss_name, arena) : "loss";
    graph.recipe = layers_export_recipe(model, NULL, arena);
    *out = graph;
    return status_ok();

fail:
    training_graph_finish(&graph);
    return status;
}
