/*
 * scan: running sums and products, and small sums over everything: Cumsum, Cumprod, L2Loss,
 * ClipByValue, UnsortedSegmentSum, SparseSegmentSum, SparseSegmentMean, Bucketize.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

struct scan_state {
    bool exclusive, reverse, product;
};

static struct status scan_prepare(struct prepare_context *p)
{
    struct scan_state *state = prepare_state(p, sizeof *state, NULL);
    state->product = strcmp(prepare_node(p)->op_name, "Cumprod") == 0;
    TRY(node_attr_bool(prepare_node(p), "exclusive", &state->exclusive));
    return node_attr_bool(prepare_node(p), "reverse", &state->reverse);
}

/* One run of `count` elements `step` apart. */
#define SCAN(s, T, W)                                                                \
    static void scan_##s(const struct scan_state *state, const void *x_, void *out_, \
                         int64_t count, int64_t step)                                \
    {                                                                                \
        const T *x = x_;                                                             \
        T *out = out_, sum = state->product ? 1 : 0;                                 \
        for (int64_t i = 0; i < count; i++) {                                        \
            int64_t at = (state->reverse ? count - 1 - i : i) * step;                \
            T next = (T)(state->product ? (W)sum * (W)x[at] : (W)sum + (W)x[at]);    \
            out[at] = state->exclusive ? sum : next;                                 \
            sum = next;                                                              \
        }                                                                            \
    }
REAL_TYPES(SCAN)

typedef void scan(const struct scan_state *state, const void *x, void *out, int64_t count,
                  int64_t step);
static scan *const scans[DTYPE_COUNT] = { ROWS_REAL(scan) };

static struct status scan_compute(struct kernel_context *k)
{
    const struct scan_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *axis_tensor = kernel_input(k, 1);
    struct tensor *out;
    if (axis_tensor->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                            shape_text(&axis_tensor->shape));
    int64_t given = tensor_index(axis_tensor, 0);
    int64_t axis = given < 0 ? given + x->shape.rank : given;
    if (axis < 0 || axis >= x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "ScanOp: Expected scan axis in the range [%d, %d), but got %lld",
                            -x->shape.rank, x->shape.rank, (long long)given);
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t count = x->shape.dims[axis], inner = shape_inner(&x->shape, (int)axis);
    int64_t outer = shape_outer(&x->shape, (int)axis);
    size_t size = dtype_size(x->dtype);
    for (int64_t o = 0; o < outer && x->size > 0; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = o * count * inner + i;
            scans[x->dtype](state, at_bytes_const(x->data, at, size), at_bytes(out->data, at, size),
                            count, inner);
        }
    return status_ok();
}

static struct status l2_loss_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    double sum = 0;
    TRY(kernel_output(k, 0, &scalar, &out));
    for (int64_t i = 0; i < x->size; i++) {
        double value = x->dtype == DT_FLOAT ? (double)tensor_floats(x)[i] : tensor_doubles(x)[i];
        sum += value * value;
    }
    if (x->dtype == DT_FLOAT)
        tensor_floats_mut(out)[0] = (float)(sum / 2);
    else
        tensor_doubles_mut(out)[0] = sum / 2;
    return status_ok();
}

/* ---- ClipByValue: bounds are scalars or of x's shape ---- */

#define CLIP(s, T, W)                                                                 \
    static void clip_##s(const void *x, const void *low, const void *high, void *out, \
                         int64_t count, int low_step, int high_step)                  \
    {                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                         \
            T value = ((const T *)x)[i], least = ((const T *)low)[i * low_step],      \
              most = ((const T *)high)[i * high_step];                                \
            value = value > most ? most : value;                                      \
            ((T *)out)[i] = value < least ? least : value;                            \
        }                                                                             \
    }
REAL_TYPES(CLIP)

typedef void clip(const void *x, const void *low, const void *high, void *out, int64_t count,
                  int low_step, int high_step);
