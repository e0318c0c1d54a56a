/*
 * lstm_grad: the gradients of LSTMBlockCell, BlockLSTM and BlockLSTMV2, by the activations that
 * these put out.
 */
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/nn/lstm.h"
#include "runtime/kernels/plain/matmul.h"

/* The activations of a step, and its gradients, [batch, cells] each. */
struct lstm_back {
    const float *i, *cs, *f, *o, *ci, *co, *cs_prev;
    const float *dh, *dcs; /* of the step's outputs */
    float *dgates;         /* [batch, 4, cells] */
    float *dcs_prev;
    float *dwci, *dwcf, *dwco; /* [cells], added to */
};

/* Row `row` of the batch. */
static void back_row(const struct lstm_state *state, const struct lstm_inputs *in, int64_t cells,
                     int64_t row, const struct lstm_back *s)
{
    const float *wci = lstm_input(in, LSTM_WCI), *wcf = lstm_input(in, LSTM_WCF);
    const float *wco = lstm_input(in, LSTM_WCO);
    float *gates = s->dgates + row * 4 * cells;
    for (int64_t j = 0; j < cells; j++) {
        int64_t at = row * cells + j;
        float i = s->i[at], f = s->f[at], o = s->o[at], ci = s->ci[at], co = s->co[at];
        float d_o = o * (1 - o) * s->dh[at] * co;
        float dcs = (1 - co * co) * s->dh[at] * o + s->dcs[at];
        if (state->peephole)
            dcs += d_o * wco[j];
        float dci = (1 - ci * ci) * dcs * i;
        float df = f * (1 - f) * dcs * s->cs_prev[at], di = i * (1 - i) * dcs * ci;
        gates[j] = di;
        gates[state->c_gate * cells + j] = dci;
        gates[state->f_gate * cells + j] = df;
        gates[3 * cells + j] = d_o;
        s->dcs_prev[at] = dcs * f;
        if (state->peephole) {
            s->dcs_prev[at] += di * wci[j] + df * wcf[j];
            s->dwci[j] += di * s->cs_prev[at];
            s->dwcf[j] += df * s->cs_prev[at];
            s->dwco[j] += d_o * s->cs[at];
        }
    }
}

static void back_step(const struct lstm_state *state, const struct lstm_inputs *in,
                      const struct lstm_size *size, const struct lstm_back *step)
{
    for (int64_t row = 0; row < size->batch; row++)
        back_row(state, in, size->cells, row, step);
}

/* Makes the outputs and their sums; float_sums_end ends them. */
static struct status outputs_begin(struct kernel_context *k, int count, const struct shape *shapes,
                                   struct tensor **out, struct tensor *sums)
{
    struct status status = status_ok();
    for (int i = 0; i < count && status_is_ok(status); i++) {
        struct shape shape = shapes[i];
        status = shape_check(shape.rank, shape.dims, &shape);
        if (status_is_ok(status))
            status = kernel_output(k, i, &shape, &out[i]);
        if (status_is_ok(status))
            status = float_sums_begin(k, out[i], &sums[i]);
    }
    return status;
}

static void outputs_end(int count, struct tensor **out, struct tensor *sums)
{
    for (int i = 0; i < count; i++)
        if (sums[i].dtype == DT_FLOAT) /* begun */
            float_sums_end(&sums[i], out[i]);
}

/* ---- LSTMBlockCellGrad ---- */

static struct status cell_grad(struct kernel_context *k, const struct lstm_size *size,
                               struct tensor sums[5])
{
    struct lstm_inputs in;
    TRY(lstm_inputs_make(k, &in));
    const struct lstm_back step = { .i = lstm_input(&in, LSTM_I),
                                    .cs = lstm_input(&in, LSTM_CS),
                                    .f = lstm_input(&in, LSTM_F),
                                    .o = lstm_input(&in, LSTM_O),
                                    .ci = lstm_input(&in, LSTM_CI),
                                    .co = lstm_input(&in, LSTM_CO),
                                    .cs_prev = lstm_input(&in, LSTM_CS_PREV),
                                    .dcs = lstm_input(&in, LSTM_AFTER),
                                    .dh = lstm_input(&in, LSTM_AFTER + 1),
                                    .dcs_prev = tensor_floats_mut(&sums[0]),
                                    .dgates = tensor_floats_mut(&sums[1]),
                                    .dwci = tensor_floats_mut(&sums[2]),
                                    .dwcf = tensor_floats_mut(&sums[3]),
                                    .dwco = tensor_floats_mut(&sums[4]) };
    back_step(kernel_state(k), &in, size, &step);
    lstm_inputs_release(&in);
    return status_ok();
}

