/* RaggedTensorToTensor: a ragged tensor with its rows padded, or cut, to one length. The ragged
 * dimensions come as row partitions, outermost first: ROW_SPLITS; or, if the first one is
 * FIRST_DIM_SIZE, the row of each value (VALUE_ROWIDS). */
#include "runtime/kernels/kernel_tools.h"

enum partition_kind { FIRST_DIM_SIZE, VALUE_ROWIDS, ROW_SPLITS };

struct partitions {
    enum partition_kind kinds[SHAPE_RANK_MAX];
    int count;
};

/* A walk from the outermost dimension to the values. */
struct row_padding {
    const struct partitions *partitions;
    const struct tensor *tensors[SHAPE_RANK_MAX]; /* of the dimensions after the first */
    enum partition_kind kinds[SHAPE_RANK_MAX];
    int ragged;         /* their number */
    int64_t first_dim;  /* rows of the outermost dimension */
    struct shape shape; /* of the output */
};

static struct status prepare(struct prepare_context *p)
{
    static const char *const names[] = { "FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS" };
    struct partitions *state = prepare_state(p, sizeof *state, NULL);
    const struct attr_value *types;

    TRY(node_attr_list(prepare_node(p), "row_partition_types", &types));
    if (types->count > SHAPE_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%d row_partition_types, at most %d",
                            types->count, SHAPE_RANK_MAX);
    for (; state->count < types->count; state->count++) {
        struct bytes type = types->elements[state->count].s;
        int kind = BYTES_FIND(type, names);
        if (kind < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Unsupported row partition type: '%.*s'",
                                (int)(type.size < 100 ? type.size : 100), type.data);
        state->kinds[state->count] = (enum partition_kind)kind;
    }
    return status_ok();
}

/* ---- reading the partitions ---- */

/* Element i of a partition, which is int64 or int32. */
static inline int64_t index_at(const struct tensor *tensor, int64_t i)
{
    return tensor->dtype == DT_INT64 ? tensor_int64s(tensor)[i] : tensor_int32s(tensor)[i];
}

static struct status check_partition_tensor(const struct tensor *tensor, enum partition_kind kind)
{
    if (kind == FIRST_DIM_SIZE)
        return tensor->size == 1 ? status_ok()
                                 : status_error(STATUS_INVALID_ARGUMENT,
                                                "FIRST_DIM_SIZE must be a scalar, got shape %s",
                                                shape_text(&tensor->shape));
    if (tensor->shape.rank != 1 || (kind == ROW_SPLITS && tensor->size == 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "row partition tensors must be vectors, got shape %s",
                            shape_text(&tensor->shape));
    for (int64_t i = 0; i < tensor->size; i++)
        if (index_at(tensor, i) < (i > 0 ? index_at(tensor, i - 1) : 0))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "row partition tensors must not descend, got %lld after %lld",
                                (long long)index_at(tensor, i),
                                (long long)(i > 0 ? index_at(tensor, i - 1) : 0));
    return status_ok();
}

static struct status read_partitions(struct kernel_context *k, struct row_padding *out)
{
    const struct partitions *partitions = kernel_state(k);
    int count = partitions->count;

    if (count != kernel_inputs_count(k) - 3 || count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%d row_partition_types for %d row_partition_tensors", count,
                            kernel_inputs_count(k) - 3);
    for (int i = 0; i < count; i++)
        TRY(check_partition_tensor(kernel_input(k, 3 + i), partitions->kinds[i]));
    if (partitions->kinds[0] == VALUE_ROWIDS)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot handle VALUE_ROWIDS in first dimension.");
    bool has_size = partitions->kinds[0] == FIRST_DIM_SIZE;
    out->first_dim = has_size ? tensor_index(kernel_input(k, 3), 0) : kernel_input(k, 3)->size - 1;
    for (int i = has_size; i < count; i++) {
        if (partitions->kinds[i] == FIRST_DIM_SIZE)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "FIRST_DIM_SIZE must be the first row partition type");
        out->tensors[out->ragged] = kernel_input(k, 3 + i);
        out->kinds[out->ragged++] = partitions->kinds[i];
    }
    return out->first_dim >= 0
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT, "FIRST_DIM_SIZE is %lld, expected 0 or more",
                              (long long)out->first_dim);
}

static int64_t count_parts(const struct row_padding *padding, int d)
{
    const struct tensor *tensor = padding->tensors[d];

    return padding->kinds[d] == ROW_SPLITS ? index_at(tensor, tensor->size - 1) : tensor->size;
}

