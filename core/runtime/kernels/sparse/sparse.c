/*
 * sparse: ops on sparse tensors, which are three dense tensors: indices [n, rank], values [n] and
 * shape [rank]. As in TensorFlow, indices are not checked against the shape.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"

#define RANK_MAX 254 /* of any tensor in TensorFlow */

/* A shape of any rank, as the elements of an int64 vector. */
struct dims {
    int64_t *sizes, *strides; /* [rank] */
    int64_t rank, count;      /* elements */
};

static const char *dims_text(struct arena *arena, const struct dims *dims)
{
    struct buffer text = { 0 };
    for (int64_t i = 0; i < dims->rank; i++)
        buffer_printf(&text, "%s%lld", i > 0 ? "," : "", (long long)dims->sizes[i]);
    const char *kept =
        arena_printf(arena, "[%.*s]", (int)text.size, text.size > 0 ? text.data : "");
    buffer_finish(&text);
    return kept;
}

static struct status dims_make(struct arena *arena, int64_t rank, struct dims *out)
{
    if (rank > RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "a shape of rank %lld, and %d is the most",
                            (long long)rank, RANK_MAX);
    *out = (struct dims){ .sizes = ARENA_ARRAY(arena, int64_t, rank + 1),
                          .strides = ARENA_ARRAY(arena, int64_t, rank + 1),
                          .rank = rank };
    return status_ok();
}

static struct status dims_count(struct dims *dims)
{
    dims->count = 1;
    for (int64_t i = 0; i < dims->rank; i++) {
        int64_t size = dims->sizes[i], before = dims->count;
        if (size < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected shape dimensions to be non-negative, got %lld",
                                (long long)size);
        if (__builtin_mul_overflow(before, size, &dims->count))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Encountered overflow when multiplying %lld with %lld, result: -1",
                                (long long)before, (long long)size);
    }
    return status_ok();
}

static void set_strides(struct dims *dims)
{
    int64_t stride = 1;
    for (int64_t i = dims->rank - 1; i >= 0; i--) {
        dims->strides[i] = stride;
        stride *= dims->sizes[i];
    }
}

/* ---- SparseReshape ---- */

/* The requested shape, with 1 instead of the unknown size; *unknown is its index. */
static struct status read_target(const int64_t *asked, struct dims *out, int64_t *unknown)
{
    *unknown = -1;
    for (int64_t i = 0; i < out->rank; i++) {
        if (asked[i] == -1 && *unknown >= 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "only one output dimension may be -1, not both %lld and %lld",
                                (long long)*unknown, (long long)i);
        if (asked[i] < -1)
            return status_error(STATUS_INVALID_ARGUMENT, "size %lld must be non-negative, not %lld",
                                (long long)i, (long long)asked[i]);
        if (asked[i] == -1)
            *unknown = i;
        out->sizes[i] = asked[i] == -1 ? 1 : asked[i];
    }
    return dims_count(out);
}

static struct status find_unknown(struct arena *arena, const struct dims *from, struct dims *to,
                                  int64_t unknown)
{
    if (to->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "reshape cannot infer the missing input size for an empty tensor "
                            "unless all specified input sizes are non-zero");
    if (from->count % to->count != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to reshape is a SparseTensor with %lld dense values, but the "
                            "requested shape requires a multiple of %lld. input_shape=%s "
                            "output_shape=%s",
                            (long long)from->count, (long long)to->count, dims_text(arena, from),
                            dims_text(arena, to));
    to->sizes[unknown] = from->count / to->count;
    to->count = from->count;
    return status_ok();
}

static struct status make_target(struct arena *arena, const struct dims *from, const int64_t *asked,
                                 struct dims *to)
{
    int64_t unknown;
    TRY(read_target(asked, to, &unknown));
    if (unknown >= 0)
        TRY(find_unknown(arena, from, to, unknown));
    if (from->count != to->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to reshape is a tensor with %lld dense values, but the "
                            "requested shape has %lld. input_shape=%s output_shape=%s",
                            (long long)from->count, (long long)to->count, dims_text(arena, from),
                            dims_text(arena, to));
    return status_ok();
}

