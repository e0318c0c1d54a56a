/* sampled_softmax: SampledSoftmax, a Dense layer with a softmax over many classes, whose kernel
 * and bias are tables with a row per class. Source: sampled_softmax_loss in TensorFlow's
 * nn_impl.py, LogUniformSampler and ExpectedCountHelper in its range_sampler.cc. */
#include "layers/classes/sampled_softmax.h"

#include <float.h>
#include <math.h>

#include "layers/build_state.h"
#include "layers/classes/classes.h"

static const struct layer_arg sampled_softmax_args[] = {
    { "units", ARG_INT, REQUIRED },
    { "num_sampled", ARG_INT, REQUIRED },
    { "remove_accidental_hits", ARG_BOOL, "true" },
    { "seed", ARG_NULL_OR_INT, "null" },
    { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },
    { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "kernel_regularizer", ARG_REGULARIZER, "null" },
    { "bias_regularizer", ARG_REGULARIZER, "null" },
    { "kernel_constraint", ARG_CONSTRAINT, "null" },
    { "bias_constraint", ARG_CONSTRAINT, "null" },
};

static struct endpoint by_double(struct builder *b, const char *op, struct endpoint x, double value)
{
    return build_binary(b, op, NULL, x, build_const_double(b, value));
}

/* int64: 0 … count - 1 */
static struct endpoint first_classes(struct builder *b, int64_t count)
{
    const struct endpoint range[] = { build_const_int64(b, 0), build_const_int64(b, count),
                                      build_const_int64(b, 1) };

    return build(b, "Range", NULL, 3, range, NULL);
}

/* ---- all classes ---- */

