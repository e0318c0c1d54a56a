/*
 * isotonic: IsotonicRegression, the sequence that never rises and is nearest to each row by the sum
 * of squares. Neighbours that rise are replaced by their mean until none is left (the pool adjacent
 * violators algorithm).
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define CHECK_EVERY 65536 /* elements between two checks of the deadline */

/* The type that TensorFlow computes in and gives. */
static enum dtype output_type(enum dtype dtype)
{
    if (dtype == DT_INT32 || dtype == DT_INT64)
        return DT_DOUBLE;
    return dtype == DT_INT8 || dtype == DT_INT16 ? DT_FLOAT : dtype;
}

static struct status isotonic_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype from, to;
    TRY(node_attr_type(node, "T", &from));
    TRY(node_attr_type(node, "output_dtype", &to));
    if (to != output_type(from))
        return status_error(STATUS_UNIMPLEMENTED, "IsotonicRegression from %s to %s",
                            dtype_name(from), dtype_name(to));
    return status_ok();
}

/* The pools of a row: where each begins, its sum, and its mean. */
struct pools {
    int64_t count;
    int64_t *begins;
    double *sums, *means;
};

static void add_pool(struct pools *pools, enum dtype dtype, int64_t at, double value)
{
    int64_t last = pools->count++;
    pools->begins[last] = at;
    pools->sums[last] = pools->means[last] = value;
    for (; last > 0 && pools->means[last] > pools->means[last - 1]; last--) {
        double sum = round_to(dtype, pools->sums[last - 1] + pools->sums[last]);
        double size = round_to(dtype, (double)(at + 1 - pools->begins[last - 1]));
        pools->sums[last - 1] = sum;
        pools->means[last - 1] = round_to(dtype, sum / size);
        pools->count--;
    }
}

static struct status fit_row(struct kernel_context *k, struct pools *pools, int64_t first,
                             int64_t columns, struct tensor *out, struct tensor *segments)
{
    const struct tensor *x = kernel_input(k, 0);
    pools->count = 0;
    for (int64_t i = 0; i < columns; i++) {
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        add_pool(pools, out->dtype, i, real_element(x, first + i));
    }
    for (int64_t i = 0, pool = 0; i < columns; i++) {
        if (pool + 1 < pools->count && pools->begins[pool + 1] == i)
            pool++;
        floating_store(out, first + i, pools->means[pool]);
        tensor_set_index(segments, first + i, pool);
    }
    return status_ok();
}

static struct status isotonic_compute(struct kernel_context *k)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    int64_t columns = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    struct shape three_rows = shape_of(3, columns);
    struct tensor *out, *segments, scratch;
    if (columns > INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Tensor too large");
    TRY(kernel_output(k, 0, shape, &out));
    TRY(kernel_output(k, 1, shape, &segments));
    if (out->size == 0)
        return status_ok();
    TRY(kernel_scratch(k, DT_DOUBLE, &three_rows, &scratch));
    struct pools pools = { .sums = tensor_doubles_mut(&scratch),
                           .means = tensor_doubles_mut(&scratch) + columns };
    pools.begins = (int64_t *)(void *)(pools.means + columns);
    struct status status = status_ok();
    for (int64_t i = 0; i < out->size && status_is_ok(status); i += columns)
        status = fit_row(k, &pools, i, columns, out, segments);
    tensor_release(&scratch);
    return status;
}

#define DTYPES_ISOTONIC \
    (DTYPES_FLOATING | DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "IsotonicRegression", DTYPES_ISOTONIC, "T", .prepare = isotonic_prepare,
      .compute = isotonic_compute, .costly = true },
};
const struct kernel_table kernels_isotonic = { rows, COUNT(rows) };
