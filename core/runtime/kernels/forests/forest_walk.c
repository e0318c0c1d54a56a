#include "runtime/kernels/forests/forest_walk.h"

#include <math.h>

#include "base/float_bits.h"

/*
 * The nodes of a tree by levels, from the root down. The children of a node lie side by side: a
 * step adds `step` to the number of the node, and 1 if the condition is not met. A leaf steps to
 * itself, as its column holds the largest number.
 */
struct walk_node {
    uint32_t value;  /* a number: the least that meets it; categories: where the bits begin */
    uint16_t column; /* times FOREST_LANES */
    uint16_t step;
};

#define COLUMNS_MAX (UINT16_MAX / FOREST_LANES)
#define WORDS_MAX   (1u << 27) /* whose bits have numbers of 32 bits */

/* The first column of an input; column 0 belongs to the leaves. */
static int first_column(const struct forest *forest, enum forest_input input)
{
    int64_t first = 1;
    for (int i = 0; i < (int)input; i++)
        first += forest->columns[i];
    return first > COLUMNS_MAX ? COLUMNS_MAX + 1 : (int)first;
}

/* ---- making it ---- */

static bool has_step(const struct forest *forest, const struct forest_node *node)
{
    switch (node->kind) {
    case FOREST_LEAF:
    case FOREST_LEAF_OF_MANY:
    case FOREST_HIGHER:
    case FOREST_NOT_ZERO:
        return true;
    case FOREST_IN_BITS:
        return node->input == FOREST_CATEGORIES && forest->categories[node->place] > 0 &&
               forest->usual[FOREST_CATEGORIES][node->place] <
                   (uint32_t)forest->categories[node->place];
    default:
        return false;
    }
}

bool forest_walk_exists(const struct forest *forest)
{
    if (first_column(forest, FOREST_SETS) > COLUMNS_MAX || forest->words_count > WORDS_MAX)
        return false;
    for (size_t i = 0; i < forest->nodes_count; i++)
        if (!has_step(forest, &forest->nodes[i]))
            return false;
    return true;
}

/* forest_walk_trees reads past the last tree. */
static size_t padded_trees(const struct forest *forest)
{
    return (size_t)forest->trees_count + FOREST_LANES;
}

size_t forest_walk_bytes(const struct forest *forest)
{
    return forest->nodes_count * sizeof *forest->walk +
           padded_trees(forest) * sizeof *forest->walk_trees;
}

/* Integers in the order of the numbers; NaN is 0, so that it meets no condition. */
uint32_t forest_walk_number(float x)
{
    uint32_t bits = bits_of_float(x + 0.0f); /* -0 becomes 0 */
    if (isnan(x))
        return 0;
    return bits >> 31 != 0 ? ~bits : bits | 1u << 31;
}

static uint32_t value_of(const struct forest_node *node)
{
    if (node->kind == FOREST_NOT_ZERO)
        return 1;
    if (node->kind == FOREST_IN_BITS)
        return node->at * 32;
    return isnan(node->value) ? UINT32_MAX : forest_walk_number(node->value);
}

/* Puts the nodes of a tree in the order of `sources`. False: a step is too large. */
static bool put_nodes(const struct forest *forest, struct forest_tree *tree, uint32_t *sources,
                      struct walk_node *out)
{
    uint32_t count = 1, level_end = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct forest_node *node = &forest->nodes[sources[i]];
        if (i == level_end) {
            tree->depth++;
            level_end = count;
        }
        out[i] = (struct walk_node){ .value = sources[i] };
        if (node->kind <= FOREST_LEAF_OF_MANY)
            continue;
        if (count - i > UINT16_MAX)
            return false;
        int column = first_column(forest, node->input) + node->place;
        out[i] = (struct walk_node){ value_of(node), (uint16_t)(column * FOREST_LANES),
                                     (uint16_t)(count - i) };
        sources[count++] = node->next;
        sources[count++] = sources[i] + 1;
    }
    return true;
}

/* If all leaves of a tree are values of one sum, the walk gives the values. */
static void put_values(const struct forest *forest, struct forest_tree *tree, uint32_t end,
                       struct walk_node *out)
{
    int32_t place = -1;
    for (uint32_t i = tree->root; i < end; i++) {
        const struct forest_node *node = &forest->nodes[i];
        if (node->kind > FOREST_LEAF_OF_MANY)
            continue;
        if (node->kind == FOREST_LEAF_OF_MANY || (place >= 0 && place != node->place))
            return;
        place = node->place;
    }
    tree->place = place;
    for (uint32_t i = tree->root; i < end; i++)
        if (out[i].step == 0)
            out[i].value = bits_of_float(forest->nodes[out[i].value].value);
}

