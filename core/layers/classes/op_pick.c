/* op_pick: operations that pick elements by places, or find places: take, sort, the largest. */
#include "layers/classes/op.h"

#include <math.h>

#define AXIS                            \
    {                                   \
        "axis", ARG_NULL_OR_INT, "null" \
    }
#define LAST_AXIS                     \
    {                                 \
        "axis", ARG_NULL_OR_INT, "-1" \
    }

/* ---- take ---- */

static const struct layer_arg take_args[] = { AXIS };
static const char *const x_indices[] = { "x", "indices", NULL };

/* Places below 0 count from the end. `size`: of the axis, an int32 scalar. */
static struct endpoint from_front(struct layer_context *context, struct endpoint places,
                                  struct endpoint size)
{
    struct builder *b = &context->builder;

    size = cast_to(context, size, endpoint_dtype(places));
    struct endpoint zero = op_number_like(context, places, 0);
    return build_select(b, build_binary(b, "Less", NULL, places, zero),
                        build_binary(b, "AddV2", NULL, places, size), places);
}

static struct endpoint pick(struct layer_context *context, struct endpoint x,
                            struct endpoint places, int axis, int batch_dims)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { x, from_front(context, places, build_size(b, x, axis)),
                                       build_const_int(b, axis) };

    return build(b, "GatherV2", NULL, 3, inputs,
                 (const struct attr[]){ attr_int("batch_dims", batch_dims), ATTR_END });
}

/* Constant places, int32. Returns false if the argument is none. */
static bool constant_places(struct layer_context *context, const struct layer_io *io,
                            struct tensor *numbers, struct endpoint *out)
{
    if (!op_numbers(context, io, "indices", numbers))
        return false;
    *out = cast_to(context, build_const(&context->builder, NULL, numbers), DT_INT32);
    return true;
}

/* Are these integers, as places are? */
static bool check_places(struct layer_context *context, const struct layer *layer,
                         struct endpoint places)
{
    enum dtype dtype = endpoint_dtype(places);

    if (dtype == DT_INT32 || dtype == DT_INT64)
        return true;
    layer_fail(context, layer, "argument 'indices' is %s, expected integers", dtype_name(dtype));
    return false;
}

/* Constant places of a tensor, or a tensor of places in a constant table. */
static void take_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct endpoint x = io_tensor(io, "x").value, places = io_tensor(io, "indices").value;
    const struct arg_value *axis = layer_arg(layer, "axis");
    struct tensor numbers;

    if (x.node == NULL) {
        if (!op_table(context, layer, io, "x", &x))
            return;
        if (axis->is_null || axis->integer != 0 || endpoint_shape(x)->rank < 1)
            layer_fail(context, layer, "places in a table of numbers: expected axis 0");
        else if (check_places(context, layer, places))
            op_give(io, pick(context, x, places, 0, 0));
        return;
    }
    if (places.node != NULL || !constant_places(context, io, &numbers, &places)) {
        layer_fail(context, layer,
                   "argument 'indices' is a tensor, so that each row would get the places of all "
                   "rows: take_along_axis, or a tensor of places in a table of numbers, keep the "
                   "rows apart");
        return;
    }
    int rank = endpoint_shape(x)->rank, at = layer_one_axis(context, layer, rank);
    if (at > 0 && rank - 1 + numbers.shape.rank > SHAPE_RANK_MAX)
        layer_fail(context, layer, "an output of rank %d, at most %d",
                   rank - 1 + numbers.shape.rank, SHAPE_RANK_MAX);
    else if (at > 0)
        op_give(io, pick(context, x, places, at, 0));
}
OP_ARGS_CLASS(take, "Take", take_args, x_indices, take_call);

/* The places as [batch, …, n, 1, …] or, if the dimensions after the axis are those of x, moved so
 * that the axis is the last one. */
