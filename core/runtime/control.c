/* Runs the steps of branches (If, Case) and loops (While). */
#include <assert.h>

#include "runtime/steps.h"

static bool nonzero(const void *data, size_t size)
{
    const char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return true;
    }
    return false;
}

struct status condition_truth(const struct tensor *condition, bool *out)
{
    if (condition->shape.rank > 0) {
        *out = condition->size > 0;
        return status_ok();
    }
    switch (condition->dtype) {
    case DT_STRING:
        *out = tensor_strings(condition)->size > 0;
        return status_ok();
    case DT_FLOAT: /* not by its bits: -0.0 is zero */
        *out = *tensor_floats(condition) != 0;
        return status_ok();
    case DT_DOUBLE:
        *out = *tensor_doubles(condition) != 0;
        return status_ok();
    case DT_BOOL:
    case DT_INT8:
    case DT_UINT8:
    case DT_INT16:
    case DT_UINT16:
    case DT_INT32:
    case DT_UINT32:
    case DT_INT64:
    case DT_UINT64:
        *out = nonzero(condition->data, dtype_size(condition->dtype));
        return status_ok();
    default:
        return status_error(STATUS_INVALID_ARGUMENT, "a condition cannot be of type %s",
                            dtype_name(condition->dtype));
    }
}

/* Checks a condition as TensorFlow's Switch and LoopCond do. */
static struct status check_lowered(const struct tensor *condition, enum dtype dtype,
                                   const char *input)
{
    if (condition->dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "Input '%s' passed %s expected %s", input,
                            dtype_name(condition->dtype), dtype_name(dtype));
    if (condition->shape.rank > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The second input must be a scalar, but it has shape %s",
                            shape_text(&condition->shape));
    return status_ok();
}

struct status branch_choose(const struct control *control, const struct tensor *condition, int *out)
{
    if (control->is_lowered)
        TRY(check_lowered(condition, control->by_index ? DT_INT32 : DT_BOOL, "pred"));
    if (!control->by_index) {
        bool truth = false;
        TRY(condition_truth(condition, &truth));
        *out = !truth;
        return status_ok();
    }
    if (condition->dtype != DT_INT32 || condition->shape.rank > 0)
        return status_error(STATUS_INVALID_ARGUMENT, "branch_index must be scalar: %s of shape %s",
                            dtype_name(condition->dtype), shape_text(&condition->shape));
    int32_t index = tensor_int32s(condition)[0];
    *out = index >= 0 && index < control->blocks_count ? index : control->blocks_count - 1;
    return status_ok();
}

/* Names the node in the failure of one of the functions above. */
static struct status name_node(const struct kernel_context *context, struct status status)
{
    return status_is_ok(status) ? status : kernel_error(context, status.code, "%s", status.message);
}

struct status branch_compute(struct kernel_context *context)
{
    const struct step *step = context->step;
    int chosen = 0;
    TRY(name_node(context, branch_choose(step->control, kernel_input(context, 0), &chosen)));
    const struct plan_block *block = step->control->blocks[chosen];
    assert(block->results_count == step->outputs_count);
    struct kernel_context inner = *context;
    TRY(run_block(&inner, block));
    for (int i = 0; i < step->outputs_count; i++)
        put_value(context, step->first_output + (uint32_t)i,
                  take_value(context, block->results[i]));
    return status_ok();
}

static struct status evaluate_condition(struct kernel_context *context, bool *out)
{
    const struct plan_block *cond = context->step->control->blocks[0];
    assert(cond->results_count == 1);
    TRY(run_check(context->run));
    struct kernel_context inner = *context;
    TRY(run_block(&inner, cond));
    const struct tensor *condition = context->values[cond->results[0] & SLOT_INDEX];
    if (context->step->control->is_lowered)
        TRY(name_node(context, check_lowered(condition, DT_BOOL, "input")));
    TRY(name_node(context, condition_truth(condition, out)));
    if (cond->results[0] & SLOT_LAST)
        drop_value(context, cond->results[0] & SLOT_INDEX);
    return status_ok();
}

/* One iteration. Its results are kept in `next`: one of them may be a carried value of this
 * iteration that another result replaces. */
static struct status run_iteration(struct kernel_context *context)
{
    const struct control *control = context->step->control;
    const struct plan_block *body = control->blocks[1];
    assert(body->results_count == control->carried_count);
    struct kernel_context inner = *context;
    TRY(run_block(&inner, body));
    for (int i = 0; i < control->carried_count; i++)
        put_value(context, control->next[i], take_value(context, body->results[i]));
    for (int i = 0; i < control->carried_count; i++)
        put_value(context, control->carried[i], take_value(context, control->next[i] | SLOT_LAST));
    return status_ok();
}

struct status loop_compute(struct kernel_context *context)
{
    const struct step *step = context->step;
    const struct control *control = step->control;
    for (int i = 0; i < control->carried_count; i++)
        put_value(context, control->carried[i], take_value(context, step->inputs[i]));
    for (;;) {
        bool goes_on = false;
        TRY(evaluate_condition(context, &goes_on));
        if (!goes_on)
            break;
        TRY(run_iteration(context));
    }
    for (int i = 0; i < control->carried_count; i++)
        put_value(context, step->first_output + (uint32_t)control->outputs[i],
                  take_value(context, control->carried[i] | SLOT_LAST));
    return status_ok();
}
