/*
 * random: the stateless random ops. Their numbers are a function of the seed: the same in every
 * run, on every machine, and in TensorFlow.
 */
#include <string.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"

static struct status draw_prepare(struct prepare_context *p)
{
    struct draw *draw = prepare_state(p, sizeof *draw, NULL);
    *draw = draw_of_node(prepare_node(p));
    return status_ok();
}

static struct status fill(struct kernel_context *k, struct philox philox, int bounds,
                          struct tensor *out)
{
    struct draw draw = *(const struct draw *)kernel_state(k);
    if (draw.distribution == UNIFORM_INT)
        TRY(draw_set_bounds(k, bounds, bounds + 1, out, &draw));
    return random_fill(k, philox, &draw, out);
}

static struct status seeded_compute(struct kernel_context *k)
{
    struct philox philox;
    struct tensor *out;
    TRY(random_seeds(k, 1, &philox));
    TRY(random_output(k, 0, &out));
    return fill(k, philox, 2, out);
}

static struct status keyed_compute(struct kernel_context *k)
{
    struct philox philox;
    struct tensor *out;
    TRY(random_key(k, &philox));
    TRY(random_output(k, 0, &out));
    return fill(k, philox, 4, out);
}

/* ---- from seeds to keys ---- */

static struct status algorithm_output(struct kernel_context *k, int index)
{
    struct tensor *algorithm;
    struct shape scalar = shape_scalar();
    TRY(kernel_output(k, index, &scalar, &algorithm));
    tensor_int32s_mut(algorithm)[0] = ALGORITHM_PHILOX;
    return status_ok();
}

static struct status key_compute(struct kernel_context *k)
{
    struct tensor *key, *counter;
    struct shape one = shape_of(1), two = shape_of(2);
    struct philox philox;
    TRY(random_seeds(k, 0, &philox));
    TRY(kernel_output(k, 0, &one, &key));
    TRY(kernel_output(k, 1, &two, &counter));
    memcpy(key->data, philox.key, sizeof philox.key);
    memcpy(counter->data, philox.counter, sizeof philox.counter);
    return kernel_outputs_count(k) == 3 ? algorithm_output(k, 2) : status_ok();
}

static struct status algorithm_compute(struct kernel_context *k)
{
    return algorithm_output(k, 0);
}

#define SEEDED(op, dtypes)                                                      \
    {                                                                           \
        op, dtypes, "dtype", .prepare = draw_prepare, .compute = seeded_compute \
    }
#define KEYED(op, dtypes)                                                      \
    {                                                                          \
        op, dtypes, "dtype", .prepare = draw_prepare, .compute = keyed_compute \
    }
#define DTYPES_INT  (DTYPES(DT_INT32) | DTYPES(DT_INT64))
#define DTYPES_FULL (DTYPES_INT | DTYPES(DT_UINT32) | DTYPES(DT_UINT64))
static const struct kernel rows[] = {
    SEEDED("StatelessRandomUniform", DTYPES_FLOATING),
    SEEDED("StatelessRandomNormal", DTYPES_FLOATING),
    SEEDED("StatelessTruncatedNormal", DTYPES_FLOATING),
    SEEDED("StatelessRandomUniformInt", DTYPES_INT),
    SEEDED("StatelessRandomUniformFullInt", DTYPES_FULL),
    KEYED("StatelessRandomUniformV2", DTYPES_FLOATING),
    KEYED("StatelessRandomNormalV2", DTYPES_FLOATING),
    KEYED("StatelessTruncatedNormalV2", DTYPES_FLOATING),
    KEYED("StatelessRandomUniformIntV2", DTYPES_INT),
    KEYED("StatelessRandomUniformFullIntV2", DTYPES_FULL),
    { "StatelessRandomGetKeyCounter", DTYPES_ALL, .compute = key_compute },
    { "StatelessRandomGetKeyCounterAlg", DTYPES_ALL, .compute = key_compute },
    { "StatelessRandomGetAlg", DTYPES_ALL, .compute = algorithm_compute },
};
const struct kernel_table kernels_random = { rows, COUNT(rows) };
