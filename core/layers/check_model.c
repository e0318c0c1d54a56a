#include "layers/build_model.h"

#include <assert.h>

#include "layers/losses/retrieval.h"
#include "layers/metrics/ranking.h"

/* Checks the outputs of a model that was built; `arena` is the model's. */
typedef struct status check_fn(struct layers_model *model, const struct layers_graph *built,
                               struct arena *arena);

/* Builds the model in a passing arena, which finds the errors of its layers, and checks its
 * outputs. */
static struct status build_and_check(struct layers_model *model, check_fn *check,
                                     struct arena *owner)
{
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct arena *arena = arena_create(0);
    struct layers_graph built;

    struct status status = layers_build(model, &options, arena, &built);
    if (status_is_ok(status)) {
        status = check(model, &built, owner);
        graph_finish(built.graph);
    }
    struct status held = status_hold(status); /* the text may be in the arena */
    arena_destroy(arena);
    return status_resume(held);
}

/* Chooses the loss of a single output if the description does not, and checks it. */
static struct status check_loss(struct layers_model *model, int output,
                                const struct layers_head *heads, struct arena *arena)
{
    struct layers_target *target = &model->targets[output];
    struct endpoint y = heads[output].output;

    if (target->loss == NULL && model->outputs_count > 1)
        return status_ok();
    if (target->loss == NULL) {
        struct loss *loss = ARENA_NEW(arena, struct loss);
        *loss = loss_default(y, arena);
        target->loss = loss;
    }
    target->loss_name = loss_name(target->loss);
    target->labels = loss_labels(target->loss);
    target->kind = loss_kind(target->loss, endpoint_shape(y));
    if (target->labels == LAYERS_NO_LABELS)
        target->column = retrieval_column(target->loss);
    if (model->outputs_count == 1)
        return loss_check(model, output, heads);
    return status_in(loss_check(model, output, heads), "output '%s'", model->outputs[output].name);
}

static int count_losses(const struct layers_model *model)
{
    int count = 0;

    for (int i = 0; i < model->outputs_count; i++)
        count += model->targets[i].loss != NULL;
    return count;
}

/* With several losses, an evaluation reports each of them. */
static void list_losses(const struct layers_model *model, struct arena *arena,
                        struct metric *metrics, int *count)
{
    if (count_losses(model) < 2)
        return;
    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].loss != NULL)
            metrics[(*count)++] = metric_of_target(
                &model->targets[i], i, arena_printf(arena, "%s_loss", model->outputs[i].name));
}

static struct status check_metric(const struct layers_model *model, const struct metric *metric)
{
    const struct layers_target *target = &model->targets[metric->output];

    if (target->loss == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "metric '%.100s' is of the output '%s', which has no loss",
                            metric->name, model->outputs[metric->output].name);
    return metric_check(metric, target, &model->outputs[metric->output].shape);
}

/* The numbers that a metric gives. */
static int64_t count_elements(const struct layers_model *model, const struct metric *metric)
{
    return metric_elements(metric, &model->outputs[metric->output].shape);
}

/* Appends a metric that fits. With several outputs, its name is that of Keras,
 * "<output>_<metric>". A list becomes a metric for each of its numbers: "<metric>/0" and so on. */
static void list_metric(const struct layers_model *model, const struct metric *metric,
                        struct arena *arena, struct metric *out, int *count)
{
    int64_t elements = count_elements(model, metric);
    const char *name =
        model->outputs_count == 1
            ? metric->name
            : arena_printf(arena, "%s_%s", model->outputs[metric->output].name, metric->name);

    for (int64_t i = 0; i < elements; i++) {
        struct metric *one = &out[(*count)++];
        *one = *metric;
        one->name = elements == 1 ? name : arena_printf(arena, "%s/%lld", name, (long long)i);
        one->element = i;
        one->elements = elements;
    }
}

