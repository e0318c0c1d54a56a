/*
 * variable_life: CountUpTo and ResourceCountUpTo, which draw numbers from a variable; what savers
 * do with variables: DestroyResourceOp, DisableCopyOnRead; and variables of a run:
 * TemporaryVariable, DestroyTemporaryVariable.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/variable.h"

/* ---- counting ---- */

static struct status count_prepare(struct prepare_context *p)
{
    int64_t *limit = prepare_state(p, sizeof *limit, NULL);
    return node_attr_int(prepare_node(p), "limit", limit);
}

struct count {
    struct kernel_context *context;
    struct tensor *out; /* the number before this one */
};

static struct status count_up(void *argument, struct tensor *value)
{
    const struct count *count = argument;
    const int64_t *limit = kernel_state(count->context);
    if (value->dtype != count->out->dtype || value->size != 1)
        return kernel_error(count->context, STATUS_INVALID_ARGUMENT,
                            "Trying to count up to %lld in a variable of type %s and shape %s",
                            (long long)*limit, dtype_name(value->dtype), shape_text(&value->shape));
    int64_t number = tensor_index(value, 0);
    if (number >= *limit)
        return kernel_error(count->context, STATUS_OUT_OF_RANGE, "Reached limit of %lld",
                            (long long)*limit);
    tensor_set_index(count->out, 0, number);
    tensor_set_index(value, 0, number + 1);
    return status_ok();
}

static struct status count_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct count count = { .context = k };
    struct variable *variable;
    TRY(kernel_variable(k, &variable));
    TRY(kernel_output(k, 0, &scalar, &count.out));
    return variable_modify(variable, count_up, &count);
}

/* ---- the end of a variable ---- */

static struct status destroy_prepare(struct prepare_context *p)
{
    bool *ignores = prepare_state(p, sizeof *ignores, NULL);
    return node_attr_bool(prepare_node(p), "ignore_lookup_error", ignores);
}

/* The variable stays, as its handle does, but is not initialised any more. */
static struct status destroy_compute(struct kernel_context *k)
{
    const bool *ignores = kernel_state(k);
    struct variable *variable;
    TRY(kernel_variable(k, &variable));
    pthread_mutex_lock(&variable->lock);
    struct tensor old = variable->value;
    variable->value = (struct tensor){ 0 };
    pthread_mutex_unlock(&variable->lock);
    bool was_there = old.dtype != DT_INVALID;
    tensor_release(&old);
    if (was_there || *ignores)
        return status_ok();
    return kernel_error(k, STATUS_NOT_FOUND,
                        "Resource localhost/%s/N10tensorflow3VarE does not exist.", variable->name);
}

/* Reads copy nothing here. */
static struct status disable_compute(struct kernel_context *k)
{
    struct variable *variable;
    struct tensor value;
    TRY(kernel_variable(k, &variable));
    TRY(variable_read(variable, &value));
    tensor_release(&value);
    return status_ok();
}

/* ---- a variable that lives as long as its handle, which never outlives the run ---- */

struct temporary {
    enum dtype dtype;
    const struct shape *shape;
};

static struct status temporary_prepare(struct prepare_context *p)
{
    struct temporary *temporary = prepare_state(p, sizeof *temporary, NULL);
    TRY(node_attr_type(prepare_node(p), "dtype", &temporary->dtype));
    return node_attr_shape(prepare_node(p), "shape", &temporary->shape);
}

/* It has no value before the first assignment. In TensorFlow it has any. */
static struct status temporary_compute(struct kernel_context *k)
{
    const struct temporary *temporary = kernel_state(k);
    struct shape scalar = shape_scalar();
    struct variable *variable;
    struct tensor *out;
    TRY(kernel_output_typed(k, 0, DT_RESOURCE, &scalar, &out));
    TRY(variable_create_unnamed(kernel_node(k)->name, temporary->dtype, temporary->shape,
                                &variable));
    tensor_resources_mut(out)[0] = &variable->object;
    return status_ok();
}

static struct status end_temporary_compute(struct kernel_context *k)
{
    struct variable *variable;
    struct tensor value;
    TRY(kernel_variable_value(k, &value));
    kernel_output_set(k, 0, value);
    TRY(kernel_variable(k, &variable));
    variable_clear(variable);
    return status_ok();
}

#define COUNTED (DTYPES(DT_INT32) | DTYPES(DT_INT64))

static const struct kernel rows[] = {
    { "CountUpTo", COUNTED, "T", .prepare = count_prepare, .compute = count_compute },
    { "ResourceCountUpTo", COUNTED, "T", .prepare = count_prepare, .compute = count_compute },
    { "DestroyResourceOp", DTYPES_ALL, .prepare = destroy_prepare, .compute = destroy_compute },
    { "DisableCopyOnRead", DTYPES_ALL, .compute = disable_compute },
    { "TemporaryVariable", DTYPES_MOVED, "dtype", .prepare = temporary_prepare,
      .compute = temporary_compute },
    { "DestroyTemporaryVariable", DTYPES_MOVED, "T", .compute = end_temporary_compute },
};
const struct kernel_table kernels_variable_life = { rows, COUNT(rows) };
