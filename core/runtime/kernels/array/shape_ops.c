/*
 * shape_ops: ops that read a shape, or give the same elements another shape: Shape, Size, Rank,
 * Reshape, _ReshapeRows, ExpandDims, Squeeze, and the arithmetic of broadcasting shapes.
 */
#include "runtime/kernels/array/reshape.h"
#include "runtime/kernels/kernel_tools.h"

static struct status check_fits(struct kernel_context *k, const struct tensor *out, int64_t value)
{
    if (out->dtype == DT_INT32 && value > INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%lld does not fit int32",
                            (long long)value);
    return status_ok();
}

static struct status shape_compute(struct kernel_context *k)
{
    for (int i = 0; i < kernel_inputs_count(k); i++) { /* ShapeN has many */
        int64_t dims[SHAPE_RANK_TENSORFLOW];
        int rank = shape_unpack(&kernel_input(k, i)->shape, dims);
        struct shape vector = shape_of(rank);
        struct tensor *out;
        TRY(kernel_output(k, i, &vector, &out));
        for (int d = 0; d < rank; d++) {
            TRY(check_fits(k, out, dims[d]));
            tensor_set_index(out, d, dims[d]);
        }
    }
    return status_ok();
}

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    int64_t size = kernel_input(k, 0)->size;
    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(check_fits(k, out, size));
    tensor_set_index(out, 0, size);
    return status_ok();
}

static struct status rank_compute(struct kernel_context *k)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_set_index(out, 0, shape_unpack(&kernel_input(k, 0)->shape, dims));
    return status_ok();
}

/* Input 0 with another shape; copies only if this is not its last use. */
static void output_reshaped(struct kernel_context *k, const struct shape *shape)
{
    struct tensor tensor = kernel_take_input(k, 0);
    tensor.shape = *shape;
    kernel_output_set(k, 0, tensor);
}

/* A requested shape; -1 and 0 do not count in its product. */
struct wanted {
    struct shape shape;
    int unknown; /* index of the dimension that is -1; -1: none */
    int64_t product;
    bool has_zero;
};

static struct status want_dim(struct wanted *wanted, int64_t dim)
{
    int d = wanted->shape.rank;
    if (dim == -1 && wanted->unknown >= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Only one input size may be -1, not both %d and %d", wanted->unknown,
                            d);
    if (dim < -1)
        return status_error(STATUS_INVALID_ARGUMENT, "Size %d must be non-negative, not %lld", d,
                            (long long)dim);
    if (dim == -1)
        wanted->unknown = d;
    else if (dim == 0)
        wanted->has_zero = true;
    else if (__builtin_mul_overflow(wanted->product, dim, &wanted->product))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Shape %s would have more than 2**63 - 1 elements",
                            shape_text(&wanted->shape));
    shape_append(&wanted->shape, dim == -1 ? 1 : dim);
    return status_ok();
}

static struct status want_vector(struct wanted *wanted, const struct tensor *vector)
{
    if (vector->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT, "sizes input must be 1-D, not %s",
                            shape_text(&vector->shape));
    TRY(shape_check_rank(vector->size));
    for (int d = 0; d < vector->size; d++)
        TRY(want_dim(wanted, tensor_index(vector, d)));
    return status_ok();
}

/* Computes the dimension that is -1. If the requested shape contains a 0, the input's zeros do
 * not count either: [-1,0] reshapes [0,3] to [3,0]. */
static struct status fill_unknown(const struct tensor *x, struct wanted *wanted)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW], elements = 1;
    int rank = shape_unpack(&x->shape, dims);
    bool skipped = false;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 0 && wanted->has_zero)
            skipped = true;
        else
            elements *= dims[d];
    }
    int64_t missing = elements / wanted->product;
    if (!skipped && missing * wanted->product != elements)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to reshape is a tensor with %lld values, but the requested "
                            "shape requires a multiple of %lld",
                            (long long)elements, (long long)wanted->product);
    wanted->shape.dims[wanted->unknown] = missing;
    return shape_check(wanted->shape.rank, wanted->shape.dims, &wanted->shape);
}

static struct status reshape_as_wanted(struct kernel_context *k, struct wanted *wanted)
{
    const struct tensor *x = kernel_input(k, 0);
    if (wanted->unknown >= 0)
        TRY(fill_unknown(x, wanted));
    if (shape_size(&wanted->shape) != x->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to reshape is a tensor with %lld values, but the requested "
                            "shape has %lld",
                            (long long)x->size, (long long)shape_size(&wanted->shape));
    output_reshaped(k, &wanted->shape);
    return status_ok();
}

struct status reshape(struct kernel_context *k)
{
    struct wanted wanted = { .unknown = -1, .product = 1 };
    TRY(want_vector(&wanted, kernel_input(k, 1)));
    return reshape_as_wanted(k, &wanted);
}

/* _ReshapeRows: Reshape to the number of rows and, after it, the dimensions of a row. */
struct row_shape {
    const struct attr_value *dims;
};