/* Do the parts of a dimension fit the rows of the one before? */
static struct status check_dimension(const struct row_padding *padding, int d, int64_t rows)
{
    const struct tensor *tensor = padding->tensors[d];
    bool splits = padding->kinds[d] == ROW_SPLITS;
    int64_t last = tensor->size > 0 ? index_at(tensor, tensor->size - 1) : -1;

    if (splits ? tensor->size - 1 == rows && index_at(tensor, 0) == 0 : last < rows)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "row partition %d does not fit the %lld rows before it", d,
                        (long long)rows);
}

static int64_t longest_row(const struct row_padding *padding, int d)
{
    const struct tensor *tensor = padding->tensors[d];
    int64_t most = 0, run = 0;

    for (int64_t i = 0; i < tensor->size; i++) {
        if (padding->kinds[d] == VALUE_ROWIDS)
            run = i > 0 && index_at(tensor, i) == index_at(tensor, i - 1) ? run + 1 : 1;
        else
            run = i > 0 ? index_at(tensor, i) - index_at(tensor, i - 1) : 0;
        most = run > most ? run : most;
    }
    return most;
}

/* ---- the shape of the output ---- */

/* Dimension d of the input `shape`; -1: any. */
static int64_t wanted_dim(const struct tensor *wanted, int d)
{
    return wanted->shape.rank == 0 ? -1 : tensor_index(wanted, d);
}

static struct status check_wanted(const struct tensor *wanted, int rank)
{
    if (wanted->shape.rank == 0 && tensor_index(wanted, 0) == -1)
        return status_ok();
    if (wanted->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "shape must be a vector, or the scalar -1, got shape %s",
                            shape_text(&wanted->shape));
    if (wanted->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "shape has %lld dimensions, but the ragged tensor %d",
                            (long long)wanted->size, rank);
    for (int d = 0; d < rank; d++)
        if (tensor_index(wanted, d) < -1)
            return status_error(STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= -1",
                                (long long)tensor_index(wanted, d));
    return status_ok();
}

static struct status make_shape(struct kernel_context *k, struct row_padding *padding)
{
    const struct tensor *wanted = kernel_input(k, 0), *values = kernel_input(k, 1);
    int rank = padding->ragged + values->shape.rank;
    int64_t dims[2 * SHAPE_RANK_MAX];

    if (values->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Ragged values must be at least rank 1");
    TRY(kernel_check_rank(k, rank));
    TRY(check_wanted(wanted, rank));
    for (int d = 0; d < rank; d++) {
        int64_t dim = d == 0                 ? padding->first_dim
                      : d <= padding->ragged ? longest_row(padding, d - 1)
                                             : values->shape.dims[d - padding->ragged];
        int64_t want = wanted_dim(wanted, d);
        if (want >= 0 && d > padding->ragged && want != dim)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "shape wants %lld in dimension %d, where the values have %lld",
                                (long long)want, d, (long long)dim);
        dims[d] = want >= 0 ? want : dim;
    }
    return shape_check(rank, dims, &padding->shape);
}

/* ---- filling ---- */

/* The places, in values of the output, of the parts of dimension d; -1: cut off. `before` are those
 * of the rows. */
static void place_parts(const struct row_padding *padding, int d, const int64_t *before,
                        int64_t parts, int64_t *out)
{
    const struct tensor *tensor = padding->tensors[d];
    int64_t dim = padding->shape.dims[d + 1], row = -1, in_row = 0;

    for (int64_t part = 0; part < parts; part++, in_row++) {
        int64_t of = row;
        if (padding->kinds[d] == VALUE_ROWIDS)
            of = index_at(tensor, part);
        else
            while (of < 0 || index_at(tensor, of + 1) <= part)
                of++;
        in_row = of == row ? in_row : 0;
        row = of;
        out[part] = before[row] < 0 || in_row >= dim ? -1 : before[row] * dim + in_row;
    }
}

/* Does each partition fit the one before it, and the last one the values? TensorFlow ignores values
 * beyond the last part: partitions that a request brings need not name all of them. */
static struct status check_partitions(const struct row_padding *padding, int64_t values,
                                      int64_t *out_parts)
{
    int64_t rows = padding->first_dim;

    for (int d = 0; d < padding->ragged; d++) {
        TRY(check_dimension(padding, d, rows));
        rows = count_parts(padding, d);
    }
    *out_parts = rows;
    return rows <= values
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT,
                              "the row partitions have %lld values, but there are only %lld",
                              (long long)rows, (long long)values);
}

/* `count` may be any FIRST_DIM_SIZE. */
static struct status scratch_places(struct kernel_context *k, int64_t count, int64_t **out)
{
    void *places;

