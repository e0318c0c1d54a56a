/*
 * sparse_math: arithmetic on sparse tensors whose indices are in ascending order: sums, gradients
 * of sums, the greater or lesser of two, products and quotients with a dense tensor, softmax.
 */
#include <math.h>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"
#include "runtime/kernels/sparse_input.h"

static const void *value_at(const struct tensor *values, int64_t i)
{
    return at_bytes_const(values->data, i, dtype_size(values->dtype));
}

static void *place_at(struct tensor *values, int64_t i)
{
    return at_bytes(values->data, i, dtype_size(values->dtype));
}

/* ---- two sparse tensors, index by index ---- */

struct merge {
    const struct sparse_input *a, *b;
    int64_t next_a, next_b;
    int64_t from_a, from_b; /* the values at the current index; -1: has none */
};

static bool merge_next(struct merge *m)
{
    bool more_a = m->next_a < m->a->count, more_b = m->next_b < m->b->count;

    if (!more_a && !more_b)
        return false;
    int order = !more_a   ? 1
                : !more_b ? -1
                          : sparse_compare(sparse_input_index(m->a, m->next_a),
                                           sparse_input_index(m->b, m->next_b), m->a->rank);
    m->from_a = order <= 0 ? m->next_a++ : -1;
    m->from_b = order >= 0 ? m->next_b++ : -1;
    return true;
}

static const int64_t *merged_index(const struct merge *m)
{
    return m->from_a >= 0 ? sparse_input_index(m->a, m->from_a)
                          : sparse_input_index(m->b, m->from_b);
}

static struct status read_pair(struct kernel_context *k, struct sparse_input *a,
                               struct sparse_input *b)
{
    TRY(sparse_input_read(k, 0, 1, 2, a));
    TRY(sparse_input_read(k, 3, 4, 5, b));
    if (a->rank != b->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Operands do not have the same ranks; got %lld and %lld",
                            (long long)a->rank, (long long)b->rank);
    for (int64_t d = 0; d < a->rank; d++)
        if (a->sizes[d] != b->sizes[d])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Operands' shapes do not match: got %lld and %lld for dimension "
                                "%lld",
                                (long long)a->sizes[d], (long long)b->sizes[d], (long long)d);
    return status_ok();
}

static void put_index(struct tensor *indices, int64_t at, const int64_t *index, int64_t rank)
{
    if (rank > 0)
        memcpy(tensor_int64s_mut(indices) + at * rank, index, (size_t)rank * sizeof *index);
}

/* ---- SparseAdd: leaves out sums below a threshold ---- */

/* Is the sum of two values at least the threshold? Writes it to `sum`, which has room for any. */
static bool is_enough(const struct merge *m, const struct tensor *threshold, void *sum)
{
    enum dtype dtype = m->a->values->dtype;
    struct shape scalar = shape_scalar();

    memcpy(sum, value_at(m->a->values, m->from_a), dtype_size(dtype));
    combine_elements(COMBINE_ADD, dtype, value_at(m->b->values, m->from_b), sum, 1);
    struct tensor total = tensor_borrow(dtype, &scalar, sum);
    if (dtype_is_floating(dtype))
        return floating_element(threshold, 0) <= fabs(floating_element(&total, 0));
    if (dtype == DT_COMPLEX64)
        return tensor_floats(threshold)[0] <= hypotf(((float *)sum)[0], ((float *)sum)[1]);
    if (dtype == DT_COMPLEX128)
        return tensor_doubles(threshold)[0] <= hypot(((double *)sum)[0], ((double *)sum)[1]);
    int64_t whole = tensor_index(&total, 0);
    return whole == INT64_MIN || tensor_index(threshold, 0) <= (whole < 0 ? -whole : whole);
}

static bool merge_next_sum(struct merge *m, const struct tensor *threshold, void *sum)
{
    while (merge_next(m)) {
        if (m->from_a < 0)
            memcpy(sum, value_at(m->b->values, m->from_b), dtype_size(m->b->values->dtype));
        else if (m->from_b < 0)
            memcpy(sum, value_at(m->a->values, m->from_a), dtype_size(m->a->values->dtype));
        else if (!is_enough(m, threshold, sum))
            continue;
        return true;
    }
    return false;
}

/* Treal is the type of an absolute value. */
static struct status add_prepare(struct prepare_context *p)
{
    enum dtype dtype, real;

    TRY(node_attr_type(prepare_node(p), "T", &dtype));
    TRY(node_attr_type(prepare_node(p), "Treal", &real));
    enum dtype wanted = dtype == DT_COMPLEX64    ? DT_FLOAT
                        : dtype == DT_COMPLEX128 ? DT_DOUBLE
                                                 : dtype;
    if (real == wanted)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Treal of %s is %s, not %s", dtype_name(dtype),
                        dtype_name(wanted), dtype_name(real));
}

