/*
 * sequence_example: parses serialized tf.SequenceExamples into tensors.
 *
 * It does the work of ParseSequenceExample and ParseSequenceExampleV2 (sequence_parse) and of
 * ParseSingleSequenceExample (sequence_parse_single); their kernels only fetch attributes and
 * inputs. A SequenceExample has the features of an Example, its context, and lists of features:
 *
 *     struct sequence_feature context[] = { … }, lists[] = { … };
 *     struct sequence_spec spec = { { context, 1 }, { lists, 2 } };
 *     TRY(sequence_parse(&spec, serialized, names, pool));      // fills in feature.made
 *
 * The error texts are TensorFlow's (its example_proto_fast_parsing.cc and example_parsing_ops.cc).
 */
#ifndef STORAGE_SEQUENCE_EXAMPLE_H
#define STORAGE_SEQUENCE_EXAMPLE_H

#include "storage/example.h"

enum { SEQUENCE_MADE_MAX = 3 };

struct sequence_feature {
    enum example_form form;
    struct bytes key;
    enum dtype dtype;              /* DT_FLOAT, DT_INT64 or DT_STRING */
    struct shape shape;            /* dense: of one row */
    enum dtype splits_type;        /* ragged */
    const struct tensor *fallback; /* dense, of the context: the default value, or empty */
    bool may_be_missing;           /* dense, in a list: it then has no rows */
    /* The results. Sparse: indices, values, shape. Dense: values and, of a list, the number of rows
     * of each example. Ragged: values, row splits of the examples and, of a list, of its rows. */
    struct tensor made[SEQUENCE_MADE_MAX];
};

/* Features in the order dense, sparse, ragged. */
struct sequence_features {
    struct sequence_feature *items;
    int count;
};

struct sequence_spec {
    struct sequence_features context, lists;
    /* Called periodically: a failure ends the parsing (such as a deadline). NULL: none */
    struct status (*check)(const void *context);
    const void *check_context;
};

/**
 * Parses a vector of serialized SequenceExamples, or a scalar: then the results have no batch
 * dimension.
 *
 * Shapes  serialized [b] or []; names [b], or empty
 * Owner   feature.made are the caller's (sequence_release), also after a failure; their buffers
 *         come from `pool`. Strings point into `serialized` and the default values
 * Errors  INVALID_ARGUMENT with TensorFlow's texts; RESOURCE_EXHAUSTED
 */
struct status sequence_parse(struct sequence_spec *spec, const struct tensor *serialized,
                             const struct tensor *names, struct tensor_pool *pool);

/* Parses one SequenceExample as a protobuf message, so unknown fields and any order of fields are
 * allowed; otherwise as above. No ragged features. */
struct status sequence_parse_single(struct sequence_spec *spec, struct bytes serialized,
                                    struct bytes name, struct tensor_pool *pool);

void sequence_release(struct sequence_spec *spec);

#endif
