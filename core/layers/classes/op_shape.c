/* op_shape: operations that move elements: shapes, parts, joins. */
#include "layers/classes/op.h"

/* ---- dimensions ---- */

static const struct layer_arg reshape_args[] = {
    { "newshape", ARG_INTS, REQUIRED },
};

/* The batch dimension stays: newshape[0] is -1, or the other dimensions multiply to the size of
 * a row. */
static void reshape_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *wanted = layer_arg(layer, "newshape");
    const struct shape *shape = endpoint_shape(x);
    int32_t dims[SHAPE_RANK_MAX] = { -1 };
    int64_t size = 1, known = 1;
    int open = 0;

    if (!layer_check_known(context, layer, x, 1))
        return;
    for (int i = 1; i < shape->rank; i++)
        size *= shape->dims[i];
    for (int i = 1; i < wanted->ints.count; i++) {
        dims[i] = (int32_t)wanted->ints.values[i];
        if (wanted->ints.values[i] == -1 && open == 0)
            open = i;
        else if (wanted->ints.values[i] >= 1 && known <= INT32_MAX)
            known *= wanted->ints.values[i];
        else
            known = INT64_MAX; /* a second -1, or a size below 1 */
    }
    if (open > 0 && known > 0 && known <= size && size % known == 0)
        dims[open] = (int32_t)(size / known), known = size;
    if (wanted->ints.count < 1 || known != size) {
        layer_fail(context, layer,
                   "argument 'newshape': expected [-1, …], where … have %lld elements as a row of "
                   "the input %s",
                   (long long)size, shape_text(shape));
        return;
    }
    op_give(io, build_binary(b, "Reshape", NULL, x,
                             build_const_ints(b, NULL, wanted->ints.count, dims)));
}
OP_ARGS_CLASS(reshape, "Reshape", reshape_args, op_x, reshape_call);

static void transpose(struct layer_context *context, struct layer_io *io, int rank,
                      const int32_t *order)
{
    struct builder *b = &context->builder;

    op_give(io, build_binary(b, "Transpose", NULL, io->inputs[0].value,
                             build_const_ints(b, NULL, rank, order)));
}

static const struct layer_arg transpose_args[] = {
    { "axes", ARG_INTS, "[]" },
};

static void transpose_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    const struct arg_value *axes = layer_arg(layer, "axes");
    int rank = endpoint_shape(io->inputs[0].value)->rank;
    int32_t order[SHAPE_RANK_MAX];
    bool seen[SHAPE_RANK_MAX] = { false };

    bool good = axes->ints.count == rank;
    for (int i = 0; good && i < rank; i++) {
        int64_t axis = axes->ints.values[i] + (axes->ints.values[i] < 0 ? rank : 0);
        good = axis >= 0 && axis < rank && !seen[axis] && (i > 0 || axis == 0);
        order[i] = (int32_t)axis;
        if (good)
            seen[axis] = true;
    }
    if (good)
        transpose(context, io, rank, order);
    else
        layer_fail(context, layer, "argument 'axes': expected each of 0 to %d once, first 0",
                   rank - 1);
}
OP_ARGS_CLASS(transpose, "Transpose", transpose_args, op_x, transpose_call);

/* Reads two axes from these arguments. Returns false on failure. */
static bool two_axes(struct layer_context *context, const struct layer *layer,
                     const struct layer_io *io, const char *first, const char *second, int out[2])
{
    const char *const names[] = { first, second };
    int rank = endpoint_shape(io->inputs[0].value)->rank;

    for (int i = 0; i < 2; i++) {
        const struct arg_value *axis = layer_arg(layer, names[i]);
        out[i] = layer_axis(context, layer, axis->is_null ? 0 : axis->integer, rank);
        if (out[i] == 0)
            return false;
    }
    return true;
}

static const struct layer_arg swapaxes_args[] = {
    { "axis1", ARG_NULL_OR_INT, REQUIRED },
    { "axis2", ARG_NULL_OR_INT, REQUIRED },
};

static void swapaxes_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    int rank = endpoint_shape(io->inputs[0].value)->rank, axes[2];
    int32_t order[SHAPE_RANK_MAX];

    if (!two_axes(context, layer, io, "axis1", "axis2", axes))
        return;
    for (int i = 0; i < rank; i++)
        order[i] = i == axes[0] ? axes[1] : i == axes[1] ? axes[0] : i;
    transpose(context, io, rank, order);
}
OP_ARGS_CLASS(swapaxes, "Swapaxes", swapaxes_args, op_x, swapaxes_call);

