/*
 * ragged_cross: RaggedCross, all combinations of the features of a row, as a ragged tensor. The
 * columns are ragged, sparse and dense inputs in the order of the letters of `input_order`.
 */
#include <inttypes.h>

#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/sparse/crossing.h"

struct ragged_cross_state {
    int ragged, sparse, dense; /* inputs of each kind */
    struct bytes order;        /* 'R', 'S' and 'D' */
    enum crossing_kind kind;
    int64_t buckets;
    uint64_t key;
};

static struct status read_counts(const struct node *node, struct ragged_cross_state *state)
{
    const struct attr_value *ragged, *splits, *sparse, *dense;
    int64_t n;
    TRY(node_attr_int(node, "Nsparse", &n));
    TRY(node_attr_list(node, "ragged_values_types", &ragged));
    TRY(node_attr_list(node, "ragged_splits_types", &splits));
    TRY(node_attr_list(node, "sparse_values_types", &sparse));
    TRY(node_attr_list(node, "dense_types", &dense));
    TRY(node_attr_string(node, "input_order", &state->order));
    if (ragged->count != splits->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "ragged values and splits must have the same length");
    if (sparse->count != n)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "sparse indices and values must have the same length");
    state->ragged = ragged->count;
    state->sparse = sparse->count;
    state->dense = dense->count;
    if (state->order.size != (size_t)(state->ragged + state->sparse + state->dense))
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid length for input_order");
    return status_ok();
}

static struct status ragged_cross_prepare(struct prepare_context *p)
{
    struct ragged_cross_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    enum dtype out;
    bool hashed;
    int64_t key;
    TRY(read_counts(node, state));
    TRY(node_attr_bool(node, "hashed_output", &hashed));
    TRY(node_attr_int(node, "num_buckets", &state->buckets));
    TRY(node_attr_int(node, "hash_key", &key));
    TRY(node_attr_type(node, "out_values_type", &out));
    state->kind = out == DT_INT64 ? CROSSING_HASH : CROSSING_TEXT;
    state->key = (uint64_t)key;
    return status_ok();
}

/* ---- the columns ---- */

static struct status not_a_matrix(void)
{
    return status_error(STATUS_INVALID_ARGUMENT,
                        "tf.ragged.cross only supports inputs with rank=2.");
}

static struct status check_sparse(const struct tensor *indices, const struct tensor *values,
                                  const struct tensor *shape, int i)
{
    if (indices->shape.rank != 2 || values->shape.rank != 1 || shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid SparseTensor %d", i);
    if (shape->size != 2)
        return not_a_matrix();
    if (indices->shape.dims[0] != values->size || indices->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid SparseTensor %d", i);
    return status_ok();
}

/* The inputs come in groups by kind: values and splits of the ragged ones; indices, values and
 * shapes of the sparse ones; the dense ones. */
static const struct tensor *ragged_input(struct kernel_context *k, int group, int i)
{
    const struct ragged_cross_state *state = kernel_state(k);
    return kernel_input(k, group * state->ragged + i);
}

static const struct tensor *sparse_input(struct kernel_context *k, int group, int i)
{
    const struct ragged_cross_state *state = kernel_state(k);
    return kernel_input(k, 2 * state->ragged + group * state->sparse + i);
}

static const struct tensor *dense_input(struct kernel_context *k, int i)
{
    const struct ragged_cross_state *state = kernel_state(k);
    return kernel_input(k, 2 * state->ragged + 3 * state->sparse + i);
}

static struct status check_inputs(struct kernel_context *k, const struct ragged_cross_state *state)
{
    for (int i = 0; i < state->ragged; i++) {
        const struct tensor *values = ragged_input(k, 0, i), *splits = ragged_input(k, 1, i);
        if (values->shape.rank != 1 || splits->shape.rank != 1)
            return not_a_matrix();
        TRY(ragged_splits_check(splits, values->size));
    }
    for (int i = 0; i < state->sparse; i++)
        TRY(check_sparse(sparse_input(k, 0, i), sparse_input(k, 1, i), sparse_input(k, 2, i), i));
    for (int i = 0; i < state->dense; i++)
        if (dense_input(k, i)->shape.rank != 2)
            return not_a_matrix();
    return status_ok();
}

static int64_t rows_of(struct kernel_context *k, char kind, int i)
{
    return kind == 'R'   ? ragged_input(k, 1, i)->size - 1
           : kind == 'S' ? tensor_int64s(sparse_input(k, 2, i))[0]
                         : dense_input(k, i)->shape.dims[0];
}

static struct status find_rows(struct kernel_context *k, const struct ragged_cross_state *state,
                               int64_t *out)
{
    const char kinds[] = { 'R', 'D', 'S' };
    const int counts[] = { state->ragged, state->dense, state->sparse };
    *out = -1;
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < counts[g]; i++) {
            int64_t rows = rows_of(k, kinds[g], i);
            if (rows < 0 || (*out >= 0 && rows != *out))
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "inputs must all have the same batch dimension size.");
            *out = rows;
        }
    *out = *out < 0 ? 0 : *out;
    return status_ok();
}

