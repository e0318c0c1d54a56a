/* InitializeTableFromDataset: fills a lookup table with the pairs that a dataset gives. */
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/hash_table.h"

enum { PAIR = 2 };

static struct status collect_pairs(struct kernel_context *k, struct iterator *iterator,
                                   struct tensors *pairs)
{
    bool end = false;
    while (!end) {
        TRY(tensors_reserve(k, pairs, PAIR));
        TRY(iterator_next(k, iterator, pairs->at + pairs->count, &end));
        if (!end)
            pairs->count += PAIR;
    }
    return status_ok();
}

/* All elements of one component, in a vector. Strings are shared. */
static struct status join_component(struct kernel_context *k, const struct tensors *pairs,
                                    int component, enum dtype dtype, struct tensor *out)
{
    int64_t count = 0, at = 0;
    for (int64_t i = component; i < pairs->count; i += PAIR) {
        if (pairs->at[i].dtype != dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "the table has %s of %s, not %s",
                                component == 0 ? "keys" : "values", dtype_name(dtype),
                                dtype_name(pairs->at[i].dtype));
        count += pairs->at[i].size;
    }
    struct shape shape = shape_of(count);
    TRY(shape_check(1, shape.dims, &shape));
    TRY(kernel_scratch(k, dtype, &shape, out));
    size_t size = dtype_size(dtype);
    for (int64_t i = component; i < pairs->count; i += PAIR) {
        if (pairs->at[i].size > 0)
            copy_elements(dtype, (char *)out->data + (size_t)at * size, pairs->at[i].data,
                          pairs->at[i].size);
        at += pairs->at[i].size;
    }
    return status_ok();
}

static struct status fill_table(struct kernel_context *k, struct hash_table *table,
                                struct iterator *iterator)
{
    struct tensors pairs = { 0 };
    struct tensor keys = { 0 }, values = { 0 };
    struct status status;
    TRY_OR(done, collect_pairs(k, iterator, &pairs));
    TRY_OR(done, join_component(k, &pairs, 0, hash_table_key_dtype(table), &keys));
    TRY_OR(done, join_component(k, &pairs, 1, hash_table_value_dtype(table), &values));
    status = kernel_hash_table_fill(k, table, &keys, &values);
done:
    tensor_release(&keys);
    tensor_release(&values);
    tensors_finish(&pairs);
    return status;
}

static struct status table_compute(struct kernel_context *k)
{
    struct hash_table *table;
    struct run_dataset *dataset;
    struct iterator *iterator;
    TRY(kernel_hash_table(k, 0, &table));
    TRY(dataset_of(k, kernel_input(k, 1), &dataset));
    if (dataset->count != PAIR)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "a table is filled with pairs of a key and a value; the elements of "
                            "the dataset have %d tensors",
                            dataset->count);
    if (hash_table_is_initialised(table))
        return status_ok();
    TRY(iterator_create(k, dataset, &iterator));
    struct status status = fill_table(k, table, iterator);
    iterator_destroy(iterator);
    return status;
}

static const struct kernel rows[] = {
    { "InitializeTableFromDataset", DTYPES_ALL, .compute = table_compute, .costly = true },
};
const struct kernel_table kernels_table_from_dataset = { rows, COUNT(rows) };
