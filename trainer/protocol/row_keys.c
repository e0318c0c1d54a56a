/* Built with -ffp-contract=off, so that initial values have the same bits on every machine. */
#include "trainer/protocol/row_keys.h"

#include <inttypes.h>
#include <math.h>

#include "base/random.h"
#include "trainer/optimizers/optimizer.h"

/* The finalizer of splitmix64: a bijection in which each bit of the key flips about half of the
 * bits. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The random streams of a key. */
#define STREAM_SHARD  UINT64_C(0x9e3779b97f4a7c15)
#define STREAM_CHANCE UINT64_C(0xd1342543de82ef95)

uint32_t key_shard(int64_t key)
{
    return (uint32_t)(mix((uint64_t)key + STREAM_SHARD) / (UINT64_MAX / KEY_SHARDS + 1));
}

static struct status check_initializer(const struct row_keys_spec *spec)
{
    if ((unsigned)spec->initializer >= KEY_INITIALIZERS)
        return status_error(STATUS_INVALID_ARGUMENT, "initializer %d, must be 0 to %d",
                            (int)spec->initializer, KEY_INITIALIZERS - 1);
    if (!isfinite((float)spec->a) || !isfinite((float)spec->b))
        return status_error(STATUS_INVALID_ARGUMENT, "initializer of %g and %g: must be finite",
                            spec->a, spec->b);
    if (spec->initializer == KEY_UNIFORM ? spec->b < spec->a
                                         : spec->initializer != KEY_CONSTANT && spec->b < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "initializer of %g and %g: must be from low to high, or a mean and a "
                            "deviation of at least 0",
                            spec->a, spec->b);
    return status_ok();
}

struct status row_keys_check(const struct row_keys_spec *spec, uint64_t row_bytes)
{
    TRY(check_initializer(spec));
    if (!(spec->probability > 0 && spec->probability <= 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "probability %g, must be above 0 and at most 1", spec->probability);
    if (spec->min_count > KEY_COUNT_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "min_count %u, must be at most %d",
                            spec->min_count, KEY_COUNT_MAX);
    uint64_t least = KEY_SHARDS * (KEY_ENTRY_BYTES + row_bytes);
    if (spec->bytes_max != 0 && spec->bytes_max < least)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "bytes_max %" PRIu64 ", must be at least %" PRIu64
                            ": a key in each of %d shards",
                            spec->bytes_max, least, KEY_SHARDS);
    return status_ok();
}

struct status row_keys_can_train(const struct row_keys_spec *spec, uint64_t row_bytes,
                                 const struct optimizer *optimizer)
{
    if (!optimizer->row_local)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the optimizer '%s' changes every row with each update, and a hash "
                            "table has no end of rows: take lazy_%s or another row-local one",
                            optimizer->name,
                            optimizer_lazy(optimizer) != NULL ? optimizer->name : "adam");
    if (optimizer_joins_pieces(optimizer) || optimizer->averages)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the optimizer '%s' with a hash table: an update that depends on %s",
                            optimizer->name,
                            optimizer->averages ? "a moving average of the values"
                                                : "the norm of the whole variable");
    return row_keys_check(spec, row_bytes * (uint64_t)(1 + optimizer->slots_count));
}

bool key_has_chance(const struct row_keys_spec *spec, int64_t key)
{
    uint64_t drawn = mix(mix((uint64_t)key + STREAM_CHANCE) ^ spec->seed);

    return (double)(drawn >> 11) * 0x1p-53 < spec->probability;
}

static double draw(const struct row_keys_spec *spec, struct random *random)
{
    switch (spec->initializer) {
    case KEY_UNIFORM:
        return random_between(random, spec->a, spec->b);
    case KEY_NORMAL:
        return spec->a + spec->b * random_normal(random);
    case KEY_TRUNCATED_NORMAL:
        return spec->a + spec->b * random_truncated_normal(random);
    default:
        return spec->a;
    }
}

void key_initial_value(const struct row_keys_spec *spec, int64_t key, float *out, size_t count)
{
    struct random random;

    if (spec->initializer != KEY_CONSTANT)
        random_init(&random, spec->seed, (uint64_t)key);
    for (size_t i = 0; i < count; i++)
        out[i] = (float)draw(spec, &random);
}

float key_default_value(const struct row_keys_spec *spec)
{
    return (float)(spec->initializer == KEY_UNIFORM ? spec->a + (spec->b - spec->a) / 2 : spec->a);
}
