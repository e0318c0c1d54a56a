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

/* The buckets of each output behind those of the output before. */
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

/* The numbers of positive and then of negative examples between every two thresholds: threshold
 * i is i / (thresholds - 1), and bucket i holds the outputs above threshold i, up to the next
 * one. */
static struct endpoint count_by_bucket(struct metric_context *c)
{
    struct builder *b = c->builder;
    int32_t thresholds = (int32_t)metric_option(c->metric, "num_thresholds")->integer;
    int32_t curves = (int32_t)curves_count(c->metric, endpoint_shape(c->output));
    const struct arg_value *logits = metric_option(c->metric, "from_logits");
    struct endpoint p = metric_of_class(c, c->output);
    if (logits != NULL && logits->boolean)
        p = build_unary(b, "Sigmoid", NULL, p);
    const struct endpoint clipping[] = { p, build_const_float(b, 0), build_const_float(b, 1) };

    p = build(b, "ClipByValue", NULL, 3, clipping, NULL);
    p = build_unary(b, "Ceil", NULL, metric_by_number(c, "Mul", p, thresholds - 1));
    struct endpoint buckets = metric_cast(
        c, metric_by_number(c, "Maximum", metric_by_number(c, "Sub", p, 1), 0), DT_INT32);
    if (curves > 1)
        buckets = spread_buckets(c, buckets, curves, thresholds);
    buckets = metric_flat(c, buckets);
    struct endpoint is = metric_of_class(c, metric_positives_by_class(c));
    struct endpoint is_not = metric_binary(c, "Sub", build_const_float(b, 1), is);
    struct endpoint yes = metric_flat(c, metric_weigh(c, is)),
                    no = metric_flat(c, metric_weigh(c, is_not));
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
    return 2 * metric_option(metric, "num_thresholds")->integer * curves_count(metric, output);
}

/* ---- the area under a curve ---- */

static const struct layer_arg auc_args[] = {
    { "num_thresholds", ARG_INT, "200" },
    { "curve", ARG_CHOICE, "ROC PR" },
    { "summation_method", ARG_CHOICE, "interpolation minoring majoring" },
    { "from_logits", ARG_BOOL, "false" },
    { "multi_label", ARG_BOOL, "false" },
    { "num_labels", ARG_NULL_OR_INT, "null" },
    { "label_weights", ARG_NULL_OR_VALUE, "null" },
    { "thresholds", ARG_NONE, "null" },
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

/* The area between two thresholds; `high` is the higher one. */
static double area(const struct metric *metric, struct curve_point low, struct curve_point high,
                   double yes, double no)
{
    bool pr = strcmp(metric_option(metric, "curve")->text, "PR") == 0;
    const char *method = metric_option(metric, "summation_method")->text;
    double recalls[] = { metric_quotient(low.tp, yes), metric_quotient(high.tp, yes) };

    if (pr && strcmp(method, "interpolation") == 0)
        return interpolated_pr(low, high, yes);
    double a = pr ? metric_quotient(low.tp, low.tp + low.fp) : recalls[0];
    double b = pr ? metric_quotient(high.tp, high.tp + high.fp) : recalls[1];
    double width =
        pr ? recalls[0] - recalls[1] : metric_quotient(low.fp, no) - metric_quotient(high.fp, no);
    double height = strcmp(method, "minoring") == 0   ? fmin(a, b)
                    : strcmp(method, "majoring") == 0 ? fmax(a, b)
                                                      : (a + b) / 2;
    return width * height;
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
    int64_t thresholds = metric_option(metric, "num_thresholds")->integer;
    int64_t half = given->totals_count / 2;
    double sum = 0, of_weights = 0;

    for (int64_t i = 0; i < half / thresholds; i++) {
        double weight = 1;
        if (!weights->is_null)
            json_value_number(&array_items(weights->value)->members[i], &weight);
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
    if (weights->is_null)
        return status_ok();
    if (!several)
        return status_error(STATUS_UNIMPLEMENTED,
                            "argument 'label_weights' is only implemented with multi_label");
    const struct json_value *list = array_items(weights->value);
    bool good = list != NULL && list->kind == JSON_VALUE_LIST && list->count == outputs;
    for (int64_t i = 0; good && i < outputs; i++) {
        double weight;
        good = json_value_number(&list->members[i], &weight) && weight >= 0;
    }
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
    /* name, takes classes, takes values, totals, result, options, number of totals, check */
    { "auc", false, true, count_by_bucket, area_under_curve,
      ARGS(auc_args), buckets_count, check_curves },
    { "sensitivity_at_specificity", true, true, count_by_bucket, sensitivity_at_specificity,
      ARGS(at_specificity_args), buckets_count, check_at },
    { "specificity_at_sensitivity", true, true, count_by_bucket, specificity_at_sensitivity,
      ARGS(at_sensitivity_args), buckets_count, check_at },
    { "precision_at_recall", true, true, count_by_bucket, precision_at_recall,
      ARGS(at_recall_args), buckets_count, check_at },
    { "recall_at_precision", true, true, count_by_bucket, recall_at_precision,
      ARGS(at_precision_args), buckets_count, check_at },
};
/* clang-format on */

const struct metric_table metric_curves = { rows, COUNT(rows) };
