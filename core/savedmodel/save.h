/*
 * save: writes a SavedModel, or a session_bundle (format.h): a flat graph in the style of TF1 with
 * resource variables, which tf.saved_model.load, TensorFlow Serving and this project's loader all
 * read. The variables' values come from a `value_source` in chunks, so it needs memory only for a
 * chunk.
 */
#ifndef SAVEDMODEL_SAVE_H
#define SAVEDMODEL_SAVE_H

#include "graph/build.h"
#include "graph/signature.h"
#include "savedmodel/format.h"

/* An iterator over the chunks of one variable after the other. The values may come from a ps over a
 * channel, from a checkpoint, or from memory. */
struct value_source {
    /* Begins variable `name`; its dtype and shape must be those declared. */
    struct status (*begin)(struct value_source *source, const char *name);
    /* The next chunk of that variable; size 0: its end. Valid until the next call. Strings come as
     * an array of struct bytes, all in one chunk. */
    struct status (*next)(struct value_source *source, struct bytes *chunk);
    /* Returns the first dimension of a variable that is declared with -1 there. NULL: the source
     * has no such variables. */
    struct status (*count_rows)(struct value_source *source, const char *name, int64_t *rows);
};

struct saved_variable {
    const char *name; /* its checkpoint key, VarHandleOp node and shared_name */
    enum dtype dtype;
    struct shape shape; /* dimension 0 may be -1: the source knows it */
    bool trainable;
};

struct saved_asset {
    const char *tensor_name; /* "asset:0" */
    const char *filename;
    struct bytes content;
};

struct saved_model {
    enum savedmodel_format format;
    struct graph *graph; /* with the VarHandleOps; savedmodel_write adds the save/ sub-graph */
    const struct signature *signatures;
    int signatures_count;
    const struct saved_variable *variables; /* any order */
    int variables_count;
    const char *init_op; /* node name, or NULL */
    const struct saved_asset *assets;
    int assets_count;
    struct bytes compile_config; /* of a SavedModel, see format.h; empty: none */
};

/**
 * Writes `directory`, which must be absent or empty. Everything goes into a sibling
 * `directory.tmp-<pid>-<n>`, is fsynced and renamed; then the parent is fsynced. A failure leaves
 * nothing behind.
 *
 * Errors  ALREADY_EXISTS not empty; any error of the file system or the source
 */
struct status savedmodel_write(const char *directory, const struct saved_model *model,
                               struct value_source *source);

/* The same, but succeeds if the directory already has the same content, byte for byte: for a
 * process that may have been killed after it wrote the directory. */
struct status savedmodel_write_again(const char *directory, const struct saved_model *model,
                                     struct value_source *source);

/* Writes assets.extra/compile_config.json. */
struct status savedmodel_write_compile_config(const char *directory, struct bytes compile_config,
                                              struct arena *arena);

/* Fails if savedmodel_write could not make this directory. It makes and removes a temporary
 * sibling, so that the error comes before the training and not after it. */
struct status savedmodel_check_target(const char *directory);

#endif
