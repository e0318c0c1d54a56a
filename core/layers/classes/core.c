/* core: layers that are not specific to images. */
#include "layers/classes/image.h"
#include "layers/classes/lora.h"
#include "layers/classes/preprocessing.h"

/* ---- InputLayer: parse.c reads its shape; its placeholder precedes the first layer ---- */

static const struct layer_arg input_args[] = {
    { "sparse", ARG_VALUE, "null" }, /* input.c reads these two */
    { "ragged", ARG_VALUE, "null" },
    { "optional", ARG_NONE, "false" },
};

static struct endpoint input_build(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    (void)context;
    (void)layer;
    return x;
}
ALIKE_LAYER_CLASS(input, "InputLayer", input_args, input_build);

/* ---- Dense ---- */

static const struct layer_arg dense_args[] = {
    { "units", ARG_INT, REQUIRED },
    { "activation", ARG_ACTIVATION, "\"linear\"" },
    { "use_bias", ARG_BOOL, "true" },
    { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },
    { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "kernel_regularizer", ARG_REGULARIZER, "null" },
    { "bias_regularizer", ARG_REGULARIZER, "null" },
    { "activity_regularizer", ARG_REGULARIZER, "null" },
    { "kernel_constraint", ARG_CONSTRAINT, "null" },
    { "bias_constraint", ARG_CONSTRAINT, "null" },
    { "quantization_config", ARG_NONE, "null" },
    LORA_ARGS,
};

struct endpoint build_dense_product(struct layer_context *context, struct endpoint x,
                                    struct endpoint kernel, int64_t units)
{
    struct builder *b = &context->builder;
    int rank = endpoint_shape(x)->rank;
    int64_t back[SHAPE_RANK_MAX];

    if (rank == 2)
        return build_binary(b, "MatMul", NULL, x, kernel);
    for (int i = 0; i < rank; i++)
        back[i] = SIZE_OF(i);
    back[rank - 1] = units;
    const int64_t flat[] = { SIZE_REST, endpoint_shape(x)->dims[rank - 1] };
    struct endpoint y = build_binary(b, "MatMul", NULL, build_reshape(b, x, x, 2, flat), kernel);
    return build_reshape(b, y, x, rank, back);
}

static struct endpoint dense_bias(struct layer_context *context, const struct layer *layer)
{
    return layer_variable(context, layer, "bias", shape_of(layer_arg(layer, "units")->integer));
}

/* Adds the bias and applies the activation. */
static struct endpoint dense_output(struct layer_context *context, const struct layer *layer,
                                    struct endpoint y)
{
    if (layer_arg(layer, "use_bias")->boolean)
        y = build_binary(&context->builder, "BiasAdd", NULL, y, dense_bias(context, layer));
    return activation_build(context, layer_arg(layer, "activation")->activation, y);
}

static struct endpoint dense_build(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    struct shape shape = *endpoint_shape(x);
    int64_t units = layer_arg(layer, "units")->integer;

    if (shape.rank < 2) {
        layer_fail(context, layer, "the input has shape %s, expected at least [batch, features]",
                   shape_text(&shape));
        return x;
    }
    if (!layer_check_open(context, layer, x, shape.rank, shape.rank - 1))
        return x;
    struct endpoint kernel =
        layer_variable(context, layer, "kernel", shape_of(shape.dims[shape.rank - 1], units));
    if (layer_has_lora(layer) && layer_arg(layer, "use_bias")->boolean)
        dense_bias(context, layer); /* Keras lists it before the factors */
    kernel = lora_change(context, layer, "kernel", kernel);
    return dense_output(context, layer, build_dense_product(context, x, kernel, units));
}

