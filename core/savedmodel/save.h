/*
 * save: writes a SavedModel: a TF1-style flat graph with resource variables, as
 * savedmodel-format.md §16 says that all three loaders need. The variables' values come from a
 * `value_source`, chunk by chunk: memory for chunks, not for the model.
 */
#ifndef SAVEDMODEL_SAVE_H
#define SAVEDMODEL_SAVE_H

#include "graph/build.h"
#include "savedmodel/signature.h"

/*
 * Where the values come from: an iterator over the chunks of one variable after the other, in the
 * order asked for. Implementations: ps slices over a channel, a checkpoint, memory
 * (value_source_memory).
 */
struct value_source {
    /* Begins variable `name`; its dtype and shape must be those declared. */
    struct status (*begin)(struct value_source *source, const char *name);
    /* The next bytes of it, in order; size 0: its end. Valid until the next call. */
    struct status (*next)(struct value_source *source, struct bytes *chunk);
};

struct saved_variable {
    const char *name; /* its checkpoint key, VarHandleOp node and shared_name */
    enum dtype dtype;
    struct shape shape;
    bool trainable;
};

struct saved_asset {
    const char *tensor_name; /* "asset:0" */
    const char *filename;
    struct bytes content;
};

struct saved_model {
    struct graph *graph; /* the serving graph, VarHandleOps included; the save/ sub-graph is added
                            to it by savedmodel_write */
    const struct signature *signatures;
    int signatures_count;
    const struct saved_variable *variables; /* any order */
    int variables_count;
    const char *init_op; /* node name, or NULL */
    const struct saved_asset *assets;
    int assets_count;
};

/**
 * Writes `directory`, which must not exist or hold no file: everything into a sibling
 * `directory.tmp-<pid>-<n>`, fsynced, then renamed, then the parent fsynced. On failure nothing is
 * left behind.
 *
 * Errors  ALREADY_EXISTS not empty; what the file system or the source says
 */
struct status savedmodel_write(const char *directory, const struct saved_model *model,
                               struct value_source *source);

/* The same, but a directory that holds what would be written, byte for byte, is left as it is: OK.
 * For a process that may have been killed after it had written it. */
struct status savedmodel_write_again(const char *directory, const struct saved_model *model,
                                     struct value_source *source);

/* Could savedmodel_write make this directory? Tried now (a temporary sibling is made and removed),
 * so that nobody trains in vain. */
struct status savedmodel_check_target(const char *directory);

#endif
