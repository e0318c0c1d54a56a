/* Shapes of ops that gather, select and sort. */
#include "graph/ops/infer.h"

/* params[:axis] + indices[batch_dims:] + params[axis+1:] */
static struct status gather(struct infer_context *context, int axis, int batch_dims)
{
    const struct shape *params = infer_input(context, 0), *indices = infer_input(context, 1);
    struct shape shape = { 0 };
    if (params->rank + indices->rank - 1 - batch_dims > SHAPE_RANK_MAX)
        return status_ok();
    for (int i = 0; i < axis; i++)
        shape_append(&shape, params->dims[i]);
    for (int i = batch_dims; i < indices->rank; i++)
        shape_append(&shape, indices->dims[i]);
    for (int i = axis + 1; i < params->rank; i++)
        shape_append(&shape, params->dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_gather(struct infer_context *context)
{
    const struct shape *params = infer_input(context, 0), *indices = infer_input(context, 1);
    if (params->rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "params is a scalar");
    return params->rank > 0 && indices->rank >= 0 ? gather(context, 0, 0) : status_ok();
}

struct status infer_gather_v2(struct infer_context *context)
{
    const struct shape *params = infer_input(context, 0), *indices = infer_input(context, 1);
    int64_t given, batch;
    int axis, batch_dims = 0;

    TRY(node_attr_int(context->node, "batch_dims", &batch));
    if (params->rank < 0 || indices->rank < 0)
        return status_ok();
    if (batch != 0)
        TRY(infer_axis(batch, indices->rank + (batch >= 0), &batch_dims));
    if (!infer_int(context, 2, &given)) {
        int rank = params->rank + indices->rank - 1 - batch_dims;
        struct shape shape =
            rank >= 0 && rank <= SHAPE_RANK_MAX ? shape_unknown_dims(rank) : shape_unknown();
        infer_output(context, 0, &shape);
        return status_ok();
    }
    TRY(infer_axis(given, params->rank, &axis));
    return gather(context, axis, batch_dims);
}

struct status infer_gather_nd(struct infer_context *context)
{
    const struct shape *params = infer_input(context, 0), *indices = infer_input(context, 1);
    if (params->rank < 0 || indices->rank < 1 || indices->dims[indices->rank - 1] < 0)
        return status_ok();
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth > params->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "indices of %lld numbers for shape %s",
                            (long long)depth, shape_text(params));
    if (indices->rank - 1 + params->rank - depth > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = { 0 };
    for (int i = 0; i < indices->rank - 1; i++)
        shape_append(&shape, indices->dims[i]);
    for (int i = (int)depth; i < params->rank; i++)
        shape_append(&shape, params->dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_where(struct infer_context *context)
{
    struct shape shape = shape_of(-1, infer_input(context, 0)->rank);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_arg_max(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    int64_t given;
    int axis;
    if (input->rank < 1)
        return status_ok();
    struct shape shape = shape_unknown_dims(input->rank - 1);
    if (infer_int(context, 1, &given)) {
        TRY(infer_axis(given, input->rank, &axis));
        shape.rank = 0;
        for (int i = 0; i < input->rank; i++)
            if (i != axis)
                shape_append(&shape, input->dims[i]);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_top_k(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    int64_t k;
    if (shape.rank < 0)
        return status_ok();
    if (shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be >= 1-D");
    shape.dims[shape.rank - 1] = infer_int(context, 1, &k) && k >= 0 ? k : -1;
    infer_output(context, 0, &shape);
    infer_output(context, 1, &shape);
    return status_ok();
}

/* Sizes other than k depend on a compiler for other devices. */
struct status infer_approx_top_k(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    int64_t k, axis;
    bool aggregates;
    int dim;
    TRY(node_attr_int(context->node, "k", &k));
    TRY(node_attr_int(context->node, "reduction_dimension", &axis));
    TRY(node_attr_bool(context->node, "aggregate_to_topk", &aggregates));
    if (shape.rank < 0)
        return status_ok();
    TRY(infer_axis(axis, shape.rank, &dim));
    shape.dims[dim] = aggregates ? k : -1;
    infer_output(context, 0, &shape);
    infer_output(context, 1, &shape);
    return status_ok();
}

struct status infer_isotonic(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 0));
    infer_output(context, 1, infer_input(context, 0));
    return status_ok();
}

struct status infer_unique(struct infer_context *context)
{
    struct shape vector = shape_unknown_dims(1);
    infer_output(context, 0, &vector);
    infer_output(context, 1, infer_input(context, 0));
    return status_ok();
}

/* [num_segments] + data[rank of segment_ids:] */
struct status infer_segment_sum(struct infer_context *context)
{
    const struct shape *data = infer_input(context, 0), *ids = infer_input(context, 1);
    int64_t segments;
    if (data->rank < 0 || ids->rank < 0 || ids->rank > data->rank ||
        data->rank - ids->rank + 1 > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = { 0 };
    shape_append(&shape, infer_int(context, 2, &segments) && segments >= 0 ? segments : -1);
    for (int i = ids->rank; i < data->rank; i++)
        shape_append(&shape, data->dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [?] + data[0][rank of indices[0]:] */
struct status infer_dynamic_stitch(struct infer_context *context)
{
    const struct shape *ids = infer_input(context, 0);
    const struct shape *data = infer_input(context, context->node->inputs_count / 2);
    if (data->rank < 0 || ids->rank < 0 || ids->rank > data->rank ||
        data->rank - ids->rank + 1 > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = { 0 };
    shape_append(&shape, -1);
    for (int i = ids->rank; i < data->rank; i++)
        shape_append(&shape, data->dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [the last segment id + 1] + data[1:] */
struct status infer_sorted_segment(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    if (shape.rank < 1)
        return status_ok();
    shape.dims[0] = -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [?] + data[rank of partitions:], for each output */
struct status infer_dynamic_partition(struct infer_context *context)
{
    const struct shape *data = infer_input(context, 0), *partitions = infer_input(context, 1);
    if (data->rank < 0 || partitions->rank < 0 || partitions->rank > data->rank ||
        data->rank - partitions->rank + 1 > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = shape_of(-1);
    for (int i = partitions->rank; i < data->rank; i++)
        shape_append(&shape, data->dims[i]);
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &shape);
    return status_ok();
}
