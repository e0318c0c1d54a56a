/*
 * loss: a kind of loss is one row of the table in losses/formulas.c: Keras' name, its options, and
 * the function that adds it to a graph. Internal to layers/.
 */
#ifndef LAYERS_LOSSES_LOSS_H
#define LAYERS_LOSSES_LOSS_H

#include "layers/layer.h"

struct loss_class;

/* A loss of a description. */
struct loss {
    const struct loss_class *class; /* NULL: the description names none */
    struct arg_value *args;         /* in the order of class->args */
    const char *note;               /* what to tell who trains with it; NULL: nothing */
};

/* Reads "mse" or {"class_name": "MeanSquaredError", "config": {…}}; null: out->class is NULL.
 * *reduction: the config's word ("sum"), or NULL. */
struct status loss_read(const struct json_value *value, struct arena *arena, struct loss *out,
                        const char **reduction);

/* The default loss if the description has none: cross-entropy for a softmax, otherwise mean
 * square. */
struct loss loss_default(struct endpoint output, struct arena *arena);

/* Keras' name of the function: "mean_squared_error". */
const char *loss_name(const struct loss *loss);
enum layers_labels loss_labels(const struct loss *loss);
enum layers_kind loss_kind(const struct loss *loss, const struct shape *output);
bool loss_from_logits(const struct loss *loss);
/* Is there a loss per step or pixel of an output that has several, rather than one per row? */
bool loss_has_steps(const struct loss *loss);
/* The reduction if the description has none: "sum", or Keras' "sum_over_batch_size". */
const char *loss_default_reduction(const struct loss *loss);
/* Finds an option of the loss; NULL: it has no such option. */
const struct arg_value *loss_option(const struct loss *loss, const char *name);

/* Checks that the loss accepts the output. INVALID_ARGUMENT: it does not. */
struct status loss_check(const struct layers_model *model, int output,
                         const struct layers_head *heads);

bool loss_is_known(const char *name);
/* Adds the losses per example, or per output if the loss of an example is the mean over its
 * outputs. `output` and `labels` are a head's predictions and truths. *counted: bool, the losses
 * to count; a null node: all. */
struct endpoint loss_values(struct layer_context *context, const struct loss *loss,
                            struct endpoint output, struct endpoint labels,
                            struct endpoint *counted);
/* Does Keras' loss take one-hot rows where this one takes class numbers? */
bool loss_is_of_one_hot(const struct loss *loss);
/* The class whose examples are ignored; NULL: none. */
const int64_t *loss_ignored_class(const struct loss *loss);

/* Adds the label placeholders of all outputs with a loss, and the sum of the losses. */
void loss_build(struct layer_context *context, const struct layers_model *model,
                enum layers_reduction reduction);

#endif
