/*
 * einsum: Einsum of one or two operands (graph/einsum.h).
 *
 * Axes of one operand that the output lacks are summed first. What remains of two operands is a
 * batch of matrix products:
 *
 *     out[batch, rows, columns] = a[batch, rows, inner] · b[batch, inner, columns]
 *
 *     batch    in both operands and in the output
 *     inner    in both operands only
 *     rows     in a and in the output
 *     columns  in b and in the output
 *
 * Where the axes of a group are contiguous, they are one dimension, and BLAS reads and writes them
 * in place: the products of attention and of dense layers need no copy. Otherwise an operand is
 * first copied into this order, or the result afterwards out of it.
 */
#include "runtime/kernels/math/contract.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/einsum.h"
#include "runtime/kernels/plain/matmul.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/product.h"

#define SCRATCH_MAX 8
#define OUT         2 /* beside operands 0 and 1 */

struct contraction {
    struct kernel_context *k;
    enum dtype dtype; /* in which it is computed */
    struct einsum_binding axes;
    const void *data[EINSUM_OPERANDS_MAX];
    void *out;
    struct tensor scratch[SCRATCH_MAX];
    int scratch_count;
};

/* Some of the axes, outermost first. */
struct group {
    int count, at[EINSUM_AXES_MAX];
    int64_t size;
};

static struct status einsum_prepare(struct prepare_context *p)
{
    struct einsum_equation *einsum = prepare_state(p, sizeof *einsum, NULL);
    struct bytes equation;
    TRY(node_attr_string(prepare_node(p), "equation", &equation));
    return einsum_parse(equation, prepare_node(p)->inputs_count, einsum);
}

static struct status take_scratch(struct contraction *p, enum dtype dtype, int64_t size,
                                  void **data)
{
    struct shape shape = shape_of(size);
    struct tensor *scratch = &p->scratch[p->scratch_count];
    assert(p->scratch_count < SCRATCH_MAX);
    TRY(kernel_scratch(p->k, dtype, &shape, scratch));
    p->scratch_count++;
    *data = scratch->data;
    return status_ok();
}

/* ---- axes ---- */

static int64_t stride_of(const struct contraction *p, int axis, int array)
{
    const struct einsum_axis *at = &p->axes.at[axis];
    return array == OUT ? at->out_stride : at->strides[array];
}

/* Adds an axis so that the strides in `array` descend. */
static void group_add(const struct contraction *p, struct group *group, int axis, int array)
{
    int i = group->count++;
    for (; i > 0 && stride_of(p, group->at[i - 1], array) < stride_of(p, axis, array); i--)
        group->at[i] = group->at[i - 1];
    group->at[i] = axis;
    group->size *= p->axes.at[axis].dim;
}

static void group_append(struct group *to, const struct group *from)
{
    for (int i = 0; i < from->count; i++)
        to->at[to->count++] = from->at[i];
    to->size *= from->size;
}

/* Is the group one dimension of `array`? *step: its stride. */
static bool group_is_one(const struct contraction *p, const struct group *group, int array,
                         int64_t *step)
{
    *step = group->count > 0 ? stride_of(p, group->at[group->count - 1], array) : 1;
    for (int i = group->count - 2; i >= 0; i--) {
        int inner = group->at[i + 1];
        if (stride_of(p, group->at[i], array) != stride_of(p, inner, array) * p->axes.at[inner].dim)
            return false;
    }
    return true;
}

static struct nest nest_of(const struct contraction *p, const struct group *group)
{
    struct nest nest = { 0 };
    for (int i = 0; i < group->count; i++) {
        const struct einsum_axis *axis = &p->axes.at[group->at[i]];
        nest_append(&nest, axis->dim, axis->strides[0], axis->strides[1], axis->out_stride);
    }
    return nest;
}

/* Axes of one index do not matter. */
static void drop_axes_of_one(struct einsum_binding *axes)
{
    int count = 0;
    for (int i = 0; i < axes->count; i++)
        if (axes->at[i].dim != 1)
            axes->at[count++] = axes->at[i];
    axes->count = count;
}

