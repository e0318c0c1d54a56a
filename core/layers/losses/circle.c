/* circle: Keras' Circle loss. The outputs are unit vectors: near each other within a group, and
 * far apart across groups. Source: circle() in keras/src/losses/losses.py. */
#include <math.h>

#include "layers/losses/loss_class.h"

const struct layer_arg circle_args[] = {
    { "gamma", ARG_NUMBER, "80" },
    { "margin", ARG_NUMBER, "0.4" },
    { "remove_diagonal", ARG_BOOL, "true" },
};

/* value - x */
static struct endpoint minus_from(struct builder *b, double value, struct endpoint x)
{
    return build_binary(b, "Sub", NULL, build_const_float(b, (float)value), x);
}

/* max(0, 1 - cosine) of every two rows: [batch, batch] */
static struct endpoint distances(struct builder *b, struct endpoint x)
{
    const struct endpoint both[] = { x, x };
    const struct attr transposed[] = { attr_bool("transpose_b", true), ATTR_END };
    struct endpoint cosines = build(b, "MatMul", NULL, 2, both, transposed);

    return build_by_number(b, "Maximum", minus_from(b, 1, cosines), 0);
}

/* bool [batch, batch]: are two rows in the same group? */
static struct endpoint of_one_group(struct builder *b, struct endpoint groups)
{
    struct endpoint down = build_expand_dims(b, groups, 1);
    struct endpoint across = build_expand_dims(b, groups, 0);

    return build_binary(b, "Equal", NULL, down, across);
}

/* The same with the diagonal set to false. */
static struct endpoint without_diagonal(struct builder *b, struct endpoint pairs)
{
    struct endpoint size = build_unary(b, "Shape", NULL, pairs);
    const struct endpoint first[] = { size, build_const_int(b, 0), build_const_int(b, 0) };
    struct endpoint rows = build(b, "GatherV2", NULL, 3, first, NULL);
    const bool no = false;
    const struct shape scalar = shape_scalar();
    const struct tensor value = tensor_borrow(DT_BOOL, &scalar, &no);
    struct endpoint dims = build_expand_dims(b, rows, 0);
    struct endpoint diagonal = build_binary(b, "Fill", NULL, dims, build_const(b, NULL, &value));
    return build_binary(b, "MatrixSetDiag", NULL, pairs, diagonal);
}

/* log Σ exp of x over the pairs of each row: [batch]; -inf if a row has no pairs. */
static struct endpoint log_sum_exp(struct builder *b, struct endpoint pairs, struct endpoint x)
{
    const struct attr kept[] = { attr_bool("keep_dims", true), ATTR_END };
    struct endpoint axis = build_const_int(b, 1);
    struct endpoint values = build_select(b, pairs, x, build_const_float(b, -INFINITY));
    const struct endpoint all[] = { values, axis };
    struct endpoint largest = build_unary(
        b, "StopGradient", NULL,
        build_by_number(b, "Maximum", build(b, "Max", NULL, 2, all, kept), -3.4e38)); /* finite */
    struct endpoint shifted = build_binary(b, "Sub", NULL, values, largest);
    struct endpoint sum = build_binary(b, "Sum", NULL, build_unary(b, "Exp", NULL, shifted), axis);

    return build_binary(b, "AddV2", NULL, build_unary(b, "Log", NULL, sum),
                        build_binary(b, "Sum", NULL, largest, axis));
}

/* factor · max(0, weight) · (delta - d) at the pairs; `weight` and d are [batch, batch]. */
static struct endpoint weigh(struct builder *b, struct endpoint weight, double delta,
                             struct endpoint d, double factor)
{
    struct endpoint positive = build_by_number(b, "Maximum", weight, 0);

    return build_by_number(b, "Mul",
                           build_binary(b, "Mul", NULL, positive, minus_from(b, delta, d)), factor);
}

struct endpoint loss_circle(struct loss_context *c)
{
    struct builder *b = c->builder;
    double gamma = loss_option(c->loss, "gamma")->number;
    double margin = loss_option(c->loss, "margin")->number;
    struct endpoint d = distances(b, c->output), same = of_one_group(b, c->classes);
    struct endpoint other = build_unary(b, "LogicalNot", NULL, same);

    if (loss_option(c->loss, "remove_diagonal")->boolean)
        same = without_diagonal(b, same);
    struct endpoint near = weigh(b, build_by_number(b, "AddV2", d, margin), margin, d, -gamma);
    struct endpoint far = weigh(b, minus_from(b, 1 + margin, d), 1 - margin, d, gamma);
    struct endpoint sum =
        build_binary(b, "AddV2", NULL, log_sum_exp(b, same, near), log_sum_exp(b, other, far));
    struct endpoint losses = build_unary(b, "Softplus", NULL, sum);
    c->counted = build_by_number(b, "Greater", losses, 0);
    return losses;
}