/* Reads and updates only the kernel's rows for the ids in a batch. */
static struct endpoint dense_build_lists(struct layer_context *context, const struct layer *layer,
                                         const struct layer_value *input)
{
    const struct layer_lists *lists = input->lists;
    int64_t units = layer_arg(layer, "units")->integer;

    if (lists->layout != TENSOR_SPARSE) {
        layer_refuse(context, layer, "a ragged input; it takes dense and sparse ones");
        return input->value;
    }
    if (layer_has_lora(layer)) {
        layer_refuse(context, layer, "argument 'lora_rank' with a sparse input");
        return input->value;
    }
    struct layer_table kernel =
        layer_table(context, layer, "kernel", shape_of(lists->columns, units), lists->ids);
    return dense_output(
        context, layer,
        lists_product(&context->builder, lists, kernel.places, input->value, kernel.values));
}

const struct layer_class layer_dense = {
    .name = "Dense",
    .args = dense_args,
    .args_count = (int)COUNT(dense_args),
    .build = dense_build,
    .build_lists = dense_build_lists,
    .mask = mask_passed_on,
};

/* ---- Flatten, Reshape ---- */

struct endpoint build_reshape_rows(struct builder *b, struct endpoint x, int count,
                                   const int64_t *dims)
{
    int32_t to[SHAPE_RANK_MAX] = { -1 };

    for (int i = 0; i < count; i++)
        to[i + 1] = (int32_t)dims[i];
    return build_binary(b, "Reshape", NULL, x, build_const_ints(b, NULL, count + 1, to));
}

/* The number of elements of a row; -1: it is open; 0: failure. */
static int64_t row_size(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    int64_t size = 1;

    if (!status_is_ok(context->builder.status))
        return 0;
    for (int i = 1; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return -1;
        size *= shape->dims[i];
    }
    if (size > INT32_MAX) {
        layer_fail(context, layer, "a row of shape %s is too large", shape_text(shape));
        return 0;
    }
    return size;
}

static const struct layer_arg flatten_args[] = {
    DATA_FORMAT,
};

static struct endpoint flatten_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    int64_t size = row_size(context, layer, x);

    if (size == 0 || endpoint_shape(x)->rank == 2)
        return x;
    return build_reshape(&context->builder, x, x, 2,
                         (const int64_t[]){ SIZE_OF(0), size > 0 ? size : SIZE_REST });
}
ALIKE_LAYER_CLASS(flatten, "Flatten", flatten_args, flatten_build);

static const struct layer_arg reshape_args[] = {
    { "target_shape", ARG_INTS, REQUIRED },
};

static struct endpoint reshape_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    const struct arg_value *target = layer_arg(layer, "target_shape");
    int64_t size = row_size(context, layer, x), known = 1, dims[SHAPE_RANK_MAX] = { SIZE_OF(0) };
    int open = 0;

    if (size == 0)
        return x;
    for (int i = 1; i <= target->ints.count; i++) {
        dims[i] = target->ints.values[i - 1];
        if (dims[i] >= 0 && known <= INT32_MAX)
            known *= dims[i];
        else if (open == 0)
            open = i;
        else
            known = 0; /* a second -1 */
    }
    if (size < 0 && (open == 0 || known == 0 || known > INT32_MAX)) {
        layer_fail(context, layer,
                   "the input has shape %s, whose rows differ in size; expected -1 for one "
                   "dimension of target_shape",
                   shape_text(endpoint_shape(x)));
        return x;
    }
    if (size > 0 && open > 0 && known > 0 && size % known == 0)
        known *= dims[open] = size / known;
    if (size > 0 && known != size) {
        layer_fail(context, layer, "target_shape has %lld elements where the input %s has %lld",
                   (long long)known, shape_text(endpoint_shape(x)), (long long)size);
        return x;
    }
    if (size < 0)
        dims[open] = SIZE_REST;
    return build_reshape(&context->builder, x, x, target->ints.count + 1, dims);
}
ALIKE_LAYER_CLASS(reshape, "Reshape", reshape_args, reshape_build);

/* ---- Permute, RepeatVector ---- */

static const struct layer_arg permute_args[] = {
    { "dims", ARG_INTS, REQUIRED }, /* dimension 1 is the first one after the batch */
};

