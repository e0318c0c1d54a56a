/* pool_places: the place of the greatest element of each window, for MaxPool and the ops like
 * it. */
#ifndef KERNELS_POOL_PLACES_H
#define KERNELS_POOL_PLACES_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/conv.h"

/* int64 [n, rows.out, columns.out, c]: the pixel in its image, or -1. The caller releases it. */
struct status pool_places_find(struct kernel_context *k, const struct conv_size *size,
                               const struct tensor *x, struct tensor *places);
/* The index in x [n, rows.in, columns.in, c] for element i of the output, or -1. */
int64_t pool_places_index(const struct conv_size *size, const struct tensor *places, int64_t i);
/* out[i] = x[index]; and the gradient, dx[index] += dy[i]. */
void pool_places_take(const struct conv_size *size, const struct tensor *places,
                      const struct tensor *x, struct tensor *out);
void pool_places_add(const struct conv_size *size, const struct tensor *places,
                     const struct tensor *dy, struct tensor *dx);

#endif
