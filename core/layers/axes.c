/* axes: the arguments of a layer that name dimensions of its input. */
#include "layers/sizes.h"

#include <stdlib.h>

int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at >= 1 && at < rank)
        return (int)at;
    if (rank < 2)
        layer_fail(context, layer, "axis %lld of an input that has only the batch",
                   (long long)axis);
    else
        layer_fail(context, layer,
                   "axis %lld of an input of rank %d; expected 1 to %d, or -1 to %d",
                   (long long)axis, rank, rank - 1, 1 - rank);
    return 0;
}

int layer_one_axis(struct layer_context *context, const struct layer *layer, int rank)
{
    const struct arg_value *axis = layer_arg(layer, "axis");

    if (!axis->is_null)
        return layer_axis(context, layer, axis->integer, rank);
    layer_fail(context, layer, AXIS_IS_NULL);
    return 0;
}

static int compare_axes(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX])
{
    return layer_axes_of(context, layer, "axis", x, axes);
}

int layer_axes_of(struct layer_context *context, const struct layer *layer, const char *name,
                  struct endpoint x, int32_t axes[SHAPE_RANK_MAX])
{
    const struct json_value *value = layer_arg(layer, name)->value;
    bool list = value->kind == JSON_VALUE_LIST;
    int count = list ? value->count : 1, rank = endpoint_shape(x)->rank;

    if (!status_is_ok(context->builder.status))
        return 0;
    if (count < 1 || count >= rank) {
        layer_fail(context, layer, "argument '%s': %d axes of an input of rank %d", name, count,
                   rank);
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const struct json_value *axis = list ? &value->members[i] : value;
        if (axis->kind != JSON_VALUE_INT) {
            layer_fail(context, layer, "argument '%s' wants an integer or a list of integers",
                       name);
            return 0;
        }
        axes[i] = layer_axis(context, layer, axis->integer, rank);
        if (axes[i] == 0)
            return 0;
    }
    qsort(axes, (size_t)count, sizeof *axes, compare_axes);
    for (int i = 1; i < count; i++)
        if (axes[i] == axes[i - 1]) {
            layer_fail(context, layer, "argument '%s' has axis %d twice", name, axes[i]);
            return 0;
        }
    return count;
}

bool layer_is_channels_first(const struct layer *layer)
{
    const struct arg_list list = { layer->class->args, layer->class->args_count, NULL };
    const struct arg_value *format = args_find(&list, layer->args, "data_format");

    return format != NULL && strcmp(format->text, "channels_first") == 0;
}

struct endpoint build_channels_moved(struct builder *b, struct endpoint x, bool to_first)
{
    int32_t order[SHAPE_RANK_MAX] = { 0 };
    int rank = status_is_ok(b->status) ? endpoint_shape(x)->rank : 0;

    if (rank < 3)
        return x;
    for (int i = 1; i < rank; i++)
        order[i] = to_first ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1);
    return build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, rank, order));
}

struct endpoint layer_build(struct layer_context *context, const struct layer *layer,
                            struct endpoint x)
{
    struct builder *b = &context->builder;

    if (!layer_is_channels_first(layer))
        return layer->class->build(context, layer, x);
    struct endpoint y = layer->class->build(context, layer, build_channels_moved(b, x, false));
    bool is_image = status_is_ok(b->status) && endpoint_shape(y)->rank == endpoint_shape(x)->rank;
    return is_image ? build_channels_moved(b, y, true) : y;
}
