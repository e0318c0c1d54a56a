/* curves: metrics that count answers at each of many thresholds: the area under a curve, and the
 * best of one rate where another is high enough. Source: keras/src/metrics/confusion_metrics.py. */
#include <math.h>

#include "layers/metrics/parts.h"

/* ---- counts between thresholds ---- */

/* The curves of a metric: one, or one for each output. */
static int64_t curves_count(const struct metric *metric, const struct shape *output)
{
    const struct arg_value *several = metric_option(metric, "multi_label");

    return several != NULL && several->boolean ? output->dims[output->rank - 1] : 1;
}

/* Keras counts two thresholds beyond a list of them: below 0 and above 1. */
static bool has_list(const struct metric *metric)
{
    const struct arg_value *thresholds = metric_option(metric, "thresholds");

    return thresholds != NULL && !thresholds->is_null;
}

static int64_t thresholds_count(const struct metric *metric)
{
    return has_list(metric) ? metric_numbers_count(metric, "thresholds") + 2
                            : metric_option(metric, "num_thresholds")->integer;
}

/* The number of each output's bucket, int32: threshold i is i / (thresholds - 1), and bucket i
 * holds the outputs above threshold i, up to the next one. */
static struct endpoint find_buckets(struct metric_context *c, struct endpoint p)
{
    struct builder *b = c->builder;
    const struct endpoint clipping[] = { p, build_const_float(b, 0), build_const_float(b, 1) };

    if (has_list(c->metric)) {
        struct endpoint above = metric_above_numbers(c, "thresholds", 0, p);
        above = metric_binary(c, "Sum", above, build_const_int(b, 1));
        return metric_binary(c, "Reshape", metric_cast(c, above, DT_INT32),
                             build_unary(b, "Shape", NULL, p));
    }
    p = build(b, "ClipByValue", NULL, 3, clipping, NULL);
    p = build_unary(b, "Ceil", NULL,
                    metric_by_number(c, "Mul", p, (double)thresholds_count(c->metric) - 1));
    return metric_cast(c, metric_by_number(c, "Maximum", metric_by_number(c, "Sub", p, 1), 0),
                       DT_INT32);
}

/* The buckets of each output after those of the output before. */
static struct endpoint spread_buckets(struct metric_context *c, struct endpoint buckets,
                                      int32_t curves, int32_t thresholds)
{
    struct builder *b = c->builder;
    const struct endpoint inputs[] = { build_const_int(b, 0), build_const_int(b, curves),
                                       build_const_int(b, 1) };
    struct endpoint first = metric_binary(c, "Mul", build(b, "Range", NULL, 3, inputs, NULL),
                                          build_const_int(b, thresholds));

    return metric_binary(c, "AddV2", buckets, first);
}

/* x times the option label_weights, if they weigh the counts: with multi_label, they weigh the
 * curves' areas. */
static struct endpoint weigh_by_label(struct metric_context *c, struct endpoint x)
{
    const struct arg_value *weights = metric_option(c->metric, "label_weights");

    if (weights == NULL || weights->is_null || metric_option(c->metric, "multi_label")->boolean)
        return x;
    int64_t count = metric_numbers_count(c->metric, "label_weights");
    const struct shape shape = shape_of(count);
    float *numbers = ARENA_ARRAY(c->layers->arena, float, count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (float)metric_number(c->metric, "label_weights", i);
    const struct tensor value = tensor_borrow(DT_FLOAT, &shape, numbers);
    return metric_binary(c, "Mul", x, build_const(c->builder, NULL, &value));
}

/* The numbers of positive and then of negative examples between every two thresholds. */
static struct endpoint count_by_bucket(struct metric_context *c)
{
    struct builder *b = c->builder;
    int32_t thresholds = (int32_t)thresholds_count(c->metric);
    int32_t curves = (int32_t)curves_count(c->metric, endpoint_shape(c->output));
    const struct arg_value *logits = metric_option(c->metric, "from_logits");
    struct endpoint p = metric_of_class(c, c->output);
    if (logits != NULL && logits->boolean)
        p = build_unary(b, "Sigmoid", NULL, p);

