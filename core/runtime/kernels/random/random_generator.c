/*
 * random_generator: the ops of tf.random.Generator. The generator is an int64 variable: the
 * counter, in two elements, and the key. Each op advances the counter by as much as TensorFlow's.
 */
#include "runtime/kernels/random/random_generator.h"

#include <string.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_seeded.h"
#include "runtime/kernels/state/variable.h"

#define STATE_SIZE 3

struct advance {
    const struct kernel_context *context;
    uint64_t numbers;  /* to leave room for */
    int64_t algorithm; /* if the state does not contain it */
    bool is_in_state;  /* the first element of the state is the algorithm */
    struct philox old; /* the stream before */
};

static struct status check_state(const struct advance *advance, const struct tensor *state)
{
    const struct kernel_context *k = advance->context;
    if (state->dtype != DT_INT64)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "dtype of RNG state variable must be int64, not %s",
                            dtype_name(state->dtype));
    if (state->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "RNG state must have one and only one dimension, not %d",
                            state->shape.rank);
    int64_t least = STATE_SIZE + advance->is_in_state;
    int64_t algorithm =
        advance->is_in_state && state->size > 0 ? tensor_int64s(state)[0] : advance->algorithm;
    if (advance->is_in_state && state->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Size of tensor must be at least 1");
    if (algorithm == ALGORITHM_THREEFRY)
        return kernel_error(k, STATUS_UNIMPLEMENTED,
                            "Non-XLA devices don't support the ThreeFry algorithm.");
    if (algorithm != ALGORITHM_PHILOX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Unsupported algorithm id: %lld",
                            (long long)algorithm);
    if (state->size < least)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT,
            "For the Philox algorithm, the size of state must be at least %lld; got %lld",
            (long long)least, (long long)state->size);
    return status_ok();
}

static struct status advance_state(void *argument, struct tensor *state)
{
    struct advance *advance = argument;
    TRY(check_state(advance, state));
    int64_t *words = tensor_int64s_mut(state) + advance->is_in_state;
    advance->old = philox_of_key((uint64_t)words[2], (uint64_t)words[0], (uint64_t)words[1]);
    struct philox next = philox_skip(advance->old, advance->numbers * RANDOM_BLOCKS_PER_NUMBER);
    memcpy(words, next.counter, sizeof next.counter);
    return status_ok();
}

/* Moves the generator on; fails if `algorithm` (input 1) is not a scalar or not Philox. */
static struct status take(struct kernel_context *k, struct advance *advance)
{
    struct variable *variable;
    TRY(kernel_variable(k, &variable));
    if (!advance->is_in_state) {
        const struct tensor *algorithm = kernel_input(k, 1);
        if (algorithm->shape.rank != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input 1 (0-based) must have shape [], not %s",
                                shape_text(&algorithm->shape));
        advance->algorithm = tensor_index(algorithm, 0);
    }
    return variable_modify(variable, advance_state, advance);
}

struct status random_generator_take(struct kernel_context *k, uint64_t numbers, struct philox *out)
{
    struct advance advance = { .context = k, .numbers = numbers };
    TRY(take(k, &advance));
    *out = advance.old;
    return status_ok();
}

/* ---- numbers ---- */

struct generator_state {
    struct draw draw;
    bool is_in_state;
};

static struct status fill_prepare(struct prepare_context *p)
{
    struct generator_state *state = prepare_state(p, sizeof *state, NULL);
    state->draw = draw_of_node(prepare_node(p));
    state->is_in_state = strcmp(prepare_node(p)->op_name, "StatefulStandardNormal") == 0;
    return status_ok();
}

static struct status fill_compute(struct kernel_context *k)
{
    const struct generator_state *state = kernel_state(k);
    struct draw draw = state->draw;
    struct tensor *out;
    TRY(random_output(k, state->is_in_state ? 1 : 2, &out));
    if (draw.distribution == UNIFORM_INT)
        TRY(draw_set_bounds(k, 3, 4, out, &draw));
    struct advance advance = { .context = k,
                               .numbers = (uint64_t)out->size,
                               .is_in_state = state->is_in_state };
    TRY(take(k, &advance));
    return random_fill(k, advance.old, &draw, out);
}

/* ---- only moving on ---- */

static struct status skip_compute(struct kernel_context *k)
{
    const struct tensor *delta = kernel_input(k, 2);
    if (delta->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input 2 (0-based) must have shape [], not %s",
                            shape_text(&delta->shape));
    struct advance advance = { .context = k, .numbers = (uint64_t)tensor_index(delta, 0) };
    TRY(take(k, &advance));
    if (kernel_outputs_count(k) == 0)
        return status_ok();
    struct shape shape = shape_of(STATE_SIZE);
    struct tensor *out;
    TRY(kernel_output(k, 0, &shape, &out));
    memcpy(out->data, advance.old.counter, sizeof advance.old.counter);
    memcpy(tensor_int64s_mut(out) + 2, advance.old.key, sizeof advance.old.key);
    return status_ok();
}

#define GENERATOR(op, dtypes)                                                 \
    {                                                                         \
        op, dtypes, "dtype", .prepare = fill_prepare, .compute = fill_compute \
    }
#define DTYPES_INT (DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    GENERATOR("StatefulUniform", DTYPES_FLOATING),
    GENERATOR("StatefulStandardNormal", DTYPES_FLOATING),
    GENERATOR("StatefulStandardNormalV2", DTYPES_FLOATING),
    GENERATOR("StatefulTruncatedNormal", DTYPES_FLOATING),
    GENERATOR("StatefulUniformInt", DTYPES_INT),
    GENERATOR("StatefulUniformFullInt", DTYPES_INT | DTYPES(DT_UINT32) | DTYPES(DT_UINT64)),
    { "RngReadAndSkip", DTYPES_ALL, .compute = skip_compute },
    { "RngSkip", DTYPES_ALL, .compute = skip_compute },
};
const struct kernel_table kernels_random_generator = { rows, COUNT(rows) };
