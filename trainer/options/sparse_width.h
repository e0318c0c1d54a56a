/*
 * sparse_width: the number of columns of a SavedModel's sparse input of floats. A signature does
 * not tell it, but the matrix that multiplies the input has as many rows.
 */
#ifndef TRAINER_OPTIONS_SPARSE_WIDTH_H
#define TRAINER_OPTIONS_SPARSE_WIDTH_H

#include "graph/graph.h"

/* values: the endpoint of the input's values, such as "x_1:0". Returns 0 if no
 * SparseTensorDenseMatMul of the graph takes them with a variable, as in a graph of functions, or
 * if several take them with variables of different widths. */
int64_t sparse_width_find(const struct graph *graph, const char *values);

#endif
