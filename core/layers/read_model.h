/*
 * read_model: reads the parts of a description: inputs, the calls of a Functional model, and what
 * compile() sets. parse.c reads the whole and read_layer.h its layers. Internal to layers/.
 */
#ifndef LAYERS_READ_MODEL_H
#define LAYERS_READ_MODEL_H

#include "layers/layer.h"

/* Limits: the calls of layers, the inputs of all calls together, and the inputs or outputs of a
 * model. */
#define CALLS_MAX  4000
#define INPUTS_MAX 10000
#define PORTS_MAX  256

/* Reads the layers of a Functional model into calls and ports (functional.c); `layers` are the
 * entries of model->layers. Leaves the shapes of the outputs unset. */
struct status functional_read(const struct json_value *config, const struct json_value *layers,
                              struct arena *arena, struct layers_model *model);
/* Sets the type, layout and shape of an input. `layer`: its InputLayer, or NULL if there is
 * none. */
struct status input_port_read(const struct layer *layer, const struct json_value *shape,
                              struct arena *arena, struct layers_port *out);
/* The parts of sparse and ragged inputs must not have the names of other inputs. */
struct status input_names_check(const struct layers_model *model);
/* The value of "batch_shape" of a layer's entry, by any of its names; NULL: none. */
const struct json_value *entry_shape(const struct json_value *entry);
/* The layer's name: beside its config, or in it; NULL: none. */
const char *entry_name(const struct json_value *entry);

/* Reads compile_config and training_config (training.c). */
struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out);
/* Reads the optimizer in compile_config: {"class_name", "config"}; null: leaves *out unchanged
 * (optimizer_read.c). INVALID_ARGUMENT, UNIMPLEMENTED: names the setting. */
struct status optimizer_read(const struct json_value *value, struct arena *arena,
                             struct layers_training *out);

#endif
