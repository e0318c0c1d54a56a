/*
 * sampled_softmax: what the layer SampledSoftmax leaves to the loss. A softmax over many classes
 * costs as much as all of them. A training step computes it for the right class and some others
 * that are drawn, as tf.nn.sampled_softmax_loss does:
 *
 *     logit[c] = x · kernel[c] + bias[c] - log(how often c is expected among the drawn ones)
 *     loss     = the softmax cross-entropy of the right class among the drawn ones
 *
 * The layer does not know the labels. In TRAIN its output is its input, which the loss finds here;
 * in EVAL and SERVE it is the softmax of all classes. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_SAMPLED_SOFTMAX_H
#define LAYERS_CLASSES_SAMPLED_SOFTMAX_H

#include "layers/layer.h"

/* The sample of a SampledSoftmax in TRAIN. */
struct sampled_output {
    const struct layer *layer;
    struct endpoint output;       /* the layer's input */
    struct endpoint classes;      /* int64 [num_sampled]: each once */
    struct endpoint draws;        /* double scalar: how many it took to find these */
    struct endpoint kernel, bias; /* their rows */
    struct sampled_output *next;
};

/* The sample that belongs to an output; NULL: the output is none of a SampledSoftmax. */
const struct sampled_output *sampled_find(const struct layer_context *context,
                                          struct endpoint output);

/* The losses [batch] of labels, int32 [batch]. */
struct endpoint sampled_losses(struct layer_context *context, const struct sampled_output *sampled,
                               struct endpoint labels);

/* Before the losses are added: no layer may compute with the output of a SampledSoftmax. */
void sampled_check(struct layer_context *context);

#endif
