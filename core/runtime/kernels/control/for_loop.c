/* For: runs a function on a counter and values, and hands its results on to the next call. */
#include "runtime/functions.h"
#include "runtime/kernels/kernel_tools.h"

struct for_range {
    int64_t start, limit, delta;
};

static struct status for_prepare(struct prepare_context *p)
{
    const struct plan_function **body = prepare_state(p, sizeof *body, NULL);
    *body = prepare_function(p, 0);
    return status_ok();
}

static struct status read_range(struct kernel_context *k, struct for_range *out)
{
    static const char *const names[] = { "start", "limit", "delta" };
    int64_t *const values[] = { &out->start, &out->limit, &out->delta };
    for (int i = 0; i < 3; i++) {
        const struct tensor *value;
        TRY(kernel_scalar(k, i, names[i], &value));
        *values[i] = tensor_index(value, 0);
    }
    bool ends =
        out->start == out->limit || (out->start < out->limit ? out->delta > 0 : out->delta < 0);
    if (!ends)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Invalid start/limit/delta: %lld %lld %lld",
                            (long long)out->start, (long long)out->limit, (long long)out->delta);
    return status_ok();
}

static struct status check_results(struct kernel_context *k, int count,
                                   const struct tensor *results)
{
    for (int i = 0; i < count; i++) {
        enum dtype dtype = kernel_node(k)->outputs[i].dtype;
        if (results[i].dtype != dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "result %d is %s, should be %s", i,
                                dtype_name(results[i].dtype), dtype_name(dtype));
    }
    return status_ok();
}

/* One call: the body takes over `values`, and gives the next ones. */
static struct status run_body(struct kernel_context *k, int64_t i, int count, struct tensor *args,
                              struct tensor *values)
{
    const struct plan_function *body = *(const struct plan_function *const *)kernel_state(k);
    struct shape scalar = shape_scalar();
    struct status status = kernel_scratch(k, DT_INT32, &scalar, &args[0]);
    if (!status_is_ok(status)) {
        tensors_release(count, values);
        return status;
    }
    tensor_set_index(&args[0], 0, i);
    for (int v = 0; v < count; v++)
        args[v + 1] = values[v];
    TRY(plan_function_run(k, body, count + 1, args, NULL, count, values));
    status = check_results(k, count, values);
    if (!status_is_ok(status))
        tensors_release(count, values);
    return status;
}

static struct status for_compute(struct kernel_context *k)
{
    int count = kernel_outputs_count(k);
    struct tensor *args = ARENA_ARRAY(kernel_arena(k), struct tensor, 2 * count + 1);
    struct tensor *values = args + count + 1;
    struct for_range range;
    TRY(read_range(k, &range));
    for (int v = 0; v < count; v++)
        values[v] = kernel_take_input(k, v + 3);
    for (int64_t i = range.start; range.delta > 0 ? i < range.limit : i > range.limit;
         i += range.delta)
        TRY(run_body(k, i, count, args, values));
    for (int v = 0; v < count; v++)
        kernel_output_set(k, v, values[v]);
    return status_ok();
}

static const struct kernel rows[] = {
    { "For", DTYPES_ALL, .prepare = for_prepare, .compute = for_compute, .costly = true },
};
const struct kernel_table kernels_for_loop = { rows, COUNT(rows) };
