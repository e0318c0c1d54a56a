/* csr_product: products of sparse matrices in compressed rows with dense ones (SparseMatrixMatMul)
 * and with each other (SparseMatrixSparseMatMul). */
#include <complex.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"
#include "runtime/kernels/sparse/csr.h"
#include "runtime/kernels/sparse/multiply.h"

struct csr_product_state {
    bool transpose_a, transpose_b; /* also for an adjoint matrix */
    bool conjugate_a, conjugate_b;
    bool transpose_output, conjugate_output; /* of SparseMatrixMatMul */
};

static struct status read_side(const struct node *node, const char *transpose, const char *adjoint,
                               bool *is_transposed, bool *is_conjugated)
{
    TRY(node_attr_bool(node, transpose, is_transposed));
    TRY(node_attr_bool(node, adjoint, is_conjugated));
    if (*is_transposed && *is_conjugated)
        return status_error(STATUS_INVALID_ARGUMENT, "Only one of %s and %s may be true.", adjoint,
                            transpose);
    *is_transposed = *is_transposed || *is_conjugated;
    return status_ok();
}

static struct status product_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct csr_product_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(read_side(node, "transpose_a", "adjoint_a", &state->transpose_a, &state->conjugate_a));
    TRY(read_side(node, "transpose_b", "adjoint_b", &state->transpose_b, &state->conjugate_b));
    if (node_attr(node, "transpose_output") == NULL)
        return status_ok();
    TRY(node_attr_bool(node, "transpose_output", &state->transpose_output));
    return node_attr_bool(node, "conjugate_output", &state->conjugate_output);
}

/* ---- with a dense matrix ---- */

/* The entries of one matrix as pairs of row and column. */
static void list_pairs(const struct csr *a, int64_t matrix, int64_t *pairs)
{
    const int32_t *rows = csr_rows(a, matrix);
    const int32_t *columns = tensor_int32s(&a->parts[CSR_COLUMNS]) + csr_starts(a)[matrix];
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t i = rows[r]; i < rows[r + 1]; i++) {
            pairs[2 * i] = r;
            pairs[2 * i + 1] = columns[i];
        }
}

/* The buffers of a product; b and the product are of one matrix. */
struct dense_product {
    struct tensor pairs, values, b, product;
};

static void dense_product_release(struct dense_product *work)
{
    tensor_release(&work->pairs);
    tensor_release(&work->values);
    tensor_release(&work->b);
    tensor_release(&work->product);
}

static struct status make_buffers(struct kernel_context *k, const struct csr *a,
                                  const struct tensor *b, int64_t product_size,
                                  struct dense_product *work)
{
    const struct csr_product_state *state = kernel_state(k);
    struct shape pairs = shape_of(a->entries, 2), product = shape_of(product_size);
    struct shape one =
        shape_of(b->shape.dims[b->shape.rank - 2] * b->shape.dims[b->shape.rank - 1]);
    TRY(kernel_scratch(k, DT_INT64, &pairs, &work->pairs));
    TRY(kernel_scratch(k, b->dtype, &a->parts[CSR_VALUES].shape, &work->values));
    TRY(kernel_scratch(k, b->dtype, &one, &work->b));
    copy_elements(b->dtype, work->values.data, a->parts[CSR_VALUES].data, a->entries);
    if (state->conjugate_a)
        conjugate_elements(b->dtype, work->values.data, a->entries);
    return state->transpose_output ? kernel_scratch(k, b->dtype, &product, &work->product)
                                   : status_ok();
}

/* from [rows, columns] -> to [columns, rows] */
static void transpose_matrix(enum dtype dtype, int64_t rows, int64_t columns, const void *from,
                             void *to)
{
    size_t size = dtype_size(dtype);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy(at_bytes(to, c * rows + r, size), at_bytes_const(from, r * columns + c, size),
                   size);
}

/* b in the form in which it is multiplied. */
static const void *arranged(const struct csr_product_state *state, const struct tensor *b,
                            const void *from, struct tensor *copy)
{
    int rank = b->shape.rank;
    if (!state->transpose_b || copy->size == 0)
        return from;
    transpose_matrix(b->dtype, b->shape.dims[rank - 2], b->shape.dims[rank - 1], from, copy->data);
    if (state->conjugate_b)
        conjugate_elements(b->dtype, copy->data, copy->size);
    return copy->data;
}

