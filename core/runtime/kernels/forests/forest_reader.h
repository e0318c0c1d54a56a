/*
 * forest_reader: the state of forest_parse, which its parts share. forest_parse.c reads the headers
 * and says what comes after what; forest_columns.c reads the columns and finds the model's features
 * among them; forest_nodes.c reads trees and leaves; forest_conditions.c reads conditions.
 *
 * Field readers return false if the field is another one.
 */
#ifndef KERNELS_FORESTS_FOREST_READER_H
#define KERNELS_FORESTS_FOREST_READER_H

#include "base/float_bits.h"
#include "proto/wire.h"
#include "runtime/kernels/forests/forest_parse.h"

/* The fields of messages that two parts read. */
enum header_field {
    HEADER_KIND = 1,
    HEADER_TASK = 2,
    HEADER_LABEL = 3,
    HEADER_FEATURE = 5,
    HEADER_IS_PROBABILITY = 8,
    HEADER_POSTPROCESSOR = 16
};
enum categorical_field {
    CATEGORICAL_MOST_FREQUENT = 1,
    CATEGORICAL_COUNT = 2,
    CATEGORICAL_IS_INTEGER = 5,
    CATEGORICAL_ITEM = 7
};

enum forest_task { CLASSIFICATION = 1, REGRESSION, RANKING, CATEGORICAL_UPLIFT, NUMERICAL_UPLIFT };
enum forest_column_type {
    NUMERICAL = 1,
    CATEGORICAL = 4,
    CATEGORICAL_SET = 5,
    BOOLEAN = 7,
    DISCRETIZED = 9
};

struct forest_column {
    int64_t type; /* enum forest_column_type, or another number */
    struct bytes name;
    double mean;
    struct bytes boundaries;             /* DISCRETIZED: floats */
    struct bytes categorical;            /* CATEGORICAL, CATEGORICAL_SET: the message */
    int64_t most_frequent, values_count; /* of the same */
    bool is_integer;                     /* of the same: the values have no texts */
    int64_t true_count, false_count;     /* BOOLEAN */
    int place;                           /* in its input; -1: no feature of the model */
};

struct forest_reader {
    const struct forest_source *source;
    struct arena *scratch;
    struct forest *forest;

    /* header.pb */
    bool is_boosted;     /* boosted trees; otherwise a random forest */
    bool is_probability; /* a classifier of two classes has two outputs */
    int64_t task;        /* enum forest_task, or another number */
    int64_t label;       /* its column */

    /* data_spec.pb */
    struct forest_column *columns;
    int columns_count;
    int64_t classes; /* of the label of a CLASSIFICATION */

    /* The header of the trees. */
    int64_t trees_count;
    bool votes;         /* a random forest: each tree votes for one class */
    int64_t loss;       /* boosted trees, as the rest: an index of `losses` */
    int64_t each_round; /* trees that a round of boosting adds: one for each sum */
    bool gives_logits;

    /* The nodes are read twice: once to count them, and once to store them. */
    bool stores;
    size_t nodes, words; /* so far, as the next two */
    int64_t trees;
    uint32_t leaves; /* of this tree */
    bool in_tree;
    size_t open;   /* conditions of the tree whose positive child has not begun */
    uint32_t last; /* the innermost of these; each is linked to the next by forest_node.next */
    /* Does each condition answer for a missing value as for the usual value? Then TensorFlow runs
     * the forest with its fast engines, which know no missing values. */
    bool is_imputed;
};

static inline struct status forest_damaged(const char *what)
{
    return status_error(STATUS_DATA_LOSS, "decision forest: %s", what);
}

static inline bool field_get_int(const struct wire_field *field, uint32_t number, int64_t *out)
{
    if (!wire_is(field, number, WIRE_VARINT))
        return false;
    *out = (int64_t)field->value;
    return true;
}

static inline bool field_get_flag(const struct wire_field *field, uint32_t number, bool *out)
{
    if (!wire_is(field, number, WIRE_VARINT))
        return false;
    *out = field->value != 0;
    return true;
}

static inline bool field_get_text(const struct wire_field *field, uint32_t number,
                                  struct bytes *out)
{
    if (!wire_is(field, number, WIRE_BYTES))
        return false;
    *out = field->bytes;
    return true;
}

static inline bool field_get_float(const struct wire_field *field, uint32_t number, float *out)
{
    if (!wire_is(field, number, WIRE_FIXED32))
        return false;
    *out = float_of_bits((uint32_t)field->value);
    return true;
}

/* The next number of a repeated field, packed or not: of `type` bytes. */
bool forest_next_number(struct wire_field *field, enum wire_type type, uint64_t *out);

static inline int forest_input_of(const struct forest_column *column)
{
    switch (column->type) {
    case NUMERICAL:
    case DISCRETIZED:
        return FOREST_NUMBERS;
    case BOOLEAN:
        return FOREST_TRUTHS;
    case CATEGORICAL:
        return FOREST_CATEGORIES;
    case CATEGORICAL_SET:
        return FOREST_SETS;
    default:
        return FOREST_INPUTS;
    }
}

/* Room for words at node->at; NULL while they are only counted. */
static inline uint32_t *forest_take_words(struct forest_reader *r, struct forest_node *node,
                                          size_t count)
{
    node->at = (uint32_t)r->words;
    r->words += count;
    return r->stores ? &r->forest->words[node->at] : NULL;
}

/* data_spec.pb. */
struct status forest_read_columns(struct forest_reader *r);
/* The columns that header.pb names: their places in the inputs. */
struct status forest_read_features(struct forest_reader *r);
/* All trees; counts the nodes, or stores them. */
struct status forest_read_nodes(struct forest_reader *r);
/* A node's condition. */
struct status forest_read_condition(struct forest_reader *r, struct bytes bytes,
                                    struct forest_node *node);

#endif
