/* axes: the arguments of a layer that name dimensions of its input. */
#include "layers/layer.h"

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
    layer_fail(context, layer, "argument 'axis' is null: it would mix rows of the batch");
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
