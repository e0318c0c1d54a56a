/*
 * multi_head_attention: MultiHeadAttention, GroupQueryAttention. Source:
 * keras/src/layers/attention/.
 *
 * Shapes: [batch, T, features] of the query, [batch, S, features] of key and value, once all
 * attention axes are one; scores [batch, heads, T, S].
 */
#include <math.h>

#include "layers/classes/attention_scores.h"
#include "layers/classes/classes.h"

#define HEADS_ARGS                                                                        \
    { "dropout", ARG_NUMBER, "0.0" }, { "use_bias", ARG_BOOL, "true" },                   \
        { "use_gate", ARG_BOOL, "false" }, { "sliding_window", ARG_NULL_OR_INT, "null" }, \
        { "flash_attention", ARG_NONE, "null" },                                          \
        { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },                   \
        { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },                             \
        { "kernel_regularizer", ARG_REGULARIZER, "null" },                                \
        { "bias_regularizer", ARG_REGULARIZER, "null" },                                  \
        { "activity_regularizer", ARG_NONE, "null" },                                     \
        { "kernel_constraint", ARG_CONSTRAINT, "null" },                                  \
        { "bias_constraint", ARG_CONSTRAINT, "null" },                                    \
    {                                                                                     \
        "seed", ARG_NULL_OR_INT, "null"                                                   \
    }

static const struct layer_arg multi_head_args[] = {
    { "num_heads", ARG_INT, REQUIRED },
    { "key_dim", ARG_INT, REQUIRED },
    { "value_dim", ARG_NULL_OR_INT, "null" },
    { "output_shape", ARG_NULL_OR_VALUE, "null" },
    { "attention_axes", ARG_NULL_OR_VALUE, "null" },
    /* written by Keras 2, which also repeats the shapes that the layer was built with */
    { "softmax_robust_masking", ARG_NONE, "false" },
    { "query_shape", ARG_NULL_OR_VALUE, "null" },
    { "key_shape", ARG_NULL_OR_VALUE, "null" },
    { "value_shape", ARG_NULL_OR_VALUE, "null" },
    HEADS_ARGS,
};
static const struct layer_arg group_query_args[] = {
    { "head_dim", ARG_INT, REQUIRED },
    { "num_query_heads", ARG_INT, REQUIRED },
    { "num_key_value_heads", ARG_INT, REQUIRED },
    HEADS_ARGS,
};
static const char *const heads_call_args[] = { "query",
                                               "value",
                                               "key",
                                               "query_mask",
                                               "value_mask",
                                               "key_mask",
                                               "attention_mask",
                                               "return_attention_scores",
                                               "training",
                                               "use_causal_mask",
                                               NULL };

/* The sizes of one layer. */
struct heads {
    int64_t query, key_value; /* numbers of heads; `query` is a multiple of `key_value` */
    int64_t key_size, value_size, output_size;
};

/* An integer, or the only element of a list; 0: neither. */
static int64_t single(const struct json_value *value)
{
    if (value->kind == JSON_VALUE_LIST && value->count == 1)
        value = &value->members[0];
    return value->kind == JSON_VALUE_INT && value->integer <= INT32_MAX ? value->integer : 0;
}

static bool read_multi_head(struct layer_context *context, const struct layer *layer,
                            struct heads *out)
{
    const struct arg_value *size = layer_arg(layer, "value_dim"),
                           *output = layer_arg(layer, "output_shape");

    out->query = out->key_value = layer_arg(layer, "num_heads")->integer;
    out->key_size = layer_arg(layer, "key_dim")->integer;
    out->value_size = size->is_null ? out->key_size : size->integer;
    if (out->value_size < 1 || out->value_size > INT32_MAX)
        layer_fail(context, layer, "argument 'value_dim': got %lld, expected a positive integer",
                   (long long)out->value_size);
    if (!output->is_null && single(output->value) < 1)
        layer_refuse(context, layer,
                     "argument 'output_shape' is %s; only one dimension is implemented",
                     json_value_show(output->value, context->arena));
    if (!output->is_null)
        out->output_size = single(output->value);
    return status_is_ok(context->builder.status);
}

