/* counts: metrics of counts by class or threshold, of sums by output, and of correlations.
 * Source: keras/src/metrics/ (confusion, f_score, iou, regression and correlation metrics). */
#include <math.h>

#include "layers/metrics/parts.h"

#define EPSILON 1e-7 /* Keras' */

static struct endpoint concat(struct metric_context *c, int count, const struct endpoint *parts)
{
    struct endpoint inputs[5];

    memcpy(inputs, parts, (size_t)count * sizeof *parts);
    inputs[count] = build_const_int(c->builder, 0);
    return build(c->builder, "ConcatV2", NULL, count + 1, inputs, NULL);
}

/* 1 - x */
static struct endpoint complement(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sub", build_const_float(c->builder, 1), x);
}

/* Sums over the batch, by weight: [outputs]. */
static struct endpoint by_class(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sum", metric_weigh(c, x), build_const_int(c->builder, 0));
}

static int64_t classes_count(const struct shape *output)
{
    return output->dims[output->rank - 1];
}

/* ---- right and wrong answers above a threshold ---- */

static const struct layer_arg count_args[] = {
    { "thresholds", ARG_NULL_OR_NUMBER, "null" },
};

static int64_t one_total(const struct metric *metric, const struct shape *output)
{
    (void)metric;
    (void)output;
    return 1;
}

static double only_total(const struct training_metric *metric, const double *totals)
{
    (void)metric;
    return totals[0];
}

/* Counts the answers that are `predicted` for labels that are `positive`. */
static struct endpoint count_answers(struct metric_context *c, bool predicted, bool positive)
{
    const int32_t one = 1;
    const struct arg_value *threshold = metric_option(c->metric, "thresholds");
    double number = threshold->is_null ? 0.5 : threshold->number;
    struct endpoint p = metric_by_number(c, "Greater", c->output, number);
    struct endpoint is = metric_positives(c);

    p = metric_cast(c, p, DT_FLOAT);
    p = predicted ? p : complement(c, p);
    is = positive ? is : complement(c, is);
    struct endpoint sum = metric_sum(c, metric_weigh(c, metric_binary(c, "Mul", p, is)));
    return metric_binary(c, "Reshape", sum, build_const_ints(c->builder, NULL, 1, &one));
}

static struct endpoint true_positives(struct metric_context *c)
{
    return count_answers(c, true, true);
}

static struct endpoint false_positives(struct metric_context *c)
{
    return count_answers(c, true, false);
}

static struct endpoint true_negatives(struct metric_context *c)
{
    return count_answers(c, false, false);
}

static struct endpoint false_negatives(struct metric_context *c)
{
    return count_answers(c, false, true);
}

/* ---- the best of one rate where another is high enough ---- */

#define AT_ARGS(name)                                                     \
    { name, ARG_NUMBER, REQUIRED }, { "num_thresholds", ARG_INT, "200" }, \
    {                                                                     \
        "class_id", ARG_NULL_OR_INT, "null"                               \
    }

static const struct layer_arg at_specificity_args[] = { AT_ARGS("specificity") };
static const struct layer_arg at_sensitivity_args[] = { AT_ARGS("sensitivity") };
static const struct layer_arg at_recall_args[] = { AT_ARGS("recall") };
static const struct layer_arg at_precision_args[] = { AT_ARGS("precision") };

/* The counts of answers at one threshold. */
struct answers {
    double tp, fp, tn, fn;
};

typedef double rate_of(const struct answers *at);

static double divide(double a, double b)
{
    return b != 0 ? a / b : 0;
}

static double sensitivity(const struct answers *at) /* also called the recall */
{
    return divide(at->tp, at->tp + at->fn);
}

static double specificity(const struct answers *at)
{
    return divide(at->tn, at->tn + at->fp);
}

static double precision(const struct answers *at)
{
    return divide(at->tp, at->tp + at->fp);
}

/* The largest `best` over the thresholds at which `limited` is at least the metric's first
 * option. */
