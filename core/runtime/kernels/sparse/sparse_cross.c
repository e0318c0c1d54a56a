/*
 * sparse_cross: SparseCross, SparseCrossV2 and SparseCrossHashed, all combinations of the features
 * of a row. The columns are N sparse tensors of rank 2, then dense ones.
 */
#include <inttypes.h>

#include "runtime/kernels/sparse/crossing.h"

enum cross_form { CROSS_V1, CROSS_V2, CROSS_HASHED };

struct cross_state {
    enum cross_form form;
    int sparse_count, dense_count;
    enum crossing_kind kind;
    int64_t buckets;
    uint64_t key;
};

static struct status v1_prepare(struct cross_state *state, const struct node *node)
{
    bool hashed;
    int64_t key;
    enum dtype out_type;
    TRY(node_attr_bool(node, "hashed_output", &hashed));
    TRY(node_attr_int(node, "num_buckets", &state->buckets));
    TRY(node_attr_int(node, "hash_key", &key));
    TRY(node_attr_type(node, "out_type", &out_type));
    if (hashed != (out_type == DT_INT64))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "hashed_output is %s, but out_type is %s; expected int64 for hashes "
                            "and string for texts",
                            hashed ? "true" : "false", dtype_name(out_type));
    state->kind = hashed ? CROSSING_HASH : CROSSING_TEXT;
    state->key = (uint64_t)key;
    return status_ok();
}

static struct status cross_prepare(struct prepare_context *p)
{
    struct cross_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    const struct attr_value *sparse, *dense;
    int64_t n;

    state->form = strcmp(node->op_name, "SparseCross") == 0     ? CROSS_V1
                  : strcmp(node->op_name, "SparseCrossV2") == 0 ? CROSS_V2
                                                                : CROSS_HASHED;
    TRY(node_attr_int(node, "N", &n));
    TRY(node_attr_list(node, "sparse_types", &sparse));
    TRY(node_attr_list(node, "dense_types", &dense));
    if (sparse->count != n)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected %" PRId64 " input values, got %d", n,
                            sparse->count);
    state->sparse_count = sparse->count;
    state->dense_count = dense->count;
    state->kind = state->form == CROSS_V2 ? CROSSING_TEXT : CROSSING_HASHED;
    return state->form == CROSS_V1 ? v1_prepare(state, node) : status_ok();
}

/* ---- checks, in TensorFlow's order ---- */

static struct status check_indices(const struct tensor *indices, int i)
{
    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input indices should be a matrix but received shape %s at position %d",
                            shape_text(&indices->shape), i);
    if (indices->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected D2 of index to be 2 got %" PRId64 " at position %d",
                            indices->shape.dims[1], i);
    return status_ok();
}

static struct status check_values(const struct tensor *indices, const struct tensor *values, int i)
{
    if (values->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input values should be a vector but received shape %s at position %d",
                            shape_text(&values->shape), i);
    if (values->size != indices->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected size of values to be %" PRId64 " got %" PRId64
                            " at position %d",
                            indices->shape.dims[0], values->size, i);
    return status_ok();
}

static struct status check_shape(const struct tensor *shape, int i)
{
    if (shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input shapes should be a vector but received shape %s at position %d",
                            shape_text(&shape->shape), i);
    if (shape->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "shape should imply a 2D tensor, but got %s at position %d",
                            shape_text(&shape->shape), i);
    return status_ok();
}

static struct status check_inputs(struct kernel_context *k, const struct cross_state *state)
{
    int n = state->sparse_count;
    for (int i = 0; i < n; i++)
        TRY(check_indices(kernel_input(k, i), i));
    for (int i = 0; i < n; i++)
        TRY(check_values(kernel_input(k, i), kernel_input(k, n + i), i));
    for (int i = 0; i < n; i++)
        TRY(check_shape(kernel_input(k, 2 * n + i), i));
    for (int i = 0; i < state->dense_count; i++) {
        const struct shape *shape = &kernel_input(k, 3 * n + i)->shape;
        if (shape->rank != 2)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Dense inputs should be a matrix but received shape %s at position %d",
                shape_text(shape), i);
    }
    return status_ok();
}

static struct status set_rows(struct kernel_context *k, const struct cross_state *state,
                              struct crossing *crossing)
{
    int n = state->sparse_count;
    for (int i = 0; i < crossing->count; i++) {
        const struct tensor *input = kernel_input(k, 2 * n + i);
        int64_t rows = i < n ? tensor_int64s(input)[0] : input->shape.dims[0];
        if (i == 0)
            crossing->rows = rows;
        if (rows != crossing->rows)
            return status_error(
                STATUS_INVALID_ARGUMENT, "Expected batch size %" PRId64 " got %" PRId64 " at %s %d",
                crossing->rows, rows, i < n ? "position" : "dense tensor", i < n ? i : i - n);
    }
    if (crossing->rows < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected a shape, received %" PRId64 " rows",
                            crossing->rows);
    if (crossing->rows > INT32_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%" PRId64 " rows", crossing->rows);
    return status_ok();
}

/* ---- the columns ---- */

/* The indices are sorted by row, as in TensorFlow. */
static struct status add_sparse(struct kernel_context *k, struct crossing *crossing, int n, int i)
{
    const struct tensor *indices = kernel_input(k, i), *values = kernel_input(k, n + i);
    void *begin;
    TRY(arena_reserve(kernel_arena(k), (size_t)(crossing->rows + 1) * sizeof(int64_t), &begin));
    crossing->columns[i] = (struct crossing_column){ .values = values, .begin = begin };
    int64_t *ends = begin, row = 0;
    ends[0] = 0;
    for (int64_t at = 0; at < values->size; at++) {
        int64_t here = tensor_int64s(indices)[2 * at];
        if (here < row || here >= crossing->rows)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected indices in the order of their rows, 0 to %" PRId64
                                ", received row %" PRId64 " after row %" PRId64,
                                crossing->rows - 1, here, row);
        while (row < here)
            ends[++row] = at;
    }
    while (row < crossing->rows)
        ends[++row] = values->size;
    return status_ok();
}