static struct status add_compute(struct kernel_context *k)
{
    const struct tensor *threshold = kernel_input(k, 6);
    struct sparse_input a, b;
    struct tensor *indices, *values;
    double sum[2]; /* any number */
    int64_t count = 0;

    TRY(read_pair(k, &a, &b));
    if (threshold->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The magnitude threshold must be a scalar: got shape %s",
                            shape_text(&threshold->shape));
    for (struct merge m = { &a, &b, 0, 0, 0, 0 }; merge_next_sum(&m, threshold, sum);)
        count++;
    struct shape matrix = shape_of(count, a.rank), vector = shape_of(count);
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    kernel_output_set(k, 2, tensor_acquire(kernel_input(k, 2)));
    struct merge m = { &a, &b, 0, 0, 0, 0 };
    for (int64_t i = 0; merge_next_sum(&m, threshold, sum); i++) {
        put_index(indices, i, merged_index(&m), a.rank);
        memcpy(place_at(values, i), sum, dtype_size(values->dtype));
    }
    return status_ok();
}

/* ---- SparseAddGrad: a value gets the gradient of the sum at its index ---- */

static struct status check_add_gradient(const struct kernel_context *k)
{
    const struct tensor *gradient = kernel_input(k, 0), *sum = kernel_input(k, 3);

    for (int i = 1; i <= 3; i++)
        if (kernel_input(k, i)->shape.rank != 2)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input indices should be matrices but received shape %s",
                                shape_text(&kernel_input(k, i)->shape));
    if (gradient->shape.rank != 1 || gradient->size != sum->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "# elements of backprop_val_grad and # rows of sum_indices should "
                            "match (#nnz of sum): got shapes %s and %s",
                            shape_text(&gradient->shape), shape_text(&sum->shape));
    for (int i = 1; i <= 2; i++)
        if (kernel_input(k, i)->shape.dims[1] != sum->shape.dims[1])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "The densified operands should have the same ndims, got indices "
                                "of shapes %s and %s",
                                shape_text(&kernel_input(k, i)->shape), shape_text(&sum->shape));
    return status_ok();
}

static struct status add_gradient(struct kernel_context *k, int operand)
{
    const struct tensor *gradient = kernel_input(k, 0), *indices = kernel_input(k, operand);
    const struct tensor *sum = kernel_input(k, 3);
    int64_t rank = sum->shape.dims[1], count = indices->shape.dims[0], at = 0;
    struct shape vector = shape_of(count);
    struct tensor *out;

    TRY(kernel_output(k, operand - 1, &vector, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < gradient->size && at < count; i++) {
        const int64_t *wanted = tensor_int64s(sum) + i * rank;
        while (at < count && sparse_compare(tensor_int64s(indices) + at * rank, wanted, rank) < 0)
            at++;
        if (at < count && sparse_compare(tensor_int64s(indices) + at * rank, wanted, rank) == 0)
            copy_element(gradient, i, out, at++);
    }
    return status_ok();
}

static struct status add_gradient_compute(struct kernel_context *k)
{
    TRY(check_add_gradient(k));
    TRY(add_gradient(k, 1));
    return add_gradient(k, 2);
}

/* ---- SparseSparseMaximum, SparseSparseMinimum: a value that is missing is 0 ---- */

static struct status extreme(struct kernel_context *k, enum combine combine)
{
    const double zero = 0;
    struct sparse_input a, b;
    struct tensor *indices, *values;
    int64_t count = 0;