static double best_under(const struct training_metric *given, const double *totals,
                         rate_of *limited, rate_of *best)
{
    const struct metric *metric = given->context;
    int64_t thresholds = given->totals_count / 2;
    struct answers at = { 0 };
    double out = 0;

    for (int64_t i = 0; i < thresholds; i++) {
        at.fn += totals[i];
        at.tn += totals[thresholds + i];
    }
    for (int64_t i = thresholds - 1; i >= 0; i--) {
        at.tp += totals[i];
        at.fn -= totals[i];
        at.fp += totals[thresholds + i];
        at.tn -= totals[thresholds + i];
        if (limited(&at) >= metric->args[0].number)
            out = fmax(out, best(&at));
    }
    return out;
}

static double sensitivity_at_specificity(const struct training_metric *metric, const double *totals)
{
    return best_under(metric, totals, specificity, sensitivity);
}

static double specificity_at_sensitivity(const struct training_metric *metric, const double *totals)
{
    return best_under(metric, totals, sensitivity, specificity);
}

static double precision_at_recall(const struct training_metric *metric, const double *totals)
{
    return best_under(metric, totals, sensitivity, precision);
}

static double recall_at_precision(const struct training_metric *metric, const double *totals)
{
    return best_under(metric, totals, precision, sensitivity);
}

static struct status check_at(const struct metric *metric, const struct shape *output)
{
    double number = metric->args[0].number;

    if (number >= 0 && number <= 1)
        return metric_check_option(metric, "class_id", 0, classes_count(output) - 1);
    return status_error(STATUS_INVALID_ARGUMENT, "argument '%s': got %g, expected 0 to 1",
                        metric->class->args[0].name, number);
}

/* ---- F scores ---- */

static const struct layer_arg f1_args[] = {
    { "average", ARG_VALUE, "null" },
    { "threshold", ARG_NULL_OR_NUMBER, "null" },
};

static const struct layer_arg f_beta_args[] = {
    { "average", ARG_VALUE, "null" },
    { "threshold", ARG_NULL_OR_NUMBER, "null" },
    { "beta", ARG_NUMBER, "1" },
};

static int64_t totals_by_class(const struct metric *metric, const struct shape *output)
{
    (void)metric;
    return 4 * classes_count(output);
}

/* 1 for each output above the threshold; without a threshold, for the largest output unless it
 * is 0. */
static struct endpoint chosen(struct metric_context *c)
{
    const struct arg_value *threshold = metric_option(c->metric, "threshold");
    struct builder *b = c->builder;

    if (!threshold->is_null)
        return metric_cast(c, metric_by_number(c, "Greater", c->output, threshold->number),
                           DT_FLOAT);
    const struct endpoint inputs[] = { c->output, build_const_int(b, -1) };
    struct endpoint most = build(b, "Max", NULL, 2, inputs,
                                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    struct endpoint size = build_unary(b, "Abs", NULL, c->output);
    return metric_cast(c,
                       metric_binary(c, "LogicalAnd",
                                     metric_binary(c, "GreaterEqual", c->output, most),
                                     metric_by_number(c, "Greater", size, 1e-9)),
                       DT_FLOAT);
}

/* Per class: correct answers, wrong answers, missed labels, labels. */
static struct endpoint f_score(struct metric_context *c)
{
    struct endpoint p = chosen(c), is = metric_labels_by_class(c);
    const struct endpoint sums[] = {
        by_class(c, metric_binary(c, "Mul", p, is)),
        by_class(c, metric_binary(c, "Mul", p, complement(c, is))),
        by_class(c, metric_binary(c, "Mul", complement(c, p), is)),
        by_class(c, is),
    };