/* Sets accuracy as the metric of a classifier whose description has none, and checks the
 * metrics. */
static struct status check_metrics(struct layers_model *model, struct arena *arena)
{
    const struct layers_target *only = &model->targets[0];
    int64_t total = model->outputs_count + 1;
    int count = 0;

    for (int i = 0; i < model->metrics_count; i++) {
        TRY(check_metric(model, &model->metrics[i]));
        total += count_elements(model, &model->metrics[i]);
    }
    struct metric *metrics = ARENA_ARRAY(arena, struct metric, total);
    list_losses(model, arena, metrics, &count);
    for (int i = 0; i < model->metrics_count; i++)
        list_metric(model, &model->metrics[i], arena, metrics, &count);
    if (count == 0 && model->outputs_count == 1 && only->kind != LAYERS_REGRESSION) {
        bool logits = only->kind == LAYERS_BINARY && loss_from_logits(only->loss);
        TRY(metric_read_accuracy(logits, arena, &metrics[count++]));
        TRY(check_metric(model, &metrics[0]));
    }
    model->metrics = metrics;
    model->metrics_count = count;
    return ranking_check(model);
}

static struct status check_outputs(struct layers_model *model, const struct layers_graph *built,
                                   struct arena *arena)
{
    for (int i = 0; i < model->outputs_count; i++)
        model->outputs[i].shape = *endpoint_shape(built->heads[i].output);
    for (int i = 0; i < model->outputs_count; i++)
        TRY(check_loss(model, i, built->heads, arena));
    return check_metrics(model, arena);
}

struct status layers_check(struct layers_model *model, struct arena *owner)
{
    return build_and_check(model, check_outputs, owner);
}

/* The losses and metrics are those that the first check chose. */
static struct status recheck_outputs(struct layers_model *model, const struct layers_graph *built,
                                     struct arena *arena)
{
    (void)arena;
    for (int i = 0; i < model->outputs_count; i++) {
        model->outputs[i].shape = *endpoint_shape(built->heads[i].output);
        if (model->targets[i].loss != NULL)
            TRY(loss_check(model, i, built->heads));
    }
    return status_ok();
}

struct status layers_recheck(struct layers_model *model)
{
    return build_and_check(model, recheck_outputs, NULL);
}

/* Finds a layer by its name, inside this one or this one itself. */
static struct layer *find_layer(struct layer *layer, const char *name)
{
    struct layer *inner, *found = NULL;

    for (int i = 0; found == NULL && (inner = layer_inner(layer, i)) != NULL; i++)
        found = find_layer(inner, name);
    return found == NULL && strcmp(layer->name, name) == 0 ? layer : found;
}

void layers_set_state(struct layers_model *model, const char *layer,
                      const struct layers_state *state)
{
    struct layer *found = NULL;

    for (int i = 0; found == NULL && i < model->layers_count; i++)
        found = find_layer(&model->layers[i], layer);
    assert(found != NULL);
    found->state = state;
}

struct status layers_take_shares(struct layers_model *model, const char *feed)
{
    int output = 0;

    while (model->outputs_count > 1 && strcmp(model->outputs[output].name, feed) != 0)
        output++;
    assert(loss_is_of_one_hot(model->targets[output].loss));
    model->targets[output].labels = LAYERS_VALUES;
    for (int i = 0; i < model->metrics_count; i++)
        if (model->metrics[i].output == output)
            TRY(metric_check_shares(&model->metrics[i]));
    return status_ok();
}

struct status layers_set_widths(struct layers_model *model, const int64_t *widths)
{
    assert(model->training.any_width);
    for (int i = 0; i < model->inputs_count; i++) {
        assert(widths[i] > 0);
        if (widths[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the model's input '%s' has %lld values in a row, expected less "
                                "than 2^31",
                                model->inputs[i].name, (long long)widths[i]);
        model->inputs[i].shape.dims[1] = widths[i];
    }
    return layers_recheck(model);
}