static bool read_group_query(struct layer_context *context, const struct layer *layer,
                             struct heads *out)
{
    out->query = layer_arg(layer, "num_query_heads")->integer;
    out->key_value = layer_arg(layer, "num_key_value_heads")->integer;
    out->key_size = out->value_size = layer_arg(layer, "head_dim")->integer;
    if (out->query % out->key_value == 0)
        return true;
    layer_fail(context, layer,
               "num_query_heads is %lld, expected a multiple of num_key_value_heads, %lld",
               (long long)out->query, (long long)out->key_value);
    return false;
}

/* The variable "<name>/kernel" as a matrix. */
static struct endpoint kernel_matrix(struct layer_context *context, const struct layer *layer,
                                     const char *name, struct shape shape, int64_t rows,
                                     int64_t columns)
{
    struct builder *b = &context->builder;
    const char *full = arena_printf(context->arena, "%s/kernel", name);
    const int32_t dims[] = { (int32_t)rows, (int32_t)columns };
    struct initializer initializer = layer_arg(layer, "kernel_initializer")->initializer;
    const struct arg_value *regularizer = layer_arg(layer, "kernel_regularizer");

    if (!context->keras2) {
        initializer.fan_in = (double)rows;
        initializer.fan_out = (double)columns;
    }
    struct endpoint kernel = layer_variable_with(
        context, layer, full, shape, &initializer,
        regularizer->is_null ? NULL : &regularizer->regularizer, layer->trainable);
    layer_constrain(context, layer, kernel, "kernel");
    return build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 2, dims));
}

static struct endpoint add_bias(struct layer_context *context, const struct layer *layer,
                                const char *name, struct shape shape, struct endpoint y)
{
    struct builder *b = &context->builder;
    const int32_t flat = -1;

    if (!layer_arg(layer, "use_bias")->boolean)
        return y;
    struct endpoint bias = layer_variable_of(
        context, layer, arena_printf(context->arena, "%s/bias", name), "bias", shape);
    if (shape.rank > 1)
        bias = build_binary(b, "Reshape", NULL, bias, build_const_ints(b, NULL, 1, &flat));
    return build_binary(b, "BiasAdd", NULL, y, bias);
}

/* [batch, steps, heads, size] <-> [batch, heads, steps, size] */
static struct endpoint swap_heads(struct builder *b, struct endpoint x)
{
    const int32_t order[] = { 0, 2, 1, 3 };

    return build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, 4, order));
}

/* Projects x [batch, steps, features] to heads: [batch, steps, heads, size]. */
static struct endpoint project(struct layer_context *context, const struct layer *layer,
                               const char *name, struct endpoint x, int64_t heads, int64_t size)
{
    struct builder *b = &context->builder;
    int64_t features = endpoint_shape(x)->dims[2];
    struct endpoint kernel = kernel_matrix(context, layer, name, shape_of(features, heads, size),
                                           features, heads * size);

    struct endpoint rows = build_reshape(b, x, x, 2, (const int64_t[]){ SIZE_REST, features });
    struct endpoint y = build_binary(b, "MatMul", NULL, rows, kernel);
    y = add_bias(context, layer, name, shape_of(heads, size), y);
    return build_reshape(b, y, x, 4, (const int64_t[]){ SIZE_OF(0), SIZE_OF(1), heads, size });
}

/* Projects x [batch, T, heads, value_size] to the output [batch, T, output_size]. */
static struct endpoint project_back(struct layer_context *context, const struct layer *layer,
                                    const struct heads *heads, struct endpoint x)
{
    struct builder *b = &context->builder;
    int64_t rows = heads->query * heads->value_size;
    struct endpoint kernel = kernel_matrix(
        context, layer, "attention_output",
        shape_of(heads->query, heads->value_size, heads->output_size), rows, heads->output_size);

    struct endpoint y = build_binary(
        b, "MatMul", NULL, build_reshape(b, x, x, 2, (const int64_t[]){ SIZE_REST, rows }), kernel);
    y = add_bias(context, layer, "attention_output", shape_of(heads->output_size), y);
    return build_reshape(b, y, x, 3,
                         (const int64_t[]){ SIZE_OF(0), SIZE_OF(1), heads->output_size });
}

