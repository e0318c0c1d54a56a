#include "runtime/kernels/random/random_reject.h"

#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_seeded.h"

#define CHECK_EVERY 1000 /* numbers between two checks of the deadline */

static void next_block(struct reject_stream *stream, uint32_t out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = philox_next(&stream->reader);
}

double reject_normal(struct reject_stream *stream)
{
    uint32_t block[4];
    if (stream->normals_left == 0) {
        next_block(stream, block);
        philox_normal_doubles(block, stream->normals);
        stream->normals_left = 2;
    }
    return stream->normals[--stream->normals_left];
}

double reject_uniform(struct reject_stream *stream)
{
    uint32_t block[4];
    if (stream->uniforms_left == 0) {
        next_block(stream, block);
        stream->uniforms[0] = philox_double(block[0], block[1]);
        stream->uniforms[1] = philox_double(block[2], block[3]);
        stream->uniforms_left = 2;
    }
    return stream->uniforms[--stream->uniforms_left];
}

bool reject_shape_ends_with(const struct shape *shape, const struct shape *end)
{
    for (int i = 0; i < end->rank; i++)
        if (end->rank > shape->rank || shape->dims[shape->rank - end->rank + i] != end->dims[i])
            return false;
    return true;
}

/* The shape that input 0 holds, and that of the parameters, which follow. */
static struct status appended_output(struct kernel_context *k, const struct shape *parameters,
                                     struct tensor **out)
{
    const struct tensor *list = kernel_input(k, 0);
    struct shape shape = { 0 };
    if (list->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape must be a vector, got shape %s",
                            shape_text(&list->shape));
    TRY(kernel_check_rank(k, list->size + parameters->rank));
    for (int64_t i = 0; i < list->size; i++)
        shape_append(&shape, tensor_index(list, i));
    for (int i = 0; i < parameters->rank; i++)
        shape_append(&shape, parameters->dims[i]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(k, 0, &shape, out);
}

struct status reject_output(struct kernel_context *k, int index, bool appended, struct tensor **out)
{
    const struct shape *parameters = &kernel_input(k, index)->shape;
    if (appended)
        return appended_output(k, parameters, out);
    TRY(random_output(k, 0, out));
    if ((*out)->size > 0 && !reject_shape_ends_with(&(*out)->shape, parameters))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Shape passed in must end with broadcasted shape.");
    return status_ok();
}

void reject_store(struct tensor *out, int64_t i, double value)
{
    if (value == INFINITY && dtype_is_integer(out->dtype)) /* Eigen's infinity of integers */
        value = 0;
    if (out->dtype == DT_INT32) /* what does not fit, and NaN, is the lowest number */
        tensor_int32s_mut(out)[i] =
            value > -2147483649.0 && value < 2147483648.0 ? (int32_t)value : INT32_MIN;
    else if (out->dtype == DT_INT64)
        tensor_int64s_mut(out)[i] = value >= -9223372036854775808.0 && value < 9223372036854775808.0
                                        ? (int64_t)value
                                        : INT64_MIN;
    else
        floating_store(out, i, value);
}

/* Number `sample` of parameter `i` is the (i · samples + sample)-th that is drawn. */
struct status reject_fill(struct kernel_context *k, struct philox philox, int index,
                          reject_draw *draw, struct tensor *out)
{
    const struct tensor *parameters = kernel_input(k, index);
    int64_t samples = out->size == 0 ? 0 : out->size / parameters->size;
    for (int64_t n = 0; n < out->size; n++) {
        struct reject_stream stream = {
            .reader = { .philox = philox_skip(philox, (uint64_t)n * RANDOM_BLOCKS_PER_NUMBER) }
        };
        int64_t i = n / samples, sample = n % samples;
        if (n % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        reject_store(out, sample * parameters->size + i,
                     draw(&stream, real_element(parameters, i)));
    }
    return status_ok();
}

struct status reject_seeded(struct kernel_context *k, reject_draw *draw)
{
    struct philox philox;
    struct tensor *out;
    TRY(random_seeds(k, 1, &philox));
    TRY(reject_output(k, 2, false, &out));
    return reject_fill(k, philox, 2, draw, out);
}

struct status reject_stateful(struct kernel_context *k, reject_draw *draw)
{
    struct tensor *out;
    TRY(reject_output(k, 1, true, &out));
    uint64_t blocks = (uint64_t)out->size * RANDOM_BLOCKS_PER_NUMBER;
    return reject_fill(k, random_seeded_take(k, kernel_state(k), blocks), 1, draw, out);
}
