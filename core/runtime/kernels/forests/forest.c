#include "runtime/kernels/forests/forest.h"

#include <math.h>
#include <stdlib.h>

#include "base/float_bits.h"

#define EXP_MAX 19.0f /* the bound of a sum under a Poisson loss */

void forest_destroy(struct forest *forest)
{
    if (forest != NULL)
        arena_destroy(forest->arena);
}

/* ---- conditions ---- */

/* TensorFlow takes values that the model does not know as number 0, and -1 as no value. */
static int32_t known_category(int32_t value, int32_t count)
{
    return value < -1 || value >= count ? 0 : value;
}

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
           known_category(features->set_values[*begin], forest->set_values[place]) >= 0;
}

static bool meets_set(const struct forest *forest, const struct forest_node *node,
                      const struct forest_features *features, int64_t row)
{
    int64_t at, end;
    if (!find_set(forest, features, row, node->place, &at, &end))
        return node->if_missing;
    for (; at < end; at++) {
        int32_t value = known_category(features->set_values[at], forest->set_values[node->place]);
        if (value < 0 ? node->if_missing : holds_value(forest, node, value))
            return true;
    }
    return false;
}

static bool meets_category(const struct forest *forest, const struct forest_node *node,
                           const struct forest_features *features, int64_t row)
{
    int32_t value =
        known_category(features->categories[row * forest->columns[FOREST_CATEGORIES] + node->place],
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
        x = numbers[node->place];
        return isnan(x) ? node->if_missing : x >= node->value;
    case FOREST_OBLIQUE:
        return meets_oblique(forest, node, numbers);
    case FOREST_TRUE:
        x = truths[node->place];
        return isnan(x) ? node->if_missing : x >= node->value;
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
}

void forest_predict(const struct forest *forest, const struct forest_features *features,
                    int64_t row, float *sums, float *out)
{
    for (int i = 0; i < forest->sums_count; i++)
        sums[i] = 0;
    for (int tree = 0; tree < forest->trees_count; tree++) {
        const struct forest_node *leaf = find_leaf(forest, tree, features, row);
        if (leaf->kind == FOREST_LEAF) {
            sums[leaf->place] += leaf->value;
            continue;
        }
        for (int i = 0; i < forest->sums_count; i++)
            sums[i] += float_of_bits(forest->words[leaf->at + (uint32_t)i]);
    }
    finish(forest, sums);
    if (forest->is_pair) {
        out[1] = clamp(sums[0], 0, 1);
        out[0] = 1 - out[1];
        return;
    }
    memcpy(out, sums, (size_t)forest->outputs_count * sizeof *out);
}

void forest_leaves(const struct forest *forest, const struct forest_features *features, int64_t row,
                   int32_t *out)
{
    for (int tree = 0; tree < forest->trees_count; tree++)
        out[tree] = (int32_t)find_leaf(forest, tree, features, row)->next;
}