static const struct layer_arg moveaxis_args[] = {
    { "source", ARG_NULL_OR_INT, REQUIRED },
    { "destination", ARG_NULL_OR_INT, REQUIRED },
};

static void moveaxis_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    int rank = endpoint_shape(io->inputs[0].value)->rank, axes[2];
    int32_t order[SHAPE_RANK_MAX];

    if (!two_axes(context, layer, io, "source", "destination", axes))
        return;
    for (int i = 0, from = 0; i < rank; i++) {
        from += from == axes[0];
        order[i] = i == axes[1] ? axes[0] : from++;
    }
    transpose(context, io, rank, order);
}
OP_ARGS_CLASS(moveaxis, "Moveaxis", moveaxis_args, op_x, moveaxis_call);

static const struct layer_arg axis_args[] = {
    { "axis", ARG_NULL_OR_INT, "null" },
};

/* Adds a dimension of 1, never before the batch. */
static void expand_dims_call(struct layer_context *context, const struct layer *layer,
                             struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *axis = layer_arg(layer, "axis");
    int rank = endpoint_shape(x)->rank;

    if (rank + 1 > SHAPE_RANK_MAX) {
        layer_fail(context, layer, "an output of rank %d, at most %d", rank + 1, SHAPE_RANK_MAX);
        return;
    }
    int at = layer_axis(context, layer, axis->is_null ? 0 : axis->integer, rank + 1);
    if (at > 0)
        op_give(io, build_expand_dims(b, x, at));
}
OP_ARGS_CLASS(expand_dims, "ExpandDims", axis_args, op_x, expand_dims_call);

static void squeeze_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *axis = layer_arg(layer, "axis");
    const int64_t at =
        layer_axis(context, layer, axis->is_null ? 0 : axis->integer, endpoint_shape(x)->rank);

    if (at > 0)
        op_give(io, build(b, "Squeeze", NULL, 1, &x,
                          (const struct attr[]){ attr_ints(b, "squeeze_dims", 1, &at), ATTR_END }));
}
OP_ARGS_CLASS(squeeze, "Squeeze", axis_args, op_x, squeeze_call);

/* ---- joins ---- */

static const struct layer_arg concatenate_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};

static struct endpoint *input_values(struct layer_context *context, const struct layer_io *io)
{
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, io->call->inputs_count);

    for (int i = 0; i < io->call->inputs_count; i++)
        values[i] = io->inputs[i].value;
    return values;
}

/* Like the layer, for values of one type. */
static void concatenate_call(struct layer_context *context, const struct layer *layer,
                             struct layer_io *io)
{
    struct endpoint *values = input_values(context, io);

    for (int i = 1; i < io->call->inputs_count; i++)
        if (endpoint_dtype(values[i]) != endpoint_dtype(values[0])) {
            layer_fail(context, layer, "inputs of types %s and %s",
                       dtype_name(endpoint_dtype(values[0])),
                       dtype_name(endpoint_dtype(values[i])));
            return;
        }
    op_give(io, layer_concatenate.merge(context, layer, io->call->inputs_count, values));
}
OP_ARGS_CLASS(concatenate, "Concatenate", concatenate_args, op_xs, concatenate_call);

/* Joins along an axis that the operation names. */
static void join_along(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io, int axis)
{
    struct arg_value along = { .integer = axis };
    struct layer as = *layer;

    if (endpoint_shape(io->inputs[0].value)->rank <= axis) {
        layer_fail(context, layer, "inputs of rank %d would be joined along the batch",
                   endpoint_shape(io->inputs[0].value)->rank);
        return;
    }
    as.class = &layer_op_concatenate;
    as.args = &along;
    concatenate_call(context, &as, io);
}

static void hstack_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    join_along(context, layer, io, 1);
}
OP_CLASS(hstack, "Hstack", op_xs, hstack_call);

static void dstack_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    join_along(context, layer, io, 2);
}
OP_CLASS(dstack, "Dstack", op_xs, dstack_call);

static const struct layer_arg stack_args[] = {
    { "axis", ARG_NULL_OR_INT, "0" },
};
static const char *const x_list[] = { "x", NULL };

