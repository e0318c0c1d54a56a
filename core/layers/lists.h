/*
 * lists: sparse and ragged values in a graph. The value's endpoint holds the values of all rows,
 * [n]; the row of each value and the number of rows are kept beside it. Internal to layers/.
 *
 *     lists = lists_of_splits(b, TENSOR_RAGGED, …)          of what is fed in training
 *     lists = lists_of_pairs(b, pairs, shape, columns)       of a SparseTensor's parts
 *     y = lists_product(b, lists, places, weights, table)    y[row] = Σ weight · table[place]
 */
#ifndef LAYERS_LISTS_H
#define LAYERS_LISTS_H

#include "graph/build.h"
#include "tensor/tensor_spec.h"

struct layer_lists {
    enum tensor_layout layout;
    struct endpoint ids;   /* SPARSE: int64 [n], the column of each value */
    struct endpoint rows;  /* int64 [n], the row of each value */
    struct endpoint batch; /* int64 scalar, the number of rows */
    int64_t columns;       /* SPARSE: in a row */
};

/* The lists of values that row_splits divides into rows. `ids` is a null node unless they are
 * sparse. `batch`: the number of rows, 0: any. */
struct layer_lists lists_of_splits(struct builder *builder, struct endpoint values,
                                   struct endpoint ids, struct endpoint row_splits, int64_t batch,
                                   int64_t columns);

/* The lists of a SparseTensor with indices `pairs`, int64 [n, 2], and `shape`, int64 [2]. */
struct layer_lists lists_of_pairs(struct builder *builder, struct endpoint pairs,
                                  struct endpoint shape, int64_t columns);

/* The row splits, which end with the number of values: int64 [rows + 1]. */
struct endpoint lists_splits(struct builder *builder, const struct layer_lists *lists);

/* Pads lists to a matrix of `length` columns, with zeros or empty texts; -1: as many columns as the
 * longest list has values. */
struct endpoint lists_padded(struct builder *builder, struct endpoint values,
                             struct endpoint row_splits, int64_t length);

/* A SparseTensor's indices [n, 2]: the row of each value, and its index in the row (int64 [n]). */
struct endpoint lists_pairs(struct builder *builder, const struct layer_lists *lists,
                            struct endpoint places);

/* Σ weights[i] · table[places[i]] over the values i of each row: [batch, width]. */
struct endpoint lists_product(struct builder *builder, const struct layer_lists *lists,
                              struct endpoint places, struct endpoint weights,
                              struct endpoint table);

/* The sum over each row of [n], a float per value: [batch, 1]. */
struct endpoint lists_sum(struct builder *builder, const struct layer_lists *lists,
                          struct endpoint values);

#endif