static struct endpoint full_softmax(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    int64_t units = layer_arg(layer, "units")->integer, width = endpoint_shape(x)->dims[1];
    /* An evaluation reads all rows in order, which is the table itself. */
    struct endpoint all =
        context->mode == LAYERS_EVAL ? first_classes(b, units) : (struct endpoint){ 0 };
    struct endpoint kernel =
        layer_table(context, layer, "kernel", shape_of(units, width), all).values;
    struct endpoint bias = layer_table(context, layer, "bias", shape_of(units, 1), all).values;
    const int32_t row[] = { -1 }, scores[] = { -1, (int32_t)units };
    const struct endpoint product[] = { x, kernel };

    struct endpoint logits =
        build(b, "MatMul", NULL, 2, product,
              (const struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
    bias = build_binary(b, "Reshape", NULL, bias, build_const_ints(b, NULL, 1, row));
    logits = build_binary(b, "Reshape", NULL, logits, build_const_ints(b, NULL, 2, scores));
    return build_unary(b, "Softmax", NULL, build_binary(b, "BiasAdd", NULL, logits, bias));
}

/* ---- a sample: class c is drawn with probability log((c + 2) / (c + 1)) / log(units + 1) ---- */

/* The expected number of different classes in this many draws. From class 1000 on, sums over
 * intervals in which the probability changes by 1 %. */
static double expect_different(double draws, double units)
{
    double sum = 0;

    for (double begin = 0, end; begin < units; begin = end) {
        end = fmin(units, begin < 1000 ? begin + 1 : floor(begin * 1.01));
        double p = log((end + 1) / (begin + 1)) / log(units + 1) / (end - begin);
        sum += (end - begin) * -expm1(draws * log1p(-fmin(p, 1 - DBL_EPSILON)));
    }
    return sum;
}

/* Limit of the draws per class of the sample. Only a sample of nearly all classes would need
 * more. */
#define DRAWS_BY_CLASS 32

/* The number of draws that almost always yields `count` different classes: the expected number
 * exceeds `count` by 4 standard deviations (the variance is below `count`). */
static int64_t choose_draws(int64_t count, int64_t units)
{
    double draws = (double)count, enough = draws + 4 * sqrt(draws);

    while (draws < DRAWS_BY_CLASS * (double)count &&
           expect_different(draws, (double)units) < enough)
        draws = ceil(draws * 1.1);
    return (int64_t)draws;
}

/* Draws classes, with repetitions: int64 [draws]. */
static struct endpoint draw_classes(struct layer_context *context, const struct layer *layer,
                                    int64_t draws, int64_t units)
{
    struct builder *b = &context->builder;
    const struct arg_value *seed = layer_arg(layer, "seed");
    const int32_t shape[] = { (int32_t)draws };
    const struct endpoint inputs[] = { build_const_ints(b, NULL, 1, shape),
                                       layer_seed(context, seed->is_null ? 0 : seed->integer) };

    struct endpoint numbers =
        build(b, "StatelessRandomUniform", NULL, 2, inputs,
              (const struct attr[]){ attr_type("dtype", DT_DOUBLE), ATTR_END });
    numbers = by_double(b, "Mul", numbers, log((double)units + 1));
    struct endpoint classes = cast_to(context, build_unary(b, "Exp", NULL, numbers), DT_INT64);
    classes = build_binary(b, "Sub", NULL, classes, build_const_int64(b, 1));
    return build_binary(b, "FloorMod", NULL, classes, build_const_int64(b, units));
}

/* Takes the first `count` different classes of the draws, and the number of draws that this
 * took. If the draws have too few, the most probable classes among the others follow. */
static void take_different(struct layer_context *context, struct endpoint drawn, int64_t draws,
                           int64_t count, struct sampled_output *out)
{
    struct builder *b = &context->builder;
    const int32_t begin[] = { 0 }, size[] = { (int32_t)count };
    const struct endpoint all[] = { drawn, first_classes(b, count), build_const_int(b, 0) };
    struct endpoint different =
        build_unary(b, "Unique", NULL, build(b, "ConcatV2", NULL, 3, all, NULL));
    out->classes = build_slice(b, "sampled", different, 1, begin, size);
    struct endpoint is_last = build_binary(b, "Equal", NULL, (struct endpoint){ different.node, 1 },
                                           build_const_int(b, (int32_t)count - 1));
    struct endpoint last =
        build_binary(b, "ArgMax", NULL, cast_to(context, is_last, DT_FLOAT), build_const_int(b, 0));
    struct endpoint needed = by_double(b, "AddV2", cast_to(context, last, DT_DOUBLE), 1);
    out->draws = by_double(b, "Minimum", needed, (double)draws);
}

static struct endpoint take_sample(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    int64_t units = layer_arg(layer, "units")->integer, width = endpoint_shape(x)->dims[1],
            count = layer_arg(layer, "num_sampled")->integer, draws = choose_draws(count, units);
    struct sampled_output *sampled = ARENA_NEW(context->arena, struct sampled_output);

    *sampled = (struct sampled_output){ .layer = layer, .next = context->build->sampled };
    context->build->sampled = sampled;
    take_different(context, draw_classes(context, layer, draws, units), draws, count, sampled);
    sampled->kernel =
        layer_rows(context, layer, "kernel", shape_of(units, width), sampled->classes);
    sampled->bias = layer_rows(context, layer, "bias", shape_of(units, 1), sampled->classes);
    return sampled->output = build_unary(&context->builder, "Identity", "sampled_softmax", x);
}

static struct endpoint sampled_softmax_build(struct layer_context *context,
                                             const struct layer *layer, struct endpoint x)
{
    int64_t units = layer_arg(layer, "units")->integer,
            count = layer_arg(layer, "num_sampled")->integer;

    if (!layer_check_rank(context, layer, x, 2))
        return x;
    if (endpoint_shape(x)->dims[1] < 0) {
        layer_fail(context, layer, "its input has shape %s; expected a known number of columns",
                   shape_text(endpoint_shape(x)));
        return x;
    }
    if (count > units) {
        layer_fail(context, layer,
                   "argument 'num_sampled': got %lld, expected at most the %lld units",
                   (long long)count, (long long)units);
        return x;
    }
    if (!layer_check_size(context, layer, "draws of num_sampled", 2,
                          (const int64_t[]){ DRAWS_BY_CLASS, count }))
        return x;
    return context->mode == LAYERS_TRAIN ? take_sample(context, layer, x)
                                         : full_softmax(context, layer, x);
}

const struct layer_class layer_sampled_softmax = {
    .name = "SampledSoftmax",
    .args = sampled_softmax_args,
    .args_count = (int)COUNT(sampled_softmax_args),
    .build = sampled_softmax_build,
    .precision = LAYER_REFUSES_16_BITS,
};

/* ---- the loss ---- */

const struct sampled_output *sampled_find(const struct layer_context *context,
                                          struct endpoint output)
{
    const struct sampled_output *sampled = context->build->sampled;

    while (sampled != NULL && sampled->output.node != output.node)
        sampled = sampled->next;
    return sampled;
}

void sampled_check(struct layer_context *context)
{
    const struct graph *graph = context->builder.graph;

    for (int i = 0; i < graph->count && status_is_ok(context->builder.status); i++)
        for (int k = 0; k < graph->nodes[i]->inputs_count; k++) {
            const struct sampled_output *sampled =
                sampled_find(context, graph->nodes[i]->inputs[k]);
            if (sampled != NULL) {
                layer_fail(context, sampled->layer,
                           "another layer computes with its output, which it does not have in "
                           "training; it must be an output of the model");
                return;
            }
        }
}

/* log of the expected count of each class in the sample: float, in the shape of `classes`.
 * Without repeated draws, this is the expected count among the draws; otherwise the probability
 * that the class is among them. */
static struct endpoint log_expected(struct layer_context *context,
                                    const struct sampled_output *sampled, struct endpoint classes)
{
    struct builder *b = &context->builder;
    double count = (double)layer_arg(sampled->layer, "num_sampled")->integer,
           units = (double)layer_arg(sampled->layer, "units")->integer;
    struct endpoint c = cast_to(context, classes, DT_DOUBLE);

    struct endpoint ratio =
        build_binary(b, "RealDiv", NULL, by_double(b, "AddV2", c, 2), by_double(b, "AddV2", c, 1));
    struct endpoint p = by_double(b, "Mul", build_unary(b, "Log", NULL, ratio), 1 / log(units + 1));
    struct endpoint never = build_unary(b, "Log1p", NULL, build_unary(b, "Neg", NULL, p));
    never = build_unary(b, "Expm1", NULL, build_binary(b, "Mul", NULL, never, sampled->draws));
    struct endpoint with_repeats = by_double(b, "Equal", sampled->draws, count);
    struct endpoint all = by_double(b, "Mul", p, count);
    struct endpoint expected =
        build_select(b, with_repeats, all, build_unary(b, "Neg", NULL, never));
    return cast_to(context, build_unary(b, "Log", NULL, expected), DT_FLOAT);
}

/* [batch, 1] */
static struct endpoint right_logits(struct layer_context *context,
                                    const struct sampled_output *sampled, struct endpoint classes)
{
    struct builder *b = &context->builder;
    const struct layer *layer = sampled->layer;
    int64_t units = layer_arg(layer, "units")->integer,
            width = endpoint_shape(sampled->output)->dims[1];
    struct endpoint kernel = layer_rows(context, layer, "kernel", shape_of(units, width), classes),
                    bias = layer_rows(context, layer, "bias", shape_of(units, 1), classes);
    const struct endpoint summing[] = { build_binary(b, "Mul", NULL, sampled->output, kernel),
                                        build_const_int(b, -1) };

    struct endpoint logits = build(b, "Sum", NULL, 2, summing,
                                   (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    logits = build_binary(b, "AddV2", NULL, logits, bias);
    return build_binary(b, "Sub", NULL, logits,
                        build_expand_dims(b, log_expected(context, sampled, classes), 1));
}

/* [batch, num_sampled] */
static struct endpoint sampled_logits(struct layer_context *context,
                                      const struct sampled_output *sampled, struct endpoint labels)
{
    struct builder *b = &context->builder;
    const int32_t row[] = { 1, -1 };
    const struct endpoint product[] = { sampled->output, sampled->kernel };

    struct endpoint logits =
        build(b, "MatMul", NULL, 2, product,
              (const struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
    struct endpoint bias =
        build_binary(b, "Reshape", NULL, sampled->bias, build_const_ints(b, NULL, 2, row));
    logits = build_binary(b, "AddV2", NULL, logits, bias);
    logits = build_binary(b, "Sub", NULL, logits, log_expected(context, sampled, sampled->classes));
    if (!layer_arg(sampled->layer, "remove_accidental_hits")->boolean)
        return logits;
    struct endpoint hits =
        build_binary(b, "Equal", NULL, build_expand_dims(b, labels, 1), sampled->classes);
    struct endpoint low = build_binary(b, "Mul", NULL, cast_to(context, hits, DT_FLOAT),
                                       build_const_float(b, -FLT_MAX));
    return build_binary(b, "AddV2", NULL, logits, low);
}

struct endpoint sampled_losses(struct layer_context *context, const struct sampled_output *sampled,
                               struct endpoint labels)
{
    struct builder *b = &context->builder;
    const char *scope = b->scope;

    b->scope = arena_printf(context->arena, "%s/", sampled->layer->name);
    struct endpoint classes = cast_to(context, labels, DT_INT64);
    const struct endpoint both[] = { right_logits(context, sampled, classes),
                                     sampled_logits(context, sampled, classes),
                                     build_const_int(b, 1) };
    const struct endpoint inputs[] = { build(b, "ConcatV2", NULL, 3, both, NULL),
                                       build_unary(b, "ZerosLike", NULL, labels) };
    struct endpoint losses =
        build(b, "SparseSoftmaxCrossEntropyWithLogits", "cross_entropy", 2, inputs, NULL);
    b->scope = scope;
    return losses;
}
