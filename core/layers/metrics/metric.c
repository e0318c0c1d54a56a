/* metric: reads, checks and builds the metrics of a model. It also has the accuracies and the means
 * of losses; the other metrics are in counts.c, curves.c, regression.c and ranking.c.
 * Source: keras/src/metrics/. */
#include "layers/metrics/metric.h"

#include <math.h>

#include "layers/build_state.h"
#include "layers/losses/loss_class.h"
#include "layers/metrics/parts.h"
#include "layers/metrics/ranking.h"

double metric_ratio(const struct training_metric *metric, const double *totals)
{
    (void)metric;
    return totals[1] > 0 ? totals[0] / totals[1] : 0;
}

static double negative_ratio(const struct training_metric *metric, const double *totals)
{
    return -metric_ratio(metric, totals);
}

static double root_of_ratio(const struct training_metric *metric, const double *totals)
{
    return sqrt(metric_ratio(metric, totals));
}

/* ---- accuracy ---- */

static const struct layer_arg threshold_args[] = {
    { "threshold", ARG_NUMBER, "0.5" },
};

static struct endpoint equals_beyond(struct metric_context *c, double threshold)
{
    struct endpoint answers =
        metric_cast(c, metric_by_number(c, "Greater", c->output, threshold), DT_FLOAT);

    return metric_share_of_true(c, metric_binary(c, "Equal", answers, c->labels));
}

static struct endpoint binary_accuracy(struct metric_context *c)
{
    return equals_beyond(c, metric_option(c->metric, "threshold")->number);
}

static struct endpoint categorical_accuracy(struct metric_context *c)
{
    return metric_share_of_true(
        c, metric_binary(c, "Equal", metric_largest(c, c->output), metric_classes_of(c)));
}

/* Keras chooses by the shapes of labels and outputs. */
static struct endpoint accuracy(struct metric_context *c)
{
    const struct shape *output = endpoint_shape(c->output);
    bool values = endpoint_dtype(c->labels) == DT_FLOAT;

    return values && output->dims[output->rank - 1] == 1 ? equals_beyond(c, 0.5)
                                                         : categorical_accuracy(c);
}

static const struct layer_arg top_k_args[] = {
    { "k", ARG_INT, "5" },
    { "from_sorted_ids", ARG_NONE, "false" },
};

static struct endpoint top_k_accuracy(struct metric_context *c)
{
    int64_t k = metric_option(c->metric, "k")->integer;
    struct endpoint classes = metric_classes_of(c);
    const struct shape *output = endpoint_shape(c->output);
    const int32_t dims[] = { -1, (int32_t)output->dims[output->rank - 1] };
    bool steps = output->rank > 2; /* InTopKV2 takes only rows */
    const struct endpoint inputs[] = {
        steps ? metric_binary(c, "Reshape", c->output, build_const_ints(c->builder, NULL, 2, dims))
              : c->output,
        steps ? metric_flat(c, classes) : classes, build_const_int(c->builder, (int32_t)k)
    };

    struct endpoint is = build(c->builder, "InTopKV2", NULL, 3, inputs, NULL);
    if (steps)
        is = metric_binary(c, "Reshape", is, build_unary(c->builder, "Shape", NULL, classes));
    return metric_share_of_true(c, is);
}

/* ---- losses ---- */

/* The sum of the losses, and their number. As in Keras, a metric also counts losses that the
 * training loss ignores. */
static struct endpoint mean_loss(struct metric_context *c)
{
    struct endpoint counted;
    struct endpoint losses =
        loss_values(c->layers, &c->metric->loss, c->output, c->labels, &counted);

    return metric_pair(c, metric_sum(c, metric_weigh(c, losses)), metric_count(c, losses));
}

/* The sum of the losses, and the number of rows. */
static struct endpoint sum_by_rows(struct metric_context *c, struct endpoint losses)
{
    struct builder *b = c->builder;
    const struct endpoint rows[] = { build_unary(b, "Shape", NULL, losses), build_const_int(b, 0),
                                     build_const_int(b, 0) };

    if (!status_is_ok(b->status))
        return losses;
    if (c->metric->loss.class->extent == LOSS_OF_OUTPUT)
        losses = metric_binary(c, "Mean", losses, build_const_int(b, -1));
    return metric_pair(c, metric_sum(c, losses),
                       metric_cast(c, build(b, "GatherV2", NULL, 3, rows, NULL), DT_FLOAT));
}

