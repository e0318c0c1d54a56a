/*
 * forest_parse: makes a forest of the messages of a model of Yggdrasil Decision Forests, the
 * library below TensorFlow Decision Forests. The files may be damaged: all indices and counts are
 * checked here, and forest.h relies on them.
 */
#ifndef KERNELS_FORESTS_FOREST_PARSE_H
#define KERNELS_FORESTS_FOREST_PARSE_H

#include "runtime/kernels/forests/forest.h"

#define FOREST_SHARDS_MAX 100000

struct forest_source {
    struct bytes header;    /* header.pb */
    struct bytes data_spec; /* data_spec.pb: the columns */
    struct bytes trees;     /* the file that forest_trees_file names */
    struct bytes *nodes;    /* the bodies of nodes-…-of-…, decompressed */
    int nodes_count;
    /* It was asked for numbers of leaves, which TensorFlow's fast engines lack */
    bool gives_leaves;
    /* May the forest take that much memory? Called before it does. */
    struct status (*may_take)(void *argument, size_t bytes);
    void *argument;
};

/* The name of the file of the trees' header, such as "random_forest_header.pb". UNIMPLEMENTED:
 * another kind of model. */
struct status forest_trees_file(struct bytes header, const char **out);

/* The number of files of nodes. UNIMPLEMENTED: they are stored in another format. */
struct status forest_nodes_count(struct bytes trees, int *out);

/* Removes the head of a file of nodes; the rest may be compressed. */
struct status forest_nodes_body(struct bytes *file, bool *is_gzip);

/**
 * Owner   the caller: forest_destroy
 * Errors  DATA_LOSS damaged; UNIMPLEMENTED a loss, task, feature or condition that is not known
 */
struct status forest_parse(const struct forest_source *source, struct forest **out);

#endif
