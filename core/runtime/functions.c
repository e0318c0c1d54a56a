#include "runtime/functions.h"

#include "runtime/steps.h"

int plan_function_first_capture(const struct plan_function *function)
{
    return function->first_capture;
}

int plan_function_captures_count(const struct plan_function *function)
{
    return function->captures_count;
}

int plan_function_results_count(const struct plan_function *function)
{
    return function->block->results_count;
}

bool plan_function_is_elementwise(const struct plan_function *function)
{
    const struct plan_block *block = function->block;
    for (int i = 0; i < block->steps_count; i++)
        if (block->steps[i].control != NULL || !op_is_elementwise(block->steps[i].node->op))
            return false;
    return true;
}

/* Calls within calls, each of which needs room on the thread's stack. */
#define CALLS_MAX 64

/* The values of a body have one place each in a run, and a call inside a call would overwrite
 * them. */
static struct status check_running(const struct kernel_context *context,
                                   const struct plan_function *function)
{
    int depth = 0;
    for (const struct running_function *r = context->run->running; r != NULL; r = r->caller) {
        if (r->function == function)
            return kernel_error(context, STATUS_UNIMPLEMENTED, "function '%s' calls itself",
                                function->name);
        if (++depth == CALLS_MAX)
            return kernel_error(context, STATUS_RESOURCE_EXHAUSTED,
                                "more than %d functions call each other", CALLS_MAX);
    }
    return status_ok();
}

static struct status check_args(const struct kernel_context *context,
                                const struct plan_function *function, int count,
                                const struct tensor *args)
{
    if (function->args_count != count + function->captures_count)
        return kernel_error(context, STATUS_INVALID_ARGUMENT,
                            "function '%s' takes %d values, should be %d", function->name,
                            function->args_count - function->captures_count, count);
    for (int i = 0; i < count; i++)
        if (args[i].dtype != function->arg_types[i])
            return kernel_error(context, STATUS_INVALID_ARGUMENT,
                                "argument %d of function '%s' is %s, should be %s", i,
                                function->name, dtype_name(args[i].dtype),
                                dtype_name(function->arg_types[i]));
    return status_ok();
}

static struct status check_call(const struct kernel_context *context,
                                const struct plan_function *function, int count,
                                const struct tensor *args, int results_count)
{
    if (function->plan != context->plan)
        return kernel_error(context, STATUS_UNIMPLEMENTED,
                            "function '%s' is of another signature than the one that runs",
                            function->name);
    TRY(check_running(context, function));
    TRY(check_args(context, function, count, args));
    if (function->block->results_count != results_count)
        return kernel_error(context, STATUS_INVALID_ARGUMENT,
                            "function '%s' gives %d values, should be %d", function->name,
                            function->block->results_count, results_count);
    return run_check(context->run);
}

static void set_arg(const struct kernel_context *context, const struct plan_function *function,
                    int index, struct tensor value)
{
    if (function->args[index] == SLOT_NONE)
        tensor_release(&value); /* the plan knows it */
    else
        put_value(context, function->args[index], value);
}

static void drop_values(const struct kernel_context *context, const uint32_t *slots, int count)
{
    for (int i = 0; i < count; i++)
        if (context->values[slots[i]] == &context->storage[slots[i]])
            drop_value(context, slots[i]);
}

/* Releases what a body that failed has made: the run may go on without it (IgnoreErrors). */
static void drop_made(const struct kernel_context *context, const struct plan_block *block)
{
    for (int i = 0; i < block->steps_count; i++) {
        const struct step *step = &block->steps[i];
        const struct control *control = step->control;
        for (int j = 0; j < step->outputs_count; j++)
            drop_values(context, &(uint32_t){ step->first_output + (uint32_t)j }, 1);
        if (control == NULL)
            continue;
        drop_values(context, control->carried, control->carried_count);
        drop_values(context, control->next, control->carried_count);
        for (int j = 0; j < control->blocks_count; j++)
            drop_made(context, control->blocks[j]);
    }
}

/* Releases what the body did not use up. */
static void drop_args(const struct kernel_context *context, const struct plan_function *function)
{
    for (int i = 0; i < function->args_count; i++)
        if (function->args[i] != SLOT_NONE)
            drop_value(context, function->args[i]);
}

struct status plan_function_run(struct kernel_context *context,
                                const struct plan_function *function, int count,
                                struct tensor *args, const struct tensor *captures,
                                int results_count, struct tensor *results)
{
    struct status status = check_call(context, function, count, args, results_count);
    if (!status_is_ok(status)) {
        tensors_release(count, args);
        return status;
    }
    struct run *run = context->run;
    struct kernel_context inner = *context;
    const struct running_function running = { function, run->running };
    for (int i = 0; i < count; i++)
        set_arg(context, function, i, args[i]);
    for (int i = 0; i < function->captures_count; i++)
        set_arg(context, function, count + i, tensor_acquire(&captures[i]));
    run->running = &running;
    status = run_block(&inner, function->block);
    run->running = running.caller;
    for (int i = 0; status_is_ok(status) && i < results_count; i++)
        results[i] = take_value(context, function->block->results[i]);
    if (!status_is_ok(status))
        drop_made(context, function->block);
    drop_args(context, function);
    return status;
}
