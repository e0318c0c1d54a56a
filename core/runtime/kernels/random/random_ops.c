/*
 * random_ops: RandomUniform, RandomStandardNormal, TruncatedNormal and RandomUniformInt, with
 * TensorFlow's numbers if they have a seed: those of the n-th run of a plan are always the same.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_seeded.h"

struct random_state {
    struct draw draw;
    struct random_seeded seeded;
};

static struct status random_prepare(struct prepare_context *p)
{
    struct random_state *state = prepare_state(p, sizeof *state, NULL);
    state->draw = draw_of_node(prepare_node(p));
    return random_seeded_init(prepare_node(p), &state->seeded);
}

static struct status random_compute(struct kernel_context *k)
{
    const struct random_state *state = kernel_state(k);
    struct draw draw = state->draw;
    struct tensor *out;
    TRY(random_output(k, 0, &out));
    if (draw.distribution == UNIFORM_INT)
        TRY(draw_set_bounds(k, 1, 2, out, &draw));
    uint64_t blocks = (uint64_t)out->size * RANDOM_BLOCKS_PER_NUMBER;
    return random_fill(k, random_seeded_take(k, &state->seeded, blocks), &draw, out);
}

/* Numbers that no seed gives again. */
static struct status fresh_ints_compute(struct kernel_context *k)
{
    struct draw draw = { .distribution = FULL_INT, .dtype = kernel_node(k)->outputs[0].dtype };
    struct tensor *out;
    TRY(random_output(k, 0, &out));
    return random_fill(k, philox_of_key(kernel_random_seed(k), 0, 0), &draw, out);
}

#define RANDOM(op, dtypes, type_attr)                                               \
    {                                                                               \
        op, dtypes, type_attr, .prepare = random_prepare, .compute = random_compute \
    }
static const struct kernel rows[] = {
    RANDOM("RandomUniform", DTYPES_FLOATING, "dtype"),
    RANDOM("RandomStandardNormal", DTYPES_FLOATING, "dtype"),
    RANDOM("TruncatedNormal", DTYPES_FLOATING, "dtype"),
    { "NonDeterministicInts",
      DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_UINT32) | DTYPES(DT_UINT64), "dtype",
      .compute = fresh_ints_compute },
    RANDOM("RandomUniformInt", DTYPES(DT_INT32) | DTYPES(DT_INT64), "Tout"),
};
const struct kernel_table kernels_random_ops = { rows, COUNT(rows) };
