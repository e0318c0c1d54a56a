/*
 * preprocessing: helpers of the layers that turn raw values (texts, integers, numbers of any scale)
 * into what other layers compute with. Internal to layers/.
 *
 * Some of these layers have a state: boundaries, a vocabulary. It is among the layer's arguments or
 * is computed of the training data (Keras' adapt()). Until then the graph has a placeholder state,
 * so that shapes can be checked.
 */
#ifndef LAYERS_CLASSES_PREPROCESSING_H
#define LAYERS_CLASSES_PREPROCESSING_H

#include "layers/layer.h"

/* x in another dtype; the same endpoint if it has that one. */
struct endpoint cast_to(struct layer_context *context, struct endpoint x, enum dtype dtype);

/* Tells that `layer` computes its state of `x`, if it has none yet. */
void layer_adapts(struct layer_context *context, const struct layer *layer,
                  const struct layers_adapting *how, struct endpoint x);

/* Adds a node that fills a table to those of the init op. */
void layers_add_table(struct layer_context *context, struct node *fill);

/* A layer's salt: null, one integer, or a list of two. False: null. */
bool layer_salt(struct layer_context *context, const struct layer *layer, int64_t key[2]);
/* The buckets [0, buckets) of texts, by SipHash if `key` is given, otherwise by FarmHash. */
struct endpoint hash_texts(struct layer_context *context, struct endpoint texts, int64_t buckets,
                           const int64_t *key);

/* The categories `ids`, an integer each, as Keras encodes them: `mode` "int" (unchanged), "one_hot",
 * "multi_hot" or "count", with `depth` categories, as floats. Another id counts as nothing. */
struct endpoint encode_categories(struct layer_context *context, const struct layer *layer,
                                  struct endpoint ids, const char *mode, int64_t depth);

/* StringLookup, which TextVectorization ends in. `layer` has the arguments of a StringLookup. */
struct endpoint string_lookup_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x);

/* Numbers in lists of lists as a float tensor; a number alone is a scalar. False: it is something
 * else, or the lists are ragged. */
bool numbers_read(const struct json_value *value, struct arena *arena, struct tensor *out);
/* The same of an argument. False: it failed. */
bool layer_numbers(struct layer_context *context, const struct layer *layer, const char *name,
                   struct tensor *out);

#endif
