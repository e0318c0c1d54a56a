/*
 * TensorArrayV3, its older forms, and their ops. Elements are views and shared buffers: a write, a
 * read and a scatter copy nothing. The value `flow` only puts the ops in order.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_cells.h"

/* ---- making ---- */

struct array_state {
    enum dtype dtype; /* first: array_input reads it */
    const struct shape *shape;
    bool grows, clears, has_one_shape;
};

static struct status array_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct array_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_type(node, "dtype", &state->dtype));
    TRY(node_attr_shape(node, "element_shape", &state->shape));
    TRY(node_attr_bool(node, "dynamic_size", &state->grows));
    TRY(node_attr_bool(node, "clear_after_read", &state->clears));
    if (op_attr_find(node->op, "identical_element_shapes") == NULL)
        return status_ok();
    return node_attr_bool(node, "identical_element_shapes", &state->has_one_shape);
}

static struct status array_compute(struct kernel_context *k)
{
    const struct array_state *state = kernel_state(k);
    const struct tensor *size = kernel_input(k, 0);
    struct tensor_cells *array;
    if (size->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray size must be scalar, but had shape: %s",
                            shape_text(&size->shape));
    if (tensor_index(size, 0) < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Size should be >= 0.");
    TRY(tensor_cells_create(k, &tensor_array_type, state->dtype, tensor_index(size, 0), &array));
    array->shape = *state->shape;
    array->grows = state->grows;
    array->clears = state->clears;
    array->has_one_shape = state->has_one_shape;
    TRY(tensor_cells_output(k, array));
    return tensor_array_flow(k);
}

struct status tensor_array_flow(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *flow;
    if (kernel_outputs_count(k) < 2) /* an older form */
        return status_ok();
    TRY(kernel_output(k, 1, &scalar, &flow));
    tensor_floats_mut(flow)[0] = 0;
    return status_ok();
}

/* ---- elements ---- */

static struct status array_input(struct kernel_context *k, enum dtype dtype, const char *verb,
                                 struct tensor_cells **out)
{
    TRY(tensor_cells_input(k, &tensor_array_type, out));
    if ((*out)->dtype == dtype)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "TensorArray dtype is %s but Op %s dtype %s.",
                        dtype_name((*out)->dtype), verb, dtype_name(dtype));
}

static struct status index_input(struct kernel_context *k, int64_t *out)
{
    const struct tensor *index = kernel_input(k, 1);
    if (index->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray index must be scalar, but had shape: %s",
                            shape_text(&index->shape));
    *out = tensor_index(index, 0);
    return status_ok();
}

static struct status vector_input(struct kernel_context *k, int input, const char *what,
                                  const struct tensor **out)
{
    *out = kernel_input(k, input);
    if ((*out)->shape.rank == 1)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Expected %s to be a vector, but received shape: %s", what,
                        shape_text(&(*out)->shape));
}

static struct status array_error(const struct tensor_cells *array, const char *what, int64_t index,
                                 const char *why)
{
    return status_error(STATUS_INVALID_ARGUMENT, "TensorArray %s: Could not %s index %lld %s",
                        array->node->name, what, (long long)index, why);
}

/* May `value` be written to the cell? */
static struct status check_write(const struct tensor_cells *array, int64_t index,
                                 const struct shape *shape)
{
    const struct tensor_cell *cell = &array->cells[index];
    if (!shape_compatible(shape, &array->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Could not write to TensorArray index %lld because the "
                            "value shape is %s which is incompatible with the TensorArray's "
                            "inferred element shape: %s (consider setting infer_shape=False).",
                            array->node->name, (long long)index, shape_text(shape),
                            shape_text(&array->shape));
    if (cell->is_read)
        return array_error(array, "write to TensorArray", index,
                           "because it has already been read.");
    if (cell->is_written && !array->is_gradient)
        return array_error(array, "write to TensorArray", index,
                           "because it has already been written to.");
    if (cell->is_written && !shape_equal(&cell->shape, shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Could not aggregate to TensorArray index %lld because "
                            "the existing shape is %s but the new input shape is %s.",
                            array->node->name, (long long)index, shape_text(&cell->shape),
                            shape_text(shape));
    return status_ok();
}

/* Makes room for the cell if the array grows. */
static struct status reach_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index)
{
    if (index < 0 || (index >= array->count && !array->grows))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Tried to write to index %lld but array is not "
                            "resizeable and size is: %lld",
                            array->node->name, (long long)index, (long long)array->count);
    return tensor_cells_grow(k, array, index + 1);
}

