#include "runtime/kernels/forests/forest.h"

#include <math.h>

#include "base/float_bits.h"
#include "runtime/kernels/forests/forest_walk.h"

#define EXP_MAX 19.0f /* the bound of a sum under a Poisson loss */

void forest_destroy(struct forest *forest)
{
    if (forest != NULL)
        arena_destroy(forest->arena);
}

/* ---- conditions ---- */

static bool holds_value(const struct forest *forest, const struct forest_node *node, int32_t value)
{
    const uint32_t *words = &forest->words[node->at];
    if (node->kind == FOREST_IN_BITS)
        return (uint32_t)value < node->count && (words[value / 32] >> (value % 32) & 1) != 0;
    uint32_t low = 0, high = node->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int32_t)words[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < node->count && (int32_t)words[low] == value;
}

/* The values of a set: *begin to *end. False: there is no set. */
static bool find_set(const struct forest *forest, const struct forest_features *features,
                     int64_t row, int place, int64_t *begin, int64_t *end)
{
    const int64_t *split = &features->set_splits[row * forest->columns[FOREST_SETS] + place];
    *begin = split[0];
    *end = split[1];
    return *begin >= *end ||
           forest_known_category(features->set_values[*begin], forest->set_values[place]) >= 0;
}

static bool meets_set(const struct forest *forest, const struct forest_node *node,
                      const struct forest_features *features, int64_t row)
{
    int64_t at, end;
    if (!find_set(forest, features, row, node->place, &at, &end))
        return node->if_missing;
    for (; at < end; at++) {
        int32_t value =
            forest_known_category(features->set_values[at], forest->set_values[node->place]);
        if (value < 0 ? node->if_missing : holds_value(forest, node, value))
            return true;
    }
    return false;
}

static bool meets_category(const struct forest *forest, const struct forest_node *node,
                           const struct forest_features *features, int64_t row)
{
    int32_t value = forest_known_category(
        features->categories[row * forest->columns[FOREST_CATEGORIES] + node->place],
        forest->categories[node->place]);
    return value < 0 ? node->if_missing : holds_value(forest, node, value);
}

static bool meets_oblique(const struct forest *forest, const struct forest_node *node,
                          const float *numbers)
{
    const uint32_t *term = &forest->words[node->at];
    float sum = 0;
    for (uint32_t i = 0; i < node->count; i++, term += FOREST_TERM_WORDS) {
        float x = numbers[term[0]];
        if (isnan(x))
            x = float_of_bits(term[2]);
        if (isnan(x))
            return node->if_missing;
        sum += x * float_of_bits(term[1]);
    }
    return sum >= node->value;
}

static bool is_missing(const struct forest *forest, const struct forest_node *node,
                       const struct forest_features *features, int64_t row)
{
    int64_t at = row * forest->columns[node->input] + node->place, begin, end;
    switch (node->input) {
    case FOREST_NUMBERS:
        return isnan(features->numbers[at]);
    case FOREST_TRUTHS:
        return isnan(features->truths[at]);
    case FOREST_CATEGORIES:
        return features->categories[at] == -1;
    default:
        return !find_set(forest, features, row, node->place, &begin, &end);
    }
}

static bool meets(const struct forest *forest, const struct forest_node *node,
                  const struct forest_features *features, int64_t row)
{
    const float *numbers = features->numbers + row * forest->columns[FOREST_NUMBERS];
    const float *truths = features->truths + row * forest->columns[FOREST_TRUTHS];
    float x;
    switch (node->kind) {
    case FOREST_HIGHER:
        x = (node->input == FOREST_NUMBERS ? numbers : truths)[node->place];
        return isnan(x) ? node->if_missing : x >= node->value;
    case FOREST_OBLIQUE:
        return meets_oblique(forest, node, numbers);
    case FOREST_NOT_ZERO:
        x = truths[node->place];
        return isnan(x) ? node->if_missing : x != 0;
    case FOREST_IS_MISSING:
        return is_missing(forest, node, features, row);
    default:
        return node->input == FOREST_SETS ? meets_set(forest, node, features, row)
                                          : meets_category(forest, node, features, row);
    }
}

static const struct forest_node *find_leaf(const struct forest *forest, int tree,
                                           const struct forest_features *features, int64_t row)
{
    const struct forest_node *node = &forest->nodes[forest->roots[tree]];
    while (node->kind > FOREST_LEAF_OF_MANY)
        node = meets(forest, node, features, row) ? &forest->nodes[node->next] : node + 1;
    return node;
}

/* ---- sums ---- */

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static void softmax(float *x, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] = expf(x[i]);
    for (int i = 0; i < count; i++)
        x[i] = clamp(x[i] * (1 / sum), 0, 1);
}

/* Sums lie in the row of outputs; of a pair, the second one is the sum. */
static float *sums_of(const struct forest *forest, float *out, int64_t row)
{
    return out + row * forest->outputs_count + forest->is_pair;
}