static struct status cell_grad_compute(struct kernel_context *k)
{
    struct lstm_size size;
    struct tensor *out[5], sums[5] = { { 0 } };
    TRY(lstm_size_of(k, &size));
    for (int i = LSTM_I; i < LSTM_AFTER + 2; i++)
        TRY(lstm_check_output(k, &size, i));
    for (int i = LSTM_WCI; i <= LSTM_WCO; i++) {
        const struct shape *w = &kernel_input(k, i)->shape;
        if (w->dims[0] != size.cells)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "a peephole's weight should have %lld elements, but has %lld",
                                (long long)size.cells, (long long)w->dims[0]);
    }
    struct shape vector = shape_of(size.cells);
    const struct shape shapes[] = { shape_of(size.batch, size.cells),
                                    shape_of(size.batch, 4 * size.cells), vector, vector, vector };
    struct status status = outputs_begin(k, 5, shapes, out, sums);
    if (status_is_ok(status))
        status = cell_grad(k, &size, sums);
    outputs_end(5, out, sums);
    return status;
}

/* ---- BlockLSTMGrad ---- */

enum { DX, DCS_PREV, DH_PREV, DW, DWCI, DWCF, DWCO, DB, BLOCK_OUTPUTS };

/* Room for one step. */
struct block_room {
    struct tensor xh, dxh; /* [batch, inputs + cells] */
    struct tensor dgates;  /* [batch, 4 · cells] */
    struct tensor dcs, dh; /* [batch, cells] */
    struct tensor dw;      /* [inputs + cells, 4 · cells] */
};

static void room_release(struct block_room *room)
{
    struct tensor *all[] = {
        &room->xh, &room->dxh, &room->dgates, &room->dcs, &room->dh, &room->dw
    };
    for (size_t i = 0; i < COUNT(all); i++)
        tensor_release(all[i]);
}

static struct status room_make(struct kernel_context *k, const struct lstm_size *size,
                               struct block_room *room)
{
    const struct shape shapes[] = { shape_of(size->batch, size->inputs + size->cells),
                                    shape_of(size->batch, size->inputs + size->cells),
                                    shape_of(size->batch, 4 * size->cells),
                                    shape_of(size->batch, size->cells),
                                    shape_of(size->batch, size->cells),
                                    kernel_input(k, 1 + LSTM_W)->shape };
    struct tensor *all[] = {
        &room->xh, &room->dxh, &room->dgates, &room->dcs, &room->dh, &room->dw
    };
    struct status status = status_ok();
    *room = (struct block_room){ 0 };
    for (size_t i = 0; i < COUNT(all) && status_is_ok(status); i++) {
        struct shape shape = shapes[i];
        status = shape_check(2, shape.dims, &shape);
        if (status_is_ok(status))
            status = kernel_scratch(k, DT_FLOAT, &shape, all[i]);
    }
    if (!status_is_ok(status))
        room_release(room);
    return status;
}

static void add_to(const float *x, float *sum, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sum[i] += x[i];
}

/* The gradients of x, h_prev, w and b of a step, by those of its gates. */
static void pass_gates(const struct lstm_size *size, const struct lstm_inputs *in,
                       struct block_room *room, int64_t t, const float *h_prev,
                       struct tensor sums[BLOCK_OUTPUTS])
{
    int64_t width = size->inputs + size->cells, gates = 4 * size->cells;
    const float *x = lstm_input(in, LSTM_X) + t * size->batch * size->inputs;
    const struct matmul_size to_xh = { size->batch, gates, width, false, true };
    const struct matmul_size to_w = { width, size->batch, gates, true, false };
    float *xh = tensor_floats_mut(&room->xh), *dxh = tensor_floats_mut(&room->dxh);
    float *dx = tensor_floats_mut(&sums[DX]) + t * size->batch * size->inputs;
    float *dh = tensor_floats_mut(&sums[DH_PREV]);
    const float *dgates = tensor_floats(&room->dgates);
    matmul_best_f32(&to_xh, dgates, lstm_input(in, LSTM_W), dxh);
    for (int64_t row = 0; row < size->batch; row++) {
        size_t inputs = (size_t)size->inputs * sizeof *x, cells = (size_t)size->cells * sizeof *x;
        memcpy(xh + row * width, x + row * size->inputs, inputs);
        memcpy(xh + row * width + size->inputs, h_prev + row * size->cells, cells);
        memcpy(dx + row * size->inputs, dxh + row * width, inputs);
        memcpy(dh + row * size->cells, dxh + row * width + size->inputs, cells);
        add_to(dgates + row * gates, tensor_floats_mut(&sums[DB]), gates);
    }
    matmul_best_f32(&to_w, xh, dgates, tensor_floats_mut(&room->dw));
    add_to(tensor_floats(&room->dw), tensor_floats_mut(&sums[DW]), room->dw.size);
}