/* Do the projections and the scores have sizes that kernels can count? */
static bool fits(struct layer_context *context, const struct layer *layer,
                 const struct heads *heads, struct endpoint query, struct endpoint value)
{
    int64_t queries = endpoint_shape(query)->dims[1], keys = endpoint_shape(value)->dims[1];
    const int64_t scores[] = { heads->query, queries, keys },
                  projected[] = { heads->query, heads->key_size, queries > keys ? queries : keys },
                  combined[] = { heads->query, heads->value_size, queries > keys ? queries : keys };

    return layer_check_size(context, layer, "the scores", 3, scores) &&
           layer_check_size(context, layer, "query or key", 3, projected) &&
           layer_check_size(context, layer, "value", 3, combined);
}

/* Describes how an input of another rank than 3 becomes [batch · other axes, steps, features]: the
 * attention axes together are the steps. */
struct folding {
    int32_t order[SHAPE_RANK_MAX]; /* the batch, the other axes, the attention axes, the features */
    int first;                     /* the place of the first attention axis in `order` */
    struct endpoint query;         /* in this order; a null node: nothing was folded */
};

/* The inputs of a call; `key` is `value` unless it is given. */
struct heads_inputs {
    struct endpoint query, value, key;
    struct folding folding;
    struct endpoint mask; /* of the scores: bool [batch or 1, 1, T or 1, S]; a null node: none */
    struct endpoint output_mask;
    bool returns_scores;
};

static struct endpoint given_or(const struct layer_io *io, const char *argument,
                                struct endpoint otherwise)
{
    struct endpoint given = io_tensor(io, argument).value;

    return given.node != NULL ? given : otherwise;
}

/* The mask [batch, T, S], [T, S], or with heads in front, in the rank of the scores. */
static struct endpoint attention_mask(struct layer_context *context, const struct layer *layer,
                                      const struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint mask = io_tensor(io, "attention_mask").value;
    int rank = endpoint_shape(mask)->rank;

    if (mask.node == NULL)
        return mask;
    if (endpoint_dtype(mask) != DT_BOOL)
        mask = build_cast(b, NULL, mask, DT_BOOL);
    if (rank != 3)
        layer_refuse(context, layer,
                     "an attention_mask of shape %s; only [batch, T, S] is implemented",
                     shape_text(endpoint_shape(mask)));
    return mask;
}

/* Keras 3's MultiHeadAttention uses the query's own mask, regardless of query_mask. */
static void read_masks(struct layer_context *context, const struct layer *layer,
                       const struct layer_io *io, struct heads_inputs *out)
{
    struct builder *b = &context->builder;
    struct layer_value query = io_tensor(io, "query"), value = io_tensor(io, "value"),
                       key = io_tensor(io, "key");
    const struct arg_value *window = layer_arg(layer, "sliding_window");
    bool causal = io_flag(context, io, "use_causal_mask"),
         own_query = layer->class == &layer_multi_head_attention && !context->keras2;
    struct endpoint query_mask = own_query ? query.mask : given_or(io, "query_mask", query.mask);
    struct endpoint mask = scores_widen(b, query_mask, 2);

    mask = scores_mask_and(b, mask, scores_widen(b, given_or(io, "value_mask", value.mask), 1));
    mask = scores_mask_and(b, mask, scores_widen(b, given_or(io, "key_mask", key.mask), 1));
    if (causal || !window->is_null)
        mask = scores_mask_and(
            b, mask,
            scores_band_mask(context, layer, query.value, value.value,
                             (struct score_band){ causal, window->is_null ? 0 : window->integer }));
    mask = scores_mask_and(b, mask, attention_mask(context, layer, io));
    out->mask = scores_widen(b, mask, 1);
    out->output_mask = query.mask;
}

