/*
 * forest_walk: finds the leaves of eight rows, or of eight trees, at the same time. A step of one
 * waits for memory and for a comparison while the others go on, and a comparison of numbers is no
 * branch, which the processor could mispredict. With 300 trees of 6 levels on numbers it is eight
 * times faster than the plain walk of forest.c, which stays for all other forests. (Steps on
 * categories without a branch, by a mask, took as long as those with one.)
 *
 * A forest has a walk if its conditions compare numbers and truth values, or look up categories,
 * and each answers for a missing value as for the usual one of its column: the row has that value.
 */
#ifndef KERNELS_FORESTS_FOREST_WALK_H
#define KERNELS_FORESTS_FOREST_WALK_H

#include "runtime/kernels/forests/forest.h"

#define FOREST_LANES 8

/* Is there a walk of this forest? Its memory is forest_walk_bytes. */
bool forest_walk_exists(const struct forest *forest);
size_t forest_walk_bytes(const struct forest *forest);
/* `scratch` has room for a number for each node. RESOURCE_EXHAUSTED: the arena is at its limit. */
struct status forest_walk_make(struct forest *forest, uint32_t *scratch);

/* A number as the steps compare it. */
uint32_t forest_walk_number(float x);
/* The values of a row that the steps read: [forest->walk_columns, FOREST_LANES]. */
void forest_walk_put_row(const struct forest *forest, const struct forest_features *features,
                         int64_t row, int lane, uint32_t *x);
/* The leaves of a tree for the rows of all lanes: numbers of forest->nodes, or if the tree has a
 * `place`, the bits of values. */
void forest_walk_rows(const struct forest *forest, int tree, const uint32_t *x,
                      uint32_t leaves[FOREST_LANES]);
/* The leaves of the trees from `tree` for the row of lane 0; beyond the last tree, any leaves. */
void forest_walk_trees(const struct forest *forest, int tree, const uint32_t *x,
                       uint32_t leaves[FOREST_LANES]);

#endif
