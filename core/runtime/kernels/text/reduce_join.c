/* reduce_join: ReduceJoin and UnsortedSegmentJoin, which join the texts of one tensor. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/text_block.h"

static struct status separator_prepare(struct prepare_context *p)
{
    struct bytes *separator = prepare_state(p, sizeof *separator, NULL);

    return node_attr_string(prepare_node(p), "separator", separator);
}

/* ---- ReduceJoin: the texts along some dimensions ---- */

struct joining {
    int count;                /* of the dimensions that are joined */
    int axes[SHAPE_RANK_MAX]; /* the first changes fastest */
    bool is_joined[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX]; /* of the input */
};

static struct status read_axes(const struct tensor *x, const struct tensor *axes,
                               struct joining *out)
{
    int64_t stride = 1;

    *out = (struct joining){ 0 };
    for (int64_t i = 0; i < axes->size; i++) {
        int32_t given = tensor_int32s(axes)[i];
        if (given < -x->shape.rank || given >= x->shape.rank)
            return status_error(STATUS_OUT_OF_RANGE,
                                "Invalid reduction dimension %d for input with %d dimension(s)",
                                (int)given, x->shape.rank);
        int axis = given < 0 ? given + x->shape.rank : given;
        if (out->is_joined[axis])
            return status_error(STATUS_INVALID_ARGUMENT, "Duplicate reduction dimension %d",
                                (int)given);
        out->is_joined[axis] = true;
        out->axes[out->count++] = axis;
    }
    for (int d = x->shape.rank - 1; d >= 0; d--) {
        out->strides[d] = stride;
        stride *= x->shape.dims[d];
    }
    return status_ok();
}

static struct shape joined_shape(const struct shape *shape, const struct joining *joining,
                                 bool keep_dims)
{
    struct shape out = shape_scalar();

    for (int d = 0; d < shape->rank; d++) {
        if (!joining->is_joined[d])
            shape_append(&out, shape->dims[d]);
        else if (keep_dims)
            shape_append(&out, 1);
    }
    return out;
}

/* The first text of element `at` of the output. */
static int64_t first_text(const struct shape *shape, const struct joining *joining, int64_t at)
{
    int64_t place = 0;

    for (int d = shape->rank - 1; d >= 0; d--) {
        if (joining->is_joined[d])
            continue;
        place += at % shape->dims[d] * joining->strides[d];
        at /= shape->dims[d];
    }
    return place;
}

static int64_t text_of_join(const struct shape *shape, const struct joining *joining, int64_t n)
{
    int64_t place = 0;

    for (int i = 0; i < joining->count; i++) {
        int axis = joining->axes[i];
        place += n % shape->dims[axis] * joining->strides[axis];
        n /= shape->dims[axis];
    }
    return place;
}

struct reduce_join_state {
    struct bytes separator;
    bool keep_dims;
};

static struct status reduce_join_prepare(struct prepare_context *p)
{
    struct reduce_join_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_bool(prepare_node(p), "keep_dims", &state->keep_dims));
    return node_attr_string(prepare_node(p), "separator", &state->separator);
}

static struct status reduce_join_compute(struct kernel_context *k)
{
    const struct reduce_join_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct text_block block = { .arena = kernel_arena(k) };
    struct joining joining;
    struct tensor *out;
    int64_t count = 1; /* texts of each join */

    TRY(read_axes(x, kernel_input(k, 1), &joining));
    for (int i = 0; i < joining.count; i++)
        count *= x->shape.dims[joining.axes[i]];
    struct shape shape = joined_shape(&x->shape, &joining, state->keep_dims);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        const struct bytes *texts =
            count > 0 ? tensor_strings(x) + first_text(&x->shape, &joining, i) : NULL;
        for (int64_t n = 0; n < count; n++) {
            struct bytes text = texts[text_of_join(&x->shape, &joining, n)];
            if (n > 0)
                TRY(text_block_add(&block, state->separator.data, state->separator.size));
            TRY(text_block_add(&block, text.data, text.size));
        }
        tensor_strings_mut(out)[i] = text_block_end(&block);
    }
    return status_ok();
}

/* ---- UnsortedSegmentJoin: the texts whose segment ids are equal ---- */

