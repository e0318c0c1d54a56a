#include "runtime/kernels/xla/lanes.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define LANES_ARGS_MAX 64

struct status lanes_prepare(const struct prepare_context *p, int index, int results_count,
                            struct lanes *out)
{
    const struct plan_function *function = prepare_function(p, index);
    const struct node *node = prepare_node(p);
    *out =
        (struct lanes){ .function = function, .together = plan_function_is_elementwise(function) };
    for (int i = 0; i < node->inputs_count; i++) {
        enum dtype dtype = node->inputs[i].node->outputs[node->inputs[i].index].dtype;
        if (!(DTYPES(dtype) & DTYPES_LANES))
            return status_error(STATUS_UNIMPLEMENTED, "node '%s': %s of %s", node->name,
                                node->op_name, dtype_name(dtype));
    }
    if (plan_function_captures_count(function) == 0 &&
        plan_function_results_count(function) == results_count &&
        results_count <= LANES_ARGS_MAX / 2)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s': its function gives %d values, not %d",
                        prepare_node(p)->name, plan_function_results_count(function),
                        results_count);
}

struct tensor lanes_view(const struct tensor *x, int64_t first, int64_t count)
{
    struct shape shape = shape_of(count);
    return tensor_borrow(x->dtype, &shape, at_bytes_const(x->data, first, dtype_size(x->dtype)));
}

struct status lanes_repeat(struct kernel_context *k, const struct tensor *x, int64_t count,
                           struct tensor *out)
{
    struct shape shape = shape_of(count);
    TRY(kernel_scratch(k, x->dtype, &shape, out));
    repeat_element(out->data, dtype_size(x->dtype), x->data, count);
    return status_ok();
}

/* Makes the result of one call a vector: a result that depends on no argument is a scalar. */
static struct status spread(struct kernel_context *k, int64_t count, struct tensor *result)
{
    struct tensor whole;
    if (result->size == count) {
        result->shape = shape_of(count);
        return status_ok();
    }
    if (result->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the function gives a tensor of shape %s",
                            shape_text(&result->shape));
    TRY(lanes_repeat(k, result, count, &whole));
    tensor_release(result);
    *result = whole;
    return status_ok();
}

static struct status run_together(struct kernel_context *k, const struct lanes *lanes,
                                  int64_t count, int args_count, const struct tensor *args,
                                  int results_count, struct tensor *results)
{
    struct tensor given[LANES_ARGS_MAX];
    struct status status = status_ok();
    memcpy(given, args, (size_t)args_count * sizeof *given); /* borrowed, not to be overwritten */
    for (int i = 0; i < args_count; i++)
        given[i].buffer = NULL;
    TRY(plan_function_run(k, lanes->function, args_count, given, NULL, results_count, results));
    for (int i = 0; status_is_ok(status) && i < results_count; i++)
        status = spread(k, count, &results[i]);
    if (!status_is_ok(status))
        tensors_release(results_count, results);
    return status;
}

/* One call, for element `at`, with scalars. */
static struct status run_one(struct kernel_context *k, const struct lanes *lanes, int64_t at,
                             int args_count, const struct tensor *args, int results_count,
                             struct tensor *results)
{
    struct tensor given[LANES_ARGS_MAX];
    for (int i = 0; i < args_count; i++) {
        given[i] = lanes_view(&args[i], at, 1);
        given[i].shape = shape_scalar();
    }
    return plan_function_run(k, lanes->function, args_count, given, NULL, results_count, results);
}

static struct status run_apart(struct kernel_context *k, const struct lanes *lanes, int64_t count,
                               int args_count, const struct tensor *args, int results_count,
                               struct tensor *results)
{
    struct shape shape = shape_of(count);
    struct status status = status_ok();
    for (int64_t at = 0; status_is_ok(status) && at < count; at++) {
        struct tensor made[LANES_ARGS_MAX / 2] = { 0 };
        status = run_one(k, lanes, at, args_count, args, results_count, made);
        for (int i = 0; status_is_ok(status) && i < results_count; i++) {
            if (at == 0)
                status = kernel_scratch(k, made[i].dtype, &shape, &results[i]);
            if (status_is_ok(status) && made[i].size != 1)
                status = kernel_error(k, STATUS_INVALID_ARGUMENT,
                                      "the function gives a tensor of shape %s",
                                      shape_text(&made[i].shape));
            if (status_is_ok(status))
                copy_element(&made[i], 0, &results[i], at);
        }
        tensors_release(results_count, made);
    }
    if (!status_is_ok(status))
        tensors_release(results_count, results);
    return status;
}

static struct status check_types(const struct kernel_context *k, const struct lanes *lanes,
                                 const struct tensor *args, int results_count,
                                 const struct tensor *results)
{
    for (int i = 0; i < results_count; i++) {
        enum dtype wanted = lanes->compares ? DT_BOOL : args[i].dtype;
        if (results[i].dtype != wanted)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "the function gives %s, should be %s",
                                dtype_name(results[i].dtype), dtype_name(wanted));
    }
    return status_ok();
}

struct status lanes_run(struct kernel_context *k, const struct lanes *lanes, int64_t count,
                        int args_count, const struct tensor *args, int results_count,
                        struct tensor *results)
{
    assert(args_count <= LANES_ARGS_MAX && count > 0);
    memset(results, 0, (size_t)results_count * sizeof *results);
    TRY((lanes->together ? run_together : run_apart)(k, lanes, count, args_count, args,
                                                     results_count, results));
    struct status status = check_types(k, lanes, args, results_count, results);
    if (!status_is_ok(status))
        tensors_release(results_count, results);
    return status;
}
