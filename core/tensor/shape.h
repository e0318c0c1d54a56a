/*
 * shape: the dimensions of a tensor, outermost first, row-major. In a signature or an attribute a
 * dimension may be unknown (-1), and so may the rank (SHAPE_UNKNOWN_RANK); the shape of a tensor is
 * always known.
 */
#ifndef TENSOR_SHAPE_H
#define TENSOR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The dimensions that `dims` has room for. TensorFlow allows 254, but few models have more than 6,
 * and shapes are copied for every tensor of a run. */
#define SHAPE_RANK_MAX        12
#define SHAPE_RANK_TENSORFLOW 254
#define SHAPE_UNKNOWN_RANK    (-1)
/* The rank of a shape of 13 to 254 known dimensions, which are packed into `dims`. It is
 * negative so that no loop over `dims` runs. Requests may have such tensors, and a few kernels
 * accept them (kernel.any_rank); everywhere else they are UNIMPLEMENTED: see shape_check_rank. */
#define SHAPE_PACKED          (-2)

struct shape {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
};

static inline struct shape shape_scalar(void)
{
    return (struct shape){ 0 };
}

static inline struct shape shape_unknown(void)
{
    return (struct shape){ .rank = SHAPE_UNKNOWN_RANK };
}

/* shape_of(2, 3) is [2,3]. For [] there is shape_scalar(). */
#define shape_of(...)                                                       \
    shape_make((int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
               (const int64_t[]){ __VA_ARGS__ })
struct shape shape_make(int rank, const int64_t *dims);

/* UNIMPLEMENTED: over SHAPE_RANK_MAX. INVALID_ARGUMENT: over SHAPE_RANK_TENSORFLOW. */
struct status shape_check_rank(int64_t rank);

/* The errors of shape_check_rank; INVALID_ARGUMENT: a negative dimension, or a product beyond
 * int64. */
struct status shape_check(int rank, const int64_t *dims, struct shape *out);

/* The same for any rank that TensorFlow has: *out may be packed. UNIMPLEMENTED: a tensor without
 * elements with more than 63 dimensions other than 1. */
struct status shape_check_any(int rank, const int64_t *dims, struct shape *out);

/* Writes the dimensions of a known shape, packed or not, and returns their number. */
int shape_unpack(const struct shape *shape, int64_t dims[SHAPE_RANK_TENSORFLOW]);

/* Would shape_check pass? For shapes that were computed from checked ones. *size: the number of
 * elements. */
bool shape_fits(const struct shape *shape, int64_t *size);

/* The number of elements, 1 for a scalar. The shape must be known and checked. */
int64_t shape_size(const struct shape *shape);
bool shape_is_known(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);

/* Does a known shape match one that may have unknown parts? */
bool shape_compatible(const struct shape *known, const struct shape *pattern);

/* numpy's broadcasting; unknown dimensions stay unknown. INVALID_ARGUMENT `Incompatible shapes: [2]
 * vs. [3]`. */
struct status shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out);

void shape_append(struct shape *shape, int64_t dim); /* asserts the rank */

/* "[2,?,3]", "[]", "<unknown>", as in TensorFlow. Valid until 8 more calls in the thread. */
const char *shape_text(const struct shape *shape);

#endif
