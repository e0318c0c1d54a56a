/*
 * philox: Philox 4x32-10 (Salmon and others, 2011), the counter-based generator of TensorFlow's
 * stateless random ops: block i of a stream is a function of (key, counter + i).
 */
#ifndef PLAIN_PHILOX_H
#define PLAIN_PHILOX_H

#include <stdint.h>
#include <string.h>

#include "base/float_bits.h"

struct philox {
    uint32_t counter[4], key[2];
};

/* The stream of a stateless op's two seeds. */
struct philox philox_of_seeds(uint64_t seed0, uint64_t seed1);

/* The stream of a key and a counter, as ops of the second version have them in tensors. */
struct philox philox_of_key(uint64_t key, uint64_t counter_low, uint64_t counter_high);

/* The stream that begins `blocks` blocks later. */
struct philox philox_skip(struct philox philox, uint64_t blocks);

/* Number of blocks that are computed at once: the lanes of a 512-bit vector. */
#define PHILOX_BLOCKS 16

/* The first blocks of the stream, four words each. */
void philox_blocks(const struct philox *philox, uint32_t out[PHILOX_BLOCKS][4]);

/* Reads a stream word by word. Initialise with the stream and zeros. */
struct philox_reader {
    struct philox philox; /* of the blocks that are not computed yet */
    uint32_t words[PHILOX_BLOCKS][4];
    int left; /* words that are not read yet */
};
uint32_t philox_next(struct philox_reader *reader);

/* A word as a float in [0, 1): 23 random bits after a leading 1, minus 1. */
static inline float philox_float(uint32_t word)
{
    return float_of_bits(0x3f800000 | (word & 0x7fffff)) - 1;
}

/* The first `count` words of the stream as floats in [0, 1). */
void philox_uniform_f32(struct philox philox, float *out, int64_t count);

#endif
