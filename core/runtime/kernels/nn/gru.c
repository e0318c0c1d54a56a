/* gru: GRUBlockCell, one step of a GRU, and its gradient. */
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/matmul.h"
#include "runtime/kernels/plain/recurrent.h"

enum { X, H_PREV, W_RU, W_C, B_RU, B_C, R, U, C, DH };

struct gru_size {
    int64_t batch, inputs, cells;
};

static struct status check_gru_shape(struct kernel_context *k, int index,
                                     const struct shape *wanted)
{
    const struct shape *shape = &kernel_input(k, index)->shape;
    if (shape_equal(shape, wanted))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d should have the shape %s, but has %s",
                        index, shape_text(wanted), shape_text(shape));
}

static struct status gru_size_of(struct kernel_context *k, struct gru_size *out)
{
    const struct shape *x = &kernel_input(k, X)->shape, *h = &kernel_input(k, H_PREV)->shape;
    int64_t rows, twice;
    if (x->rank != 2 || h->rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Rank of x and h_prev must be 2");
    *out = (struct gru_size){ x->dims[0], x->dims[1], h->dims[1] };
    if (__builtin_add_overflow(out->inputs, out->cells, &rows) ||
        __builtin_mul_overflow(out->cells, 2, &twice))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%lld cells are too many",
                            (long long)out->cells);
    const struct shape state = shape_of(out->batch, out->cells);
    const struct shape wanted[] = { [H_PREV] = state,
                                    [W_RU] = shape_of(rows, twice),
                                    [W_C] = shape_of(rows, out->cells),
                                    [B_RU] = shape_of(twice),
                                    [B_C] = shape_of(out->cells),
                                    [R] = state,
                                    [U] = state,
                                    [C] = state,
                                    [DH] = state };
    for (int i = H_PREV; i < kernel_inputs_count(k); i++)
        TRY(check_gru_shape(k, i, &wanted[i]));
    return status_ok();
}

static const float *floats_of(struct kernel_context *k, int index)
{
    return tensor_floats(kernel_input(k, index));
}

/* xh [batch, inputs + cells] = [x, h · factor]; factor NULL: 1 */
static void join(const struct gru_size *size, const float *x, const float *h, const float *factor,
                 float *xh)
{
    for (int64_t row = 0; row < size->batch; row++) {
        memcpy(xh, x + row * size->inputs, (size_t)size->inputs * sizeof *xh);
        xh += size->inputs;
        for (int64_t j = 0; j < size->cells; j++) {
            int64_t at = row * size->cells + j;
            *xh++ = factor == NULL ? h[at] : h[at] * factor[at];
        }
    }
}

/* ---- forward ---- */

struct gru_outputs {
    float *r, *u, *c, *h;
};

static void find_gates(struct kernel_context *k, const struct gru_size *size, float *xh,
                       float *gates, const struct gru_outputs *out)
{
    const struct matmul_size product = { size->batch, size->inputs + size->cells, 2 * size->cells,
                                         false, false };
    const float *b = floats_of(k, B_RU);
    join(size, floats_of(k, X), floats_of(k, H_PREV), NULL, xh);
    matmul_best_f32(&product, xh, floats_of(k, W_RU), gates);
    for (int64_t i = 0; i < size->batch * size->cells; i++) {
        int64_t j = i % size->cells, row = i / size->cells * 2 * size->cells;
        out->r[i] = sigmoid_f32(gates[row + j] + b[j]);
        out->u[i] = sigmoid_f32(gates[row + size->cells + j] + b[size->cells + j]);
    }
}

static void gru_state(struct kernel_context *k, const struct gru_size *size, float *xh,
                      const struct gru_outputs *out)
{
    const struct matmul_size product = { size->batch, size->inputs + size->cells, size->cells,
                                         false, false };
    const float *b = floats_of(k, B_C), *h = floats_of(k, H_PREV);
    join(size, floats_of(k, X), h, out->r, xh);
    matmul_best_f32(&product, xh, floats_of(k, W_C), out->c);
    for (int64_t i = 0; i < size->batch * size->cells; i++) {
        out->c[i] = tanhf(out->c[i] + b[i % size->cells]);
        out->h[i] = out->u[i] * h[i] + (1 - out->u[i]) * out->c[i];
    }
}

/* Scratch of [batch, inputs + cells], and of [batch, 2 · cells]. */
static struct status gru_room(struct kernel_context *k, const struct gru_size *size,
                              struct tensor *xh, struct tensor *gates)
{
    struct shape wide = shape_of(size->batch, size->inputs + size->cells);
    struct shape two = shape_of(size->batch, 2 * size->cells);
    TRY(shape_check(2, wide.dims, &wide));
    TRY(shape_check(2, two.dims, &two));
    TRY(kernel_scratch(k, DT_FLOAT, &wide, xh));
    struct status status = kernel_scratch(k, DT_FLOAT, &two, gates);
    if (!status_is_ok(status))
        tensor_release(xh);
    return status;
}