    return concat(c, 4, sums);
}

static double f_of(double tp, double fp, double fn, double beta)
{
    double p = tp / (tp + fp + EPSILON), r = tp / (tp + fn + EPSILON);

    return p * r / (beta * beta * p + r + EPSILON) * (1 + beta * beta);
}

static double average_f_score(const struct training_metric *given, const double *totals)
{
    const struct metric *metric = given->context;
    const struct arg_value *option = metric_option(metric, "beta");
    const struct json_value *average = metric_option(metric, "average")->value;
    const char *kind = json_value_is_null(average) ? "macro" : average->text; /* null: one class */
    double beta = option != NULL ? option->number : 1;
    int64_t count = given->totals_count / 4;
    double sums[4] = { 0 }, weighted = 0, plain = 0;

    for (int64_t k = 0; k < count; k++) {
        double f = f_of(totals[k], totals[count + k], totals[2 * count + k], beta);
        for (int s = 0; s < 4; s++)
            sums[s] += totals[s * count + k];
        weighted += f * totals[3 * count + k];
        plain += f;
    }
    if (strcmp(kind, "micro") == 0)
        return f_of(sums[0], sums[1], sums[2], beta);
    return strcmp(kind, "weighted") == 0 ? weighted / (sums[3] + EPSILON) : plain / (double)count;
}

static struct status check_f_score(const struct metric *metric, const struct shape *output)
{
    static const char *const known[] = { "micro", "macro", "weighted" };
    const struct json_value *average = metric_option(metric, "average")->value;

    if (output->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the output has shape %s, expected [batch, classes]",
                            shape_text(output));
    if (json_value_is_null(average) && output->dims[1] > 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "argument 'average': got null, which is a number for each class; "
                            "known: micro, macro, weighted");
    for (size_t i = 0; i < COUNT(known); i++)
        if (json_value_is_null(average) ||
            (average->kind == JSON_VALUE_TEXT && strcmp(average->text, known[i]) == 0))
            return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'average' is none of: micro, macro, weighted");
}

/* ---- R² ---- */

static const struct layer_arg r2_args[] = {
    { "class_aggregation", ARG_CHOICE, "uniform_average variance_weighted_average" },
    { "num_regressors", ARG_NULL_OR_INT, "0" },
};

/* Per output: the sums of the labels, their squares, the squared errors, and the weights. The
 * last total is the number of labels. */
static struct endpoint r2_score(struct metric_context *c)
{
    const int32_t one = 1;
    struct endpoint errors = metric_binary(c, "SquaredDifference", c->output, c->labels);
    const struct endpoint sums[] = {
        by_class(c, c->labels),
        by_class(c, build_unary(c->builder, "Square", NULL, c->labels)),
        by_class(c, errors),
        by_class(c, build_unary(c->builder, "OnesLike", NULL, c->labels)),
    };
    struct endpoint count =
        metric_cast(c, build_unary(c->builder, "Size", NULL, c->labels), DT_FLOAT);
    const struct endpoint all[] = { concat(c, 4, sums),
                                    metric_binary(c, "Reshape", count,
                                                  build_const_ints(c->builder, NULL, 1, &one)) };
    return concat(c, 2, all);
}

static int64_t r2_totals(const struct metric *metric, const struct shape *output)
{
    return totals_by_class(metric, output) + 1;
}

/* Adjusts for the number of regressors. */
static double adjusted(const struct metric *metric, double score, double samples)
{
    double regressors = (double)metric_option(metric, "num_regressors")->integer;

    if (regressors == 0 || regressors >= samples - 1)
        return score;
    return 1 - (1 - score) * (samples - 1) / (samples - regressors - 1);
}

static double r2_result(const struct training_metric *given, const double *totals)
{
    const struct metric *metric = given->context;
    int64_t count = given->totals_count / 4;
    bool by_variance =
        strcmp(metric_option(metric, "class_aggregation")->text, "variance_weighted_average") == 0;
    double sum = 0, weights = 0;

    for (int64_t k = 0; k < count; k++) {
        double labels = totals[k], number = totals[3 * count + k];
        double variance = totals[count + k] - labels * labels / number;
        double score = 1 - totals[2 * count + k] / variance;
        double weight = by_variance ? variance : 1;
        sum += isinf(score) ? 0 : score * weight;
        weights += weight;
    }
    return adjusted(metric, sum / weights, totals[4 * count]);
}

static struct status check_matrix(const struct metric *metric, const struct shape *output)
{
    (void)metric;
    if (output->rank == 2)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the output has shape %s, expected [batch, values]", shape_text(output));
}

static struct status check_r2(const struct metric *metric, const struct shape *output)
{
    if (metric_option(metric, "class_aggregation")->is_null)
        return status_error(STATUS_UNIMPLEMENTED, "argument 'class_aggregation': got null, which "
                                                  "is a score for each output; only one is "
                                                  "implemented");
    return check_matrix(metric, output);
}

/* ---- intersection over union ---- */

static struct status check_last_axis(const struct metric *metric, const struct shape *output)
{
    const struct arg_value *axis = metric_option(metric, "axis");

