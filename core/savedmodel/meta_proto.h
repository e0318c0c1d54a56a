/*
 * meta_proto: reads the parts of a meta graph in saved_model.pb or export.meta that a loader needs.
 * protobuf-c's types end here.
 */
#ifndef SAVEDMODEL_META_PROTO_H
#define SAVEDMODEL_META_PROTO_H

#include "graph/signature.h"
#include "savedmodel/format.h"

/* A file under assets/, and the tensor to feed its path to. */
struct meta_asset {
    const char *tensor_name; /* "asset:0"; ":0" may be missing */
    const char *filename;
};

/* An object of a TF2 export, with the fields that the object graphs of saved_model.pb and of the
 * checkpoint share. */
struct object_child {
    int node;
    const char *name;
};
struct object_node {
    const struct object_child *children;
    int children_count;
    bool is_variable;           /* saved_model.pb */
    bool is_trainable;          /* saved_model.pb */
    const char *checkpoint_key; /* checkpoint: the key of VARIABLE_VALUE, or NULL */
    const char *full_name;      /* checkpoint: the variable's name, or NULL */
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
    const char *slipway_version;    /* NULL: Slipway did not write it */
    struct object_graph objects;    /* count 0: a TF1 export */
    struct map bound_inputs;        /* name of a function -> struct bound_inputs */
    /* Names of variables as TensorFlow 1 lists them: "dense/kernel:0" -> any value. */
    struct map trainable;
    bool lists_trainable; /* the file has such a collection */
};

/**
 * Reads the meta graph whose tag set equals `tags`. That of a session_bundle has the tag `serve`
 * alone.
 *
 * Owner   everything in `arena`; nothing refers to `file`
 * Errors  NOT_FOUND no such tag set; FAILED_PRECONDITION a Const without a value, several main
 *         ops; INTERNAL bytes that are not a SavedModel; for a session_bundle, those of
 *         session_bundle_upgrade. The texts are TensorFlow's and name `directory`
 */
struct status meta_read(struct bytes file, const struct model_file *kind, const char *directory,
                        const char *const *tags, int tags_count, struct arena *arena,
                        struct meta *out);

struct Tensorflow__MetaGraphDef;

/* The same, but gives the message, which lives in `arena`. That of a session_bundle is upgraded
 * (session_bundle_proto.h). */
struct status meta_choose(struct bytes file, const struct model_file *kind, const char *const *tags,
                          int tags_count, struct arena *arena,
                          struct Tensorflow__MetaGraphDef **out);

/* Releases the tensors of the graph and of the signatures, also after meta_read has failed. */
void meta_finish(struct meta *meta);

/* The checkpoint's _CHECKPOINTABLE_OBJECT_GRAPH. */
struct status meta_read_checkpoint_objects(struct bytes serialized, struct arena *arena,
                                           struct object_graph *out);

#endif