    TRY(read_pair(k, &a, &b));
    TRY(sparse_input_check_bounds(&a));
    TRY(sparse_input_check_bounds(&b));
    for (struct merge m = { &a, &b, 0, 0, 0, 0 }; merge_next(&m);)
        count++;
    struct shape matrix = shape_of(count, a.rank), vector = shape_of(count);
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    struct merge m = { &a, &b, 0, 0, 0, 0 };
    for (int64_t i = 0; merge_next(&m); i++) {
        const void *x = m.from_a >= 0 ? value_at(a.values, m.from_a) : &zero;
        const void *y = m.from_b >= 0 ? value_at(b.values, m.from_b) : &zero;
        put_index(indices, i, merged_index(&m), a.rank);
        memcpy(place_at(values, i), x, dtype_size(values->dtype));
        combine_elements(combine, values->dtype, y, place_at(values, i), 1);
    }
    return status_ok();
}

static struct status maximum_compute(struct kernel_context *k)
{
    return extreme(k, COMBINE_MAX_FIRST);
}

static struct status minimum_compute(struct kernel_context *k)
{
    return extreme(k, COMBINE_MIN_FIRST);
}

/* ---- a sparse and a dense tensor ---- */

/* SparseTensorDenseAdd: the shapes are the same. */
static struct status check_dense_add(const struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    const struct tensor *sizes = kernel_input(k, 2), *dense = kernel_input(k, 3);

    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input a_indices should be a matrix but received shape: %s",
                            shape_text(&indices->shape));
    if (values->shape.rank != 1 || sizes->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inputs a_values and a_shape should be vectors but received shapes: %s "
                            "and %s",
                            shape_text(&values->shape), shape_text(&sizes->shape));
    if (values->size != indices->shape.dims[0] || sizes->size != indices->shape.dims[1])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Dimensions of a_indices, %s, a_values, %s, and a_shape, %s, do not "
                            "fit each other",
                            shape_text(&indices->shape), shape_text(&values->shape),
                            shape_text(&sizes->shape));
    if (sizes->size != dense->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Two operands have different ranks; received: %lld and %d",
                            (long long)sizes->size, dense->shape.rank);
    for (int d = 0; d < dense->shape.rank; d++)
        if (tensor_index(sizes, d) != dense->shape.dims[d])
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Dimension %d does not equal (no broadcasting is supported): sparse "
                "side %lld vs dense side %lld",
                d, (long long)tensor_index(sizes, d), (long long)dense->shape.dims[d]);
    return status_ok();
}

static struct status dense_add_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    const struct tensor *dense = kernel_input(k, 3);
    int rank = dense->shape.rank;
    struct tensor *out;

    TRY(check_dense_add(k));
    TRY(kernel_output_forward(k, 0, 3, &dense->shape, &out));
    if (out->size > 0 && out->data != dense->data)
        memcpy(out->data, dense->data, tensor_bytes(out));
    for (int64_t i = 0; i < values->size; i++) {
        int64_t place = 0;
        for (int d = 0; d < rank; d++) {
            int64_t index = tensor_index(indices, i * rank + d);
            if (index < 0 || index >= dense->shape.dims[d])
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "Sparse tensor has some invalid index on dimension %d: %lld", d,
                                    (long long)index);
            place = place * dense->shape.dims[d] + index;
        }
        combine_elements(COMBINE_ADD, out->dtype, value_at(values, i), place_at(out, place), 1);
    }
    return status_ok();
}

/* The dense tensor broadcasts to the sparse one. */
static struct status check_broadcast(const struct sparse_input *sparse, const struct tensor *dense)
{
    bool fits = dense->shape.rank <= sparse->rank;

    for (int d = 1; fits && d <= dense->shape.rank; d++) {
        int64_t size = dense->shape.dims[dense->shape.rank - d];
        fits = size == 1 || size == sparse->sizes[sparse->rank - d];
    }
    if (fits && sparse->rank > 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "SparseDenseBinaryOpShared broadcasts dense to sparse only; got a sparse "
                        "tensor of rank %lld and a dense one of shape %s",
                        (long long)sparse->rank, shape_text(&dense->shape));
}

static int64_t broadcast_place(const struct sparse_input *sparse, int64_t i,
                               const struct shape *dense)
{
    const int64_t *index = sparse_input_index(sparse, i) + sparse->rank - dense->rank;
    int64_t place = 0;

    for (int d = 0; d < dense->rank; d++)
        place = place * dense->dims[d] + (dense->dims[d] == 1 ? 0 : index[d]);
    return place;
}

/* The caller divides nothing by 0. */
#define DIVIDE(name, T, W)                                 \
    static void divide_##name(void *value, const void *by) \
    {                                                      \
        *(T *)value = (T)(*(T *)value / *(const T *)by);   \
    }
/* The negative of the lowest number wraps. */
#define DIVIDE_SIGNED(name, T, W)                           \
    static void divide_##name(void *value, const void *by)  \
    {                                                       \
        T x = *(T *)value, y = *(const T *)by;              \
        *(T *)value = (T)(y == -1 ? (T)(0 - (W)x) : x / y); \
    }
FLOAT_TYPES(DIVIDE)
SIGNED_TYPES(DIVIDE_SIGNED)
UNSIGNED_TYPES(DIVIDE)

typedef void divide_number(void *value, const void *by);
static divide_number *const divides[DTYPE_COUNT] = { ROWS_REAL(divide) };

