/* Shapes of parsed tf.Examples. */
#include "graph/ops/infer.h"

/* The number of sparse features, an attribute that the two ops name differently. */
static struct status sparse_count(const struct node *node, int *out)
{
    const struct attr_value *types;
    TRY(node_attr_list(node, "sparse_types", &types));
    *out = types->count;
    return status_ok();
}

/*
 * Outputs: sparse indices [?, rank], values [?] and shapes [rank] of each sparse feature, then
 * dense values [batch…] + the feature's shape, then values [?] and row splits [?] of the ragged
 * features. `batch` is the shape of `serialized`.
 */
static struct status parsed(struct infer_context *context, const struct shape *batch)
{
    const struct attr_value *shapes;
    int sparse;

    TRY(sparse_count(context->node, &sparse));
    TRY(node_attr_list(context->node, "dense_shapes", &shapes));
    int rank = batch->rank < 0 ? -1 : batch->rank + 1;
    struct shape indices = shape_of(-1, rank), values = shape_of(-1), sparse_shape = shape_of(rank);
    for (int i = 0; i < sparse; i++) {
        infer_output(context, i, &indices);
        infer_output(context, sparse + i, &values);
        infer_output(context, 2 * sparse + i, &sparse_shape);
    }
    for (int i = 0; i < shapes->count; i++) {
        if (shapes->elements[i].kind != ATTR_SHAPE)
            return status_error(STATUS_INVALID_ARGUMENT, "dense_shapes is not a list of shapes");
        const struct shape *dense = shapes->elements[i].shape;
        if (batch->rank < 0 || dense->rank < 0 || batch->rank + dense->rank > SHAPE_RANK_MAX)
            continue;
        struct shape shape = *batch;
        for (int k = 0; k < dense->rank; k++)
            shape_append(&shape, dense->dims[k]);
        infer_output(context, 3 * sparse + i, &shape);
    }
    for (int i = 3 * sparse + shapes->count; i < context->node->outputs_count; i++)
        infer_output(context, i, &values);
    return status_ok();
}

struct status infer_parse_example(struct infer_context *context)
{
    return parsed(context, infer_input(context, 0));
}

struct status infer_parse_single_example(struct infer_context *context)
{
    struct shape none = shape_scalar();
    return parsed(context, &none);
}

/* A tensor like the records for each column. */
struct status infer_decode_csv(struct infer_context *context)
{
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, infer_input(context, 0));
    return status_ok();
}
