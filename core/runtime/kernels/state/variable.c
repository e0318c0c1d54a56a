/*
 * Ops on resource variables (VarHandleOp) and reference variables (VariableV2). A handle and a
 * reference are both a scalar that holds the `struct variable`. If an op needs the value of a
 * reference, the plan adds a ReadVariableOp.
 */
#include "runtime/kernels/state/variable.h"

#include <string.h>

#include "base/arena.h"
#include "runtime/kernels/combine.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"

static struct variable *variable_of(const struct tensor *handle)
{
    if (handle->dtype != DT_RESOURCE || handle->size != 1)
        return NULL;
    struct object *object = *(struct object *const *)handle->data;
    return object != NULL && object->type == &variable_type ? (struct variable *)object : NULL;
}

struct status kernel_variable_at(struct kernel_context *context, int input, struct variable **out)
{
    *out = variable_of(kernel_input(context, input));
    return *out != NULL ? status_ok()
                        : kernel_error(context, STATUS_INVALID_ARGUMENT,
                                       "input %d is not the handle of a variable", input);
}

struct status kernel_variable(struct kernel_context *context, struct variable **out)
{
    return kernel_variable_at(context, 0, out);
}

/* ---- handles ---- */

struct bytes resource_name_attr(const struct node *node, const char *name)
{
    const struct attr_value *value = node_attr(node, name);
    return value != NULL && value->kind == ATTR_STRING ? value->s : bytes_of("");
}

static struct status make_handle(struct prepare_context *context, struct bytes name, bool is_ref)
{
    const struct node *node = prepare_node(context);
    enum dtype dtype;
    const struct shape *declared;
    struct shape unknown = shape_unknown();
    TRY(node_attr_type(node, "dtype", &dtype));
    if (!status_is_ok(node_attr_shape(node, "shape", &declared)))
        declared = &unknown;

    struct variable **state = prepare_state(context, sizeof *state, NULL);
    TRY(variable_find_or_create(prepare_resources(context), resource_name_attr(node, "container"),
                                name, dtype, declared, state));
    if (is_ref)
        variable_set_ref(*state);
    object_release(&(*state)->object); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

/* All handles without a shared name are one variable, as in TensorFlow. */
static struct status handle_prepare(struct prepare_context *context)
{
    return make_handle(context, resource_name_attr(prepare_node(context), "shared_name"), false);
}

static struct status reference_prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    struct bytes name = resource_name_attr(node, "shared_name");
    return make_handle(context, name.size > 0 ? name : bytes_of(node->name), true);
}

static struct status handle_compute(struct kernel_context *context)
{
    struct variable *const *variable = kernel_state(context);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output_typed(context, 0, DT_RESOURCE, &scalar, &out));
    tensor_resources_mut(out)[0] = object_acquire(&(*variable)->object);
    return status_ok();
}

/* ---- reading ---- */

/* Copies strings for the run: an assignment frees the variable's characters. */
struct status kernel_keep_strings(struct kernel_context *context, struct tensor *out)
{
    struct bytes *strings = tensor_strings_mut(out);
    for (int64_t i = 0; i < out->size; i++) {
        void *copy;
        if (strings[i].size == 0)
            continue;
        TRY(arena_reserve(kernel_arena(context), strings[i].size, &copy));
        memcpy(copy, strings[i].data, strings[i].size);
        strings[i].data = copy;
    }
    return status_ok();
}

static struct status read_strings(struct kernel_context *context, const struct tensor *value)
{
    struct tensor *out;
    TRY(kernel_output_typed(context, 0, DT_STRING, &value->shape, &out));
    if (value->size > 0)
        memcpy(out->data, value->data, tensor_bytes(value));
    return kernel_keep_strings(context, out);
}