static struct status check_inputs(const struct tensor *indices, const struct tensor *shape,
                                  const struct tensor *target)
{
    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Input must be a matrix.");
    if (shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Input shape must be a vector.");
    if (target->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Target shape should be a vector but received shape %s",
                            shape_text(&target->shape));
    if (indices->shape.dims[1] != shape->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input tensor rank must match input shape length.");
    return status_ok();
}

/* An index that does not fit its shape wraps. */
static void move_indices(const int64_t *in, int64_t *out, int64_t rows, const struct dims *from,
                         const struct dims *to)
{
    for (int64_t row = 0; row < rows; row++, in += from->rank, out += to->rank) {
        uint64_t place = 0;
        for (int64_t i = 0; i < from->rank; i++)
            place += (uint64_t)in[i] * (uint64_t)from->strides[i];
        int64_t left = (int64_t)place;
        for (int64_t i = 0; i < to->rank; i++) {
            out[i] = left / to->strides[i];
            left %= to->strides[i];
        }
    }
}

static struct status reshape_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *shape = kernel_input(k, 1),
                        *target = kernel_input(k, 2);
    struct arena *arena = kernel_arena(k);
    struct dims from, to;
    struct tensor *out, *out_shape;
    TRY(check_inputs(indices, shape, target));
    TRY(dims_make(arena, shape->size, &from));
    TRY(dims_make(arena, target->size, &to));
    for (int64_t i = 0; i < from.rank; i++)
        from.sizes[i] = tensor_int64s(shape)[i];
    TRY(dims_count(&from));
    TRY(make_target(arena, &from, tensor_int64s(target), &to));
    int64_t rows = indices->shape.dims[0];
    if (rows > 0 && to.count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input tensor has %lld non zero elements but input shape (%s) or "
                            "output shape (%s) is empty",
                            (long long)rows, dims_text(arena, &from), dims_text(arena, &to));
    struct shape matrix = shape_of(rows, to.rank), vector = shape_of(to.rank);
    TRY(kernel_output(k, 0, &matrix, &out));
    TRY(kernel_output(k, 1, &vector, &out_shape));
    for (int64_t i = 0; i < to.rank; i++)
        tensor_int64s_mut(out_shape)[i] = to.sizes[i];
    if (out->size == 0) /* no rows, or no columns and too many rows to visit */
        return status_ok();
    set_strides(&from);
    set_strides(&to);
    move_indices(tensor_int64s(indices), tensor_int64s_mut(out), rows, &from, &to);
    return status_ok();
}

/* ---- SparseToDense ---- */

static struct status check_dense(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *shape = kernel_input(k, 1);
    const struct tensor *values = kernel_input(k, 2), *empty = kernel_input(k, 3);
    int64_t count = indices->shape.rank > 0 ? indices->shape.dims[0] : 1;
    int64_t rank = indices->shape.rank > 1 ? indices->shape.dims[1] : 1;
    if (indices->shape.rank > 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "sparse_indices should be a scalar, vector, or matrix, got shape %s",
                            shape_text(&indices->shape));
    if (shape->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "output_shape must be rank 1, got shape %s",
                            shape_text(&shape->shape));
    if (shape->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "output_shape has incorrect number of elements: %lld should be: %lld",
                            (long long)shape->size, (long long)rank);
    if (values->shape.rank != 0 && (values->shape.rank != 1 || values->size != count))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "sparse_values has incorrect shape %s, should be [] or [%lld]",
                            shape_text(&values->shape), (long long)count);
    if (empty->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "default_value should be a scalar.");
    return status_ok();
}

static const char *index_text(struct arena *arena, const struct tensor *indices, int64_t row,
                              int64_t rank)
{
    struct dims dims = { .sizes = ARENA_ARRAY(arena, int64_t, rank + 1), .rank = rank };
    for (int64_t i = 0; i < rank; i++)
        dims.sizes[i] = tensor_index(indices, row * rank + i);
    return dims_text(arena, &dims);
}

/* The position in the dense tensor of a row's index; -1: outside. */
static int64_t place_of(const struct tensor *indices, int64_t row, const struct shape *shape)
{
    int64_t place = 0;
    for (int d = 0; d < shape->rank; d++) {
        int64_t index = tensor_index(indices, row * shape->rank + d);
        if (index < 0 || index >= shape->dims[d])
            return -1;
        place = place * shape->dims[d] + index;
    }
    return place;
}

static struct status misplaced(struct kernel_context *k, int64_t row, const struct shape *shape,
                               int64_t place, int64_t before)
{
    const bool *validate = kernel_state(k);
    const char *index = index_text(kernel_arena(k), kernel_input(k, 0), row, shape->rank);
    if (place < 0 && !*validate)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Indices are not valid (out of bounds).  Shape: %s", shape_text(shape));
    if (place < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "indices[%lld] = %s is out of bounds: need 0 <= index < %s",
                            (long long)row, index, shape_text(shape));
    if (place == before)
        return status_error(STATUS_INVALID_ARGUMENT, "indices[%lld] = %s is repeated",
                            (long long)row, index);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "indices[%lld] = %s is out of order. Many sparse ops require sorted "
                        "indices.\n    Use `tf.sparse.reorder` to create a correctly ordered "
                        "copy.\n\n",
                        (long long)row, index);
}