static void clear_sums(const struct forest *forest, int64_t first, int64_t end, float *out)
{
    memset(out + first * forest->outputs_count, 0,
           (size_t)(end - first) * (size_t)forest->outputs_count * sizeof *out);
}

static void add_leaf(const struct forest *forest, const struct forest_node *leaf, float *sums)
{
    if (leaf->kind == FOREST_LEAF) {
        sums[leaf->place] += leaf->value;
        return;
    }
    for (int i = 0; i < forest->sums_count; i++)
        sums[i] += float_of_bits(forest->words[leaf->at + (uint32_t)i]);
}

static void finish(const struct forest *forest, float *sums)
{
    for (int i = 0; i < forest->sums_count; i++)
        sums[i] += forest->first[i];
    if (forest->finish == FOREST_SOFTMAX)
        softmax(sums, forest->sums_count);
    else if (forest->finish == FOREST_SIGMOID)
        sums[0] = clamp(1 / (1 + expf(-sums[0])), 0, 1);
    else if (forest->finish == FOREST_EXP)
        sums[0] = expf(clamp(sums[0], -EXP_MAX, EXP_MAX));
    if (forest->is_pair) {
        sums[0] = clamp(sums[0], 0, 1);
        sums[-1] = 1 - sums[0];
    }
}

/* ---- rows ---- */

static void add_plainly(const struct forest *forest, const struct forest_features *features,
                        int64_t row, float *sums)
{
    for (int tree = 0; tree < forest->trees_count; tree++)
        add_leaf(forest, find_leaf(forest, tree, features, row), sums);
}

void forest_predict_plainly(const struct forest *forest, const struct forest_features *features,
                            int64_t first, int64_t end, float *out)
{
    clear_sums(forest, first, end, out);
    for (int64_t row = first; row < end; row++) {
        float *sums = sums_of(forest, out, row);
        add_plainly(forest, features, row, sums);
        finish(forest, sums);
    }
}

/* A tree is walked by all rows of a block before the next one, so that it comes into the cache
 * once. */
#define GROUPS 8

static size_t group_values(const struct forest *forest)
{
    return (size_t)forest->walk_columns * FOREST_LANES;
}

size_t forest_scratch_bytes(const struct forest *forest)
{
    return forest->walk == NULL ? 0 : GROUPS * group_values(forest) * sizeof(uint32_t);
}

/* Adds a leaf that the walk of a tree has found. */
static inline void add_found(const struct forest *forest, const struct forest_tree *tree,
                             uint32_t leaf, float *sums)
{
    if (tree->place >= 0)
        sums[tree->place] += float_of_bits(leaf);
    else
        add_leaf(forest, &forest->nodes[leaf], sums);
}

static void add_groups(const struct forest *forest, const struct forest_features *features,
                       int64_t first, int groups, uint32_t *x, float *out)
{
    uint32_t leaves[FOREST_LANES];
    for (int i = 0; i < groups * FOREST_LANES; i++)
        forest_walk_put_row(forest, features, first + i, i % FOREST_LANES,
                            x + (size_t)(i / FOREST_LANES) * group_values(forest));
    for (int tree = 0; tree < forest->trees_count; tree++) {
        float *sums = sums_of(forest, out, first);
        for (int group = 0; group < groups; group++) {
            forest_walk_rows(forest, tree, x + (size_t)group * group_values(forest), leaves);
            for (int i = 0; i < FOREST_LANES; i++, sums += forest->outputs_count)
                add_found(forest, &forest->walk_trees[tree], leaves[i], sums);
        }
    }
}

static void add_row(const struct forest *forest, const struct forest_features *features,
                    int64_t row, uint32_t *x, float *sums)
{
    uint32_t leaves[FOREST_LANES];
    forest_walk_put_row(forest, features, row, 0, x);
    for (int tree = 0; tree < forest->trees_count; tree++) {
        if (tree % FOREST_LANES == 0)
            forest_walk_trees(forest, tree, x, leaves);
        add_found(forest, &forest->walk_trees[tree], leaves[tree % FOREST_LANES], sums);
    }
}

void forest_predict(const struct forest *forest, const struct forest_features *features,
                    int64_t first, int64_t end, void *scratch, float *out)
{
    if (forest->walk == NULL) {
        forest_predict_plainly(forest, features, first, end, out);
        return;
    }
    clear_sums(forest, first, end, out);
    int64_t row = first;
    while (end - row >= FOREST_LANES) {
        int64_t groups = (end - row) / FOREST_LANES;
        groups = groups < GROUPS ? groups : GROUPS;
        add_groups(forest, features, row, (int)groups, scratch, out);
        row += groups * FOREST_LANES;
    }
    for (; row < end; row++)
        add_row(forest, features, row, scratch, sums_of(forest, out, row));
    for (row = first; row < end; row++)
        finish(forest, sums_of(forest, out, row));
}

void forest_leaves(const struct forest *forest, const struct forest_features *features, int64_t row,
                   int32_t *out)
{
    for (int tree = 0; tree < forest->trees_count; tree++)
        out[tree] = (int32_t)find_leaf(forest, tree, features, row)->next;
}
