/*
 * forest: a model of TensorFlow Decision Forests: trees of conditions on features, and a sum of
 * their leaves for each row. forest_file.h reads it from the files of a model.
 *
 * The nodes of a tree are in the order of the file: a node, the tree of its negative child, the
 * tree of its positive child. Every step thus leads forward, and ends at a leaf.
 */
#ifndef KERNELS_FORESTS_FOREST_H
#define KERNELS_FORESTS_FOREST_H

#include "base/arena.h"
#include "base/bytes.h"

enum forest_input { FOREST_NUMBERS, FOREST_TRUTHS, FOREST_CATEGORIES, FOREST_SETS, FOREST_INPUTS };

enum forest_node_kind {
    FOREST_LEAF,         /* adds `value` to the sum `place` */
    FOREST_LEAF_OF_MANY, /* adds words[at …], a float for each sum */
    FOREST_IS_MISSING,   /* the feature has no value */
    FOREST_HIGHER,       /* number, or truth, >= value */
    FOREST_OBLIQUE,      /* a weighted sum of numbers >= value; words[at …] are `count` terms */
    FOREST_NOT_ZERO,     /* truth != 0 */
    FOREST_IN_LIST,      /* category, or one of the set, is in words[at …], sorted */
    FOREST_IN_BITS,      /* category, or one of the set, is a bit of words[at …] */
};

struct forest_node {
    uint8_t kind;    /* enum forest_node_kind */
    uint8_t input;   /* enum forest_input, of the feature */
    bool if_missing; /* the answer for a feature without a value */
    int32_t place;   /* the column of the input, or the sum of a leaf */
    uint32_t next;   /* a condition: the positive child; a leaf: its number in its tree */
    uint32_t at;     /* in words */
    uint32_t count;  /* of words in a list, of bits, or of terms */
    float value;
};

/* A term of an oblique condition, as three words: column, weight, value where there is none. */
#define FOREST_TERM_WORDS 3

enum forest_finish { FOREST_AS_IT_IS, FOREST_SIGMOID, FOREST_SOFTMAX, FOREST_EXP };

/* A tree of a walk. */
struct forest_tree {
    uint32_t root, depth;
    int32_t place; /* the sum of all its leaves; -1: they have several */
};

struct forest {
    struct arena *arena; /* of all below */
    struct forest_node *nodes;
    uint32_t *words;
    uint32_t *roots; /* of the trees, in nodes */
    size_t nodes_count, words_count;
    int trees_count;
    int columns[FOREST_INPUTS];       /* features of each input */
    int32_t *categories, *set_values; /* by column: the number of values */
    /* The value of a column that stands for a missing one, as forest_walk reads it. */
    uint32_t *usual[FOREST_SETS];
    int sums_count;
    float *first; /* what each sum begins with */
    enum forest_finish finish;
    bool is_pair; /* one sum p, two outputs: 1 - p and p */
    int outputs_count;
    struct bytes *names; /* of the outputs */

    struct walk_node *walk; /* NULL: none */
    struct forest_tree *walk_trees;
    int walk_columns;
};

void forest_destroy(struct forest *forest); /* accepts NULL */

/* The features of a batch: a matrix for each kind, and for sets the values and their splits, a set
 * for each row and column. */
struct forest_features {
    const float *numbers, *truths;
    const int32_t *categories, *set_values;
    const int64_t *set_splits;
};

/* TensorFlow takes values that the model does not know as number 0, and -1 as no value. */
static inline int32_t forest_known_category(int32_t value, int32_t count)
{
    return value < -1 || value >= count ? 0 : value;
}

/* Rows first to end of out: [rows, outputs_count]; `scratch` has room for forest_scratch_bytes. */
void forest_predict(const struct forest *forest, const struct forest_features *features,
                    int64_t first, int64_t end, void *scratch, float *out);
size_t forest_scratch_bytes(const struct forest *forest);
/* The same values row by row and tree by tree, for any forest. */
void forest_predict_plainly(const struct forest *forest, const struct forest_features *features,
                            int64_t first, int64_t end, float *out);
/* The numbers of the leaves that the row reaches: [trees_count]. */
void forest_leaves(const struct forest *forest, const struct forest_features *features, int64_t row,
                   int32_t *out);

#endif
