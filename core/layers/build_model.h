/*
 * build_model: declarations shared by the files that read a description and the files that build
 * graphs from it. Internal to layers/.
 */
#ifndef LAYERS_BUILD_MODEL_H
#define LAYERS_BUILD_MODEL_H

#include "layers/layer.h"

/* Reads compile_config and training_config (training.c). */
struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out);
/* Reads the optimizer in compile_config: {"class_name", "config"}; null: leaves *out unchanged
 * (optimizer_read.c). INVALID_ARGUMENT, UNIMPLEMENTED: names the setting. */
struct status optimizer_read(const struct json_value *value, struct arena *arena,
                             struct layers_training *out);

/* Builds the model once to check it. Records the shapes of its outputs and everything that
 * follows from its loss (check_model.c). `owner`: the model's arena. */
struct status layers_check(struct layers_model *model, struct arena *owner);

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

/* Adds placeholders for the inputs: "x", or their names if there are several. `batch` 0: any. */
void build_inputs(struct layer_context *context, const struct layers_model *model, int64_t batch);

/* Builds the calls in order, from out->inputs to the outputs of out->heads; the first error
 * stays in the context's builder. */
void build_layers(struct layer_context *context, const struct layers_model *model);

/* Builds in parts, also a model inside a model. `ios` [model->calls_count] holds the inputs and
 * outputs of each call. First place the inputs, then build the calls in order, then take the
 * outputs. */
void place_input(struct layer_io *ios, const struct layers_port *port, struct layer_value value);
void build_calls(struct layer_context *context, const struct layers_model *model,
                 struct layer_io *ios);
struct layer_value output_of(struct layer_context *context, const struct layers_model *model,
                             const struct layers_port *port, const struct layer_io *ios);
/* Calls see the mask of this tensor again, also if an attention has taken it away. */
void give_mask_back(struct layer_context *context, struct endpoint value);

/* A node that fills all tables; NULL: there are none. */
struct node *layers_build_init(struct layer_context *context);

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out);

/* The shape of the weights of examples: [-1], or [-1, steps…] if the model's only output has
 * losses of steps. In the second case a row may also have a single weight, of shape [1, …], for
 * all its steps (weights.c). */
struct shape weights_shape(const struct layers_model *model);
/* Adds the placeholder of the weights if the graph is weighted (weights.c). */
void place_weights(struct layer_context *context, const struct layers_model *model);

/* The weights of a weighted graph, reshaped to the rank of `losses` so that they broadcast over
 * a row or over the outputs of a step (weights.c). */
struct endpoint spread_weights(struct layer_context *context, const struct shape *losses);

/* Multiplies losses [batch, …] by the examples' weights. Returns the losses unchanged unless the
 * graph is weighted (weights.c). */
struct endpoint build_weights(struct layer_context *context, struct endpoint losses);

/* Multiplies losses by the mask of the output (a null node: none), so that their mean or sum
 * covers only the unmasked steps (weights.c). `by_output`: the losses have one more dimension
 * than the mask. `mean`: they will be reduced to their mean. */
struct endpoint build_loss_mask(struct layer_context *context, struct endpoint mask,
                                struct endpoint losses, bool by_output, bool mean);

#endif