/* The same for the loss of an output. The losses are weighted but averaged over all rows: Keras
 * divides by the number of rows rather than the sum of the weights. */
static struct endpoint mean_of_target(struct metric_context *c)
{
    struct endpoint counted;
    struct endpoint losses =
        loss_values(c->layers, &c->metric->loss, c->output, c->labels, &counted);
    if (counted.node != NULL)
        c->mask = c->mask.node != NULL ? metric_binary(c, "LogicalAnd", c->mask, counted) : counted;
    struct endpoint weighed = metric_weigh(c, losses);

    c->weighted = false;
    if (c->metric->sums_steps)
        return sum_by_rows(c, weighed);
    return metric_pair(c, metric_sum(c, weighed), metric_count(c, losses));
}

#define ARGS(args) args, COUNT(args)
#define NO_ARGS    NULL, 0

/* clang-format off */
static const struct metric_class rows[] = {
    /* name, takes classes, takes values, totals, result, options, number of totals, check, number
     * of results */
    { "accuracy", true, true, accuracy, metric_ratio, NO_ARGS, NULL, NULL, NULL },
    { "binary_accuracy", false, true, binary_accuracy, metric_ratio,
      ARGS(threshold_args), NULL, NULL, NULL },
    { "categorical_accuracy", true, true, categorical_accuracy, metric_ratio,
      NO_ARGS, NULL, NULL, NULL },
    { "sparse_categorical_accuracy", true, false, categorical_accuracy, metric_ratio,
      NO_ARGS, NULL, NULL, NULL },
    { "top_k_categorical_accuracy", true, true, top_k_accuracy, metric_ratio,
      ARGS(top_k_args), NULL, NULL, NULL },
    { "sparse_top_k_categorical_accuracy", true, false, top_k_accuracy, metric_ratio,
      ARGS(top_k_args), NULL, NULL, NULL },
    { "factorized_top_k", false, false, ranking_share, metric_ratio,
      ARGS(ranking_args), NULL, NULL, NULL },
    { "root_mean_squared_error", false, true, mean_loss, root_of_ratio, NO_ARGS, NULL, NULL, NULL },
    { "cosine_similarity", false, true, mean_loss, negative_ratio, NO_ARGS, NULL, NULL, NULL },
};
/* clang-format on */

/* Any other loss. */
static const struct metric_class of_loss = { "",      true, true, mean_loss, metric_ratio,
                                             NO_ARGS, NULL, NULL, NULL };
/* The loss of an output. */
static const struct metric_class of_target = { "",           true,    true, mean_of_target,
                                               metric_ratio, NO_ARGS, NULL, NULL,
                                               NULL };

static const struct metric_table own = { rows, COUNT(rows) };
static const struct metric_table *const tables[] = { &own, &metric_counts, &metric_curves,
                                                     &metric_regressions };

