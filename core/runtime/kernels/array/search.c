/*
 * search: LowerBound and UpperBound, the places of values in sorted rows.
 */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

/* The first place in row[0 .. n) whose element is not less than the value; with `upper`, the first
 * one that is greater. */
#define SEARCH(name, T, load)                                                             \
    static int64_t search_##name(const void *row_, int64_t n, const void *at, bool upper) \
    {                                                                                     \
        const T *row = row_, value = *(const T *)at;                                      \
        int64_t first = 0;                                                                \
        while (n > 0) {                                                                   \
            int64_t half = n / 2;                                                         \
            bool behind = upper ? !(load(value) < load(row[first + half]))                \
                                : load(row[first + half]) < load(value);                  \
            first += behind ? half + 1 : 0;                                               \
            n = behind ? n - half - 1 : half;                                             \
        }                                                                                 \
        return first;                                                                     \
    }
#define AS_IS(x)            (x)
#define SEARCH_ROW(s, T, W) SEARCH(s, T, AS_IS)
REAL_TYPES(SEARCH_ROW)
SEARCH(half, uint16_t, half_to_float)
SEARCH(bfloat16, uint16_t, bfloat16_to_float)

typedef int64_t search(const void *row, int64_t n, const void *at, bool upper);
static search *const searches[DTYPE_COUNT] = {
    ROWS_REAL(search), [DT_HALF] = search_half, [DT_BFLOAT16] = search_bfloat16
};

static struct status search_prepare(struct prepare_context *p)
{
    bool *upper = prepare_state(p, sizeof *upper, NULL);
    *upper = strcmp(prepare_node(p)->op_name, "UpperBound") == 0;
    return status_ok();
}

static struct status search_compute(struct kernel_context *k)
{
    const struct tensor *sorted = kernel_input(k, 0), *values = kernel_input(k, 1);
    bool upper = *(const bool *)kernel_state(k);
    struct tensor *out;
    if (sorted->shape.rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "sorted input argument must be a matrix");
    if (values->shape.rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "value input argument must be a matrix");
    if (sorted->shape.dims[0] != values->shape.dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Leading dim_size of both tensors must match.");
    TRY(kernel_output(k, 0, &values->shape, &out));
    int64_t n = sorted->shape.dims[1], count = values->shape.dims[1];
    size_t size = dtype_size(values->dtype);
    for (int64_t i = 0; i < values->size; i++)
        tensor_set_index(out, i,
                         searches[values->dtype](at_bytes_const(sorted->data, i / count * n, size),
                                                 n, at_bytes_const(values->data, i, size), upper));
    return status_ok();
}

static const struct kernel rows[] = {
    { "LowerBound", DTYPES_REAL, "T", .prepare = search_prepare, .compute = search_compute },
    { "UpperBound", DTYPES_REAL, "T", .prepare = search_prepare, .compute = search_compute },
};
const struct kernel_table kernels_search = { rows, COUNT(rows) };