    (void)output;
    if (axis->is_null || axis->integer == -1)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "argument 'axis': got %lld; only -1 is implemented",
                        (long long)axis->integer);
}

#define IOU_MAX 1000 /* classes: a batch has the square of this many totals */

static const struct layer_arg mean_iou_args[] = {
    { "num_classes", ARG_INT, REQUIRED },  { "ignore_class", ARG_NULL_OR_INT, "null" },
    { "sparse_y_true", ARG_BOOL, "true" }, { "sparse_y_pred", ARG_BOOL, "true" },
    { "axis", ARG_NULL_OR_INT, "-1" },
};

static const struct layer_arg iou_args[] = {
    { "num_classes", ARG_INT, REQUIRED },        { "target_class_ids", ARG_INTS, REQUIRED },
    { "ignore_class", ARG_NULL_OR_INT, "null" }, { "sparse_y_true", ARG_BOOL, "true" },
    { "sparse_y_pred", ARG_BOOL, "true" },       { "axis", ARG_NULL_OR_INT, "-1" },
};

static const struct layer_arg binary_iou_args[] = {
    { "target_class_ids", ARG_INTS, "[0, 1]" },
    { "threshold", ARG_NUMBER, "0.5" },
};

static int64_t iou_classes(const struct metric *metric)
{
    const struct arg_value *option = metric_option(metric, "num_classes");

    return option != NULL ? option->integer : 2;
}

static int64_t iou_totals(const struct metric *metric, const struct shape *output)
{
    (void)output;
    return iou_classes(metric) * iou_classes(metric);
}

/* Which labels are valid classes other than the ignored one. */
static struct endpoint counted_labels(struct metric_context *c, struct endpoint labels)
{
    struct builder *b = c->builder;
    const struct arg_value *ignored = metric_option(c->metric, "ignore_class");
    struct endpoint least = build_const_int(b, 0),
                    end = build_const_int(b, (int32_t)iou_classes(c->metric));
    struct endpoint counted =
        metric_binary(c, "LogicalAnd", metric_binary(c, "GreaterEqual", labels, least),
                      metric_binary(c, "Less", labels, end));

    if (ignored == NULL || ignored->is_null)
        return counted;
    struct endpoint other = build_const_int(b, (int32_t)ignored->integer);
    return metric_binary(c, "LogicalAnd", counted, metric_binary(c, "NotEqual", labels, other));
}

static struct endpoint or_zero(struct metric_context *c, struct endpoint where, struct endpoint x)
{
    return build_select(c->builder, where, x, build_unary(c->builder, "ZerosLike", NULL, x));
}

/* The confusion matrix: the number of steps for each label (row) and answer (column). */
static struct endpoint iou(struct metric_context *c)
{
    struct builder *b = c->builder;
    int32_t classes = (int32_t)iou_classes(c->metric);
    const struct arg_value *threshold = metric_option(c->metric, "threshold");
    struct endpoint answers, labels, like = c->output;

    if (threshold != NULL) {
        answers = metric_by_number(c, "GreaterEqual", c->output, threshold->number);
        answers = metric_flat(c, metric_cast(c, answers, DT_INT32));
        labels = metric_flat(c, metric_cast(c, c->labels, DT_INT32));
    } else {
        answers = metric_flat(c, metric_largest(c, c->output));
        like = metric_classes_of(c);
        labels = metric_flat(c, like);
    }
    struct endpoint counted = counted_labels(c, labels);
    struct endpoint rows =
        metric_binary(c, "Mul", or_zero(c, counted, labels), build_const_int(b, classes));
    struct endpoint weights = metric_flat(c, metric_weights_like(c, like));
    const struct endpoint inputs[] = { or_zero(c, counted, weights),
                                       metric_binary(c, "AddV2", rows, answers),
                                       build_const_int(b, classes * classes) };
    return build(b, "UnsortedSegmentSum", NULL, 3, inputs, NULL);
}