static void take_along_axis_call(struct layer_context *context, const struct layer *layer,
                                 struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io_tensor(io, "x").value, places = io_tensor(io, "indices").value;

    if (x.node == NULL || places.node == NULL) {
        layer_refuse(context, layer, "'x' and 'indices' that are not both tensors");
        return;
    }
    const struct shape *shape = endpoint_shape(x), *own = endpoint_shape(places);
    int rank = shape->rank, axis = layer_one_axis(context, layer, rank);
    int64_t ones[SHAPE_RANK_MAX];
    if (axis == 0 || !check_places(context, layer, places) ||
        !layer_check_open(context, layer, places, rank, rank))
        return;
    bool before = true, alike = true, single = true;
    for (int i = 1; i < rank; i++) {
        before = before && (i >= axis || own->dims[i] == shape->dims[i]);
        alike = alike && (i == axis || own->dims[i] == shape->dims[i]);
        if (i > axis) {
            single = single && own->dims[i] == 1;
            ones[i - axis - 1] = i;
        }
    }
    if (!alike && !(before && single)) {
        layer_fail(context, layer,
                   "'indices' of shape %s do not fit x of shape %s: but for the "
                   "axis, expected equal sizes, or 1 after the axis",
                   shape_text(own), shape_text(shape));
        return;
    }
    if (single && axis < rank - 1) {
        places = build(
            b, "Squeeze", NULL, 1, &places,
            (const struct attr[]){ attr_ints(b, "squeeze_dims", rank - 1 - axis, ones), ATTR_END });
        op_give(io, pick(context, x, places, axis, axis));
        return;
    }
    x = build_swap_last(b, x, axis);
    x = pick(context, x, build_swap_last(b, places, axis), rank - 1, rank - 1);
    op_give(io, build_swap_last(b, x, axis));
}
OP_ARGS_CLASS(take_along_axis, "TakeAlongAxis", take_args, x_indices, take_along_axis_call);

/* ---- sorting ---- */

/* x in the opposite order. Of integers -1 - x, which cannot overflow. */
static struct endpoint opposite(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    return dtype_is_floating(endpoint_dtype(x))
               ? build_unary(b, "Neg", NULL, x)
               : build_binary(b, "Sub", NULL, op_number_like(context, x, -1), x);
}

/* The `k` largest elements along the last axis: values and places. */
static struct node *top(struct layer_context *context, struct endpoint x, struct endpoint k)
{
    const struct endpoint inputs[] = { x, k };

    return build_node(&context->builder, "TopKV2", NULL, 2, inputs, 0, NULL, NULL);
}

static const struct layer_arg sort_args[] = { LAST_AXIS };

/* Numbers along the last axis in rising order: output 0 values, 1 places. */
static void sort_numbers(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io, int output)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;

    int axis = layer_one_axis(context, layer, endpoint_shape(x)->rank);
    if (axis == 0)
        return;
    if (endpoint_dtype(x) == DT_STRING || endpoint_dtype(x) == DT_BOOL) {
        layer_fail(context, layer, "the input is %s; expected numbers",
                   dtype_name(endpoint_dtype(x)));
        return;
    }
    x = opposite(context, build_swap_last(b, x, axis));
    struct node *sorted = top(
        context, x, build_size(b, x, status_is_ok(b->status) ? endpoint_shape(x)->rank - 1 : 0));
    x = (struct endpoint){ sorted, output };
    if (output == 0)
        x = opposite(context, x);
    op_give(io, build_swap_last(b, x, axis));
}

static void sort_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    sort_numbers(context, layer, io, 0);
}
OP_ARGS_CLASS(sort, "Sort", sort_args, op_x, sort_call);

static void argsort_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    sort_numbers(context, layer, io, 1);
}
OP_ARGS_CLASS(argsort, "Argsort", sort_args, op_x, argsort_call);

static const struct layer_arg top_k_args[] = {
    { "k", ARG_INT, REQUIRED },
    { "sorted", ARG_BOOL, "true" },
};

static void top_k_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct shape *shape = endpoint_shape(x);
    int64_t k = layer_arg(layer, "k")->integer;

    if (shape->rank < 2 || endpoint_dtype(x) == DT_STRING || endpoint_dtype(x) == DT_BOOL ||
        (shape->dims[shape->rank - 1] >= 0 && k > shape->dims[shape->rank - 1])) {
        layer_fail(context, layer, "the %lld largest of %s %s", (long long)k,
                   dtype_name(endpoint_dtype(x)), shape_text(shape));
        return;
    }
    struct node *node = top(context, x, build_const_int(b, (int32_t)k));
    op_give(io, (struct endpoint){ node, 0 });
    io->outputs[1] = (struct layer_value){ .value = { node, 1 } };
    io->outputs_count = 2;
}
OP_ARGS_CLASS(top_k, "TopK", top_k_args, op_x, top_k_call);

