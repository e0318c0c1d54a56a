/*
 * xla_gather: XlaGather reads a window of a tensor for each vector of indices. A window that would
 * leave the tensor moves inwards. jax2tf makes it of indexing, of embeddings for example.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/dimension_numbers.h"
#include "runtime/kernels/xla/index_vectors.h"

/* The fields of GatherDimensionNumbers. */
enum { OFFSET = 1, COLLAPSED = 2 };

static struct status gather_prepare(struct prepare_context *p)
{
    struct dimension_numbers *numbers = prepare_state(p, sizeof *numbers, NULL);
    return dimension_numbers_read(prepare_node(p), numbers);
}

struct gather {
    struct index_vectors vectors;
    int64_t sizes[SHAPE_RANK_MAX]; /* of the window */
    struct strided window;         /* without the collapsed dimensions, of one element each */
    int64_t window_size;
    struct shape out;
    struct strided moved; /* the results, one window after the other, in the order of `out` */
};

static struct status find_window(const struct kernel_context *k, struct gather *gather)
{
    const struct dimension_numbers *numbers = kernel_state(k);
    const struct dimension_list *collapsed = &numbers->fields[COLLAPSED];
    const struct shape *x = &kernel_input(k, 0)->shape;
    int64_t strides[SHAPE_RANK_MAX];
    bool fits = dimensions_fit(collapsed, x->rank);
    TRY(dimension_values(k, 2, "slice_sizes", x->rank, 0, gather->sizes));
    dense_strides(x, strides);
    gather->window_size = 1;
    for (int d = 0; d < x->rank; d++) {
        bool left_out = dimension_place(collapsed, d) >= 0 ||
                        dimension_place(&numbers->fields[INDEX_OPERAND_BATCH], d) >= 0;
        fits = fits && gather->sizes[d] <= x->dims[d] && (!left_out || gather->sizes[d] == 1);
        if (!left_out)
            strided_append(&gather->window, gather->sizes[d], strides[d]);
        gather->window_size = stride_of_steps(gather->window_size, fits ? gather->sizes[d] : 0);
    }
    if (fits && gather->window.rank == numbers->fields[OFFSET].count)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "slice_sizes or dimension_numbers do not fit an operand of shape %s",
                        shape_text(x));
}

/* Dimension d of the result is one of the window, or the next one of the indices. */
static struct status find_out(const struct kernel_context *k, struct gather *gather)
{
    const struct dimension_numbers *numbers = kernel_state(k);
    const struct dimension_list *offsets = &numbers->fields[OFFSET];
    const struct index_vectors *vectors = &gather->vectors;
    int rank = offsets->count + vectors->batch.rank, next = 0;
    int64_t dims[2 * SHAPE_RANK_MAX], window_strides[SHAPE_RANK_MAX], batch_strides[SHAPE_RANK_MAX];
    int64_t stride = 1;
    TRY(kernel_check_rank(k, rank));
    if (!dimensions_fit(offsets, rank))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "offset_dims do not fit a result of rank %d", rank);
    for (int i = gather->window.rank - 1; i >= 0; i--) {
        window_strides[i] = stride;
        stride = stride_of_steps(stride, gather->window.dims[i]);
    }
    dense_strides(&vectors->batch, batch_strides);
    for (int d = 0; d < rank; d++) {
        int i = dimension_place(offsets, d);
        dims[d] = i >= 0 ? gather->window.dims[i] : vectors->batch.dims[next];
        strided_append(&gather->moved, dims[d],
                       i >= 0 ? window_strides[i]
                              : stride_of_steps(batch_strides[next++], gather->window_size));
    }
    return shape_check(rank, dims, &gather->out);
}

static void read_windows(const struct kernel_context *k, const struct gather *gather, void *out)
{
    const struct tensor *x = kernel_input(k, 0);
    size_t bytes = dtype_size(x->dtype);
    for (int64_t i = 0; i < gather->vectors.count; i++) {
        int64_t start[SHAPE_RANK_MAX];
        index_vector_read(&gather->vectors, i, start);
        for (int d = 0; d < x->shape.rank; d++) {
            int64_t last = x->shape.dims[d] - gather->sizes[d];
            start[d] = start[d] < 0 ? 0 : start[d] > last ? last : start[d];
        }
        strided_read(&gather->window, bytes,
                     at_bytes_const(x->data, index_vector_offset(&gather->vectors, start), bytes),
                     at_bytes(out, i * gather->window_size, bytes));
    }
}

static bool is_in_order(const struct strided *moved)
{
    int64_t stride = 1;
    for (int d = moved->rank - 1; d >= 0; d--) {
        if (moved->strides[d] != stride && moved->dims[d] != 1)
            return false;
        stride *= moved->dims[d];
    }
    return true;
}

static struct status gather_compute(struct kernel_context *k)
{
    struct gather gather = { 0 };
    struct tensor *out, windows;
    TRY(index_vectors_bind(k, kernel_state(k), &kernel_input(k, 0)->shape, kernel_input(k, 1),
                           &gather.vectors));
    TRY(find_window(k, &gather));
    TRY(find_out(k, &gather));
    TRY(kernel_output(k, 0, &gather.out, &out));
    if (out->size == 0)
        return status_ok();
    if (is_in_order(&gather.moved)) {
        read_windows(k, &gather, out->data);
        return status_ok();
    }
    TRY(kernel_scratch(k, out->dtype, &out->shape, &windows));
    read_windows(k, &gather, windows.data);
    strided_read(&gather.moved, dtype_size(out->dtype), windows.data, out->data);
    tensor_release(&windows);
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaGather", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL), .prepare = gather_prepare,
      .compute = gather_compute },
};
const struct kernel_table kernels_xla_gather = { rows, COUNT(rows) };