static bool is_target(const struct arg_value *targets, int64_t class)
{
    bool found = targets == NULL;

    for (int i = 0; targets != NULL && i < targets->ints.count; i++)
        found = found || targets->ints.values[i] == class;
    return found;
}

/* The mean over the classes that occur in the labels or the answers. */
static double mean_iou(const struct training_metric *given, const double *totals)
{
    const struct metric *metric = given->context;
    const struct arg_value *targets = metric_option(metric, "target_class_ids");
    int64_t classes = iou_classes(metric);
    double sum = 0, valid = 0;

    for (int64_t k = 0; k < classes; k++) {
        double both = totals[k * classes + k], either = -both;
        for (int64_t i = 0; i < classes; i++)
            either += totals[k * classes + i] + totals[i * classes + k];
        if (!is_target(targets, k) || either <= 0)
            continue;
        sum += both / (either + EPSILON);
        valid++;
    }
    return divide(sum, valid);
}

static struct status check_ignored(const struct metric *metric)
{
    const struct arg_value *ignored = metric_option(metric, "ignore_class");

    if (ignored == NULL || ignored->is_null ||
        (ignored->integer >= INT32_MIN && ignored->integer <= INT32_MAX))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'ignore_class': got %lld, expected an int32",
                        (long long)ignored->integer);
}

static struct status check_iou(const struct metric *metric, const struct shape *output)
{
    const struct arg_value *targets = metric_option(metric, "target_class_ids");
    const struct arg_value *sparse = metric_option(metric, "sparse_y_pred");
    int64_t classes = iou_classes(metric);

    if (sparse != NULL && sparse->boolean)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'sparse_y_pred': got true, but the outputs are scores of "
                            "classes and not class numbers");
    if (classes > IOU_MAX || (sparse != NULL && classes != classes_count(output)))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'num_classes': got %lld, expected those of the output, %s, "
                            "and at most %d",
                            (long long)classes, shape_text(output), IOU_MAX);
    TRY(check_ignored(metric));
    for (int i = 0; targets != NULL && i < targets->ints.count; i++)
        if (targets->ints.values[i] < 0 || targets->ints.values[i] >= classes)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "argument 'target_class_ids': got %lld, expected 0 to %lld",
                                (long long)targets->ints.values[i], (long long)classes - 1);
    if (sparse == NULL)
        return status_ok();
    return check_last_axis(metric, output);
}

/* OneHotIoU and OneHotMeanIoU take one-hot labels in Keras, and class numbers here. */
static const struct layer_arg one_hot_iou_args[] = {
    { "num_classes", ARG_INT, REQUIRED },        { "target_class_ids", ARG_INTS, REQUIRED },
    { "ignore_class", ARG_NULL_OR_INT, "null" }, { "sparse_y_pred", ARG_BOOL, "false" },
    { "axis", ARG_NULL_OR_INT, "-1" },
};

static const struct layer_arg one_hot_mean_iou_args[] = {
    { "num_classes", ARG_INT, REQUIRED },
    { "ignore_class", ARG_NULL_OR_INT, "null" },
    { "sparse_y_pred", ARG_BOOL, "false" },
    { "axis", ARG_NULL_OR_INT, "-1" },
};

/* ---- correlation of labels and outputs within a row ---- */

static struct endpoint row_mean(struct metric_context *c, struct endpoint x)
{
    const struct endpoint inputs[] = { x, build_const_int(c->builder, -1) };

    return build(c->builder, "Mean", NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
}

static struct endpoint row_variance(struct metric_context *c, struct endpoint x)
{
    struct endpoint centred = metric_binary(c, "Sub", x, row_mean(c, x));

    return row_mean(c, build_unary(c->builder, "Square", NULL, centred));
}

static struct endpoint mean_of_rows(struct metric_context *c, struct endpoint x)
{
    struct endpoint mean = row_mean(c, x);

