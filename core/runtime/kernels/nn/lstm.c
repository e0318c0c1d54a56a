/*
 * lstm: LSTMBlockCell, one step of an LSTM, and BlockLSTM and BlockLSTMV2, which take a sequence of
 * steps. All activations are outputs, because the gradients need them.
 */
#include "runtime/kernels/nn/lstm.h"

#include <math.h>

#include "runtime/kernels/float_values.h"
#include "runtime/kernels/plain/matmul.h"
#include "runtime/kernels/plain/recurrent.h"

struct status lstm_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct lstm_state *state = prepare_state(p, sizeof *state, NULL);
    size_t length = strlen(node->op_name);
    bool second = length > 2 && strcmp(node->op_name + length - 2, "V2") == 0;
    state->sequence = strncmp(node->op_name, "Block", 5) == 0;
    state->c_gate = second ? 2 : 1;
    state->f_gate = second ? 1 : 2;
    if (node_attr(node, "forget_bias") != NULL)
        TRY(node_attr_float(node, "forget_bias", &state->forget_bias));
    if (node_attr(node, "cell_clip") != NULL)
        TRY(node_attr_float(node, "cell_clip", &state->clip));
    return node_attr_bool(node, "use_peephole", &state->peephole);
}

/* ---- shapes ---- */

static struct status check_shape(struct kernel_context *k, int index, const char *name,
                                 const struct shape *wanted)
{
    const struct shape *shape = &kernel_input(k, index)->shape;
    if (shape_equal(shape, wanted))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s should have the shape %s, but has %s", name,
                        shape_text(wanted), shape_text(shape));
}

static struct status read_length(struct kernel_context *k, struct lstm_size *size)
{
    const struct tensor *length = kernel_input(k, 0);
    if (length->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "`seq_len_max_tensor` must be rank 0 but is rank %d",
                            length->shape.rank);
    size->length = tensor_int64s(length)[0];
    if (size->length < 0 || size->length > size->steps)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "seq_len_max must be between 0 and %lld but is %lld",
                            (long long)size->steps, (long long)size->length);
    return status_ok();
}

static struct status check_weights(struct kernel_context *k, const struct lstm_size *size, int at)
{
    const struct lstm_state *state = kernel_state(k);
    int64_t gates, rows;
    if (__builtin_mul_overflow(size->cells, 4, &gates) ||
        __builtin_add_overflow(size->inputs, size->cells, &rows))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%lld cells are too many",
                            (long long)size->cells);
    struct shape state_shape = shape_of(size->batch, size->cells), w = shape_of(rows, gates);
    struct shape peep = shape_of(size->cells), b = shape_of(gates);
    TRY(check_shape(k, at + LSTM_CS_PREV, "cs_prev", &state_shape));
    TRY(check_shape(k, at + LSTM_H_PREV, "h_prev", &state_shape));
    TRY(check_shape(k, at + LSTM_W, "w", &w));
    for (int i = LSTM_WCI; i <= LSTM_WCO; i++) {
        const struct shape *shape = &kernel_input(k, at + i)->shape;
        if (state->sequence || state->peephole ||
            shape->rank != 1) /* otherwise any length will do */
            TRY(check_shape(k, at + i, "a peephole's weight", &peep));
    }
    return check_shape(k, at + LSTM_B, "b", &b);
}

