/*
 * random_generator: the state of tf.random.Generator, an int64 variable, for ops in other files.
 */
#ifndef KERNELS_RANDOM_GENERATOR_H
#define KERNELS_RANDOM_GENERATOR_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/philox.h"

/* The stream of the generator in input 0, for an algorithm that input 1 names. Moves the generator
 * on by 256 blocks for each of `numbers`. */
struct status random_generator_take(struct kernel_context *k, uint64_t numbers, struct philox *out);

#endif