/* out [height, width], or [width, height] if it is to be transposed. */
static struct status multiply_matrix(const struct kernel_context *k, const struct csr *a,
                                     int64_t matrix, int64_t height, int64_t width,
                                     struct dense_product *work, void *out)
{
    const struct csr_product_state *state = kernel_state(k);
    const struct tensor *b = kernel_input(k, 1);
    size_t size = dtype_size(b->dtype);
    int64_t first = csr_starts(a)[matrix], count = csr_starts(a)[matrix + 1] - first;
    const void *from = at_bytes_const(b->data, matrix * work->b.size, size);
    void *product = state->transpose_output ? work->product.data : out;
    list_pairs(a, matrix, tensor_int64s_mut(&work->pairs));
    struct sparse_matrix pairs =
        sparse_matrix_of_pairs(tensor_int64s(&work->pairs), count, a->rows, a->columns);
    memset(product, 0, (size_t)(height * width) * size);
    int64_t wrong; /* none: the matrix was checked when it was made */
    TRY(sparse_multiply(k, &pairs, b->dtype, at_bytes_const(work->values.data, first, size),
                        state->transpose_a, arranged(state, b, from, &work->b), width, product,
                        &wrong));
    if (state->transpose_output)
        transpose_matrix(b->dtype, height, width, product, out);
    if (state->conjugate_output)
        conjugate_elements(b->dtype, out, height * width);
    return kernel_check(k);
}

static struct status check_dense(const struct csr *a, const struct tensor *b)
{
    const struct tensor *values = &a->parts[CSR_VALUES];
    if (values->dtype != b->dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input types don't match.  a.dtype == %s vs. b.dtype == %s",
                            dtype_name(values->dtype), dtype_name(b->dtype));
    if (a->rank != b->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT, "Ranks of a and b must match, saw: %d vs. %d.",
                            a->rank, b->shape.rank);
    if (a->rank == 3 && a->batch != b->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Batch sizes of a and b must match, saw: %lld vs. %lld.",
                            (long long)a->batch, (long long)b->shape.dims[0]);
    return status_ok();
}

static struct status multiply_batch(struct kernel_context *k, const struct csr *a, int64_t height,
                                    int64_t width, struct tensor *out)
{
    const struct tensor *b = kernel_input(k, 1);
    struct dense_product work = { 0 };
    struct status status = make_buffers(k, a, b, height * width, &work);
    for (int64_t m = 0; status_is_ok(status) && m < a->batch; m++)
        status = multiply_matrix(k, a, m, height, width, &work,
                                 at_bytes(out->data, m * height * width, dtype_size(b->dtype)));
    dense_product_release(&work);
    return status;
}