struct status lstm_size_of(struct kernel_context *k, struct lstm_size *out)
{
    const struct lstm_state *state = kernel_state(k);
    int at = state->sequence ? 1 : 0, rank = state->sequence ? 3 : 2;
    const struct shape *x = &kernel_input(k, at)->shape;
    const struct shape *cells = &kernel_input(k, at + LSTM_CS_PREV)->shape;
    if (x->rank != rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "x must be %dD", rank);
    if (cells->rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "cs_prev must be 2D");
    *out = (struct lstm_size){ .steps = state->sequence ? x->dims[0] : 1,
                               .batch = x->dims[rank - 2],
                               .inputs = x->dims[rank - 1],
                               .cells = cells->dims[1],
                               .length = 1 };
    if (!state->sequence && (out->batch == 0 || out->cells == 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "cs_prev_tensor is empty, has shape: (%lld,%lld).",
                            (long long)cells->dims[0], (long long)cells->dims[1]);
    TRY(check_weights(k, out, at));
    return state->sequence ? read_length(k, out) : status_ok();
}

/* [steps, batch, cells] or, without time, [batch, cells] */
static struct shape out_shape(const struct lstm_state *state, const struct lstm_size *size)
{
    return state->sequence ? shape_of(size->steps, size->batch, size->cells)
                           : shape_of(size->batch, size->cells);
}

struct status lstm_check_output(struct kernel_context *k, const struct lstm_size *size, int index)
{
    struct shape wanted = out_shape(kernel_state(k), size);
    return check_shape(k, index, "a step's result", &wanted);
}

struct status lstm_inputs_make(struct kernel_context *k, struct lstm_inputs *out)
{
    const struct lstm_state *state = kernel_state(k);
    struct status status = status_ok();
    *out = (struct lstm_inputs){ .count = kernel_inputs_count(k), .at_x = state->sequence ? 1 : 0 };
    for (int i = out->at_x; i < out->count && status_is_ok(status); i++)
        status = float_values(k, kernel_input(k, i), &out->all[i]);
    if (!status_is_ok(status))
        lstm_inputs_release(out);
    return status;
}

void lstm_inputs_release(struct lstm_inputs *inputs)
{
    tensors_release(inputs->count, inputs->all);
}

/* ---- one step ---- */

/* The results of a step, [batch, cells] each, in the order of the op's outputs. */
struct lstm_step {
    float *i, *cs, *f, *o, *ci, *co, *h;
};

static float clipped(float x, float limit)
{
    if (!(limit > 0))
        return x;
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* One row of the batch from its gates [4, cells]. */
static void step_row(const struct lstm_state *state, const struct lstm_inputs *in, int64_t cells,
                     const float *gates, const float *cs_prev, const struct lstm_step *out)
{
    const float *wci = lstm_input(in, LSTM_WCI), *wcf = lstm_input(in, LSTM_WCF);
    const float *wco = lstm_input(in, LSTM_WCO);
    for (int64_t j = 0; j < cells; j++) {
        float i = gates[j], ci = gates[state->c_gate * cells + j];
        float f = gates[state->f_gate * cells + j] + state->forget_bias, o = gates[3 * cells + j];
        if (state->peephole) {
            i += cs_prev[j] * wci[j];
            f += cs_prev[j] * wcf[j];
        }
        out->i[j] = sigmoid_f32(i);
        out->ci[j] = tanhf(ci);
        out->f[j] = sigmoid_f32(f);
        float cs = out->i[j] * out->ci[j] + out->f[j] * cs_prev[j];
        out->cs[j] = clipped(cs, state->clip);
        out->co[j] = tanhf(out->cs[j]);
        if (state->peephole)
            o += out->cs[j] * wco[j];
        out->o[j] = sigmoid_f32(o);
        out->h[j] = out->o[j] * out->co[j];
    }
}

static struct lstm_step step_at(struct tensor outputs[7], int64_t offset)
{
    return (struct lstm_step){
        tensor_floats_mut(&outputs[0]) + offset, tensor_floats_mut(&outputs[1]) + offset,
        tensor_floats_mut(&outputs[2]) + offset, tensor_floats_mut(&outputs[3]) + offset,
        tensor_floats_mut(&outputs[4]) + offset, tensor_floats_mut(&outputs[5]) + offset,
        tensor_floats_mut(&outputs[6]) + offset
    };
}

/* gates [batch, 4 · cells] = [x, h] · w + b */
static void find_gates(const struct lstm_size *size, const struct lstm_inputs *in, const float *x,
                       const float *h, float *xh, float *gates)
{
    int64_t width = size->inputs + size->cells;
    for (int64_t row = 0; row < size->batch; row++) {
        memcpy(xh + row * width, x + row * size->inputs, (size_t)size->inputs * sizeof *xh);
        memcpy(xh + row * width + size->inputs, h + row * size->cells,
               (size_t)size->cells * sizeof *xh);
    }
    const struct matmul_size product = { size->batch, width, 4 * size->cells, false, false };
    const float *b = lstm_input(in, LSTM_B);
    matmul_best_f32(&product, xh, lstm_input(in, LSTM_W), gates);
    for (int64_t row = 0; row < size->batch; row++)
        for (int64_t j = 0; j < 4 * size->cells; j++)
            gates[row * 4 * size->cells + j] += b[j];
}

static struct status steps(struct kernel_context *k, const struct lstm_size *size,
                           const struct lstm_inputs *in, struct tensor outputs[7], float *xh,
                           float *gates)
{
    int64_t block = size->batch * size->cells;
    const float *x = lstm_input(in, LSTM_X), *h = lstm_input(in, LSTM_H_PREV);
    const float *cs = lstm_input(in, LSTM_CS_PREV);
    for (int64_t t = 0; t < size->length; t++, x += size->batch * size->inputs) {
        TRY(kernel_check(k));
        find_gates(size, in, x, h, xh, gates);
        for (int64_t row = 0; row < size->batch; row++) {
            struct lstm_step out = step_at(outputs, t * block + row * size->cells);
            step_row(kernel_state(k), in, size->cells, gates + row * 4 * size->cells,
                     cs + row * size->cells, &out);
        }
        cs = tensor_floats(&outputs[1]) + t * block;
        h = tensor_floats(&outputs[6]) + t * block;
    }
    return status_ok();
}

static struct status run_steps(struct kernel_context *k, const struct lstm_size *size,
                               struct tensor outputs[7])
{
    struct tensor xh = { 0 }, gates = { 0 };
    struct lstm_inputs in;
    struct status status;
    struct shape wide = shape_of(size->batch, size->inputs + size->cells);
    struct shape four = shape_of(size->batch, 4 * size->cells);
    TRY(shape_check(2, wide.dims, &wide));
    TRY(shape_check(2, four.dims, &four));
    TRY(lstm_inputs_make(k, &in));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &wide, &xh));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &four, &gates));
    if (size->batch > 0 && size->cells > 0)
        status = steps(k, size, &in, outputs, xh.data, gates.data);
