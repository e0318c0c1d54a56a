/*
 * read_layer: reads the layers of a description, and finds their classes. Internal to layers/.
 */
#ifndef LAYERS_READ_LAYER_H
#define LAYERS_READ_LAYER_H

#include "layers/layer.h"

/* Finds a class by Keras' module and name; NULL: unknown. Operations are in the modules
 * keras.src.ops.numpy, keras.src.ops.nn and so on. */
const struct layer_class *layer_class_find(const char *module, const char *name);
/* Does a module of Keras hold operations? */
bool layer_module_is_of_ops(const char *module);
/* The error for an unknown class: UNIMPLEMENTED if Keras has it, INVALID_ARGUMENT otherwise. */
struct status layer_class_unknown(const char *module, const char *name, struct arena *arena);
/* All names that layer_class_find knows in this module. */
const char *layer_class_names(const char *module, struct arena *arena);

/* Reading a layer and its parts. `depth`: the number of models around the layer. */
struct status layer_read(const struct json_value *entry, int depth, struct arena *arena,
                         struct layer *out);
/* Is it a class of models, which are layers too? */
bool is_model_class(const char *class_name);
/* Reads a model that is a layer (parse.c). */
struct status inner_model_read(const struct json_value *entry, int depth, struct arena *arena,
                               struct layer *out);
/* Names the layers inside another layer as Keras does: "outer/inner", or "outer". Layers inside
 * a frozen layer are frozen. */
struct status layer_name_inner(struct layer *layer, bool keras2, struct arena *arena);
/* Checks a name of a layer or port: letters, digits, '_', '.', '-', '/'. */
struct status check_layer_name(const char *name);

#endif