static struct status reshape_rows_prepare(struct prepare_context *context)
{
    struct row_shape *row = prepare_state(context, sizeof *row, NULL);
    TRY(node_attr_list_of(prepare_node(context), "dims", ATTR_INT, &row->dims));
    return shape_check_rank(1 + row->dims->count);
}

static struct status reshape_rows_compute(struct kernel_context *k)
{
    const struct row_shape *row = kernel_state(k);
    const struct shape *shape = &kernel_input(k, 0)->shape;
    if (shape->rank == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "slice index 0 of dimension 0 out of bounds.");
    struct wanted wanted = { .unknown = -1, .product = 1 };
    TRY(want_dim(&wanted, shape->dims[0]));
    for (int i = 0; i < row->dims->count; i++)
        TRY(want_dim(&wanted, row->dims->elements[i].i));
    return reshape_as_wanted(k, &wanted);
}

static struct status expand_dims_compute(struct kernel_context *k)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    const struct tensor *dim = kernel_input(k, 1);
    if (dim->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "'dim' must be a tensor with a single value");
    int64_t axis = tensor_index(dim, 0);
    if (axis < -1 - shape->rank || axis > shape->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tried to expand dim index %lld for tensor with %d dimensions.",
                            (long long)axis, shape->rank);
    TRY(kernel_check_rank(k, shape->rank + 1));
    if (axis < 0)
        axis += shape->rank + 1;
    struct shape out = { 0 };
    for (int d = 0; d <= shape->rank; d++)
        shape_append(&out, d == axis ? 1 : shape->dims[d > axis ? d - 1 : d]);
    output_reshaped(k, &out);
    return status_ok();
}

/* ---- Squeeze: dimensions of 1 go, all or those named ---- */

struct squeeze_state {
    int count;
    int64_t dims[SHAPE_RANK_MAX];
};

static struct status squeeze_prepare(struct prepare_context *p)
{
    struct squeeze_state *state = prepare_state(p, sizeof *state, NULL);
    return node_attr_ints(prepare_node(p), "squeeze_dims", SHAPE_RANK_MAX, state->dims,
                          &state->count);
}

static struct status squeeze_compute(struct kernel_context *k)
{
    const struct squeeze_state *state = kernel_state(k);
    const struct shape *shape = &kernel_input(k, 0)->shape;
    bool squeezed[SHAPE_RANK_MAX] = { false };
    for (int i = 0; i < state->count; i++) {
        int64_t dim = state->dims[i];
        if (dim < -shape->rank || dim >= shape->rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tried to squeeze dim index %lld for tensor with %d dimensions.",
                                (long long)dim, shape->rank);
        squeezed[dim < 0 ? dim + shape->rank : dim] = true;
    }
    struct shape out = { 0 };
    for (int d = 0; d < shape->rank; d++) {
        if (squeezed[d] && shape->dims[d] != 1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Can not squeeze dim[%d], expected a dimension of 1, got %lld", d,
                                (long long)shape->dims[d]);
        if (!(squeezed[d] || (state->count == 0 && shape->dims[d] == 1)))
            shape_append(&out, shape->dims[d]);
    }
    output_reshaped(k, &out);
    return status_ok();
}

/* ---- shapes as tensors ---- */

static struct status check_vector(struct kernel_context *k, int input)
{
    const struct shape *shape = &kernel_input(k, input)->shape;
    if (shape->rank == 1)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "In[%d] must be a vector.%s", input,
                        shape_text(shape));
}

static struct status read_shape_vector(struct kernel_context *k, int input, struct shape *out)
{
    const struct tensor *vector = kernel_input(k, input);
    TRY(check_vector(k, input));
    TRY(kernel_check_rank(k, vector->size));
    *out = (struct shape){ 0 };
    for (int64_t i = 0; i < vector->size; i++)
        shape_append(out, tensor_index(vector, i));
    return status_ok();
}

static struct status output_vector(struct kernel_context *k, int index, int count,
                                   const int64_t *values)
{
    struct shape shape = shape_of(count);
    struct tensor *out;
    TRY(kernel_output(k, index, &shape, &out));
    for (int i = 0; i < count; i++)
        tensor_set_index(out, i, values[i]);
    return status_ok();
}

#define DIMS_SHOWN 32

static const char *vector_text(struct kernel_context *k, const struct tensor *vector)
{
    const char *text = "";
    for (int64_t i = 0; i < vector->size && i < DIMS_SHOWN; i++)
        text = arena_printf(kernel_arena(k), "%s%s%lld", text, i == 0 ? "" : ",",
                            (long long)tensor_index(vector, i));
    return vector->size <= DIMS_SHOWN ? text : arena_printf(kernel_arena(k), "%s,...", text);
}

/* Dimension `index` of a shape that begins with as many ones as it lacks. */
static int64_t dim_behind_ones(const struct tensor *vector, int64_t missing, int64_t index)
{
    return index < missing ? 1 : tensor_index(vector, index - missing);
}