    struct endpoint buckets = find_buckets(c, p);
    if (curves > 1)
        buckets = spread_buckets(c, buckets, curves, thresholds);
    buckets = metric_flat(c, buckets);
    struct endpoint is = metric_of_class(c, metric_positives_by_class(c));
    struct endpoint is_not = metric_binary(c, "Sub", build_const_float(b, 1), is);
    struct endpoint yes = metric_flat(c, metric_weigh(c, weigh_by_label(c, is))),
                    no = metric_flat(c, metric_weigh(c, weigh_by_label(c, is_not)));
    struct endpoint segments = build_const_int(b, curves * thresholds);
    const struct endpoint of_yes[] = { yes, buckets, segments },
                          of_no[] = { no, buckets, segments };
    const struct endpoint both[] = { build(b, "UnsortedSegmentSum", NULL, 3, of_yes, NULL),
                                     build(b, "UnsortedSegmentSum", NULL, 3, of_no, NULL),
                                     build_const_int(b, 0) };
    return build(b, "ConcatV2", NULL, 3, both, NULL);
}

static int64_t buckets_count(const struct metric *metric, const struct shape *output)
{
    return 2 * thresholds_count(metric) * curves_count(metric, output);
}

/* ---- the area under a curve ---- */

static const struct layer_arg auc_args[] = {
    { "num_thresholds", ARG_INT, "200" },
    { "curve", ARG_CHOICE, "ROC PR PRGAIN" },
    { "summation_method", ARG_CHOICE, "interpolation minoring majoring" },
    { "from_logits", ARG_BOOL, "false" },
    { "multi_label", ARG_BOOL, "false" },
    { "num_labels", ARG_NULL_OR_INT, "null" },
    { "label_weights", ARG_NULL_OR_VALUE, "null" },
    { "thresholds", ARG_NULL_OR_VALUE, "null" },
};

/* The counts of examples above a threshold. */
struct curve_point {
    double tp, fp;
};

/* Interpolates as Davis and Goadrich do: between two points, fp grows in proportion to tp. */
static double interpolated_pr(struct curve_point low, struct curve_point high, double yes)
{
    double p_low = low.tp + low.fp, p_high = high.tp + high.fp;
    double dtp = low.tp - high.tp, slope = metric_quotient(dtp, fmax(p_low - p_high, 0));
    double intercept = high.tp - slope * p_high;
    double relation = p_low > 0 && p_high > 0 ? p_low / p_high : 1;

    return metric_quotient(slope * (dtp + intercept * log(relation)), yes);
}

/* A point in the plane of a curve. */
struct curve_place {
    double x, y;
};

/* `yes` and `no` count the positive and negative examples. */
static struct curve_place place_on(const char *curve, struct curve_point at, double yes, double no)
{
    double recall = metric_quotient(at.tp, yes), balance = metric_quotient(yes, no);

    if (strcmp(curve, "ROC") == 0)
        return (struct curve_place){ metric_quotient(at.fp, no), recall };
    if (strcmp(curve, "PR") == 0)
        return (struct curve_place){ recall, metric_quotient(at.tp, at.tp + at.fp) };
    if (at.tp == 0)
        return (struct curve_place){ 0, 1 };
    return (struct curve_place){ fmax(1 - balance * (yes - at.tp) / at.tp, 0),
                                 1 - balance * at.fp / at.tp };
}

/* The area between two thresholds; `high` is the higher one. */
static double area(const struct metric *metric, struct curve_point low, struct curve_point high,
                   double yes, double no)
{
    const char *curve = metric_option(metric, "curve")->text;
    const char *method = metric_option(metric, "summation_method")->text;
    struct curve_place a = place_on(curve, low, yes, no), b = place_on(curve, high, yes, no);

    if (strcmp(curve, "PR") == 0 && strcmp(method, "interpolation") == 0)
        return interpolated_pr(low, high, yes);
    double height = strcmp(method, "minoring") == 0   ? fmin(a.y, b.y)
                    : strcmp(method, "majoring") == 0 ? fmax(a.y, b.y)
                                                      : (a.y + b.y) / 2;
    return (a.x - b.x) * height;
}

static double area_of_curve(const struct metric *metric, int64_t thresholds,
                            const double *positives, const double *negatives)
{
    struct curve_point high = { 0 };
    double yes = 0, no = 0, out = 0;

    for (int64_t i = 0; i < thresholds; i++) {
        yes += positives[i];
        no += negatives[i];
    }
    for (int64_t i = thresholds - 1; i >= 0; i--) {
        struct curve_point low = { high.tp + positives[i], high.fp + negatives[i] };
        if (i < thresholds - 1)
            out += area(metric, low, high, yes, no);
        high = low;
    }
    return out;
}

/* The mean over the curves, by their weights if they have any. */
static double area_under_curve(const struct training_metric *given, const double *totals)
{
    const struct metric *metric = given->context;
    const struct arg_value *weights = metric_option(metric, "label_weights");
    bool several = metric_option(metric, "multi_label")->boolean;
    int64_t thresholds = thresholds_count(metric);
    int64_t half = given->totals_count / 2;
    double sum = 0, of_weights = 0;

    for (int64_t i = 0; i < half / thresholds; i++) {
        double weight =
            several && !weights->is_null ? metric_number(metric, "label_weights", i) : 1;
        sum += weight * area_of_curve(metric, thresholds, totals + i * thresholds,
                                      totals + half + i * thresholds);
        of_weights += weight;
    }
    return metric_quotient(sum, of_weights);
}

#define CURVES_MAX 1000000 /* totals of all curves of a metric */

static struct status check_labels_count(const struct metric *metric, int64_t outputs, bool several)
{
    const struct arg_value *count = metric_option(metric, "num_labels");

