#include "server/inference/batch_merge.h"

#include <string.h>

#define PAD_RANK_MAX 6 /* of TensorFlow's PadOp, which TensorFlow Serving uses */

static bool same_row_shape(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->dims + 1, b->dims + 1, (size_t)(a->rank - 1) * sizeof a->dims[0]) == 0;
}

static struct status shapes_differ(const struct inference_call *call, int index)
{
    return status_error(STATUS_FAILED_PRECONDITION,
                        "Tensors with name '%s' from different tasks have different shapes and "
                        "padding is turned off. Set pad_variable_length_inputs to true, or ensure "
                        "that all tensors with the same name have equal dimensions starting with "
                        "the first dim.",
                        call->callable->signature->inputs[index].tensor_name);
}

static void grow(struct shape *shape, const struct shape *other)
{
    for (int i = 1; i < shape->rank; i++)
        if (other->dims[i] > shape->dims[i])
            shape->dims[i] = other->dims[i];
}

/* The shape of the merged tensor, without its rows. */
static struct status merged_shape(const struct inference_call *calls, int index, struct shape *out)
{
    const struct batching *batching = calls->callable->queue.batching;
    bool pads = batching != NULL && batching->pads_variable_length;
    *out = calls->inputs[index].shape;
    if (pads && out->rank > PAD_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Only tensors with rank from 1 to 6 can be padded.");
    for (const struct inference_call *call = calls; call != NULL; call = call->next) {
        const struct shape *shape = &call->inputs[index].shape;
        if (call->inputs[index].dtype != calls->inputs[index].dtype)
            return shapes_differ(call, index);
        if (same_row_shape(out, shape))
            continue;
        if (!pads || shape->rank != out->rank)
            return shapes_differ(call, index);
        grow(out, shape);
    }
    return status_ok();
}

static void repeat(char *to, const void *what, size_t size, int64_t count)
{
    for (int64_t i = 0; i < count; i++, to += size)
        memcpy(to, what, size);
}

/* Copies a tensor into a larger one whose padding is already set. */
static void copy_into(const struct tensor *from, char *to, const struct shape *to_shape,
                      size_t size)
{
    int last = from->shape.rank - 1;
    const char *at = from->data;
    int64_t run = last > 0 ? from->shape.dims[last] : 1; /* elements that are contiguous in both */
    int64_t indexes[PAD_RANK_MAX] = { 0 };
    for (int64_t done = 0; done < from->size; done += run, at += (size_t)run * size) {
        int64_t place = 0;
        for (int i = 0; i <= last; i++)
            place = place * (i > 0 ? to_shape->dims[i] : 1) + indexes[i];
        memcpy(to + (size_t)place * size, at, (size_t)run * size);
        for (int i = last > 0 ? last - 1 : 0; i >= 0; i--) {
            if (++indexes[i] < from->shape.dims[i] || i == 0)
                break;
            indexes[i] = 0;
        }
    }
}

static struct status put_rows(const struct tensor *from, const struct shape *shape, char *to,
                              int64_t row_size)
{
    size_t size = dtype_size(from->dtype);
    if (same_row_shape(&from->shape, shape)) {
        if (from->size > 0)
            memcpy(to, from->data, tensor_bytes(from));
        return status_ok();
    }
    if (row_size == 0 || from->shape.dims[0] == 0)
        return status_ok();
    if (from->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Got empty tensor in batch of non-empty tensors.");
    repeat(to, from->data, size, from->shape.dims[0] * row_size);
    copy_into(from, to, shape, size);
    return status_ok();
}

struct status batch_merge(const struct inference_call *calls, int index, int64_t rows,
                          int64_t padding, struct run *run, struct tensor *out)
{
    struct shape shape;
    enum dtype dtype = calls->inputs[index].dtype;
    TRY(merged_shape(calls, index, &shape));
    shape.dims[0] = rows + padding;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(tensor_create_pooled(run_pool(run), dtype, &shape, out));
    int64_t row_size = rows + padding > 0 ? out->size / (rows + padding) : 0;
    size_t row_bytes = (size_t)row_size * dtype_size(dtype);
    char *at = out->data, *last = at;
    struct status status = status_ok();
    for (const struct inference_call *call = calls; call != NULL; call = call->next) {
        status = put_rows(&call->inputs[index], &shape, at, row_size);
        if (!status_is_ok(status))
            break;
        if (call->rows > 0)
            last = at;
        at += (size_t)call->rows * row_bytes;
    }
    if (status_is_ok(status) && row_bytes > 0)
        repeat(at, last, row_bytes, padding);
    if (!status_is_ok(status))
        tensor_release(out);
    return status;
}
