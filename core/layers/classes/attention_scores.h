/*
 * attention_scores: what the layers of attention share: masks of scores, products of matrices, and
 * dropout. Internal to layers/.
 *
 * Scores are [batch, heads, T, S] or [batch, T, S], of T queries and S keys. A mask of scores says
 * which key counts for which query: bool [batch or 1, T or 1, S]; a null node masks nothing.
 */
#ifndef LAYERS_CLASSES_ATTENTION_SCORES_H
#define LAYERS_CLASSES_ATTENTION_SCORES_H

#include "layers/layer.h"

/* The mask of the keys that both masks keep; a null node masks nothing. */
struct endpoint scores_mask_and(struct builder *b, struct endpoint x, struct endpoint y);

/* x with an extra dimension of 1 at `axis`, such as a mask of steps; a null node stays one. */
struct endpoint scores_widen(struct builder *b, struct endpoint x, int axis);

/* The keys that a query sees, by their position: none after it if `causal`, and only those closer
 * than `window` (0: any). */
struct score_band {
    bool causal;
    int64_t window;
};

/* The mask of a causal attention or of one with a window, bool [1, T, S], for query [batch, T, …]
 * and key [batch, S, …]. Refuses a large one. */
struct endpoint scores_band_mask(struct layer_context *context, const struct layer *layer,
                                 struct endpoint query, struct endpoint key,
                                 struct score_band band);

/* x · y, or x · yᵀ, for each matrix of a batch. */
struct endpoint scores_product(struct builder *b, struct endpoint x, struct endpoint y,
                               bool transpose_y);

/* Drops attention weights in training, by the layer's arguments `dropout` and `seed`. */
struct endpoint scores_drop(struct layer_context *context, const struct layer *layer,
                            struct endpoint weights);

#endif
