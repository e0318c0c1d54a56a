/*
 * Ops that return their inputs: Identity and its kind; EnsureShape after a check. XlaSharding and
 * XlaSpmdShardToFullShape tell which of several devices hold a tensor: there is only one.
 */
#include "runtime/kernel.h"

#include <string.h>

static struct status pass_compute(struct kernel_context *context)
{
    for (int i = 0; i < kernel_outputs_count(context); i++)
        kernel_output_set(context, i, kernel_take_input(context, i));
    return status_ok();
}

static struct status ensure_shape_prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    const struct shape **state = prepare_state(context, sizeof *state, NULL);
    bool is_shard = strcmp(node->op_name, "XlaSpmdShardToFullShape") == 0;
    return node_attr_shape(node, is_shard ? "full_shape" : "shape", state);
}

static struct status ensure_shape_compute(struct kernel_context *context)
{
    const struct shape *const *wanted = kernel_state(context);
    const struct shape *shape = &kernel_input(context, 0)->shape;
    if (!shape_compatible(shape, *wanted))
        return kernel_error(context, STATUS_INVALID_ARGUMENT,
                            "Shape of tensor %s %s is not compatible with expected shape %s.",
                            kernel_node(context)->inputs[0].node->name, shape_text(shape),
                            shape_text(*wanted));
    return pass_compute(context);
}

static const struct kernel rows[] = {
    { "Identity", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "IdentityN", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "XlaOptimizationBarrier", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "XlaSharding", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "XlaSpmdShardToFullShape", DTYPES_ALL, .prepare = ensure_shape_prepare,
      .compute = ensure_shape_compute, .any_rank = true },
    { "StopGradient", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "PreventGradient", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "GuaranteeConst", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "Snapshot", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "PlaceholderWithDefault", DTYPES_ALL, .compute = pass_compute, .any_rank = true },
    { "EnsureShape", DTYPES_ALL, .prepare = ensure_shape_prepare, .compute = ensure_shape_compute,
      .any_rank = true },
};
const struct kernel_table kernels_identity = { rows, COUNT(rows) };
