/* Comparisons and logic with broadcasting, and ApproximateEqual; the result is bool. */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/quantized_numbers.h"

#define EQUAL(T, W, x, y)      (x) == (y)
#define NOT_EQUAL(T, W, x, y)  (x) != (y)
#define LESS(T, W, x, y)       (x) < (y)
#define LESS_EQUAL(T, W, x, y) (x) <= (y)
#define AND(T, W, x, y)        (x) && (y)
#define OR(T, W, x, y)         (x) || (y)

#define EQUAL_ROW(s, T, W)         BINARY_ROW(SIMD_##s, equal_##s, T, W, bool, EQUAL)
#define NOT_EQUAL_ROW(s, T, W)     BINARY_ROW(SIMD_##s, not_equal_##s, T, W, bool, NOT_EQUAL)
#define LESS_ROW(s, T, W)          BINARY_ROW(SIMD_##s, less_##s, T, W, bool, LESS)
#define LESS_EQUAL_ROW(s, T, W)    BINARY_ROW(SIMD_##s, less_equal_##s, T, W, bool, LESS_EQUAL)
#define GREATER_ROW(s, T, W)       EXCHANGED_ROW(greater_##s, less_##s)
#define GREATER_EQUAL_ROW(s, T, W) EXCHANGED_ROW(greater_equal_##s, less_equal_##s)

REAL_TYPES(EQUAL_ROW)
REAL_TYPES(NOT_EQUAL_ROW)
REAL_TYPES(LESS_ROW)
REAL_TYPES(LESS_EQUAL_ROW)
REAL_TYPES(GREATER_ROW)
REAL_TYPES(GREATER_EQUAL_ROW)
BINARY_ROW(, equal_bool, bool, bool, bool, EQUAL)
BINARY_ROW(, not_equal_bool, bool, bool, bool, NOT_EQUAL)
BINARY_ROW(, and_bool, bool, bool, bool, AND)
BINARY_ROW(, or_bool, bool, bool, bool, OR)

struct complex64 {
    float re, im;
};
struct complex128 {
    double re, im;
};
#define SAME_PAIR(T, W, x, y)  (x).re == (y).re && (x).im == (y).im
#define OTHER_PAIR(T, W, x, y) (x).re != (y).re || (x).im != (y).im
BINARY_ROW(, equal_c64, struct complex64, , bool, SAME_PAIR)
BINARY_ROW(, not_equal_c64, struct complex64, , bool, OTHER_PAIR)
BINARY_ROW(, equal_c128, struct complex128, , bool, SAME_PAIR)
BINARY_ROW(, not_equal_c128, struct complex128, , bool, OTHER_PAIR)

#define SAME_TEXT(T, W, x, y)  bytes_equal((x), (y))
#define OTHER_TEXT(T, W, x, y) !bytes_equal((x), (y))
BINARY_ROW(, equal_text, struct bytes, , bool, SAME_TEXT)
BINARY_ROW(, not_equal_text, struct bytes, , bool, OTHER_TEXT)

/* Quantized numbers are compared as the integers that they are. */
#define ROWS_QUANTIZED(name)                                                   \
    [DT_QINT8] = name##_i8, [DT_QUINT8] = name##_u8, [DT_QINT16] = name##_i16, \
    [DT_QUINT16] = name##_u16, [DT_QINT32] = name##_i32

struct compare_op {
    const char *name;
    bool when_shapes_differ; /* Equal and NotEqual with incompatible_shape_error=false */
    binary_row *rows[DTYPE_COUNT];
};

static const struct compare_op ops[] = {
    { "Equal",
      false,
      { ROWS_REAL(equal), ROWS_QUANTIZED(equal), [DT_BOOL] = equal_bool, [DT_STRING] = equal_text,
        [DT_COMPLEX64] = equal_c64, [DT_COMPLEX128] = equal_c128 } },
    { "NotEqual",
      true,
      { ROWS_REAL(not_equal),
        ROWS_QUANTIZED(not_equal), [DT_BOOL] = not_equal_bool, [DT_STRING] = not_equal_text,
        [DT_COMPLEX64] = not_equal_c64, [DT_COMPLEX128] = not_equal_c128 } },
    { "Less", false, { ROWS_REAL(less) } },
    { "LessEqual", false, { ROWS_REAL(less_equal) } },
    { "Greater", false, { ROWS_REAL(greater) } },
    { "GreaterEqual", false, { ROWS_REAL(greater_equal) } },
    { "LogicalAnd", false, { [DT_BOOL] = and_bool } },
    { "LogicalOr", false, { [DT_BOOL] = or_bool } },
};

struct compare_state {
    const struct compare_op *op;
    bool shapes_may_differ;
};

static struct status compare_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct compare_state *state = prepare_state(p, sizeof *state, NULL);
    state->op = OP_ROW(ops, node->op_name);
    if (node_attr(node, "incompatible_shape_error") != NULL) {
        bool error;
        TRY(node_attr_bool(node, "incompatible_shape_error", &error));
        state->shapes_may_differ = !error;
    }
    return status_ok();
}

static struct status compare_compute(struct kernel_context *k)
{
    const struct compare_state *state = kernel_state(k);
    if (state->shapes_may_differ) {
        struct shape shape;
        struct status status =
            shape_broadcast(&kernel_input(k, 0)->shape, &kernel_input(k, 1)->shape, &shape);
        if (!status_is_ok(status)) {
            struct tensor *out;
            shape = shape_scalar();
            TRY(kernel_output(k, 0, &shape, &out));
            tensor_bools_mut(out)[0] = state->op->when_shapes_differ;
            return status_ok();
        }
    }
    return binary_compute_rows(k, state->op->rows);
}

#define DTYPES_EQUAL \
    (DTYPES_REAL | DTYPES(DT_BOOL) | DTYPES(DT_STRING) | DTYPES_COMPLEX | DTYPES_QUANTIZED)
#define COMPARE(op, dtypes)                                                                  \
    {                                                                                        \
        op, dtypes, .prepare = compare_prepare, .compute = compare_compute, .any_rank = true \
    }
/* ---- ApproximateEqual ---- */

static struct status approximate_prepare(struct prepare_context *p)
{
    float *tolerance = prepare_state(p, sizeof *tolerance, NULL);
    return node_attr_float(prepare_node(p), "tolerance", tolerance);
}

static struct status approximate_compute(struct kernel_context *k)
{
    const float *tolerance = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct tensor *out;
    if (!shape_equal(&x->shape, &y->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "x and y must be of the same shape. x shape: %s. y shape: %s",
                            shape_text(&x->shape), shape_text(&y->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        tensor_bools_mut(out)[i] =
            x->dtype == DT_FLOAT
                ? fabsf(tensor_floats(x)[i] - tensor_floats(y)[i]) < *tolerance
                : fabs(tensor_doubles(x)[i] - tensor_doubles(y)[i]) < (double)*tolerance;
    return status_ok();
}

static const struct kernel rows[] = {
    COMPARE("Equal", DTYPES_EQUAL),
    COMPARE("NotEqual", DTYPES_EQUAL),
    COMPARE("Less", DTYPES_REAL),
    COMPARE("LessEqual", DTYPES_REAL),
    COMPARE("Greater", DTYPES_REAL),
    COMPARE("GreaterEqual", DTYPES_REAL),
    COMPARE("LogicalAnd", DTYPES_ALL),
    COMPARE("LogicalOr", DTYPES_ALL),
    { "ApproximateEqual", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = approximate_prepare,
      .compute = approximate_compute },
};
const struct kernel_table kernels_compare = { rows, COUNT(rows) };