/* Adds to what the cell of a gradient array holds. */
static struct status add_to_cell(struct kernel_context *k, struct tensor_cells *array,
                                 struct tensor_cell *cell, const struct tensor *value)
{
    struct tensor sum;
    if ((DTYPES(array->dtype) & DTYPES_COMBINED) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_array::AddToTensor type not supported: %s",
                            dtype_name(array->dtype));
    TRY(kernel_scratch(k, array->dtype, &cell->shape, &sum));
    copy_elements(array->dtype, sum.data, cell->value.data, sum.size);
    combine_elements(COMBINE_ADD, array->dtype, value->data, sum.data, sum.size);
    tensor_release(&cell->value);
    cell->value = sum;
    return status_ok();
}

static struct status set_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                              struct tensor *value)
{
    struct tensor_cell *cell = &array->cells[index];
    if (cell->value.dtype != DT_INVALID) {
        struct status status = add_to_cell(k, array, cell, value);
        tensor_release(value);
        return status;
    }
    if (array->has_one_shape)
        array->shape = value->shape;
    cell->shape = value->shape;
    cell->value = *value;
    cell->is_written = true;
    return status_ok();
}

/* Takes over `value`, also if it fails. */
static struct status write_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                                struct tensor value)
{
    struct status status = reach_cell(k, array, index);
    if (status_is_ok(status))
        status = check_write(array, index, &value.shape);
    if (!status_is_ok(status)) {
        tensor_release(&value);
        return status;
    }
    return set_cell(k, array, index, &value);
}

/* A cell that was never written is zeros if the shape of elements is known. */
static struct status read_unwritten(struct kernel_context *k, const struct tensor_cells *array,
                                    int64_t index, struct tensor *out)
{
    const struct tensor_cell *cell = &array->cells[index];
    const struct shape *known =
        cell->is_written || cell->shape.rank > 0 ? &cell->shape : &array->shape;
    struct shape shape;
    if (!shape_is_known(known))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "TensorArray %s: Could not read from TensorArray index %lld.  Furthermore, the element "
            "shape is not fully defined: %s.  It is possible you are working with a resizeable "
            "TensorArray and stop_gradients is not allowing the gradients to be written.  If you "
            "set the full element_shape property on the forward TensorArray, the proper all-zeros "
            "tensor will be returned instead of incurring this error.",
            array->node->name, (long long)index, shape_text(&array->shape));
    TRY(shape_check(known->rank, known->dims, &shape));
    TRY(kernel_scratch(k, array->dtype, &shape, out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

/* Owner: the caller. */
static struct status read_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                               struct tensor *out)
{
    if (array->is_gradient && index >= array->count)
        TRY(tensor_cells_grow(k, array, index + 1));
    if (index < 0 || index >= array->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Tried to read from index %lld but array size is: %lld",
                            array->node->name, (long long)index, (long long)array->count);
    struct tensor_cell *cell = &array->cells[index];
    if (cell->is_cleared)
        return array_error(array, "read", index,
                           "twice because it was cleared after a previous read (perhaps try "
                           "setting clear_after_read = false?).");
    if (cell->value.dtype == DT_INVALID)
        TRY(read_unwritten(k, array, index, out));
    else
        *out = tensor_acquire(&cell->value);
    if (array->clears) {
        tensor_release(&cell->value);
        cell->is_cleared = true;
    }
    cell->is_read = true;
    return status_ok();
}

/* ---- one element ---- */

static struct status write_compute(struct kernel_context *k)
{
    struct tensor_cells *array;
    int64_t index = 0;
    TRY(index_input(k, &index));
    TRY(array_input(k, kernel_input(k, 2)->dtype, "is trying to write", &array));
    TRY(write_cell(k, array, index, kernel_take_input(k, 2)));
    kernel_output_set(k, 0, kernel_take_input(k, 3));
    return status_ok();
}

static struct status dtype_prepare(struct prepare_context *p)
{
    enum dtype *dtype = prepare_state(p, sizeof *dtype, NULL);
    return node_attr_type(prepare_node(p), "dtype", dtype);
}

static struct status read_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct tensor_cells *array;
    struct tensor value;
    int64_t index = 0;
    TRY(index_input(k, &index));
    TRY(array_input(k, *dtype, "requested", &array));
    TRY(read_cell(k, array, index, &value));
    kernel_output_set(k, 0, value);
    return status_ok();
}

/* ---- many elements at once ---- */

