#include "runtime/kernels/random/random_fill.h"

#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct draw draw_of_node(const struct node *node)
{
    static const struct {
        const char *part;
        enum distribution distribution;
    } names[] = {
        { "Truncated", TRUNCATED_NORMAL },
        { "Normal", NORMAL },
        { "FullInt", FULL_INT },
        { "UniformInt", UNIFORM_INT },
    };
    struct draw draw = { .distribution = UNIFORM, .dtype = node->outputs[0].dtype };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strstr(node->op_name, names[i].part) != NULL) {
            draw.distribution = names[i].distribution;
            break;
        }
    return draw;
}

struct status draw_set_bounds(const struct kernel_context *k, int low, int high,
                              const struct tensor *out, struct draw *draw)
{
    const struct tensor *bounds[] = { kernel_input(k, low), kernel_input(k, high) };
    for (int i = 0; i < 2; i++)
        if (bounds[i]->shape.rank != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                                i == 0 ? "minval" : "maxval", shape_text(&bounds[i]->shape));
    int64_t first = tensor_index(bounds[0], 0), end = tensor_index(bounds[1], 0);
    if (out->size > 0 && first >= end)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld",
                            (long long)first, (long long)end);
    draw->low = (uint64_t)first;
    draw->range = (uint64_t)end - (uint64_t)first;
    return status_ok();
}

struct status random_shape(struct kernel_context *k, int index, struct shape *out)
{
    const struct tensor *wanted = kernel_input(k, index);
    struct shape shape = { 0 };
    bool is_index = wanted->dtype == DT_INT32 || wanted->dtype == DT_INT64;
    if (!is_index || wanted->shape.rank != 1) /* a node of tf.random.Generator may have any type */
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "shape must be a vector of {int32,int64}, got shape %s",
                            shape_text(&wanted->shape));
    TRY(kernel_check_rank(k, wanted->size));
    for (int64_t i = 0; i < wanted->size; i++) {
        if (tensor_index(wanted, i) < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                                (long long)tensor_index(wanted, i));
        shape_append(&shape, tensor_index(wanted, i));
    }
    return shape_check(shape.rank, shape.dims, out);
}

struct status random_output(struct kernel_context *k, int index, struct tensor **out)
{
    struct shape shape;
    TRY(random_shape(k, index, &shape));
    return kernel_output(k, 0, &shape, out);
}

struct status random_fill(struct kernel_context *k, struct philox philox, const struct draw *draw,
                          struct tensor *out)
{
    for (int64_t at = 0; at < out->size; at += PHILOX_FILL_PIECE) {
        int64_t left = out->size - at;
        TRY(kernel_check(k));
        philox_fill(philox, draw, at, at_bytes(out->data, at, dtype_size(out->dtype)),
                    left < PHILOX_FILL_PIECE ? left : PHILOX_FILL_PIECE);
    }
    return status_ok();
}

struct status random_seeds(const struct kernel_context *k, int index, struct philox *out)
{
    const struct tensor *seed = kernel_input(k, index);
    if (seed->shape.rank != 1 || seed->size != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                            shape_text(&seed->shape));
    *out = philox_of_seeds((uint64_t)tensor_index(seed, 0), (uint64_t)tensor_index(seed, 1));
    return status_ok();
}

struct status random_key(const struct kernel_context *k, struct philox *out)
{
    const struct tensor *key = kernel_input(k, 1), *counter = kernel_input(k, 2),
                        *algorithm = kernel_input(k, 3);
    if (algorithm->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input 3 (0-based) must have shape [], not %s",
                            shape_text(&algorithm->shape));
    int64_t number = tensor_index(algorithm, 0);
    if (number != ALGORITHM_PHILOX && number != ALGORITHM_AUTO)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Unsupported algorithm id: %lld",
                            (long long)number);
    if (key->shape.rank != 1 || key->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "key must have shape [1], not %s",
                            shape_text(&key->shape));
    if (counter->shape.rank != 1 || counter->size < 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "counter must be a vector with length at least 2; got shape: %s",
                            shape_text(&counter->shape));
    *out = philox_of_key((uint64_t)tensor_index(key, 0), (uint64_t)tensor_index(counter, 0),
                         (uint64_t)tensor_index(counter, 1));
    return status_ok();
}