static void stack_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct endpoint *values = input_values(context, io);
    const struct arg_value *axis = layer_arg(layer, "axis");
    int rank = endpoint_shape(values[0])->rank;

    for (int i = 0; i < io->call->inputs_count; i++) {
        const struct shape *shape = endpoint_shape(values[i]);
        if (!layer_check_open(context, layer, values[i], rank, rank))
            return;
        bool alike = endpoint_dtype(values[i]) == endpoint_dtype(values[0]);
        for (int k = 1; k < rank; k++)
            alike = alike && may_be_equal(shape->dims[k], endpoint_shape(values[0])->dims[k]);
        if (!alike) {
            layer_fail(context, layer, "inputs of %s %s and %s %s",
                       dtype_name(endpoint_dtype(values[0])), shape_text(endpoint_shape(values[0])),
                       dtype_name(endpoint_dtype(values[i])), shape_text(shape));
            return;
        }
    }
    if (rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "an output of rank %d, at most %d", rank + 1, SHAPE_RANK_MAX);
        return;
    }
    int at = layer_axis(context, layer, axis->is_null ? 0 : axis->integer, rank + 1);
    if (at > 0)
        op_give(io, build(&context->builder, "Pack", NULL, io->call->inputs_count, values,
                          (const struct attr[]){ attr_int("axis", at), ATTR_END }));
}
OP_ARGS_CLASS(stack, "Stack", stack_args, x_list, stack_call);

/* ---- repetition ---- */

static const struct layer_arg tile_args[] = {
    { "repeats", ARG_INTS, REQUIRED },
};

static void tile_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *repeats = layer_arg(layer, "repeats");
    int rank = endpoint_shape(x)->rank, first = rank - repeats->ints.count;
    int32_t times[SHAPE_RANK_MAX];

    bool good = first >= 0;
    for (int i = 0; good && i < rank; i++) {
        int64_t n = i < first ? 1 : repeats->ints.values[i - first];
        good = n >= 1 && n <= INT32_MAX && (i > 0 || n == 1);
        times[i] = (int32_t)n;
    }
    if (good)
        op_give(io, build_binary(b, "Tile", NULL, x, build_const_ints(b, NULL, rank, times)));
    else
        layer_fail(context, layer,
                   "argument 'repeats': expected at most %d numbers from 1 on, 1 for the batch",
                   rank);
}
OP_ARGS_CLASS(tile, "Tile", tile_args, op_x, tile_call);

/* ---- parts ---- */

static const struct layer_arg split_args[] = {
    { "indices_or_sections", ARG_VALUE, REQUIRED },
    { "axis", ARG_NULL_OR_INT, "0" },
};

/* The sizes of the parts along an axis of this size. Returns their number; 0: they do not fit. */
static int part_sizes(const struct json_value *parts, int64_t size,
                      int32_t sizes[LAYER_OUTPUTS_MAX])
{
    bool list = parts->kind == JSON_VALUE_LIST;
    int64_t count = list ? parts->count + 1 : parts->kind == JSON_VALUE_INT ? parts->integer : 0;

    if (count < 1 || count > LAYER_OUTPUTS_MAX || (!list && size % count != 0))
        return 0;
    for (int i = 0, before = 0; i < count; i++) {
        const struct json_value *end = list && i + 1 < count ? &parts->members[i] : NULL;
        int64_t to = list ? size : (i + 1) * (size / count);
        if (end != NULL)
            to = end->kind == JSON_VALUE_INT ? end->integer : -1;
        if (to <= before || to > size)
            return 0;
        sizes[i] = (int32_t)(to - before);
        before = (int)to;
    }
    return (int)count;
}

static void give_parts(struct layer_io *io, struct node *parts, int count)
{
    for (int i = 0; parts != NULL && i < count; i++)
        io->outputs[i] = (struct layer_value){ .value = { parts, i } };
    io->outputs_count = count;
}

