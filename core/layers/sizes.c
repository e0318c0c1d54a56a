/* sizes: shapes of which some dimensions are known only when the graph runs, and checks of them. */
#include "layers/sizes.h"

/* A row of two dimensions whose size is open is most often a sequence that was flattened. */
static void refuse_open(struct layer_context *context, const struct layer *layer,
                        const struct shape *shape, int axis)
{
    layer_fail(context, layer,
               "the input has shape %s, and dimension %d must be known here: give the InputLayer "
               "a size instead of null%s",
               shape_text(shape), axis,
               axis == 1 && shape->rank == 2
                   ? ", or pool instead of flattening (GlobalAveragePooling1D, for example)"
                   : "");
}

bool may_be_equal(int64_t a, int64_t b)
{
    return a == b || a < 0 || b < 0;
}

bool layer_check_known(struct layer_context *context, const struct layer *layer, struct endpoint x,
                       int first)
{
    if (!status_is_ok(context->builder.status))
        return false;
    const struct shape *shape = endpoint_shape(x);
    for (int i = first; i < shape->rank; i++)
        if (shape->dims[i] < 0) {
            refuse_open(context, layer, shape, i);
            return false;
        }
    return true;
}

bool layer_check_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int count, const int32_t *axes)
{
    for (int i = 0; i < count; i++)
        if (endpoint_shape(x)->dims[axes[i]] < 0)
            return layer_check_known(context, layer, x, axes[i]);
    return status_is_ok(context->builder.status);
}

bool layer_check_open(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank, int known)
{
    if (!status_is_ok(context->builder.status))
        return false;
    const struct shape *shape = endpoint_shape(x);
    if (shape->rank == rank)
        return layer_check_known(context, layer, x, known);
    layer_fail(context, layer, "the input has shape %s, expected rank %d", shape_text(shape), rank);
    return false;
}

bool layer_check_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank)
{
    return layer_check_open(context, layer, x, rank, 1);
}

bool layer_check_size(struct layer_context *context, const struct layer *layer, const char *what,
                      int count, const int64_t *sizes)
{
    int64_t product = 1;

    if (!status_is_ok(context->builder.status))
        return false;
    for (int i = 0; i < count && product <= INT32_MAX; i++)
        product = sizes[i] > INT32_MAX ? sizes[i] : sizes[i] < 0 ? product : product * sizes[i];
    if (product > INT32_MAX)
        layer_fail(context, layer, "%s: a row has 2^31 numbers or more", what);
    return product <= INT32_MAX;
}

/* Dimension `axis` of a shape that is a tensor. */
static struct endpoint size_at(struct builder *b, struct endpoint shape, int axis)
{
    const int32_t begin = axis, end = axis + 1, one = 1;
    const struct endpoint cut[] = { shape, build_const_ints(b, NULL, 1, &begin),
                                    build_const_ints(b, NULL, 1, &end),
                                    build_const_ints(b, NULL, 1, &one) };

    return build(b, "StridedSlice", NULL, 4, cut,
                 (const struct attr[]){ attr_int("shrink_axis_mask", 1), ATTR_END });
}

struct endpoint build_size(struct builder *b, struct endpoint x, int axis)
{
    int64_t size = status_is_ok(b->status) ? endpoint_shape(x)->dims[axis] : 0;

    return size >= 0 ? build_const_int(b, (int32_t)size)
                     : size_at(b, build_unary(b, "Shape", NULL, x), axis);
}

/* A constant if at most `unknown_max` sizes are unknown, as -1. */
static struct endpoint sizes_tensor(struct builder *b, struct endpoint like, int count,
                                    const int64_t *sizes, int unknown_max)
{
    struct endpoint parts[SHAPE_RANK_MAX], shape = { 0 };
    int32_t known[SHAPE_RANK_MAX];
    int unknown = 0;

    if (!status_is_ok(b->status))
        return (struct endpoint){ 0 };
    for (int i = 0; i < count; i++) {
        int64_t size =
            sizes[i] > SIZE_OF(0) ? sizes[i] : endpoint_shape(like)->dims[SIZE_OF(0) - sizes[i]];
        known[i] = (int32_t)size;
        unknown += size < 0;
    }
    if (unknown <= unknown_max)
        return build_const_ints(b, NULL, count, known);
    shape = build_unary(b, "Shape", NULL, like);
    for (int i = 0; i < count; i++)
        parts[i] = known[i] < 0 && sizes[i] <= SIZE_OF(0)
                       ? size_at(b, shape, (int)(SIZE_OF(0) - sizes[i]))
                       : build_const_int(b, known[i]);
    return build(b, "Pack", NULL, count, parts, NULL);
}

struct endpoint build_sizes(struct builder *b, struct endpoint like, int count,
                            const int64_t *sizes)
{
    return sizes_tensor(b, like, count, sizes, 0);
}

struct endpoint build_reshape(struct builder *b, struct endpoint x, struct endpoint like, int count,
                              const int64_t *sizes)
{
    return build_binary(b, "Reshape", NULL, x, sizes_tensor(b, like, count, sizes, 1));
}