/* Reads the argument "attention_axes" for inputs like x; by default all but the batch and the
 * features. Returns false on failure. */
static bool read_folding(struct layer_context *context, const struct layer *layer,
                         struct endpoint x, struct folding *out)
{
    int rank = endpoint_shape(x)->rank, count = rank - 2, at = 1;
    int32_t axes[SHAPE_RANK_MAX];
    bool attended[SHAPE_RANK_MAX] = { false };

    for (int i = 0; i < count; i++)
        axes[i] = i + 1;
    if (!layer_arg(layer, "attention_axes")->is_null)
        count = layer_axes_of(context, layer, "attention_axes", x, axes);
    if (count < 1 || axes[count - 1] == rank - 1) {
        layer_fail(context, layer,
                   "argument 'attention_axes': expected axes between the batch and "
                   "the features of %s",
                   shape_text(endpoint_shape(x)));
        return false;
    }
    for (int i = 0; i < count; i++)
        attended[axes[i]] = true;
    for (int i = 1; i < rank - 1; i++)
        if (!attended[i])
            out->order[at++] = i;
    out->first = at;
    memcpy(out->order + at, axes, (size_t)count * sizeof *axes);
    out->order[rank - 1] = rank - 1;
    return true;
}

static struct endpoint fold(struct layer_context *context, const struct layer *layer,
                            struct folding *folding, struct endpoint x)
{
    struct builder *b = &context->builder;
    int rank = endpoint_shape(x)->rank;
    int64_t sizes[SHAPE_RANK_MAX], steps = 1;

    if (!layer_check_axes(context, layer, x, rank - folding->first,
                          folding->order + folding->first))
        return x;
    for (int i = folding->first; i < rank - 1; i++)
        sizes[i] = endpoint_shape(x)->dims[folding->order[i]];
    if (!layer_check_size(context, layer, "the attention axes", rank - 1 - folding->first,
                          sizes + folding->first))
        return x;
    for (int i = folding->first; i < rank - 1; i++)
        steps *= sizes[i];
    x = build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, rank, folding->order));
    if (folding->query.node == NULL)
        folding->query = x;
    return build_reshape(b, x, x, 3,
                         (const int64_t[]){ SIZE_REST, steps, endpoint_shape(x)->dims[rank - 1] });
}

/* The other way, for y [batch · other sizes, steps, features]. */
static struct endpoint unfold(struct builder *b, const struct folding *folding, struct endpoint y)
{
    int rank = endpoint_shape(folding->query)->rank;
    int64_t sizes[SHAPE_RANK_MAX];
    int32_t back[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++) {
        sizes[i] = i < rank - 1 ? SIZE_OF(i) : endpoint_shape(y)->dims[2];
        back[folding->order[i]] = i;
    }
    y = build_reshape(b, y, folding->query, rank, sizes);
    return build_binary(b, "Transpose", NULL, y, build_const_ints(b, NULL, rank, back));
}

/* Do the inputs fit together along the axes that are not attended to? */
static bool other_axes_fit(const struct folding *folding, const struct shape *x,
                           const struct shape *query)
{
    bool fit = x->rank == query->rank;

    for (int i = 0; fit && i < folding->first; i++)
        fit = may_be_equal(x->dims[folding->order[i]], query->dims[folding->order[i]]);
    return fit;
}

static bool has_masks(struct layer_context *context, const struct layer *layer,
                      const struct layer_io *io)
{
    static const char *const names[] = { "query_mask", "value_mask", "key_mask", "attention_mask" };

    for (size_t i = 0; i < COUNT(names); i++)
        if (io_tensor(io, names[i]).value.node != NULL)
            return true;
    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->inputs[i].mask.node != NULL)
            return true;
    return io_flag(context, io, "use_causal_mask") || !layer_arg(layer, "sliding_window")->is_null;
}

