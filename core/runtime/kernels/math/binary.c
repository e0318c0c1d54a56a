/*
 * binary: element-wise ops of two operands with broadcasting, and AddN. As in TensorFlow, integer
 * sums and products wrap, and a zero divisor is an error.
 */
#include <complex.h>
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/broadcast.h"

#define ADD(T, W, x, y)     (T)((W)(x) + (W)(y))
#define SUB(T, W, x, y)     (T)((W)(x) - (W)(y))
#define MUL(T, W, x, y)     (T)((W)(x) * (W)(y))
#define SQDIFF(T, W, x, y)  (T)(((W)(x) - (W)(y)) * ((W)(x) - (W)(y)))
#define DIV(T, W, x, y)     (T)((x) / (y))
/* A NaN in either operand is the result. */
#define MAXIMUM(T, W, x, y) (x) > (y) || (x) != (x) ? (x) : (y)
#define MINIMUM(T, W, x, y) (x) < (y) || (x) != (x) ? (x) : (y)

#define DIV_NO_NAN(T, W, x, y) (y) == 0 ? 0 : (x) / (y)
#define MUL_NO_NAN(T, W, x, y) (y) == 0 ? 0 : (x) * (y)
#define FLOOR_DIV(T, W, x, y)  (T) floor((double)((x) / (y)))
#define TRUNC_DIV(T, W, x, y)  (T) trunc((double)((x) / (y)))
#define POW(T, W, x, y)        (T) pow((double)(x), (double)(y))
#define ATAN2(T, W, x, y)      (T) atan2((double)(x), (double)(y))
#define XDIVY(T, W, x, y)      (x) == 0 ? (x) : (x) / (y)
#define XLOGY(T, W, x, y)      (x) == 0 ? (x) : (T)((double)(x)*log((double)(y)))
#define XLOG1PY(T, W, x, y)    (x) == 0 ? (x) : (T)((double)(x)*log1p((double)(y)))
#define TRUNC_MOD(T, W, x, y)  (T) fmod((double)(x), (double)(y))
#define FLOOR_MOD(T, W, x, y)  (T) float_floor_mod((double)(x), (double)(y))

/* The lowest number divided by -1 overflows, which traps on x86: it wraps instead. */
#define SIGNED_DIV(T, W, x, y) (T)((y) == -1 ? (T)(0 - (W)(x)) : (x) / (y))
#define SIGNED_MOD(T, W, x, y) (T)((y) == -1 ? 0 : (x) % (y))
#define SIGNED_FLOOR_MOD(T, W, x, y) \
    (T)((y) == -1 ? 0 : (x) % (y) != 0 && ((x) < 0) != ((y) < 0) ? (x) % (y) + (y) : (x) % (y))
#define SIGNED_FLOOR_DIV(T, W, x, y) \
    (T)((y) == -1 ? (T)(0 - (W)(x))  \
                  : (x) / (y) - ((x) % (y) != 0 && ((x) < 0) != ((y) < 0) ? 1 : 0))
#define UNSIGNED_MOD(T, W, x, y) (T)((x) % (y))
#define INT_POW(T, W, x, y)      (T) integer_power((uint64_t)(x), (uint64_t)(y))

#define BIT_AND(T, W, x, y) (T)((x) & (y))
#define BIT_OR(T, W, x, y)  (T)((x) | (y))
#define BIT_XOR(T, W, x, y) (T)((x) ^ (y))

static double float_floor_mod(double x, double y)
{
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Modulo 2^64; narrower types keep the low bits. The exponent is not negative. */
static uint64_t integer_power(uint64_t base, uint64_t exponent)
{
    uint64_t power = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            power *= base;
        base *= base;
    }
    return power;
}

