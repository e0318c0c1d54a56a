/*
 * reduce: Sum, Mean, Prod, Max, Min, EuclideanNorm over any axes; All and Any; ArgMax and ArgMin;
 * L2Loss.
 *
 * Dimensions are merged into alternating runs of kept and reduced ones. The two frequent forms are
 * leaf loops: rows reduced to one element each ([keep, reduce]) and columns ([reduce, keep]). Every
 * other form walks over these.
 */
#include <math.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/reduce.h"

/* Dimensions after merging, outermost first; `reduced` alternates. */
struct reduction {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
    bool reduced[SHAPE_RANK_MAX];
    struct shape out; /* with keep_dims or without */
};

static void reduction_init(struct reduction *r, const struct shape *shape, const bool *axes,
                           bool keep_dims)
{
    *r = (struct reduction){ 0 };
    for (int d = 0; d < shape->rank; d++) {
        int64_t dim = shape->dims[d];
        if (!axes[d] || keep_dims)
            shape_append(&r->out, axes[d] ? 1 : dim);
        if (dim == 1)
            continue; /* a dimension of 1 is the same kept or reduced */
        if (r->rank > 0 && r->reduced[r->rank - 1] == axes[d]) {
            r->dims[r->rank - 1] *= dim;
            continue;
        }
        r->reduced[r->rank] = axes[d];
        r->dims[r->rank++] = dim;
    }
}

/* Folds x, from dimension `d` on, into out, which holds the initial values or earlier results
 * and has as many elements as the kept dimensions from d on. */
static void fold(const struct reduction *r, int d, const struct fold_rows *rows, size_t in_size,
                 size_t out_size, const char *x, char *out)
{
    int left = r->rank - d;
    if (left == 0) {
        rows->row(x, out, 1);
        return;
    }
    if (left == 1) {
        if (r->reduced[d])
            rows->row(x, out, r->dims[d]);
        else
            rows->columns(x, out, 1, r->dims[d]);
        return;
    }
    if (left == 2 && r->reduced[d]) {
        rows->columns(x, out, r->dims[d], r->dims[d + 1]);
        return;
    }
    int64_t x_step = 1, out_step = 1;
    for (int i = d + 1; i < r->rank; i++) {
        x_step *= r->dims[i];
        out_step *= r->reduced[i] ? 1 : r->dims[i];
    }
    for (int64_t i = 0; i < r->dims[d]; i++)
        fold(r, d + 1, rows, in_size, out_size, at_bytes_const(x, i * x_step, in_size),
             at_bytes(out, r->reduced[d] ? 0 : i * out_step, out_size));
}

struct fold_run {
    const struct reduction *r;
    const struct fold_rows *rows;
    size_t in_size, out_size;
    const char *x;
    char *out;
    int64_t x_step, out_step; /* of the outermost dimension */
};

static void fold_outer(void *context, int64_t first, int64_t end)
{
    const struct fold_run *run = context;
    struct reduction part = *run->r;
    part.dims[0] = end - first;
    fold(&part, 0, run->rows, run->in_size, run->out_size,
         at_bytes_const(run->x, first * run->x_step, run->in_size),
         at_bytes(run->out, first * run->out_step, run->out_size));
}

/* Folds all of x: in parts, if the outermost dimension is kept. */
static void fold_all(const struct reduction *r, const struct fold_rows *rows, size_t in_size,
                     size_t out_size, const char *x, char *out)
{
    struct fold_run run = { r, rows, in_size, out_size, x, out, 1, 1 };
    if (r->rank == 0 || r->reduced[0]) {
        fold(r, 0, rows, in_size, out_size, x, out);
        return;
    }
    for (int d = 1; d < r->rank; d++) {
        run.x_step *= r->dims[d];
        run.out_step *= r->reduced[d] ? 1 : r->dims[d];
    }
    parallel_for(r->dims[0], (double)r->dims[0] * (double)run.x_step, fold_outer, &run);
}

struct reduce_state {
    const struct fold_op *op;
    bool keep_dims;
    bool norm;                    /* one element is not its own result */
    const struct fold_rows *half; /* what half and bfloat16 fold with, as float */
};

