/*
 * sparse_reduce: sums and maxima of a sparse tensor's values along some dimensions, as a dense or a
 * sparse tensor. Elements without a value do not take part.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"
#include "runtime/kernels/sparse_input.h"

struct sparse_reduce_state {
    bool keep_dims;
    bool is_max;
};

/* The dimensions that stay, in ascending order. */
struct sparse_reduction {
    struct sparse_input sparse;
    int kept[SHAPE_RANK_MAX], kept_count;
    bool is_kept[SHAPE_RANK_MAX];
    int64_t *order; /* of the values: by their kept coordinates, and then as they came */
};

static struct status reduce_prepare(struct prepare_context *p)
{
    struct sparse_reduce_state *state = prepare_state(p, sizeof *state, NULL);

    state->is_max = strstr(prepare_node(p)->op_name, "Max") != NULL;
    return node_attr_bool(prepare_node(p), "keep_dims", &state->keep_dims);
}

static struct status read_axes(const struct tensor *axes, struct sparse_reduction *out)
{
    int64_t rank = out->sparse.rank;

    if (axes->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected reduction_axes to be a scalar or a vector; got shape: %s",
                            shape_text(&axes->shape));
    TRY(shape_check_rank(rank));
    for (int d = 0; d < rank; d++)
        out->is_kept[d] = true;
    for (int64_t i = 0; i < axes->size; i++) {
        int32_t axis = tensor_int32s(axes)[i];
        if (axis < -rank || axis >= rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid reduction dimension %d, for input with %lld dimensions.",
                                (int)axis, (long long)rank);
        out->is_kept[axis < 0 ? axis + rank : axis] = false;
    }
    for (int d = 0; d < rank; d++)
        if (out->is_kept[d])
            out->kept[out->kept_count++] = d;
    return status_ok();
}

static int compare_kept(const struct sparse_reduction *reduction, int64_t a, int64_t b)
{
    const int64_t *x = sparse_input_index(&reduction->sparse, a);
    const int64_t *y = sparse_input_index(&reduction->sparse, b);

    for (int i = 0; i < reduction->kept_count; i++) {
        int d = reduction->kept[i];
        if (x[d] != y[d])
            return x[d] < y[d] ? -1 : 1;
    }
    return 0;
}

static int compare_order(const void *x, const void *y, void *context)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    int order = compare_kept(context, a, b);

    return order != 0 ? order : (a > b) - (a < b);
}

static struct status begin(struct kernel_context *k, struct sparse_reduction *out)
{
    void *order;

    *out = (struct sparse_reduction){ 0 };
    TRY(sparse_input_read(k, 0, 1, 2, &out->sparse));
    TRY(read_axes(kernel_input(k, 3), out));
    TRY(sparse_input_check_bounds(&out->sparse));
    int64_t count = out->sparse.count;
    TRY(arena_reserve(kernel_arena(k), ((size_t)count + 1) * sizeof(int64_t), &order));
    out->order = order;
    for (int64_t i = 0; i < count; i++)
        out->order[i] = i;
    return kernel_sort(k, out->order, count, sizeof *out->order, compare_order, out);
}

static int64_t group_end(const struct sparse_reduction *reduction, int64_t at)
{
    int64_t end = at + 1;

    while (end < reduction->sparse.count &&
           compare_kept(reduction, reduction->order[at], reduction->order[end]) == 0)
        end++;
    return end;
}

/* Half and bfloat16 add up as floats. */
static void reduce_group(const struct sparse_reduction *reduction, bool is_max, int64_t at,
                         int64_t end, struct tensor *out, int64_t to)
{
    const struct tensor *values = reduction->sparse.values;
    size_t size = dtype_size(values->dtype);
    void *sum = at_bytes(out->data, to, size);
    float wide = 0, next;
    bool half = dtype_is_half(values->dtype) && !is_max;

    for (int64_t i = at; i < end; i++) {
        const void *value = at_bytes_const(values->data, reduction->order[i], size);
        if (half) {
            half_block_load(values->dtype, value, &next, 1);
            wide += next;
        } else if (i == at) {
            memcpy(sum, value, size);
        } else {
            combine_elements(is_max ? COMBINE_MAX : COMBINE_ADD, values->dtype, value, sum, 1);
        }
    }
    if (half)
        half_block_store(values->dtype, &wide, sum, 1);
}

static struct shape reduced_shape(const struct sparse_reduction *reduction, bool keep_dims)
{
    struct shape shape = shape_scalar();

    for (int d = 0; d < reduction->sparse.rank; d++)
        if (reduction->is_kept[d] || keep_dims)
            shape_append(&shape, reduction->is_kept[d] ? reduction->sparse.sizes[d] : 1);
    return shape;
}

static struct status dense_compute(struct kernel_context *k)
{
    const struct sparse_reduce_state *state = kernel_state(k);
    struct sparse_reduction reduction;
    struct tensor *out;

    TRY(begin(k, &reduction));
    struct shape shape = reduced_shape(&reduction, state->keep_dims);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t at = 0, end; at < reduction.sparse.count; at = end) {
        const int64_t *index = sparse_input_index(&reduction.sparse, reduction.order[at]);
        int64_t to = 0;
        for (int i = 0; i < reduction.kept_count; i++)
            to = to * reduction.sparse.sizes[reduction.kept[i]] + index[reduction.kept[i]];
        end = group_end(&reduction, at);
        reduce_group(&reduction, state->is_max, at, end, out, to);
    }
    return status_ok();
}

static void put_index(const struct sparse_reduction *reduction, bool keep_dims,
                      const int64_t *index, int64_t *out)
{
    for (int d = 0, at = 0; d < reduction->sparse.rank; d++)
        if (reduction->is_kept[d] || keep_dims)
            out[at++] = reduction->is_kept[d] ? index[d] : 0;
}

static struct status sparse_compute(struct kernel_context *k)
{
    const struct sparse_reduce_state *state = kernel_state(k);
    struct sparse_reduction reduction;
    struct tensor *indices, *values, *sizes;
    int64_t count = 0;

    TRY(begin(k, &reduction));
    struct shape reduced = reduced_shape(&reduction, state->keep_dims);
    for (int64_t at = 0; at < reduction.sparse.count; at = group_end(&reduction, at))
        count++;
    struct shape matrix = shape_of(count, reduced.rank), vector = shape_of(count);
    struct shape rank = shape_of(reduced.rank);
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(kernel_output(k, 2, &rank, &sizes));
    for (int64_t at = 0, end, to = 0; at < reduction.sparse.count; at = end, to++) {
        end = group_end(&reduction, at);
        put_index(&reduction, state->keep_dims,
                  sparse_input_index(&reduction.sparse, reduction.order[at]),
                  tensor_int64s_mut(indices) + to * reduced.rank);
        reduce_group(&reduction, state->is_max, at, end, values, to);
    }
    for (int d = 0; d < reduced.rank; d++)
        tensor_int64s_mut(sizes)[d] = reduced.dims[d];
    return status_ok();
}

#define REDUCTION(op, dtypes, function)                                 \
    {                                                                   \
        op, dtypes, "T", .prepare = reduce_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    REDUCTION("SparseReduceSum", DTYPES_COMBINED, dense_compute),
    REDUCTION("SparseReduceMax", DTYPES_REAL, dense_compute),
    REDUCTION("SparseReduceSumSparse", DTYPES_COMBINED, sparse_compute),
    REDUCTION("SparseReduceMaxSparse", DTYPES_REAL, sparse_compute),
};
const struct kernel_table kernels_sparse_reduce = { rows, COUNT(rows) };