static struct status dense_shape(const struct tensor *sizes, struct shape *out)
{
    *out = (struct shape){ 0 };
    TRY(shape_check_rank(sizes->size));
    for (int64_t i = 0; i < sizes->size; i++) {
        if (tensor_index(sizes, i) < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                                (long long)tensor_index(sizes, i));
        shape_append(out, tensor_index(sizes, i));
    }
    return shape_check(out->rank, out->dims, out);
}

static struct status dense_prepare(struct prepare_context *p)
{
    bool *validate = prepare_state(p, sizeof *validate, NULL);
    return node_attr_bool(prepare_node(p), "validate_indices", validate);
}

static struct status dense_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 2);
    const bool *validate = kernel_state(k);
    struct shape shape;
    struct tensor *out;
    TRY(check_dense(k));
    TRY(dense_shape(kernel_input(k, 1), &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    repeat_element(out->data, dtype_size(out->dtype), kernel_input(k, 3)->data, out->size);
    int64_t count = indices->shape.rank > 0 ? indices->shape.dims[0] : 1, before = -1;
    for (int64_t row = 0; row < count; row++) {
        int64_t place = place_of(indices, row, &shape);
        if (place < 0 || (*validate && place <= before))
            return misplaced(k, row, &shape, place, before);
        copy_element(values, values->shape.rank > 0 ? row : 0, out, place);
        before = place;
    }
    return status_ok();
}

/* ---- SparseReorder: by index, the last dimension fastest; equal ones as they came ---- */

struct sorted_row {
    const int64_t *index;
    int64_t rank, at;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorted_row *x = a, *y = b;
    (void)context;
    for (int64_t i = 0; i < x->rank; i++)
        if (x->index[i] != y->index[i])
            return x->index[i] < y->index[i] ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static struct status check_reorder(const struct tensor *indices, const struct tensor *values,
                                   const struct tensor *shape)
{
    const struct {
        const char *what;
        int rank, wanted;
    } inputs[] = { { "indices", indices->shape.rank, 2 },
                   { "values", values->shape.rank, 1 },
                   { "shape", shape->shape.rank, 1 } };
    for (size_t i = 0; i < COUNT(inputs); i++)
        if (inputs[i].rank != inputs[i].wanted)
            return status_error(STATUS_INVALID_ARGUMENT, "Sparse %s must be rank %d but is rank %d",
                                inputs[i].what, inputs[i].wanted, inputs[i].rank);
    if (indices->shape.dims[1] != shape->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Index rank (%lld) and shape rank (%lld) do not match",
                            (long long)indices->shape.dims[1], (long long)shape->size);
    if (indices->shape.dims[0] != values->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of elements in indices (%lld) and values (%lld) do not match",
                            (long long)indices->shape.dims[0], (long long)values->size);
    return status_ok();
}

static struct status reorder_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    struct tensor *out_indices, *out_values;
    void *memory;
    TRY(check_reorder(indices, values, kernel_input(k, 2)));
    TRY(kernel_output(k, 0, &indices->shape, &out_indices));
    TRY(kernel_output(k, 1, &values->shape, &out_values));
    int64_t count = values->size, rank = indices->shape.dims[1];
    TRY(arena_reserve(kernel_arena(k), (size_t)count * sizeof(struct sorted_row), &memory));
    struct sorted_row *sorted = memory;
    for (int64_t i = 0; i < count; i++)
        sorted[i] = (struct sorted_row){ tensor_int64s(indices) + i * rank, rank, i };
    TRY(kernel_sort(k, sorted, count, sizeof *sorted, compare_rows, NULL));
    size_t bytes = (size_t)rank * sizeof(int64_t);
    for (int64_t i = 0; i < count; i++) {
        if (rank > 0)
            memcpy(tensor_int64s_mut(out_indices) + i * rank, sorted[i].index, bytes);
        copy_element(values, sorted[i].at, out_values, i);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "SparseReshape", DTYPES_ALL, .compute = reshape_compute },
    { "SparseReorder", DTYPES_MOVED, "T", .compute = reorder_compute },
    { "SparseToDense", DTYPES_MOVED, "T", .prepare = dense_prepare, .compute = dense_compute },
};
const struct kernel_table kernels_sparse = { rows, COUNT(rows) };
