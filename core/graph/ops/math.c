/* Shapes of reductions and products. */
#include "graph/einsum.h"
#include "graph/ops/infer.h"

struct status infer_reduce(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct values axes;
    bool keep, reduced[SHAPE_RANK_MAX] = { false };

    TRY(node_attr_bool(context->node, "keep_dims", &keep));
    infer_values(context, 1, &axes);
    if (input->rank < 0)
        return status_ok();
    bool known = axes.rank >= 0;
    for (int i = 0; i < axes.count; i++) {
        int axis;
        if (axes.at[i] == VALUE_UNKNOWN) {
            known = false;
            break;
        }
        TRY(infer_axis(axes.at[i], input->rank, &axis));
        reduced[axis] = true;
    }
    struct shape shape = keep && !known ? shape_unknown_dims(input->rank) : shape_unknown();
    if (known) {
        shape = shape_scalar();
        for (int i = 0; i < input->rank; i++)
            if (!reduced[i] || keep)
                shape_append(&shape, reduced[i] ? 1 : input->dims[i]);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The key of one number, the counter of two, and perhaps the algorithm, a scalar. */
struct status infer_key_counter(struct infer_context *context)
{
    const struct shape shapes[] = { shape_of(1), shape_of(2), shape_scalar() };
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &shapes[i]);
    return status_ok();
}

/* The last dimensions become the lengths of the transform; RFFT has half of the last one. */
struct status infer_real_fft(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    struct values lengths;
    infer_values(context, 1, &lengths);
    int first = shape.rank - lengths.count;
    if (shape.rank < 1 || lengths.rank < 0 || first < 0)
        return status_ok();
    for (int i = 0; i < lengths.count; i++) {
        bool known = lengths.at[i] != VALUE_UNKNOWN && lengths.at[i] >= 0;
        shape.dims[first + i] = known ? lengths.at[i] : -1;
    }
    int64_t *last = &shape.dims[shape.rank - 1];
    if (context->node->op_name[0] == 'R' && lengths.count > 0 && *last > 0)
        *last = *last / 2 + 1;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_multinomial(struct infer_context *context)
{
    const struct shape *logits = infer_input(context, 0);
    struct shape shape = shape_unknown_dims(2);
    int64_t samples;
    if (logits->rank == 2)
        shape.dims[0] = logits->dims[0];
    if (infer_int(context, 1, &samples) && samples >= 0)
        shape.dims[1] = samples;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_candidates(struct infer_context *context)
{
    const struct shape *classes = infer_input(context, 0);
    struct shape drawn = shape_unknown_dims(1), expected = shape_unknown_dims(2);
    TRY(node_attr_int(context->node, "num_sampled", &drawn.dims[0]));
    TRY(node_attr_int(context->node, "num_true", &expected.dims[1]));
    if (classes->rank == 2)
        expected.dims[0] = classes->dims[0];
    infer_output(context, 0, &drawn);
    infer_output(context, 1, &expected);
    infer_output(context, 2, &drawn);
    return status_ok();
}

struct status infer_bincount(struct infer_context *context)
{
    struct shape vector = shape_unknown_dims(1);
    int64_t size;
    if (infer_int(context, 1, &size) && size >= 0)
        vector.dims[0] = size;
    infer_output(context, 0, &vector);
    return status_ok();
}

/* A matrix is counted by rows. */
struct status infer_dense_bincount(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct shape shape = shape_unknown_dims(input->rank);
    int64_t size;

    if (input->rank < 1 || input->rank > 2)
        return status_ok();
    if (input->rank == 2)
        shape.dims[0] = input->dims[0];
    if (infer_int(context, 1, &size) && size >= 0)
        shape.dims[input->rank - 1] = size;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The last two dimensions of a product; a and b have at least these. */
static struct status product(const struct shape *a, bool transpose_a, const struct shape *b,
                             bool transpose_b, int64_t *rows, int64_t *columns)
{
    const int64_t *x = &a->dims[a->rank - 2], *y = &b->dims[b->rank - 2];
    int64_t inner_a = x[transpose_a ? 0 : 1], inner_b = y[transpose_b ? 1 : 0];
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Matrix size-incompatible: In[0]: %s, In[1]: %s", shape_text(a),
                            shape_text(b));
    *rows = x[transpose_a ? 1 : 0];
    *columns = y[transpose_b ? 0 : 1];
    return status_ok();
}

struct status infer_matmul(struct infer_context *context)
{
    struct shape a = *infer_input(context, 0), b = *infer_input(context, 1);
    struct shape shape = { .rank = 2 };
    bool transpose_a, transpose_b;

    TRY(node_attr_bool(context->node, "transpose_a", &transpose_a));
    TRY(node_attr_bool(context->node, "transpose_b", &transpose_b));
    TRY(infer_rank(&a, 2, "a"));
    TRY(infer_rank(&b, 2, "b"));
    if (a.rank < 0)
        a = shape_unknown_dims(2);
    if (b.rank < 0)
        b = shape_unknown_dims(2);
    TRY(product(&a, transpose_a, &b, transpose_b, &shape.dims[0], &shape.dims[1]));
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_batch_matmul(struct infer_context *context)
{
    struct shape a = *infer_input(context, 0), b = *infer_input(context, 1);
    struct shape shape;
    int64_t rows, columns;
    bool adj_x, adj_y;

    TRY(node_attr_bool(context->node, "adj_x", &adj_x));
    TRY(node_attr_bool(context->node, "adj_y", &adj_y));
    if (a.rank < 0 || b.rank < 0)
        return status_ok();
    if (a.rank < 2 || b.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%s and %s should have rank 2 or more",
                            shape_text(&a), shape_text(&b));
    TRY(product(&a, adj_x, &b, adj_y, &rows, &columns));
    a.rank -= 2;
    b.rank -= 2;
    TRY(shape_broadcast(&a, &b, &shape));
    shape_append(&shape, rows);
    shape_append(&shape, columns);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* An operand of unknown rank has the dimensions that its labels name. */
struct status infer_einsum(struct infer_context *context)
{
    const struct shape *shapes[EINSUM_OPERANDS_MAX];
    struct shape labelled[EINSUM_OPERANDS_MAX];
    struct einsum_equation einsum;
    struct einsum_binding axes;
    struct bytes equation;

    TRY(node_attr_string(context->node, "equation", &equation));
    TRY(einsum_parse(equation, context->node->inputs_count, &einsum));
    for (int n = 0; n < einsum.inputs_count; n++) {
        const struct einsum_labels *labels = &einsum.inputs[n];
        shapes[n] = infer_input(context, n);
        if (shapes[n]->rank >= 0)
            continue;
        if (labels->count > SHAPE_RANK_MAX ||
            (labels->ellipsis >= 0 && einsum.output.ellipsis >= 0))
            return status_ok();
        labelled[n] = shape_unknown_dims(labels->count);
        shapes[n] = &labelled[n];
    }
    TRY(einsum_bind(&einsum, shapes, &axes));
    infer_output(context, 0, &axes.output);
    return status_ok();
}