/* ---- by plain loops ---- */

static const float one_f32[] = { 1, 0 };
static const double one_f64[] = { 1, 0 };
static const int32_t one_i32 = 1;
static const int64_t one_i64 = 1;
static const void *const ones[DTYPE_COUNT] = {
    [DT_FLOAT] = one_f32,  [DT_DOUBLE] = one_f64,    [DT_INT32] = &one_i32,
    [DT_INT64] = &one_i64, [DT_COMPLEX64] = one_f32, [DT_COMPLEX128] = one_f64,
};

/* The second operand is 1 if the op has only one. */
static void compute_plain(struct contraction *p)
{
    struct group kept = { .size = 1 }, summed = { .size = 1 };
    for (int i = 0; i < p->axes.count; i++) {
        bool in_output = p->axes.at[i].in_output;
        group_add(p, in_output ? &kept : &summed, i, in_output ? OUT : 0);
    }
    struct nest outer = nest_of(p, &kept), inner = nest_of(p, &summed);
    const void *second = p->data[1] != NULL ? p->data[1] : ones[p->dtype];
    einsum_plain(p->dtype, &outer, &inner, p->data[0], second, p->out);
}

static bool is_alone(const struct einsum_axis *axis, int operand)
{
    return axis->in[operand] && !axis->in[1 - operand] && !axis->in_output;
}

/* Sums the axes that only this operand has. The sums lie densely, in the order of the axes. */
static struct status sum_alone(struct contraction *p, int operand)
{
    struct nest kept = { 0 }, summed = { 0 };
    struct einsum_binding rest = p->axes;
    int64_t dense[EINSUM_AXES_MAX], size = 1;
    void *sums;
    rest.count = 0;
    for (int i = p->axes.count - 1; i >= 0; i--) {
        const struct einsum_axis *axis = &p->axes.at[i];
        bool stays = axis->in[operand] && !is_alone(axis, operand);
        dense[i] = stays ? size : 0;
        size *= stays ? axis->dim : 1;
    }
    for (int i = 0; i < p->axes.count; i++) {
        struct einsum_axis axis = p->axes.at[i];
        if (is_alone(&axis, operand)) {
            nest_append(&summed, axis.dim, axis.strides[operand], 0, 0);
            continue;
        }
        if (axis.in[operand])
            nest_append(&kept, axis.dim, axis.strides[operand], 0, dense[i]);
        axis.strides[operand] = dense[i];
        rest.at[rest.count++] = axis;
    }
    if (summed.rank == 0)
        return status_ok();
    TRY(take_scratch(p, p->dtype, size, &sums));
    einsum_plain(p->dtype, &kept, &summed, p->data[operand], ones[p->dtype], sums);
    p->data[operand] = sums;
    p->axes = rest;
    return status_ok();
}

/* ---- as matrix products ---- */

struct groups {
    struct group batch, rows, columns, inner;
};

static bool in_both(const struct einsum_axis *axis)
{
    return axis->in[0] && axis->in[1];
}

static struct groups find_groups(const struct contraction *p, int inner_like)
{
    struct groups groups = { { .size = 1 }, { .size = 1 }, { .size = 1 }, { .size = 1 } };
    for (int i = 0; i < p->axes.count; i++) {
        const struct einsum_axis *axis = &p->axes.at[i];
        if (!in_both(axis))
            group_add(p, axis->in[0] ? &groups.rows : &groups.columns, i, OUT);
        else if (axis->in_output)
            group_add(p, &groups.batch, i, OUT);
        else
            group_add(p, &groups.inner, i, inner_like);
    }
    return groups;
}

