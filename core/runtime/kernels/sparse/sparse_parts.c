/* sparse_parts: SparseConcat, SparseSplit, SparseSlice and SparseSliceGrad. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"
#include "runtime/kernels/sparse_input.h"

static struct status put_sizes(struct kernel_context *k, int output, const int64_t *sizes,
                               int64_t rank, struct tensor **out)
{
    struct shape vector = shape_of(rank);

    TRY(kernel_output(k, output, &vector, out));
    if (rank > 0)
        memcpy((*out)->data, sizes, (size_t)rank * sizeof *sizes);
    return status_ok();
}

/* ---- SparseConcat: the result's indices are in ascending order ---- */

struct concat_state {
    int64_t axis, count; /* count: of inputs */
};

/* A value of the result. */
struct concat_entry {
    int64_t *index;
    int64_t at; /* its place among all values, input by input */
    int input;
    int64_t from; /* its place in its input */
};

static struct status concat_prepare(struct prepare_context *p)
{
    struct concat_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_int(prepare_node(p), "N", &state->count));
    return node_attr_int(prepare_node(p), "concat_dim", &state->axis);
}

static int compare_entries(const void *x, const void *y, void *rank)
{
    const struct concat_entry *a = x, *b = y;
    int order = sparse_compare(a->index, b->index, *(const int64_t *)rank);

    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

static struct status read_inputs(struct kernel_context *k, int count, struct sparse_input *inputs,
                                 int64_t *axis)
{
    int64_t given = *axis;

    for (int i = 0; i < count; i++) {
        TRY(sparse_input_read(k, i, count + i, 2 * count + i, &inputs[i]));
        if (inputs[i].rank != inputs[0].rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Ranks of all input tensors must match: expected %lld but got %lld "
                                "at position %d",
                                (long long)inputs[0].rank, (long long)inputs[i].rank, i);
    }
    if (given < -inputs[0].rank || given >= inputs[0].rank)
        return status_error(
            STATUS_INVALID_ARGUMENT, "Concat dimension must be in range [%lld, %lld), got %lld",
            (long long)-inputs[0].rank, (long long)inputs[0].rank, (long long)given);
    *axis = given < 0 ? given + inputs[0].rank : given;
    for (int i = 1; i < count; i++)
        for (int64_t d = 0; d < inputs[0].rank; d++)
            if (d != *axis && inputs[i].sizes[d] != inputs[0].sizes[d])
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "Input shapes must match: expected %lld for dimension %lld but "
                                    "got %lld at position %d",
                                    (long long)inputs[0].sizes[d], (long long)d,
                                    (long long)inputs[i].sizes[d], i);
    return status_ok();
}

/* All values with their indices in the result, in ascending order. */
static struct status make_entries(struct kernel_context *k, const struct sparse_input *inputs,
                                  int count, int64_t axis, int64_t total, struct concat_entry **out)
{
    int64_t rank = inputs[0].rank, at = 0, offset = 0;
    void *entries, *indices;

    TRY(arena_reserve(kernel_arena(k), ((size_t)total + 1) * sizeof **out, &entries));
    TRY(arena_reserve(kernel_arena(k), ((size_t)(total * rank) + 1) * sizeof(int64_t), &indices));
    *out = entries;
    for (int n = 0; n < count; n++) {
        for (int64_t i = 0; i < inputs[n].count; i++, at++) {
            int64_t *index = (int64_t *)indices + at * rank;
            memcpy(index, sparse_input_index(&inputs[n], i), (size_t)rank * sizeof *index);
            index[axis] = (int64_t)((uint64_t)index[axis] + (uint64_t)offset);
            (*out)[at] = (struct concat_entry){ index, at, n, i };
        }
        if (__builtin_add_overflow(offset, inputs[n].sizes[axis], &offset))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the result's dimension %lld is beyond 2^63", (long long)axis);
    }
    return kernel_sort(k, *out, total, sizeof **out, compare_entries, &rank);
}

static struct status concat_compute(struct kernel_context *k)
{
    const struct concat_state *state = kernel_state(k);
    int count = (int)state->count;
    struct sparse_input *inputs = ARENA_ARRAY(kernel_arena(k), struct sparse_input, count);
    struct tensor *indices, *values, *sizes;
    struct concat_entry *entries;
    int64_t axis = state->axis, total = 0;