done:
    tensor_release(&xh);
    tensor_release(&gates);
    lstm_inputs_release(&in);
    return status;
}

static struct status lstm_compute(struct kernel_context *k)
{
    struct lstm_size size;
    struct tensor *out[7], sums[7] = { { 0 } };
    struct status status = status_ok();
    TRY(lstm_size_of(k, &size));
    struct shape shape = out_shape(kernel_state(k), &size);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    for (int i = 0; i < 7; i++)
        TRY(kernel_output(k, i, &shape, &out[i]));
    for (int i = 0; i < 7 && status_is_ok(status); i++)
        status = float_sums_begin(k, out[i], &sums[i]);
    if (status_is_ok(status))
        status = run_steps(k, &size, sums);
    for (int i = 0; i < 7; i++)
        if (sums[i].dtype == DT_FLOAT) /* begun */
            float_sums_end(&sums[i], out[i]);
    return status;
}

#define LSTM(op)                                                                                  \
    {                                                                                             \
        op, DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .prepare = lstm_prepare, .compute = lstm_compute, \
                                                .costly = true                                    \
    }
static const struct kernel rows[] = {
    LSTM("LSTMBlockCell"),
    LSTM("BlockLSTM"),
    LSTM("BlockLSTMV2"),
};
const struct kernel_table kernels_lstm = { rows, COUNT(rows) };
