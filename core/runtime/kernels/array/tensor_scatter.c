/*
 * tensor_scatter: a copy of a tensor in which some slices are set or combined: TensorScatterUpdate,
 * …Add, …Sub, …Max, …Min.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"

struct scatter_state {
    bool sets; /* TensorScatterUpdate; the others combine */
    enum combine combine;
    bool skips; /* an index out of range is skipped */
};

static struct status tensor_scatter_prepare(struct prepare_context *p)
{
    static const struct scatter_op {
        const char *name;
        struct scatter_state state;
    } ops[] = {
        { "TensorScatterUpdate", { .sets = true } },
        { "TensorScatterAdd", { .combine = COMBINE_ADD } },
        { "TensorScatterSub", { .combine = COMBINE_SUBTRACT } },
        { "TensorScatterMax", { .combine = COMBINE_MAX_FIRST } },
        { "TensorScatterMin", { .combine = COMBINE_MIN_FIRST } },
    };
    struct scatter_state *state = prepare_state(p, sizeof *state, NULL);
    const struct scatter_op *op = OP_ROW(ops, prepare_node(p)->op_name);
    *state = op->state;
    return nd_index_prepare(p, &state->skips);
}

/* The words and the order of TensorFlow's checks. */
static struct status tensor_scatter_check(const struct tensor *tensor, const struct tensor *indices,
                                          const struct tensor *updates)
{
    const struct shape *shape = &tensor->shape, *of_updates = &updates->shape;
    if (indices->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Indices shape must have rank at least one. Found:%s",
                            shape_text(&indices->shape));
    if (of_updates->rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Updates shape must have rank at least one. Found:%s",
                            shape_text(of_updates));
    if ((indices->size != 0 || updates->size != 0) &&
        (tensor->size == 0 || indices->size == 0 || updates->size == 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Indices and updates specified for empty output shape");
    int outer = indices->shape.rank - 1;
    int64_t depth = indices->shape.dims[outer];
    bool same = of_updates->rank >= outer;
    for (int d = 0; d < outer && same; d++)
        same = of_updates->dims[d] == indices->shape.dims[d];
    if (!same)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Outer dimensions of indices and update must match. Indices shape: %s, "
                            "updates shape:%s",
                            shape_text(&indices->shape), shape_text(of_updates));
    same = of_updates->rank - outer == shape->rank - depth;
    for (int d = (int)depth; same && d < shape->rank; d++)
        same = of_updates->dims[outer + d - depth] == shape->dims[d];
    if (!same)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inner dimensions of output shape must match inner dimensions of "
                            "updates shape. Output: %s updates: %s",
                            shape_text(shape), shape_text(of_updates));
    return status_ok();
}

static struct status tensor_scatter_compute(struct kernel_context *k)
{
    const struct scatter_state *state = kernel_state(k);
    const struct tensor *tensor = kernel_input(k, 0), *indices = kernel_input(k, 1);
    const struct tensor *updates = kernel_input(k, 2);
    struct shape shape = tensor->shape;
    struct tensor *out;
    TRY(tensor_scatter_check(tensor, indices, updates));
    TRY(kernel_output_copy(k, 0, 0, &out));
    if (indices->size == 0)
        return status_ok();
    int outer = indices->shape.rank - 1;
    int64_t depth = indices->shape.dims[outer], places = indices->size / depth;
    int64_t inner = updates->size / places, at;
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < places; i++) {
        const void *update = at_bytes_const(updates->data, i * inner, size);
        TRY(nd_index_read(indices, i, depth, &shape, state->skips, &at));
        if (at < 0)
            continue;
        void *slice = at_bytes(out->data, at * inner, size);
        if (state->sets)
            copy_elements(out->dtype, slice, update, inner);
        else
            combine_elements(state->combine, out->dtype, update, slice, inner);
    }
    return status_ok();
}

#define SCATTER(op, dtypes)                                                                   \
    {                                                                                         \
        op, dtypes, "T", .prepare = tensor_scatter_prepare, .compute = tensor_scatter_compute \
    }
static const struct kernel rows[] = {
    SCATTER("TensorScatterUpdate", DTYPES_MOVED), SCATTER("TensorScatterAdd", DTYPES_COMBINED),
    SCATTER("TensorScatterSub", DTYPES_COMBINED), SCATTER("TensorScatterMax", DTYPES_REAL),
    SCATTER("TensorScatterMin", DTYPES_REAL),
};
const struct kernel_table kernels_tensor_scatter = { rows, COUNT(rows) };