    return metric_pair(c, metric_sum(c, metric_weigh(c, mean)), metric_count(c, mean));
}

static struct endpoint standard_scores(struct metric_context *c, struct endpoint x)
{
    struct endpoint centred = metric_binary(c, "Sub", x, row_mean(c, x));
    struct endpoint deviation = build_unary(c->builder, "Sqrt", NULL, row_variance(c, centred));

    return metric_binary(c, "RealDiv", centred, deviation);
}

static struct endpoint pearson_correlation(struct metric_context *c)
{
    return mean_of_rows(
        c, metric_binary(c, "Mul", standard_scores(c, c->labels), standard_scores(c, c->output)));
}

/* Keras centres the labels at the mean of the outputs. */
static struct endpoint concordance_correlation(struct metric_context *c)
{
    struct endpoint mean = row_mean(c, c->output);
    struct endpoint covariance = metric_binary(c, "Mul", metric_binary(c, "Sub", c->labels, mean),
                                               metric_binary(c, "Sub", c->output, mean));
    struct endpoint distance = metric_binary(c, "SquaredDifference", row_mean(c, c->labels), mean);
    struct endpoint norm = metric_binary(
        c, "AddV2",
        metric_binary(c, "AddV2", row_variance(c, c->labels), row_variance(c, c->output)),
        distance);

    return mean_of_rows(c, metric_binary(c, "RealDiv", metric_by_number(c, "Mul", covariance, 2),
                                         metric_by_number(c, "AddV2", norm, EPSILON)));
}

#define ARGS(args) args, COUNT(args)
#define NO_ARGS    NULL, 0

static const struct layer_arg correlation_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};

/* clang-format off */
const struct metric_class metric_count_rows[] = {
    /* name, takes classes, takes values, totals, result, options, number of totals, check */
    { "true_positives", false, true, true_positives, only_total,
      ARGS(count_args), one_total, NULL },
    { "false_positives", false, true, false_positives, only_total,
      ARGS(count_args), one_total, NULL },
    { "true_negatives", false, true, true_negatives, only_total,
      ARGS(count_args), one_total, NULL },
    { "false_negatives", false, true, false_negatives, only_total,
      ARGS(count_args), one_total, NULL },
    { "sensitivity_at_specificity", true, true, metric_buckets, sensitivity_at_specificity,
      ARGS(at_specificity_args), metric_buckets_count, check_at },
    { "specificity_at_sensitivity", true, true, metric_buckets, specificity_at_sensitivity,
      ARGS(at_sensitivity_args), metric_buckets_count, check_at },
    { "precision_at_recall", true, true, metric_buckets, precision_at_recall,
      ARGS(at_recall_args), metric_buckets_count, check_at },
    { "recall_at_precision", true, true, metric_buckets, recall_at_precision,
      ARGS(at_precision_args), metric_buckets_count, check_at },
    { "f1_score", true, true, f_score, average_f_score,
      ARGS(f1_args), totals_by_class, check_f_score },
    { "fbeta_score", true, true, f_score, average_f_score,
      ARGS(f_beta_args), totals_by_class, check_f_score },
    { "r2_score", false, true, r2_score, r2_result, ARGS(r2_args), r2_totals, check_r2 },
    { "mean_iou", true, false, iou, mean_iou, ARGS(mean_iou_args), iou_totals, check_iou },
    { "iou", true, false, iou, mean_iou, ARGS(iou_args), iou_totals, check_iou },
    { "binary_iou", false, true, iou, mean_iou, ARGS(binary_iou_args), iou_totals, check_iou },
    { "one_hot_iou", true, false, iou, mean_iou, ARGS(one_hot_iou_args), iou_totals, check_iou },
    { "one_hot_mean_iou", true, false, iou, mean_iou,
      ARGS(one_hot_mean_iou_args), iou_totals, check_iou },
    { "pearson_correlation", false, true, pearson_correlation, metric_ratio,
      ARGS(correlation_args), NULL,
      check_last_axis },
    { "concordance_correlation", false, true, concordance_correlation, metric_ratio,
      ARGS(correlation_args), NULL, check_last_axis },
};
/* clang-format on */

const int metric_count_rows_count = COUNT(metric_count_rows);
