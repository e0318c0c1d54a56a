/* Shapes of LSTM and GRU cells. */
#include "graph/ops/infer.h"

static void infer_all(struct infer_context *context, const struct shape *shape)
{
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, shape);
}

/* All outputs have the shape of input 1, the state before. */
struct status infer_lstm_cell(struct infer_context *context)
{
    infer_all(context, infer_input(context, 1));
    return status_ok();
}

/* x [steps, batch, inputs], cs_prev [batch, cells] */
struct status infer_block_lstm(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 1), *cells = infer_input(context, 2);
    struct shape shape = shape_unknown_dims(3);

    TRY(infer_rank(x, 3, "x"));
    TRY(infer_rank(cells, 2, "cs_prev"));
    if (x->rank == 3) {
        shape.dims[0] = x->dims[0];
        shape.dims[1] = x->dims[1];
    }
    if (cells->rank == 2)
        shape.dims[2] = cells->dims[1];
    infer_all(context, &shape);
    return status_ok();
}

/* [batch, count · cells] for a state [batch, cells] */
static struct shape several(const struct shape *state, int64_t count)
{
    struct shape shape = shape_unknown_dims(2);

    if (state->rank != 2)
        return shape;
    shape.dims[0] = state->dims[0];
    if (state->dims[1] >= 0 && __builtin_mul_overflow(state->dims[1], count, &shape.dims[1]))
        shape.dims[1] = -1;
    return shape;
}

struct status infer_lstm_cell_grad(struct infer_context *context)
{
    const struct shape *state = infer_input(context, 1);
    struct shape gates = several(state, 4);

    TRY(infer_rank(state, 2, "cs_prev"));
    infer_output(context, 0, state);
    infer_output(context, 1, &gates);
    for (int i = 0; i < 3; i++)
        infer_output(context, 2 + i, infer_input(context, 4 + i));
    return status_ok();
}

struct status infer_gru_cell_grad(struct infer_context *context)
{
    const struct shape *state = infer_input(context, 1);
    struct shape gates = several(state, 2);

    TRY(infer_rank(state, 2, "h_prev"));
    infer_output(context, 0, infer_input(context, 0));
    infer_output(context, 1, state);
    infer_output(context, 2, state);
    infer_output(context, 3, &gates);
    return status_ok();
}
