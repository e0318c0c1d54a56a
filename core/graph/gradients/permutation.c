/* Gradients of ops that move elements and have another op, or themselves, as their inverse. Source:
 * TensorFlow's array_grad.py. */
#include "graph/gradients/emit.h"

struct status gradient_identity_n(struct gradient_context *c)
{
    for (int i = 0; i < c->node->outputs_count; i++)
        send(c, i, c->outputs[i]);
    return status_ok();
}

struct status gradient_reverse_sequence(struct gradient_context *c)
{
    const struct attr attrs[] = { same_attr(c, "seq_dim"), same_attr(c, "batch_dim"), ATTR_END };

    return flow(c, 0,
                build(c->builder, "ReverseSequence", NULL, 2,
                      (const struct endpoint[]){ dy(c), input(c, 1) }, attrs));
}

struct status gradient_matrix_band_part(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1), input(c, 2) };

    return flow(c, 0, build(c->builder, "MatrixBandPart", NULL, 3, inputs, NULL));
}

static struct status blocks(struct gradient_context *c, const char *op)
{
    struct endpoint gradient = dy(c);
    const struct attr attrs[] = { same_attr(c, "block_size"), same_attr(c, "data_format"),
                                  ATTR_END };

    return flow(c, 0, build(c->builder, op, NULL, 1, &gradient, attrs));
}

struct status gradient_depth_to_space(struct gradient_context *c)
{
    return blocks(c, "SpaceToDepth");
}

struct status gradient_space_to_depth(struct gradient_context *c)
{
    return blocks(c, "DepthToSpace");
}

static struct status batches(struct gradient_context *c, const char *op)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1), input(c, 2) };

    return flow(c, 0, build(c->builder, op, NULL, 3, inputs, NULL));
}

struct status gradient_batch_to_space(struct gradient_context *c)
{
    return batches(c, "SpaceToBatchND");
}

struct status gradient_space_to_batch(struct gradient_context *c)
{
    return batches(c, "BatchToSpaceND");
}

/* The first versions, whose blocks have one size. */
static struct status square_batches(struct gradient_context *c, const char *op)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1) };
    const struct attr attrs[] = { same_attr(c, "block_size"), ATTR_END };

    return flow(c, 0, build(c->builder, op, NULL, 2, inputs, attrs));
}

struct status gradient_batch_to_space_v1(struct gradient_context *c)
{
    return square_batches(c, "SpaceToBatch");
}

struct status gradient_space_to_batch_v1(struct gradient_context *c)
{
    return square_batches(c, "BatchToSpace");
}

/* ---- by indices ---- */

/* The shape of x, of the dtype of the indices. */
static struct endpoint shape_as(struct gradient_context *c, struct endpoint x,
                                struct endpoint indices)
{
    return build(c->builder, "Shape", NULL, 1, &x,
                 (const struct attr[]){ attr_type("out_type", endpoint_dtype(indices)), ATTR_END });
}

struct status gradient_gather_nd(struct gradient_context *c)
{
    struct endpoint indices = input(c, 1);
    const struct endpoint inputs[] = { indices, dy(c), shape_as(c, input(c, 0), indices) };

    return flow(c, 0, build(c->builder, "ScatterNd", NULL, 3, inputs, NULL));
}

struct status gradient_scatter_nd(struct gradient_context *c)
{
    return flow(c, 1, binary(c, "GatherNd", dy(c), input(c, 0)));
}

/* Each piece was put into the places of its indices. */
struct status gradient_dynamic_stitch(struct gradient_context *c)
{
    int count = c->node->inputs_count / 2;

    for (int i = 0; i < count; i++)
        if (c->wanted[count + i])
            send(c, count + i, gather_rows(c, dy(c), input(c, i)));
    return status_ok();
}

/* Each row gets the gradient of its segment; a row of a segment below 0 was dropped. */
struct status gradient_unsorted_segment_sum(struct gradient_context *c)
{
    struct endpoint ids = input(c, 1), zero = number(c, ids, 0);
    const struct shape *shape = endpoint_shape(ids), *rows = endpoint_shape(input(c, 0));

    if (shape->rank < 0 || rows->rank < shape->rank)
        return not_constant(c, "the rank of its inputs");
    struct endpoint gathered = gather_rows(c, dy(c), binary(c, "Maximum", ids, zero));
    struct endpoint kept = binary(c, "GreaterEqual", ids, zero);
    for (int i = shape->rank; i < rows->rank; i++)
        kept = build_expand_dims(c->builder, kept, i);
    struct endpoint zeros = number(c, gathered, 0);
    return flow(c, 0, build_select(c->builder, kept, gathered, zeros));
}

struct status gradient_segment_sum(struct gradient_context *c)
{
    return flow(c, 0, gather_rows(c, dy(c), input(c, 1)));
}

/* The slices that the updates replaced have no gradient. */
struct status gradient_tensor_scatter_update(struct gradient_context *c)
{
    const struct endpoint cleared[] = { dy(c), input(c, 1), unary(c, "ZerosLike", input(c, 2)) };

    if (c->wanted[0])
        send(c, 0, build(c->builder, "TensorScatterUpdate", NULL, 3, cleared, NULL));
    return flow(c, 2, binary(c, "GatherNd", dy(c), input(c, 1)));
}

struct status gradient_tensor_scatter_add(struct gradient_context *c)
{
    send(c, 0, dy(c));
    return flow(c, 2, binary(c, "GatherNd", dy(c), input(c, 1)));
}

struct status gradient_tensor_scatter_sub(struct gradient_context *c)
{
    send(c, 0, dy(c));
    return flow(c, 2, unary(c, "Neg", binary(c, "GatherNd", dy(c), input(c, 1))));
}

struct status gradient_roll(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), unary(c, "Neg", input(c, 1)), input(c, 2) };

    return flow(c, 0, build(c->builder, "Roll", NULL, 3, inputs, NULL));
}

struct status gradient_reverse(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "Reverse", dy(c), input(c, 1)));
}

struct status gradient_diag(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "DiagPart", dy(c)));
}

struct status gradient_diag_part(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "Diag", dy(c)));
}

struct status gradient_cross(struct gradient_context *c)
{
    send(c, 0, binary(c, "Cross", input(c, 1), dy(c)));
    return flow(c, 1, binary(c, "Cross", dy(c), input(c, 0)));
}