static struct status reduce_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct reduce_state *state = prepare_state(p, sizeof *state, NULL);
    state->op = fold_op_find(node->op_name);
    state->norm = strcmp(node->op_name, "EuclideanNorm") == 0;
    state->half = &(state->norm ? fold_op_find("Sum") : state->op)->rows[DT_FLOAT];
    return node_attr_bool(node, "keep_dims", &state->keep_dims);
}

/* Marks the dimensions that the axes of input 1 name. */
static struct status read_axes(struct kernel_context *k, int rank, bool *axes)
{
    const struct tensor *list = kernel_input(k, 1);
    memset(axes, 0, SHAPE_RANK_MAX * sizeof *axes);
    for (int64_t i = 0; i < list->size; i++) {
        int64_t axis = tensor_index(list, i);
        if (axis < -rank || axis >= rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid reduction dimension (%lld for input with %d dimension(s)",
                                (long long)axis, rank);
        axis += axis < 0 ? rank : 0;
        if (axes[axis])
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Invalid reduction arguments: Axes contains duplicate dimension: %lld",
                (long long)axis);
        axes[axis] = true;
    }
    return status_ok();
}

/* TensorFlow rounds the squares of a norm, and their sum, to the element type. */
static void square_rounded(enum dtype dtype, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = half_round(dtype, x[i] * x[i]);
}

static void root_rounded(enum dtype dtype, float *sums, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sums[i] = sqrtf(half_round(dtype, sums[i]));
}

/* half and bfloat16 fold in float. */
static struct status reduce_half(struct kernel_context *k, const struct reduce_state *state,
                                 const struct reduction *r, const struct tensor *x,
                                 struct tensor *out)
{
    struct tensor wide_x, wide_out;
    const struct fold_rows *rows = state->half;
    TRY(kernel_scratch(k, DT_FLOAT, &x->shape, &wide_x));
    struct status status = kernel_scratch(k, DT_FLOAT, &out->shape, &wide_out);
    if (!status_is_ok(status)) {
        tensor_release(&wide_x);
        return status;
    }
    half_block_load(x->dtype, x->data, wide_x.data, x->size);
    if (state->norm)
        square_rounded(x->dtype, wide_x.data, x->size);
    rows->start(wide_out.data, out->size);
    if (x->size > 0)
        fold_all(r, rows, sizeof(float), sizeof(float), wide_x.data, wide_out.data);
    if (rows->finish != NULL && out->size > 0)
        rows->finish(wide_out.data, wide_out.data, out->size, x->size / out->size);
    if (state->norm)
        root_rounded(out->dtype, wide_out.data, out->size);
    half_block_store(out->dtype, wide_out.data, out->data, out->size);
    tensor_release(&wide_x);
    tensor_release(&wide_out);
    return status_ok();
}

/* For sums whose dtype is not that of x and out. */
static struct status reduce_wide(struct kernel_context *k, const struct fold_rows *rows,
                                 const struct reduction *r, const struct tensor *x,
                                 struct tensor *out)
{
    struct tensor sums;
    TRY(kernel_scratch(k, rows->wide, &out->shape, &sums));
    rows->start(sums.data, out->size);
    if (x->size > 0)
        fold_all(r, rows, dtype_size(x->dtype), dtype_size(rows->wide), x->data, sums.data);
    if (out->size > 0)
        rows->finish(sums.data, out->data, out->size, x->size / out->size);
    tensor_release(&sums);
    return status_ok();
}

static bool reduces_nothing(const struct reduction *r)
{
    return r->rank == 0 || (r->rank == 1 && !r->reduced[0]);
}

static struct status reduce_compute(struct kernel_context *k)
{
    const struct reduce_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    bool axes[SHAPE_RANK_MAX];
    struct reduction r;
    struct tensor *out;
    TRY(read_axes(k, x->shape.rank, axes));
    reduction_init(&r, &x->shape, axes, state->keep_dims);
    if (!state->norm && reduces_nothing(&r)) {
        struct tensor same = kernel_take_input(k, 0);
        same.shape = r.out;
        kernel_output_set(k, 0, same);
        return status_ok();
    }
    TRY(kernel_output(k, 0, &r.out, &out));
    if (dtype_is_half(x->dtype))
        return reduce_half(k, state, &r, x, out);