#define ROW_OF(s, T, W, op, EXPR)     BINARY_ROW(SIMD_##s, op##_##s, T, W, T, EXPR)
#define ADD_ROW(s, T, W)              ROW_OF(s, T, W, add, ADD)
#define SUB_ROW(s, T, W)              ROW_OF(s, T, W, sub, SUB)
#define MUL_ROW(s, T, W)              ROW_OF(s, T, W, mul, MUL)
#define SQDIFF_ROW(s, T, W)           ROW_OF(s, T, W, squared_difference, SQDIFF)
#define MAXIMUM_ROW(s, T, W)          ROW_OF(s, T, W, maximum, MAXIMUM)
#define MINIMUM_ROW(s, T, W)          ROW_OF(s, T, W, minimum, MINIMUM)
#define DIV_ROW(s, T, W)              ROW_OF(s, T, W, div, DIV)
#define SIGNED_DIV_ROW(s, T, W)       ROW_OF(s, T, W, div, SIGNED_DIV)
#define FLOOR_DIV_ROW(s, T, W)        ROW_OF(s, T, W, floor_div, FLOOR_DIV)
#define TRUNC_DIV_ROW(s, T, W)        ROW_OF(s, T, W, trunc_div, TRUNC_DIV)
#define SIGNED_FLOOR_DIV_ROW(s, T, W) ROW_OF(s, T, W, floor_div, SIGNED_FLOOR_DIV)
#define UINT_FLOOR_DIV_ROW(s, T, W)   ROW_OF(s, T, W, floor_div, DIV)
#define FLOOR_MOD_ROW(s, T, W)        ROW_OF(s, T, W, floor_mod, FLOOR_MOD)
#define SIGNED_FLOOR_MOD_ROW(s, T, W) ROW_OF(s, T, W, floor_mod, SIGNED_FLOOR_MOD)
#define UINT_FLOOR_MOD_ROW(s, T, W)   ROW_OF(s, T, W, floor_mod, UNSIGNED_MOD)
#define TRUNC_MOD_ROW(s, T, W)        ROW_OF(s, T, W, trunc_mod, TRUNC_MOD)
#define SIGNED_MOD_ROW(s, T, W)       ROW_OF(s, T, W, trunc_mod, SIGNED_MOD)
#define UINT_MOD_ROW(s, T, W)         ROW_OF(s, T, W, trunc_mod, UNSIGNED_MOD)
#define POW_ROW(s, T, W)              BINARY_ROW(, power_##s, T, W, T, POW)
#define INT_POW_ROW(s, T, W)          ROW_OF(s, T, W, power, INT_POW)
#define DIV_NO_NAN_ROW(s, T, W)       ROW_OF(s, T, W, div_no_nan, DIV_NO_NAN)
#define MUL_NO_NAN_ROW(s, T, W)       ROW_OF(s, T, W, mul_no_nan, MUL_NO_NAN)
#define ATAN2_ROW(s, T, W)            BINARY_ROW(, atan2_##s, T, W, T, ATAN2)
#define XDIVY_ROW(s, T, W)            ROW_OF(s, T, W, xdivy, XDIVY)
#define XLOGY_ROW(s, T, W)            BINARY_ROW(, xlogy_##s, T, W, T, XLOGY)
#define XLOG1PY_ROW(s, T, W)          BINARY_ROW(, xlog1py_##s, T, W, T, XLOG1PY)
#define BIT_AND_ROW(s, T, W)          ROW_OF(s, T, W, bit_and, BIT_AND)
#define BIT_OR_ROW(s, T, W)           ROW_OF(s, T, W, bit_or, BIT_OR)
#define BIT_XOR_ROW(s, T, W)          ROW_OF(s, T, W, bit_xor, BIT_XOR)

REAL_TYPES(ADD_ROW)
REAL_TYPES(SUB_ROW)
REAL_TYPES(MUL_ROW)
REAL_TYPES(SQDIFF_ROW)
REAL_TYPES(MAXIMUM_ROW)
REAL_TYPES(MINIMUM_ROW)
FLOAT_TYPES(DIV_ROW)
UNSIGNED_TYPES(DIV_ROW)
SIGNED_TYPES(SIGNED_DIV_ROW)
FLOAT_TYPES(TRUNC_DIV_ROW)
FLOAT_TYPES(FLOOR_DIV_ROW)
UNSIGNED_TYPES(UINT_FLOOR_DIV_ROW)
SIGNED_TYPES(SIGNED_FLOOR_DIV_ROW)
FLOAT_TYPES(FLOOR_MOD_ROW)
UNSIGNED_TYPES(UINT_FLOOR_MOD_ROW)
SIGNED_TYPES(SIGNED_FLOOR_MOD_ROW)
FLOAT_TYPES(TRUNC_MOD_ROW)
UNSIGNED_TYPES(UINT_MOD_ROW)
SIGNED_TYPES(SIGNED_MOD_ROW)
FLOAT_TYPES(POW_ROW)
INTEGER_TYPES(INT_POW_ROW)
FLOAT_TYPES(DIV_NO_NAN_ROW)
FLOAT_TYPES(MUL_NO_NAN_ROW)
FLOAT_TYPES(ATAN2_ROW)
FLOAT_TYPES(XDIVY_ROW)
FLOAT_TYPES(XLOGY_ROW)
FLOAT_TYPES(XLOG1PY_ROW)
INTEGER_TYPES(BIT_AND_ROW)
INTEGER_TYPES(BIT_OR_ROW)
INTEGER_TYPES(BIT_XOR_ROW)

