/*
 * sampled_softmax: the part of the layer SampledSoftmax that the loss computes. A softmax over very
 * many classes is expensive, so a training step uses only the right class and a random sample of
 * the others, as tf.nn.sampled_softmax_loss does:
 *
 *     logit[c] = x · kernel[c] + bias[c] - log(expected count of c in the sample)
 *     loss     = the softmax cross-entropy of the right class within the sample
 *
 * The layer does not know the labels. In TRAIN it passes its input on, and the loss finds the
 * sample here; in EVAL and SERVE its output is the softmax of all classes. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_SAMPLED_SOFTMAX_H
#define LAYERS_CLASSES_SAMPLED_SOFTMAX_H

#include "layers/layer.h"

/* The sample of one SampledSoftmax in TRAIN. */
struct sampled_output {
    const struct layer *layer;
    struct endpoint output;       /* the layer's input */
    struct endpoint classes;      /* int64 [num_sampled], all different */
    struct endpoint draws;        /* double scalar: the number of draws that it took */
    struct endpoint kernel, bias; /* their rows */
    struct sampled_output *next;
};

/* Finds the sample that belongs to an output; NULL: the output is not that of a SampledSoftmax. */
const struct sampled_output *sampled_find(const struct layer_context *context,
                                          struct endpoint output);

/* The losses [batch] of labels, int32 [batch]. */
struct endpoint sampled_losses(struct layer_context *context, const struct sampled_output *sampled,
                               struct endpoint labels);

/* Checks, before the losses are added, that no layer takes the output of a SampledSoftmax. */
void sampled_check(struct layer_context *context);

#endif
