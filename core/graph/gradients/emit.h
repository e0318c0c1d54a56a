/*
 * emit: helpers by which gradient functions write formulas:
 *
 *     struct status gradient_exp(struct gradient_context *c)
 *     {
 *         return flow(c, 0, times(c, dy(c), output(c)));
 *     }
 */
#ifndef GRAPH_GRADIENTS_EMIT_H
#define GRAPH_GRADIENTS_EMIT_H

#include "graph/gradient.h"
#include "graph/gradients/gradients.h"

static inline struct endpoint input(const struct gradient_context *c, int index)
{
    return c->node->inputs[index];
}

static inline struct endpoint output(const struct gradient_context *c)
{
    return (struct endpoint){ c->node, 0 };
}

/* The gradient of output 0. */
static inline struct endpoint dy(const struct gradient_context *c)
{
    return c->outputs[0];
}

/* Sets the gradient of input `index`. */
static inline void send(struct gradient_context *c, int index, struct endpoint gradient)
{
    c->inputs[index] = gradient;
}

/* The same as the last statement of a gradient function. */
static inline struct status flow(struct gradient_context *c, int index, struct endpoint gradient)
{
    send(c, index, gradient);
    return status_ok();
}

static inline struct endpoint unary(struct gradient_context *c, const char *op, struct endpoint x)
{
    return build_unary(c->builder, op, NULL, x);
}

static inline struct endpoint binary(struct gradient_context *c, const char *op, struct endpoint x,
                                     struct endpoint y)
{
    return build_binary(c->builder, op, NULL, x, y);
}

static inline struct endpoint sub(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    return binary(c, "Sub", x, y);
}

static inline struct endpoint mul(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    return binary(c, "Mul", x, y);
}

/* A scalar of the dtype of `like`. */
struct endpoint number(struct gradient_context *c, struct endpoint like, double value);

/* The value of a gradient that is the same everywhere, as a scalar (as after a Sum or a Mean
 * over everything); a null node: it may vary. */
struct endpoint uniform(struct endpoint gradient);
/* Is it the constant 1? */
bool is_one(struct endpoint endpoint);

/* Cast. */
struct endpoint as_type(struct gradient_context *c, struct endpoint x, enum dtype dtype);
/* GatherV2 along dimension 0. */
struct endpoint gather_rows(struct gradient_context *c, struct endpoint x, struct endpoint indices);

/* The conjugate of a complex x; any other x itself. */
struct endpoint conjugate(struct gradient_context *c, struct endpoint x);

/* gradient · factor, where factor has the full shape; cheaper if the gradient is uniform. A complex
 * factor is conjugated. */
struct endpoint times(struct gradient_context *c, struct endpoint gradient, struct endpoint factor);

/* The shape of an endpoint, as int32: a constant if it is known. */
struct endpoint shape_tensor(struct gradient_context *c, struct endpoint x);
/* x in the shape of `like`: Reshape, with -1 for one unknown dimension. */
struct endpoint reshape_like(struct gradient_context *c, struct endpoint x, struct endpoint like);
struct endpoint reshape_to(struct gradient_context *c, struct endpoint x,
                           const struct shape *shape);

/* Undoes broadcasting: sums a gradient of the output's shape down to the shape of input `index`. */
struct endpoint reduce_to(struct gradient_context *c, struct endpoint gradient, int index);
/* The same for an input that was broadcast to the shape `from`, which the gradient has. */
struct endpoint reduce_from(struct gradient_context *c, struct endpoint gradient,
                            const struct shape *from, int index);

/* `shape`, a vector of int32, with 1 for the dimensions that are reduced. */
struct endpoint shape_with_ones(struct gradient_context *c, struct endpoint shape,
                                struct endpoint reduced);

/* A node with the masks of this one, which is a strided slice or its gradient. */
struct endpoint with_masks(struct gradient_context *c, const char *op, int count,
                           const struct endpoint *inputs);

/* The gradient of output `index`, or zeros if it has none. */
struct endpoint dy_or_zeros(struct gradient_context *c, int index);

/* The elements of a constant input; false: it is not constant, or has more than `max`. */
bool constant_ints(const struct gradient_context *c, int index, int max, int64_t *out, int *count);
struct status not_constant(const struct gradient_context *c, const char *what);

/* An attribute of the node under `name`, for the node of the gradient. */
struct attr same_attr(const struct gradient_context *c, const char *name);

#endif