static struct status dense_product_compute(struct kernel_context *k)
{
    const struct csr_product_state *state = kernel_state(k);
    const struct tensor *b = kernel_input(k, 1);
    struct csr a;
    struct tensor *out;
    TRY(csr_input(k, 0, &a));
    TRY(check_dense(&a, b));
    const int64_t *dims = b->shape.dims + b->shape.rank - 2;
    int64_t inner = state->transpose_a ? a.rows : a.columns;
    int64_t height = state->transpose_a ? a.columns : a.rows, width = dims[!state->transpose_b];
    if (inner != dims[state->transpose_b]) {
        struct shape shape;
        TRY(shape_check(a.rank, csr_sizes(&a), &shape));
        const char *text = shape_text(&shape);
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inner product dimensions of A and B do not agree. Shapes are: %s vs. "
                            "%s",
                            text, shape_text(&b->shape));
    }
    int64_t sizes[3] = { a.batch, height, width };
    sizes[1] = state->transpose_output ? width : height;
    sizes[2] = state->transpose_output ? height : width;
    struct shape shape;
    TRY(shape_check(a.rank, sizes + 3 - a.rank, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    return out->size == 0 ? status_ok() : multiply_batch(k, &a, height, width, out);
}

/* ---- with a sparse matrix ---- */

/* A product row by row. Entries that cancel each other stay. */
struct row_sums {
    struct tensor sums;  /* [columns]: of the row so far */
    struct tensor marks; /* int32 [columns]: 1 + the last row that has an entry there */
    struct tensor found; /* int32 [columns]: the columns of the row */
};

static struct status row_sums_make(struct kernel_context *k, enum dtype dtype, int64_t columns,
                                   struct row_sums *out)
{
    struct shape shape = shape_of(columns);
    TRY(kernel_scratch(k, dtype, &shape, &out->sums));
    TRY(kernel_scratch(k, DT_INT32, &shape, &out->marks));
    return kernel_scratch(k, DT_INT32, &shape, &out->found);
}

static void row_sums_release(struct row_sums *sums)
{
    tensor_release(&sums->sums);
    tensor_release(&sums->marks);
    tensor_release(&sums->found);
}

static int compare_columns(const void *a, const void *b, void *context)
{
    (void)context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The columns of row r of a·b, not in order. `work` is for kernel_work: entries may be at one place
 * many times. */
static struct status find_columns(const struct kernel_context *k, const struct csr *a,
                                  int64_t a_matrix, const struct csr *b, int64_t b_matrix,
                                  int64_t r, struct row_sums *sums, int64_t *work, int64_t *count)
{
    const int32_t *a_rows = csr_rows(a, a_matrix), *b_rows = csr_rows(b, b_matrix);
    const int32_t *a_columns = tensor_int32s(&a->parts[CSR_COLUMNS]) + csr_starts(a)[a_matrix];
    const int32_t *b_columns = tensor_int32s(&b->parts[CSR_COLUMNS]) + csr_starts(b)[b_matrix];
    int32_t *marks = tensor_int32s_mut(&sums->marks), *found = tensor_int32s_mut(&sums->found);
    *count = 0;
    for (int64_t i = a_rows[r]; i < a_rows[r + 1]; i++) {
        int64_t first = b_rows[a_columns[i]], end = b_rows[a_columns[i] + 1];
        for (int64_t j = first; j < end; j++) {
            if (marks[b_columns[j]] == r + 1)
                continue;
            marks[b_columns[j]] = (int32_t)r + 1;
            found[(*count)++] = b_columns[j];
        }
        TRY(kernel_work(k, work, end - first + 1));
    }
    return kernel_work(k, work, 1);
}

/* The sums of row r, at the columns that were found. */
typedef struct status add_row(const struct kernel_context *k, const struct csr *a, int64_t a_matrix,
                              const struct csr *b, int64_t b_matrix, int64_t r, void *sums,
                              int64_t *work);
#define ADD_ROW(name, type)                                                                       \
    static struct status name(const struct kernel_context *k, const struct csr *a,                \
                              int64_t a_matrix, const struct csr *b, int64_t b_matrix, int64_t r, \
                              void *sums, int64_t *work)                                          \
    {                                                                                             \
        int64_t a_first = csr_starts(a)[a_matrix], b_first = csr_starts(b)[b_matrix];             \
        const int32_t *a_rows = csr_rows(a, a_matrix), *b_rows = csr_rows(b, b_matrix);           \
        const int32_t *a_columns = tensor_int32s(&a->parts[CSR_COLUMNS]) + a_first;               \
        const int32_t *b_columns = tensor_int32s(&b->parts[CSR_COLUMNS]) + b_first;               \
        const type *a_values = (const type *)a->parts[CSR_VALUES].data + a_first;                 \
        const type *b_values = (const type *)b->parts[CSR_VALUES].data + b_first;                 \
        for (int64_t i = a_rows[r]; i < a_rows[r + 1]; i++) {                                     \
            int64_t first = b_rows[a_columns[i]], end = b_rows[a_columns[i] + 1];                 \
            for (int64_t j = first; j < end; j++)                                                 \
                ((type *)sums)[b_columns[j]] += a_values[i] * b_values[j];                        \
            TRY(kernel_work(k, work, end - first + 1));                                           \
        }                                                                                         \
        return status_ok();                                                                       \
    }
ADD_ROW(add_row_f32, float)
ADD_ROW(add_row_f64, double)
ADD_ROW(add_row_c64, float complex)
ADD_ROW(add_row_c128, double complex)

static add_row *add_row_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_DOUBLE:
        return add_row_f64;
    case DT_COMPLEX64:
        return add_row_c64;
    case DT_COMPLEX128:
        return add_row_c128;
    default:
        return add_row_f32;
    }
}

/* The matrix of a batch; a batch of one goes with each matrix of the other side. */
static int64_t matrix_of(const struct csr *csr, int64_t m)
{
    return csr->batch == 1 ? 0 : m;
}

static void clear_marks(struct row_sums *sums)
{
    if (sums->marks.size > 0)
        memset(sums->marks.data, 0, tensor_bytes(&sums->marks));
}

static struct status count_entries(struct kernel_context *k, const struct csr *a,
                                   const struct csr *b, int64_t batch, struct row_sums *sums,
                                   int64_t *out)
{
    int64_t work = 0;
    *out = 0;
    for (int64_t m = 0; m < batch; m++) {
        clear_marks(sums);
        for (int64_t r = 0; r < a->rows; r++) {
            int64_t count;
            TRY(find_columns(k, a, matrix_of(a, m), b, matrix_of(b, m), r, sums, &work, &count));
            *out += count;
        }
    }
    return status_ok();
}

