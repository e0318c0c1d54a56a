/*
 * xla_scatter: XlaScatter combines windows of a tensor with updates, one for each vector of
 * indices. A window that would leave the tensor is left out. Windows may overlap, so they are
 * combined one after the other.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/index_vectors.h"
#include "runtime/kernels/xla/lanes.h"

/* The fields of ScatterDimensionNumbers. */
enum { UPDATE_WINDOW = 1, INSERTED = 2 };

struct xla_scatter_state {
    struct lanes lanes;
    struct dimension_numbers numbers;
};

static struct status scatter_prepare(struct prepare_context *p)
{
    struct xla_scatter_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(lanes_prepare(p, 0, 1, &state->lanes));
    return dimension_numbers_read(prepare_node(p), &state->numbers);
}

struct index_scatter {
    struct index_vectors vectors;
    int64_t sizes[SHAPE_RANK_MAX]; /* of the window, by dimension of the operand */
    struct strided window;
    int64_t window_size;
    struct strided updates; /* one window after the other */
};

static struct status misfit(const struct kernel_context *k)
{
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "dimension_numbers do not fit updates of shape %s to an operand of %s",
                        shape_text(&kernel_input(k, 2)->shape),
                        shape_text(&kernel_input(k, 0)->shape));
}

/* The dimensions of the operand that windows have are those of `update_window_dims`, in order. */
static struct status find_window(const struct kernel_context *k, struct index_scatter *scatter)
{
    const struct xla_scatter_state *state = kernel_state(k);
    const struct dimension_list *fields = state->numbers.fields;
    const struct shape *x = &kernel_input(k, 0)->shape, *updates = &kernel_input(k, 2)->shape;
    int64_t strides[SHAPE_RANK_MAX];
    int used = 0;
    if (!dimensions_fit(&fields[INSERTED], x->rank) ||
        !dimensions_fit(&fields[UPDATE_WINDOW], updates->rank))
        return misfit(k);
    dense_strides(x, strides);
    scatter->window_size = 1;
    for (int d = 0; d < x->rank; d++) {
        scatter->sizes[d] = 1;
        if (dimension_place(&fields[INSERTED], d) >= 0 ||
            dimension_place(&fields[INDEX_OPERAND_BATCH], d) >= 0)
            continue;
        if (used == fields[UPDATE_WINDOW].count)
            return misfit(k);
        scatter->sizes[d] = updates->dims[fields[UPDATE_WINDOW].at[used++]];
        strided_append(&scatter->window, scatter->sizes[d], strides[d]);
        scatter->window_size *= scatter->sizes[d];
    }
    return used == fields[UPDATE_WINDOW].count ? status_ok() : misfit(k);
}

/* The other dimensions of the updates are the batch of indices. */
static struct status find_updates(const struct kernel_context *k, struct index_scatter *scatter)
{
    const struct xla_scatter_state *state = kernel_state(k);
    const struct dimension_list *windows = &state->numbers.fields[UPDATE_WINDOW];
    const struct shape *updates = &kernel_input(k, 2)->shape, *batch = &scatter->vectors.batch;
    int64_t strides[SHAPE_RANK_MAX];
    int next = 0;
    dense_strides(updates, strides);
    if (updates->rank != windows->count + batch->rank)
        return misfit(k);
    for (int d = 0; d < updates->rank; d++) {
        if (dimension_place(windows, d) >= 0)
            continue;
        if (updates->dims[d] != batch->dims[next++])
            return misfit(k);
        strided_append(&scatter->updates, updates->dims[d], strides[d]);
    }
    for (int i = 0; i < windows->count; i++)
        strided_append(&scatter->updates, updates->dims[windows->at[i]], strides[windows->at[i]]);
    return status_ok();
}

static bool is_inside(const struct index_scatter *scatter, const struct shape *x,
                      const int64_t *start)
{
    for (int d = 0; d < x->rank; d++)
        if (start[d] < 0 || start[d] > x->dims[d] - scatter->sizes[d])
            return false;
    return true;
}

/* `updates` in the order of the vectors; `old` has room for one window. */
static struct status combine(struct kernel_context *k, const struct index_scatter *scatter,
                             const struct tensor *updates, struct tensor *old, struct tensor *out)
{
    const struct xla_scatter_state *state = kernel_state(k);
    size_t bytes = dtype_size(out->dtype);
    struct tensor made;
    for (int64_t i = 0; i < scatter->vectors.count; i++) {
        int64_t start[SHAPE_RANK_MAX];
        index_vector_read(&scatter->vectors, i, start);
        if (!is_inside(scatter, &out->shape, start))
            continue;
        void *window = at_bytes(out->data, index_vector_offset(&scatter->vectors, start), bytes);
        strided_read(&scatter->window, bytes, window, old->data);
        const struct tensor args[] = { *old, lanes_view(updates, i * scatter->window_size,
                                                        scatter->window_size) };
        TRY(lanes_run(k, &state->lanes, scatter->window_size, 2, args, 1, &made));
        strided_write(&scatter->window, bytes, made.data, window);
        tensor_release(&made);
    }
    return status_ok();
}

static struct status scatter_compute(struct kernel_context *k)
{
    const struct xla_scatter_state *state = kernel_state(k);
    const struct tensor *updates = kernel_input(k, 2);
    struct index_scatter scatter = { 0 };
    struct tensor *out, ordered = { 0 }, old = { 0 };
    struct shape window;
    TRY(index_vectors_bind(k, &state->numbers, &kernel_input(k, 0)->shape, kernel_input(k, 1),
                           &scatter.vectors));
    TRY(find_window(k, &scatter));
    TRY(find_updates(k, &scatter));
    TRY(kernel_output_copy(k, 0, 0, &out));
    if (updates->size == 0 || out->size == 0)
        return status_ok();
    window = shape_of(scatter.window_size);
    struct status status = kernel_scratch(k, updates->dtype, &updates->shape, &ordered);
    if (status_is_ok(status))
        status = kernel_scratch(k, out->dtype, &window, &old);
    if (status_is_ok(status)) {
        strided_read(&scatter.updates, dtype_size(out->dtype), updates->data, ordered.data);
        status = combine(k, &scatter, &ordered, &old, out);
    }
    tensor_release(&ordered);
    tensor_release(&old);
    return status;
}

static const struct kernel rows[] = {
    { "XlaScatter", DTYPES_LANES, .prepare = scatter_prepare, .compute = scatter_compute,
      .costly = true },
};
const struct kernel_table kernels_xla_scatter = { rows, COUNT(rows) };