struct status kernel_variable_value(struct kernel_context *context, struct tensor *out)
{
    struct variable *variable;
    TRY(kernel_variable(context, &variable));
    TRY(variable_read(variable, out));
    enum dtype wanted = kernel_node(context)->outputs[0].dtype, dtype = out->dtype;
    if (dtype == wanted || wanted == DT_INVALID)
        return status_ok();
    tensor_release(out);
    return kernel_error(context, STATUS_INVALID_ARGUMENT,
                        "Trying to read variable with wrong dtype. Expected %s got %s",
                        dtype_name(wanted), dtype_name(dtype));
}

static struct status read_compute(struct kernel_context *context)
{
    struct tensor value;
    if (kernel_input(context, 0)->dtype ==
        DT_STRING) { /* a TensorArray's handle is its own value */
        kernel_output_set(context, 0, kernel_take_input(context, 0));
        return status_ok();
    }
    TRY(kernel_variable_value(context, &value));
    if (value.dtype != DT_STRING) {
        kernel_output_set(context, 0, value);
        return status_ok();
    }
    struct status status = read_strings(context, &value);
    tensor_release(&value);
    return status;
}

static struct status is_initialized_compute(struct kernel_context *context)
{
    struct variable *variable;
    struct tensor value, *out;
    struct shape scalar = shape_scalar();
    TRY(kernel_variable(context, &variable));
    TRY(kernel_output(context, 0, &scalar, &out));
    bool initialised = status_is_ok(variable_read(variable, &value));
    if (initialised)
        tensor_release(&value);
    tensor_bools_mut(out)[0] = initialised;
    return status_ok();
}

static struct status shape_compute(struct kernel_context *context)
{
    struct variable *variable;
    struct tensor value, *out;
    TRY(kernel_variable(context, &variable));
    TRY(variable_read(variable, &value));
    struct shape shape = value.shape, rank = shape_of(shape.rank);
    tensor_release(&value);
    TRY(kernel_output(context, 0, &rank, &out));
    for (int i = 0; i < shape.rank; i++) {
        tensor_set_index(out, i, shape.dims[i]);
    }
    return status_ok();
}

/* ---- writing ---- */

struct assign_state {
    bool validate_shape;
    bool is_ref; /* Assign: checks the declared shape and returns the reference */
};

static struct status assign_prepare(struct prepare_context *context)
{
    struct assign_state *state = prepare_state(context, sizeof *state, NULL);
    const struct node *node = prepare_node(context);
    state->is_ref = strcmp(node->op_name, "Assign") == 0;
    const struct attr_value *validate = node_attr(node, "validate_shape");
    state->validate_shape =
        validate != NULL ? validate->kind == ATTR_BOOL && validate->b : state->is_ref;
    return status_ok();
}

/* INVALID_ARGUMENT: the update is not of the type of the variable. */
static struct status check_type(struct kernel_context *context, const struct variable *variable,
                                enum dtype dtype)
{
    if (variable->dtype == dtype || variable->dtype == DT_INVALID)
        return status_ok();
    return kernel_error(context, STATUS_INVALID_ARGUMENT,
                        "Trying to assign variable with wrong dtype. Expected %s got %s",
                        dtype_name(variable->dtype), dtype_name(dtype));
}