/* As in TensorFlow, values after one of a later row wait for that row. */
static void sparse_rows(const struct tensor *indices, int64_t rows, int64_t *begin)
{
    const int64_t *index = tensor_int64s(indices);
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        while (at < indices->shape.dims[0] && index[2 * at] <= row)
            at++;
        begin[row + 1] = at;
    }
}

static struct status add_column(struct kernel_context *k, char kind, int i,
                                struct crossing *crossing, struct crossing_column *out)
{
    void *begin;
    if (kind == 'D') {
        *out = (struct crossing_column){ .values = dense_input(k, i),
                                         .width = dense_input(k, i)->shape.dims[1] };
        return status_ok();
    }
    TRY(arena_reserve(kernel_arena(k), ((size_t)crossing->rows + 1) * sizeof(int64_t), &begin));
    *out = (struct crossing_column){ .values = kind == 'R' ? ragged_input(k, 0, i)
                                                           : sparse_input(k, 1, i),
                                     .begin = begin };
    ((int64_t *)begin)[0] = 0;
    if (kind == 'S')
        sparse_rows(sparse_input(k, 0, i), crossing->rows, begin);
    for (int64_t row = 0; row <= crossing->rows && kind == 'R'; row++)
        ((int64_t *)begin)[row] = tensor_index(ragged_input(k, 1, i), row);
    return status_ok();
}

static struct status read_columns(struct kernel_context *k, const struct ragged_cross_state *state,
                                  struct crossing *crossing)
{
    static const char kinds[] = "RSD";
    static const char *const what[] = { "ragged tensor value", "sparse tensor value",
                                        "dense tensor" };
    const int counts[] = { state->ragged, state->sparse, state->dense };
    int used[] = { 0, 0, 0 };
    crossing->columns = ARENA_ARRAY(kernel_arena(k), struct crossing_column, state->order.size + 1);
    for (size_t c = 0; c < state->order.size; c++) {
        const char *kind = memchr(kinds, state->order.data[c], 3);
        if (kind == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "Unexpected input_order value.");
        int g = (int)(kind - kinds);
        if (used[g] == counts[g])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "input_order \"%.*s\" specifies reading a %s at index %d from a "
                                "list of %d %s.",
                                (int)state->order.size, state->order.data, what[g], used[g],
                                counts[g], g == 2 ? "tensors" : "values");
        TRY(add_column(k, *kind, used[g]++, crossing, &crossing->columns[c]));
    }
    crossing->count = (int)state->order.size;
    return status_ok();
}

/* ---- the result ---- */

static struct status make_splits(struct kernel_context *k, const struct crossing *crossing,
                                 struct tensor **splits, int64_t *total)
{
    struct shape shape = shape_of(crossing->rows + 1);
    int64_t count;
    *total = 0;
    TRY(kernel_output(k, 1, &shape, splits));
    tensor_set_index(*splits, 0, 0);
    for (int64_t row = 0; row < crossing->rows; row++) {
        TRY(crossing_count(crossing, row, &count));
        if (__builtin_add_overflow(*total, count, total) ||
            ((*splits)->dtype == DT_INT32 && *total > INT32_MAX))
            return status_error(STATUS_RESOURCE_EXHAUSTED,
                                "the result has more values than out_row_splits_type can count");
        tensor_set_index(*splits, row + 1, *total);
    }
    return status_ok();
}

static struct status ragged_cross_compute(struct kernel_context *k)
{
    const struct ragged_cross_state *state = kernel_state(k);
    struct crossing crossing = { .kind = state->kind,
                                 .separator = bytes_of("_X_"),
                                 .buckets = state->buckets,
                                 .key = state->key };
    struct tensor *splits, *values;
    int64_t total;
    TRY(check_inputs(k, state));
    TRY(find_rows(k, state, &crossing.rows));
    if (crossing.rows > INT32_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%" PRId64 " rows", crossing.rows);
    TRY(read_columns(k, state, &crossing));
    TRY(make_splits(k, &crossing, &splits, &total));
    struct shape shape = shape_of(total);
    TRY(kernel_output(k, 0, &shape, &values));
    int64_t *place = ARENA_ARRAY(kernel_arena(k), int64_t, crossing.count + 1);
    for (int64_t row = 0; row < crossing.rows; row++) {
        int64_t at = tensor_index(splits, row), count = tensor_index(splits, row + 1) - at;
        TRY(crossing_row(k, &crossing, row, count, place, values, at));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "RaggedCross", DTYPES_ALL, .prepare = ragged_cross_prepare, .compute = ragged_cross_compute },
};
const struct kernel_table kernels_ragged_cross = { rows, COUNT(rows) };
