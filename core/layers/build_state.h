/*
 * build_state: what the functions that build a model share, beside the part of struct
 * layer_context that every class's function reads. Internal to layers/.
 */
#ifndef LAYERS_BUILD_STATE_H
#define LAYERS_BUILD_STATE_H

#include "layers/layer.h"

struct build_state {
    struct layers_graph *out;
    int variables_capacity;           /* of out->variables */
    bool weighted;                    /* each example has a weight */
    const struct layer_lists **lists; /* [inputs_count]: how the values of the model's inputs
                                       * divide into rows; NULL: dense */
    struct endpoint penalty;          /* the sum of the regularizers; a null node: none so far */
    int random_count;                 /* number of layers so far that draw random numbers */
    struct average_update *averages, **averages_end; /* of the calls so far; _end NULL: none */

    /* Precision: the type to which layer_variable rounds; DT_INVALID: it does not. */
    enum dtype rounds_variables;

    /* Masks: the tensors whose masks calls have taken away. */
    struct endpoint *unmasked;
    int unmasked_count;

    /* SampledSoftmax, in TRAIN: the outputs so far; NULL: none. */
    struct sampled_output *sampled;
    /* SpectralNormalization: the one around the current layer; NULL: none. */
    struct spectral_wrapper *spectral;

    /* TimeDistributed: the layer whose output's penalty does not count; NULL: none. */
    const struct layer *unpenalised;
    /* TimeDistributed of Keras 3: the number of its steps, which Keras calls the layer with one
     * after the other, here rows: row r is of step r % steps. 0: none; -1: open. */
    int64_t steps;
    /* The same if the layer changes with each call: the number of calls, one for each step;
     * otherwise 0. */
    int64_t calls;
};

#endif