struct status forest_walk_make(struct forest *forest, uint32_t *scratch)
{
    void *memory;
    TRY(arena_reserve(forest->arena, forest->nodes_count * sizeof *forest->walk, &memory));
    struct walk_node *nodes = memory;
    TRY(arena_reserve(forest->arena, padded_trees(forest) * sizeof *forest->walk_trees, &memory));
    struct forest_tree *trees = memory;
    memset(trees, 0, padded_trees(forest) * sizeof *trees);
    for (int i = 0; i < forest->trees_count; i++) {
        uint32_t root = scratch[0] = forest->roots[i], end = i + 1 < forest->trees_count
                                                                 ? forest->roots[i + 1]
                                                                 : (uint32_t)forest->nodes_count;
        trees[i] = (struct forest_tree){ .root = root, .place = -1 };
        if (!put_nodes(forest, &trees[i], scratch, nodes + root))
            return status_ok();
        put_values(forest, &trees[i], end, nodes);
    }
    forest->walk_columns = first_column(forest, FOREST_SETS);
    forest->walk_trees = trees;
    forest->walk = nodes;
    return status_ok();
}

/* ---- a row ---- */

static uint32_t value_in_row(const struct forest *forest, const struct forest_features *features,
                             enum forest_input input, int64_t at, int column)
{
    uint32_t usual = forest->usual[input][column];
    int32_t value;
    switch (input) {
    case FOREST_NUMBERS:
        return isnan(features->numbers[at]) ? usual : forest_walk_number(features->numbers[at]);
    case FOREST_TRUTHS:
        return isnan(features->truths[at]) ? usual : features->truths[at] != 0;
    default:
        value = forest_known_category(features->categories[at], forest->categories[column]);
        return value < 0 ? usual : (uint32_t)value;
    }
}

void forest_walk_put_row(const struct forest *forest, const struct forest_features *features,
                         int64_t row, int lane, uint32_t *x)
{
    x += lane;
    *x = UINT32_MAX;
    for (enum forest_input input = FOREST_NUMBERS; input < FOREST_SETS; input++) {
        int columns = forest->columns[input];
        for (int column = 0; column < columns; column++)
            *(x += FOREST_LANES) =
                value_in_row(forest, features, input, row * columns + column, column);
    }
}

/* ---- steps ---- */

static inline bool has_bit(const uint32_t *words, uint32_t at)
{
    return (words[at / 32] >> (at % 32) & 1) != 0;
}

/* Few rows reach the deepest leaf of a deep tree. */
#define STEPS_BETWEEN_CHECKS 4

static inline bool at_leaves(const struct walk_node *const at[FOREST_LANES])
{
    unsigned steps = 0;
#pragma GCC unroll 8
    for (int i = 0; i < FOREST_LANES; i++)
        steps |= at[i]->step;
    return steps == 0;
}

/* All lanes have one tree, and each its row (row_step 1), or all have one row (0), and each its
 * tree. */
static inline __attribute__((always_inline)) void walk(const struct forest *forest, int tree,
                                                       uint32_t depth, const uint32_t *x,
                                                       int row_step, bool has_categories,
                                                       uint32_t leaves[FOREST_LANES])
{
    const uint32_t *words = forest->words;
    uint32_t categories = (uint32_t)first_column(forest, FOREST_CATEGORIES) * FOREST_LANES;
    const struct walk_node *at[FOREST_LANES];
#pragma GCC unroll 8
    for (int i = 0; i < FOREST_LANES; i++)
        at[i] = forest->walk + forest->walk_trees[tree + i * (1 - row_step)].root;
    for (uint32_t done = 1; done <= depth; done++) {
#pragma GCC unroll 8
        for (int i = 0; i < FOREST_LANES; i++) {
            const struct walk_node *node = at[i];
            uint32_t column = node->column, value = x[column + (size_t)(i * row_step)];
            uint32_t step =
                node->step; /* of 32 bits: compilers make `step + (a < b)` one addition */
            if (has_categories && column >= categories)
                step += !has_bit(words, node->value + value);
            else
                step += value < node->value;
            at[i] = node + step;
        }
        if (done % STEPS_BETWEEN_CHECKS == 0 && done < depth && at_leaves(at))
            break;
    }
#pragma GCC unroll 8
    for (int i = 0; i < FOREST_LANES; i++)
        leaves[i] = at[i]->value;
}

static bool has_categories(const struct forest *forest)
{
    return forest->columns[FOREST_CATEGORIES] > 0;
}

void forest_walk_rows(const struct forest *forest, int tree, const uint32_t *x,
                      uint32_t leaves[FOREST_LANES])
{
    uint32_t depth = forest->walk_trees[tree].depth;
    if (has_categories(forest))
        walk(forest, tree, depth, x, 1, true, leaves);
    else
        walk(forest, tree, depth, x, 1, false, leaves);
}

void forest_walk_trees(const struct forest *forest, int tree, const uint32_t *x,
                       uint32_t leaves[FOREST_LANES])
{
    uint32_t depth = 0;
    for (int i = tree; i < tree + FOREST_LANES; i++)
        depth = forest->walk_trees[i].depth > depth ? forest->walk_trees[i].depth : depth;
    if (has_categories(forest))
        walk(forest, tree, depth, x, 0, true, leaves);
    else
        walk(forest, tree, depth, x, 0, false, leaves);
}
