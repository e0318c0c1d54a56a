/*
 * dimension_numbers: XLA's messages DotDimensionNumbers, ConvolutionDimensionNumbers,
 * GatherDimensionNumbers and ScatterDimensionNumbers. All their fields are dimensions or lists of
 * them, and an attribute of a node holds the message's bytes.
 */
#ifndef KERNELS_XLA_DIMENSION_NUMBERS_H
#define KERNELS_XLA_DIMENSION_NUMBERS_H

#include "runtime/kernel.h"

#define DIMENSION_FIELDS 13 /* fields are numbered from 1 */

struct dimension_list {
    int count;
    int at[SHAPE_RANK_MAX];
};

struct dimension_numbers {
    struct dimension_list fields[DIMENSION_FIELDS];
};

/* Errors  INVALID_ARGUMENT not such a message, more dimensions than a tensor has, or others than
 *         [0, SHAPE_RANK_MAX) */
struct status dimension_numbers_read(const struct node *node, struct dimension_numbers *out);

/* A field that holds one dimension, 0 if it is left out. */
int dimension_number(const struct dimension_numbers *numbers, int field);

/* The place of a dimension in a list, or -1. */
int dimension_place(const struct dimension_list *list, int dimension);

/* Does a list hold different dimensions of a tensor of that rank? */
bool dimensions_fit(const struct dimension_list *list, int rank);

/* The elements of a vector of integers, as many as a tensor of that rank has dimensions.
 *
 * Errors  INVALID_ARGUMENT another number of them, or one outside of [low, 2^31) */
struct status dimension_values(const struct kernel_context *k, int input, const char *name,
                               int rank, int64_t low, int64_t *out);

#endif
