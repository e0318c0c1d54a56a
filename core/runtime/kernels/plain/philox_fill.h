/*
 * philox_fill: random numbers of a distribution from a stream of Philox, bit for bit as
 * TensorFlow's CPU kernels draw them. (Normal numbers go through libm's log and sin, whose last bit
 * may differ.)
 */
#ifndef PLAIN_PHILOX_FILL_H
#define PLAIN_PHILOX_FILL_H

#include "runtime/kernels/plain/philox.h"
#include "tensor/dtype.h"

enum distribution {
    UNIFORM,          /* [0, 1) */
    NORMAL,           /* mean 0, deviation 1 */
    TRUNCATED_NORMAL, /* the same, redrawn from 2 deviations on */
    UNIFORM_INT,      /* [low, low + range) */
    FULL_INT,         /* every value of the type */
};

struct draw {
    enum distribution distribution;
    enum dtype dtype;    /* floating for the first three, otherwise an integer of 32 or 64 bits */
    uint64_t low, range; /* of UNIFORM_INT; range > 0 */
};

/* A multiple of what every distribution makes from one block: fills in pieces give the same
 * numbers if each piece begins at a multiple of it. */
#define PHILOX_FILL_PIECE (1 << 16)

/* Numbers first … first + count - 1 of those that `draw` makes from the stream. */
void philox_fill(struct philox philox, const struct draw *draw, int64_t first, void *out,
                 int64_t count);

/* Two normal numbers of one block. */
void philox_normal_doubles(const uint32_t x[4], double out[2]);

/* [0, 1) in steps of 2^-52. */
double philox_double(uint32_t high, uint32_t low);

#endif
