/*
 * sparse_matmul: SparseMatMul, a product of matrices of float or bfloat16 that may hold many zeros,
 * in float. The zeros are multiplied like any other number.
 */

#include "runtime/kernels/float_values.h"
#include "runtime/kernels/product.h"

struct sparse_matmul_state {
    bool transpose_a, transpose_b;
};

static struct status sparse_matmul_prepare(struct prepare_context *p)
{
    struct sparse_matmul_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(prepare_node(p), "transpose_a", &state->transpose_a));
    return node_attr_bool(prepare_node(p), "transpose_b", &state->transpose_b);
}

static struct status find_size(struct kernel_context *k, struct matmul_size *out)
{
    const struct sparse_matmul_state *state = kernel_state(k);
    const struct shape *a = &kernel_input(k, 0)->shape, *b = &kernel_input(k, 1)->shape;
    if (a->rank != 2 || b->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%s is not a matrix",
                            a->rank != 2 ? "a" : "b");
    *out = (struct matmul_size){ .m = a->dims[state->transpose_a ? 1 : 0],
                                 .k = a->dims[state->transpose_a ? 0 : 1],
                                 .n = b->dims[state->transpose_b ? 0 : 1],
                                 .transpose_a = state->transpose_a,
                                 .transpose_b = state->transpose_b };
    if (out->k != b->dims[state->transpose_b ? 1 : 0])
        return status_error(STATUS_INVALID_ARGUMENT, "Matrix size incompatible: a: %s, b: %s",
                            shape_text(a), shape_text(b));
    return status_ok();
}

static struct status multiply(struct kernel_context *k, const struct matmul_size *size,
                              struct tensor *held, struct tensor *out)
{
    TRY(float_values(k, kernel_input(k, 0), &held[0]));
    TRY(float_values(k, kernel_input(k, 1), &held[1]));
    if (size->k == 0 && out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    else if (out->size > 0)
        return product_dense(k, DT_FLOAT, size, held[0].data, held[1].data, out->data);
    return status_ok();
}

static struct status sparse_matmul_compute(struct kernel_context *k)
{
    struct tensor *out, held[2] = { 0 };
    struct matmul_size size;
    TRY(find_size(k, &size));
    struct shape shape = shape_of(size.m, size.n);
    TRY(kernel_output(k, 0, &shape, &out));
    struct status status = multiply(k, &size, held, out);
    tensor_release(&held[0]);
    tensor_release(&held[1]);
    return status;
}

static const struct kernel rows[] = {
    { "SparseMatMul", DTYPES(DT_FLOAT) | DTYPES(DT_BFLOAT16), "Ta",
      .prepare = sparse_matmul_prepare, .compute = sparse_matmul_compute, .costly = true },
};
const struct kernel_table kernels_sparse_matmul = { rows, COUNT(rows) };
