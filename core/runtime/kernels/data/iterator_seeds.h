/*
 * iterator_seeds: seeds for the iterators of datasets of random numbers and random orders. Either
 * all iterators of a dataset have the same seeds, or each has new ones, from a generator that the
 * dataset has for itself or shares with others: the object of AnonymousSeedGenerator.
 */
#ifndef KERNELS_ITERATOR_SEEDS_H
#define KERNELS_ITERATOR_SEEDS_H

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/plain/philox.h"

/* The seeds in the state of a random dataset. */
struct iterator_seeds {
    uint64_t seed, seed2;
    bool renews, is_ready;
    struct philox_reader next; /* seeds for iterators, if it renews */
};

/* Is the dataset's last input a generator of seeds that others may share? */
bool iterator_seeds_are_shared(const struct run_dataset *dataset);
/* Checks the inputs `seed` and `seed2`, of which the first is input `first`. */
struct status iterator_seeds_check(struct kernel_context *k, const struct run_dataset *dataset,
                                   int first);
/* The numbers of the next iterator. Seeds of 0 and 0 are chosen with the first one. */
struct philox iterator_seeds_take(struct kernel_context *k, struct run_dataset *dataset, int first,
                                  bool renews);

#endif