    TRY(read_inputs(k, count, inputs, &axis));
    int64_t rank = inputs[0].rank;
    for (int n = 0; n < count; n++)
        total += inputs[n].count;
    TRY(make_entries(k, inputs, count, axis, total, &entries));
    struct shape matrix = shape_of(total, rank), vector = shape_of(total);
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(put_sizes(k, 2, inputs[0].sizes, rank, &sizes));
    for (int n = 1; n < count; n++)
        tensor_int64s_mut(sizes)[axis] += inputs[n].sizes[axis];
    for (int64_t i = 0; i < total; i++) {
        memcpy(tensor_int64s_mut(indices) + i * rank, entries[i].index,
               (size_t)rank * sizeof(int64_t));
        copy_element(inputs[entries[i].input].values, entries[i].from, values, i);
    }
    return status_ok();
}

/* ---- SparseSlice and SparseSplit: the values in a box, in the order in which they are ---- */

struct box {
    const int64_t *start, *size; /* [rank] */
};

static bool is_inside(const struct box *box, const int64_t *index, int64_t rank)
{
    for (int64_t d = 0; d < rank; d++)
        if (index[d] < box->start[d] || index[d] - box->start[d] >= box->size[d])
            return false;
    return true;
}

/* Writes a box as the outputs `indices`, `values` and `shape`. */
static struct status put_box(struct kernel_context *k, const struct sparse_input *sparse,
                             const struct box *box, int indices, int values, int shape)
{
    struct tensor *out_indices, *out_values, *out_shape;
    int64_t rank = sparse->rank, count = 0, at = 0;

    for (int64_t i = 0; i < sparse->count; i++)
        count += is_inside(box, sparse_input_index(sparse, i), rank);
    struct shape matrix = shape_of(count, rank), vector = shape_of(count);
    TRY(kernel_output(k, indices, &matrix, &out_indices));
    TRY(kernel_output(k, values, &vector, &out_values));
    TRY(put_sizes(k, shape, box->size, rank, &out_shape));
    for (int64_t i = 0; i < sparse->count; i++) {
        const int64_t *index = sparse_input_index(sparse, i);
        if (!is_inside(box, index, rank))
            continue;
        for (int64_t d = 0; d < rank; d++)
            tensor_int64s_mut(out_indices)[at * rank + d] = index[d] - box->start[d];
        copy_element(sparse->values, i, out_values, at++);
    }
    return status_ok();
}

static struct status slice_compute(struct kernel_context *k)
{
    const struct tensor *start = kernel_input(k, 3), *size = kernel_input(k, 4);
    struct sparse_input sparse;

    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    if (start->shape.rank != 1 || size->shape.rank != 1 || start->size != sparse.rank ||
        size->size != sparse.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected start and size to be vectors of %lld elements but got shapes "
                            "%s and %s",
                            (long long)sparse.rank, shape_text(&start->shape),
                            shape_text(&size->shape));
    int64_t *sizes = ARENA_ARRAY(kernel_arena(k), int64_t, sparse.rank + 1);
    for (int64_t d = 0; d < sparse.rank; d++) {
        int64_t from = tensor_int64s(start)[d], wanted = tensor_int64s(size)[d];
        if (from < 0 || wanted < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "start and size must be >= 0, got %lld and %lld for dimension %lld",
                                (long long)from, (long long)wanted, (long long)d);
        int64_t left = sparse.sizes[d] > from ? sparse.sizes[d] - from : 0;
        sizes[d] = wanted < left ? wanted : left;
    }
    return put_box(k, &sparse, &(struct box){ tensor_int64s(start), sizes }, 0, 1, 2);
}

static struct status split_prepare(struct prepare_context *p)
{
    int64_t *parts = prepare_state(p, sizeof *parts, NULL);

    return node_attr_int(prepare_node(p), "num_split", parts);
}

/* The first parts get one more, if the dimension is no multiple of their number. */
static struct status split_compute(struct kernel_context *k)
{
    const int64_t *parts = kernel_state(k);
    const struct tensor *given = kernel_input(k, 0);
    struct sparse_input sparse;

