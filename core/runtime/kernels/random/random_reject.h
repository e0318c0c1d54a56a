/*
 * random_reject: numbers by rejection. Each takes as many normal and uniform numbers as it needs
 * from a stream of its own, so that it does not depend on the numbers before it.
 */
#ifndef KERNELS_RANDOM_REJECT_H
#define KERNELS_RANDOM_REJECT_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/philox_fill.h"

/* A stream, whose blocks make two numbers each; the second is taken first. */
struct reject_stream {
    struct philox_reader reader;
    double normals[2], uniforms[2];
    int normals_left, uniforms_left;
};

double reject_normal(struct reject_stream *stream);
double reject_uniform(struct reject_stream *stream);

/* Fills output 0 with numbers that `draw` makes of the parameters in input `index`. If `appended`,
 * the shape of the parameters is appended to the shape in input 0, otherwise that ends with it. */
typedef double reject_draw(struct reject_stream *stream, double parameter);
struct status reject_output(struct kernel_context *k, int index, bool appended,
                            struct tensor **out);
struct status reject_fill(struct kernel_context *k, struct philox philox, int index,
                          reject_draw *draw, struct tensor *out);

/* Makes a number element i. An integer that does not fit becomes the lowest one. */
void reject_store(struct tensor *out, int64_t i, double value);
/* Are the last dimensions of `shape` those of `end`? */
bool reject_shape_ends_with(const struct shape *shape, const struct shape *end);

/* Kernels whose seeds are input 1, and whose parameters are input 2. */
struct status reject_seeded(struct kernel_context *k, reject_draw *draw);
/* Kernels whose state is of random_seeded_prepare, and whose parameters are input 1. */
struct status reject_stateful(struct kernel_context *k, reject_draw *draw);

#endif