static void swap_operands(struct contraction *p)
{
    const void *data = p->data[0];
    p->data[0] = p->data[1];
    p->data[1] = data;
    for (int i = 0; i < p->axes.count; i++) {
        struct einsum_axis *axis = &p->axes.at[i], old = *axis;
        for (int n = 0; n < EINSUM_OPERANDS_MAX; n++) {
            axis->in[n] = old.in[1 - n];
            axis->strides[n] = old.strides[1 - n];
        }
    }
}

/* A matrix as BLAS sees it: row-major, or the transpose of a row-major one. */
struct blas_layout {
    bool transposed;
    int64_t leading; /* elements from row to row */
};

static bool find_layout(int64_t rows, int64_t row_step, int64_t columns, int64_t column_step,
                        struct blas_layout *out)
{
    if (columns == 1 || column_step == 1) {
        *out = (struct blas_layout){ false, rows == 1 ? columns : row_step };
        if (out->leading >= columns)
            return true;
    }
    if (rows == 1 || row_step == 1) {
        *out = (struct blas_layout){ true, columns == 1 ? rows : column_step };
        return out->leading >= rows;
    }
    return false;
}

static bool matrix_layout(const struct contraction *p, const struct group *rows,
                          const struct group *columns, int array, struct blas_layout *out)
{
    int64_t row_step, column_step;
    return group_is_one(p, rows, array, &row_step) &&
           group_is_one(p, columns, array, &column_step) &&
           find_layout(rows->size, row_step, columns->size, column_step, out);
}

/* Lists the axes of a batch of matrices, and returns the walk over `array` in their order. */
static struct strided matrices(const struct contraction *p, const struct group *batch,
                               const struct group *rows, const struct group *columns, int array,
                               struct group *axes)
{
    struct strided strided = { 0 };
    *axes = (struct group){ .size = 1 };
    group_append(axes, batch);
    group_append(axes, rows);
    group_append(axes, columns);
    for (int i = 0; i < axes->count; i++)
        strided_append(&strided, p->axes.at[axes->at[i]].dim, stride_of(p, axes->at[i], array));
    return strided;
}

/* Copies an operand that BLAS cannot read in place into the order of the product. */
static struct status arrange_operand(struct contraction *p, const struct group *batch,
                                     const struct group *rows, const struct group *columns,
                                     int operand, struct blas_layout *layout)
{
    struct group axes;
    void *copy;
    if (matrix_layout(p, rows, columns, operand, layout))
        return status_ok();
    struct strided strided = matrices(p, batch, rows, columns, operand, &axes);
    TRY(take_scratch(p, p->dtype, axes.size, &copy));
    strided_read(&strided, dtype_size(p->dtype), p->data[operand], copy);
    p->data[operand] = copy;
    int64_t stride = 1;
    for (int i = axes.count - 1; i >= 0; i--) {
        p->axes.at[axes.at[i]].strides[operand] = stride;
        stride *= p->axes.at[axes.at[i]].dim;
    }
    *layout = (struct blas_layout){ false, columns->size };
    return status_ok();
}

struct einsum_batch {
    struct contraction *p;
    struct matrix_product product; /* its sizes and layouts */
    const struct nest *batch;
    void *out;
};

static struct matrix_product product_of(const struct contraction *p, const struct groups *g,
                                        const struct blas_layout layouts[3])
{
    return (struct matrix_product){ .dtype = p->dtype,
                                    .transpose_a = layouts[0].transposed,
                                    .transpose_b = layouts[1].transposed,
                                    .m = g->rows.size,
                                    .n = g->columns.size,
                                    .k = g->inner.size,
                                    .lda = layouts[0].leading,
                                    .ldb = layouts[1].leading,
                                    .ldout = layouts[OUT].leading };
}

/* Is it a dense vector by a dense matrix? */
static bool is_vector_product(const struct matrix_product *p)
{
    return p->dtype == DT_FLOAT && p->m == 1 && !p->transpose_b && p->ldb == p->n &&
           p->lda == (p->transpose_a ? 1 : p->k);
}

