/*
 * restore_objects: finds the checkpoint key of each variable handle by the object graphs of a TF2
 * export.
 *
 *     call node of the graph -> its function's bound inputs -> object of saved_model.pb
 *         -> the object of the checkpoint on the same path from the root -> checkpoint key
 *
 * Names do not help: tf.saved_model.save may give several objects one name, and adds suffixes to
 * the names of their handles in an unspecified order. Source: TensorFlow's saved_model/save.py
 * (_SaveableView) and load.py (_setup_function_captures).
 */
#ifndef SAVEDMODEL_RESTORE_OBJECTS_H
#define SAVEDMODEL_RESTORE_OBJECTS_H

#include "savedmodel/meta_proto.h"
#include "storage/bundle.h"

struct object_key {
    const char *key;
    const char *rival; /* another key that the files give to the same handle; NULL: none */
    bool is_trainable;
};

/**
 * Fills `keys` (shared name of a VarHandleOp -> struct object_key) for each handle that the graph
 * passes to a function as a bound input. Empty if the checkpoint holds no object graph. Fills
 * `frozen`, unless it is NULL, with the keys of the variables that the model lists as not
 * trainable.
 *
 * Owner   everything in `arena`
 * Errors  DATA_LOSS an object graph that does not parse or contradicts the graph
 */
struct status restore_object_keys(const struct meta *meta, const struct bundle *bundle,
                                  struct arena *arena, struct map *keys, struct map *frozen);

#endif