/* ---- the place of the largest ---- */

static const struct layer_arg place_args[] = {
    AXIS,
    { "keepdims", ARG_BOOL, "false" },
};

/* ArgMax or ArgMin. With `skips`, NaN elements count as `least`, and the index of a row of NaN
 * alone is -1. */
static void place_of(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     const char *op, bool skips, double least)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;

    int axis = layer_one_axis(context, layer, endpoint_shape(x)->rank);
    if (axis == 0)
        return;
    if (!op_check_numbers(context, layer, x))
        return;
    if (endpoint_dtype(x) == DT_BOOL)
        x = cast_to(context, x, DT_INT32);
    struct endpoint is_nan = { 0 };
    if (skips && dtype_is_floating(endpoint_dtype(x))) {
        is_nan = build_unary(b, "IsNan", NULL, x);
        x = build_select(b, is_nan, build_const_float(b, (float)least), x);
    }
    const struct endpoint inputs[] = { x, build_const_int(b, axis) };
    struct endpoint place =
        build(b, op, NULL, 2, inputs,
              (const struct attr[]){ attr_type("output_type", DT_INT32), ATTR_END });
    if (is_nan.node != NULL) {
        const int32_t axes[] = { axis };
        place = build_select(b, op_over_axes(b, "All", is_nan, 1, axes, false),
                             build_const_int(b, -1), place);
    }
    if (layer_arg(layer, "keepdims")->boolean)
        place = build_expand_dims(b, place, axis);
    op_give(io, place);
}

#define PLACE_OF(noun, name, op, skips, least)                                        \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        place_of(context, layer, io, op, skips, least);                               \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, place_args, op_x, noun##_call)
PLACE_OF(argmax, "Argmax", "ArgMax", false, 0);
PLACE_OF(argmin, "Argmin", "ArgMin", false, 0);
PLACE_OF(nanargmax, "Nanargmax", "ArgMax", true, -INFINITY);
PLACE_OF(nanargmin, "Nanargmin", "ArgMin", true, INFINITY);

/* ---- one of n ---- */

static const char *const hot_inputs[] = { "inputs", NULL };
static const struct layer_arg one_hot_args[] = {
    { "num_classes", ARG_INT, REQUIRED },
    LAST_AXIS,
    { "dtype", ARG_VALUE, "null" },
    { "sparse", ARG_NONE, "false" },
};

/* A null node: failure. */
static struct endpoint one_hot(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int rank = endpoint_shape(x)->rank;

    if (endpoint_dtype(x) == DT_STRING || rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "the input is %s %s; expected integers of rank %d or less",
                   dtype_name(endpoint_dtype(x)), shape_text(endpoint_shape(x)),
                   SHAPE_RANK_MAX - 1);
        return (struct endpoint){ 0 };
    }
    int axis = layer_one_axis(context, layer, rank + 1);
    if (axis == 0)
        return (struct endpoint){ 0 };
    int32_t classes = (int32_t)layer_arg(layer, "num_classes")->integer;
    const struct endpoint inputs[] = { cast_to(context, x, DT_INT64), build_const_int(b, classes),
                                       build_const_float(b, 1), build_const_float(b, 0) };
    return build(b, "OneHot", NULL, 4, inputs,
                 (const struct attr[]){ attr_int("axis", axis), ATTR_END });
}

static void one_hot_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct endpoint y = one_hot(context, layer, io);

    if (y.node != NULL)
        op_give(io, op_in_dtype(context, layer, y));
}
OP_DTYPE_CLASS(one_hot, "OneHot", one_hot_args, op_x, one_hot_call);

/* Sets 1 for each class that occurs along dimension 1. */
static void multi_hot_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    const int32_t dimension = 1;

    if (endpoint_shape(io->inputs[0].value)->rank < 2) {
        layer_fail(context, layer, "one number in each row; expected several");
        return;
    }
    struct endpoint y = one_hot(context, layer, io);
    if (y.node == NULL)
        return;
    y = op_over_axes(&context->builder, "Max", y, 1, &dimension, false);
    op_give(io, op_in_dtype(context, layer, y));
}
OP_DTYPE_CLASS(multi_hot, "MultiHot", one_hot_args, hot_inputs, multi_hot_call);