/* Products [first, end) of the batch. */
static struct status multiply_some(void *context, int64_t first, int64_t end)
{
    const struct einsum_batch *some = context;
    const struct contraction *p = some->p;
    size_t bytes = dtype_size(p->dtype);
    struct nest_walk walk = nest_at(some->batch, first);
    struct matrix_product product = some->product;
    for (int64_t i = first; i < end; i++) {
        product.a = at_bytes_const(p->data[0], walk.offsets[0], bytes);
        product.b = at_bytes_const(p->data[1], walk.offsets[1], bytes);
        product.out = at_bytes(some->out, walk.offsets[OUT], bytes);
        if (is_vector_product(&product))
            vector_matmul_f32(product.k, product.n, product.a, product.b, product.out);
        else
            TRY(product_compute(p->k, &product));
        nest_next(some->batch, &walk);
    }
    return status_ok();
}

static struct status multiply_batch(struct contraction *p, const struct groups *g,
                                    const struct blas_layout layouts[3], const struct nest *batch,
                                    void *out)
{
    struct einsum_batch products = { p, product_of(p, g, layouts), batch, out };
    int64_t count = 1;
    for (int d = 0; d < batch->rank; d++)
        count *= batch->dims[d];
    return products_compute(p->k, count, product_ns(&products.product), false, multiply_some,
                            &products);
}

/* The batch of the result where BLAS cannot write it in place: contiguous matrices. */
static struct nest dense_batch(const struct nest *batch, int64_t matrix_size)
{
    struct nest dense = *batch;
    int64_t stride = matrix_size;
    for (int d = dense.rank - 1; d >= 0; d--) {
        dense.strides[d][OUT] = stride;
        stride *= dense.dims[d];
    }
    return dense;
}

static struct status compute_product(struct contraction *p)
{
    /* BLAS writes rows: the axis that is dense in the output must be one of the columns. */
    for (int i = 0; i < p->axes.count; i++) {
        const struct einsum_axis *axis = &p->axes.at[i];
        if (!in_both(axis) && axis->out_stride == 1 && axis->in[0]) {
            swap_operands(p);
            break;
        }
    }
    struct blas_layout layouts[3];
    struct groups g = find_groups(p, 0);
    if (g.columns.size > g.rows.size) /* copy the smaller operand rather than the larger one */
        g = find_groups(p, 1);
    TRY(arrange_operand(p, &g.batch, &g.rows, &g.inner, 0, &layouts[0]));
    TRY(arrange_operand(p, &g.batch, &g.inner, &g.columns, 1, &layouts[1]));
    struct nest batch = nest_of(p, &g.batch);
    if (matrix_layout(p, &g.rows, &g.columns, OUT, &layouts[OUT]) && !layouts[OUT].transposed)
        return multiply_batch(p, &g, layouts, &batch, p->out);
    struct group axes;
    void *result;
    struct strided strided = matrices(p, &g.batch, &g.rows, &g.columns, OUT, &axes);
    TRY(take_scratch(p, p->dtype, axes.size, &result));
    batch = dense_batch(&batch, g.rows.size * g.columns.size);
    layouts[OUT] = (struct blas_layout){ false, g.columns.size };
    TRY(multiply_batch(p, &g, layouts, &batch, result));
    strided_write(&strided, dtype_size(p->dtype), result, p->out);
    return status_ok();
}

/* ---- the op ---- */

/* Nothing is summed and nothing multiplied: a transpose, a diagonal, or a scatter into one. */
static struct status compute_moved(struct contraction *p)
{
    struct group all = { .size = 1 };
    struct strided from = { 0 }, to = { 0 };
    void *dense = p->out;
    for (int i = 0; i < p->axes.count; i++)
        group_add(p, &all, i, OUT);
    for (int i = 0; i < all.count; i++) {
        const struct einsum_axis *axis = &p->axes.at[all.at[i]];
        strided_append(&from, axis->dim, axis->strides[0]);
        strided_append(&to, axis->dim, axis->out_stride);
    }
    if (p->axes.output_repeats)
        TRY(take_scratch(p, p->dtype, all.size, &dense));
    strided_read(&from, dtype_size(p->dtype), p->data[0], dense);
    if (p->axes.output_repeats)
        strided_write(&to, dtype_size(p->dtype), dense, p->out);
    return status_ok();
}