    if (count >= INT64_MAX / (int64_t)sizeof **out)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "FIRST_DIM_SIZE is %lld", (long long)count);
    TRY(arena_reserve(kernel_arena(k), ((size_t)count + 1) * sizeof **out, &places));
    *out = places;
    return status_ok();
}

/* The place of each value. */
static struct status place_values(struct kernel_context *k, const struct row_padding *padding,
                                  int64_t **out)
{
    int64_t rows = padding->first_dim, *places, *next;

    TRY(scratch_places(k, rows, &places));
    for (int64_t i = 0; i < rows; i++)
        places[i] = i < padding->shape.dims[0] ? i : -1;
    for (int d = 0; d < padding->ragged; d++) {
        int64_t parts = count_parts(padding, d);
        TRY(scratch_places(k, parts, &next));
        place_parts(padding, d, places, parts, next);
        places = next;
    }
    *out = places;
    return status_ok();
}

static bool is_inner_shape(const struct shape *shape, const struct shape *values)
{
    for (int d = 0; d < shape->rank && shape->rank == values->rank - 1; d++)
        if (shape->dims[d] != values->dims[d + 1])
            return false;
    return shape->rank == values->rank - 1;
}

/* Does the default value broadcast to the inner dimensions of the values? */
static struct status check_default(const struct shape *value, const struct shape *values)
{
    bool fits = value->rank < values->rank;

    for (int i = 1; fits && i <= value->rank; i++) {
        int64_t dim = value->dims[value->rank - i];
        fits = dim == 1 || dim == values->dims[values->rank - i];
    }
    return fits ? status_ok()
                : status_error(STATUS_INVALID_ARGUMENT,
                               "default_value.shape=%s and rt_input.flat_values.shape=%s are "
                               "incompatible",
                               shape_text(value), shape_text(values));
}

/* Fills with the default value: a scalar, or a tensor of the inner dimensions. */
static struct status fill_default(struct kernel_context *k, int64_t inner, struct tensor *out)
{
    const struct tensor *value = kernel_input(k, 2);
    const struct shape *values = &kernel_input(k, 1)->shape;
    size_t bytes = dtype_size(out->dtype);

    if (value->size == 1) {
        repeat_element(out->data, bytes, value->data, out->size);
        return status_ok();
    }
    if (!is_inner_shape(&value->shape, values))
        return status_error(STATUS_UNIMPLEMENTED,
                            "default_value has shape %s; expected a scalar or the inner "
                            "dimensions of values of shape %s",
                            shape_text(&value->shape), shape_text(values));
    for (int64_t i = 0; i < out->size; i += inner)
        copy_elements(out->dtype, (char *)out->data + (size_t)i * bytes, value->data, inner);
    return status_ok();
}

/* Single elements of 8 bytes, such as the ids of words. */
static void place_words(const int64_t *values, const int64_t *places, int64_t count, int64_t *out)
{
    for (int64_t i = 0; i < count; i++)
        if (places[i] >= 0)
            out[places[i]] = values[i];
}

static void place_rows(const struct tensor *values, const int64_t *places, int64_t count,
                       int64_t inner, struct tensor *out)
{
    size_t bytes = dtype_size(out->dtype) * (size_t)inner;

    for (int64_t i = 0; i < count; i++)
        if (places[i] >= 0)
            copy_elements(out->dtype, (char *)out->data + (size_t)places[i] * bytes,
                          (const char *)values->data + (size_t)i * bytes, inner);
}

static struct status compute(struct kernel_context *k)
{
    const struct tensor *values = kernel_input(k, 1);
    struct row_padding padding = { 0 };
    struct tensor *out;
    int64_t parts, *places;

    TRY(read_partitions(k, &padding));
    TRY(make_shape(k, &padding));
    TRY(check_default(&kernel_input(k, 2)->shape, &values->shape));
    TRY(check_partitions(&padding, values->shape.dims[0], &parts));
    TRY(place_values(k, &padding, &places));
    TRY(kernel_output(k, 0, &padding.shape, &out));
    int64_t inner = shape_inner(&values->shape, 0);
    size_t bytes = dtype_size(out->dtype) * (size_t)inner;
    if (out->size == 0)
        return status_ok();
    TRY(fill_default(k, inner, out));
    if (inner == 1 && bytes == sizeof(int64_t))
        place_words(values->data, places, parts, out->data);
    else
        place_rows(values, places, parts, inner, out);
    return status_ok();
}

static const struct kernel rows[] = {
    { "RaggedTensorToTensor", DTYPES_MOVED, "T", .prepare = prepare, .compute = compute },
};
const struct kernel_table kernels_ragged_dense = { rows, COUNT(rows) };
