/* Unique and ListDiff. */
#include "base/map.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

/* The bytes by which a value is found again; false for NaN, which does not equal itself. Both
 * zeros are one value for float and double; TensorFlow distinguishes them for half types. */
static bool find_key(const struct tensor *x, int64_t i, struct bytes *out)
{
    static const double zero = 0;
    size_t size = dtype_size(x->dtype);
    double value = DTYPES(x->dtype) & DTYPES_FLOATING ? floating_element(x, i) : 1;
    if (x->dtype == DT_STRING)
        *out = tensor_strings(x)[i].size ? tensor_strings(x)[i] : (struct bytes){ "", 0 };
    else if (value == 0 && size >= sizeof(float))
        *out = (struct bytes){ (const char *)&zero, size };
    else
        *out = (struct bytes){ at_bytes_const(x->data, i, size), size };
    return value == value;
}

/* In order of first appearance. */
static struct status unique_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct map seen = { 0 };
    struct tensor *values, *places;
    struct bytes key;
    if (x->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "unique expects a 1D vector.");
    TRY(kernel_output(k, 0, &x->shape, &values));
    TRY(kernel_output(k, 1, &x->shape, &places));
    int64_t count = 0;
    for (int64_t i = 0; i < x->size; i++) {
        bool is_found_by_it = find_key(x, i, &key);
        uintptr_t at = is_found_by_it ? (uintptr_t)map_get(&seen, key) : 0; /* place + 1 */
        if (at == 0) {
            copy_element(x, i, values, count);
            at = (uintptr_t)++count;
            if (is_found_by_it)
                map_put(&seen, key, (void *)at);
        }
        tensor_set_index(places, i, (int64_t)at - 1);
    }
    map_finish(&seen);
    values->shape.dims[0] = values->size = count;
    return status_ok();
}

/* The elements of x that are not in y, and their indices. */
static struct status list_diff_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct map taken = { 0 };
    struct tensor *values, *places;
    struct bytes key;
    if (x->shape.rank != 1 || y->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%s should be a 1D vector.",
                            x->shape.rank != 1 ? "x" : "y");
    TRY(kernel_output(k, 0, &x->shape, &values));
    TRY(kernel_output(k, 1, &x->shape, &places));
    for (int64_t i = 0; i < y->size; i++)
        if (find_key(y, i, &key))
            map_put(&taken, key, &taken);
    int64_t count = 0;
    for (int64_t i = 0; i < x->size; i++) {
        if (find_key(x, i, &key) && map_get(&taken, key) != NULL)
            continue;
        copy_element(x, i, values, count);
        tensor_set_index(places, count++, i);
    }
    map_finish(&taken);
    values->shape.dims[0] = values->size = places->shape.dims[0] = places->size = count;
    return status_ok();
}

static const struct kernel rows[] = {
    { "Unique", DTYPES_MOVED, "T", .compute = unique_compute },
    { "ListDiff", DTYPES_MOVED, "T", .compute = list_diff_compute },
};
const struct kernel_table kernels_unique = { rows, COUNT(rows) };