static struct status compute(struct contraction *p, int operands)
{
    bool sums = false, multiplies = false;
    drop_axes_of_one(&p->axes);
    for (int n = 0; operands == 2 && n < operands; n++)
        TRY(sum_alone(p, n));
    for (int i = 0; i < p->axes.count; i++) {
        sums = sums || !p->axes.at[i].in_output;
        multiplies = multiplies || (in_both(&p->axes.at[i]) && !p->axes.at[i].in_output);
    }
    if (operands == 1 && !sums)
        return compute_moved(p);
    if (multiplies)
        return compute_product(p);
    compute_plain(p);
    return status_ok();
}

/* half and bfloat16 are computed in float, and rounded once. */
static struct status compute_half(struct contraction *p, enum dtype dtype, int operands,
                                  struct tensor *out)
{
    void *wide;
    p->dtype = DT_FLOAT;
    for (int n = 0; n < operands; n++) {
        int64_t size = kernel_input(p->k, n)->size;
        TRY(take_scratch(p, DT_FLOAT, size, &wide));
        half_block_load(dtype, p->data[n], wide, size);
        p->data[n] = wide;
    }
    TRY(take_scratch(p, DT_FLOAT, out->size, &p->out));
    if (p->axes.output_repeats)
        memset(p->out, 0, (size_t)out->size * sizeof(float));
    TRY(compute(p, operands));
    half_block_store(dtype, p->out, out->data, out->size);
    return status_ok();
}

struct status contract(struct kernel_context *k, enum dtype dtype,
                       const struct einsum_binding *axes, int operands_count,
                       const void *const *operands, void *out)
{
    struct contraction p = { .k = k, .dtype = dtype, .axes = *axes, .out = out };
    for (int n = 0; n < operands_count; n++)
        p.data[n] = operands[n];
    struct status status = compute(&p, operands_count);
    tensors_release(p.scratch_count, p.scratch);
    return status;
}

static struct status einsum_compute(struct kernel_context *k)
{
    const struct einsum_equation *einsum = kernel_state(k);
    struct contraction p = { .k = k };
    const struct shape *shapes[EINSUM_OPERANDS_MAX];
    struct tensor *out;
    for (int n = 0; n < einsum->inputs_count; n++) {
        shapes[n] = &kernel_input(k, n)->shape;
        p.data[n] = kernel_input(k, n)->data;
    }
    TRY(einsum_bind(einsum, shapes, &p.axes));
    TRY(kernel_output(k, 0, &p.axes.output, &out));
    bool empty = false;
    for (int i = 0; i < p.axes.count; i++)
        empty = empty || p.axes.at[i].dim == 0;
    if (empty || p.axes.output_repeats)
        memset(out->data, 0, tensor_bytes(out));
    if (empty)
        return status_ok();
    p.dtype = out->dtype;
    p.out = out->data;
    struct status status = dtype_is_half(p.dtype)
                               ? compute_half(&p, p.dtype, einsum->inputs_count, out)
                               : compute(&p, einsum->inputs_count);
    tensors_release(p.scratch_count, p.scratch);
    return status;
}

#define DTYPES_EINSUM                                                               \
    (DTYPES_FLOATING | DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_COMPLEX64) | \
     DTYPES(DT_COMPLEX128))
static const struct kernel rows[] = {
    { "Einsum", DTYPES_EINSUM, .prepare = einsum_prepare, .compute = einsum_compute,
      .costly = true },
    { "XlaEinsum", DTYPES_EINSUM, .prepare = einsum_prepare, .compute = einsum_compute,
      .costly = true },
};
const struct kernel_table kernels_einsum = { rows, COUNT(rows) };