    const struct fold_rows *rows = &state->op->rows[x->dtype];
    if (rows->wide != DT_INVALID)
        return reduce_wide(k, rows, &r, x, out);
    size_t size = dtype_size(x->dtype);
    rows->start(out->data, out->size);
    if (x->size > 0)
        fold_all(&r, rows, size, size, x->data, out->data);
    if (rows->finish != NULL && out->size > 0)
        rows->finish(out->data, out->data, out->size, x->size / out->size);
    return status_ok();
}

/* ---- ArgMax, ArgMin ---- */

struct arg_state {
    bool minimum;
    enum dtype out;
};

static struct status arg_prepare(struct prepare_context *p)
{
    struct arg_state *state = prepare_state(p, sizeof *state, NULL);
    state->minimum = strcmp(prepare_node(p)->op_name, "ArgMin") == 0;
    return node_attr_type(prepare_node(p), "output_type", &state->out);
}

static struct status arg_compute(struct kernel_context *k)
{
    const struct arg_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *dimension = kernel_input(k, 1);
    struct tensor *out;
    int axis;
    if (dimension->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "dim must be a scalar, but received tensor of shape: %s",
                            shape_text(&dimension->shape));
    int64_t given = tensor_index(dimension, 0);
    axis = (int)(given < 0 ? given + x->shape.rank : given);
    if (given < -x->shape.rank || given >= x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected dimension in the range [%d, %d), but got %lld",
                            -x->shape.rank, x->shape.rank, (long long)given);
    struct shape shape = { 0 };
    int64_t outer = 1, inner = 1, count = x->shape.dims[axis];
    for (int d = 0; d < x->shape.rank; d++) {
        if (d != axis)
            shape_append(&shape, x->shape.dims[d]);
        outer *= d < axis ? x->shape.dims[d] : 1;
        inner *= d > axis ? x->shape.dims[d] : 1;
    }
    if (count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Reduction axis %d is empty in shape %s", axis,
                            shape_text(&x->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    arg_row *row = arg_row_find(x->dtype, state->minimum);
    size_t size = dtype_size(x->dtype);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            tensor_set_index(
                out, o * inner + i,
                row(at_bytes_const(x->data, o * count * inner + i, size), count, inner));
    return status_ok();
}

#define REDUCE(op, dtypes)                                                    \
    {                                                                         \
        op, dtypes, "T", .prepare = reduce_prepare, .compute = reduce_compute \
    }
/* ---- L2Loss: half the sum of squares ---- */

static struct status l2_loss_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    double sum = 0;
    TRY(kernel_output(k, 0, &scalar, &out));
    for (int64_t i = 0; i < x->size; i++) {
        double value = floating_element(x, i);
        sum += value * value;
    }
    float half = (float)(sum / 2);
    if (x->dtype == DT_DOUBLE)
        tensor_doubles_mut(out)[0] = sum / 2;
    else if (x->dtype == DT_FLOAT)
        tensor_floats_mut(out)[0] = half;
    else
        half_block_store(x->dtype, &half, out->data, 1);
    return status_ok();
}

static const struct kernel rows[] = {
    REDUCE("EuclideanNorm", DTYPES_REAL | DTYPES_COMPLEX),
    REDUCE("Sum", DTYPES_REAL | DTYPES_COMPLEX),
    REDUCE("Mean", DTYPES_REAL | DTYPES_COMPLEX),
    REDUCE("Prod", DTYPES_REAL | DTYPES_COMPLEX),
    REDUCE("Max", DTYPES_REAL),
    REDUCE("Min", DTYPES_REAL),
    { "All", DTYPES_ALL, .prepare = reduce_prepare, .compute = reduce_compute },
    { "Any", DTYPES_ALL, .prepare = reduce_prepare, .compute = reduce_compute },
    { "ArgMax", DTYPES_REAL | DTYPES(DT_BOOL), "T", .prepare = arg_prepare,
      .compute = arg_compute },
    { "ArgMin", DTYPES_REAL | DTYPES(DT_BOOL), "T", .prepare = arg_prepare,
      .compute = arg_compute },
    { "L2Loss", DTYPES_FLOATING, .compute = l2_loss_compute },
};
const struct kernel_table kernels_reduce = { rows, COUNT(rows) };
