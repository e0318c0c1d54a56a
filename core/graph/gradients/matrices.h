/*
 * matrices: products, triangles and solutions of (stacks of) matrices, of which the gradients of
 * linear algebra are made. Internal to graph/gradients/.
 */
#ifndef GRAPH_GRADIENTS_MATRICES_H
#define GRAPH_GRADIENTS_MATRICES_H

#include "graph/gradients/emit.h"

static inline struct endpoint negative(struct gradient_context *c, struct endpoint x)
{
    return unary(c, "Neg", x);
}

/* a · b, each of them the adjoint if the flag says so. */
struct endpoint product(struct gradient_context *c, struct endpoint a, bool adjoint_a,
                        struct endpoint b, bool adjoint_b);

/* Swaps the last two dimensions; the adjoint of complex matrices is also conjugated. */
struct endpoint transposed(struct gradient_context *c, struct endpoint x, int rank);
struct endpoint adjoint(struct gradient_context *c, struct endpoint x, int rank);

/* The band of `lower` and `upper` diagonals of x, and zeros elsewhere; -1: all of them. */
struct endpoint band(struct gradient_context *c, struct endpoint x, int64_t lower, int64_t upper);

/* An op with the flag `adjoint`: MatrixInverse, MatrixSolve. */
struct endpoint with_adjoint(struct gradient_context *c, const char *op, bool is_adjoint, int count,
                             const struct endpoint *inputs);
/* The solution of a triangular system. */
struct endpoint triangular(struct gradient_context *c, struct endpoint a, struct endpoint b,
                           bool lower, bool is_adjoint);

/* The gradient of the matrix of a system that the node solves, by that of the right-hand side. */
struct endpoint of_system(struct gradient_context *c, struct endpoint of_right, bool is_adjoint);
/* Sums the gradient of input `index` over the stacks that were broadcast. */
struct endpoint unstacked(struct gradient_context *c, struct endpoint gradient, int index);

/* The rank of all matrices of the op; the error of not_constant. */
struct status read_rank(const struct gradient_context *c, int *out);
/* Rows and columns of input 0, which must be known. */
struct status read_sides(const struct gradient_context *c, int64_t *rows, int64_t *columns);

#endif