/* Part of the rows of a tensor, as a view. */
static struct tensor view_rows(const struct tensor *from, const struct shape *shape, int64_t first)
{
    struct tensor view = tensor_acquire(from);
    int64_t row = from->shape.dims[0] > 0 ? from->size / from->shape.dims[0] : 0;
    view.shape = *shape;
    view.size = shape_size(shape);
    view.data = at_bytes(from->data, first * row, dtype_size(from->dtype));
    return view;
}

static struct status rows_input(struct kernel_context *k, int input, struct tensor_cells **array,
                                const struct tensor **out)
{
    *out = kernel_input(k, input);
    TRY(array_input(k, (*out)->dtype, "is trying to write", array));
    if ((*out)->shape.rank >= 1)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Input value for unpack must be at least a vector but received shape: %s",
                        shape_text(&(*out)->shape));
}

/* The first form: row i goes to cell i. */
static struct status unpack_compute(struct kernel_context *k)
{
    const struct tensor *value;
    struct tensor_cells *array;
    TRY(rows_input(k, 1, &array, &value));
    int64_t count = value->shape.dims[0];
    if (count != array->count && !(array->grows && count > array->count))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input value must have first dimension equal to the array size (%lld "
                            "vs. %lld)",
                            (long long)count, (long long)array->count);
    struct shape shape = shape_make(value->shape.rank - 1, value->shape.dims + 1);
    for (int64_t i = 0; i < count; i++)
        TRY(write_cell(k, array, i, view_rows(value, &shape, i)));
    kernel_output_set(k, 0, kernel_take_input(k, 2));
    return status_ok();
}

static struct status scatter_compute(struct kernel_context *k)
{
    const struct tensor *indices, *value;
    struct tensor_cells *array;
    TRY(rows_input(k, 2, &array, &value));
    TRY(vector_input(k, 1, "indices", &indices));
    if (indices->size != value->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected len(indices) == values.shape[0], but saw: %lld vs. %lld",
                            (long long)indices->size, (long long)value->shape.dims[0]);
    struct shape shape = shape_make(value->shape.rank - 1, value->shape.dims + 1);
    for (int64_t i = 0; i < indices->size; i++)
        TRY(write_cell(k, array, tensor_index(indices, i), view_rows(value, &shape, i)));
    kernel_output_set(k, 0, kernel_take_input(k, 3));
    return status_ok();
}

static struct status check_lengths(const struct tensor *value, const struct tensor *lengths)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < lengths->size; i++) {
        int64_t length = tensor_int64s(lengths)[i];
        if (length < 0 || __builtin_add_overflow(sum, length, &sum))
            return status_error(STATUS_INVALID_ARGUMENT, "Expected lengths >= 0, but saw %lld",
                                (long long)length);
    }
    if (sum == value->shape.dims[0])
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Expected sum of lengths to be equal to values.shape[0], but sum of "
                        "lengths is %lld and value's shape is: %s ",
                        (long long)sum, shape_text(&value->shape));
}

static struct status split_compute(struct kernel_context *k)
{
    const struct tensor *lengths, *value = kernel_input(k, 1);
    struct tensor_cells *array;
    int64_t first = 0;
    TRY(array_input(k, value->dtype, "is trying to write", &array));
    TRY(vector_input(k, 2, "lengths", &lengths));
    if (value->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected value to be at least a vector, but received shape: %s",
                            shape_text(&value->shape));
    TRY(check_lengths(value, lengths));
    if (array->count != lengths->size && !(array->grows && array->count < lengths->size))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray's size is not equal to the size of lengths (%lld vs. "
                            "%lld), and the TensorArray is not marked as dynamically resizeable",
                            (long long)array->count, (long long)lengths->size);
    for (int64_t i = 0; i < lengths->size; i++) {
        struct shape shape = value->shape;
        shape.dims[0] = tensor_int64s(lengths)[i];
        TRY(write_cell(k, array, i, view_rows(value, &shape, first)));
        first += shape.dims[0];
    }
    kernel_output_set(k, 0, kernel_take_input(k, 3));
    return status_ok();
}

struct pack_state {
    enum dtype dtype;
    const struct shape *shape; /* of an element, or of its rows */
};

static struct status pack_prepare(struct prepare_context *p, const char *attr)
{
    struct pack_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_type(prepare_node(p), "dtype", &state->dtype));
    return node_attr_shape(prepare_node(p), attr, &state->shape);
}