static void divide(enum dtype dtype, void *value, const void *by)
{
    float x, y;

    if (!dtype_is_half(dtype)) {
        divides[dtype](value, by);
        return;
    }
    half_block_load(dtype, value, &x, 1);
    half_block_load(dtype, by, &y, 1);
    x /= y;
    half_block_store(dtype, &x, value, 1);
}

static bool is_zero(const struct tensor *x, int64_t i)
{
    return dtype_is_floating(x->dtype) ? floating_element(x, i) == 0 : tensor_index(x, i) == 0;
}

enum with_dense { DENSE_ADD, DENSE_MULTIPLY, DENSE_DIVIDE };

static struct status with_dense(struct kernel_context *k, enum with_dense operation)
{
    const struct tensor *dense = kernel_input(k, 3);
    struct sparse_input sparse;
    struct tensor *out;

    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    TRY(check_broadcast(&sparse, dense));
    TRY(sparse_input_check_bounds(&sparse));
    TRY(kernel_output(k, 0, &sparse.values->shape, &out));
    if (out->size > 0)
        memcpy(out->data, sparse.values->data, tensor_bytes(out));
    for (int64_t i = 0; i < sparse.count; i++) {
        int64_t place = broadcast_place(&sparse, i, &dense->shape);
        const void *other = value_at(dense, place);
        if (operation == DENSE_DIVIDE && is_zero(dense, place))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "SparseDenseCwiseDiv cannot divide by zero,"
                                "but input dense tensor contains zero ");
        if (operation == DENSE_DIVIDE)
            divide(out->dtype, place_at(out, i), other);
        else
            combine_elements(operation == DENSE_ADD ? COMBINE_ADD : COMBINE_MULTIPLY, out->dtype,
                             other, place_at(out, i), 1);
    }
    return status_ok();
}

static struct status cwise_add_compute(struct kernel_context *k)
{
    return with_dense(k, DENSE_ADD);
}

static struct status cwise_multiply_compute(struct kernel_context *k)
{
    return with_dense(k, DENSE_MULTIPLY);
}

static struct status cwise_divide_compute(struct kernel_context *k)
{
    return with_dense(k, DENSE_DIVIDE);
}

/* ---- SparseSoftmax: along the last dimension, over the values that are there ---- */

static double exponential(enum dtype dtype, double x)
{
    return dtype == DT_DOUBLE ? exp(x) : (double)expf((float)x);
}

static void softmax_run(const struct tensor *x, int64_t begin, int64_t end, struct tensor *out)
{
    double most = -INFINITY, sum = 0;

    for (int64_t i = begin; i < end; i++)
        most = fmax(most, floating_element(x, i));
    for (int64_t i = begin; i < end; i++)
        sum += exponential(x->dtype, floating_element(x, i) - most);
    for (int64_t i = begin; i < end; i++)
        floating_store(out, i, exponential(x->dtype, floating_element(x, i) - most) / sum);
}

static struct status softmax_compute(struct kernel_context *k)
{
    struct sparse_input sparse;
    struct tensor *out;

    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    if (sparse.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input should have rank >= 2, but its shape has %lld dimensions",
                            (long long)sparse.rank);
    TRY(sparse_input_check_bounds(&sparse));
    TRY(kernel_output(k, 0, &sparse.values->shape, &out));
    for (int64_t begin = 0, end; begin < sparse.count; begin = end) {
        end = sparse_input_run_end(&sparse, begin, sparse.rank - 1);
        softmax_run(sparse.values, begin, end, out);
    }
    return status_ok();
}

#define DTYPES_ADDED                                                              \
    (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT64) | DTYPES(DT_INT32) | \
     DTYPES(DT_INT16) | DTYPES(DT_INT8) | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))
static const struct kernel rows[] = {
    { "SparseAdd", DTYPES_ADDED, "T", .prepare = add_prepare, .compute = add_compute },
    { "SparseAddGrad", DTYPES_COMBINED, "T", .compute = add_gradient_compute },
    { "SparseSparseMaximum", DTYPES_REAL, "T", .compute = maximum_compute },
    { "SparseSparseMinimum", DTYPES_REAL, "T", .compute = minimum_compute },
    { "SparseTensorDenseAdd", DTYPES_COMBINED, "T", .compute = dense_add_compute },
    { "SparseDenseCwiseAdd", DTYPES_REAL, "T", .compute = cwise_add_compute },
    { "SparseDenseCwiseMul", DTYPES_REAL, "T", .compute = cwise_multiply_compute },
    { "SparseDenseCwiseDiv", DTYPES_REAL, "T", .compute = cwise_divide_compute },
    { "SparseSoftmax", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF), "T",
      .compute = softmax_compute },
};
const struct kernel_table kernels_sparse_math = { rows, COUNT(rows) };