    if (count->is_null || count->integer == 0 || (several && count->integer == outputs))
        return status_ok();
    if (!several)
        return status_error(STATUS_INVALID_ARGUMENT, "argument 'num_labels' needs multi_label");
    return status_error(STATUS_INVALID_ARGUMENT, "argument 'num_labels': got %lld of %lld outputs",
                        (long long)count->integer, (long long)outputs);
}

static struct status check_curves(const struct metric *metric, const struct shape *output)
{
    const struct arg_value *weights = metric_option(metric, "label_weights");
    bool several = metric_option(metric, "multi_label")->boolean;
    int64_t outputs = output->dims[output->rank - 1];

    if (several &&
        (output->rank != 2 || outputs > CURVES_MAX || buckets_count(metric, output) > CURVES_MAX))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "argument 'multi_label': the output has shape %s, expected [batch, "
                            "labels], and at most %d counts",
                            shape_text(output), CURVES_MAX);
    TRY(check_labels_count(metric, outputs, several));
    TRY(metric_check_numbers(metric, "thresholds"));
    if (weights->is_null)
        return status_ok();
    bool good = metric_numbers_count(metric, "label_weights") == outputs;
    for (int64_t i = 0; good && i < outputs; i++)
        good = metric_number(metric, "label_weights", i) >= 0;
    return good ? status_ok()
                : status_error(STATUS_INVALID_ARGUMENT,
                               "argument 'label_weights' wants a list of %lld numbers from 0 on",
                               (long long)outputs);
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

static double sensitivity(const struct answers *at) /* also called the recall */
{
    return metric_quotient(at->tp, at->tp + at->fn);
}

static double specificity(const struct answers *at)
{
    return metric_quotient(at->tn, at->tn + at->fp);
}

static double precision(const struct answers *at)
{
    return metric_quotient(at->tp, at->tp + at->fp);
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
        return metric_check_option(metric, "class_id", 0, metric_classes_count(output) - 1);
    return status_error(STATUS_INVALID_ARGUMENT, "argument '%s': got %g, expected 0 to 1",
                        metric->class->args[0].name, number);
}

#define ARGS(args) args, COUNT(args)

/* clang-format off */
static const struct metric_class rows[] = {
    /* name, takes classes, takes values, totals, result, options, number of totals, check, number
     * of results */
    { "auc", false, true, count_by_bucket, area_under_curve,
      ARGS(auc_args), buckets_count, check_curves, NULL },
    { "sensitivity_at_specificity", true, true, count_by_bucket, sensitivity_at_specificity,
      ARGS(at_specificity_args), buckets_count, check_at, NULL },
    { "specificity_at_sensitivity", true, true, count_by_bucket, specificity_at_sensitivity,
      ARGS(at_sensitivity_args), buckets_count, check_at, NULL },
    { "precision_at_recall", true, true, count_by_bucket, precision_at_recall,
      ARGS(at_recall_args), buckets_count, check_at, NULL },
    { "recall_at_precision", true, true, count_by_bucket, recall_at_precision,
      ARGS(at_precision_args), buckets_count, check_at, NULL },
};
/* clang-format on */

const struct metric_table metric_curves = { rows, COUNT(rows) };
