/*
 * preprocessing: helpers of the layers that turn raw values (texts, integers, numbers of any scale)
 * into inputs of other layers. Internal to layers/.
 *
 * Some of these layers have a state: boundaries, a vocabulary. It is given as an argument or
 * computed from the training data (Keras' adapt()). Until then the graph has a placeholder state,
 * so that shapes can be checked.
 */
#ifndef LAYERS_CLASSES_PREPROCESSING_H
#define LAYERS_CLASSES_PREPROCESSING_H

#include "layers/layer.h"

/* Records that `layer` computes its state from `x`, unless it has one. */
void layer_adapts(struct layer_context *context, const struct layer *layer,
                  const struct layers_adapting *how, struct endpoint x);

/* Reads a layer's salt: null, one integer, or a list of two. Returns false for null. */
bool layer_salt(struct layer_context *context, const struct layer *layer, int64_t key[2]);
/* Hashes texts into the buckets [0, buckets), with SipHash if `key` is given, otherwise with
 * FarmHash. */
struct endpoint hash_texts(struct layer_context *context, struct endpoint texts, int64_t buckets,
                           const int64_t *key);

/* Encodes the integer categories `ids` as Keras does: `mode` "int" (unchanged), "one_hot",
 * "multi_hot" or "count", with `depth` categories, as floats. Ids outside of [0, depth) are
 * ignored. */
struct endpoint encode_categories(struct layer_context *context, const struct layer *layer,
                                  struct endpoint ids, const char *mode, int64_t depth);

/* StringLookup, which is also the last part of TextVectorization. `layer` has the arguments of a
 * StringLookup. */
struct endpoint string_lookup_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x);

/* Reads an argument with numbers_read. Returns false on failure. */
bool layer_numbers(struct layer_context *context, const struct layer *layer, const char *name,
                   struct tensor *out);

#endif
