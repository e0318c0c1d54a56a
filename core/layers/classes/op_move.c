/* op_move: operations that turn, shift, repeat, pad or mask elements along axes after the batch. */
#include "layers/classes/op.h"

#include <float.h>
#include <stdlib.h>

static const struct layer_arg axis_args[] = {
    { "axis", ARG_VALUE, "null" },
};

/* The axes of the argument "axis". Returns their number; 0: failure. */
static int read_axes(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     int32_t axes[SHAPE_RANK_MAX])
{
    if (!json_value_is_null(layer_arg(layer, "axis")->value))
        return layer_axes(context, layer, io->inputs[0].value, axes);
    layer_fail(context, layer, "argument 'axis' is null: it would move rows of the batch as well");
    return 0;
}

/* The same for an operation with one axis. 0: failure. */
static int read_axis(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    int32_t axes[SHAPE_RANK_MAX];

    int count = read_axes(context, layer, io, axes);
    if (count > 1)
        layer_fail(context, layer, "argument 'axis' has %d axes, expected 1", count);
    return count == 1 ? axes[0] : 0;
}

static void flip_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    int32_t axes[SHAPE_RANK_MAX];

    int count = read_axes(context, layer, io, axes);
    if (count > 0)
        op_give(io, build_binary(b, "ReverseV2", NULL, io->inputs[0].value,
                                 build_const_ints(b, NULL, count, axes)));
}
OP_ARGS_CLASS(flip, "Flip", axis_args, op_x, flip_call);

static const struct layer_arg roll_args[] = {
    { "shift", ARG_VALUE, REQUIRED },
    { "axis", ARG_VALUE, "null" },
};

/* The integers of an argument, one or a list of them. Returns their number; 0: failure. */
static int read_integers(struct layer_context *context, const struct layer *layer, const char *name,
                         int64_t out[SHAPE_RANK_MAX])
{
    const struct json_value *value = layer_arg(layer, name)->value;
    bool list = value->kind == JSON_VALUE_LIST;
    int count = list ? value->count : 1;

    for (int i = 0; i < count && count <= SHAPE_RANK_MAX; i++) {
        const struct json_value *one = list ? &value->members[i] : value;
        if (one->kind != JSON_VALUE_INT || llabs(one->integer) > INT32_MAX)
            count = 0;
        else
            out[i] = one->integer;
    }
    if (count == 0 || count > SHAPE_RANK_MAX) {
        layer_fail(context, layer, "argument '%s': expected an integer of 32 bits, or some", name);
        return 0;
    }
    return count;
}

/* Each axis by its own shift. */
static void roll_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int64_t shifts[SHAPE_RANK_MAX], axes[SHAPE_RANK_MAX];
    int32_t by[SHAPE_RANK_MAX], along[SHAPE_RANK_MAX], checked[SHAPE_RANK_MAX];
    int shifts_count = read_integers(context, layer, "shift", shifts);

    if (shifts_count == 0 || read_axes(context, layer, io, checked) == 0)
        return;
    int count = read_integers(context, layer, "axis", axes);
    if (count != shifts_count) {
        layer_fail(context, layer, "%d shifts along %d axes", shifts_count, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        by[i] = (int32_t)shifts[i];
        along[i] = layer_axis(context, layer, axes[i], endpoint_shape(x)->rank);
    }
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, count, by),
                                       build_const_ints(b, NULL, count, along) };
    op_give(io, build(b, "Roll", NULL, 3, inputs, NULL));
}
OP_ARGS_CLASS(roll, "Roll", roll_args, op_x, roll_call);

static const struct layer_arg repeat_args[] = {
    { "repeats", ARG_INT, REQUIRED },
    { "axis", ARG_VALUE, "null" },
};