static struct status gather_prepare(struct prepare_context *p)
{
    return pack_prepare(p, "element_shape");
}

static struct status concat_prepare(struct prepare_context *p)
{
    return pack_prepare(p, "element_shape_except0");
}

/* first, then the dimensions of `rest` from `from` on. */
static struct status shape_with_first(const struct kernel_context *k, int64_t first,
                                      const struct shape *rest, int from, struct shape *out)
{
    struct shape shape = { .rank = 0 };
    TRY(kernel_check_rank(k, rest->rank - from + 1));
    shape_append(&shape, first);
    for (int d = from; d < rest->rank; d++)
        shape_append(&shape, rest->dims[d]);
    return shape_check(shape.rank, shape.dims, out);
}

/* Nothing to pack: the shape must be known from the attribute. */
static struct status pack_nothing(struct kernel_context *k, const char *attr, const char *verb)
{
    const struct pack_state *state = kernel_state(k);
    struct shape shape;
    struct tensor *out;
    if (!shape_is_known(state->shape))
        return status_error(STATUS_UNIMPLEMENTED,
                            "TensorArray has size zero, but %s %s is not fully defined. Currently "
                            "only static shapes are supported when %s zero-size TensorArrays.",
                            attr, shape_text(state->shape), verb);
    TRY(shape_with_first(k, 0, state->shape, 0, &shape));
    return kernel_output(k, 0, &shape, &out);
}

/* Reads cells: those of `indices`, or the first `count`. *holder owns the memory of the list. */
static struct status read_cells(struct kernel_context *k, struct tensor_cells *array,
                                const struct tensor *indices, int64_t count, struct tensor *holder)
{
    int64_t bytes;
    if (__builtin_mul_overflow(count, (int64_t)sizeof(struct tensor), &bytes))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "a list of %lld tensors", (long long)count);
    struct shape shape = shape_of(bytes);
    TRY(kernel_scratch(k, DT_UINT8, &shape, holder));
    struct tensor *values = holder->data;
    for (int64_t i = 0; i < count; i++) {
        struct status status =
            read_cell(k, array, indices != NULL ? tensor_index(indices, i) : i, &values[i]);
        if (status_is_ok(status))
            continue;
        tensors_release(i, values);
        tensor_release(holder);
        return status;
    }
    return status_ok();
}

static void copy_all(struct tensor *out, const struct tensor *values, int64_t count)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        if (values[i].size > 0)
            copy_elements(out->dtype, at_bytes(out->data, at, dtype_size(out->dtype)),
                          values[i].data, values[i].size);
        at += values[i].size;
    }
}

