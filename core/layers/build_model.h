/*
 * build_model: shared by the files that read a description and those that build graphs of it.
 * Internal to layers/.
 */
#ifndef LAYERS_BUILD_MODEL_H
#define LAYERS_BUILD_MODEL_H

#include "layers/layer.h"

/* compile_config and training_config (training.c). */
struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out);

/* Builds the model once as a check, and notes the shapes of its outputs and what follows
 * from its loss. `owner`: the model's arena. */
struct status layers_check(struct layers_model *model, struct arena *owner);

/* The most calls of layers, the most inputs of all of them together, and the most inputs or
 * outputs of a model. */
#define CALLS_MAX  4000
#define INPUTS_MAX 10000
#define PORTS_MAX  256

/* Reads the layers of a Functional model into calls and ports (functional.c); `layers` are the
 * entries of model->layers. The shapes of the outputs stay open. */
struct status functional_read(const struct json_value *config, const struct json_value *layers,
                              struct arena *arena, struct layers_model *model);
/* The shape of an input: null, then known dimensions. */
struct status input_shape_read(const struct json_value *value, struct arena *arena,
                               struct shape *out);
/* The value of "batch_shape" of a layer's entry, by any of its names; NULL: none. */
const struct json_value *entry_shape(const struct json_value *entry);
/* The layer's name: beside its config, or in it; NULL: none. */
const char *entry_name(const struct json_value *entry);

/* Adds placeholders for the inputs: "x", or their names if there are several. `batch` 0: any. */
void build_inputs(struct layer_context *context, const struct layers_model *model, int64_t batch);

/* Builds the calls in order, from out->inputs to the outputs of out->heads; errors stick in the
 * context's builder. */
void build_layers(struct layer_context *context, const struct layers_model *model);

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out);

/* Multiplies losses [batch, …] by the examples' weights, for which it adds a placeholder. Unless
 * the graph is weighted, it returns the losses (weights.c). */
struct endpoint build_weights(struct layer_context *context, struct endpoint losses);

#endif