/* Tiles a new dimension after the axis, and joins both. */
static void repeat_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int64_t times = layer_arg(layer, "repeats")->integer, sizes[SHAPE_RANK_MAX];
    int32_t tiles[SHAPE_RANK_MAX];
    int axis = read_axis(context, layer, io), rank = endpoint_shape(x)->rank;

    if (axis == 0)
        return;
    if (rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "an input of rank %d, at most %d", rank, SHAPE_RANK_MAX - 1);
        return;
    }
    for (int i = 0; i < rank + 1; i++)
        tiles[i] = i == axis + 1 ? (int32_t)times : 1;
    for (int i = 0; i < rank; i++)
        sizes[i] = i == axis ? SIZE_REST : SIZE_OF(i);
    if (endpoint_shape(x)->dims[axis] > 0)
        sizes[axis] = endpoint_shape(x)->dims[axis] * times;
    if (!layer_check_size(context, layer, "the output", 1, &sizes[axis]))
        return;
    struct endpoint y = build_expand_dims(b, x, axis + 1);
    y = build_binary(b, "Tile", NULL, y, build_const_ints(b, NULL, rank + 1, tiles));
    op_give(io, build_reshape(b, y, x, rank, sizes));
}
OP_ARGS_CLASS(repeat, "Repeat", repeat_args, op_x, repeat_call);

/* ---- padding ---- */

static const struct layer_arg pad_args[] = {
    { "pad_width", ARG_VALUE, REQUIRED },
    { "mode", ARG_CHOICE, "constant reflect symmetric" },
};
static const char *const pad_inputs[] = { "x", "constant_values", NULL };

/* Reads [[0, 0], [before, after], …], a pair for each dimension. */
static bool read_pads(const struct json_value *value, int rank, int32_t pads[][2])
{
    if (value->kind != JSON_VALUE_LIST || value->count != rank)
        return false;
    for (int i = 0; i < rank; i++) {
        const struct json_value *pair = list_items(&value->members[i]);
        if (pair->kind != JSON_VALUE_LIST || pair->count != 2)
            return false;
        for (int k = 0; k < 2; k++) {
            const struct json_value *size = &pair->members[k];
            if (size->kind != JSON_VALUE_INT || size->integer < 0 ||
                size->integer > (i == 0 ? 0 : INT32_MAX))
                return false;
            pads[i][k] = (int32_t)size->integer;
        }
    }
    return true;
}

static void pad_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const char *mode = layer_arg(layer, "mode")->text;
    int rank = endpoint_shape(x)->rank;
    int32_t pads[SHAPE_RANK_MAX][2];
    double fill = 0;

    if (!read_pads(list_items(layer_arg(layer, "pad_width")->value), rank, pads)) {
        layer_fail(context, layer,
                   "argument 'pad_width': expected %d pairs of sizes from 0 on, [0, 0] for the "
                   "batch",
                   rank);
        return;
    }
    if (!op_number(context, layer, io, "constant_values", &fill))
        return;
    const struct shape shape = shape_of(rank, 2);
    const struct tensor paddings = tensor_borrow(DT_INT32, &shape, pads);
    const struct endpoint inputs[] = { x, build_const(b, NULL, &paddings),
                                       op_number_like(context, x, fill) };
    const struct attr mirror[] = {
        attr_text("mode", strcmp(mode, "reflect") == 0 ? "REFLECT" : "SYMMETRIC"), ATTR_END
    };
    op_give(io, strcmp(mode, "constant") == 0 ? build(b, "PadV2", NULL, 3, inputs, NULL)
                                              : build(b, "MirrorPad", NULL, 2, inputs, mirror));
}
OP_ARGS_CLASS(pad, "Pad", pad_args, pad_inputs, pad_call);

/* ---- sums and differences along an axis ---- */

static const struct layer_arg running_args[] = {
    { "axis", ARG_VALUE, "null" },
    { "dtype", ARG_NONE, "null" },
};

/* nan: stands for NaN elements, if they are passed over. */
static void running(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                    const char *op, bool passes_nan, double nan)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int axis = read_axis(context, layer, io);

    if (axis == 0)
        return;
    if (endpoint_dtype(x) == DT_BOOL)
        x = cast_to(context, x, DT_INT32);
    if (passes_nan && dtype_is_floating(endpoint_dtype(x)))
        x = op_finite(b, x, nan, -(double)FLT_MAX, (double)FLT_MAX);
    op_give(io, build_binary(b, op, NULL, x, build_const_int(b, axis)));
}

