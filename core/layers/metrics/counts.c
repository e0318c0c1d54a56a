/* counts: metrics that count right and wrong answers, at thresholds or by class.
 * Source: keras/src/metrics/ (confusion, f_score and iou metrics). */
#include "layers/metrics/parts.h"

/* 1 - x */
static struct endpoint complement(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sub", build_const_float(c->builder, 1), x);
}

/* ---- right and wrong answers above thresholds ---- */

static const struct layer_arg count_args[] = {
    { "thresholds", ARG_NULL_OR_VALUE, "null" },
};

static const struct layer_arg precision_args[] = {
    { "thresholds", ARG_NULL_OR_VALUE, "null" },
    { "top_k", ARG_NULL_OR_INT, "null" },
    { "class_id", ARG_NULL_OR_INT, "null" },
};

/* A list of thresholds gives a number for each. */
static int64_t thresholds_count(const struct metric *metric, const struct shape *output)
{
    int64_t count = metric_numbers_count(metric, "thresholds");

    (void)output;
    return count > 0 ? count : 1;
}

static int64_t two_totals(const struct metric *metric, const struct shape *output)
{
    return 2 * thresholds_count(metric, output);
}

static double only_total(const struct training_metric *metric, const double *totals)
{
    (void)metric;
    return totals[0];
}

/* The first total's share of both. */
static double share_of_both(const struct training_metric *metric, const double *totals)
{
    (void)metric;
    return metric_quotient(totals[0], totals[0] + totals[1]);
}

/* 1 for the k largest outputs of each row. */
static struct endpoint among_largest(struct metric_context *c, int64_t k)
{
    const struct shape *shape = endpoint_shape(c->output);
    struct builder *b = c->builder;
    const struct endpoint asked[] = { c->output, build_const_int(b, (int32_t)k) };
    struct endpoint places = build(b, "TopKV2", NULL, 2, asked, NULL);
    places.index = 1;
    const struct endpoint inputs[] = { places,
                                       build_const_int(b, (int32_t)shape->dims[shape->rank - 1]),
                                       build_const_float(b, 1), build_const_float(b, 0) };

    return metric_binary(c, "Sum", build(b, "OneHot", NULL, 4, inputs, NULL),
                         build_const_int(b, -2));
}

/* Predicted positives: a row for each element, a column for each threshold. With top_k, the default
 * threshold is no threshold. */
static struct endpoint predicted_positives(struct metric_context *c)
{
    const struct arg_value *top_k = metric_option(c->metric, "top_k");
    struct endpoint output = metric_of_class(c, c->output);

    if (top_k == NULL || top_k->is_null)
        return metric_above_numbers(c, "thresholds", 0.5, output);
    struct endpoint largest =
        metric_column(c, metric_of_class(c, among_largest(c, top_k->integer)));
    if (metric_numbers_count(c->metric, "thresholds") == 0)
        return largest;
    return metric_binary(c, "Mul", metric_above_numbers(c, "thresholds", 0.5, output), largest);
}

/* Counts the answers that are `predicted` for labels that are `positive`: [thresholds]. */
static struct endpoint count_answers(struct metric_context *c, bool predicted, bool positive)
{
    struct endpoint answers = predicted_positives(c);
    struct endpoint is = metric_of_class(c, metric_positives_by_class(c));

    answers = predicted ? answers : complement(c, answers);
    is = metric_column(c, metric_weigh(c, positive ? is : complement(c, is)));
    return metric_sum_columns(c, metric_binary(c, "Mul", answers, is));
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

static struct endpoint precision(struct metric_context *c)
{
    const struct endpoint counts[] = { true_positives(c), false_positives(c) };

    return metric_concat(c, 2, counts);
}

static struct endpoint recall(struct metric_context *c)
{
    const struct endpoint counts[] = { true_positives(c), false_negatives(c) };

    return metric_concat(c, 2, counts);
}

static struct status check_counts(const struct metric *metric, const struct shape *output)
{
    (void)output;
    return metric_check_numbers(metric, "thresholds");
}

static struct status check_precision(const struct metric *metric, const struct shape *output)
{
    int64_t outputs = output->dims[output->rank - 1];

