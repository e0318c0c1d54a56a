/*
 * philox: Philox 4x32-10 (Salmon and others, 2011), the counter-based generator of TensorFlow's
 * stateless random ops: block i of a stream is a function of (key, counter + i).
 */
#ifndef PLAIN_PHILOX_H
#define PLAIN_PHILOX_H

#include <stdint.h>

struct philox {
    uint32_t counter[4], key[2];
};

/* The stream of a stateless op's two seeds. */
struct philox philox_of_seeds(uint64_t seed0, uint64_t seed1);

/* The first `count` numbers of the stream as floats in [0, 1): 23 bits behind 1, less 1. */
void philox_uniform_f32(struct philox philox, float *out, int64_t count);

#endif