/* Along an open axis only equal parts have known limits. */
static void split_open(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io, int axis, const struct json_value *count)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { build_const_int(b, axis), io->inputs[0].value };

    if (count->kind != JSON_VALUE_INT || count->integer < 1 || count->integer > LAYER_OUTPUTS_MAX)
        layer_fail(context, layer,
                   "argument 'indices_or_sections' of axis %d, whose size is open: expected a "
                   "number of parts from 1 to %d",
                   axis, LAYER_OUTPUTS_MAX);
    else
        give_parts(
            io,
            build_node(b, "Split", NULL, 2, inputs, 0, NULL,
                       (const struct attr[]){ attr_int("num_split", count->integer), ATTR_END }),
            (int)count->integer);
}

static void split_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *axis = layer_arg(layer, "axis");
    int32_t sizes[LAYER_OUTPUTS_MAX];

    int at = layer_axis(context, layer, axis->is_null ? 0 : axis->integer, endpoint_shape(x)->rank);
    if (at == 0)
        return;
    const struct json_value *wanted = layer_arg(layer, "indices_or_sections")->value;
    int64_t size = endpoint_shape(x)->dims[at];
    if (size < 0) {
        split_open(context, layer, io, at, wanted);
        return;
    }
    int count = part_sizes(wanted, size, sizes);
    if (count == 0) {
        layer_fail(context, layer,
                   "argument 'indices_or_sections' does not divide axis %d, of size %lld, into 1 "
                   "to %d parts",
                   at, (long long)size, LAYER_OUTPUTS_MAX);
        return;
    }
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, count, sizes),
                                       build_const_int(b, at) };
    struct node *parts =
        build_node(b, "SplitV", NULL, 3, inputs, 0, NULL,
                   (const struct attr[]){ attr_int("num_split", count), ATTR_END });
    give_parts(io, parts, count);
}
OP_ARGS_CLASS(split, "Split", split_args, op_x, split_call);

static const struct layer_arg unstack_args[] = {
    { "num", ARG_NULL_OR_INT, "null" },
    { "axis", ARG_NULL_OR_INT, "0" },
};

static void unstack_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct endpoint x = io->inputs[0].value;
    const struct arg_value *axis = layer_arg(layer, "axis"), *num = layer_arg(layer, "num");

    int at = layer_axis(context, layer, axis->is_null ? 0 : axis->integer, endpoint_shape(x)->rank);
    if (at == 0)
        return;
    const int32_t known = at;
    int64_t size = num->is_null ? endpoint_shape(x)->dims[at] : num->integer;
    if (num->is_null && !layer_check_axes(context, layer, x, 1, &known))
        return;
    if (size < 1 || size > LAYER_OUTPUTS_MAX || !may_be_equal(size, endpoint_shape(x)->dims[at])) {
        layer_fail(context, layer, "%lld parts of axis %d of %s, expected its size, from 1 to %d",
                   (long long)size, at, shape_text(endpoint_shape(x)), LAYER_OUTPUTS_MAX);
        return;
    }
    give_parts(
        io,
        build_node(&context->builder, "Unpack", NULL, 1, &x, 0, NULL,
                   (const struct attr[]){ attr_int("num", size), attr_int("axis", at), ATTR_END }),
        (int)size);
}
OP_ARGS_CLASS(unstack, "Unstack", unstack_args, op_x, unstack_call);

/* ---- x[…] ---- */

/* A StridedSlice with an entry for each dimension, and the positions of new dimensions of 1. */
struct item {
    int32_t begin[SHAPE_RANK_MAX], end[SHAPE_RANK_MAX], step[SHAPE_RANK_MAX];
    int begin_mask, end_mask, shrink_mask;
    int rank; /* dimensions of x so far */
    int32_t added[SHAPE_RANK_MAX];
    int added_count, out_rank;
};

static bool is_marker(const struct json_value *key, const char *name)
{
    const char *class_name =
        key->kind == JSON_VALUE_OBJECT ? json_value_get_text(key, "class_name") : NULL;

    return class_name != NULL && strcmp(class_name, name) == 0;
}

/* Reads a part of a slice: null or an integer. */
static bool slice_part(const struct json_value *slice, const char *name, bool *given, int32_t *out)
{
    const struct json_value *value = json_value_get(json_value_get(slice, "config"), name);

    *given = !json_value_is_null(value);
    if (!*given)
        return true;
    if (value->kind != JSON_VALUE_INT || value->integer < -INT32_MAX || value->integer > INT32_MAX)
        return false;
    *out = (int32_t)value->integer;
    return true;
}