/* ---- places in a constant list ---- */

/* Compares each element of x with each of the constants of a call argument, by this op, along a new
 * last dimension. A null node: failure. */
static struct endpoint against_each(struct layer_context *context, const struct layer *layer,
                                    const struct layer_io *io, struct endpoint x,
                                    const char *argument, const char *comparison)
{
    struct builder *b = &context->builder;
    const int32_t minus_one = -1;
    struct endpoint list;

    if (io_tensor(io, argument).value.node != NULL) {
        layer_fail(context, layer, "argument '%s' is a tensor, whose rows all rows would share",
                   argument);
        return (struct endpoint){ 0 };
    }
    if (endpoint_dtype(x) == DT_STRING || endpoint_shape(x)->rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "the input is %s %s; expected numbers of rank %d or less",
                   dtype_name(endpoint_dtype(x)), shape_text(endpoint_shape(x)),
                   SHAPE_RANK_MAX - 1);
        return (struct endpoint){ 0 };
    }
    if (!op_table(context, layer, io, argument, &list))
        return (struct endpoint){ 0 };
    bool real = dtype_is_floating(endpoint_dtype(x)) || dtype_is_floating(endpoint_dtype(list));
    enum dtype dtype = real ? DT_FLOAT : endpoint_dtype(x) == DT_INT64 ? DT_INT64 : DT_INT32;
    list = build_binary(b, "Reshape", NULL, cast_to(context, list, dtype),
                        build_const_ints(b, NULL, 1, &minus_one));
    x = build_expand_dims(b, cast_to(context, x, dtype), -1);
    return build_binary(b, comparison, NULL, x, list);
}

/* Gives the number of constants that are smaller than each element of x, or not larger. As in
 * TensorFlow, no constant is smaller than NaN, and none is larger. */
static void give_rank(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                      struct endpoint x, const char *argument, bool not_larger)
{
    struct builder *b = &context->builder;
    const int32_t last = -1;

    x = against_each(context, layer, io, x, argument, not_larger ? "Less" : "Greater");
    if (x.node == NULL)
        return;
    if (not_larger)
        x = build_unary(b, "LogicalNot", NULL, x);
    op_give(io, op_over_axes(b, "Sum", cast_to(context, x, DT_INT32), 1, &last, false));
}

static const struct layer_arg isin_args[] = {
    { "assume_unique", ARG_BOOL, "false" },
    { "invert", ARG_BOOL, "false" },
};

/* Tests each element for membership in the list. */
static void isin_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    const int32_t last = -1;
    struct endpoint x = io_tensor(io, "x1").value;

    if (x.node == NULL) {
        layer_refuse(context, layer, "'x1' that is no tensor");
        return;
    }
    x = against_each(context, layer, io, x, "x2", "Equal");
    if (x.node == NULL)
        return;
    x = op_over_axes(b, "Any", x, 1, &last, false);
    op_give(io, layer_arg(layer, "invert")->boolean ? build_unary(b, "LogicalNot", NULL, x) : x);
}
OP_ARGS_CLASS(isin, "IsIn", isin_args, op_x1_x2, isin_call);

static const struct layer_arg search_args[] = {
    { "side", ARG_CHOICE, "left right" },
};
static const char *const search_inputs[] = { "sorted_sequence", "values", NULL };

/* For each value, the number of elements of a sorted list that are smaller (side "left"), or not
 * larger. */
static void search_sorted_call(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    bool left = strcmp(layer_arg(layer, "side")->text, "left") == 0;
    struct endpoint x = io_tensor(io, "values").value;

    if (x.node == NULL) {
        layer_fail(context, layer, "argument 'values' of a call is no tensor");
        return;
    }
    give_rank(context, layer, io, x, "sorted_sequence", !left);
}
OP_ARGS_CLASS(search_sorted, "SearchSorted", search_args, search_inputs, search_sorted_call);

static const char *const digitize_inputs[] = { "x", "bins", NULL };

/* For each element, the number of boundaries that are not larger. */
static void digitize_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    give_rank(context, layer, io, io->inputs[0].value, "bins", true);
}
OP_CLASS(digitize, "Digitize", digitize_inputs, digitize_call);
