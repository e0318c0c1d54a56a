/*
 * complex: ops that make complex numbers and take them apart.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/unary.h"

/* TensorFlow has kernels for float with complex64 and for double with complex128. */
static struct status check_types(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype from, to;
    TRY(node_attr_type(node, "T", &from));
    TRY(node_attr_type(node, "Tout", &to));
    bool narrow = from == DT_FLOAT || from == DT_COMPLEX64;
    if (narrow != (to == DT_FLOAT || to == DT_COMPLEX64))
        return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): %s from %s", node->name,
                            node->op_name, dtype_name(to), dtype_name(from));
    return status_ok();
}

#define MAKE_F32(T, W, x, y) CMPLXF(x, y)
#define MAKE_F64(T, W, x, y) CMPLX(x, y)
BINARY_ROW(, make_f32, float, , float complex, MAKE_F32)
BINARY_ROW(, make_f64, double, , double complex, MAKE_F64)

static struct status complex_compute(struct kernel_context *k)
{
    static binary_row *const rows[DTYPE_COUNT] = { ROWS_FLOAT(make) };
    return binary_compute_rows(k, rows);
}

#define REAL_F32(T, W, x)  crealf(x)
#define REAL_F64(T, W, x)  creal(x)
#define IMAG_F32(T, W, x)  cimagf(x)
#define IMAG_F64(T, W, x)  cimag(x)
#define ANGLE_F32(T, W, x) cargf(x)
#define ANGLE_F64(T, W, x) carg(x)
#define ABS_F32(T, W, x)   cabsf(x)
#define ABS_F64(T, W, x)   cabs(x)
#define CONJ_F32(T, W, x)  conjf(x)
#define CONJ_F64(T, W, x)  conj(x)
#define PART(name, f32, f64)                             \
    UNARY_ROW(, name##_c64, float complex, , float, f32) \
    UNARY_ROW(, name##_c128, double complex, , double, f64)
PART(real, REAL_F32, REAL_F64)
PART(imag, IMAG_F32, IMAG_F64)
PART(angle, ANGLE_F32, ANGLE_F64)
PART(absolute, ABS_F32, ABS_F64)
UNARY_ROW(, conj_c64, float complex, , float complex, CONJ_F32)
UNARY_ROW(, conj_c128, double complex, , double complex, CONJ_F64)

#define PARTS(name)                                                \
    {                                                              \
        [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128 \
    }
static const struct part_op {
    const char *name;
    unary_row *rows[DTYPE_COUNT];
} ops[] = {
    { "Real", PARTS(real) },           { "Imag", PARTS(imag) }, { "Angle", PARTS(angle) },
    { "ComplexAbs", PARTS(absolute) }, { "Conj", PARTS(conj) },
};

static struct status part_prepare(struct prepare_context *p)
{
    TRY(PREPARE_ROW(p, ops));
    return node_attr(prepare_node(p), "Tout") != NULL ? check_types(p) : status_ok();
}

static struct status part_compute(struct kernel_context *k)
{
    const struct part_op *op = kernel_row(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x.shape, &out));
    op->rows[x.dtype](x.data, out->data, x.size);
    return status_ok();
}

#define PART_OP(op)                                                                            \
    {                                                                                          \
        op, DTYPES_COMPLEX, .prepare = part_prepare, .compute = part_compute, .any_rank = true \
    }
static const struct kernel rows[] = {
    { "Complex", DTYPES_ALL, .prepare = check_types, .compute = complex_compute },
    PART_OP("Real"),
    PART_OP("Imag"),
    PART_OP("Angle"),
    PART_OP("ComplexAbs"),
    PART_OP("Conj"),
};
const struct kernel_table kernels_complex = { rows, COUNT(rows) };
