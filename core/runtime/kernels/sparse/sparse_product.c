/* SparseTensorDenseMatMul. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/sparse_product.h"

struct product_state {
    bool adjoint_a, adjoint_b;
};

static struct status product_prepare(struct prepare_context *p)
{
    struct product_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_bool(prepare_node(p), "adjoint_a", &state->adjoint_a));
    return node_attr_bool(prepare_node(p), "adjoint_b", &state->adjoint_b);
}

static struct status check_ranks(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1),
                        *shape = kernel_input(k, 2), *b = kernel_input(k, 3);

    if (b->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'b' is not a matrix");
    if (shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_shape' is not a vector");
    if (shape->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
    if (values->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_values' is not a vector");
    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_indices' is not a matrix");
    if (indices->shape.dims[0] != values->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of rows of a_indices does not match number of entries in "
                            "a_values");
    if (indices->shape.dims[1] != shape->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of columns of a_indices does not match number of entries in "
                            "a_shape");
    return status_ok();
}

static struct status misplaced(struct kernel_context *k, const struct sparse_matrix *a, int64_t i)
{
    const struct product_state *state = kernel_state(k);
    const int64_t *index = a->indices + 2 * i;
    int inner = state->adjoint_a ? 0 : 1; /* the dimension that is summed over */
    int64_t sizes[] = { a->rows, a->columns };
    bool is_inner = index[inner] < 0 || index[inner] >= sizes[inner];
    int wrong = is_inner ? inner : 1 - inner;

    return status_error(STATUS_INVALID_ARGUMENT,
                        "%s (%lld) from index[%lld,%d] out of bounds (>=%lld)",
                        is_inner ? "k" : "m", (long long)index[wrong], (long long)i, wrong,
                        (long long)sizes[wrong]);
}

/* An int64 copy of other indices, and a transposed copy of b if it is the adjoint. */
struct product_copies {
    struct tensor indices, b;
};

static struct status copy_indices(struct kernel_context *k, const struct tensor *from,
                                  struct tensor *to)
{
    if (from->dtype == DT_INT64)
        return status_ok();
    TRY(kernel_scratch(k, DT_INT64, &from->shape, to));
    for (int64_t i = 0; i < from->size; i++)
        tensor_int64s_mut(to)[i] = tensor_index(from, i);
    return status_ok();
}

static struct status transpose_b(struct kernel_context *k, const struct tensor *from,
                                 struct tensor *to)
{
    const struct product_state *state = kernel_state(k);
    int64_t rows = from->shape.dims[0], columns = from->shape.dims[1];
    struct shape shape = shape_of(columns, rows);

    if (!state->adjoint_b)
        return status_ok();
    TRY(kernel_scratch(k, from->dtype, &shape, to));
    for (int64_t r = 0; r < rows && columns > 0; r++)
        for (int64_t c = 0; c < columns; c++)
            copy_element(from, r * columns + c, to, c * rows + r);
    return status_ok();
}

static struct status multiply(struct kernel_context *k, const struct tensor *indices,
                              const struct tensor *b)
{
    const struct product_state *state = kernel_state(k);
    const struct tensor *values = kernel_input(k, 1);
    const int64_t *sizes = tensor_int64s(kernel_input(k, 2));
    struct sparse_matrix a = { tensor_int64s(indices), values->size, sizes[0], sizes[1] };
    int64_t inner = state->adjoint_a ? a.rows : a.columns,
            outer = state->adjoint_a ? a.columns : a.rows, width = b->shape.dims[1];
    struct shape shape = shape_of(outer, width);
    struct tensor *out;

    if (inner != b->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot multiply A and B because inner dimension does not match: %lld "
                            "vs. %lld.  Did you forget a transpose?  Dimensions of A: [%lld, "
                            "%lld).  Dimensions of B: %s",
                            (long long)inner, (long long)b->shape.dims[0], (long long)a.rows,
                            (long long)a.columns, shape_text(&kernel_input(k, 3)->shape));
    TRY(shape_check(2, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    int64_t wrong = out->dtype == DT_FLOAT
                        ? sparse_product_float(&a, tensor_floats(values), state->adjoint_a,
                                               tensor_floats(b), width, tensor_floats_mut(out))
                        : sparse_product_double(&a, tensor_doubles(values), state->adjoint_a,
                                                tensor_doubles(b), width, tensor_doubles_mut(out));
    return wrong == SPARSE_PRODUCT_OK ? status_ok() : misplaced(k, &a, wrong);
}

static struct status product_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *b = kernel_input(k, 3);
    struct product_copies copies = { 0 };
    struct status status;

    TRY(check_ranks(k));
    TRY_OR(done, copy_indices(k, indices, &copies.indices));
    TRY_OR(done, transpose_b(k, b, &copies.b));
    status = multiply(k, copies.indices.data != NULL ? &copies.indices : indices,
                      copies.b.data != NULL ? &copies.b : b);
done:
    tensor_release(&copies.indices);
    tensor_release(&copies.b);
    return status;
}

static const struct kernel rows[] = {
    { "SparseTensorDenseMatMul", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T",
      .prepare = product_prepare, .compute = product_compute },
};
const struct kernel_table kernels_sparse_product = { rows, COUNT(rows) };