/* Folds the inputs of a MultiHeadAttention unless they are sequences. Returns false on failure. */
static bool fold_inputs(struct layer_context *context, const struct layer *layer,
                        const struct layer_io *io, struct heads_inputs *out)
{
    struct endpoint *inputs[] = { &out->query, &out->value, &out->key };
    const struct shape *query = endpoint_shape(out->query);

    if (query->rank < 3 || !read_folding(context, layer, out->query, &out->folding))
        return query->rank < 3; /* refused later */
    if (query->rank == 3)
        return true;
    if (has_masks(context, layer, io) || io_flag(context, io, "return_attention_scores"))
        layer_refuse(context, layer, "masks and scores of inputs of rank %d", query->rank);
    for (int i = 0; i < 3; i++)
        if (!other_axes_fit(&out->folding, endpoint_shape(*inputs[i]), query))
            layer_fail(context, layer, "query %s and %s do not fit together", shape_text(query),
                       shape_text(endpoint_shape(*inputs[i])));
    for (int i = 0; i < 3 && status_is_ok(context->builder.status); i++)
        *inputs[i] = fold(context, layer, &out->folding, *inputs[i]);
    return status_is_ok(context->builder.status);
}

static bool read_heads_inputs(struct layer_context *context, const struct layer *layer,
                              const struct layer_io *io, struct heads_inputs *out)
{
    *out = (struct heads_inputs){ .query = io_tensor(io, "query").value,
                                  .value = io_tensor(io, "value").value };
    const struct arg_value *window = layer_arg(layer, "sliding_window");

    if (out->query.node == NULL || out->value.node == NULL) {
        layer_fail(context, layer, "a call needs the tensors 'query' and 'value'");
        return false;
    }
    if (!window->is_null && window->integer < 1)
        layer_fail(context, layer, "argument 'sliding_window': got %lld, expected at least 1",
                   (long long)window->integer);
    out->key = given_or(io, "key", out->value);
    if (layer->class == &layer_multi_head_attention && !fold_inputs(context, layer, io, out))
        return false;
    if (!layer_check_open(context, layer, out->query, 3, 2) ||
        !layer_check_open(context, layer, out->value, 3, 2) ||
        !layer_check_open(context, layer, out->key, 3, 2))
        return false;
    if (!may_be_equal(endpoint_shape(out->value)->dims[1], endpoint_shape(out->key)->dims[1])) {
        layer_fail(context, layer, "value %s and key %s have different numbers of steps",
                   shape_text(endpoint_shape(out->value)), shape_text(endpoint_shape(out->key)));
        return false;
    }
    out->returns_scores = io_flag(context, io, "return_attention_scores");
    read_masks(context, layer, io, out);
    return status_is_ok(context->builder.status);
}

/* The steps of x [batch, heads, steps, …] times `factor`, in a list of sizes of build_reshape. */
static int64_t steps_times(struct endpoint x, int64_t factor)
{
    int64_t steps = endpoint_shape(x)->dims[2];

    return steps < 0 ? SIZE_REST : factor * steps;
}

/* softmax(query · keyᵀ / √size) in all heads, [batch, heads, T, S]. Query heads that share a key
 * head are one matrix. A query without an unmasked key gets equal weights or, with dropout or if
 * the scores are returned, weights of 0 (as in Keras). */
static struct endpoint weigh(struct layer_context *context, const struct layer *layer,
                             const struct heads *heads, const struct heads_inputs *in,
                             struct endpoint query, struct endpoint key)
{
    struct builder *b = &context->builder;
    struct endpoint whole = query;
    int64_t shared = heads->query / heads->key_value;
    bool zeroed = in->returns_scores || layer_arg(layer, "dropout")->number > 0;
    /* Keras' dot_product_attention computes scores of 16 bits as floats from here on. */
    bool wide = !zeroed && b->float_dtype != DT_INVALID;
    const double scale = 1 / sqrt((double)heads->key_size);
    enum dtype before = b->float_dtype;

