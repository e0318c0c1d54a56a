/*
 * build_model: builds the layers of a model as nodes of a graph. layers_build (build_graph.c) adds
 * the loss, the metrics and the gradients. Internal to layers/.
 */
#ifndef LAYERS_BUILD_MODEL_H
#define LAYERS_BUILD_MODEL_H

#include "layers/layer.h"

/* A context for the layers of this model; the graph is out->graph. */
struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out);

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

/* Builds the model once to check it. Records the shapes of its outputs and everything that
 * follows from its loss (check_model.c). `owner`: the model's arena. */
struct status layers_check(struct layers_model *model, struct arena *owner);

#endif