static struct status check_segments(const struct tensor *x, const struct tensor *ids,
                                    const struct tensor *count)
{
    if (count->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_segments should be a scalar, not shape %s",
                            shape_text(&count->shape));
    int64_t segments = tensor_index(count, 0);
    if (segments < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input num_segments == %lld must not be negative.",
                            (long long)segments);
    if (ids->shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Segment_id cannot have rank 0");
    if (ids->shape.rank > x->shape.rank)
        return status_error(STATUS_OUT_OF_RANGE,
                            "Invalid segment_id rank %d for input with %d dimension(s)",
                            ids->shape.rank, x->shape.rank);
    for (int d = 0; d < ids->shape.rank; d++)
        if (ids->shape.dims[d] != x->shape.dims[d])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Segment dimension is %lld while input dimension is %d in rank %d",
                                (long long)ids->shape.dims[d], x->shape.rank, d);
    for (int64_t i = 0; i < ids->size; i++)
        if (tensor_index(ids, i) < 0 || tensor_index(ids, i) >= segments)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "segment_ids are not allowed to exceed num_segments or to have "
                                "negative values.");
    return status_ok();
}

/* Writes the joined texts, or with `out` NULL only adds up their sizes. As in TensorFlow, no
 * separator follows texts that are all empty, and a separator ends at its first NUL. */
static void join_segments(const struct tensor *x, const struct tensor *ids, struct bytes separator,
                          int64_t inner, size_t *sizes, char *const *out)
{
    for (int64_t i = 0; i < ids->size; i++) {
        for (int64_t n = 0; n < inner; n++) {
            int64_t to = tensor_index(ids, i) * inner + n;
            struct bytes text = tensor_strings(x)[i * inner + n];
            size_t gap = sizes[to] > 0 ? separator.size : 0;
            if (out != NULL && gap > 0)
                memcpy(out[to] + sizes[to], separator.data, gap);
            if (out != NULL && text.size > 0)
                memcpy(out[to] + sizes[to] + gap, text.data, text.size);
            sizes[to] += gap + text.size;
        }
    }
}

static struct status fill_segments(struct kernel_context *k, int64_t inner, struct tensor *out,
                                   size_t *sizes, char **places)
{
    const struct tensor *x = kernel_input(k, 0), *ids = kernel_input(k, 1);
    struct bytes separator = *(const struct bytes *)kernel_state(k);
    size_t bytes = (size_t)out->size * sizeof *sizes;

    separator.size = separator.size > 0 ? strnlen(separator.data, separator.size) : 0;
    memset(sizes, 0, bytes);
    join_segments(x, ids, separator, inner, sizes, NULL);
    for (int64_t i = 0; i < out->size; i++) {
        void *text;
        TRY(arena_reserve(kernel_arena(k), sizes[i] + 1, &text));
        places[i] = text;
        tensor_strings_mut(out)[i] = (struct bytes){ text, sizes[i] };
    }
    memset(sizes, 0, bytes);
    join_segments(x, ids, separator, inner, sizes, places);
    return status_ok();
}

static struct status segment_join_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *ids = kernel_input(k, 1);
    struct tensor *out, sizes, places;

    TRY(check_segments(x, ids, kernel_input(k, 2)));
    struct shape shape = shape_of(tensor_index(kernel_input(k, 2), 0));
    for (int d = ids->shape.rank; d < x->shape.rank; d++)
        shape_append(&shape, x->shape.dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    struct shape vector = shape_of(out->size);
    TRY(kernel_scratch(k, DT_INT64, &vector, &sizes));
    struct status status = kernel_scratch(k, DT_INT64, &vector, &places);
    if (status_is_ok(status)) {
        status = fill_segments(k, out->size / shape.dims[0], out, sizes.data, places.data);
        tensor_release(&places);
    }
    tensor_release(&sizes);
    return status;
}

static const struct kernel rows[] = {
    { "ReduceJoin", DTYPES_ALL, .prepare = reduce_join_prepare, .compute = reduce_join_compute },
    { "UnsortedSegmentJoin", DTYPES_ALL, .prepare = separator_prepare,
      .compute = segment_join_compute },
};
const struct kernel_table kernels_reduce_join = { rows, COUNT(rows) };
