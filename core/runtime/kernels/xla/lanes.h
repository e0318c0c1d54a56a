/*
 * lanes: the functions of scalars by which XLA's reductions, scatters and sorts combine and compare
 * elements. If a function works element by element, as most do, one call computes many elements.
 */
#ifndef KERNELS_XLA_LANES_H
#define KERNELS_XLA_LANES_H

#include "runtime/functions.h"

#define DTYPES_LANES (DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL))

struct lanes {
    const struct plan_function *function;
    bool together; /* one call with vectors */
    bool compares; /* it gives bool; otherwise, result i has the type of argument i */
};

/* Function `index` of the node, which does not compare. INVALID_ARGUMENT: it has captures, or gives
 * another number of results. UNIMPLEMENTED: an input of the node has another type than
 * DTYPES_LANES. */
struct status lanes_prepare(const struct prepare_context *p, int index, int results_count,
                            struct lanes *out);

/**
 * Computes the function for each element of `args`, which are vectors of `count` elements and are
 * only read. `results` are dense vectors of as many.
 *
 * Owner   the caller: `results`
 * Errors  INVALID_ARGUMENT a result of another size or type; those of the function
 */
struct status lanes_run(struct kernel_context *k, const struct lanes *lanes, int64_t count,
                        int args_count, const struct tensor *args, int results_count,
                        struct tensor *results);

/* A part of a dense tensor as a vector, borrowed. */
struct tensor lanes_view(const struct tensor *x, int64_t first, int64_t count);
/* A new vector that repeats the scalar x. */
struct status lanes_repeat(struct kernel_context *k, const struct tensor *x, int64_t count,
                           struct tensor *out);

#endif