static void add_whole(struct item *item)
{
    int i = item->rank++;

    item->step[i] = 1;
    item->begin_mask |= 1 << i;
    item->end_mask |= 1 << i;
    item->out_rank++;
}

static bool add_slice(struct item *item, const struct json_value *slice)
{
    bool has_begin, has_end, has_step;
    int i = item->rank;

    item->step[i] = 1;
    if (!slice_part(slice, "start", &has_begin, &item->begin[i]) ||
        !slice_part(slice, "stop", &has_end, &item->end[i]) ||
        !slice_part(slice, "step", &has_step, &item->step[i]) || item->step[i] == 0)
        return false;
    item->begin_mask |= has_begin ? 0 : 1 << i;
    item->end_mask |= has_end ? 0 : 1 << i;
    item->rank++;
    item->out_rank++;
    return true;
}

/* If the dimension is open, an index below 0 counts from its end when the graph runs. */
static bool add_index(struct item *item, int64_t index, int64_t dim)
{
    int i = item->rank++;

    index += index < 0 && dim >= 0 ? dim : 0;
    if (dim < 0 ? index < -INT32_MAX || index >= INT32_MAX : index < 0 || index >= dim)
        return false;
    item->begin[i] = (int32_t)index;
    item->end[i] = (int32_t)index + 1;
    item->step[i] = 1;
    item->shrink_mask |= 1 << i;
    return true;
}

/* Adds an entry of the key; `left`: the dimensions that later entries cover. */
static bool add_key(struct item *item, const struct json_value *key, const struct shape *shape,
                    int left)
{
    if (is_marker(key, "__ellipsis__")) {
        while (item->rank < shape->rank - left)
            add_whole(item);
        return true;
    }
    if (key->kind == JSON_VALUE_NULL) {
        if (item->rank == 0 || item->out_rank == SHAPE_RANK_MAX)
            return false;
        item->added[item->added_count++] = item->out_rank++;
        return true;
    }
    if (item->rank == shape->rank)
        return false;
    if (is_marker(key, "__slice__"))
        return add_slice(item, key);
    return key->kind == JSON_VALUE_INT && item->rank > 0 &&
           add_index(item, key->integer, shape->dims[item->rank]);
}

static bool read_item(const struct json_value *key, const struct shape *shape, struct item *item)
{
    bool list = key->kind == JSON_VALUE_LIST;
    int count = list ? key->count : 1, takes = 0;

    for (int i = 0; i < count; i++) {
        const struct json_value *entry = list ? &key->members[i] : key;
        takes += entry->kind != JSON_VALUE_NULL && !is_marker(entry, "__ellipsis__");
    }
    for (int i = 0; i < count; i++) {
        const struct json_value *entry = list ? &key->members[i] : key;
        takes -= entry->kind != JSON_VALUE_NULL && !is_marker(entry, "__ellipsis__");
        if (!add_key(item, entry, shape, takes))
            return false;
    }
    while (item->rank < shape->rank && item->out_rank < SHAPE_RANK_MAX)
        add_whole(item);
    /* Is the whole batch taken: is the first entry ":" or "..."? */
    return item->rank == shape->rank && (item->begin_mask & item->end_mask & 1) != 0 &&
           item->step[0] == 1;
}

static const char *const item_inputs[] = { "x", "key", NULL };

static void get_item_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct json_value *key = op_constant(io, "key");
    struct item item = { 0 };

    if (key == NULL || !read_item(key, endpoint_shape(x), &item)) {
        layer_fail(context, layer,
                   "the key of x[…] does not fit x of shape %s: expected ':' for the batch, then "
                   "integers in range, slices, '...' and None",
                   shape_text(endpoint_shape(x)));
        return;
    }
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, item.rank, item.begin),
                                       build_const_ints(b, NULL, item.rank, item.end),
                                       build_const_ints(b, NULL, item.rank, item.step) };
    x = build(b, "StridedSlice", NULL, 4, inputs,
              (const struct attr[]){ attr_int("begin_mask", item.begin_mask),
                                     attr_int("end_mask", item.end_mask),
                                     attr_int("shrink_axis_mask", item.shrink_mask), ATTR_END });
    for (int i = 0; i < item.added_count; i++)
        x = build_expand_dims(b, x, item.added[i]);
    op_give(io, x);
}
OP_CLASS(get_item, "GetItem", item_inputs, get_item_call);