/* The vectors may be longer than a shape can be: nothing need have these shapes. */
static struct status broadcast_args_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct tensor *out;
    TRY(check_vector(k, 0));
    TRY(check_vector(k, 1));
    const struct tensor *longer = a->size > b->size ? a : b;
    TRY(kernel_output(k, 0, &longer->shape, &out));
    for (int64_t i = 0; i < longer->size; i++) {
        int64_t x = dim_behind_ones(a, longer->size - a->size, i);
        int64_t y = dim_behind_ones(b, longer->size - b->size, i);
        if (x != y && x != 1 && y != 1)
            return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes: [%s] vs. [%s]",
                                vector_text(k, a), vector_text(k, b));
        tensor_set_index(out, i, x == 1 ? y : x);
    }
    return status_ok();
}

/* For each operand, the dimensions that broadcasting repeats, over which its gradient is summed. */
static struct status broadcast_gradient_args_compute(struct kernel_context *k)
{
    struct shape shapes[2], out;
    for (int i = 0; i < 2; i++)
        TRY(read_shape_vector(k, i, &shapes[i]));
    TRY(shape_broadcast(&shapes[0], &shapes[1], &out));
    /* Equal shapes need no sums. Otherwise a dimension of 1 in both is in both lists, as in
     * TensorFlow: summing over it changes nothing. */
    bool equal = shape_equal(&shapes[0], &shapes[1]);
    for (int i = 0; i < 2; i++) {
        int64_t axes[SHAPE_RANK_MAX];
        int count = 0, missing = out.rank - shapes[i].rank;
        for (int d = 0; d < out.rank && !equal; d++)
            if (d < missing || shapes[i].dims[d - missing] == 1)
                axes[count++] = d;
        TRY(output_vector(k, i, count, axes));
    }
    return status_ok();
}

static struct status concat_offset_compute(struct kernel_context *k)
{
    const struct tensor *first = kernel_input(k, 1);
    int axis;
    TRY(kernel_axis(k, 0, (int)first->size, &axis));
    int64_t at = 0;
    for (int i = 1; i < kernel_inputs_count(k); i++) {
        const struct tensor *shape = kernel_input(k, i);
        struct tensor *out;
        if (shape->shape.rank != 1 || shape->size != first->size)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input %d should contain %lld elements, but got %lld", i,
                                (long long)first->size, (long long)shape->size);
        TRY(kernel_output(k, i - 1, &shape->shape, &out));
        for (int64_t d = 0; d < shape->size; d++) {
            if (d != axis && tensor_index(shape, d) != tensor_index(first, d))
                return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                    "All dimensions except %d must match. Input %d has shape [%s] "
                                    "and doesn't match input 0 with shape [%s].",
                                    axis, i - 1, vector_text(k, shape), vector_text(k, first));
            tensor_set_index(out, d, d == axis ? at : 0);
        }
        at = (int64_t)((uint64_t)at + (uint64_t)tensor_index(shape, axis));
    }
    return status_ok();
}

static struct status invert_permutation_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    if (x->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "invert_permutation expects a 1D vector.");
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        tensor_set_index(out, i, -1);
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = tensor_index(x, i);
        if (at < 0 || at >= x->size)
            return status_error(STATUS_INVALID_ARGUMENT, "%lld is not between 0 and %lld",
                                (long long)at, (long long)x->size);
        if (tensor_index(out, at) != -1)
            return status_error(STATUS_INVALID_ARGUMENT, "%lld is duplicated in the input.",
                                (long long)at);
        tensor_set_index(out, at, i);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Shape", DTYPES_ALL, .compute = shape_compute, .any_rank = true },
    { "ShapeN", DTYPES_ALL, .compute = shape_compute, .any_rank = true },
    { "Size", DTYPES_ALL, .compute = size_compute, .any_rank = true },
    { "Rank", DTYPES_ALL, .compute = rank_compute, .any_rank = true },
    { "Reshape", DTYPES_ALL, .compute = reshape, .any_rank = true },
    { "_ReshapeRows", DTYPES_ALL, .prepare = reshape_rows_prepare,
      .compute = reshape_rows_compute },
    { "ExpandDims", DTYPES_ALL, .compute = expand_dims_compute },
    { "Squeeze", DTYPES_ALL, .prepare = squeeze_prepare, .compute = squeeze_compute },
    { "BroadcastArgs", DTYPES_ALL, .compute = broadcast_args_compute },
    { "BroadcastGradientArgs", DTYPES_ALL, .compute = broadcast_gradient_args_compute },
    { "ConcatOffset", DTYPES_ALL, "shape_type", .compute = concat_offset_compute },
    { "InvertPermutation", DTYPES_ALL, .compute = invert_permutation_compute },
};
const struct kernel_table kernels_shape_ops = { rows, COUNT(rows) };