#define RUNNING(noun, name, op, passes_nan, nan)                                      \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        running(context, layer, io, op, passes_nan, nan);                             \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, running_args, op_x, noun##_call)
RUNNING(cumsum, "Cumsum", "Cumsum", false, 0);
RUNNING(cumprod, "Cumprod", "Cumprod", false, 0);
/* As in Keras, infinities become the largest finite numbers. */
RUNNING(nancumsum, "Nancumsum", "Cumsum", true, 0);
RUNNING(nancumprod, "Nancumprod", "Cumprod", true, 1);

/* x without its first (skip 1) or last (skip -1) element along the axis. */
static struct endpoint without_end(struct builder *b, struct endpoint x, int axis, int skip)
{
    int rank = status_is_ok(b->status) ? endpoint_shape(x)->rank : 0, whole = (1 << rank) - 1;
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, end[SHAPE_RANK_MAX] = { 0 }, step[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        step[i] = 1;
    (skip > 0 ? begin : end)[axis] = skip;
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, rank, begin),
                                       build_const_ints(b, NULL, rank, end),
                                       build_const_ints(b, NULL, rank, step) };
    return build(b, "StridedSlice", NULL, 4, inputs,
                 (const struct attr[]){
                     attr_int("begin_mask", skip > 0 ? whole & ~(1 << axis) : whole),
                     attr_int("end_mask", skip < 0 ? whole & ~(1 << axis) : whole),
                     ATTR_END,
                 });
}

static const struct layer_arg diff_args[] = {
    { "n", ARG_INT, "1" },
    { "axis", ARG_VALUE, "-1" },
};

static void diff_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int64_t times = layer_arg(layer, "n")->integer;
    int axis = read_axis(context, layer, io);

    if (axis == 0)
        return;
    int64_t size = endpoint_shape(x)->dims[axis];
    if (times > 16 || (size >= 0 && times >= size)) {
        layer_fail(context, layer,
                   "argument 'n': got %lld for %lld elements; expected less, and at most 16",
                   (long long)times, (long long)size);
        return;
    }
    for (int64_t i = 0; i < times; i++)
        x = build_binary(b, endpoint_dtype(x) == DT_BOOL ? "NotEqual" : "Sub", NULL,
                         without_end(b, x, axis, 1), without_end(b, x, axis, -1));
    op_give(io, x);
}
OP_ARGS_CLASS(diff, "Diff", diff_args, op_x, diff_call);

/* ---- triangles of the last two dimensions ---- */

static const struct layer_arg triangle_args[] = {
    { "k", ARG_NULL_OR_INT, "0" },
};

struct endpoint op_lower_triangle(struct builder *b, struct endpoint x, int32_t k)
{
    int rank = status_is_ok(b->status) ? endpoint_shape(x)->rank : 2;
    struct endpoint places[2];

    for (int i = 0; i < 2; i++)
        places[i] = build_range(b, build_size(b, x, rank - 2 + i));
    struct endpoint rows = build_expand_dims(b, places[0], 1);
    rows = build_binary(b, "AddV2", NULL, rows, build_const_int(b, k));
    return build_binary(b, "LessEqual", NULL, places[1], rows);
}

static void triangle(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     bool lower)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *k = layer_arg(layer, "k");

    if (endpoint_shape(x)->rank < 3 || k->is_null || llabs(k->integer) > INT32_MAX / 2) {
        layer_fail(context, layer,
                   "expected matrices [batch, …, rows, columns] and an integer k, got %s",
                   shape_text(endpoint_shape(x)));
        return;
    }
    struct endpoint zero = op_number_like(context, x, 0);
    struct endpoint mask = op_lower_triangle(b, x, (int32_t)k->integer - !lower);
    op_give(io, lower ? build_select(b, mask, x, zero) : build_select(b, mask, zero, x));
}

static void tril_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    triangle(context, layer, io, true);
}
OP_ARGS_CLASS(tril, "Tril", triangle_args, op_x, tril_call);

static void triu_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    triangle(context, layer, io, false);
}
OP_ARGS_CLASS(triu, "Triu", triangle_args, op_x, triu_call);
