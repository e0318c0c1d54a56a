/* regression: metrics that compare numbers: R², and correlations within a row.
 * Source: keras/src/metrics/ (regression and correlation metrics). */
#include <math.h>

#include "layers/metrics/parts.h"

/* ---- R² ---- */

static const struct layer_arg r2_args[] = {
    { "class_aggregation", ARG_CHOICE, "uniform_average variance_weighted_average" },
    { "num_regressors", ARG_NULL_OR_INT, "0" },
};

/* Without an aggregation, there is a score for each output. */
static int64_t r2_scores_count(const struct metric *metric, const struct shape *output)
{
    return metric_option(metric, "class_aggregation")->is_null ? metric_classes_count(output) : 1;
}

/* Per output: the sums of the labels, their squares, the squared errors, and the weights. The last
 * total of each score is the number of labels. */
static struct endpoint r2_score(struct metric_context *c)
{
    struct endpoint errors = metric_binary(c, "SquaredDifference", c->output, c->labels);
    const struct endpoint sums[] = {
        metric_sum_by_class(c, c->labels),
        metric_sum_by_class(c, build_unary(c->builder, "Square", NULL, c->labels)),
        metric_sum_by_class(c, errors),
        metric_sum_by_class(c, build_unary(c->builder, "OnesLike", NULL, c->labels)),
    };
    struct endpoint count =
        metric_cast(c, build_unary(c->builder, "Size", NULL, c->labels), DT_FLOAT);
    const int32_t scores = (int32_t)r2_scores_count(c->metric, endpoint_shape(c->output));
    const struct endpoint all[] = {
        metric_concat(c, 4, sums),
        metric_binary(c, "Fill", build_const_ints(c->builder, NULL, 1, &scores), count)
    };
    return metric_concat(c, 2, all);
}

static int64_t r2_totals(const struct metric *metric, const struct shape *output)
{
    return 4 * metric_classes_count(output) + r2_scores_count(metric, output);
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
                                         metric_by_number(c, "AddV2", norm, METRIC_EPSILON)));
}

static const struct layer_arg correlation_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};

#define ARGS(args) args, COUNT(args)

/* clang-format off */
static const struct metric_class rows[] = {
    /* name, takes classes, takes values, totals, result, options, number of totals, check, number
     * of results */
    { "r2_score", false, true, r2_score, r2_result, ARGS(r2_args), r2_totals, check_matrix,
      r2_scores_count },
    { "pearson_correlation", false, true, pearson_correlation, metric_ratio,
      ARGS(correlation_args), NULL,
      metric_check_last_axis, NULL },
    { "concordance_correlation", false, true, concordance_correlation, metric_ratio,
      ARGS(correlation_args), NULL, metric_check_last_axis, NULL },
};
/* clang-format on */

const struct metric_table metric_regressions = { rows, COUNT(rows) };