    TRY(sparse_input_read(k, 1, 2, 3, &sparse));
    TRY(shape_check_rank(sparse.rank));
    if (given->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "split_dim should be a scalar, got shape %s",
                            shape_text(&given->shape));
    int64_t axis = tensor_int64s(given)[0];
    if (axis < -sparse.rank || axis >= sparse.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input split_dim should be between [%lld, %lld), got %lld",
                            (long long)-sparse.rank, (long long)sparse.rank, (long long)axis);
    axis = axis < 0 ? axis + sparse.rank : axis;
    if (*parts > sparse.sizes[axis])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input num_split should be between 1 and the splitting dimension size "
                            "(%lld), got %lld",
                            (long long)sparse.sizes[axis], (long long)*parts);
    TRY(sparse_input_check_bounds(&sparse));
    int64_t start[SHAPE_RANK_MAX] = { 0 }, sizes[SHAPE_RANK_MAX];
    memcpy(sizes, sparse.sizes, (size_t)sparse.rank * sizeof *sizes);
    for (int i = 0; i < *parts; i++) {
        sizes[axis] = sparse.sizes[axis] / *parts + (i < sparse.sizes[axis] % *parts);
        TRY(put_box(k, &sparse, &(struct box){ start, sizes }, i, (int)*parts + i,
                    2 * (int)*parts + i));
        start[axis] += sizes[axis];
    }
    return status_ok();
}

/* ---- SparseSliceGrad: the gradients of the values that the slice has ---- */

static bool is_moved(const int64_t *from, const int64_t *to, const int64_t *start, int64_t rank)
{
    for (int64_t d = 0; d < rank; d++)
        if ((uint64_t)from[d] != (uint64_t)to[d] + (uint64_t)start[d])
            return false;
    return true;
}

static struct status check_slice_gradient(const struct kernel_context *k)
{
    const struct shape *gradient = &kernel_input(k, 0)->shape, *in = &kernel_input(k, 1)->shape;
    const struct shape *start = &kernel_input(k, 2)->shape, *out = &kernel_input(k, 3)->shape;

    if (in->rank == 2 && out->rank == 2 && gradient->rank == 1 && start->rank == 1 &&
        in->dims[1] == out->dims[1] && start->dims[0] == in->dims[1] &&
        gradient->dims[0] == out->dims[0])
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "backprop_val_grad of shape %s, input_indices of %s, input_start of %s and "
                        "output_indices of %s do not fit each other",
                        shape_text(gradient), shape_text(in), shape_text(start), shape_text(out));
}

static struct status slice_gradient_compute(struct kernel_context *k)
{
    const struct tensor *gradient = kernel_input(k, 0), *in = kernel_input(k, 1);
    const int64_t *start = tensor_int64s(kernel_input(k, 2));
    const int64_t *to = tensor_int64s(kernel_input(k, 3));
    struct tensor *out;
    int64_t used = 0;

    TRY(check_slice_gradient(k));
    int64_t rank = in->shape.dims[1];
    struct shape vector = shape_of(in->shape.dims[0]);
    TRY(kernel_output(k, 0, &vector, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < out->size && used < gradient->size; i++)
        if (is_moved(tensor_int64s(in) + i * rank, to + used * rank, start, rank))
            copy_element(gradient, used++, out, i);
    if (used == gradient->size)
        return status_ok();
    return status_error(STATUS_INTERNAL,
                        "Elements of backprop_val_grad aren't all propagated. Num elements:%lld, "
                        "used: %lld",
                        (long long)gradient->size, (long long)used);
}

#define DTYPES_NUMBERS (DTYPES_REAL | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))
static const struct kernel rows[] = {
    { "SparseConcat", DTYPES_MOVED, "T", .prepare = concat_prepare, .compute = concat_compute },
    { "SparseSplit", DTYPES_MOVED, "T", .prepare = split_prepare, .compute = split_compute },
    { "SparseSlice", DTYPES_MOVED, "T", .compute = slice_compute },
    { "SparseSliceGrad", DTYPES_NUMBERS, "T", .compute = slice_gradient_compute },
};
const struct kernel_table kernels_sparse_parts = { rows, COUNT(rows) };
