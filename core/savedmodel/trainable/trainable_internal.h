/*
 * trainable_internal: the type that trainable.c (opening), trainable_keys.c (the variables and
 * their keys), trainable_graph.c and trainable_write.c share.
 */
#ifndef SAVEDMODEL_TRAINABLE_INTERNAL_H
#define SAVEDMODEL_TRAINABLE_INTERNAL_H

#include "savedmodel/meta_proto.h"
#include "savedmodel/trainable/trainable.h"
#include "storage/bundle.h"

struct trainable {
    struct arena *arena;
    const char *directory;
    struct meta meta;
    struct bundle *bundle;
    const struct signature *signature;
    const struct signature_tensor **outputs; /* that are trained */
    int outputs_count;
    bool *is_example; /* by input of the signature */
    enum input_rows {
        ROWS_FIRST,
        ROWS_OF_VALUES,
        ROWS_OF_SPLITS,
        ROWS_NONE
    } *
        input_rows; /* the same */
    struct trainable_variable *variables;
    int variables_count;
    struct map by_name; /* name -> struct trainable_variable */
    struct map by_key;  /* key of the checkpoint -> the trained variable whose value it holds */
};

/* The request for the part of the graph that these outputs need. */
struct status trainable_request(const struct trainable *trainable, struct arena *arena,
                                struct flatten_request *out);

/* Lists the variables that the signature needs, and the keys of their values. */
struct status trainable_list_variables(struct trainable *trainable);

/* Applies the patterns and checks what is left to train. */
struct status trainable_freeze(struct trainable *trainable, const char *patterns);

#endif
