/*
 * random_seeded: the stream of a random op that has seeds as attributes and continues from run to
 * run.
 */
#ifndef KERNELS_RANDOM_SEEDED_H
#define KERNELS_RANDOM_SEEDED_H

#include <stdatomic.h>

#include "runtime/kernel.h"
#include "runtime/kernels/plain/philox.h"

struct random_seeded {
    uint64_t seed, seed2;    /* both 0: fresh ones in each run */
    _Atomic uint64_t blocks; /* that runs have taken so far */
};

struct status random_seeded_init(const struct node *node, struct random_seeded *out);
/* For kernels whose state is a struct random_seeded alone. */
struct status random_seeded_prepare(struct prepare_context *p);

/* Takes `blocks` blocks of the stream for this run. As many as TensorFlow reserves, or the next
 * run's numbers differ from TensorFlow's. */
struct philox random_seeded_take(struct kernel_context *k, const struct random_seeded *seeded,
                                 uint64_t blocks);

/* The blocks that TensorFlow reserves for one number of any distribution. */
#define RANDOM_BLOCKS_PER_NUMBER 256

#endif
