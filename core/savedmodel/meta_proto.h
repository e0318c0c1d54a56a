/*
 * meta_proto: saved_model.pb to what a loader needs of one meta graph: the edge where protobuf-c's
 * types end. Source: savedmodel-format.md §1, §3.1, §13 to §15.
 */
#ifndef SAVEDMODEL_META_PROTO_H
#define SAVEDMODEL_META_PROTO_H

#include "savedmodel/signature.h"

/* A file under assets/ and the tensor that is fed its path. */
struct meta_asset {
    const char *tensor_name; /* "asset:0"; ":0" may be missing */
    const char *filename;
};

/* An object of a TF2 export: what the object graphs of saved_model.pb and of the checkpoint have in
 * common. */
struct object_child {
    int node;
    const char *name;
};
struct object_node {
    const struct object_child *children;
    int children_count;
    bool is_variable;           /* saved_model.pb */
    const char *checkpoint_key; /* checkpoint: the key of VARIABLE_VALUE, or NULL */
};
struct object_graph {
    const struct object_node *nodes;
    int count;
};

/* The objects that a function captured: the last inputs of each call of it, in this order. */
struct bound_inputs {
    const int *objects; /* ids in saved_model.pb's object graph */
    int count;
};

struct meta {
    struct graph *graph;
    struct signature *signatures; /* sorted by name */
    int signatures_count;
    const char *filename_tensor; /* saver_def; NULL: no saver */
    const char *restore_op;
    const char *init_op; /* node name, or NULL */
    struct meta_asset *assets;
    int assets_count;
    const char *tensorflow_version; /* "" if it does not say */
    struct object_graph objects;    /* count 0: a TF1 export */
    struct map bound_inputs;        /* name of a function -> struct bound_inputs */
};

/**
 * Reads the meta graph whose tag set equals `tags`.
 *
 * Owner   everything in `arena`; it does not refer to `file`
 * Errors  NOT_FOUND no such tag set; FAILED_PRECONDITION a Const without value, several main ops;
 * INTERNAL bytes that are no SavedModel; texts as TensorFlow's (serving-api.md §10.7). `directory`
 * is for the texts
 */
struct status meta_read(struct bytes file, bool is_text, const char *directory,
                        const char *const *tags, int tags_count, struct arena *arena,
                        struct meta *out);

/* Releases the tensors of the graph and of the signatures; of one that was not read to its end,
 * too. */
void meta_finish(struct meta *meta);

/* The checkpoint's _CHECKPOINTABLE_OBJECT_GRAPH. */
struct status meta_read_checkpoint_objects(struct bytes serialized, struct arena *arena,
                                           struct object_graph *out);

#endif
