/*
 * random: a seeded generator whose numbers are the same bits on every machine.
 *
 * xoshiro256++ (Blackman and Vigna), its state filled by splitmix64 from a seed and a stream
 * number, so that each use (the initial values of a variable, the order of an epoch, the digits)
 * has its own numbers from one seed. Floating point here uses only operations that IEEE 754 rounds
 * exactly; no libm function, whose last bit may differ. Not for secrets. Not thread-safe: one
 * generator per thread.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
    double spare; /* the polar method produces normals in pairs */
    int has_spare;
};

/* Streams of one seed do not overlap in practice: each starts at a hash of (seed, stream). */
void random_init(struct random *random, uint64_t seed, uint64_t stream);

uint64_t random_u64(struct random *random);
/* [0, bound), each equally likely; bound > 0. */
uint64_t random_below(struct random *random, uint64_t bound);
double random_double(struct random *random); /* [0, 1) in steps of 2^-53 */
float random_float(struct random *random);   /* [0, 1) in steps of 2^-24 */
double random_between(struct random *random, double low, double high); /* [low, high) */
double random_normal(struct random *random);                           /* mean 0, deviation 1 */
/* Redrawn if it is beyond 2 deviations, as in TensorFlow. */
double random_truncated_normal(struct random *random);

/* A random order of 0 … count - 1. */
void random_permutation(struct random *random, uint32_t *out, uint32_t count);

#endif