static struct endpoint permute_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct arg_value *dims = layer_arg(layer, "dims");
    int rank = endpoint_shape(x)->rank;
    int32_t order[SHAPE_RANK_MAX] = { 0 };
    bool seen[SHAPE_RANK_MAX] = { true };

    if (!layer_check_open(context, layer, x, dims->ints.count + 1, rank))
        return x;
    for (int i = 1; i < rank; i++) {
        int64_t from = dims->ints.values[i - 1];
        if (from < 1 || from >= rank || seen[from]) {
            layer_fail(context, layer, "argument 'dims': expected each of 1 to %d once", rank - 1);
            return x;
        }
        seen[from] = true;
        order[i] = (int32_t)from;
    }
    return build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, rank, order));
}
ALIKE_LAYER_CLASS(permute, "Permute", permute_args, permute_build);

static const struct layer_arg repeat_vector_args[] = {
    { "n", ARG_INT, REQUIRED },
};

static struct endpoint repeat_vector_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    struct builder *b = &context->builder;
    const int32_t times[] = { 1, (int32_t)layer_arg(layer, "n")->integer, 1 };

    if (!layer_check_open(context, layer, x, 2, 2))
        return x;
    x = build_expand_dims(b, x, 1);
    return build_binary(b, "Tile", NULL, x, build_const_ints(b, NULL, 3, times));
}
ALIKE_LAYER_CLASS(repeat_vector, "RepeatVector", repeat_vector_args, repeat_vector_build);

/* ---- Identity, ActivityRegularization ---- */

static struct endpoint identity_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    (void)context;
    (void)layer;
    return x;
}
const struct layer_class layer_identity = {
    .name = "Identity", .inputs = LAYER_TAKES_ALIKE, .build = identity_build, .mask = mask_passed_on
};

static const struct layer_arg activity_args[] = {
    { "l1", ARG_NUMBER, "0.0" },
    { "l2", ARG_NUMBER, "0.0" },
    { "activity_regularizer", ARG_VALUE, "null" }, /* the same numbers again */
};

static struct endpoint activity_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    const struct regularizer regularizer = { .l1 = layer_arg(layer, "l1")->number,
                                             .l2 = layer_arg(layer, "l2")->number };

    layer_penalise_activity(context, layer, &regularizer, x);
    return x;
}
MASKED_LAYER_CLASS(activity_regularization, "ActivityRegularization", activity_args,
                   activity_build);

/* ---- Rescaling ---- */

static const struct layer_arg rescaling_args[] = {
    { "scale", ARG_VALUE, REQUIRED },
    { "offset", ARG_VALUE, "0.0" },
};

/* Reads an argument that is a number, or a list of one for each channel. */
static bool read_factors(struct layer_context *context, const struct layer *layer, const char *name,
                         const struct shape *x, struct tensor *out)
{
    if (!layer_numbers(context, layer, name, out))
        return false;
    if (out->shape.rank == 0 ||
        (out->shape.rank == 1 && (out->size == 1 || out->size == x->dims[x->rank - 1])))
        return true;
    layer_fail(context, layer, "argument '%s' has shape %s, which does not fit %s", name,
               shape_text(&out->shape), shape_text(x));
    return false;
}

static struct endpoint rescaling_build(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x)
{
    struct builder *b = &context->builder;
    struct tensor scale, offset;

    if (!status_is_ok(b->status) ||
        !read_factors(context, layer, "scale", endpoint_shape(x), &scale) ||
        !read_factors(context, layer, "offset", endpoint_shape(x), &offset))
        return x;
    x = build_binary(b, "Mul", NULL, x, build_const(b, NULL, &scale));
    if (offset.shape.rank == 0 && tensor_floats(&offset)[0] == 0)
        return x;
    return build_binary(b, "AddV2", NULL, x, build_const(b, NULL, &offset));
}
MASKED_LAYER_CLASS(rescaling, "Rescaling", rescaling_args, rescaling_build);