static const struct metric_class *find_class(const char *name)
{
    if (same_name(name, "acc"))
        name = "accuracy";
    for (size_t t = 0; t < COUNT(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            if (same_name(name, tables[t]->rows[i].name))
                return &tables[t]->rows[i];
    return NULL;
}

/* ---- reading ---- */

static struct status unknown_metric(const struct json_value *value, struct arena *arena)
{
    struct buffer known = { 0 };

    for (size_t t = 0; t < COUNT(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            buffer_printf(&known, "%s, ", tables[t]->rows[i].name);
    struct status status =
        status_error(STATUS_UNIMPLEMENTED, "%s is not implemented; known: %.*sand each loss",
                     json_value_show(value, arena), (int)known.size, known.data);
    buffer_finish(&known);
    return status;
}

/* Reads the loss whose mean the metric is; no class for other metrics. */
static struct status read_loss(const struct json_value *value, const char *name,
                               struct arena *arena, struct metric *out)
{
    const struct json_value mse = { .kind = JSON_VALUE_TEXT, .text = "mse" };
    const struct json_value cosine = { .kind = JSON_VALUE_TEXT, .text = "cosine_similarity" };
    const char *reduction;

    if (out->class == NULL) {
        if (!loss_is_known(name))
            return unknown_metric(value, arena);
        out->class = &of_loss;
        return loss_read(value, arena, &out->loss, &reduction);
    }
    if (out->class->build != mean_loss)
        return status_ok();
    return loss_read(out->class->result == root_of_ratio ? &mse : &cosine, arena, &out->loss,
                     &reduction);
}

static struct status check_thresholds(const struct metric *metric)
{
    const struct arg_value *thresholds = metric_option(metric, "num_thresholds");

    if (thresholds == NULL || (thresholds->integer >= 2 && thresholds->integer <= 100000))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'num_thresholds': got %lld, expected 2 to 100000",
                        (long long)thresholds->integer);
}

static bool ranks(const struct metric *metric)
{
    return metric->class != NULL && metric->class->build == ranking_share;
}

static struct status metric_read(const struct json_value *value, struct arena *arena,
                                 struct metric *out)
{
    const struct json_value *config;
    const char *name = named_object(value, &config), *given = json_value_get_text(config, "name");

    *out = (struct metric){ .class = find_class(name), .name = given != NULL ? given : name };
    if (given == NULL && ranks(out))
        out->name = out->class->name;
    TRY(read_loss(value, name, arena, out));
    if (out->class == &of_loss)
        return status_ok();
    const struct arg_list list = metric_args_of(out->class);
    TRY(args_check_dtype(config, arena));
    TRY(args_read(&list, config, arena, &out->args));
    return check_thresholds(out);
}

struct status metric_read_accuracy(bool logits, struct arena *arena, struct metric *out)
{
    const char *text = logits ? "{\"class_name\": \"BinaryAccuracy\", "
                                "\"config\": {\"name\": \"accuracy\", \"threshold\": 0}}"
                              : "\"accuracy\"";
    const struct json_value *value;

    TRY(json_value_read_strict(bytes_of(text), arena, &value));
    return metric_read(value, arena, out);
}

static struct status add_metric(const struct json_value *value, struct arena *arena,
                                struct metric *out, int *count)
{
    struct metric metric;

    if (*count == METRICS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d metrics", METRICS_MAX);
    TRY(metric_read(value, arena, &metric));
    if (ranks(&metric))
        return ranking_expand(&metric, arena, out, count);
    out[(*count)++] = metric;
    return status_ok();
}

struct status metrics_read(const struct json_value *value, struct arena *arena, struct metric *out,
                           int *count)
{
    const struct json_value *config;

    if (json_value_is_null(value))
        return status_ok();
    const char *name = named_object(value, &config);
    if (name == NULL && value->kind != JSON_VALUE_LIST && value->kind != JSON_VALUE_OBJECT)
        return unknown_metric(value, arena);
    if (name != NULL)
        return status_in(add_metric(value, arena, out, count), "'%.100s'", name);
    for (int i = 0; i < value->count; i++)
        TRY(metrics_read(&value->members[i], arena, out, count));
    return status_ok();
}

struct metric metric_of_target(const struct layers_target *target, int output, const char *name)
{
    return (struct metric){ .name = name,
                            .class = &of_target,
                            .loss = *target->loss,
                            .sums_steps = target->reduction == LAYERS_SUM,
                            .output = output,
                            .weighted = true };
}

/* Without labels, the output is compared through the scores of the batch's rows, whose number is
 * unknown. */
static struct status check_ranking(const struct metric *metric)
{
    const struct metric_class *class = metric->class;

    if (class->build == categorical_accuracy || class->build == top_k_accuracy ||
        class->build == mean_of_target || ranks(metric))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "metric '%.100s' does not fit: a loss without labels has "
                        "categorical_accuracy, top_k_categorical_accuracy and FactorizedTopK",
                        metric->name);
}

static const char *label_words(enum layers_labels labels)
{
    static const char *const words[] = {
        [LAYERS_CLASSES] = "class numbers",        [LAYERS_GROUPS] = "numbers of groups",
        [LAYERS_LISTS] = "lists of class numbers", [LAYERS_VALUES] = "numbers like the outputs",
        [LAYERS_NO_LABELS] = "not there",
    };

    return words[labels];
}

/* Does the metric compare class numbers as one-hot rows? */
static bool takes_one_hot(const struct metric *metric)
{
    const struct metric_class *class = metric->class;

    return metric->loss.class != NULL ? loss_labels(&metric->loss) == LAYERS_VALUES
                                      : class->takes_values && !class->takes_classes;
}

struct status metric_check(const struct metric *metric, const struct layers_target *target,
                           const struct shape *output)
{
    const struct metric_class *class = metric->class;
    bool is_mean = metric->loss.class != NULL;
    enum layers_labels labels = target->labels;

    if (labels == LAYERS_CLASSES && loss_is_of_one_hot(target->loss) && takes_one_hot(metric))
        labels = LAYERS_VALUES;
    bool fits = labels == LAYERS_VALUES    ? class->takes_values
                : labels == LAYERS_CLASSES ? class->takes_classes
                                           : is_mean;

    if (labels == LAYERS_NO_LABELS)
        return check_ranking(metric);
    if (is_mean)
        fits = fits && loss_labels(&metric->loss) == labels;
    if (fits && class->totals_count != NULL && class->totals_count(metric, output) < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "metric '%.100s' has totals for each output, whose number must be "
                            "known; the outputs are %s",
                            metric->name, shape_text(output));
    if (fits && class->check != NULL)
        TRY(status_in(class->check(metric, output), "metric '%.100s'", metric->name));
    if (fits && metric_elements(metric, output) > METRIC_ELEMENTS_MAX)
        return status_error(STATUS_UNIMPLEMENTED,
                            "metric '%.100s' gives a list of %lld numbers for the outputs %s; at "
                            "most %d are reported: give it an average",
                            metric->name, (long long)metric_elements(metric, output),
                            shape_text(output), METRIC_ELEMENTS_MAX);
    if (fits)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "metric '%.100s' does not fit: with this loss, the labels are %s and the "
                        "outputs %s",
                        metric->name, label_words(labels), shape_text(output));
}

struct status metric_check_shares(const struct metric *metric)
{
    const struct loss *loss = &metric->loss;

    if (loss->class == NULL || loss_labels(loss) != LAYERS_CLASSES || loss_is_of_one_hot(loss))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "metric '%.100s' does not fit: it needs class numbers, and the labels are "
                        "a number for each class",
                        metric->name);
}

/* ---- building ---- */

/* As in Keras, the output's mask applies to metrics that average values per example, but neither
 * to those that count nor to the root of a mean. */
static bool goes_by_mask(const struct metric_class *class)
{
    return class->build == accuracy || class->build == binary_accuracy ||
           class->build == categorical_accuracy || class->build == top_k_accuracy ||
           class->build == mean_of_target ||
           (class->build == mean_loss && class->result != root_of_ratio);
}

/* The totals of one element: a column of those of all. */
static struct endpoint pick_element(struct metric_context *c, struct endpoint all)
{
    struct builder *b = c->builder;
    const int32_t dims[] = { -1, (int32_t)c->metric->elements };
    const struct endpoint inputs[] = {
        metric_binary(c, "Reshape", all, build_const_ints(b, NULL, 2, dims)),
        build_const_int(b, (int32_t)c->metric->element), build_const_int(b, 1)
    };

    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

struct endpoint metric_build(struct layer_context *context, const struct metric *metric,
                             const struct layers_head *head, struct endpoint *all)
{
    struct metric_context c = { .builder = &context->builder,
                                .metric = metric,
                                .output = head->predictions,
                                .labels = head->truths,
                                .weighted = metric->weighted && context->build->weighted,
                                .layers = context };

    if (goes_by_mask(metric->class))
        c.mask = head->mask;
    if (takes_one_hot(metric) && endpoint_dtype(c.labels) == DT_INT32)
        c.labels = metric_labels_by_class(&c);
    if (metric->element == 0)
        *all = metric->class->build(&c);
    return metric->elements > 1 ? pick_element(&c, *all) : *all;
}

int64_t metric_elements(const struct metric *metric, const struct shape *output)
{
    return metric->class->elements != NULL ? metric->class->elements(metric, output) : 1;
}

/* Keras' direction: smaller is better for a mean of losses and a count of errors. Its cosine
 * similarity has the opposite sign as a metric and as a loss. */
static bool is_larger_better(const struct metric_class *class)
{
    bool counts_errors = strncmp(class->name, "false_", strlen("false_")) == 0;
    bool of_losses = class->build == mean_loss || class->build == mean_of_target;

    return !counts_errors && (!of_losses || class->result == negative_ratio);
}

struct training_metric metric_of(const struct metric *metric, const struct shape *output)
{
    const struct metric_class *class = metric->class;
    int64_t totals = class->totals_count != NULL ? class->totals_count(metric, output) : 2;

    return (struct training_metric){ .name = metric->name,
                                     .totals_count =
                                         metric->elements > 1 ? totals / metric->elements : totals,
                                     .result = class->result,
                                     .larger_is_better = is_larger_better(class),
                                     .context = metric };
}