static struct status fill_product(struct kernel_context *k, const struct csr *a,
                                  const struct csr *b, struct row_sums *sums, struct csr *out)
{
    struct tensor *values = &out->parts[CSR_VALUES];
    size_t size = dtype_size(values->dtype);
    int32_t *columns = tensor_int32s_mut(&out->parts[CSR_COLUMNS]);
    int32_t *starts = tensor_int32s_mut(&out->parts[CSR_STARTS]);
    const int32_t *found = tensor_int32s(&sums->found);
    int64_t work = 0;
    for (int64_t m = 0, at = 0; m < out->batch; m++) {
        clear_marks(sums);
        for (int64_t r = 0; r < out->rows; r++) {
            int64_t count;
            TRY(find_columns(k, a, matrix_of(a, m), b, matrix_of(b, m), r, sums, &work, &count));
            TRY(kernel_sort(k, sums->found.data, count, sizeof *found, compare_columns, NULL));
            for (int64_t i = 0; i < count; i++)
                memset(at_bytes(sums->sums.data, found[i], size), 0, size);
            TRY(add_row_of(values->dtype)(k, a, matrix_of(a, m), b, matrix_of(b, m), r,
                                          sums->sums.data, &work));
            for (int64_t i = 0; i < count; i++, at++) {
                columns[at] = found[i];
                copy_element(&sums->sums, found[i], values, at);
            }
            csr_rows_mut(out, m)[r + 1] = (int32_t)(at - starts[m]);
        }
        starts[m + 1] = (int32_t)at;
    }
    return status_ok();
}

static struct status multiply_sparse(struct kernel_context *k, const struct csr *a,
                                     const struct csr *b)
{
    int64_t batch = a->batch > b->batch ? a->batch : b->batch, entries;
    const int64_t sizes[3] = { batch, a->rows, b->columns };
    struct row_sums sums = { 0 };
    struct csr out = { 0 };
    enum dtype dtype = a->parts[CSR_VALUES].dtype;
    struct status status;
    TRY_OR(done, row_sums_make(k, dtype, b->columns, &sums));
    TRY_OR(done, count_entries(k, a, b, batch, &sums, &entries));
    TRY_OR(done, csr_make(k, a->rank, sizes + 3 - a->rank, entries, dtype, &out));
    status = fill_product(k, a, b, &sums, &out);
    if (status_is_ok(status))
        status = csr_output(k, &out);
    else
        csr_release(&out);
done:
    row_sums_release(&sums);
    return status;
}

/* Reads input `index`, transposed if requested: then *held is the copy, which the caller
 * releases. */
static struct status read_factor(struct kernel_context *k, int index, bool transpose,
                                 bool conjugate, struct csr *out, struct csr *held)
{
    enum dtype wanted;
    TRY(csr_input(k, index, out));
    enum dtype dtype = out->parts[CSR_VALUES].dtype;
    TRY(node_attr_type(kernel_node(k), "type", &wanted));
    if (dtype != wanted)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "dtype of %s is not equal to 'type': %s vs. %s", index == 0 ? "a" : "b",
                            dtype_name(dtype), dtype_name(wanted));
    if (!transpose)
        return status_ok();
    TRY(csr_transpose(k, out, conjugate, held));
    *out = *held;
    return status_ok();
}

static struct status check_factors(struct kernel_context *k, const struct csr *a,
                                   const struct csr *b)
{
    struct csr given[2];
    struct shape shapes[2];
    for (int i = 0; i < 2; i++) {
        TRY(csr_input(k, i, &given[i]));
        TRY(shape_check(given[i].rank, csr_sizes(&given[i]), &shapes[i]));
    }
    const char *text = shape_text(&shapes[0]);
    if (a->columns != b->rows || a->rank != b->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inner product dimensions of A and B do not agree.  Shapes are: %s vs. "
                            "%s",
                            text, shape_text(&shapes[1]));
    if (a->batch != b->batch && a->batch != 1 && b->batch != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Batch sizes of A and B are not compatible.  Batch sizes are: %lld vs. "
                            "%lld",
                            (long long)a->batch, (long long)b->batch);
    return status_ok();
}

static struct status sparse_product_compute(struct kernel_context *k)
{
    const struct csr_product_state *state = kernel_state(k);
    struct csr a, b, held[2] = { 0 };
    struct status status;
    TRY_OR(done, read_factor(k, 0, state->transpose_a, state->conjugate_a, &a, &held[0]));
    TRY_OR(done, read_factor(k, 1, state->transpose_b, state->conjugate_b, &b, &held[1]));
    TRY_OR(done, check_factors(k, &a, &b));
    status = multiply_sparse(k, &a, &b);
done:
    csr_release(&held[0]);
    csr_release(&held[1]);
    return status;
}

static const struct kernel rows[] = {
    { "SparseMatrixMatMul", CSR_DTYPES, "T", .prepare = product_prepare,
      .compute = dense_product_compute, .costly = true },
    { "SparseMatrixSparseMatMul", CSR_DTYPES, "type", .prepare = product_prepare,
      .compute = sparse_product_compute, .costly = true },
};
const struct kernel_table kernels_csr_product = { rows, COUNT(rows) };
