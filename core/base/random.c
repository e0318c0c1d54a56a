/* Built with -ffp-contract=off: a fused multiply-add would round differently where the machine has
 * one. */
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void random_init(struct random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = splitmix64(&state) ^ (stream * 0xd1342543de82ef95u);

    memset(random, 0, sizeof *random);
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix64(&state);
}

static inline uint64_t rotl(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t random_u64(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    assert(bound > 0);
    /* Redraw the lowest 2^64 mod bound values, which would make some results more likely. */
    uint64_t reject_below = -bound % bound;
    uint64_t value;
    do
        value = random_u64(random);
    while (value < reject_below);
    return value % bound;
}

double random_double(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}

float random_float(struct random *random)
{
    return (float)(random_u64(random) >> 40) * 0x1p-24f;
}

double random_between(struct random *random, double low, double high)
{
    return low + (high - low) * random_double(random);
}

/* ln x for 0 < x < 1, to about 1e-15: x = m · 2^e with m in [√½, √2), ln m = 2 artanh((m - 1) / (m
 * + 1)). */
static double log_exactly_everywhere(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum = 0;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * s2 + 1.0 / k;
    return 2 * s * sum + exponent * 0.69314718055994531;
}

double random_normal(struct random *random)
{
    double x, y, r2;

    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    do { /* Marsaglia's polar method */
        x = 2 * random_double(random) - 1;
        y = 2 * random_double(random) - 1;
        r2 = x * x + y * y;
    } while (r2 >= 1 || r2 == 0);
    double scale = sqrt(-2 * log_exactly_everywhere(r2) / r2);
    random->spare = y * scale;
    random->has_spare = 1;
    return x * scale;
}

double random_truncated_normal(struct random *random)
{
    double value;

    do
        value = random_normal(random);
    while (value < -2 || value > 2);
    return value;
}

void random_permutation(struct random *random, uint32_t *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) { /* Fisher and Yates, from the inside out */
        uint32_t at = (uint32_t)random_below(random, i + 1);
        out[i] = out[at];
        out[at] = i;
    }
}