#define SQUARED_DIFFERENCE_STEPS(R, x, y) R((x) - (y)) * R((x) - (y))
#define FLOOR_DIV_STEPS(R, x, y)          floorf(R((x) / (y)))
#define XLOGY_STEPS(R, x, y)              (x) == 0 ? (x) : (x)*R((float)log((double)(y)))
#define XLOG1PY_STEPS(R, x, y)            (x) == 0 ? (x) : (x)*R(log1pf(y))
HALF_BINARY(squared_difference, SQUARED_DIFFERENCE_STEPS)
HALF_BINARY(floor_div, FLOOR_DIV_STEPS)
HALF_BINARY(xlogy, XLOGY_STEPS)
HALF_BINARY(xlog1py, XLOG1PY_STEPS)

enum check {
    CHECK_NOTHING,
    CHECK_DIVISOR,   /* of integers: not zero */
    CHECK_TRUNCATED, /* the same, with the text of TruncateDiv and TruncateMod */
    CHECK_EXPONENT,  /* of integers: not negative */
};

struct binary_op {
    const char *name;
    enum check check;
    binary_row *rows[DTYPE_COUNT];
};

static const struct binary_op ops[] = {
    { "Add", CHECK_NOTHING, { ROWS_REAL(add) } },
    { "AddV2", CHECK_NOTHING, { ROWS_REAL(add) } },
    { "Sub", CHECK_NOTHING, { ROWS_REAL(sub) } },
    { "Mul", CHECK_NOTHING, { ROWS_REAL(mul) } },
    { "Maximum", CHECK_NOTHING, { ROWS_REAL(maximum) } },
    { "Minimum", CHECK_NOTHING, { ROWS_REAL(minimum) } },
    { "SquaredDifference",
      CHECK_NOTHING,
      { ROWS_REAL(squared_difference), ROWS_HALF(squared_difference) } },
    { "RealDiv", CHECK_NOTHING, { ROWS_FLOAT(div) } },
    { "Div", CHECK_DIVISOR, { ROWS_REAL(div) } },
    { "TruncateDiv", CHECK_TRUNCATED, { ROWS_FLOAT(trunc_div), ROWS_INTEGER(div) } },
    { "FloorDiv", CHECK_DIVISOR, { ROWS_REAL(floor_div), ROWS_HALF(floor_div) } },
    { "FloorMod", CHECK_DIVISOR, { ROWS_REAL(floor_mod) } },
    { "Mod", CHECK_DIVISOR, { ROWS_REAL(trunc_mod) } },
    { "TruncateMod", CHECK_TRUNCATED, { ROWS_REAL(trunc_mod) } },
    { "Pow", CHECK_EXPONENT, { ROWS_REAL(power) } },
    { "DivNoNan", CHECK_NOTHING, { ROWS_FLOAT(div_no_nan) } },
    { "MulNoNan", CHECK_NOTHING, { ROWS_FLOAT(mul_no_nan) } },
    { "Atan2", CHECK_NOTHING, { ROWS_FLOAT(atan2) } },
    { "Xdivy", CHECK_NOTHING, { ROWS_FLOAT(xdivy) } },
    { "Xlogy", CHECK_NOTHING, { ROWS_FLOAT(xlogy), ROWS_HALF(xlogy) } },
    { "Xlog1py", CHECK_NOTHING, { ROWS_FLOAT(xlog1py), ROWS_HALF(xlog1py) } },
    { "BitwiseAnd", CHECK_NOTHING, { ROWS_INTEGER(bit_and) } },
    { "BitwiseOr", CHECK_NOTHING, { ROWS_INTEGER(bit_or) } },
    { "BitwiseXor", CHECK_NOTHING, { ROWS_INTEGER(bit_xor) } },
};

