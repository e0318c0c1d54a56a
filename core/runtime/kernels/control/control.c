/*
 * Nodes that the plan treats itself: branches and loops (it emits their bodies), feeds, constants,
 * and nodes that only order others; where and when a graph runs.
 */
#include <time.h>

#include "runtime/steps.h"

static struct status noop_compute(struct kernel_context *context)
{
    (void)context;
    return status_ok();
}

static struct status const_prepare(struct prepare_context *context)
{
    const struct tensor *value;
    const struct node *node = prepare_node(context);
    enum dtype dtype;
    TRY(node_attr_tensor(node, "value", &value));
    TRY(node_attr_type(node, "dtype", &dtype));
    if (value->dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (Const): the value is %s, not %s",
                            node->name, dtype_name(value->dtype), dtype_name(dtype));
    const struct tensor **state = prepare_state(context, sizeof *state, NULL);
    *state = value;
    return status_ok();
}

static struct status const_compute(struct kernel_context *context)
{
    const struct tensor *const *value = kernel_state(context);
    kernel_output_set(context, 0, tensor_acquire(*value));
    return status_ok();
}

/* Runs only if the placeholder is not fed. */
static struct status placeholder_compute(struct kernel_context *context)
{
    const struct node *node = kernel_node(context);
    const struct shape *shape;
    if (!status_is_ok(node_attr_shape(node, "shape", &shape)))
        shape = &node->outputs[0].shape;
    return status_error(
        STATUS_INVALID_ARGUMENT,
        "You must feed a value for placeholder tensor '%s' with dtype %s and shape %s", node->name,
        dtype_name(node->outputs[0].dtype), shape_text(shape));
}

/* TensorFlow ends the process. */
static struct status abort_compute(struct kernel_context *context)
{
    const struct node *node = kernel_node(context);
    struct bytes message;
    TRY(node_attr_string(node, "error_msg", &message));
    return status_error(STATUS_ABORTED, "Abort_op intentional failure; %.*s", (int)message.size,
                        message.data);
}

/* The kind of device that runs this: always "CPU". */
static struct status device_index_prepare(struct prepare_context *context)
{
    int32_t *index = prepare_state(context, sizeof *index, NULL);
    const struct attr_value *names;

    TRY(node_attr_list_of(prepare_node(context), "device_names", ATTR_STRING, &names));
    while (*index < names->count && !bytes_equal(names->elements[*index].s, bytes_of("CPU")))
        ++*index;
    return status_ok();
}

static struct status device_index_compute(struct kernel_context *context)
{
    const int32_t *index = kernel_state(context);
    const struct shape scalar = shape_scalar();
    struct tensor *out;

    TRY(kernel_output(context, 0, &scalar, &out));
    *(int32_t *)out->data = *index;
    return status_ok();
}

/* Seconds since 1970. */
static struct status timestamp_compute(struct kernel_context *context)
{
    const struct shape scalar = shape_scalar();
    struct timespec now;
    struct tensor *out;

    TRY(kernel_output(context, 0, &scalar, &out));
    clock_gettime(CLOCK_REALTIME, &now);
    *(double *)out->data = (double)now.tv_sec + (double)(now.tv_nsec / 1000) / 1e6;
    return status_ok();
}

static const struct kernel rows[] = {
    { "DeviceIndex", DTYPES_ALL, .prepare = device_index_prepare, .compute = device_index_compute },
    { "Timestamp", DTYPES_ALL, .compute = timestamp_compute },
    { "NoOp", DTYPES_ALL, .compute = noop_compute },
    { "ControlTrigger", DTYPES_ALL, .compute = noop_compute },
    { "Abort", DTYPES_ALL, .compute = abort_compute },
    { "Const", DTYPES_ALL, .prepare = const_prepare, .compute = const_compute, .once = true },
    { "Placeholder", DTYPES_ALL, .compute = placeholder_compute },
    { "PlaceholderV2", DTYPES_ALL, .compute = placeholder_compute },
    { "If", DTYPES_ALL, .compute = branch_compute },
    { "StatelessIf", DTYPES_ALL, .compute = branch_compute },
    { "Case", DTYPES_ALL, .compute = branch_compute },
    { "StatelessCase", DTYPES_ALL, .compute = branch_compute },
    { "While", DTYPES_ALL, .compute = loop_compute },
    { "StatelessWhile", DTYPES_ALL, .compute = loop_compute },
    { "XlaWhile", DTYPES_ALL, .compute = loop_compute },
};
const struct kernel_table kernels_control = { rows, COUNT(rows) };
