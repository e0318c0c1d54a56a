/*
 * precision: what a policy such as mixed_bfloat16 does around the function of a layer's class.
 *
 *     struct precision precision;
 *     if (!precision_begin(context, layer, io, &precision))
 *         return;
 *     … the class's function …
 *     precision_end(context, layer, io, &precision);
 *
 * In between, floats stand for the type of the policy (builder.float_dtype), and layer_variable
 * rounds. A class that differs says so in its row (enum layer_precision). Internal to layers/.
 */
#ifndef LAYERS_PRECISION_H
#define LAYERS_PRECISION_H

#include "layers/layer.h"

struct precision {
    enum dtype type;                          /* what the layer computes with */
    enum dtype float_dtype, rounds_variables; /* those of the layer around it */
};

/* Rounds io->inputs. Returns false on failure. */
bool precision_begin(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     struct precision *out);
/* Rounds io->outputs. */
void precision_end(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                   const struct precision *precision);

#endif