binary_row *binary_find_row(const char *op)
{
    const struct binary_op *row = OP_ROW(ops, op);
    return row != NULL ? row->rows[DT_FLOAT] : NULL;
}

static struct status binary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, ops);
}

#define HAS_ZERO(s, T, W)                                       \
    static bool has_zero_##s(const void *values, int64_t count) \
    {                                                           \
        for (int64_t i = 0; i < count; i++)                     \
            if (((const T *)values)[i] == 0)                    \
                return true;                                    \
        return false;                                           \
    }
#define HAS_NEGATIVE(s, T, W)                                       \
    static bool has_negative_##s(const void *values, int64_t count) \
    {                                                               \
        for (int64_t i = 0; i < count; i++)                         \
            if (((const T *)values)[i] < 0)                         \
                return true;                                        \
        return false;                                               \
    }
INTEGER_TYPES(HAS_ZERO)
SIGNED_TYPES(HAS_NEGATIVE)

typedef bool has(const void *values, int64_t count);
static has *const has_zero[DTYPE_COUNT] = { ROWS_INTEGER(has_zero) };
static has *const has_negative[DTYPE_COUNT] = { ROWS_SIGNED(has_negative) };

static struct status check_operand(enum check check, const struct tensor *y)
{
    if (check == CHECK_DIVISOR && has_zero[y->dtype] && has_zero[y->dtype](y->data, y->size))
        return status_error(STATUS_INVALID_ARGUMENT, "Integer division by zero");
    if (check == CHECK_TRUNCATED && has_zero[y->dtype] && has_zero[y->dtype](y->data, y->size))
        return status_error(STATUS_INTERNAL,
                            "Unexpected error in binary operator (only integer div "
                            "and mod should have errors)");
    if (check == CHECK_EXPONENT && has_negative[y->dtype] &&
        has_negative[y->dtype](y->data, y->size))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Integers to negative integer powers are not allowed");
    return status_ok();
}

static struct status binary_compute(struct kernel_context *k)
{
    const struct binary_op *op = kernel_row(k);
    if (kernel_input(k, 0)->size != 0)
        TRY(check_operand(op->check, kernel_input(k, 1)));
    return binary_compute_rows(k, op->rows);
}

/* ---- strings: Add joins ---- */

static struct status join(struct arena *arena, struct bytes a, struct bytes b, struct bytes *out)
{
    void *text;
    TRY(arena_reserve(arena, a.size + b.size + 1, &text));
    if (a.size > 0)
        memcpy(text, a.data, a.size);
    if (b.size > 0)
        memcpy((char *)text + a.size, b.data, b.size);
    *out = (struct bytes){ text, a.size + b.size };
    return status_ok();
}