static clip *const clips[DTYPE_COUNT] = { ROWS_REAL(clip) };

static struct status clip_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *low = kernel_input(k, 1), *high = kernel_input(k, 2);
    struct tensor *out;
    for (int i = 1; i < 3; i++)
        if (kernel_input(k, i)->shape.rank != 0 &&
            !shape_equal(&kernel_input(k, i)->shape, &x->shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "clip_value_min and clip_value_max must be either of the same "
                                "shape as input, or a scalar. input shape: %sclip_value_min shape: "
                                "%sclip_value_max shape: %s",
                                shape_text(&x->shape), shape_text(&low->shape),
                                shape_text(&high->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (x->size > 0)
        clips[x->dtype](x->data, low->data, high->data, out->data, x->size, low->shape.rank > 0,
                        high->shape.rank > 0);
    return status_ok();
}

/* ---- UnsortedSegmentSum: rows added where their id says; negative ids are left out ---- */

static struct status segment_sum_compute(struct kernel_context *k)
{
    const struct tensor *data = kernel_input(k, 0), *ids = kernel_input(k, 1);
    const struct tensor *segments = kernel_input(k, 2);
    struct shape shape = { 0 };
    struct tensor *out;
    int64_t inner = 1;
    if (segments->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_segments should be a scalar, not shape %s",
                            shape_text(&segments->shape));
    bool prefix = ids->shape.rank <= data->shape.rank;
    for (int d = 0; d < ids->shape.rank && prefix; d++)
        prefix = ids->shape.dims[d] == data->shape.dims[d];
    if (!prefix)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "data.shape = %s does not start with segment_ids.shape = %s",
                            shape_text(&data->shape), shape_text(&ids->shape));
    int64_t count = tensor_index(segments, 0);
    if (count < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input num_segments == %lld must not be negative.", (long long)count);
    shape_append(&shape, count);
    for (int d = ids->shape.rank; d < data->shape.rank && shape.rank < SHAPE_RANK_MAX; d++) {
        inner *= data->shape.dims[d];
        shape_append(&shape, data->shape.dims[d]);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    size_t size = dtype_size(data->dtype);
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i);
        if (id >= count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
                                (long long)id, (long long)count);
        if (id >= 0 && inner > 0)
            add_elements(data->dtype, at_bytes_const(data->data, i * inner, size),
                         at_bytes(out->data, id * inner, size), inner);
    }
    return status_ok();
}

/* ---- SparseSegmentSum, SparseSegmentMean: rows by index, added to their segment ---- */

static struct status check_segments(const struct tensor *data, const struct tensor *indices,
                                    const struct tensor *ids)
{
    if (indices->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "indices should be a vector.");
    if (ids->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "segment_ids should be a vector.");
    if (indices->size != ids->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "segment_ids and indices should have same size.");
    if (data->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be at least rank 1");
    return status_ok();
}

/* Ids grow from one to the next, so that the last one says how many segments there are. */
static struct status count_segments(const struct tensor *data, const struct tensor *indices,
                                    const struct tensor *ids, int64_t *out)
{
    int64_t last = ids->size > 0 ? tensor_index(ids, ids->size - 1) : -1;
    if (ids->size > 0 && last < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "segment ids must be >= 0");
    if (last == INT64_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "segment id %lld is too large",
                            (long long)last);
    *out = last + 1;
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i), row = tensor_index(indices, i);
        if (id < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Segment id %lld out of range [0, %lld), possibly because "
                                "'segment_ids' input is not sorted.",
                                (long long)id, (long long)*out);
        if (i > 0 && id < tensor_index(ids, i - 1))
            return status_error(STATUS_INVALID_ARGUMENT, "segment ids are not increasing");
        if (row < 0 || row >= data->shape.dims[0])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Bad: indices[%lld] == %lld out of range [0, %lld)", (long long)i,
                                (long long)row, (long long)data->shape.dims[0]);
    }
    return status_ok();
}

