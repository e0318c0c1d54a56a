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

/* Builds the model once as a check, and notes the shape of its output and its loss. */
struct status layers_check(struct layers_model *model);

/* Builds the layers in order; errors stick in the context's builder. */
struct endpoint build_layers(struct layer_context *context, const struct layers_model *model,
                             struct endpoint x);

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out);

/* Adds labels, loss and, in EVAL, the number of right answers (loss.c). */
void build_loss(struct layer_context *context, const struct layers_model *model,
                enum layers_reduction reduction);

#endif
