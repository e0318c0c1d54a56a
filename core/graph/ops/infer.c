#include "graph/ops/infer.h"

const struct shape *infer_input(const struct infer_context *context, int index)
{
    if (index >= context->node->inputs_count)
        return endpoint_shape((struct endpoint){ 0 });
    return endpoint_shape(context->node->inputs[index]);
}

void infer_output(struct infer_context *context, int index, const struct shape *shape)
{
    if (index < context->node->outputs_count)
        context->node->outputs[index].shape = *shape;
}

bool infer_int(const struct infer_context *context, int index, int64_t *out)
{
    struct values values;
    infer_values(context, index, &values);
    if (values.rank < 0 || values.count != 1 || values.at[0] == VALUE_UNKNOWN)
        return false;
    *out = values.at[0];
    return true;
}

struct shape infer_shape_value(const struct infer_context *context, int index)
{
    struct values values;
    infer_values(context, index, &values);
    if (values.rank != 1 || values.count > SHAPE_RANK_MAX) {
        const struct shape *vector = infer_input(context, index);
        if (values.rank < 0 && vector->rank == 1 && vector->dims[0] >= 0 &&
            vector->dims[0] <= SHAPE_RANK_MAX)
            return shape_unknown_dims((int)vector->dims[0]);
        return shape_unknown();
    }
    struct shape shape = { .rank = values.count };
    for (int i = 0; i < values.count; i++)
        shape.dims[i] = values.at[i] >= 0 ? values.at[i] : -1;
    return shape;
}

struct status infer_axis(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return status_error(STATUS_INVALID_ARGUMENT, "axis %lld is out of [%d, %d)",
                            (long long)axis, -rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return status_ok();
}

struct status infer_rank(const struct shape *shape, int rank, const char *what)
{
    if (shape->rank >= 0 && shape->rank != rank)
        return status_error(STATUS_INVALID_ARGUMENT, "%s has shape %s, should have rank %d", what,
                            shape_text(shape), rank);
    return status_ok();
}

struct status infer_merge(const struct shape *a, const struct shape *b, struct shape *out)
{
    if (a->rank < 0 || b->rank < 0) {
        *out = a->rank < 0 ? *b : *a;
        return status_ok();
    }
    struct shape merged = *a;
    bool fits = a->rank == b->rank;
    for (int i = 0; fits && i < a->rank; i++) {
        if (a->dims[i] < 0)
            merged.dims[i] = b->dims[i];
        else if (b->dims[i] >= 0)
            fits = a->dims[i] == b->dims[i];
    }
    if (!fits)
        return status_error(STATUS_INVALID_ARGUMENT, "shapes %s and %s should be equal",
                            shape_text(a), shape_text(b));
    *out = merged;
    return status_ok();
}

struct status node_infer(struct graph *graph, struct node *node)
{
    if (node->op == NULL)
        return status_ok();
    struct infer_context context = { node, graph };
    return status_in(node->op->infer(&context), "node '%s' (%s)", node->name, node->op_name);
}