static struct status stack_values(struct kernel_context *k, const struct tensor *values,
                                  int64_t count)
{
    const struct pack_state *state = kernel_state(k);
    struct shape shape;
    struct tensor *out;
    if (!shape_compatible(&values[0].shape, state->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray was passed element_shape %s which does not match the "
                            "Tensor at index 0: %s",
                            shape_text(state->shape), shape_text(&values[0].shape));
    for (int64_t i = 1; i < count; i++)
        if (!shape_equal(&values[i].shape, &values[0].shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "TensorArray has inconsistent shapes.  Index 0 has shape: %s but "
                                "index %lld has shape: %s",
                                shape_text(&values[0].shape), (long long)i,
                                shape_text(&values[i].shape));
    TRY(shape_with_first(k, count, &values[0].shape, 0, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    copy_all(out, values, count);
    return status_ok();
}

/* `indices` NULL: all cells. */
static struct status gather_cells(struct kernel_context *k, struct tensor_cells *array,
                                  const struct tensor *indices)
{
    int64_t count = indices != NULL ? indices->size : array->count;
    struct tensor holder;
    if (count == 0)
        return pack_nothing(k, "element shape", "packing");
    TRY(read_cells(k, array, indices, count, &holder));
    struct status status = stack_values(k, holder.data, count);
    tensors_release(count, holder.data);
    tensor_release(&holder);
    return status;
}

static struct status gather_compute(struct kernel_context *k)
{
    const struct pack_state *state = kernel_state(k);
    const struct tensor *indices;
    struct tensor_cells *array;
    TRY(array_input(k, state->dtype, "requested", &array));
    TRY(vector_input(k, 1, "indices", &indices));
    return gather_cells(k, array, indices);
}

static struct status pack_compute(struct kernel_context *k)
{
    const struct pack_state *state = kernel_state(k);
    struct tensor_cells *array;
    TRY(array_input(k, state->dtype, "requested", &array));
    return gather_cells(k, array, NULL);
}

static struct status check_rows(const struct tensor *values, int64_t i, const struct shape *wanted)
{
    const struct shape *shape = &values[i].shape;
    if (shape->rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Concat saw a scalar shape at index %lld but requires at least "
                            "vectors.  Did you mean to call pack?",
                            (long long)i);
    struct shape rows = shape_make(shape->rank - 1, shape->dims + 1);
    struct shape first = shape_make(values[0].shape.rank - 1, values[0].shape.dims + 1);
    if (i == 0 && !shape_compatible(&rows, wanted))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray was passed element_shape_except0 %s but index 0 has "
                            "(excepting dimension 0) shape: %s which does not match.",
                            shape_text(wanted), shape_text(&rows));
    if (!shape_equal(&rows, &first))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension "
            "0) shape: %s but index %lld has (excepting dimension 0) shape: %s",
            shape_text(&first), (long long)i, shape_text(&rows));
    return status_ok();
}

static struct status concat_values(struct kernel_context *k, const struct tensor *values,
                                   int64_t count)
{
    const struct pack_state *state = kernel_state(k);
    struct shape shape, vector = shape_of(count);
    struct tensor *out, *lengths;
    int64_t rows = 0;
    TRY(kernel_output(k, 1, &vector, &lengths));
    for (int64_t i = 0; i < count; i++) {
        TRY(check_rows(values, i, state->shape));
        tensor_int64s_mut(lengths)[i] = values[i].shape.dims[0];
        if (__builtin_add_overflow(rows, values[i].shape.dims[0], &rows))
            return status_error(STATUS_RESOURCE_EXHAUSTED, "a concatenation of too many rows");
    }
    TRY(shape_with_first(k, rows, &values[0].shape, 1, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    copy_all(out, values, count);
    return status_ok();
}

static struct status concat_compute(struct kernel_context *k)
{
    const struct pack_state *state = kernel_state(k);
    struct tensor_cells *array;
    struct tensor holder, *lengths;
    struct shape none = shape_of(0);
    TRY(array_input(k, state->dtype, "requested", &array));
    int64_t count = array->count;
    if (count == 0) {
        TRY(kernel_output(k, 1, &none, &lengths));
        return pack_nothing(k, "element_shape_except0", "concatenating");
    }
    TRY(read_cells(k, array, NULL, count, &holder));
    struct status status = concat_values(k, holder.data, count);
    tensors_release(count, holder.data);
    tensor_release(&holder);
    return status;
}

/* ---- the array itself ---- */

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor_cells *array;
    struct tensor *out;
    TRY(tensor_cells_input(k, &tensor_array_type, &array));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)array->count;
    return status_ok();
}

static struct status close_compute(struct kernel_context *k)
{
    struct tensor_cells *array;
    TRY(tensor_cells_input(k, &tensor_array_type, &array));
    tensor_cells_close(array);
    return status_ok();
}

/* No counted objects: an array that holds its own handle would never be released. */
#define FORMS(v)                                                                                  \
    { "TensorArray" v, DTYPES_MOVED, .prepare = array_prepare, .compute = array_compute },        \
        { "TensorArrayWrite" v, DTYPES_MOVED, .compute = write_compute },                         \
        { "TensorArrayRead" v, DTYPES_MOVED, .prepare = dtype_prepare, .compute = read_compute }, \
        { "TensorArrayGather" v, DTYPES_MOVED, .prepare = gather_prepare,                         \
          .compute = gather_compute },                                                            \
        { "TensorArrayScatter" v, DTYPES_MOVED, .compute = scatter_compute },                     \
        { "TensorArrayConcat" v, DTYPES_MOVED, .prepare = concat_prepare,                         \
          .compute = concat_compute },                                                            \
        { "TensorArraySplit" v, DTYPES_MOVED, .compute = split_compute },                         \
        { "TensorArraySize" v, DTYPES_ALL, .compute = size_compute },                             \
    {                                                                                             \
        "TensorArrayClose" v, DTYPES_ALL, .compute = close_compute                                \
    }

static const struct kernel rows[] = {
    FORMS("V3"),
    FORMS("V2"),
    FORMS(""),
    { "TensorArrayPack", DTYPES_MOVED, .prepare = gather_prepare, .compute = pack_compute },
    { "TensorArrayUnpack", DTYPES_MOVED, .compute = unpack_compute },
};
const struct kernel_table kernels_tensor_array = { rows, COUNT(rows) };