/* A segment's sum of so many rows becomes their mean. */
static void divide(struct tensor *out, int64_t at, int64_t inner, int64_t count)
{
    for (int64_t i = at * inner; i < (at + 1) * inner; i++)
        if (out->dtype == DT_DOUBLE)
            tensor_doubles_mut(out)[i] /= (double)count;
        else
            tensor_floats_mut(out)[i] /= (float)count;
}

static struct status sparse_segments(struct kernel_context *k, bool mean)
{
    const struct tensor *data = kernel_input(k, 0), *indices = kernel_input(k, 1);
    const struct tensor *ids = kernel_input(k, 2);
    struct shape shape = data->shape;
    struct tensor *out;
    int64_t count;
    TRY(check_segments(data, indices, ids));
    TRY(count_segments(data, indices, ids, &count));
    shape.dims[0] = count;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    int64_t inner = out->size / count, begin = 0;
    size_t size = dtype_size(data->dtype);
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i);
        add_elements(data->dtype,
                     at_bytes_const(data->data, tensor_index(indices, i) * inner, size),
                     at_bytes(out->data, id * inner, size), inner);
        if (i + 1 < ids->size && tensor_index(ids, i + 1) == id)
            continue;
        if (mean)
            divide(out, id, inner, i + 1 - begin);
        begin = i + 1;
    }
    return status_ok();
}

static struct status sparse_segment_sum(struct kernel_context *k)
{
    return sparse_segments(k, false);
}

static struct status sparse_segment_mean(struct kernel_context *k)
{
    return sparse_segments(k, true);
}

/* ---- Bucketize: how many boundaries are <= x ---- */

struct bucket_state {
    int count;
    float *boundaries;
};

static struct status bucket_prepare(struct prepare_context *p)
{
    struct bucket_state *state = prepare_state(p, sizeof *state, NULL);
    const struct attr_value *list;
    TRY(node_attr_list(prepare_node(p), "boundaries", &list));
    state->count = list->count;
    state->boundaries = ARENA_ARRAY(prepare_arena(p), float, list->count + 1);
    for (int i = 0; i < list->count; i++) {
        state->boundaries[i] = list->elements[i].f;
        if (i > 0 && !(state->boundaries[i - 1] <= state->boundaries[i]))
            return status_error(STATUS_INVALID_ARGUMENT, "Expected sorted boundaries");
    }
    return status_ok();
}

static double number_at(const struct tensor *x, int64_t i)
{
    if (x->dtype == DT_FLOAT)
        return (double)tensor_floats(x)[i];
    if (x->dtype == DT_DOUBLE)
        return tensor_doubles(x)[i];
    return (double)tensor_index(x, i);
}

static struct status bucket_compute(struct kernel_context *k)
{
    const struct bucket_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        double value = number_at(x, i);
        int low = 0, high = state->count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (value < (double)state->boundaries[middle])
                high = middle;
            else
                low = middle + 1;
        }
        tensor_int32s_mut(out)[i] = low;
    }
    return status_ok();
}

#define DTYPES_LOOPS (DTYPES_REAL & ~(DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16)))
static const struct kernel rows[] = {
    { "Cumsum", DTYPES_LOOPS, "T", .prepare = scan_prepare, .compute = scan_compute },
    { "Cumprod", DTYPES_LOOPS, "T", .prepare = scan_prepare, .compute = scan_compute },
    { "L2Loss", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .compute = l2_loss_compute },
    { "ClipByValue", DTYPES_LOOPS, .compute = clip_compute },
    { "UnsortedSegmentSum", DTYPES_LOOPS, "T", .compute = segment_sum_compute },
    { "SparseSegmentSum", DTYPES_LOOPS, "T", .compute = sparse_segment_sum },
    { "SparseSegmentMean", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T",
      .compute = sparse_segment_mean },
    { "Bucketize", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64),
      .prepare = bucket_prepare, .compute = bucket_compute },
};
const struct kernel_table kernels_scan = { rows, COUNT(rows) };