    TRY(metric_check_numbers(metric, "thresholds"));
    TRY(metric_check_option(metric, "top_k", 1, outputs));
    return metric_check_option(metric, "class_id", 0, outputs - 1);
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
    return 4 * metric_classes_count(output);
}

/* Without an average, there is a score for each class. */
static int64_t f_scores_count(const struct metric *metric, const struct shape *output)
{
    return json_value_is_null(metric_option(metric, "average")->value)
               ? metric_classes_count(output)
               : 1;
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
        metric_sum_by_class(c, metric_binary(c, "Mul", p, is)),
        metric_sum_by_class(c, metric_binary(c, "Mul", p, complement(c, is))),
        metric_sum_by_class(c, metric_binary(c, "Mul", complement(c, p), is)),
        metric_sum_by_class(c, is),
    };

    return metric_concat(c, 4, sums);
}

static double f_of(double tp, double fp, double fn, double beta)
{
    double p = tp / (tp + fp + METRIC_EPSILON), r = tp / (tp + fn + METRIC_EPSILON);

    return p * r / (beta * beta * p + r + METRIC_EPSILON) * (1 + beta * beta);
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
    return strcmp(kind, "weighted") == 0 ? weighted / (sums[3] + METRIC_EPSILON)
                                         : plain / (double)count;
}

static struct status check_f_score(const struct metric *metric, const struct shape *output)
{
    static const char *const known[] = { "micro", "macro", "weighted" };
    const struct json_value *average = metric_option(metric, "average")->value;

    if (output->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the output has shape %s, expected [batch, classes]",
                            shape_text(output));
    for (size_t i = 0; i < COUNT(known); i++)
        if (json_value_is_null(average) ||
            (average->kind == JSON_VALUE_TEXT && strcmp(average->text, known[i]) == 0))
            return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'average' is none of: micro, macro, weighted");
}

/* ---- intersection over union ---- */

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

/* bool: the labels that are valid classes and not the ignored one. */
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
        sum += both / (either + METRIC_EPSILON);
        valid++;
    }
    return metric_quotient(sum, valid);
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
    if (classes > IOU_MAX || (sparse != NULL && classes != metric_classes_count(output)))
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
    return metric_check_last_axis(metric, output);
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

#define ARGS(args) args, COUNT(args)

/* clang-format off */
static const struct metric_class rows[] = {
    /* name, takes classes, takes values, totals, result, options, number of totals, check, number
     * of results */
    { "true_positives", false, true, true_positives, only_total,
      ARGS(count_args), thresholds_count, check_counts, thresholds_count },
    { "false_positives", false, true, false_positives, only_total,
      ARGS(count_args), thresholds_count, check_counts, thresholds_count },
    { "true_negatives", false, true, true_negatives, only_total,
      ARGS(count_args), thresholds_count, check_counts, thresholds_count },
    { "false_negatives", false, true, false_negatives, only_total,
      ARGS(count_args), thresholds_count, check_counts, thresholds_count },
    { "precision", true, true, precision, share_of_both,
      ARGS(precision_args), two_totals, check_precision, thresholds_count },
    { "recall", true, true, recall, share_of_both,
      ARGS(precision_args), two_totals, check_precision, thresholds_count },
    { "f1_score", true, true, f_score, average_f_score,
      ARGS(f1_args), totals_by_class, check_f_score, f_scores_count },
    { "fbeta_score", true, true, f_score, average_f_score,
      ARGS(f_beta_args), totals_by_class, check_f_score, f_scores_count },
    { "mean_iou", true, false, iou, mean_iou, ARGS(mean_iou_args), iou_totals, check_iou, NULL },
    { "iou", true, false, iou, mean_iou, ARGS(iou_args), iou_totals, check_iou, NULL },
    { "binary_iou", false, true, iou, mean_iou, ARGS(binary_iou_args), iou_totals, check_iou, NULL },
    { "one_hot_iou", true, false, iou, mean_iou, ARGS(one_hot_iou_args), iou_totals, check_iou, NULL },
    { "one_hot_mean_iou", true, false, iou, mean_iou,
      ARGS(one_hot_mean_iou_args), iou_totals, check_iou, NULL },
};
/* clang-format on */

const struct metric_table metric_counts = { rows, COUNT(rows) };
