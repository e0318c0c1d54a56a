/*
 * tensor_array_parts: the ops that write and read many elements of a TensorArray at once: Scatter,
 * Split and Unpack, Gather, Concat and Pack. As in tensor_array.c, elements are views of the
 * tensor that they come from.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_array.h"

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
    TRY(tensor_array_input(k, (*out)->dtype, "is trying to write", array));
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
        TRY(tensor_array_write(k, array, i, view_rows(value, &shape, i)));
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
        TRY(tensor_array_write(k, array, tensor_index(indices, i), view_rows(value, &shape, i)));
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
    TRY(tensor_array_input(k, value->dtype, "is trying to write", &array));
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
        TRY(tensor_array_write(k, array, i, view_rows(value, &shape, first)));
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
            tensor_array_read(k, array, indices != NULL ? tensor_index(indices, i) : i, &values[i]);
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

typedef struct status join_values(struct kernel_context *k, const struct tensor *values,
                                  int64_t count);

/* Makes the output from the values of `count` cells. `indices` NULL: all cells. */
static struct status join_cells(struct kernel_context *k, struct tensor_cells *array,
                                const struct tensor *indices, int64_t count, join_values *join)
{
    struct tensor holder;
    TRY(read_cells(k, array, indices, count, &holder));
    struct status status = join(k, holder.data, count);
    tensors_release(count, holder.data);
    tensor_release(&holder);
    return status;
}

/* `indices` NULL: all cells. */
static struct status gather_cells(struct kernel_context *k, struct tensor_cells *array,
                                  const struct tensor *indices)
{
    int64_t count = indices != NULL ? indices->size : array->count;
    if (count == 0)
        return pack_nothing(k, "element shape", "packing");
    return join_cells(k, array, indices, count, stack_values);
}

static struct status gather_compute(struct kernel_context *k)
{
    const struct pack_state *state = kernel_state(k);
    const struct tensor *indices;
    struct tensor_cells *array;
    TRY(tensor_array_input(k, state->dtype, "requested", &array));
    TRY(vector_input(k, 1, "indices", &indices));
    return gather_cells(k, array, indices);
}

static struct status pack_compute(struct kernel_context *k)
{
    const struct pack_state *state = kernel_state(k);
    struct tensor_cells *array;
    TRY(tensor_array_input(k, state->dtype, "requested", &array));
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
    struct tensor *lengths;
    struct shape none = shape_of(0);
    TRY(tensor_array_input(k, state->dtype, "requested", &array));
    int64_t count = array->count;
    if (count == 0) {
        TRY(kernel_output(k, 1, &none, &lengths));
        return pack_nothing(k, "element_shape_except0", "concatenating");
    }
    return join_cells(k, array, NULL, count, concat_values);
}

#define FORMS(v)                                                                                   \
    { "TensorArrayGather" v, DTYPES_MOVED, .prepare = gather_prepare, .compute = gather_compute }, \
        { "TensorArrayScatter" v, DTYPES_MOVED, .compute = scatter_compute },                      \
        { "TensorArrayConcat" v, DTYPES_MOVED, .prepare = concat_prepare,                          \
          .compute = concat_compute },                                                             \
    {                                                                                              \
        "TensorArraySplit" v, DTYPES_MOVED, .compute = split_compute                               \
    }

static const struct kernel rows[] = {
    FORMS("V3"),
    FORMS("V2"),
    FORMS(""),
    { "TensorArrayPack", DTYPES_MOVED, .prepare = gather_prepare, .compute = pack_compute },
    { "TensorArrayUnpack", DTYPES_MOVED, .compute = unpack_compute },
};
const struct kernel_table kernels_tensor_array_parts = { rows, COUNT(rows) };
