/*
 * random_ops: RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt and their
 * stateless forms, by the generator of base/random.h: TensorFlow's distributions, but other
 * numbers. With a seed, the n-th run of a plan always gives the same numbers.
 */
#include <stdatomic.h>

#include "base/random.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

enum distribution { UNIFORM, NORMAL, TRUNCATED };

struct random_state {
    enum distribution distribution;
    uint64_t seed;         /* 0: a fresh seed in each run */
    _Atomic uint64_t runs; /* number of runs so far: the stream of the next one */
};

static struct status random_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct random_state *state = prepare_state(p, sizeof *state, NULL);
    int64_t seed = 0, seed2 = 0;
    if (node_attr(node, "seed") != NULL)
        TRY(node_attr_int(node, "seed", &seed));
    if (node_attr(node, "seed2") != NULL)
        TRY(node_attr_int(node, "seed2", &seed2));
    state->seed = (uint64_t)seed * 0x9e3779b97f4a7c15u + (uint64_t)seed2;
    state->distribution = strstr(node->op_name, "Truncated") ? TRUNCATED
                          : strstr(node->op_name, "Normal")  ? NORMAL
                                                             : UNIFORM;
    return status_ok();
}

static void start(struct kernel_context *k, struct random *random)
{
    /* `runs`, which is atomic, is the only part of a state that changes in a run. */
    struct random_state *state = (struct random_state *)kernel_state(k);
    uint64_t stream = atomic_fetch_add_explicit(&state->runs, 1, memory_order_relaxed);
    if (state->seed != 0)
        random_init(random, state->seed, stream);
    else
        random_init(random, kernel_random_seed(k), 0);
}

static double draw(struct random *random, enum distribution distribution)
{
    switch (distribution) {
    case UNIFORM:
        return random_double(random);
    case NORMAL:
        return random_normal(random);
    default:
        return random_truncated_normal(random);
    }
}

static void fill_random(struct random *random, enum distribution distribution, struct tensor *out)
{
    for (int64_t i = 0; i < out->size; i++) {
        if (out->dtype == DT_DOUBLE) {
            tensor_doubles_mut(out)[i] = draw(random, distribution);
            continue;
        }
        float value =
            distribution == UNIFORM ? random_float(random) : (float)draw(random, distribution);
        if (out->dtype == DT_FLOAT) {
            tensor_floats_mut(out)[i] = value;
            continue;
        }
        if (distribution == UNIFORM) /* rounds down, never to 1 */
            value = (float)(int)(value * 128) / 128;
        half_block_store(out->dtype, &value, (uint16_t *)out->data + i, 1);
    }
}

static struct status output_of_shape(struct kernel_context *k, struct tensor **out)
{
    const struct tensor *wanted = kernel_input(k, 0);
    struct shape shape = { 0 };
    if (wanted->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "shape must be a vector of {int32,int64}, got shape %s",
                            shape_text(&wanted->shape));
    TRY(kernel_check_rank(k, wanted->size));
    for (int64_t i = 0; i < wanted->size; i++) {
        if (tensor_index(wanted, i) < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                                (long long)tensor_index(wanted, i));
        shape_append(&shape, tensor_index(wanted, i));
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(k, 0, &shape, out);
}

static struct status random_compute(struct kernel_context *k)
{
    const struct random_state *state = kernel_state(k);
    struct random random;
    struct tensor *out;
    TRY(output_of_shape(k, &out));
    start(k, &random);
    fill_random(&random, state->distribution, out);
    return status_ok();
}

static struct status stateless_compute(struct kernel_context *k)
{
    const struct random_state *state = kernel_state(k);
    const struct tensor *seed = kernel_input(k, 1);
    struct random random;
    struct tensor *out;
    if (seed->shape.rank != 1 || seed->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                            shape_text(&seed->shape));
    TRY(output_of_shape(k, &out));
    random_init(&random, (uint64_t)tensor_index(seed, 0), (uint64_t)tensor_index(seed, 1));
    fill_random(&random, state->distribution, out);
    return status_ok();
}

static struct status random_int_compute(struct kernel_context *k)
{
    const struct tensor *low = kernel_input(k, 1), *high = kernel_input(k, 2);
    struct random random;
    struct tensor *out;
    if (low->size != 1 || high->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                            low->size != 1 ? "minval" : "maxval",
                            shape_text(low->size != 1 ? &low->shape : &high->shape));
    int64_t first = tensor_index(low, 0), end = tensor_index(high, 0);
    TRY(output_of_shape(k, &out));
    if (out->size > 0 && first >= end)
        return status_error(STATUS_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld",
                            (long long)first, (long long)end);
    start(k, &random);
    for (int64_t i = 0; i < out->size; i++) {
        uint64_t value = (uint64_t)first + random_below(&random, (uint64_t)end - (uint64_t)first);
        tensor_set_index(out, i, (int64_t)value);
    }
    return status_ok();
}

#define RANDOM(op, function)                                                         \
    {                                                                                \
        op, DTYPES_FLOATING, "dtype", .prepare = random_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    RANDOM("RandomUniform", random_compute),
    RANDOM("RandomStandardNormal", random_compute),
    RANDOM("TruncatedNormal", random_compute),
    RANDOM("StatelessRandomUniform", stateless_compute), /* for float see random.c */
    RANDOM("StatelessRandomNormal", stateless_compute),
    RANDOM("StatelessTruncatedNormal", stateless_compute),
    { "RandomUniformInt", DTYPES(DT_INT32) | DTYPES(DT_INT64), "Tout", .prepare = random_prepare,
      .compute = random_int_compute },
};
const struct kernel_table kernels_random_ops = { rows, COUNT(rows) };