static struct status check_shape(struct kernel_context *context, struct variable *variable,
                                 const struct tensor *value, bool is_ref)
{
    struct tensor current;
    if (is_ref) {
        if (!shape_compatible(&value->shape, &variable->shape))
            return kernel_error(
                context, STATUS_INVALID_ARGUMENT,
                "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                shape_text(&variable->shape), shape_text(&value->shape));
        return status_ok();
    }
    if (!status_is_ok(variable_read(variable, &current)))
        return status_ok(); /* not initialised: nothing to compare */
    struct shape shape = current.shape;
    tensor_release(&current);
    if (shape_equal(&shape, &value->shape))
        return status_ok();
    return kernel_error(
        context, STATUS_INVALID_ARGUMENT,
        "Trying to assign to variable with tensor with wrong shape. Expected %s got %s",
        shape_text(&shape), shape_text(&value->shape));
}

void kernel_hand_on_reference(struct kernel_context *context)
{
    if (kernel_outputs_count(context) > 0)
        kernel_output_set(context, 0, tensor_acquire(kernel_input(context, 0)));
}

static struct status assign_compute(struct kernel_context *context)
{
    const struct assign_state *state = kernel_state(context);
    const struct tensor *value = kernel_input(context, 1);
    struct variable *variable;
    TRY(kernel_variable(context, &variable));
    TRY(check_type(context, variable, value->dtype));
    if (state->validate_shape)
        TRY(check_shape(context, variable, value, state->is_ref));
    TRY(kernel_keep(context, value, &variable->value));
    kernel_hand_on_reference(context);
    struct tensor taken = kernel_take_input(context, 1);
    return variable_assign(variable, &taken);
}

struct addition {
    struct kernel_context *context;
    const struct tensor *by;
    bool subtract;
};

static struct status add_to_value(void *argument, struct tensor *value)
{
    const struct addition *addition = argument;
    if (!shape_equal(&value->shape, &addition->by->shape))
        return kernel_error(addition->context, STATUS_INVALID_ARGUMENT,
                            "Cannot update variable with shape %s using a Tensor with shape %s, "
                            "shapes must be equal.",
                            shape_text(&value->shape), shape_text(&addition->by->shape));
    combine_elements(addition->subtract ? COMBINE_SUBTRACT : COMBINE_ADD, value->dtype,
                     addition->by->data, value->data, value->size);
    return status_ok();
}

static struct status add_compute(struct kernel_context *context)
{
    struct addition addition = { .context = context,
                                 .by = kernel_input(context, 1),
                                 .subtract = strstr(kernel_node(context)->op_name, "Sub") != NULL };
    return kernel_change_variable(context, addition.by->dtype, add_to_value, &addition);
}

/* ---- rows of a variable ---- */

/* The first `batch` dimensions of the table and of the indices are the same. TensorFlow does not
 * look. */
static struct status check_batch(struct kernel_context *context, const struct shape *table,
                                 const struct shape *indices, int64_t batch)
{
    bool fits = batch >= 0 && batch < table->rank && batch <= indices->rank;
    for (int i = 0; fits && i < batch; i++)
        fits = table->dims[i] == indices->dims[i];
    if (fits)
        return status_ok();
    const char *params = shape_text(table);
    return kernel_error(context, STATUS_INVALID_ARGUMENT,
                        "params %s and indices %s do not have the same first %lld dimensions "
                        "(batch_dims)",
                        params, shape_text(indices), (long long)batch);
}

static struct status gather_rows(struct kernel_context *context, const struct tensor *table,
                                 const struct tensor *indices, int64_t batch)
{
    TRY(check_batch(context, &table->shape, &indices->shape, batch));
    int64_t rows = table->shape.dims[batch], batches = shape_outer(&table->shape, (int)batch);
    struct shape shape = indices->shape;
    struct status found = nd_index_check_rows(indices, rows);
    if (!status_is_ok(found))
        return kernel_error(context, found.code, "%s", found.message);
    TRY(kernel_check_rank(context, shape.rank + table->shape.rank - 1 - batch));
    for (int i = (int)batch + 1; i < table->shape.rank; i++)
        shape_append(&shape, table->shape.dims[i]);
    struct shape checked;
    TRY(shape_check(shape.rank, shape.dims, &checked));

    struct tensor *out;
    TRY(kernel_output_typed(context, 0, table->dtype, &checked, &out));
    if (out->size == 0)
        return status_ok();
    size_t row_bytes = tensor_bytes(table) / (size_t)(rows * batches);
    int64_t each = indices->size / batches; /* indices of a batch */
    const char *from = table->data;
    char *to = out->data;
    for (int64_t i = 0; i < indices->size; i++) {
        int64_t index = i / each * rows + tensor_index(indices, i);
        memcpy(to + (size_t)i * row_bytes, from + (size_t)index * row_bytes, row_bytes);
    }
    return table->dtype == DT_STRING ? kernel_keep_strings(context, out) : status_ok();
}

static struct status gather_prepare(struct prepare_context *context)
{
    int64_t *batch_dims = prepare_state(context, sizeof *batch_dims, NULL);
    return node_attr_int32(prepare_node(context), "batch_dims", batch_dims);
}

static struct status gather_compute(struct kernel_context *context)
{
    const int64_t *batch_dims = kernel_state(context);
    const struct tensor *indices = kernel_input(context, 1);
    struct tensor table;
    TRY(kernel_variable_value(context, &table));
    struct status status = table.shape.rank > 0
                               ? gather_rows(context, &table, indices, *batch_dims)
                               : kernel_error(context, STATUS_INVALID_ARGUMENT,
                                              "params must be at least 1 dimensional");
    tensor_release(&table);
    return status;
}

static struct status gather_nd_compute(struct kernel_context *context)
{
    struct tensor value, *out;
    TRY(kernel_variable_value(context, &value));
    struct status status = gather_nd(context, &value, false, &out);
    if (status_is_ok(status) && value.dtype == DT_STRING)
        status = kernel_keep_strings(context, out);
    tensor_release(&value);
    return status;
}

/* ---- changes in place ---- */

struct string_change {
    struct kernel_context *context;
    kernel_change *change;
    void *argument;
};

/* Changes a copy of the strings, and then copies it with its characters. */
static struct status change_strings(void *argument, struct tensor *value)
{
    const struct string_change *strings = argument;
    struct tensor work, copy;
    TRY(kernel_scratch(strings->context, DT_STRING, &value->shape, &work));
    if (value->size > 0)
        memcpy(work.data, value->data, tensor_bytes(value));
    struct status status = strings->change(strings->argument, &work);
    if (status_is_ok(status))
        status = tensor_copy_deep(&work, &copy);
    tensor_release(&work);
    TRY(status);
    tensor_release(value);
    *value = copy;
    return status_ok();
}

struct status kernel_change_variable(struct kernel_context *context, enum dtype dtype,
                                     kernel_change *change, void *argument)
{
    struct string_change strings = { context, change, argument };
    struct variable *variable;
    TRY(kernel_variable(context, &variable));
    TRY(check_type(context, variable, dtype));
    if (dtype == DT_STRING)
        TRY(variable_modify(variable, change_strings, &strings));
    else
        TRY(variable_modify(variable, change, argument));
    kernel_hand_on_reference(context);
    return status_ok();
}

/* No variable holds objects: their memory, and what they hold, is that of a run. */
static const struct kernel rows[] = {
    { "VarHandleOp", DTYPES_ALL, .prepare = handle_prepare, .compute = handle_compute,
      .once = true },
    { "VariableV2", DTYPES_ALL, .prepare = reference_prepare, .compute = handle_compute,
      .once = true },
    { "Variable", DTYPES_ALL, .prepare = reference_prepare, .compute = handle_compute,
      .once = true },
    { "ReadVariableOp", DTYPES_ALL, .compute = read_compute },
    { "VarIsInitializedOp", DTYPES_ALL, .compute = is_initialized_compute },
    { "IsVariableInitialized", DTYPES_ALL, .compute = is_initialized_compute },
    { "VariableShape", DTYPES_ALL, .compute = shape_compute },
    { "AssignVariableOp", DTYPES_MOVED, "dtype", .prepare = assign_prepare,
      .compute = assign_compute },
    { "Assign", DTYPES_MOVED, "T", .prepare = assign_prepare, .compute = assign_compute },
    { "AssignAddVariableOp", DTYPES_COMBINED, "dtype", .compute = add_compute },
    { "AssignSubVariableOp", DTYPES_COMBINED, "dtype", .compute = add_compute },
    { "AssignAdd", DTYPES_COMBINED, .compute = add_compute },
    { "AssignSub", DTYPES_COMBINED, .compute = add_compute },
    { "ResourceGather", DTYPES_MOVED, "dtype", .prepare = gather_prepare,
      .compute = gather_compute },
    { "ResourceGatherNd", DTYPES_MOVED, "dtype", .compute = gather_nd_compute },
};
const struct kernel_table kernels_variable = { rows, COUNT(rows) };
