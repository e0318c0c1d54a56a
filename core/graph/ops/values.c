/* The known elements of small integer tensors before running, from which shapes are computed. */
#include <string.h>

#include "graph/ops/infer.h"

/* Chains of shape arithmetic in real models have a few nodes; a hostile chain ends here, and so
 * does one that joins each value with itself. */
#define DEPTH_MAX 10
#define STEPS_MAX 1000

struct value_search {
    int depth, steps;
};

static void evaluate(struct endpoint from, struct value_search *search, struct values *out);

static void unknown(struct values *out)
{
    out->rank = -1;
    out->count = 0;
}

static bool is_op(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

static void of_const(const struct node *node, struct values *out)
{
    const struct attr_value *value = node_attr(node, "value");
    if (value == NULL || value->kind != ATTR_TENSOR)
        return;
    const struct tensor *tensor = value->tensor;
    bool integer = tensor->dtype == DT_INT32 || tensor->dtype == DT_INT64;
    if (!integer || tensor->shape.rank > 1 || tensor->size > VALUES_MAX)
        return;
    out->rank = tensor->shape.rank;
    out->count = (int)tensor->size;
    for (int i = 0; i < out->count; i++)
        out->at[i] = tensor_index(tensor, i);
}

static void of_shape(const struct shape *shape, struct values *out)
{
    if (shape->rank < 0)
        return;
    out->rank = 1;
    out->count = shape->rank;
    for (int i = 0; i < shape->rank; i++)
        out->at[i] = shape->dims[i] >= 0 ? shape->dims[i] : VALUE_UNKNOWN;
}

static void of_pack(const struct node *node, struct value_search *search, struct values *out)
{
    if (node->inputs_count > VALUES_MAX)
        return;
    out->rank = 1;
    out->count = node->inputs_count;
    for (int i = 0; i < node->inputs_count; i++) {
        struct values element;
        evaluate(node->inputs[i], search, &element);
        out->at[i] = element.rank == 0 ? element.at[0] : VALUE_UNKNOWN;
        if (element.rank == 1)
            unknown(out); /* a matrix */
        if (out->rank < 0)
            return;
    }
}

static void of_concat(const struct node *node, struct value_search *search, struct values *out)
{
    out->rank = 1;
    out->count = 0;
    for (int i = 0; i + 1 < node->inputs_count; i++) {
        struct values part;
        evaluate(node->inputs[i], search, &part);
        if (part.rank != 1 || out->count + part.count > VALUES_MAX) {
            unknown(out);
            return;
        }
        memcpy(&out->at[out->count], part.at, (size_t)part.count * sizeof part.at[0]);
        out->count += part.count;
    }
}

/* x[begin:end:stride] or x[i] of a vector. The vector is dimension 0, so that only bit 0 of each
 * mask matters. */
static void of_strided_slice(const struct node *node, struct value_search *search,
                             struct values *out)
{
    struct values x, begin, end, stride;
    if (node->inputs_count != 4)
        return;
    evaluate(node->inputs[0], search, &x);
    evaluate(node->inputs[1], search, &begin);
    evaluate(node->inputs[2], search, &end);
    evaluate(node->inputs[3], search, &stride);
    bool plain = node_attr_int_or_0(node, "ellipsis_mask") == 0 &&
                 node_attr_int_or_0(node, "new_axis_mask") == 0;
    if (x.rank != 1 || begin.rank != 1 || begin.count != 1 || end.rank != 1 || end.count != 1 ||
        stride.rank != 1 || stride.count != 1 || !plain)
        return;
    int64_t step = stride.at[0], first = begin.at[0], last = end.at[0];
    if ((node_attr_int_or_0(node, "shrink_axis_mask") & 1) != 0) {
        if (first < 0 && first != VALUE_UNKNOWN)
            first += x.count;
        out->rank = 0;
        out->count = 1;
        out->at[0] = first >= 0 && first < x.count ? x.at[first] : VALUE_UNKNOWN;
        return;
    }
    if (step == VALUE_UNKNOWN || step == 0)
        return;
    bool forward = step > 0;
    if ((node_attr_int_or_0(node, "begin_mask") & 1) != 0)
        first = forward ? 0 : x.count - 1;
    else if (first == VALUE_UNKNOWN)
        return;
    else if (first < 0)
        first += x.count;
    if ((node_attr_int_or_0(node, "end_mask") & 1) != 0)
        last = forward ? x.count : -1;
    else if (last == VALUE_UNKNOWN)
        return;
    else if (last < 0)
        last += x.count;
    if (forward && first < 0)
        first = 0;
    if (!forward && first >= x.count)
        first = x.count - 1;
    if (step > x.count + 1 || step < -x.count - 1)
        step = forward ? x.count + 1 : -x.count - 1; /* past everything, without overflow */
    out->rank = 1;
    for (int64_t i = first; forward ? i < last && i < x.count : i > last && i >= 0; i += step)
        out->at[out->count++] = x.at[i];
}

static int64_t calculate(const struct node *node, int64_t a, int64_t b)
{
    const int64_t limit = (int64_t)1 << 31;
    if (a == VALUE_UNKNOWN || b == VALUE_UNKNOWN || a > limit || b > limit || a < -limit ||
        b < -limit)
        return VALUE_UNKNOWN;
    if (is_op(node, "Mul"))
        return a * b;
    if (is_op(node, "Sub"))
        return a - b;
    if (is_op(node, "Maximum"))
        return a > b ? a : b;
    if (is_op(node, "Minimum"))
        return a < b ? a : b;
    if (is_op(node, "FloorDiv"))
        return a >= 0 && b > 0 ? a / b : VALUE_UNKNOWN;
    return a + b;
}

static void of_binary(const struct node *node, struct value_search *search, struct values *out)
{
    struct values a, b;
    if (node->inputs_count != 2)
        return;
    evaluate(node->inputs[0], search, &a);
    evaluate(node->inputs[1], search, &b);
    bool spread = a.count == b.count || a.count == 1 || b.count == 1;
    if (a.rank < 0 || b.rank < 0 || !spread)
        return;
    out->rank = a.rank > b.rank ? a.rank : b.rank;
    out->count = a.count == 1 ? b.count : a.count;
    for (int i = 0; i < out->count; i++)
        out->at[i] = calculate(node, a.at[a.count == 1 ? 0 : i], b.at[b.count == 1 ? 0 : i]);
}

static void of_prod(const struct node *node, struct value_search *search, struct values *out)
{
    struct values x;
    const struct attr_value *keep = node_attr(node, "keep_dims");
    evaluate(node->inputs[0], search, &x);
    if (x.rank != 1 || (keep != NULL && keep->b))
        return;
    int64_t product = 1;
    for (int i = 0; i < x.count; i++) {
        if (x.at[i] == VALUE_UNKNOWN || __builtin_mul_overflow(product, x.at[i], &product)) {
            product = VALUE_UNKNOWN;
            break;
        }
    }
    out->rank = 0;
    out->count = 1;
    out->at[0] = product;
}

static void of_gather(const struct node *node, struct value_search *search, struct values *out)
{
    struct values x, indices;
    if (node->inputs_count < 2)
        return;
    evaluate(node->inputs[0], search, &x);
    evaluate(node->inputs[1], search, &indices);
    if (x.rank != 1 || indices.rank < 0)
        return;
    *out = indices;
    for (int i = 0; i < indices.count; i++) {
        bool inside = indices.at[i] >= 0 && indices.at[i] < x.count;
        out->at[i] = inside ? x.at[indices.at[i]] : VALUE_UNKNOWN;
    }
}

static void of_size(const struct shape *shape, bool rank, struct values *out)
{
    int64_t size;
    if (shape->rank < 0)
        return;
    out->rank = 0;
    out->count = 1;
    out->at[0] = rank ? shape->rank : shape_fits(shape, &size) ? size : VALUE_UNKNOWN;
}

static void evaluate(struct endpoint from, struct value_search *search, struct values *out)
{
    const struct node *node = from.node;
    unknown(out);
    if (node == NULL || node->op == NULL || search->depth == DEPTH_MAX ||
        search->steps == STEPS_MAX)
        return;
    search->depth++;
    search->steps++;
    if (is_op(node, "Const"))
        of_const(node, out);
    else if (node->inputs_count == 0)
        unknown(out);
    else if (is_op(node, "Shape") || is_op(node, "ShapeN"))
        of_shape(endpoint_shape(node->inputs[from.index < node->inputs_count ? from.index : 0]),
                 out);
    else if (is_op(node, "Size") || is_op(node, "Rank"))
        of_size(endpoint_shape(node->inputs[0]), is_op(node, "Rank"), out);
    else if (is_op(node, "Pack"))
        of_pack(node, search, out);
    else if (is_op(node, "ConcatV2"))
        of_concat(node, search, out);
    else if (is_op(node, "StridedSlice"))
        of_strided_slice(node, search, out);
    else if (is_op(node, "Prod"))
        of_prod(node, search, out);
    else if (is_op(node, "GatherV2"))
        of_gather(node, search, out);
    else if (is_op(node, "Identity") || is_op(node, "Cast"))
        evaluate(node->inputs[0], search, out);
    else if (is_op(node, "Mul") || is_op(node, "Add") || is_op(node, "AddV2") ||
             is_op(node, "Sub") || is_op(node, "Maximum") || is_op(node, "Minimum") ||
             is_op(node, "FloorDiv"))
        of_binary(node, search, out);
    search->depth--;
}

void infer_values(const struct infer_context *context, int index, struct values *out)
{
    struct value_search search = { 0 };
    if (index < context->node->inputs_count)
        evaluate(context->node->inputs[index], &search, out);
    else
        unknown(out);
}

static bool all_known(const struct values *values)
{
    for (int i = 0; i < values->count; i++)
        if (values->at[i] == VALUE_UNKNOWN)
            return false;
    return values->rank >= 0;
}

const struct tensor *infer_constant(const struct infer_context *context, int index)
{
    if (index >= context->node->inputs_count)
        return NULL;
    struct endpoint input = context->node->inputs[index];
    if (input.node->op != NULL && is_op(input.node, "Const")) {
        const struct attr_value *value = node_attr(input.node, "value");
        return value != NULL && value->kind == ATTR_TENSOR ? value->tensor : NULL;
    }
    struct values values;
    enum dtype dtype = endpoint_dtype(input);
    infer_values(context, index, &values);
    if (!all_known(&values) || (dtype != DT_INT32 && dtype != DT_INT64))
        return NULL;

    struct arena *arena = context->graph->arena;
    struct shape shape = values.rank == 0 ? shape_scalar() : shape_of(values.count);
    void *data = arena_alloc(arena, (size_t)values.count * sizeof(int64_t) + 1);
    for (int i = 0; i < values.count; i++) {
        if (dtype == DT_INT64)
            ((int64_t *)data)[i] = values.at[i];
        else
            ((int32_t *)data)[i] = (int32_t)values.at[i];
    }
    struct tensor *tensor = ARENA_NEW(arena, struct tensor);
    *tensor = tensor_borrow(dtype, &shape, data);
    return tensor;
}
