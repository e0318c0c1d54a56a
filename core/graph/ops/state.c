/* Shapes of variables, tables and lists of tensors. */
#include "graph/ops/infer.h"

/* The shape that the VarHandleOp declares; unknown if the handle comes from elsewhere. */
static struct shape variable_shape(const struct infer_context *context)
{
    struct endpoint handle = context->node->inputs[0];
    const struct shape *shape;
    for (int i = 0; i < 8 && strcmp(handle.node->op_name, "Identity") == 0; i++) {
        if (handle.node->inputs_count == 0)
            return shape_unknown();
        handle = handle.node->inputs[0];
    }
    if (strcmp(handle.node->op_name, "VarHandleOp") != 0 ||
        !status_is_ok(node_attr_shape(handle.node, "shape", &shape)))
        return shape_unknown();
    return *shape;
}

struct status infer_read_variable(struct infer_context *context)
{
    struct shape shape = variable_shape(context);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_variable_shape(struct infer_context *context)
{
    struct shape shape = shape_of(variable_shape(context).rank);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* indices + variable[1:], or with batch_dims as GatherV2. */
struct status infer_resource_gather(struct infer_context *context)
{
    struct shape params = variable_shape(context);
    const struct shape *indices = infer_input(context, 1);
    int64_t batch;
    TRY(node_attr_int(context->node, "batch_dims", &batch));
    if (params.rank < 1 || indices->rank < 0 || batch < 0 || batch >= params.rank ||
        batch > indices->rank || indices->rank + params.rank - 1 - batch > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = *indices;
    for (int i = (int)batch + 1; i < params.rank; i++)
        shape_append(&shape, params.dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The shape of the value; with validate_shape, the reference has it as well. */
struct status infer_assign(struct infer_context *context)
{
    bool validate;
    struct shape shape = *infer_input(context, 1);
    TRY(node_attr_bool(context->node, "validate_shape", &validate));
    if (validate)
        TRY(infer_merge(infer_input(context, 0), &shape, &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

/* Is each key certainly a scalar? A dense table may have vectors as keys, and then the shape of
 * the keys is not enough. The handle may also come from an argument or a branch. */
static bool has_scalar_keys(const struct infer_context *context)
{
    struct endpoint handle = context->node->inputs[0];
    for (int i = 0; i < 8 && strcmp(handle.node->op_name, "Identity") == 0; i++) {
        if (handle.node->inputs_count == 0)
            return false;
        handle = handle.node->inputs[0];
    }
    const char *op = handle.node->op_name;
    return strstr(op, "HashTable") != NULL && strstr(op, "DenseHashTable") == NULL;
}

/* One value for each key, of the default's shape; tables of vectors add its dimension. */
struct status infer_lookup_find(struct infer_context *context)
{
    if (infer_input(context, 2)->rank == 0 && has_scalar_keys(context))
        infer_output(context, 0, infer_input(context, 1));
    return status_ok();
}

struct status infer_lookup_export(struct infer_context *context)
{
    struct shape keys = shape_unknown_dims(1);
    if (has_scalar_keys(context))
        infer_output(context, 0, &keys);
    return status_ok();
}

/* Predictions [rows, dim] and the names of their columns. */
struct status infer_forest(struct infer_context *context)
{
    struct shape predictions = shape_unknown_dims(2), names;
    int64_t outputs;
    TRY(node_attr_int(context->node, "dense_output_dim", &outputs));
    predictions.dims[1] = outputs;
    names = shape_of(outputs);
    infer_output(context, 0, &predictions);
    infer_output(context, 1, &names);
    return status_ok();
}

struct status infer_forest_leaves(struct infer_context *context)
{
    struct shape leaves = shape_unknown_dims(2);
    infer_output(context, 0, &leaves);
    return status_ok();
}

/* The shape of one element, which an input gives; -1 as a scalar means an unknown rank. */
struct status infer_list_item(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 2);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* [count] + element */
static void output_elements(struct infer_context *context, int64_t count,
                            const struct shape *element)
{
    if (element->rank < 0 || element->rank + 1 > SHAPE_RANK_MAX)
        return;
    struct shape shape = { 0 };
    shape_append(&shape, count);
    for (int i = 0; i < element->rank; i++)
        shape_append(&shape, element->dims[i]);
    infer_output(context, 0, &shape);
}

struct status infer_list_stack(struct infer_context *context)
{
    struct shape element = infer_shape_value(context, 1);
    int64_t count;
    TRY(node_attr_int(context->node, "num_elements", &count));
    output_elements(context, count >= 0 ? count : -1, &element);
    return status_ok();
}

struct status infer_list_gather(struct infer_context *context)
{
    struct shape element = infer_shape_value(context, 2);
    const struct shape *indices = infer_input(context, 1);
    output_elements(context, indices->rank == 1 ? indices->dims[0] : -1, &element);
    return status_ok();
}

struct status infer_list_pop(struct infer_context *context)
{
    struct shape scalar = shape_scalar(), element = infer_shape_value(context, 1);
    infer_output(context, 0, &scalar);
    infer_output(context, 1, &element);
    return status_ok();
}
