/*
 * counts: how often each number occurs. DenseCountSparseOutput, SparseCountSparseOutput and
 * RaggedCountSparseOutput give sparse counts for each row. The dense counts are in bincount.c.
 */
#include "runtime/kernels/array/bincount.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"
#include "runtime/kernels/sparse_input.h"

struct count_state {
    int64_t least, most; /* of the output's columns; `most` below 0: no limit */
    bool binary;
};

/* A value that counts. */
struct counted {
    int64_t row, value, at; /* at: its place among the input's values */
};

struct counting {
    const struct count_state *state;
    struct counted *entries;
    int64_t count, greatest; /* greatest: the largest value */
};

static struct status count_prepare(struct prepare_context *p)
{
    struct count_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_int(prepare_node(p), "minlength", &state->least));
    TRY(node_attr_int(prepare_node(p), "maxlength", &state->most));
    return node_attr_bool(prepare_node(p), "binary_output", &state->binary);
}

static struct status counting_begin(struct kernel_context *k, const struct tensor *values,
                                    struct counting *out)
{
    void *entries;

    TRY(arena_reserve(kernel_arena(k), ((size_t)values->size + 1) * sizeof(struct counted),
                      &entries));
    *out = (struct counting){ .state = kernel_state(k), .entries = entries };
    return status_ok();
}

/* A value beyond `most` does not count. */
static struct status count_value(struct counting *counting, const struct tensor *values, int64_t at,
                                 int64_t row)
{
    int64_t value = tensor_index(values, at);

    if (value < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Input values must all be non-negative");
    if (counting->state->most >= 0 && value >= counting->state->most)
        return status_ok();
    counting->entries[counting->count++] = (struct counted){ row, value, at };
    counting->greatest = value > counting->greatest ? value : counting->greatest;
    return status_ok();
}

/* ---- the output: entries in the order of rows and values; of equal ones, as they came ---- */

static int compare_entries(const void *x, const void *y, void *context)
{
    const struct counted *a = x, *b = y;

    (void)context;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static bool continues(const struct counting *counting, int64_t i)
{
    return i > 0 && counting->entries[i].row == counting->entries[i - 1].row &&
           counting->entries[i].value == counting->entries[i - 1].value;
}

/* The output's columns: `most`, or all values and at least `least`. One more than the greatest
 * int64 is negative, as in TensorFlow. */
static int64_t columns_of(const struct counting *counting)
{
    int64_t columns = (int64_t)((uint64_t)counting->greatest + 1);

    if (counting->state->most >= 0)
        return counting->state->most;
    return columns > counting->state->least ? columns : counting->state->least;
}

static struct status put_counts(struct kernel_context *k, const struct counting *counting,
                                const struct tensor *weights, int64_t rows, bool is_vector)
{
    struct tensor *indices, *values, *shape;
    int64_t total = 0, at = -1, rank = is_vector ? 1 : 2;

    TRY(kernel_sort(k, counting->entries, counting->count, sizeof *counting->entries,
                    compare_entries, NULL));
    for (int64_t i = 0; i < counting->count; i++)
        total += !continues(counting, i);
    struct shape matrix = shape_of(total, rank), vector = shape_of(total), sizes = shape_of(rank);
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(kernel_output(k, 2, &sizes, &shape));
    if (total > 0)
        memset(values->data, 0, tensor_bytes(values));
    for (int64_t i = 0; i < counting->count; i++) {
        const struct counted *entry = &counting->entries[i];
        if (!continues(counting, i)) {
            at++;
            tensor_int64s_mut(indices)[at * rank] = entry->row;
            tensor_int64s_mut(indices)[at * rank + rank - 1] = entry->value;
        }
        bincount_add(weights, entry->at, counting->state->binary, values, at);
    }
    tensor_int64s_mut(shape)[0] = rows;
    tensor_int64s_mut(shape)[rank - 1] = columns_of(counting);
    return status_ok();
}

/* ---- dense, sparse and ragged input ---- */

static struct status dense_compute(struct kernel_context *k)
{
    const struct tensor *values = kernel_input(k, 0), *weights = kernel_input(k, 1);
    struct counting counting;

    if (values->shape.rank != 1 && values->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input must be a 1 or 2-dimensional tensor. Got: %s",
                            shape_text(&values->shape));
    TRY(bincount_check_weights(values, weights));
    bool is_vector = values->shape.rank == 1;
    int64_t rows = is_vector ? 1 : values->shape.dims[0];
    if (rows == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid input: Shapes dimension cannot be 0.");
    TRY(counting_begin(k, values, &counting));
    for (int64_t i = 0; i < values->size; i++)
        TRY(count_value(&counting, values, i, i / (values->size / rows)));
    return put_counts(k, &counting, weights, rows, is_vector);
}

static struct status sparse_compute(struct kernel_context *k)
{
    const struct tensor *weights = kernel_input(k, 3);
    struct sparse_input sparse;
    struct counting counting;

    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    if (sparse.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The shape argument requires at least one element.");
    TRY(sparse_input_check_bounds(&sparse));
    TRY(bincount_check_weights(sparse.values, weights));
    bool is_vector = sparse.rank == 1;
    int64_t rows = is_vector ? 1 : sparse.sizes[0];
    if (rows <= 0 || rows >= INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot allocate %lld batches, is the dense shape too wide?",
                            (long long)rows);
    TRY(counting_begin(k, sparse.values, &counting));
    for (int64_t i = 0; i < sparse.count; i++)
        TRY(count_value(&counting, sparse.values, i,
                        is_vector ? 0 : sparse_input_index(&sparse, i)[0]));
    return put_counts(k, &counting, weights, rows, is_vector);
}

static struct status ragged_compute(struct kernel_context *k)
{
    const struct tensor *splits = kernel_input(k, 0), *values = kernel_input(k, 1);
    struct counting counting;

    TRY(bincount_check_weights(values, kernel_input(k, 2)));
    if (splits->size < 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Must provide at least 2 elements for the splits argument");
    TRY(bincount_check_splits(splits, values->size));
    TRY(counting_begin(k, values, &counting));
    for (int64_t row = 0; row + 1 < splits->size; row++)
        for (int64_t i = tensor_int64s(splits)[row]; i < tensor_int64s(splits)[row + 1]; i++)
            TRY(count_value(&counting, values, i, row));
    return put_counts(k, &counting, kernel_input(k, 2), splits->size - 1, false);
}

#define DTYPES_COUNTED (DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE))
#define COUNT_OP(op, function)                                                           \
    {                                                                                    \
        op, DTYPES_COUNTED, "output_type", .prepare = count_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    COUNT_OP("DenseCountSparseOutput", dense_compute),
    COUNT_OP("SparseCountSparseOutput", sparse_compute),
    COUNT_OP("RaggedCountSparseOutput", ragged_compute),
};
const struct kernel_table kernels_counts = { rows, COUNT(rows) };
