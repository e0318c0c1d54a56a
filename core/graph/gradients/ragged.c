/* Gradients of ops on ragged tensors, which reach their flat values. Source: TensorFlow's
 * ragged_conversion_ops.py, ragged_gather_ops.py and ragged_tensor.py. */
#include "graph/gradients/emit.h"

/* Adds `rows` up at the given rows of a tensor like `x`. A place below 0 is dropped. */
static struct endpoint add_at(struct gradient_context *c, struct endpoint rows,
                              struct endpoint places, struct endpoint x)
{
    const int32_t zero = 0, one = 1;
    struct endpoint count = build_slice(c->builder, NULL, shape_tensor(c, x), 1, &zero, &one);
    const struct endpoint inputs[] = { rows, places,
                                       build_unary(c->builder, "Squeeze", NULL, count) };

    return reshape_like(c, build(c->builder, "UnsortedSegmentSum", NULL, 3, inputs, NULL), x);
}

struct status gradient_ragged_to_sparse(struct gradient_context *c)
{
    int values = c->node->inputs_count - 1;

    if (c->outputs[1].node == NULL)
        return status_ok();
    return flow(c, values, reshape_like(c, c->outputs[1], input(c, values)));
}

/* ---- RaggedGather: its splits, the values and the indices are inputs ---- */

/* Where the rows of the outermost dimension begin and end among the flat values. */
static struct endpoint splits_of_values(struct gradient_context *c)
{
    struct endpoint splits = input(c, 0);

    for (int i = 1; i < c->node->inputs_count - 2; i++)
        splits = gather_rows(c, input(c, i), splits);
    return splits;
}

struct status gradient_ragged_gather(struct gradient_context *c)
{
    const int32_t flat = -1, one = 1;
    struct builder *b = c->builder;
    int values = c->node->inputs_count - 2;
    struct endpoint gradient = c->outputs[c->node->outputs_count - 1];

    if (gradient.node == NULL)
        return status_ok();
    struct endpoint splits = splits_of_values(c);
    struct endpoint rows =
        binary(c, "Reshape", input(c, values + 1), build_const_ints(b, NULL, 1, &flat));
    struct endpoint ends = build_slice(b, NULL, splits, 1, &one, &flat);
    const struct endpoint range[] = { gather_rows(c, splits, rows), gather_rows(c, ends, rows),
                                      number(c, splits, 1) };
    struct node *places = build_node(b, "RaggedRange", NULL, 3, range, 0, NULL, NULL);
    return flow(c, values, add_at(c, gradient, (struct endpoint){ places, 1 }, input(c, values)));
}

/* ---- RaggedTensorToTensor: shape, values, the default value and row partitions ---- */

/* The number of the value that each place of the output was filled from; -1: the default. */
static struct status places_of_values(struct gradient_context *c, struct endpoint *out)
{
    const int32_t zero = 0, one = 1, flat = -1;
    struct builder *b = c->builder;
    struct endpoint values = input(c, 1);
    int partitions = c->node->inputs_count - 3;
    const struct attr_value *types;
    int32_t outer = 1;

    TRY(node_attr_list_of(c->node, "row_partition_types", ATTR_STRING, &types));
    for (int i = 0; i < types->count; i++)
        outer += !bytes_equal(types->elements[i].s, bytes_of("FIRST_DIM_SIZE"));
    struct endpoint *inputs = ARENA_ARRAY(b->graph->arena, struct endpoint, c->node->inputs_count);
    struct endpoint rows = build_slice(b, NULL, shape_tensor(c, values), 1, &zero, &one);
    inputs[0] = build_slice(b, NULL, shape_tensor(c, output(c)), 1, &zero, &outer);
    inputs[1] = build_range(b, build_unary(b, "Squeeze", NULL, rows));
    inputs[2] = build_const_int(b, -1);
    for (int i = 0; i < partitions; i++)
        inputs[3 + i] = input(c, 3 + i);
    struct endpoint places =
        build(b, "RaggedTensorToTensor", NULL, 3 + partitions, inputs,
              (const struct attr[]){ same_attr(c, "row_partition_types"), ATTR_END });
    *out = binary(c, "Reshape", places, build_const_ints(b, NULL, 1, &flat));
    return status_ok();
}

/* The gradient as a list of what has the shape of one flat value. */
static struct endpoint as_rows(struct gradient_context *c)
{
    const int32_t flat = -1, one = 1;
    struct builder *b = c->builder;
    const struct endpoint dims[] = {
        build_const_ints(b, NULL, 1, &flat),
        build_slice(b, NULL, shape_tensor(c, input(c, 1)), 1, &one, &flat), build_const_int(b, 0)
    };

    return binary(c, "Reshape", dy(c), build(b, "ConcatV2", NULL, 3, dims, NULL));
}

/* What the default value has filled, added up. */
static struct endpoint of_default(struct gradient_context *c, struct endpoint rows,
                                  struct endpoint places)
{
    const struct shape unknown = { .rank = -1 };
    const struct endpoint inputs[] = { rows, binary(c, "Sub", number(c, places, -1), places),
                                       build_const_int(c->builder, 1) }; /* -1 becomes 0 */

    return reduce_from(c, build(c->builder, "UnsortedSegmentSum", NULL, 3, inputs, NULL), &unknown,
                       2);
}

struct status gradient_ragged_to_tensor(struct gradient_context *c)
{
    struct endpoint places;

    TRY(places_of_values(c, &places));
    struct endpoint rows = as_rows(c);
    if (c->wanted[1])
        send(c, 1, add_at(c, rows, places, input(c, 1)));
    if (c->wanted[2])
        send(c, 2, of_default(c, rows, places));
    return status_ok();
}

/* ---- ragged tensors in a variant ---- */

struct status gradient_ragged_to_variant(struct gradient_context *c)
{
    int values = c->node->inputs_count - 1;
    const struct endpoint inputs[] = { dy(c),
                                       values > 0 ? input(c, 0) : build_const_int64(c->builder, 0),
                                       unary(c, "Shape", input(c, values)) };
    const struct attr attrs[] = { attr_type("Tvalues", endpoint_dtype(input(c, values))),
                                  ATTR_END };

    return flow(c, values,
                build(c->builder, "RaggedTensorToVariantGradient", NULL, 3, inputs, attrs));
}

/* The gradient of the values, with the splits that the op has found. */
struct status gradient_ragged_from_variant(struct gradient_context *c)
{
    int splits = c->node->outputs_count - 1, rank = endpoint_shape(input(c, 0))->rank;
    struct endpoint *inputs = ARENA_ARRAY(c->builder->graph->arena, struct endpoint, splits + 1);
    bool is_batch = rank < 0 ? splits > 0 : rank > 0;

    if (rank > 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s': RaggedTensorFromVariant has a gradient for a scalar or a "
                            "vector, not for variants of rank %d",
                            c->node->name, rank);
    if (c->outputs[splits].node == NULL)
        return status_ok();
    for (int i = 0; i < splits; i++)
        inputs[i] = (struct endpoint){ c->node, i };
    inputs[splits] = c->outputs[splits];
    const struct attr attrs[] = { attr_int("RAGGED_RANK", splits), same_attr(c, "Tsplits"),
                                  attr_bool("batched_input", is_batch), ATTR_END };
    return flow(c, 0, build(c->builder, "RaggedTensorToVariant", NULL, splits + 1, inputs, attrs));
}
