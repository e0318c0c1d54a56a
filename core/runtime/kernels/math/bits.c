/*
 * bits: ops on the bits of integers, and Bitcast, which reads the bytes of one type as another.
 */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/unary.h"

#define WIDTH(T)             (8 * (int)sizeof(T))
/* A count beyond the width shifts by the width less 1, and one below 0 not at all. */
#define SHIFT(T, y)          (int)((y) < 0 ? 0 : (y) > WIDTH(T) - 1 ? WIDTH(T) - 1 : (y))
#define UNSIGNED_SHIFT(T, y) (int)((y) > (unsigned)WIDTH(T) - 1 ? (unsigned)WIDTH(T) - 1 : (y))
#define LEFT(T, W, x, y)     (T)((W)(x) << SHIFT(T, y))
#define RIGHT(T, W, x, y)    (T)((x) >> SHIFT(T, y))
#define ULEFT(T, W, x, y)    (T)((W)(x) << UNSIGNED_SHIFT(T, y))
#define URIGHT(T, W, x, y)   (T)((x) >> UNSIGNED_SHIFT(T, y))
#define INVERT(T, W, x)      (T) ~(x)
#define ONES(T, W, x) \
    (uint8_t) __builtin_popcountll((uint64_t)(x) & (~(uint64_t)0 >> (64 - WIDTH(T))))
#define LEFT_ROW(s, T, W)   BINARY_ROW(, left_##s, T, W, T, LEFT)
#define RIGHT_ROW(s, T, W)  BINARY_ROW(, right_##s, T, W, T, RIGHT)
#define ULEFT_ROW(s, T, W)  BINARY_ROW(, left_##s, T, W, T, ULEFT)
#define URIGHT_ROW(s, T, W) BINARY_ROW(, right_##s, T, W, T, URIGHT)
#define INVERT_ROW(s, T, W) UNARY_ROW(, invert_##s, T, W, T, INVERT)
#define ONES_ROW(s, T, W)   UNARY_ROW(, ones_##s, T, W, uint8_t, ONES)
SIGNED_TYPES(LEFT_ROW)
SIGNED_TYPES(RIGHT_ROW)
UNSIGNED_TYPES(ULEFT_ROW)
UNSIGNED_TYPES(URIGHT_ROW)
INTEGER_TYPES(INVERT_ROW)
INTEGER_TYPES(ONES_ROW)

static struct status left_compute(struct kernel_context *k)
{
    static binary_row *const rows[DTYPE_COUNT] = { ROWS_INTEGER(left) };
    return binary_compute_rows(k, rows);
}

static struct status right_compute(struct kernel_context *k)
{
    static binary_row *const rows[DTYPE_COUNT] = { ROWS_INTEGER(right) };
    return binary_compute_rows(k, rows);
}

static struct status invert_compute(struct kernel_context *k)
{
    static unary_row *const rows[DTYPE_COUNT] = { ROWS_INTEGER(invert) };
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    rows[x.dtype](x.data, out->data, x.size);
    return status_ok();
}

static struct status ones_compute(struct kernel_context *k)
{
    static unary_row *const rows[DTYPE_COUNT] = { ROWS_INTEGER(ones) };
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    rows[x->dtype](x->data, out->data, x->size);
    return status_ok();
}

/* ---- Bitcast ---- */

static struct status bitcast_prepare(struct prepare_context *p)
{
    enum dtype *type = prepare_state(p, sizeof *type, NULL);
    return node_attr_type(prepare_node(p), "type", type);
}

/* A last dimension appears or disappears if the sizes of the elements differ. */
static struct status bitcast_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    enum dtype type = *(const enum dtype *)kernel_state(k);
    size_t from = dtype_size(x->dtype), to = dtype_size(type);
    struct shape shape = x->shape;
    struct tensor *out;
    if (from > to) {
        TRY(kernel_check_rank(k, shape.rank + 1));
        shape_append(&shape, (int64_t)(from / to));
    } else if (from < to) {
        int64_t wanted = (int64_t)(to / from);
        if (shape.rank == 0 || shape.dims[shape.rank - 1] != wanted)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Cannot bitcast from %s to %s: %s",
                                dtype_name(x->dtype), dtype_name(type), shape_text(&x->shape));
        shape = shape_make(shape.rank - 1, shape.dims);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memcpy(out->data, x->data, tensor_bytes(x));
    return status_ok();
}

#define DTYPES_INTEGER (DTYPES_REAL & ~DTYPES_FLOATING)
static const struct kernel rows[] = {
    { "LeftShift", DTYPES_INTEGER, .compute = left_compute, .any_rank = true },
    { "RightShift", DTYPES_INTEGER, .compute = right_compute, .any_rank = true },
    { "Invert", DTYPES_INTEGER, .compute = invert_compute, .any_rank = true },
    { "PopulationCount", DTYPES_INTEGER, .compute = ones_compute, .any_rank = true },
    { "Bitcast", DTYPES_ALL, .prepare = bitcast_prepare, .compute = bitcast_compute },
};
const struct kernel_table kernels_bits = { rows, COUNT(rows) };