/* Step t. DCS_PREV and DH_PREV hold the gradients of the next step in time, and then of this
 * one. */
static void block_step(const struct lstm_state *state, const struct lstm_size *size,
                       const struct lstm_inputs *in, struct block_room *room, int64_t t,
                       struct tensor sums[BLOCK_OUTPUTS])
{
    int64_t block = size->batch * size->cells, at = t * block;
    float *dcs = tensor_floats_mut(&room->dcs), *dh = tensor_floats_mut(&room->dh);
    memcpy(dcs, lstm_input(in, LSTM_AFTER + 1) + at, (size_t)block * sizeof *dcs);
    memcpy(dh, lstm_input(in, LSTM_AFTER + 2) + at, (size_t)block * sizeof *dh);
    add_to(tensor_floats(&sums[DCS_PREV]), dcs, block);
    add_to(tensor_floats(&sums[DH_PREV]), dh, block);
    const struct lstm_back step = {
        .i = lstm_input(in, LSTM_I) + at,
        .cs = lstm_input(in, LSTM_CS) + at,
        .f = lstm_input(in, LSTM_F) + at,
        .o = lstm_input(in, LSTM_O) + at,
        .ci = lstm_input(in, LSTM_CI) + at,
        .co = lstm_input(in, LSTM_CO) + at,
        .cs_prev = t == 0 ? lstm_input(in, LSTM_CS_PREV) : lstm_input(in, LSTM_CS) + at - block,
        .dcs = dcs,
        .dh = dh,
        .dgates = tensor_floats_mut(&room->dgates),
        .dcs_prev = tensor_floats_mut(&sums[DCS_PREV]),
        .dwci = tensor_floats_mut(&sums[DWCI]),
        .dwcf = tensor_floats_mut(&sums[DWCF]),
        .dwco = tensor_floats_mut(&sums[DWCO]),
    };
    back_step(state, in, size, &step);
    pass_gates(size, in, room, t,
               t == 0 ? lstm_input(in, LSTM_H_PREV) : lstm_input(in, LSTM_AFTER) + at - block,
               sums);
}

static struct status block_steps(struct kernel_context *k, const struct lstm_size *size,
                                 struct tensor sums[BLOCK_OUTPUTS])
{
    struct block_room room = { 0 };
    struct lstm_inputs in;
    struct status status;
    TRY(lstm_inputs_make(k, &in));
    TRY_OR(done, room_make(k, size, &room));
    for (int64_t t = size->length - 1; t >= 0 && status_is_ok(status); t--) {
        block_step(kernel_state(k), size, &in, &room, t, sums);
        status = kernel_check(k);
    }
done:
    room_release(&room);
    lstm_inputs_release(&in);
    return status;
}

/* The inputs after LSTM_CO are h, and the gradients of cs and of h. */
static struct status block_grad_compute(struct kernel_context *k)
{
    struct lstm_size size;
    struct tensor *out[BLOCK_OUTPUTS], sums[BLOCK_OUTPUTS] = { { 0 } };
    struct shape shapes[BLOCK_OUTPUTS];
    TRY(lstm_size_of(k, &size));
    for (int i = LSTM_I; i < LSTM_AFTER + 3; i++)
        TRY(lstm_check_output(k, &size, 1 + i));
    for (int i = 0; i < BLOCK_OUTPUTS; i++)
        shapes[i] = kernel_input(k, 1 + i)->shape;
    struct status status = outputs_begin(k, BLOCK_OUTPUTS, shapes, out, sums);
    if (status_is_ok(status) && size.batch > 0 && size.cells > 0)
        status = block_steps(k, &size, sums);
    outputs_end(BLOCK_OUTPUTS, out, sums);
    return status;
}

#define GRAD(op, function)                                                                    \
    {                                                                                         \
        op, DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .prepare = lstm_prepare, .compute = function, \
                                                .costly = true                                \
    }
static const struct kernel rows[] = {
    GRAD("LSTMBlockCellGrad", cell_grad_compute),
    GRAD("BlockLSTMGrad", block_grad_compute),
    GRAD("BlockLSTMGradV2", block_grad_compute),
};
const struct kernel_table kernels_lstm_grad = { rows, COUNT(rows) };