static struct status gru_compute(struct kernel_context *k)
{
    struct gru_size size;
    struct tensor *outputs[4], xh, gates;
    TRY(gru_size_of(k, &size));
    struct shape state = shape_of(size.batch, size.cells);
    for (int i = 0; i < 4; i++)
        TRY(kernel_output(k, i, &state, &outputs[i]));
    if (outputs[0]->size == 0)
        return status_ok();
    TRY(gru_room(k, &size, &xh, &gates));
    const struct gru_outputs out = { outputs[0]->data, outputs[1]->data, outputs[2]->data,
                                     outputs[3]->data };
    find_gates(k, &size, xh.data, gates.data, &out);
    gru_state(k, &size, xh.data, &out);
    tensor_release(&xh);
    tensor_release(&gates);
    return status_ok();
}

/* ---- gradient ---- */

struct gru_gradients {
    float *dx, *dh_prev, *dc, *dru; /* dc, dru: of what tanh and the sigmoids are applied to */
};

static void add_product(const struct gru_size *size, const float *dxh, const float *factor,
                        const struct gru_gradients *out)
{
    int64_t width = size->inputs + size->cells;
    for (int64_t row = 0; row < size->batch; row++, dxh += width) {
        for (int64_t j = 0; j < size->inputs; j++)
            out->dx[row * size->inputs + j] += dxh[j];
        for (int64_t j = 0; j < size->cells; j++) {
            int64_t at = row * size->cells + j;
            out->dh_prev[at] +=
                factor == NULL ? dxh[size->inputs + j] : dxh[size->inputs + j] * factor[at];
        }
    }
}

static void gru_back(struct kernel_context *k, const struct gru_size *size, float *dxh,
                     const struct gru_gradients *out)
{
    const float *h = floats_of(k, H_PREV), *r = floats_of(k, R), *u = floats_of(k, U);
    const float *c = floats_of(k, C), *dh = floats_of(k, DH);
    int64_t count = size->batch * size->cells, width = size->inputs + size->cells;
    const struct matmul_size from_c = { size->batch, size->cells, width, false, true };
    const struct matmul_size from_ru = { size->batch, 2 * size->cells, width, false, true };
    for (int64_t i = 0; i < count; i++)
        out->dc[i] = dh[i] * (1 - u[i]) * (1 - c[i] * c[i]);
    matmul_best_f32(&from_c, out->dc, floats_of(k, W_C), dxh);
    for (int64_t i = 0; i < count; i++) {
        int64_t row = i / size->cells, j = i % size->cells;
        float *dru = out->dru + row * 2 * size->cells + j;
        dru[0] = dxh[row * width + size->inputs + j] * h[i] * r[i] * (1 - r[i]);
        dru[size->cells] = dh[i] * (h[i] - c[i]) * u[i] * (1 - u[i]);
        out->dh_prev[i] = dh[i] * u[i];
    }
    memset(out->dx, 0, (size_t)(size->batch * size->inputs) * sizeof *out->dx);
    add_product(size, dxh, r, out);
    matmul_best_f32(&from_ru, out->dru, floats_of(k, W_RU), dxh);
    add_product(size, dxh, NULL, out);
}

static struct status gru_grad_compute(struct kernel_context *k)
{
    struct gru_size size;
    struct tensor *outputs[4], xh, gates;
    TRY(gru_size_of(k, &size));
    struct shape state = shape_of(size.batch, size.cells);
    struct shape two = shape_of(size.batch, 2 * size.cells);
    TRY(shape_check(2, two.dims, &two));
    TRY(kernel_output(k, 0, &kernel_input(k, X)->shape, &outputs[0]));
    TRY(kernel_output(k, 1, &state, &outputs[1]));
    TRY(kernel_output(k, 2, &state, &outputs[2]));
    TRY(kernel_output(k, 3, &two, &outputs[3]));
    if (outputs[0]->size > 0)
        memset(outputs[0]->data, 0, tensor_bytes(outputs[0]));
    if (outputs[1]->size == 0)
        return status_ok();
    TRY(gru_room(k, &size, &xh, &gates));
    const struct gru_gradients out = { outputs[0]->data, outputs[1]->data, outputs[2]->data,
                                       outputs[3]->data };
    gru_back(k, &size, xh.data, &out);
    tensor_release(&xh);
    tensor_release(&gates);
    return status_ok();
}

static const struct kernel rows[] = {
    { "GRUBlockCell", DTYPES(DT_FLOAT), .compute = gru_compute, .costly = true },
    { "GRUBlockCellGrad", DTYPES(DT_FLOAT), .compute = gru_grad_compute, .costly = true },
};
const struct kernel_table kernels_gru = { rows, COUNT(rows) };
