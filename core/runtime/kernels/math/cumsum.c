/* Running sums and products along an axis: Cumsum, Cumprod, CumulativeLogsumexp. */
#include <complex.h>
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

struct scan_state {
    bool exclusive, reverse, product, log;
};

static struct status scan_prepare(struct prepare_context *p)
{
    struct scan_state *state = prepare_state(p, sizeof *state, NULL);
    state->product = strcmp(prepare_node(p)->op_name, "Cumprod") == 0;
    state->log = strcmp(prepare_node(p)->op_name, "CumulativeLogsumexp") == 0;
    TRY(node_attr_bool(prepare_node(p), "exclusive", &state->exclusive));
    return node_attr_bool(prepare_node(p), "reverse", &state->reverse);
}

/* One run of `count` elements that are `step` apart. */
#define SCAN(s, T, W)                                                                \
    static void scan_##s(const struct scan_state *state, const void *x_, void *out_, \
                         int64_t count, int64_t step)                                \
    {                                                                                \
        const T *x = x_;                                                             \
        T *out = out_, sum = state->product ? 1 : 0;                                 \
        for (int64_t i = 0; i < count; i++) {                                        \
            int64_t at = (state->reverse ? count - 1 - i : i) * step;                \
            T next = (T)(state->product ? (W)sum * (W)x[at] : (W)sum + (W)x[at]);    \
            out[at] = state->exclusive ? sum : next;                                 \
            sum = next;                                                              \
        }                                                                            \
    }
REAL_TYPES(SCAN)
SCAN(c64, float complex, float complex)
SCAN(c128, double complex, double complex)

/* Each sum is rounded to the type before the next addition, as in TensorFlow. */
static void scan_half(const struct scan_state *state, enum dtype dtype, const uint16_t *x,
                      uint16_t *out, int64_t count, int64_t step)
{
    float sum = state->product ? 1 : 0, value;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (state->reverse ? count - 1 - i : i) * step;
        half_block_load(dtype, &x[at], &value, 1);
        float next = half_round(dtype, state->product ? sum * value : sum + value);
        half_block_store(dtype, state->exclusive ? &sum : &next, &out[at], 1);
        sum = next;
    }
}

typedef void scan(const struct scan_state *state, const void *x, void *out, int64_t count,
                  int64_t step);
static scan *const scans[DTYPE_COUNT] = {
    ROWS_REAL(scan), [DT_COMPLEX64] = scan_c64, [DT_COMPLEX128] = scan_c128
};

/* ---- CumulativeLogsumexp ---- */

/* log(e^a + e^b); a NaN among the two is left out if it comes second, as in TensorFlow. */
static double log_add(double a, double b)
{
    double most = a < b ? b : a, least = b < a ? b : a;
    return most == -INFINITY ? most : most + log1p(exp(least - most));
}

/* Like a `scan`, but of elements from `at` on. */
static void log_scan(const struct scan_state *state, const struct tensor *x, struct tensor *out,
                     int64_t at, int64_t count, int64_t step)
{
    double sum = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = at + (state->reverse ? count - 1 - i : i) * step;
        double next = round_to(x->dtype, log_add(sum, floating_element(x, place)));
        floating_store(out, place, state->exclusive ? sum : next);
        sum = next;
    }
}

/* ---- the ops ---- */

static struct status scan_compute(struct kernel_context *k)
{
    const struct scan_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *axis_tensor = kernel_input(k, 1);
    struct tensor *out;
    if (axis_tensor->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                            shape_text(&axis_tensor->shape));
    int64_t given = tensor_index(axis_tensor, 0);
    int64_t axis = given < 0 ? given + x->shape.rank : given;
    if (axis < 0 || axis >= x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "ScanOp: Expected scan axis in the range [%d, %d), but got %lld",
                            -x->shape.rank, x->shape.rank, (long long)given);
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t count = x->shape.dims[axis], inner = shape_inner(&x->shape, (int)axis);
    int64_t outer = shape_outer(&x->shape, (int)axis);
    size_t size = dtype_size(x->dtype);
    for (int64_t o = 0; o < outer && x->size > 0; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = o * count * inner + i;
            const void *from = at_bytes_const(x->data, at, size);
            void *to = at_bytes(out->data, at, size);
            if (state->log)
                log_scan(state, x, out, at, count, inner);
            else if (dtype_is_half(x->dtype))
                scan_half(state, x->dtype, from, to, count, inner);
            else
                scans[x->dtype](state, from, to, count, inner);
        }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Cumsum", DTYPES_REAL | DTYPES_COMPLEX, "T", .prepare = scan_prepare,
      .compute = scan_compute },
    { "Cumprod", DTYPES_REAL | DTYPES_COMPLEX, "T", .prepare = scan_prepare,
      .compute = scan_compute },
    { "CumulativeLogsumexp", DTYPES_FLOATING, "T", .prepare = scan_prepare,
      .compute = scan_compute },
};
const struct kernel_table kernels_cumsum = { rows, COUNT(rows) };
