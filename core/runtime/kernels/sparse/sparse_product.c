/* SparseTensorDenseMatMul, and _SparseListsMatMul, whose entries are two lists of rows and
 * columns instead of the pairs that Pack makes of them. */
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse/multiply.h"

struct product_state {
    bool adjoint_a, adjoint_b;
};

static struct status product_prepare(struct prepare_context *p)
{
    struct product_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_bool(prepare_node(p), "adjoint_a", &state->adjoint_a));
    return node_attr_bool(prepare_node(p), "adjoint_b", &state->adjoint_b);
}

/* The inputs after the indices, which are one input, or two lists. */
struct product_inputs {
    const struct tensor *values, *shape, *b;
};

static struct product_inputs inputs_behind(struct kernel_context *k, int indices_count)
{
    return (struct product_inputs){ kernel_input(k, indices_count),
                                    kernel_input(k, indices_count + 1),
                                    kernel_input(k, indices_count + 2) };
}

static struct status check_dense(const struct product_inputs *in)
{
    if (in->b->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'b' is not a matrix");
    if (in->shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_shape' is not a vector");
    if (in->shape->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
    if (in->values->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_values' is not a vector");
    return status_ok();
}

static struct status check_entries(const struct product_inputs *in, int64_t count)
{
    return count == in->values->size
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT,
                              "Number of rows of a_indices does not match number of entries in "
                              "a_values");
}

static struct status check_pairs(const struct product_inputs *in, const struct tensor *indices)
{
    TRY(check_dense(in));
    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_indices' is not a matrix");
    TRY(check_entries(in, indices->shape.dims[0]));
    if (indices->shape.dims[1] != in->shape->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of columns of a_indices does not match number of entries in "
                            "a_shape");
    return status_ok();
}

/* With the errors of the Pack as well, which came first. */
static struct status check_lists(const struct product_inputs *in, const struct tensor *rows,
                                 const struct tensor *columns)
{
    if (rows->shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "axis = 1 not in [-1, 1)");
    if (!shape_equal(&rows->shape, &columns->shape))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "Shapes of all inputs must match: values[0].shape = %s != values[1].shape = %s",
            shape_text(&rows->shape), shape_text(&columns->shape));
    TRY(check_dense(in));
    if (rows->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Tensor 'a_indices' is not a matrix");
    return check_entries(in, rows->size);
}

static struct status misplaced(struct kernel_context *k, const struct sparse_matrix *a, int64_t i)
{
    const struct product_state *state = kernel_state(k);
    const int64_t index[] = { a->row_of[i * a->step], a->column_of[i * a->step] };
    int inner = state->adjoint_a ? 0 : 1; /* the dimension that is summed over */
    int64_t sizes[] = { a->rows, a->columns };
    bool is_inner = index[inner] < 0 || index[inner] >= sizes[inner];
    int wrong = is_inner ? inner : 1 - inner;

    return status_error(STATUS_INVALID_ARGUMENT,
                        "%s (%lld) from index[%lld,%d] out of bounds (>=%lld)",
                        is_inner ? "k" : "m", (long long)index[wrong], (long long)i, wrong,
                        (long long)sizes[wrong]);
}

/* An int64 copy of indices of another type; values and b in the form in which they are
 * multiplied: as floats if they are half, and conjugated, and b transposed, if requested. */
struct product_copies {
    struct tensor indices, values, b;
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

static struct status copy_values(struct kernel_context *k, const struct tensor *from,
                                 struct tensor *to)
{
    const struct product_state *state = kernel_state(k);
    if (!state->adjoint_a || !dtype_is_complex(from->dtype))
        return widened(k, from, to);
    TRY(kernel_scratch(k, from->dtype, &from->shape, to));
    if (from->size > 0)
        memcpy(to->data, from->data, tensor_bytes(from));
    conjugate_elements(to->dtype, to->data, to->size);
    return status_ok();
}

static struct status copy_b(struct kernel_context *k, const struct tensor *from, struct tensor *to)
{
    const struct product_state *state = kernel_state(k);
    int64_t rows = from->shape.dims[0], columns = from->shape.dims[1];
    struct shape shape = shape_of(columns, rows);
    struct tensor wide;

    TRY(widened(k, from, &wide));
    if (!state->adjoint_b) {
        *to = wide;
        return status_ok();
    }
    struct status status = kernel_scratch(k, wide.dtype, &shape, to);
    for (int64_t r = 0; r < rows && columns > 0 && status_is_ok(status); r++)
        for (int64_t c = 0; c < columns; c++)
            copy_element(&wide, r * columns + c, to, c * rows + r);
    if (status_is_ok(status))
        conjugate_elements(to->dtype, to->data, to->size);
    tensor_release(&wide);
    return status;
}

/* The sizes of a are set here. */
static struct status multiply(struct kernel_context *k, struct sparse_matrix *a,
                              const struct product_inputs *in, const struct product_copies *copies)
{
    const struct product_state *state = kernel_state(k);
    const struct tensor *values = &copies->values, *b = &copies->b;
    const int64_t *sizes = tensor_int64s(in->shape);
    a->count = values->size;
    a->rows = sizes[0];
    a->columns = sizes[1];
    int64_t inner = state->adjoint_a ? a->rows : a->columns,
            outer = state->adjoint_a ? a->columns : a->rows, width = b->shape.dims[1];
    struct shape shape = shape_of(outer, width);
    struct tensor *out, sums;

    if (inner != b->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot multiply A and B because inner dimension does not match: %lld "
                            "vs. %lld.  Did you forget a transpose?  Dimensions of A: [%lld, "
                            "%lld).  Dimensions of B: %s",
                            (long long)inner, (long long)b->shape.dims[0], (long long)a->rows,
                            (long long)a->columns, shape_text(&in->b->shape));
    TRY(shape_check(2, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY(widened_output(k, out, &sums));
    memset(sums.data, 0, tensor_bytes(&sums));
    int64_t wrong = SPARSE_PRODUCT_OK;
    struct status status = sparse_multiply(k, a, values->dtype, values->data, state->adjoint_a,
                                           b->data, width, sums.data, &wrong);
    widened_store(&sums, out);
    tensor_release(&sums);
    TRY(status);
    return wrong == SPARSE_PRODUCT_OK ? status_ok() : misplaced(k, a, wrong);
}

static struct status product_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0);
    const struct product_inputs in = inputs_behind(k, 1);
    struct product_copies copies = { 0 };
    struct status status;

    TRY(check_pairs(&in, indices));
    TRY_OR(done, copy_indices(k, indices, &copies.indices));
    TRY_OR(done, copy_values(k, in.values, &copies.values));
    TRY_OR(done, copy_b(k, in.b, &copies.b));
    const int64_t *pairs = tensor_int64s(copies.indices.data != NULL ? &copies.indices : indices);
    struct sparse_matrix a = sparse_matrix_of_pairs(pairs, 0, 0, 0);
    status = multiply(k, &a, &in, &copies);
done:
    tensor_release(&copies.indices);
    tensor_release(&copies.values);
    tensor_release(&copies.b);
    return status;
}

static struct status lists_product_compute(struct kernel_context *k)
{
    const struct tensor *rows = kernel_input(k, 0), *columns = kernel_input(k, 1);
    const struct product_inputs in = inputs_behind(k, 2);
    struct product_copies copies = { 0 };
    struct status status;

    TRY(check_lists(&in, rows, columns));
    TRY_OR(done, copy_values(k, in.values, &copies.values));
    TRY_OR(done, copy_b(k, in.b, &copies.b));
    struct sparse_matrix a = { tensor_int64s(rows), tensor_int64s(columns), .step = 1 };
    status = multiply(k, &a, &in, &copies);
done:
    tensor_release(&copies.values);
    tensor_release(&copies.b);
    return status;
}

static const struct kernel rows[] = {
    { "SparseTensorDenseMatMul", DTYPES_FLOATING | DTYPES_COMPLEX | DTYPES(DT_INT32), "T",
      .prepare = product_prepare, .compute = product_compute },
    { "_SparseListsMatMul", DTYPES_FLOATING | DTYPES_COMPLEX | DTYPES(DT_INT32), "T",
      .prepare = product_prepare, .compute = lists_product_compute },
};
const struct kernel_table kernels_sparse_product = { rows, COUNT(rows) };
