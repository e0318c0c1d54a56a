/*
 * example_features: the features that an op parses from Examples, as its attributes describe them.
 */
#ifndef KERNELS_EXAMPLE_FEATURES_H
#define KERNELS_EXAMPLE_FEATURES_H

#include "runtime/kernel.h"
#include "storage/example.h"

/* The sparse features come first, then the dense ones, then the ragged ones. */
struct example_features {
    int sparse, dense, ragged; /* how many */
    struct example_feature *each;
};

static inline int example_features_count(const struct example_features *features)
{
    return features->sparse + features->dense + features->ragged;
}

/* Reads types and shapes; the features have no keys yet. */
struct status example_features_read(struct prepare_context *p, struct example_features *out);
/* Reads the keys of an op that has them as attributes. */
struct status example_features_name(const struct node *node,
                                    const struct example_features *features);

#endif