    if (!wide)
        query = build_by_number(b, "Mul", query, scale);
    if (shared > 1)
        query = build_reshape(b, query, query, 4,
                              (const int64_t[]){ SIZE_OF(0), heads->key_value,
                                                 steps_times(whole, shared), heads->key_size });
    struct endpoint scores = scores_product(b, query, key, true);
    if (shared > 1)
        scores = build_reshape(
            b, scores, whole, 4,
            (const int64_t[]){ SIZE_OF(0), heads->query, SIZE_OF(2), steps_times(key, 1) });
    if (wide)
        scores = build_by_number(b, "Mul", layer_widen(context, scores, &before), scale);
    if (in->mask.node != NULL)
        scores = build_select(b, in->mask, scores, build_const_float(b, -1e9f));
    scores = build_unary(b, "Softmax", NULL, scores);
    if (in->mask.node != NULL && zeroed)
        scores = build_select(b, in->mask, scores, build_const_float(b, 0));
    return layer_narrow(context, scores, before);
}

/* weights · value: [batch, T, heads, value_size]. */
static struct endpoint combine(struct builder *b, const struct heads *heads,
                               struct endpoint weights, struct endpoint value)
{
    int64_t shared = heads->query / heads->key_value;
    struct endpoint whole = weights;

    if (shared > 1)
        weights = build_reshape(b, weights, weights, 4,
                                (const int64_t[]){ SIZE_OF(0), heads->key_value,
                                                   steps_times(whole, shared), SIZE_OF(3) });
    struct endpoint y = scores_product(b, weights, value, false);
    if (shared > 1)
        y = build_reshape(
            b, y, whole, 4,
            (const int64_t[]){ SIZE_OF(0), heads->query, SIZE_OF(2), heads->value_size });
    return swap_heads(b, y);
}

static void heads_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct heads_inputs in;
    struct heads heads = { 0 };
    bool multi = layer->class == &layer_multi_head_attention;

    io->outputs[0].value = io->inputs[0].value;
    io->outputs_count = 1;
    if (!(multi ? read_multi_head : read_group_query)(context, layer, &heads) ||
        !read_heads_inputs(context, layer, io, &in))
        return;
    if (!fits(context, layer, &heads, in.query, in.value))
        return;
    if (heads.output_size == 0)
        heads.output_size = endpoint_shape(in.query)->dims[2];
    struct endpoint query = project(context, layer, "query", in.query, heads.query, heads.key_size);
    struct endpoint key = project(context, layer, "key", in.key, heads.key_value, heads.key_size);
    struct endpoint gate = { 0 };
    if (layer_arg(layer, "use_gate")->boolean)
        gate =
            build_unary(b, "Sigmoid", NULL,
                        project(context, layer, "gate", in.query, heads.query, heads.value_size));
    struct endpoint value =
        project(context, layer, "value", in.value, heads.key_value, heads.value_size);
    if (!status_is_ok(b->status))
        return;
    struct endpoint weights =
        weigh(context, layer, &heads, &in, swap_heads(b, query), swap_heads(b, key));
    struct endpoint dropped = scores_drop(context, layer, weights);
    if (!status_is_ok(b->status))
        return;
    struct endpoint y = combine(b, &heads, dropped, swap_heads(b, value));
    if (gate.node != NULL)
        y = build_binary(b, "Mul", NULL, y, gate);
    if (!status_is_ok(b->status))
        return;
    y = project_back(context, layer, &heads, y);
    if (in.folding.query.node != NULL && status_is_ok(b->status))
        y = unfold(b, &in.folding, y);
    io->outputs[0] = (struct layer_value){ .value = y, .mask = in.output_mask };
    io->outputs[1] = (struct layer_value){ .value = weights };
    io->outputs_count = in.returns_scores ? 2 : 1;
}

const struct layer_class layer_multi_head_attention = {
    .name = "MultiHeadAttention",
    .args = multi_head_args,
    .args_count = (int)COUNT(multi_head_args),
    .call = heads_call,
    .call_args = heads_call_args,
    .takes_masks = true,
};
const struct layer_class layer_group_query_attention = {
    .name = "GroupQueryAttention",
    .args = group_query_args,
    .args_count = (int)COUNT(group_query_args),
    .call = heads_call,
    .call_args = heads_call_args,
};