static struct status read_columns(struct kernel_context *k, const struct cross_state *state,
                                  struct crossing *crossing)
{
    int n = state->sparse_count;
    TRY(check_inputs(k, state));
    crossing->count = n + state->dense_count;
    TRY(set_rows(k, state, crossing));
    crossing->columns = ARENA_ARRAY(kernel_arena(k), struct crossing_column, crossing->count + 1);
    for (int i = 0; i < crossing->count; i++)
        crossing->is_empty =
            crossing->is_empty || kernel_input(k, i < n ? n + i : 2 * n + i)->size == 0;
    for (int i = 0; i < crossing->count && !crossing->is_empty; i++) {
        const struct tensor *dense = i < n ? NULL : kernel_input(k, 2 * n + i);
        if (dense == NULL)
            TRY(add_sparse(k, crossing, n, i));
        else
            crossing->columns[i] =
                (struct crossing_column){ .values = dense, .width = dense->shape.dims[1] };
    }
    return status_ok();
}

/* ---- inputs of the second versions ---- */

static struct status read_separator(struct kernel_context *k, struct crossing *crossing)
{
    const struct tensor *separator = kernel_input(k, kernel_inputs_count(k) - 1);
    if (separator->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input separator should be a scalar. Received: shape %s",
                            shape_text(&separator->shape));
    crossing->separator = tensor_strings(separator)[0];
    return status_ok();
}

static struct status read_hashing(struct kernel_context *k, struct crossing *crossing)
{
    int last = kernel_inputs_count(k) - 1;
    const struct tensor *buckets = kernel_input(k, last - 2), *strong = kernel_input(k, last - 1),
                        *salt = kernel_input(k, last);
    if (buckets->size != 1 || strong->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_buckets and strong_hash must be scalars, got shapes %s and %s",
                            shape_text(&buckets->shape), shape_text(&strong->shape));
    if (salt->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input \"salt\" must have length 2 but has length %" PRId64,
                            salt->size);
    crossing->buckets = tensor_int64s(buckets)[0];
    crossing->strong = tensor_bools(strong)[0];
    crossing->salt[0] = (uint64_t)tensor_int64s(salt)[0];
    crossing->salt[1] = (uint64_t)tensor_int64s(salt)[1];
    return status_ok();
}

/* ---- all combinations ---- */

struct cross_outputs {
    struct tensor *indices, *values, *shape;
};

static struct status make_outputs(struct kernel_context *k, const struct crossing *crossing,
                                  struct cross_outputs *out)
{
    int64_t total = 0, most = 0, count;
    const struct shape two = shape_of(2);

    for (int64_t row = 0; row < crossing->rows && !crossing->is_empty; row++) {
        TRY(crossing_count(crossing, row, &count));
        most = count > most ? count : most;
        if (__builtin_add_overflow(total, count, &total))
            return status_error(STATUS_RESOURCE_EXHAUSTED, "more than 2^63 combinations");
    }
    const struct shape indices = shape_of(total, 2), values = shape_of(total);
    TRY(kernel_output(k, 0, &indices, &out->indices));
    TRY(kernel_output(k, 1, &values, &out->values));
    TRY(kernel_output(k, 2, &two, &out->shape));
    tensor_int64s_mut(out->shape)[0] = crossing->rows;
    tensor_int64s_mut(out->shape)[1] = most;
    return status_ok();
}

static struct status cross_compute(struct kernel_context *k)
{
    const struct cross_state *state = kernel_state(k);
    struct crossing crossing = { .kind = state->kind,
                                 .separator = bytes_of("_X_"),
                                 .buckets = state->buckets,
                                 .key = state->key };
    struct cross_outputs out;
    int64_t filled = 0, count;

    TRY(read_columns(k, state, &crossing));
    if (state->form == CROSS_V2)
        TRY(read_separator(k, &crossing));
    if (state->form == CROSS_HASHED)
        TRY(read_hashing(k, &crossing));
    TRY(make_outputs(k, &crossing, &out));
    int64_t *place = ARENA_ARRAY(kernel_arena(k), int64_t, crossing.count + 1);
    for (int64_t row = 0; row < crossing.rows && !crossing.is_empty; row++, filled += count) {
        TRY(crossing_count(&crossing, row, &count));
        TRY(crossing_row(k, &crossing, row, count, place, out.values, filled));
        for (int64_t i = 0; i < count; i++) {
            tensor_int64s_mut(out.indices)[2 * (filled + i)] = row;
            tensor_int64s_mut(out.indices)[2 * (filled + i) + 1] = i;
        }
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "SparseCross", DTYPES_ALL, .prepare = cross_prepare, .compute = cross_compute },
    { "SparseCrossV2", DTYPES_ALL, .prepare = cross_prepare, .compute = cross_compute },
    { "SparseCrossHashed", DTYPES_ALL, .prepare = cross_prepare, .compute = cross_compute },
};
const struct kernel_table kernels_sparse_cross = { rows, COUNT(rows) };