static struct status add_strings_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct tensor *out;
    struct shape shape;
    TRY(shape_broadcast(&x->shape, &y->shape, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    struct broadcast broadcast;
    broadcast_init(&broadcast, &shape, 2, (const struct shape *[]){ &x->shape, &y->shape });
    struct broadcast_walk walk = { 0 };
    int64_t row = broadcast_row(&broadcast), done = 0;
    do {
        const struct bytes *a = tensor_strings(x) + walk.offsets[0];
        const struct bytes *b = tensor_strings(y) + walk.offsets[1];
        for (int64_t i = 0; i < row; i++)
            TRY(join(kernel_arena(k), a[i * broadcast_step(&broadcast, 0)],
                     b[i * broadcast_step(&broadcast, 1)], &tensor_strings_mut(out)[done + i]));
        done += row;
    } while (broadcast_next(&broadcast, &walk));
    return status_ok();
}

/* ---- AddN: equal shapes, any number of them ---- */

BINARY_ROW(, add_c64, float complex, float complex, float complex, ADD)
BINARY_ROW(, add_c128, double complex, double complex, double complex, ADD)

static struct status add_n_check(struct kernel_context *k)
{
    const struct shape *first = &kernel_input(k, 0)->shape;
    for (int i = 1; i < kernel_inputs_count(k); i++)
        if (!shape_equal(first, &kernel_input(k, i)->shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Inputs to operation %s of type AddN must have the same size and "
                                "shape.  Input 0: %s != input %d: %s",
                                kernel_node(k)->name, shape_text(first), i,
                                shape_text(&kernel_input(k, i)->shape));
    return status_ok();
}

/* out = x + y, of one shape. */
static void add_tensors(const void *x, const void *y, struct tensor *out)
{
    static binary_row *const rows[DTYPE_COUNT] = {
        ROWS_REAL(add), [DT_COMPLEX64] = add_c64, [DT_COMPLEX128] = add_c128
    };
    binary_apply(rows, out->dtype, out->dtype, x, y, out->data, out->size, 1, 1);
}

/* out = input `first` + … + input `end` - 1, from left to right. */
static void add_inputs(struct kernel_context *k, int first, int end, struct tensor *out)
{
    const void *sum = kernel_input(k, first)->data;
    for (int i = first + 1; i < end; i++, sum = out->data)
        add_tensors(sum, kernel_input(k, i)->data, out);
}

/* More than nine inputs: TensorFlow adds the sums of groups of eight to the sum of the others. */
#define ADD_N_GROUP 8

static struct status add_groups(struct kernel_context *k, int first, struct tensor *out)
{
    struct tensor sum;
    TRY(kernel_scratch(k, out->dtype, &out->shape, &sum));
    for (; first < kernel_inputs_count(k); first += ADD_N_GROUP) {
        add_inputs(k, first, first + ADD_N_GROUP, &sum);
        add_tensors(out->data, sum.data, out);
    }
    tensor_release(&sum);
    return status_ok();
}

static struct status add_n_compute(struct kernel_context *k)
{
    TRY(add_n_check(k));
    struct tensor *out;
    const struct tensor first = *kernel_input(k, 0);
    int count = kernel_inputs_count(k), grouped = (count - 2) / ADD_N_GROUP * ADD_N_GROUP;
    TRY(kernel_output_forward(k, 0, 0, &first.shape, &out));
    if (out->size == 0)
        return status_ok();
    if (count == 1 && out->data != first.data)
        memcpy(out->data, first.data, tensor_bytes(out));
    add_inputs(k, 0, count - grouped, out);
    return grouped > 0 ? add_groups(k, count - grouped, out) : status_ok();
}

#define DTYPES_INTEGER (DTYPES_REAL & ~DTYPES_FLOATING)
#define BINARY(op, dtypes)                                                                 \
    {                                                                                      \
        op, dtypes, .prepare = binary_prepare, .compute = binary_compute, .any_rank = true \
    }
static const struct kernel rows[] = {
    BINARY("Add", DTYPES_REAL),
    BINARY("AddV2", DTYPES_REAL),
    BINARY("Sub", DTYPES_REAL),
    BINARY("Mul", DTYPES_REAL),
    BINARY("Maximum", DTYPES_REAL),
    BINARY("Minimum", DTYPES_REAL),
    BINARY("SquaredDifference", DTYPES_REAL),
    BINARY("RealDiv", DTYPES_FLOATING),
    BINARY("Div", DTYPES_REAL),
    BINARY("TruncateDiv", DTYPES_REAL),
    BINARY("FloorDiv", DTYPES_REAL),
    BINARY("FloorMod", DTYPES_REAL),
    BINARY("Mod", DTYPES_REAL),
    BINARY("TruncateMod", DTYPES_REAL),
    BINARY("Pow", DTYPES_REAL),
    BINARY("DivNoNan", DTYPES_FLOATING),
    BINARY("MulNoNan", DTYPES_FLOATING),
    BINARY("Atan2", DTYPES_FLOATING),
    BINARY("Xdivy", DTYPES_FLOATING),
    BINARY("Xlogy", DTYPES_FLOATING),
    BINARY("Xlog1py", DTYPES_FLOATING),
    BINARY("BitwiseAnd", DTYPES_INTEGER),
    BINARY("BitwiseOr", DTYPES_INTEGER),
    BINARY("BitwiseXor", DTYPES_INTEGER),
    { "Add", DTYPES(DT_STRING), .compute = add_strings_compute },
    { "AddN", DTYPES_REAL | DTYPES_COMPLEX, .compute = add_n_compute, .any_rank = true },
};
const struct kernel_table kernels_binary = { rows, COUNT(rows) };
